//! A stash beside the L1 (section 8): passes over banks, accesses that wait for their mapping, releases and acquires at both, stalls, errors. The stash is played: it keeps words in memory.

use weft_workload::{LdsAccess, LocalMemory, MapKind, Mapping, Scope, Sem, Values};

use super::*;

const BANKS: u32 = 16;
const MAP: Mapping = Mapping { local: 8, global: 0x1010, element: 8, stride: 24, count: 40 };

/// An access with the words of its pass, or a mapping.
type Answer = (LineAccess, Vec<BankWord>, Option<StashMapping>);

/// What a stash has been told, and answers on their way by tick and order.
#[derive(Default)]
pub(super) struct Played {
    maps: BTreeMap<u16, StashMapping>,
    answers: BTreeMap<(u64, u64), Answer>,
    held: Option<LineAccess>,
    count: u64,
    /// Operations taken, in order, with their ticks.
    taken: Vec<(u64, CuOp)>,
    mapped: Vec<(u64, StashMapping)>,
    /// Of passes.
    src: u8,
    /// Further ticks until a mapping, a release, an acquire, is acknowledged.
    slow: u64,
}

impl Played {
    pub(super) fn next(&self) -> u64 {
        self.answers.keys().next().map_or(u64::MAX, |key| key.0)
    }
}

impl Bench {
    pub(super) fn stash_is_asked(&self) -> bool {
        self.cu.offer_map().is_some() || self.cu.offer_stash().is_some()
    }

    fn stash_answers(&mut self, (access, pass, map): Answer) {
        self.stash.count += 1;
        let slow = if pass.is_empty() { self.stash.slow } else { 0 };
        let at = self.now + 1 + slow + self.port.draw(self.now, !self.stash.count) % self.port.latency;
        self.stash.answers.insert((at, self.stash.count), (access, pass, map));
    }

    /// One tick of it.
    pub(super) fn play_stash(&mut self) {
        let now = self.now;
        let waits = |port: &Port, of: u64| port.draw(now, of) % 100 < port.stall;
        if let Some(map) = self.cu.offer_map().copied().filter(|_| !waits(&self.port, 7)) {
            self.cu.map_taken(now);
            self.stash.maps.remove(&map.index);
            self.stash.mapped.push((now, map));
            let ready = LineAccess { id: map.id, ..LineAccess::bare(CuOp::Kbegin) };
            self.stash_answers((ready, Vec::new(), Some(map)));
        }
        if let Some((access, pass)) = self.cu.offer_stash() {
            let (access, pass) = (access.clone(), pass.to_vec());
            assert!(self.stash.held.as_ref().is_none_or(|held| *held == access), "an offered pass is held");
            if self.shut.contains(&now) || waits(&self.port, 9) {
                self.stash.held = Some(access);
                self.cu.stash_refused(now, self.refusal);
            } else {
                self.stash.held = None;
                self.cu.stash_taken(now, &mut self.watch);
                self.cu.stash_refused(now, Structural::Bank);
                self.pass(access, pass);
            }
        }
        while let Some(entry) = self.stash.answers.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let (access, pass, map) = entry.remove();
            if let Some(map) = map {
                self.stash.maps.insert(map.index, map);
            }
            self.answer_pass(&access, &pass);
        }
    }

    fn pass(&mut self, access: LineAccess, pass: Vec<BankWord>) {
        self.stash.taken.push((self.now, access.op));
        let banks: Vec<u8> = pass.iter().map(|word| word.bank).collect();
        assert!((1..banks.len()).all(|i| !banks[..i].contains(&banks[i])), "a word of a bank at most");
        for word in &pass {
            let place = u32::from(word.row) * BANKS + u32::from(word.bank);
            let of = |map: &StashMapping| {
                let at = place.checked_sub(map.base).filter(|at| *at < map.element * map.count)?;
                Some(
                    4 * (map.global + u64::from(at / map.element) * map.stride + u64::from(at % map.element)),
                )
            };
            assert_eq!(self.stash.maps.values().find_map(of), Some(word.global), "as the stash maps it");
            if access.op == CuOp::St {
                let bank = usize::from(word.bank);
                let value = access.data[bank / 2] >> (32 * (bank % 2)) & 0xffff_ffff;
                self.memory.set_word(word.global - OFFSET, 4, value);
            }
        }
        if access.op != CuOp::St {
            self.stash_answers((access, pass, None));
        }
    }

    /// Answers, a load in two parts if the port does so.
    fn answer_pass(&mut self, access: &LineAccess, pass: &[BankWord]) {
        let half = if self.port.parts { pass.len() / 2 } else { 0 };
        let parts = if half > 0 { vec![&pass[..half], &pass[half..]] } else { vec![pass] };
        for part in parts {
            let (mut mask, mut data) = (0, [0xdead_beef_dead_beef; 16]);
            for word in part {
                let bank = usize::from(word.bank);
                mask |= 0xf << (4 * bank);
                let value = self.memory.word(word.global - OFFSET, 4);
                let shift = 32 * (bank % 2);
                data[bank / 2] = data[bank / 2] & !(0xffff_ffff << shift) | value << shift;
            }
            let kind = if access.op == CuOp::Ld { KIND_DATA } else { KIND_ACK };
            let reply = LineReply { id: access.id, kind, mask, data, src: self.stash.src, merged: false };
            self.cu.reply(&reply, self.now, &mut self.watch);
        }
    }
}

/// Compute units with a stash.
fn params() -> CuParams {
    CuParams {
        local: LocalMemory::Stash,
        lds_bytes: 4096,
        lds_banks: BANKS,
        lsu_depth: 1,
        line: 64,
        ..CuParams::default()
    }
}

fn map(map: Mapping) -> Op {
    Op::Map { kind: MapKind::Stash, map }
}

fn at(local: u64, mask: u64) -> LdsAccess {
    LdsAccess { size: 4, addrs: Addrs::Strided { base: local, stride: 4 }, mask }
}

fn read(token: u32, local: u64) -> Op {
    Op::StashLoad { token, access: at(local, 1) }
}

fn write(local: u64, value: u64) -> Op {
    Op::StashStore { access: at(local, 1), values: Values::Const(value) }
}

fn awaits(token: u32) -> Op {
    Op::Await { tokens: vec![token] }
}

fn steps(waves: u32, port: Port, list: Vec<Vec<Op>>) -> Bench {
    let script =
        Script { lds: 1024, ..Script::of(64, waves, move |frame, _| list[frame.pc as usize - 1].clone()) };
    script.bench(&params(), port)
}

/// Each wave doubles 64 of the words that the work-group maps.
fn doubling(waves: u32) -> Script {
    let words = (MAP.bytes() / 4) as u32;
    let step = move |frame: &mut Frame, values: &LoadedValues| {
        let first = frame.wave * 64;
        let mask = weft_workload::full_mask(words.saturating_sub(first).min(64));
        let access = at(8 + 4 * u64::from(first), mask);
        match frame.pc {
            1 => vec![map(MAP), Op::StashLoad { token: 0, access }, awaits(0)],
            _ => {
                let doubled = values.get(0).iter().map(|v| 2 * v).collect();
                vec![Op::StashStore { access, values: Values::Lanes(doubled) }, Op::End]
            }
        }
    };
    let mut script = Script { lds: 1024, blocks: 3, ..Script::of(64, waves, step) };
    let bytes: Vec<u8> = (0..16_384u32).flat_map(u32::to_le_bytes).collect();
    script.arrays[0].init = bytes.into();
    script
}

#[test]
fn words_are_read_and_written_in_place_whatever_the_ports_do() {
    let ports = (1..=12).map(Port::wild).chain([Port::FAST]);
    for (case, port) in ports.enumerate() {
        for skip in [false, true] {
            let room = CuParams { blocks: 1, ..params() };
            let mut bench = Bench::new(&room, Arc::new(doubling(2)), port, skip);
            if case % 3 == 0 {
                bench.restore_at = Some(40 + 7 * case as u64);
            }
            bench.run().expect("runs");
            // Three work-groups, one after the other.
            for word in 0..16_384u64 {
                let mapped = (0..MAP.count).any(|i| word & !1 == MAP.global_of(i) / 4);
                let value = if mapped { 8 * word } else { word };
                assert_eq!(bench.memory.word(4 * word, 4), value, "port {case}, word {word}");
            }
            assert_eq!(bench.taken().len(), 0, "nothing goes to the L1");
            let kernel = |op| bench.stash.taken.iter().filter(|(_, taken)| *taken == op).count();
            assert_eq!((kernel(CuOp::Kbegin), kernel(CuOp::Kend)), (1, 1));
            // 80 words in passes of 16 of each kind.
            assert_eq!((kernel(CuOp::Ld), kernel(CuOp::St)), (15, 15));
            assert_eq!((bench.cu.counters().maps, bench.cu.counters().stash_passes), (6, 30));
        }
    }
}

/// The mapping of a later work-group has entries and a place of its own.
#[test]
fn a_work_group_has_its_part_of_the_stash_and_its_entries() {
    let second = Mapping { local: 512, global: 0x4000, element: 4, stride: 4, count: 8 };
    let mut script = Script::once(64, vec![map(MAP), map(second), read(0, 512), awaits(0), Op::End]);
    (script.lds, script.blocks) = (1024, 2);
    let mut bench = script.bench(&params(), Port::FAST);
    bench.run().expect("runs");
    let mapped: Vec<(u16, u32, u64)> =
        bench.stash.mapped.iter().map(|(_, m)| (m.index, m.base, m.global - OFFSET / 4)).collect();
    let of = |slot: u16| {
        [(4 * slot, 256 * u32::from(slot) + 2, 0x404), (4 * slot + 1, 256 * u32::from(slot) + 128, 0x1000)]
    };
    let mut sorted = mapped.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [of(0), of(1)].concat());
}

#[test]
fn words_of_one_bank_go_one_after_the_other_and_one_word_serves_all() {
    let access = |stride| LdsAccess {
        size: 4,
        addrs: Addrs::Strided { base: 0, stride },
        mask: weft_workload::full_mask(8),
    };
    let all = Mapping { local: 0, global: 0, element: 4, stride: 4, count: 256 };
    for (stride, passes) in [(4, 1), (8, 1), (64, 8), (128, 8), (32, 4), (0, 1)] {
        let load = Op::StashLoad { token: 0, access: access(stride) };
        let mut bench = steps(1, Port::FAST, vec![vec![map(all), load, awaits(0), Op::End]]);
        bench.run().expect("runs");
        assert_eq!(bench.cu.counters().stash_passes, passes, "stride {stride}");
    }
}

/// A pending mapping holds the accesses to it in the load-store unit, as a pending DMA; who finds no room behind them is stalled by it.
#[test]
fn an_access_waits_until_its_mapping_is_ready() {
    let mut list = vec![map(MAP)];
    list.extend((0..8).map(|token| read(token, 8)));
    list.extend([awaits(7), Op::End]);
    let mut bench = steps(1, Port::FAST, vec![list]);
    bench.stash.slow = 100;
    bench.run().expect("runs");
    let load = bench.stash.taken.iter().find(|(_, op)| *op == CuOp::Ld).expect("a load").0;
    assert!(load > bench.stash.mapped[0].0 + 100, "{load}");
    let pending = bench.stalls.blocked_by(Structural::Dma);
    assert!((80..=102).contains(&pending), "{:?}", bench.stalls);
}

/// What orders memory is done when L1 and stash have answered, and goes to both.
#[test]
fn releases_and_acquires_wait_for_both() {
    let fence = Op::Fence { sem: Sem::AcquireRelease, scope: Scope::Sys };
    let list = vec![map(MAP), write(8, 7), fence, store(0x8000, 1), Op::End];
    let l1_is_slow = |access: &LineAccess| if access.op == CuOp::Rel { 300 } else { 0 };
    // Release and acquire of the stash take so long, the release of the L1.
    for (stash, l1, least) in [(0, false, 0), (300, false, 600), (0, true, 300)] {
        let mut bench = steps(1, Port::FAST, vec![list.clone()]);
        bench.stash.slow = stash;
        if l1 {
            bench.delay = l1_is_slow;
        }
        bench.run().expect("runs");
        let kernel = |op: &CuOp| matches!(op, CuOp::Kbegin | CuOp::Kend);
        let told: Vec<CuOp> = bench.stash.taken.iter().map(|(_, op)| *op).filter(|op| !kernel(op)).collect();
        assert_eq!(told, [CuOp::St, CuOp::Rel, CuOp::Acq]);
        let l1: Vec<CuOp> = bench.taken().iter().map(|(_, access)| access.op).collect();
        assert_eq!(l1, [CuOp::Rel, CuOp::Acq, CuOp::St]);
        let release = bench.stash.taken.iter().find(|(_, op)| *op == CuOp::Rel).expect("a release").0;
        let after = bench.times(CuOp::St, 0x8000).0 - release;
        assert!((least..least + 20).contains(&after), "{after} after the release, {least}");
    }
}

/// Who served a load of the stash is told by its answer.
#[test]
fn stalls_for_words_are_those_of_who_served_them() {
    // L1 and stash, the L2, another L1.
    for (src, level) in [(0, 0), (1, 2), (2, 3)] {
        let list = vec![map(MAP), read(0, 8), awaits(0), Op::End];
        let mut bench = steps(1, Port { latency: 40, ..Port::FAST }, vec![list]);
        bench.stash.src = src;
        bench.run().expect("runs");
        let mut expected = [0; 5];
        expected[level] = bench.stalls.of(StallClass::MemoryData);
        assert!(expected[level] > 0 && bench.stalls.data == expected, "{src}: {:?}", bench.stalls);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |ops: Vec<Op>| {
        let script = Script { lds: 1024, ..Script::once(64, ops) };
        script.bench(&params(), Port::FAST).run().expect_err("is refused").to_string()
    };
    let start = "kernel k work-group 0 wave 0 (gpu 0 cu 0) ";
    let small = |n: u64| Mapping { local: 64 * n, global: 64 * n, element: 4, stride: 4, count: 4 };
    let told = [
        error(vec![map(MAP), read(0, 4), Op::End]),
        error((0..5).map(|n| map(small(n))).chain([Op::End]).collect()),
        error(vec![map(MAP), Op::StashLoad { token: 0, access: LdsAccess { size: 8, ..at(8, 1) } }, Op::End]),
    ];
    for text in &told {
        assert!(text.starts_with(start), "{text}");
    }
    assert_eq!(
        told.map(|text| text[start.len()..].to_owned()),
        [
            "accesses its stash at 0x4, expected an address that a STASH_MAP has mapped",
            "maps a stash for the 5th time, expected at most 4 mappings of a work-group",
            "accesses 8 bytes at once in its stash, expected words of 4 bytes",
        ]
    );
}
