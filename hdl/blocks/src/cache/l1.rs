//! `l1-cache`: the write-through L1 of one CU (rec.md sections 7 and 9, cu-and-consistency.md 1.1 and 1.2).
//!
//! ```text
//!                 +----------------------------------------------------+
//!   cu_req ------>| S0 set --> S1 tag, valid, miss file: one table row |------> l2_req
//!                 |                 |                   ^              |
//!   cu_rsp <------| delay ring <----+     fill: install | and answers  |<------ l2_rsp
//!                 +----------------------------------------------------+
//! ```
//!
//! No write allocation. A load, an atomic and a store with `want_ack` are answered once; a store without it is complete when taken. Loads answer
//! all requested bytes in one part. Acquire and release of CU scope are answered at once. An acquire (and kernel begin) drops every
//! copy and poisons every open miss, then is answered: no later load sees data that was read before. A release (and kernel end) is answered
//! when every store and atomic taken before it is answered by the L2; requests behind it go on, except a second release. Whether stores are performed
//! beyond the GPU is the fence unit's business.
//!
//! In a `scoped` cache a load of a scope beyond the CU is a forced miss: it never hits, never joins a miss, and ends what was there of its line.
//!
//! Requests of one L1 for one line must reach the bank in the order in which they leave here.
//!
//! Transaction numbers below `mshrs` are miss-file entries; the two above are stores without `want_ack`, one per release epoch.
//!
//! Hits, acquires and CU-scope operations are answered after `latency` cycles: a ring delays them. Misses leave after three cycles.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/l1-cache.svg")]

mod params;
mod reply;
mod stage;
mod table;

use crate::msg::*;
use crate::registry::{BlockError, BlockInfo};
pub use params::{L1Inject, L1Params};
use reply::{Filler, Replies};
use stage::Stage;
pub use table::{L1Act, L1Event, L1State, machine, requests};
use weft_rtl::prelude::*;

/// Why `cu_req` is not taken (cu-and-consistency.md 1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum StallCause {
    /// It is taken.
    None,
    /// No miss-file entry, or no room for another load of an open miss.
    MshrFull,
    /// Too many unanswered stores.
    SbFull,
    /// The arrays are busy with a fill.
    Bank,
    /// An earlier release is not complete.
    Release,
    /// A transfer is under way (no L1 of the REC fabrics).
    Dma,
    /// The way to the L2 or to the CU is blocked, or the cache is being cleared.
    Other,
}

/// A request in stage S1.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
struct S1Req {
    event: Enum<L1Event>,
    want_ack: Bool,
    amo: Enum<AmoOp>,
    sgn: Bool,
    #[width(p.line_bits())]
    line: Bits,
    #[width(p.line)]
    mask: Bits,
    #[width(p.data_bits())]
    data: Bits,
    #[width(64)]
    cmp: Bits,
    #[width(2)]
    scope: Bits,
    #[width(12)]
    id: Bits,
}

/// What a miss-file entry remembers beside its loads.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
struct MissInfo {
    #[width(p.line_bits())]
    #[field("queue")]
    line: Bits,
    #[field("queue")]
    kind: Enum<ReqKind>,
    #[width(1)]
    #[field("queue")]
    epoch: Bits,
}

/// A requester waiting at a miss-file entry.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
struct Target {
    #[width(12)]
    #[field("queue")]
    id: Bits,
    #[width(p.line)]
    #[field("queue")]
    mask: Bits,
}

/// Arrays of the cache: one row is read per cycle, for S1 or for a fill.
struct Arrays {
    p: L1Params,
    /// One register per way, one bit per set: an acquire clears them all at once.
    valid: Vec<Reg<Bits>>,
    tag_port: SramPort<Bits>,
    data_port: SramPort<Bits>,
    age_port: SramPort<Bits>,
    age_writer: LaneWriter<Bits>,
    data_writer: LaneWriter<Bits>,
    tag_writer: LaneWriter<Bits>,
}

/// The file of open misses, atomics and answered stores.
struct Misses {
    count: u32,
    busy: Reg<Bits>,
    /// Entries that loads may join and whose answer is installed (state P).
    open: Reg<Bits>,
    info: Memory<MissInfo>,
    targets: Memory<Target>,
    waiting: Memory<Bits>,
    waiting_bits: u32,
    enter: LaneWriter<MissInfo>,
    target_writer: LaneWriter<Target>,
    waiting_writer: LaneWriter<Bits>,
    /// One-hot (poisoned: any) entries taken, opened, poisoned, installed and freed in this cycle.
    taken: Wire<Bits>,
    opened: Wire<Bits>,
    poisoned: Wire<Bits>,
    installed: Wire<Bits>,
    freed: Wire<Bits>,
}

/// Stores and atomics that the L2 has not answered, per release epoch.
struct Unanswered {
    outstanding: Vec<Reg<Bits>>,
    epoch: Reg<Bits>,
    /// One-hot epoch in which one is sent, answered as a miss-file entry, answered otherwise.
    sent: Wire<Bits>,
    entry_done: Wire<Bits>,
    plain_done: Wire<Bits>,
}

/// Builds the L1.
///
/// # Errors
/// Illegal parameters.
pub fn l1_cache(params: &L1Params) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    Module::build(&params.module_name(), ModuleKind::Block, || describe(params))
        .map_err(|errors| BlockError::Elab { block: "l1-cache".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "l1-cache",
        about: "Write-through L1 of one CU, without write allocation",
        params: params::infos,
        build: |set| l1_cache(&L1Params::from_set(set)?),
    }
}

fn describe(p: &L1Params) {
    doc(
        "Write-through L1 of one CU: loads hit or join misses, stores go through, an acquire drops everything.",
    );
    param("size", p.size);
    param("ways", p.ways);
    param("line", p.sys.line);
    param("mshrs", p.sys.l1_mshrs);
    param("targets", p.targets);
    param("stores", p.stores);
    param("latency", p.latency);
    param("bypass_remote", p.bypass_remote);
    param("scoped", p.scoped);
    // Verilog without a fault says nothing of faults.
    if p.inject != L1Inject::None {
        param("inject", p.inject.word());
    }
    let own_l1 = input::<Bits>("own_l1", p.sys.l1_bits());
    let event = entry_decoder(p);
    let req = in_channel::<CuReq>("cu_req", &p.sys);
    let rsp = in_channel::<L1Rsp>("l2_rsp", &p.sys);
    unused_input(&rsp.msg.l1);
    let l2 = out_channel::<L1Req>("l2_req", &p.sys);
    let s1_valid = reg::<Bool>("s1_valid", ());
    let s1 = reg::<S1Req>("s1", p.sys.clone()).field("pipeline");
    let go = wire::<Bool>("s1_go", ());

    let arrays = Arrays::new(p);
    let misses = Misses::new(p);
    let unanswered = Unanswered::new(p);
    let replies = Replies::new(p);
    let filler = Filler::new(p, &rsp, &misses, &unanswered, &replies);
    let ready = initialise(p, &arrays);

    // S0: the row read for the next cycle belongs to an arriving fill, else to S1 (kept or new).
    let accept = (req.valid & ready & (!s1_valid.get() | go.get())).named("s0_accept");
    let wanted = mux(accept, req.msg.line, s1.get().line);
    arrays.present(mux(filler.arrives, filler.arriving_line, wanted));
    when(accept, || {
        req.take();
        let m = &req.msg;
        s1.set(S1Req {
            event: event(m),
            want_ack: m.want_ack,
            amo: m.amo,
            sgn: m.sgn,
            line: m.line,
            mask: m.mask,
            data: m.data,
            cmp: m.cmp,
            scope: m.scope,
            id: m.id,
        });
    });
    s1_valid.set(accept | (s1_valid.get() & !go.get()));

    let stage = Stage { p, own_l1, s1: s1.get(), active: s1_valid.get() & !filler.installing.get(), go };
    stage.act(&arrays, &misses, &unanswered, &replies, &l2, (s1_valid.get(), ready));
    filler.install(&arrays, &misses);
    replies.finish(p, &filler, &misses, &unanswered);
    filler.release_entry(&misses, &unanswered);
    misses.finish();
    unanswered.finish();
    machine(p.scoped).check(&[]);
}

/// Decoder of the request's event; declares the port `own_gpu`, the number of the own node, where homes matter.
fn entry_decoder(p: &L1Params) -> impl Fn(&CuReq) -> Enum<L1Event> {
    let (sys, scoped, keeps) = (p.sys.clone(), p.scoped, p.inject == L1Inject::KeepsCopies);
    let own_gpu = p.bypass_remote.then(|| input::<Bits>("own_gpu", sys.node_bits()));
    move |m| {
        let event = |e: L1Event| enum_lit(e);
        let beyond = m.scope.ne(0);
        let load = event(L1Event::Load);
        let load = if scoped { mux(beyond, event(L1Event::LoadForced), load) } else { load };
        let load = match own_gpu {
            Some(own) => {
                let remote = sys.gpu_of(sys.home_of(m.line)).ne(sys.gpu_of(own));
                mux(remote, event(L1Event::LoadBypass), load)
            }
            None => load,
        };
        let begin = m.op.is(CuOp::Kbegin);
        let acquire = if keeps { begin } else { begin | (m.op.is(CuOp::Acq) & beyond) };
        let release = m.op.is(CuOp::Kend) | (m.op.is(CuOp::Rel) & beyond);
        let fence = mux(release, event(L1Event::Release), event(L1Event::Local));
        let fence = mux(acquire, event(L1Event::Acquire), fence);
        let atomic = mux(m.op.is(CuOp::Amo), event(L1Event::Atomic), fence);
        let store = mux(m.op.is(CuOp::St), event(L1Event::Store), atomic);
        mux(m.op.is(CuOp::Ld), load, store)
    }
}

/// After reset writes the identity into the ages, one set per cycle; true when done.
fn initialise(p: &L1Params, arrays: &Arrays) -> Bool {
    let done = reg::<Bool>("init_done", ());
    let row = reg::<Bits>("init_row", p.set_bits());
    when(!done.get(), || {
        let identity: Vec<Bits> = (0..p.ways).map(|w| lit(u64::from(w), p.way_bits())).collect();
        arrays.age_writer.write(row.get(), &pack(&identity));
        row.set(row.get() + 1);
        when(row.get().all(), || done.set(true));
    });
    done.get()
}

impl Arrays {
    fn new(p: &L1Params) -> Arrays {
        let valid = (0..p.ways).map(|w| reg::<Bits>(&format!("valid{w}"), p.sets()).field("state")).collect();
        let tags = sram::<Bits>("tags", p.sets(), p.ways, p.tag_bits()).fields(&[("tag", p.tag_bits())]);
        let data = sram::<Bits>("lines", p.sets(), p.ways, p.sys.data_bits());
        let age_bits = p.ways * p.way_bits();
        let ages = sram::<Bits>("ages", p.sets(), 1, age_bits).fields(&[("replacement", age_bits)]);
        Arrays {
            p: p.clone(),
            valid,
            tag_port: tags.read_port("look"),
            data_port: data.read_port("look"),
            age_port: ages.read_port("look"),
            age_writer: ages.lane_writer("touch"),
            data_writer: data.lane_writer("put"),
            tag_writer: tags.lane_writer("put"),
        }
    }

    fn set_of(&self, line: Bits) -> Bits {
        line.slice(0, self.p.set_bits())
    }

    fn present(&self, line: Bits) {
        let set = self.set_of(line).named("row_next");
        self.tag_port.present(set);
        self.data_port.present(set);
        self.age_port.present(set);
    }

    /// One bit per way: the way holds the line. Meaningful when the line's row was presented in the cycle before.
    fn holders(&self, line: Bits) -> Bits {
        let tag = line.slice(self.p.set_bits(), self.p.tag_bits());
        let set = self.set_of(line);
        let hits: Vec<Bool> = (0..self.p.ways)
            .map(|w| self.valid[w as usize].get().bit_at(set) & self.tag_port.lane(w).eq(tag))
            .collect();
        pack_bools(&hits)
    }

    fn ages_now(&self) -> Vec<Bits> {
        let packed = self.age_port.lane(0);
        let bits = self.p.way_bits();
        (0..self.p.ways).map(|w| packed.slice(w * bits, bits)).collect()
    }

    /// Makes a way the youngest of the presented set.
    fn touch(&self, set: Bits, way: Bits) {
        let ages = self.ages_now();
        let old = select(&ages, way);
        let next: Vec<Bits> = ages
            .iter()
            .enumerate()
            .map(|(w, age)| {
                let older = mux(age.lt(old), *age + 1, *age);
                mux(way.eq(w as u64), lit(0, self.p.way_bits()), older)
            })
            .collect();
        self.age_writer.write(set, &pack(&next));
    }

    /// Victim of the presented set: the lowest invalid way, else the oldest.
    fn victim(&self, set: Bits) -> Bits {
        let valid: Vec<Bool> = self.valid.iter().map(|v| v.get().bit_at(set)).collect();
        let empty = !pack_bools(&valid);
        let oldest: Vec<Bool> = self.ages_now().iter().map(|a| a.all()).collect();
        mux(empty.any(), empty.lowest_set(), pack_bools(&oldest).lowest_set())
    }
}

impl Misses {
    fn new(p: &L1Params) -> Misses {
        let count = p.sys.l1_mshrs;
        let waiting_bits = bits_for(u64::from(p.targets) + 1);
        let info = regfile::<MissInfo>("miss_info", count, p.sys.clone());
        let targets = regfile_lanes::<Target>("miss_targets", count, p.targets, p.sys.clone());
        let waiting = regfile::<Bits>("miss_waiting", count, waiting_bits).fields(&[("queue", waiting_bits)]);
        let event = |name: &str| wire_zero::<Bits>(&format!("miss_{name}"), count);
        Misses {
            count,
            busy: reg::<Bits>("miss_busy", count),
            open: reg::<Bits>("miss_open", count).field("state"),
            enter: info.lane_writer("enter"),
            target_writer: targets.lane_writer("enter"),
            waiting_writer: waiting.lane_writer("enter"),
            info,
            targets,
            waiting,
            waiting_bits,
            taken: event("taken"),
            opened: event("opened"),
            poisoned: event("poisoned"),
            installed: event("installed"),
            freed: event("freed"),
        }
    }

    /// One bit per entry that loads of the line may join; at most one.
    fn joinable(&self, line: Bits) -> Bits {
        let open = self.open.get();
        let same: Vec<Bool> =
            (0..self.count).map(|i| open.bit(i) & self.info.entry(i).line.eq(line)).collect();
        pack_bools(&same)
    }

    /// Number of an entry as a row of the file.
    fn row(&self, id: Bits) -> Bits {
        id.resize(self.info.addr_bits())
    }

    /// Changes of the entries' states.
    fn finish(&self) {
        self.busy.set((self.busy.get() & !self.freed.get()) | self.taken.get());
        let stays = self.open.get() & !self.poisoned.get() & !self.installed.get();
        self.open.set(stays | self.opened.get());
        let text = "an entry that loads may join is in use";
        assert_always("l1_open_is_busy", (self.open.get() & !self.busy.get()).none(), text);
    }
}
