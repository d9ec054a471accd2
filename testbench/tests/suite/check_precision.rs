//! Directory precision on whole fabrics with RTL traffic: it holds in every cycle looked at and when the fabric comes to rest, and each way to break it is named.

use std::sync::Arc;
use weft_blocks::directory::params::TagStyle;
use weft_blocks::fabric::{ClosedParams, FabricParams, Protocol, closed_fabric};
use weft_engine::{Design, Options, Sim};
use weft_fabric::family::directory::precision::{Beside, Precision, PrecisionViolation};
use weft_rtl::bv::Bv;

/// A small closed fabric with small directories and caches, so that entries and lines are evicted often.
fn closed(protocol: Protocol, change: impl Fn(&mut FabricParams)) -> (ClosedParams, Arc<Design>) {
    let mut fabric = FabricParams::scaled(protocol);
    (fabric.sys.banks, fabric.sys.l1s, fabric.sys.l2_mshrs) = (2, 2, 8);
    (fabric.dir_entries, fabric.dir_ways, fabric.l2_sets, fabric.l2_ways) = (16, 4, 8, 4);
    (fabric.l2_pool, fabric.link.latency, fabric.link.bytes_per_cycle) = (16, 10, 32);
    change(&mut fabric);
    let bench = ClosedParams::bench();
    let mut p = ClosedParams { fabric, active: 2, ..bench };
    (p.traffic.span, p.traffic.interval, p.traffic.stores, p.traffic.atomics) = (256, 4, 60, 10);
    (p.dram.rows, p.dram.latency) = (128, 20);
    let design = Design::new(&closed_fabric(&p).expect("legal"), Options::default()).expect("sound");
    (p, design)
}

struct Bench {
    p: ClosedParams,
    sim: Sim,
    check: Precision,
}

impl Bench {
    fn new((p, design): (ClosedParams, Arc<Design>)) -> Bench {
        let check = Precision::new(&design, &p.fabric).expect("the names are known");
        let mut sim = Sim::new(&design);
        let enable = sim.input("enable").expect("a closed fabric has it");
        sim.set(enable, 1);
        Bench { p, sim, check }
    }

    /// Clocks, looking every `every` cycles.
    fn run(&mut self, cycles: u64, every: u64) -> Result<(), PrecisionViolation> {
        for _ in 0..cycles / every {
            self.sim.run(every);
            assert!(self.sim.failures().is_empty(), "{:?}", self.sim.failures());
            self.check.check(&self.sim, Beside::default())?;
        }
        Ok(())
    }

    fn rest(&mut self) {
        let enable = self.sim.input("enable").expect("a closed fabric has it");
        self.sim.set(enable, 0);
        self.sim.run(20_000);
        assert!(self.sim.asleep());
    }

    /// Looks while the fabric rests, with memory.
    fn exact(&mut self) -> Result<(), PrecisionViolation> {
        let sys = &self.p.fabric.sys;
        let (sim, rows, banks) = (&self.sim, u64::from(self.p.dram.rows), u64::from(sys.banks));
        let memory = |addr: u64, limbs: &mut [u64]| {
            let (gpu, bank) = (addr >> sys.home_shift, addr / u64::from(sys.il) % banks);
            let block = addr % (1 << sys.home_shift) / u64::from(sys.il) / banks;
            let row = (block * 64 + addr / 64 % 64) % rows;
            let line = sim.peek_mem(&format!("g{gpu}_mem{bank}.store"), row as u32, 0).expect("a memory");
            limbs.copy_from_slice(line.limbs());
        };
        self.check.check(sim, Beside { memory: Some(&memory), ideal: None })
    }

    /// A valid entry of gpu 0's first slice: set, way and content.
    fn entry(&self) -> (u32, u32, Bv) {
        let dir = self.p.fabric.dir(0).expect("a directory");
        let places = (0..dir.sets()).flat_map(|s| (0..dir.ways).map(move |w| (s, w)));
        let read =
            |(set, way)| (set, way, self.sim.peek_mem("gpu0.dir0.entries", set, way).expect("an entry"));
        places.map(read).find(|(_, _, e)| e.bit(dir.entry_bits() - 1)).expect("some entry is valid")
    }

    fn poke(&mut self, memory: &str, row: u32, lane: u32, value: &Bv) {
        assert!(self.sim.poke_mem(memory, row, lane, value));
        // The unit sleeps again at its next check.
        self.sim.run(40);
        assert!(self.sim.asleep());
    }
}

#[test]
fn holds_under_traffic_and_at_rest() {
    let variants: [(Protocol, &dyn Fn(&mut FabricParams)); 7] = [
        (Protocol::REC, &|_| {}),
        (Protocol::REC, &|p| (p.tag_style, p.inv_rate) = (TagStyle::Minimal, 2)),
        (Protocol::REC, &|p| (p.dir_ways, p.links) = (1, 2)),
        (Protocol::BASELINE, &|_| {}),
        (Protocol::BASELINE, &|p| p.tag_style = TagStyle::Minimal),
        (Protocol::HMG_ENTRY, &|p| p.dir_entries = 24),
        (Protocol::L1_ONLY, &|_| {}),
    ];
    for (protocol, change) in variants {
        let mut b = Bench::new(closed(protocol, change));
        b.run(3_500, 7).unwrap_or_else(|e| panic!("{protocol:?}: {e}"));
        b.rest();
        b.exact().unwrap_or_else(|e| panic!("{protocol:?}: {e}"));
        let counts = b.check.counts();
        assert_eq!(counts.at_rest, 1);
        assert!(counts.compared > 0);
        if FabricParams::scaled(protocol).has_directory() {
            assert!(counts.copies > 10_000 && counts.excused > 100, "{protocol:?}: {counts:?}");
            assert!(counts.entries > 1_000, "{protocol:?}: {counts:?}");
        } else {
            assert_eq!(counts.copies, 0);
        }
    }
}

/// Two GPUs of two GPMs.
fn modules(p: &mut FabricParams) {
    (p.sys.gpus, p.sys.gpms) = (2, 2);
    (p.gpm_link.latency, p.gpm_link.bytes_per_cycle, p.release_l2_flush) = (6, 32, false);
}

#[test]
fn holds_in_two_levels_and_what_a_gpu_home_forgets_is_named() {
    for protocol in [Protocol::HMG, Protocol::HMG_REC] {
        let mut b = Bench::new(closed(protocol, modules));
        b.run(6_000, 7).unwrap_or_else(|e| panic!("{protocol:?}: {e}"));
        b.rest();
        b.exact().unwrap_or_else(|e| panic!("{protocol:?}: {e}"));
        let counts = b.check.counts();
        assert!(counts.copies > 10_000 && counts.excused > 100, "{protocol:?}: {counts:?}");
        // All entries of a slice are lost that are for lines of the other GPU: those of a GPU home.
        let sys = b.p.fabric.sys.clone();
        let (dir, node) = (b.p.fabric.dir(0).expect("a directory"), sys.node_name(0));
        let memory = format!("{node}.dir0.entries");
        let mut lost = 0;
        for (set, way) in (0..dir.sets()).flat_map(|s| (0..dir.ways).map(move |w| (s, w))) {
            let entry = b.sim.peek_mem(&memory, set, way).expect("an entry");
            let tag = entry.slice(dir.slots_width(), dir.tag_bits()).low_u64();
            let block = if dir.kind.ranges() { tag } else { tag >> dir.cover_bits() };
            let home = (block >> (sys.home_shift - dir.cover_bits())) as u32;
            if entry.bit(dir.entry_bits() - 1) && sys.gpu_of_node(home) == 1 {
                b.sim.poke_mem(&memory, set, way, &Bv::zero(dir.entry_bits()));
                lost += 1;
            }
        }
        b.sim.run(40);
        let text = b.exact().expect_err("copies of the other GPM are left").to_string();
        let words = [format!("in {} bank 0", sys.node_text(1)), "the directory of its GPU home".to_string()];
        assert!(lost > 0 && words.iter().all(|w| text.contains(w)), "{protocol:?}: {text}");
    }
}

#[test]
fn a_forgotten_sharer_is_named() {
    let mut b = Bench::new(closed(Protocol::REC, |_| {}));
    b.run(6_000, 1_000).expect("sound so far");
    b.rest();
    b.exact().expect("sound so far");
    // All entries of a slice are lost.
    let dir = b.p.fabric.dir(0).expect("a directory");
    for (set, way) in (0..dir.sets()).flat_map(|s| (0..dir.ways).map(move |w| (s, w))) {
        b.sim.poke_mem("gpu0.dir0.entries", set, way, &Bv::zero(dir.entry_bits()));
    }
    b.sim.run(40);
    let text = b.exact().expect_err("copies of gpu 0's lines are left").to_string();
    let words = [
        "the copy of line 0x",
        "is valid, but the directory of its home gpu 0 does not track it: no entry covers it, and the fabric rests",
    ];
    assert!(words.iter().all(|w| text.contains(w)), "{text}");
    // Under traffic it is seen too, as soon as no message excuses it.
    let enable = b.sim.input("enable").expect("a closed fabric has it");
    b.sim.set(enable, 1);
    let text = b.run(50, 1).expect_err("the copies are still there").to_string();
    assert!(text.contains("no entry covers it, and no message in flight concerns it"), "{text}");
}

#[test]
fn a_forgotten_sharer_among_others_is_named() {
    let mut b = Bench::new(closed(Protocol::REC, |_| {}));
    b.run(6_000, 1_000).expect("sound so far");
    b.rest();
    let dir = b.p.fabric.dir(0).expect("a directory");
    let mut named = 0;
    // Every sharer of every slot is cleared in turn; a sharer may have lost its copy, so not every change breaks something.
    for (set, way) in (0..dir.sets()).flat_map(|s| (0..dir.ways).map(move |w| (s, w))) {
        let before = b.sim.peek_mem("gpu0.dir0.entries", set, way).expect("an entry");
        for bit in (0..dir.slots_width()).filter(|bit| bit % 4 != 0 && before.bit(*bit)) {
            let mut entry = before.clone();
            entry.set_bit(bit, false);
            let slot = bit / 4;
            entry.set_bit(4 * slot, (1..4).any(|k| entry.bit(4 * slot + k)));
            let any = (0..dir.slots_width()).any(|bit| entry.bit(bit));
            entry.set_bit(dir.entry_bits() - 1, any);
            b.poke("gpu0.dir0.entries", set, way, &entry);
            if let Err(violation) = b.exact() {
                let text = violation.to_string();
                let lists = format!("its entry in gpu0.dir0 set {set} way {way} lists gpus");
                assert!(text.contains(&lists) || text.contains("no entry covers it"), "{text}");
                assert!(text.contains(&format!("in gpu {} bank 0", bit % 4)), "{text}");
                named += 1;
            }
        }
        b.poke("gpu0.dir0.entries", set, way, &before);
    }
    assert!(named > 5, "only {named} copies were left");
    b.exact().expect("all is as it was");
}

#[test]
fn broken_entries_are_named() {
    let mut b = Bench::new(closed(Protocol::REC, |_| {}));
    b.run(6_000, 1_000).expect("sound so far");
    b.rest();
    let (set, way, entry) = b.entry();
    let mut wrong = entry.clone();
    wrong.set_bit(0, !entry.bit(0));
    b.poke("gpu0.dir0.entries", set, way, &wrong);
    let text = b.exact().expect_err("a position bit is wrong").to_string();
    assert!(text.contains(&format!("gpu0.dir0 set {set} way {way} slot 0 has position bit")), "{text}");
    b.poke("gpu0.dir0.entries", set, (way + 1) % 4, &entry);
    b.poke("gpu0.dir0.entries", set, way, &entry);
    let text = b.exact().expect_err("an entry stands twice").to_string();
    assert!(text.contains("both hold an entry for 0x"), "{text}");
}

#[test]
fn stale_data_and_wrong_states_are_named() {
    let mut b = Bench::new(closed(Protocol::REC, |_| {}));
    b.run(6_000, 1_000).expect("sound so far");
    b.rest();
    let l2 = b.p.fabric.l2(1);
    let places = (0..l2.sets).flat_map(|s| (0..l2.ways).map(move |w| (s, w)));
    let (set, way, tag) = places
        .map(|(s, w)| (s, w, b.sim.peek_mem("gpu1.bank0.tags", s, w).expect("a tag")))
        .find(|(s, _, tag)| {
            let tag_value = tag.low_u64() & ((1 << l2.tag_bits()) - 1);
            let line = l2.line_number(tag_value, u64::from(*s), 0);
            tag.low_u64() >> l2.tag_bits() == 1 && line >> (l2.sys.home_shift - 6) != 1
        })
        .expect("some copy of another GPU's line");
    let row = set * l2.ways + way;
    let data = b.sim.peek_mem("gpu1.bank0.data", row, 0).expect("a line");
    let mut wrong = data.clone();
    wrong.set_bit(131, !data.bit(131));
    b.poke("gpu1.bank0.data", row, 0, &wrong);
    let text = b.exact().expect_err("the copy is stale").to_string();
    assert!(text.contains(&format!("in gpu 1 bank 0 set {set} way {way} holds 0x")), "{text}");
    assert!(text.contains("at byte 16, but ") && text.contains("and the fabric rests"), "{text}");
    b.poke("gpu1.bank0.data", row, 0, &data);
    b.exact().expect("all is as it was");
    let dirty = Bv::from_u64(tag.low_u64() + (1 << l2.tag_bits()), tag.width());
    b.poke("gpu1.bank0.tags", set, way, &dirty);
    let text = b.exact().expect_err("it is dirty").to_string();
    assert!(text.contains("is dirty, but the line's home is another node"), "{text}");
    b.poke("gpu1.bank0.tags", set, (way + 1) % 4, &tag);
    b.poke("gpu1.bank0.tags", set, way, &tag);
    let text = b.exact().expect_err("it stands twice").to_string();
    assert!(text.contains("too"), "{text}");
}
