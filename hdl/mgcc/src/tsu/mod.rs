//! The timestamp unit of one lane (mgcc.md section 6): grants every read and write of a line its interval of logical time.
//!
//! ```text
//!  req -> S0: set to the SRAMs -> S1: compare, grant, write back -> TSU_LAT -> rsp
//!                                        |
//!  roll -> epoch, sweep of one set per cycle -> roll_ack          +-> roll_ask
//! ```
//! | port | dir | |
//! | --- | --- | --- |
//! | `req`, `rsp` | in, out | one operation per cycle, in order; the answer is offered `latency` cycles after the cycle in which the request was taken |
//! | `rd_lease`, `wr_lease` | in | registers of the UMC, sampled at each grant; 1..2^(TS-2) |
//! | `roll`, `roll_ack` | in, out | a new epoch, and that everything older is gone |
//! | `roll_ask` | out | the epoch whose end is wanted: a grant came near the greatest stamp |
//! | `epoch` | out | the present epoch |
//!
//! | state | values |
//! | --- | --- |
//! | `entries`, `memts`, `wts` | per way: valid and tag; greatest rts granted; stamp of the last write (`wts = exact`) |
//! | `floors` | per set: greatest memts and wts of the entries that have left |
//! | `swept` | sets swept in this epoch; less than all: nothing else runs |
//! | `asked` | the end of this epoch has been asked for |
//!
//! An SRAM shows the present content of the row that was presented, so an operation on the set of the one before it needs no bypass.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/tsu.svg")]

mod grant;
mod table;

pub use table::{Held, TsuAct, machine, table};

use crate::choice::{Choice, Inject};
use crate::msg::{Roll, RollAck, TsmOp, TsuReq, TsuRsp};
use crate::params::{LINE, Tsm, tsm_from, tsm_params};
use crate::time::{Age, age, assert_roll_in_order, later};
use grant::{Found, Grant};
use weft_blocks::common::delay::delayed;
use weft_blocks::common::fifo::Fifo;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// How a read extends the lease of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum RdExtend {
    /// By RdLease beyond the later of memts and the requester's clock.
    Accumulate,
    /// To RdLease beyond the requester's clock, if memts is not there already.
    Cover,
}

impl Choice for RdExtend {
    const WORDS: &'static [(RdExtend, &'static str)] =
        &[(RdExtend::Accumulate, "accumulate"), (RdExtend::Cover, "cover")];
}

/// What a read is told of the line's last write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TsuWts {
    /// Its stamp, which is stored.
    Exact,
    /// The old memts, an upper bound: the published entry.
    Bound,
}

impl Choice for TsuWts {
    const WORDS: &'static [(TsuWts, &'static str)] = &[(TsuWts::Exact, "exact"), (TsuWts::Bound, "bound")];
}

/// What fixes a TSU.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TsuParams {
    /// Message widths.
    pub tsm: Tsm,
    /// Sets, a power of two, 1..65536.
    pub sets: u32,
    /// Ways, 1..16.
    pub ways: u32,
    /// Cycles from taking a request to offering its answer, 2..200.
    pub latency: u32,
    /// Lease of a read.
    pub rd_extend: RdExtend,
    /// Stored stamp of the last write.
    pub wts: TsuWts,
    /// A published slip: `LitMwts`, `LitNoTs`, `LitNoFloor` or `LitReinit`; others change nothing here.
    pub inject: Inject,
}

impl TsuParams {
    /// The published TSU: as many entries as the L2 banks behind its lane have lines, 8 ways, 50 cycles.
    pub fn published(tsm: Tsm) -> TsuParams {
        TsuParams {
            tsm,
            sets: 512,
            ways: 8,
            latency: 50,
            rd_extend: RdExtend::Accumulate,
            wts: TsuWts::Exact,
            inject: Inject::None,
        }
    }

    /// Sets of a TSU with as many entries as the L2 banks behind its lane have lines (mgcc.md section 2): one bank of `l2_bytes` of every GPU, shared by the lanes of a UMC.
    pub fn sets_behind(tsm: &Tsm, l2_bytes: u32, ways: u32) -> u32 {
        l2_bytes / LINE * tsm.gpus / tsm.lanes / ways
    }

    /// Width of a set number; 0 for a single set.
    pub fn set_bits(&self) -> u32 {
        self.sets.trailing_zeros()
    }
    /// Width of a tag: line bits inside the lane - set bits.
    pub fn tag_bits(&self) -> u32 {
        self.tsm.lane_line_bits() - self.set_bits()
    }
    /// Set of a line.
    fn set_of(&self, line: Bits) -> Bits {
        if self.sets == 1 { lit(0, 1) } else { line.slice(0, self.set_bits()) }
    }
    /// The stamp of a line's last write is stored.
    pub fn exact(&self) -> bool {
        self.wts == TsuWts::Exact
    }
    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let extend = if self.rd_extend == RdExtend::Accumulate { "" } else { "_cover" };
        let bound = if self.exact() { "" } else { "_bound" };
        let inject =
            if self.inject == Inject::None { String::new() } else { format!("_{}", self.inject.word()) };
        let (sets, ways, latency) = (self.sets, self.ways, self.latency);
        format!("tsu_{}_s{sets}_w{ways}_d{latency}{extend}{bound}{inject}", self.tsm.tag())
    }

    /// Checks the TSU's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let check = |good: bool, key: &str, value: u32, problem: &str, legal: &str| {
            let error = || BlockError::Illegal {
                block: "tsu".into(),
                key: key.into(),
                value: value.to_string(),
                problem: problem.into(),
                legal: legal.into(),
            };
            if good { Ok(()) } else { Err(error()) }
        };
        let sets = self.sets.is_power_of_two() && self.sets <= 65536;
        check(sets, "sets", self.sets, "it is no supported number of sets", "power of two, 1..65536")?;
        check((1..=16).contains(&self.ways), "ways", self.ways, "it lies outside", "1..16")?;
        check((2..=200).contains(&self.latency), "latency", self.latency, "it lies outside", "2..200")
    }
}

/// The TSU: channels `req`, `roll` in; `rsp`, `roll_ack`, `roll_ask` out; inputs `rd_lease`, `wr_lease`; output `epoch`.
///
/// # Errors
/// A parameter outside its range.
pub fn tsu(p: &TsuParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let built = Module::build(&p.module_name(), ModuleKind::Block, || {
        doc("Timestamp unit of a lane: grants reads and writes of a line their intervals of logical time.");
        for (key, value) in [("sets", p.sets), ("ways", p.ways), ("latency", p.latency)] {
            param(key, value);
        }
        param("rd_extend", p.rd_extend.word());
        param("wts", p.wts.word());
        param("inject", p.inject.word());
        describe(p);
    });
    built.map_err(|errors| BlockError::Elab { block: "tsu".into(), errors })
}

/// Valid bit and tag of a way.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = TsuParams)]
struct Entry {
    #[width(p.tag_bits())]
    #[field("tag")]
    tag: Bits,
    #[field("state")]
    valid: Bool,
}

/// A memory with one read and one write port.
struct Array<T: Data> {
    port: SramPort<T>,
    writer: RowWriter<T>,
}

impl<T: Data> Array<T> {
    fn new(memory: Memory<T>) -> Array<T> {
        Array { port: memory.read_port("read"), writer: memory.row_writer("write") }
    }

    fn clear(&self, set: Bits, width: u32, lanes: u32) {
        self.writer.write_packed(set, lit_bv(Bv::ones(lanes)), lit_bv(Bv::zero(width * lanes)));
    }
}

/// The sets.
struct Sets {
    entries: Array<Entry>,
    memts: Array<Bits>,
    floors: Array<Bits>,
    /// Stamps of the last writes, and the greatest of those that have left, where they are stored.
    wts: Option<(Array<Bits>, Array<Bits>)>,
}

impl Sets {
    fn new(p: &TsuParams) -> Sets {
        let stamps = |name: &str, lanes| {
            let fields = [(name, p.tsm.ts)];
            Array::new(sram::<Bits>(name, p.sets, lanes, p.tsm.ts).fields(&fields))
        };
        Sets {
            entries: Array::new(sram::<Entry>("entries", p.sets, p.ways, p.clone())),
            memts: stamps("memts", p.ways),
            floors: stamps("floors", 1),
            wts: p.exact().then(|| (stamps("wts", p.ways), stamps("wfloors", 1))),
        }
    }

    fn present(&self, set: Bits) {
        self.entries.port.present(set);
        self.memts.port.present(set);
        self.floors.port.present(set);
        if let Some((wts, wfloors)) = &self.wts {
            wts.port.present(set);
            wfloors.port.present(set);
        }
    }

    /// Empties a set; the stamps of invalid entries mean nothing.
    fn clear(&self, p: &TsuParams, set: Bits) {
        self.entries.clear(set, p.tag_bits() + 1, p.ways);
        self.floors.clear(set, p.tsm.ts, 1);
        if let Some((_, wfloors)) = &self.wts {
            wfloors.clear(set, p.tsm.ts, 1);
        }
    }

    /// Whether a line has an entry after this cycle.
    fn held_after(&self, set: Bits, tag: Bits, found: &Found) -> Enum<Held> {
        let before = self.entries.port.lane_at(found.way);
        let after = self.entries.writer.leaves(set, found.way, &before);
        mux(after.valid & after.tag.eq(tag), enum_lit(Held::There), enum_lit(Held::None))
    }

    /// Writes back what an operation changes.
    fn update(
        &self,
        p: &TsuParams,
        set: Bits,
        tag: Bits,
        found: &Found,
        row: &Decoded<Held, TsuAct>,
        grant: &Grant,
    ) {
        let (alloc, drop) = (row.does(TsuAct::Alloc), row.does(TsuAct::Drop));
        let way = found.way.one_hot(p.ways);
        when(alloc | drop, || {
            let entry = Entry { tag, valid: alloc };
            self.entries.writer.write_masked(set, way, &vec![entry; p.ways as usize]);
        });
        when(grant.granted, || {
            self.memts.writer.write_masked(set, way, &vec![grant.rts; p.ways as usize]);
            if let Some((wts, _)) = &self.wts {
                wts.writer.write_masked(set, way, &vec![grant.wts; p.ways as usize]);
            }
        });
        when((alloc & found.full) | drop, || {
            self.floors.writer.write(set, &[found.raised_floor()]);
            if let Some((_, wfloors)) = &self.wts {
                wfloors.writer.write(set, &[found.raised_wfloor()]);
            }
        });
    }
}

/// Registers of the unit and its ports for epochs.
struct Unit {
    epoch: Reg<Bits>,
    swept: Reg<Bits>,
    sweeping: Bool,
    /// A Roll is to be acknowledged once all is swept, and its epoch.
    ack_due: Reg<Bool>,
    ack_epoch: Reg<Bits>,
    /// The end of this epoch is wanted; asked for.
    asked: Reg<Bool>,
    ask_due: Reg<Bool>,
}

impl Unit {
    fn new(p: &TsuParams) -> Unit {
        let epoch = output_reg::<Bits>("epoch", p.tsm.epoch_bits());
        let swept = reg::<Bits>("swept", p.set_bits() + 1).doc("Sets swept in this epoch.");
        Unit {
            epoch,
            sweeping: (!swept.get().bit(p.set_bits())).named("sweeping"),
            swept,
            ack_due: reg::<Bool>("ack_due", ()),
            ack_epoch: reg::<Bits>("ack_epoch", p.tsm.epoch_bits()),
            asked: reg::<Bool>("asked", ()),
            ask_due: reg::<Bool>("ask_due", ()),
        }
    }
}

fn describe(p: &TsuParams) {
    let t = &p.tsm;
    let rd_lease = input::<Bits>("rd_lease", t.ts);
    let wr_lease = input::<Bits>("wr_lease", t.ts);
    let req = in_channel::<TsuReq>("req", t);
    let rsp = out_channel::<TsuRsp>("rsp", t);
    let u = Unit::new(p);
    let sets = Sets::new(p);
    let req_age = age(t, "req", req.valid, req.msg.tag, u.epoch.get());
    let begin = rolls(p, &u, req.valid & req_age.newer);
    let accept = (req.valid & !u.sweeping & !begin).named("accept");
    let s1_valid = reg::<Bool>("s1_valid", ());
    let s1 = reg::<TsuReq>("s1", t.clone()).field("queue");
    sets.present(p.set_of(req.msg.line));
    s1_valid.set(accept);
    when(accept, || {
        req.take();
        s1.set(req.msg);
    });

    let op = s1.get();
    let s1_age = age(t, "s1", s1_valid.get(), op.tag, u.epoch.get());
    let found = Found::look_up(p, &sets, s1_valid.get(), op.line.slice(p.set_bits(), p.tag_bits()));
    let clock = mux(s1_age.current, op.ts, lit(0, t.ts));
    let clock = if p.inject == Inject::LitNoTs { lit(0, t.ts) } else { clock };
    let overflow = found.exhausted(p) & op.op.is_any(&[TsmOp::Wr, TsmOp::Amo]);
    let never = matches!(p.inject, Inject::LitReinit | Inject::LitMwts);
    let last = found.hit & s1_age.current & found.memts.eq(op.ts) & op.op.is(TsmOp::Evict);
    let refuse = if never { bool_lit(false) } else { overflow };
    let special = (refuse | last).named("s1_special");
    let row = table().decode_about(op.line, s1_valid.get(), (op.op, found.hit.bits(), special));
    let grant = Grant::new(p, &row, &found, clock, (rd_lease, wr_lease));

    let set = p.set_of(op.line);
    when(u.sweeping, || {
        let index = if p.sets == 1 { lit(0, 1) } else { u.swept.get().slice(0, p.set_bits()) };
        sets.clear(p, index);
        u.swept.set(u.swept.get() + 1);
    })
    .elsewhen(s1_valid.get(), || {
        let tag = op.line.slice(p.set_bits(), p.tag_bits());
        sets.update(p, set, tag, &found, &row, &grant);
    });
    row.leads_to(sets.held_after(set, op.line.slice(p.set_bits(), p.tag_bits()), &found));
    machine().check(&[]);
    let answered = (s1_valid.get() & !op.op.is(TsmOp::Evict)).named("s1_answered");
    let answer = TsuRsp {
        id: op.id,
        tag: u.epoch.get().slice(0, t.eb),
        wts: grant.wts,
        rts: grant.rts,
        ovf: row.does(TsuAct::Refuse),
    };
    answers(p, &rsp, answered, &answer);
    ask(p, &u, begin, answered, &answer);

    let same_set = accept & s1_valid.get() & p.set_of(req.msg.line).eq(set);
    cover("mgcc.race.tsu_same_set", same_set, "an operation follows one on its set in the next cycle");
    assert_always("sweep_alone", !(u.sweeping & s1_valid.get()), "nothing runs while sets are swept");
    observe(p, s1_valid.get(), &op, s1_age, &found, &row, &grant);
    grant.check(p, s1_valid.get(), &found, clock, (rd_lease, wr_lease));
}

/// Epochs: a Roll, or a request from the next epoch, begins the sweep. Returns whether a new epoch begins in this cycle.
fn rolls(p: &TsuParams, u: &Unit, newer_request: Bool) -> Bool {
    let roll = in_channel::<Roll>("roll", &p.tsm);
    let acks = out_channel::<RollAck>("roll_ack", &p.tsm);
    let take = (roll.valid & !u.sweeping & !u.ack_due.get()).named("roll_taken");
    let told = (take & later(roll.msg.epoch, u.epoch.get())).named("rolled_by_roll");
    let by_request = (newer_request & !u.sweeping & !take).named("rolled_by_request");
    let begin = (told | by_request).named("epoch_begins");
    when(take, || {
        roll.take();
        u.ack_due.set(true);
        u.ack_epoch.set(roll.msg.epoch);
    });
    when(begin, || {
        u.epoch.set(mux(told, roll.msg.epoch, u.epoch.get() + 1));
        u.swept.set(0);
    });
    when(u.ack_due.get() & !u.sweeping & acks.free, || {
        acks.send(&RollAck { epoch: u.ack_epoch.get() });
        u.ack_due.set(false);
    });
    assert_roll_in_order("roll_in_order", take, roll.msg.epoch, u.epoch.get());
    cover(
        "mgcc.race.tsu_roll_after_request",
        take & !told,
        "a request of the new epoch has come before its Roll",
    );
    cover("mgcc.race.tsu_rolled_by_request", by_request, "a request of the next epoch begins it");
    cover("mgcc.race.tsu_roll_in_sweep", roll.valid & u.sweeping, "a Roll comes while sets are swept");
    count("tsu_rolls", begin, "epochs begun");
    count("tsu_sweep_cycles", u.sweeping, "cycles in which sets were swept");
    begin
}

/// Answers leave `latency` cycles after their requests were taken.
fn answers(p: &TsuParams, rsp: &OutChannel<TsuRsp>, answered: Bool, answer: &TsuRsp) {
    // Two cycles are the stages themselves.
    let wait = p.latency - 2;
    let leave = if wait == 0 {
        when(answered, || rsp.send(answer));
        answered
    } else {
        let waiting = Fifo::<TsuRsp>::new("waiting", wait, &p.tsm);
        let ripe = delayed("under_way", answered, wait).named("ripe");
        when(answered, || waiting.push(answer));
        when(ripe, || {
            rsp.send(&waiting.head);
            waiting.pop();
        });
        ripe
    };
    assert_always("answer_taken", !leave | rsp.free, "the ReqTracker takes every answer at once");
}

/// Asks, once per epoch, for its end.
fn ask(p: &TsuParams, u: &Unit, begin: Bool, answered: Bool, answer: &TsuRsp) {
    let asks = out_channel::<RollAck>("roll_ask", &p.tsm);
    let near = answer.ovf | answer.rts.gt(p.tsm.roll_above());
    let wanted = if p.inject == Inject::LitReinit { bool_lit(false) } else { answered & near };
    when(u.ask_due.get() & asks.free, || {
        asks.send(&RollAck { epoch: u.epoch.get() });
        u.ask_due.set(false);
    });
    when(begin, || {
        u.asked.set(false);
        u.ask_due.set(false);
    })
    .elsewhen(wanted & !u.asked.get(), || {
        u.asked.set(true);
        u.ask_due.set(true);
    });
    count("tsu_asks", wanted & !u.asked.get() & !begin, "epochs whose end was asked for");
}

fn observe(
    p: &TsuParams,
    valid: Bool,
    op: &TsuReq,
    age: Age,
    found: &Found,
    row: &Decoded<Held, TsuAct>,
    grant: &Grant,
) {
    let is = |ops: &[TsmOp]| valid & op.op.is_any(ops);
    let (reads, writes) = (is(&[TsmOp::Rd]), is(&[TsmOp::Wr, TsmOp::Amo]));
    let evicts = valid & row.does(TsuAct::Alloc) & found.full;
    let dropped = valid & row.does(TsuAct::Drop);
    count("tsu_reads", reads, "reads granted");
    count("tsu_writes", writes, "writes and atomics");
    count("tsu_overflows", valid & row.does(TsuAct::Refuse), "writes that did not fit this epoch");
    count("tsu_hits", (reads | writes) & found.hit, "operations whose line has an entry");
    count("tsu_allocations", valid & row.does(TsuAct::Alloc), "entries made");
    count("tsu_evictions_capacity", evicts, "entries replaced");
    count("tsu_evictions_note", dropped, "entries dropped because the L2 dropped the line");
    count("tsu_notes_ignored", is(&[TsmOp::Evict]) & !row.does(TsuAct::Drop), "notes that changed nothing");
    let rises = (evicts | dropped) & found.floor.lt(found.way_memts);
    count("tsu_floor_rises", rises, "floors raised by an entry that left");
    cover(
        "mgcc.race.tsu_older_ts",
        (reads | writes) & age.older & op.ts.any(),
        "a stamp of an older epoch counts as 0",
    );
    cover(
        "mgcc.race.tsu_older_note",
        is(&[TsmOp::Evict]) & age.older & found.hit,
        "a note of an older epoch is ignored",
    );
    let stale = is(&[TsmOp::Evict]) & found.hit & age.current & !row.does(TsuAct::Drop);
    cover("mgcc.race.tsu_note_too_late", stale, "the line has been granted to somebody else since");
    cover(
        "mgcc.race.tsu_base_from_floor",
        valid & grant.granted & !found.hit & found.floor.any(),
        "a new entry starts at the floor",
    );
    cover(
        "mgcc.race.tsu_read_saturated",
        reads & grant.rts.eq(p.tsm.ts_max()),
        "a lease ends at the greatest stamp",
    );
    let largest = reg::<Bits>("largest", p.tsm.ts).doc("Greatest rts granted; for reports.");
    let higher = (valid & grant.granted & largest.get().lt(grant.rts)).named("new_largest");
    when(higher, || largest.set(grant.rts));
    count_amount("tsu_largest_stamp", higher, grant.rts - largest.get(), "greatest rts granted in any epoch");
}

/// The TSU's own keys on the command line, which a lane shares.
pub(crate) fn own_params() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    vec![
        info("sets", "512", "power of two, 1..65536", "sets of timestamp entries"),
        info("ways", "8", "1..16", "ways of a set"),
        info("latency", "50", "2..200", "cycles from a request to its answer"),
        info("rd_extend", "accumulate", "accumulate, cover", "how a read extends a line's lease"),
        info("wts", "exact", "exact, bound", "stamp of the last write: stored, or bounded by the old lease"),
        info(
            "inject",
            "none",
            "none, lit_mwts, lit_no_ts, lit_no_floor, lit_reinit",
            "a slip of the published listings, for negative tests",
        ),
    ]
}

/// Reads the parameters of the command line.
///
/// # Errors
/// A value outside its range.
pub(crate) fn from_set(set: &ParamSet) -> Result<TsuParams, BlockError> {
    let p = TsuParams {
        tsm: tsm_from(set)?,
        sets: set.within("sets", 1, 65536)? as u32,
        ways: set.within("ways", 1, 16)? as u32,
        latency: set.within("latency", 2, 200)? as u32,
        rd_extend: Choice::from_set(set, "rd_extend")?,
        wts: Choice::from_set(set, "wts")?,
        inject: Choice::from_set(set, "inject")?,
    };
    let of_caches = [Inject::LitReadCts, Inject::LitBrts, Inject::LitAckNodata, Inject::PastRts];
    if of_caches.contains(&p.inject) || matches!(p.inject, Inject::EarlyFence | Inject::KeepClock) {
        return Err(set.illegal("inject", "it is a slip of the caches"));
    }
    p.validate()?;
    Ok(p)
}

/// The TSU in the list of blocks.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "tsu",
        about: "Timestamp unit of a UMC's lane: grants reads and writes their intervals of logical time",
        params: || [own_params(), tsm_params()].concat(),
        build: |set| tsu(&from_set(set)?),
    }
}
