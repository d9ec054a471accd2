//! The RDMA engine of a GPU: `rdma-engine` (mgcc.md section 14).
//!
//! ```text
//!  l1_req  -> entries {L1, transaction, line} -> net_req         far_req -> slots {GPU, entry} -> bank_req
//!  l1_rsp  <------- free an entry ------------- net_rsp          far_rsp <-- free a slot -------- bank_rsp
//! ```
//! Misses of L1s to lines that another GPU owns take an entry and leave for the owner; the answer finds its L1 in the entry and frees it. Requests of other GPUs take a slot and go to the local bank
//! of their address as if they came from L1s beyond the last one: slot s has transaction s mod 2^t and L1 number CUs + s div 2^t, t bits wide being the transaction number of an L1. The bank's answer goes back to
//! the GPU in the slot. When no entry or slot is free the request waits at its port, and what is behind it in the crossbar or in the request network too; answers have their place,
//! and wait for answers only.
//!
//! | state | values |
//! | --- | --- |
//! | `lines` | lines under way, by entry |
//! | `askers` | L1 and transaction of each |
//! | `slots_used`, `guests` | slots taken; GPU and entry that wait for each |
//!
//! # Transition table
//!
//! Of entries and slots:
//!
#![doc = include_str!("../../docs/rdma-engine.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/rdma-engine.svg")]

use super::msg::{Asker, Guest, Rdma, RdmaReq, RdmaRsp, rdma_from, rdma_params, slot_of};
use crate::msg::{TsmOp, UpReq, UpRsp};
use weft_blocks::common::cam::Cam;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;
use weft_rtl::transitions::{Happens, follows, rows_of_entries};

/// What happens to an entry or a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum EngineEvent {
    /// A request comes and can go on.
    #[hw(label = "request")]
    Request,
    /// A request comes and what it goes to has no room.
    #[hw(label = "blocked")]
    Blocked,
    /// A request comes and all are taken.
    #[hw(label = "full")]
    Full,
    /// The answer comes.
    #[hw(label = "answer")]
    Answer,
}

/// What a request keeps while it is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Holder {
    /// Of an L1 here.
    #[hw(label = "entry")]
    Entry,
    /// Of another GPU.
    #[hw(label = "slot")]
    Slot,
}

/// State of an entry or a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum HolderState {
    /// Nobody has it.
    #[hw(label = "FREE")]
    Free,
    /// Its request is under way.
    #[hw(label = "OPEN")]
    Open,
}

transitions! {
    /// Entries and slots. Both sides may act in one cycle, so the rows are not decoded but observed; a request that waits for a place concerns all of them.
    /// That slots follow is asserted; the valid bits of entries are inside their CAM.
    pub fn table() {
        name "rdma_engine_table", rows "mgcc.rdma.";
        on "side": Holder, "state": HolderState, "event": EngineEvent;
        next HolderState;

        (Entry, Free, Request) -> Open
            "It takes L1, transaction and line; the request leaves for the owner.";
        (Entry, Free, Blocked)         "The network has no room: the request waits.";
        (Entry, Open, Full)            "All entries are taken: the port is not ready.";
        (Entry, Open, Answer) -> Free  "The answer goes to the L1 in the entry.";
        (Slot, Free, Request) -> Open
            "It takes GPU and entry of the asker; the request goes to the bank of its address.";
        (Slot, Free, Blocked)          "The crossbar to the banks has no room: the request waits.";
        (Slot, Open, Full)             "All slots are taken: the request network waits.";
        (Slot, Open, Answer) -> Free   "The bank's answer goes back to the GPU in the slot.";
        never (_, Open, Request | Blocked) "a request takes a free place";
        never (_, Free, Full)          "a request waits for a place only if none is free";
        never (_, Free, Answer)        "an answer is of a request that has been sent, and comes once";
    }
}

/// What moves an entry or a slot.
pub fn machine() -> Machine<HolderState> {
    Machine::new("entry or slot", HolderState::Free).with(&table())
}

/// What a side does in a cycle.
struct Side {
    /// A request is there; it goes on; all places are taken.
    there: Bool,
    goes: Bool,
    full: Bool,
    /// An answer goes on.
    back: Bool,
    /// Places taken, by number.
    used: Bits,
    /// Place that a request takes, and that of the answer: one bit each.
    free: Bits,
    answered: Bits,
    op: Enum<TsmOp>,
}

/// Builds the engine. Channels in: `l1_req` ([`UpReq`] of [`Rdma::gpu`]), `net_rsp` ([`RdmaRsp`]), `far_req` ([`RdmaReq`]), `bank_rsp` ([`UpRsp`]); out: `net_req`,
/// `l1_rsp`, `bank_req`, `far_rsp`; input `own_gpu`; output `same_line`, for a performance counter: the request that left in the cycle before is of a line that was under way.
///
/// # Errors
/// A parameter outside its range.
pub fn rdma_engine(p: &Rdma) -> Result<Arc<Module>, BlockError> {
    p.validate("rdma-engine")?;
    let built = Module::build(&format!("rdma_engine_{}", p.tag()), ModuleKind::Block, || {
        doc("RDMA engine of a GPU: its L1s' misses to lines of other GPUs, and theirs to its own.");
        for (key, value) in [("gpus", p.tsm.gpus), ("entries", p.entries), ("slots", p.slots)] {
            param(key, value);
        }
        param("home_bits", p.home_bits);
        let own = input::<Bits>("own_gpu", p.tsm.gpu_bits());
        let sides = [asks(p, own), serves(p, own)];
        observe(&sides);
    });
    built.map_err(|errors| BlockError::Elab { block: "rdma-engine".into(), errors })
}

/// Requests of the GPU's L1s to other GPUs.
fn asks(p: &Rdma, own: Bits) -> Side {
    let gpu = p.gpu();
    let (request, out) = (in_channel::<UpReq>("l1_req", &gpu), out_channel::<RdmaReq>("net_req", p));
    let (answer, up) = (in_channel::<RdmaRsp>("net_rsp", p), out_channel::<UpRsp>("l1_rsp", &gpu));
    let lines = Cam::new("lines", p.entries, p.tsm.line_bits());
    let askers = regfile::<Asker>("askers", p.entries, p.clone());
    let askers = askers.fields(&[("queue", width_of::<Asker>(p))]);
    let writer = askers.lane_writer("in");
    let m = &request.msg;
    let (full, free) = (lines.full(), lines.free_index());
    let goes = (request.valid & !full & out.free).named("asks");
    when(goes, || {
        request.take();
        lines.write(free, m.line);
        writer.write(free, &Asker { l1: m.src, txn: m.txn });
        out.send(&RdmaReq::of(p, m, own, free));
    });
    let entry = answer.msg.txn;
    let back = (answer.valid & up.free).named("answered");
    when(back, || {
        answer.take();
        lines.remove_at(entry);
        up.send(&askers.read(entry).answer(p, &answer.msg));
    });
    let foreign = !p.home_of(m.line).eq(own);
    assert_always("rdma_foreign", !request.valid | foreign, "a request that leaves is of another GPU's line");
    let width = p.tsm.line_bits() - p.home_line_bits() - p.tsm.gpu_bits();
    if width > 0 {
        let beyond = m.line.slice(p.home_line_bits() + p.tsm.gpu_bits(), width).any();
        assert_always("rdma_owned", !request.valid | !beyond, "some GPU owns the line");
    }
    let open = lines.valid().bit_at(entry);
    let known = !answer.valid | (open & answer.msg.dst.eq(own));
    assert_always("rdma_answer_expected", known, "an answer is of a request of this GPU, once");
    let same = goes & lines.matches(m.line).any();
    output_reg::<Bool>("same_line", ()).set(same);
    cover("mgcc.race.rdma_same_line", same, "a second L1 asks for a line that is under way");
    count("rdma_same_line", same, "requests of lines that were under way for another L1");
    let (used, op) = (lines.valid(), m.op);
    let (free, answered) = (free.one_hot(p.entries), entry.one_hot(p.entries));
    let side = Side { there: request.valid, goes, full, back, used, free, answered, op };
    rows(Holder::Entry, &side);
    side
}

/// Requests of other GPUs to this one's banks.
fn serves(p: &Rdma, own: Bits) -> Side {
    let gpu = p.gpu();
    let (request, out) = (in_channel::<RdmaReq>("far_req", p), out_channel::<UpReq>("bank_req", &gpu));
    let (answer, up) = (in_channel::<UpRsp>("bank_rsp", &gpu), out_channel::<RdmaRsp>("far_rsp", p));
    let used = reg::<Bits>("slots_used", p.slots).field("valid");
    let guests = regfile::<Guest>("guests", p.slots, p.clone());
    let guests = guests.fields(&[("queue", width_of::<Guest>(p))]);
    let writer = guests.lane_writer("in");
    let full = used.get().all();
    let free = (!used.get()).lowest_set().resize(p.slot_bits());
    let goes = (request.valid & !full & out.free).named("serves");
    let slot = slot_of(p, &answer.msg).named("answer_slot");
    let back = (answer.valid & up.free).named("served");
    let taken = free.one_hot(p.slots) & goes.repeat(p.slots);
    let left = slot.one_hot(p.slots) & back.repeat(p.slots);
    used.set((used.get() & !left) | taken);
    when(goes, || {
        request.take();
        writer.write(free, &Guest { gpu: request.msg.src, txn: request.msg.txn });
        out.send(&request.msg.up(p, free));
    });
    when(back, || {
        answer.take();
        up.send(&guests.read(slot).answer(&answer.msg));
    });
    let mine = request.msg.dst.eq(own) & !request.msg.src.eq(own);
    assert_always("rdma_owner", !request.valid | mine, "a request comes to its owner, from another GPU");
    let open = used.get().bit_at(slot) & answer.msg.dst.ge(u64::from(p.tsm.cus));
    assert_always("rdma_bank_answer_expected", !answer.valid | open, "a bank answers a slot once");
    let (free, answered, op) = (free.one_hot(p.slots), slot.one_hot(p.slots), request.msg.op);
    let side = Side { there: request.valid, goes, full, back, used: used.get(), free, answered, op };
    let expected = rows(Holder::Slot, &side);
    used.on_next(move |next| follows("rdma_engine_slots", next, expected));
    side
}

/// Counts the rows that a side takes; the state of its places to which they lead.
fn rows(holder: Holder, side: &Side) -> Bits {
    let table = table();
    let rows: Vec<_> = table.rows().iter().filter(|row| row.when[0].contains(&holder.encoding())).collect();
    let of = |now: Bool, places: Bits| places & now.repeat(places.width());
    let events = [
        Happens::new(EngineEvent::Request, of(side.goes, side.free)),
        Happens::new(EngineEvent::Blocked, of(side.there & !side.goes & !side.full, side.free)),
        Happens::new(EngineEvent::Full, of(side.there & side.full, lit_bv(Bv::ones(side.used.width())))),
        Happens::new(EngineEvent::Answer, of(side.back, side.answered)),
    ];
    rows_of_entries(&format!("rdma_engine_{}", holder.label()), &rows, &[side.used], &events)[0]
}

fn observe(sides: &[Side; 2]) {
    table().check();
    machine().check(&[]);
    for (side, name) in sides.iter().zip(["entry", "slot"]) {
        let both = side.goes & side.back;
        cover(&format!("mgcc.race.rdma_{name}_in_and_out"), both, "one is taken while another is freed");
        let last = side.there & side.full & side.back;
        cover(&format!("mgcc.race.rdma_{name}_full_and_answer"), last, "a request waits while one is freed");
    }
    let [out, into] = sides;
    count("rdma_requests", out.goes, "requests that left for other GPUs");
    for (name, op) in [("reads", TsmOp::Rd), ("writes", TsmOp::Wr), ("atomics", TsmOp::Amo)] {
        count(&format!("rdma_{name}"), out.goes & out.op.is(op), "requests of this kind that left");
    }
    count("rdma_served", into.goes, "requests of other GPUs that went to a bank");
    count("rdma_entry_stalls", out.there & out.full, "cycles in which a request waited for an entry");
    count("rdma_slot_stalls", into.there & into.full, "cycles in which a request waited for a slot");
    let open = out.used.popcount();
    count_amount("rdma_latency", out.used.any(), open, "sum over all requests of the cycles with an entry");
    let open = into.used.popcount();
    count_amount(
        "rdma_slot_cycles",
        into.used.any(),
        open,
        "sum over all requests of the cycles with a slot",
    );
}

/// The engine in the list of blocks.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "rdma-engine",
        about: "RDMA engine of a GPU: misses of its L1s to other GPUs' memories, and theirs to its own",
        params: rdma_params,
        build: |set| rdma_engine(&rdma_from(set, "rdma-engine")?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert_eq!(table().faults(), []);
    }
}
