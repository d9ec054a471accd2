//! Software coherence of a GPU's L2 (mgcc.md section 5, decision on fabrics without coherence): a fence of the command processor becomes a command to every bank.
//!
//! ```text
//!  start (acquire) -> Invalidate -> every bank          start (release) -> WriteBack -> every bank
//!  done            <- when every bank has answered
//! ```
//! An acquire, at a kernel's begin, empties the banks; those that write back write their dirty bytes first. A release, at a kernel's end, writes back what is dirty; banks that
//! write through are done with that at once. Scopes make no difference: memory is the only place that GPUs share. One fence is open at a time.
//!
//! | state | values |
//! | --- | --- |
//! | `state` | IDLE; OPEN: banks are at work |
//! | `token` | the fence, given back at the end |
//! | `to_tell`, `to_hear` | banks to which the command has still to be sent; that have still to answer |
//!
//! # Picture
//!
#![doc = include_str!("../pictures/tsm-maint.svg")]

use crate::msg::{Maint, MaintOp};
use weft_blocks::msg::FenceToken;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::prelude::*;
use weft_rtl::transitions::{Happens, follows, rows_of_entries};

/// State of the unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum MaintState {
    /// No fence is open.
    #[hw(label = "IDLE")]
    Idle,
    /// Banks are at work.
    #[hw(label = "OPEN")]
    Open,
}

/// What happens to the unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum MaintEvent {
    /// A fence that acquires.
    #[hw(label = "acquire")]
    Acquire,
    /// A fence that releases.
    #[hw(label = "release")]
    Release,
    /// A bank has done its part, others have not.
    #[hw(label = "bank")]
    Bank,
    /// The last bank has.
    #[hw(label = "last_bank")]
    LastBank,
}

/// What the unit does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum MaintAct {
    /// Tell every bank to drop its lines.
    Invalidate,
    /// Tell every bank to write back what is dirty.
    WriteBack,
}

transitions! {
    /// Fences of the unit. Banks may answer in any cycle, so the rows are not decoded but observed; the unit is idle again when the fence has been given back.
    pub fn table() {
        name "maint_table", rows "mgcc.maint.";
        on "state": MaintState, "event": MaintEvent;
        next MaintState;
        does MaintAct;

        (Idle, Acquire) -> Open [Invalidate] "Every bank drops its lines.";
        (Idle, Release) -> Open [WriteBack]  "Every bank writes back what is dirty.";
        (Open, Bank)                         "Counted.";
        (Open, LastBank) -> Idle             "The fence is given back.";
        never (Idle, Bank | LastBank)        "a bank answers what it was told for an open fence";
        never (Open, Acquire | Release)      "one fence is open at a time: the next one waits";
    }
}

/// What moves the unit.
pub fn machine() -> Machine<MaintState> {
    Machine::new("fences of a GPU", MaintState::Idle).with(&table())
}

/// The unit: channels `start` ([`FenceToken`]) in, `done` out; to bank b `cmd{b}` ([`Maint`]) out, `done{b}` in.
///
/// # Errors
/// A number of banks outside 1..64.
pub fn maint(banks: u32) -> Result<Arc<Module>, BlockError> {
    let built = Module::build(&format!("tsm_maint_n{banks}"), ModuleKind::Block, || {
        doc("Fences of a GPU without coherence: a command to every bank, done when all have answered.");
        param("banks", banks);
        if (1..=64).contains(&banks) {
            describe(banks);
        } else {
            elab_error(format!("banks = {banks}; legal: 1..64"));
        }
    });
    built.map_err(|errors| BlockError::Elab { block: "tsm-maint".into(), errors })
}

fn describe(banks: u32) {
    let start = in_channel::<FenceToken>("start", &());
    let done = out_channel::<FenceToken>("done", &());
    let state = reg::<Enum<MaintState>>("state", ());
    let token = reg::<FenceToken>("token", ());
    let to_tell = reg::<Bits>("to_tell", banks);
    let to_hear = reg::<Bits>("to_hear", banks);
    let open = state.get().is(MaintState::Open);
    let command = mux(token.get().acquire, enum_lit(MaintOp::Invalidate), enum_lit(MaintOp::WriteBack));
    let (mut told, mut heard) = (Vec::new(), Vec::new());
    for b in 0..banks {
        let (cmd, back) =
            (out_channel::<Maint>(&format!("cmd{b}"), &()), in_channel::<Maint>(&format!("done{b}"), &()));
        let tell = to_tell.get().bit(b) & cmd.free;
        when(tell, || cmd.send(&Maint { op: command }));
        when(back.valid, || back.take());
        let expected = to_hear.get().bit(b) & !to_tell.get().bit(b) & back.msg.op.bits().eq(command.bits());
        let text = "a bank answers the command that it was given, once";
        assert_always(&format!("done{b}_expected"), !back.valid | expected, text);
        told.push(tell);
        heard.push(back.valid);
    }
    let (told, heard) = (pack_bools(&told), pack_bools(&heard).named("heard"));
    let left = (to_hear.get() & !heard).named("left_to_hear");
    to_tell.set(to_tell.get() & !told);
    to_hear.set(left);
    let begins = (start.valid & !open).named("begins");
    when(begins, || {
        start.take();
        state.set(MaintState::Open);
        token.set(start.msg);
        to_tell.set(lit_bv(Bv::ones(banks)));
        to_hear.set(lit_bv(Bv::ones(banks)));
    })
    .elsewhen(open & to_hear.get().none() & done.free, || {
        state.set(MaintState::Idle);
        done.send(&token.get());
    });
    let last = heard.any() & left.none();
    let ends = open & to_hear.get().none() & done.free;
    let fired = [
        (MaintEvent::Acquire, begins & start.msg.acquire),
        (MaintEvent::Release, begins & !start.msg.acquire),
        (MaintEvent::Bank, heard.any() & left.any()),
    ];
    observe(&state, &fired, last, ends);
    let waits = start.valid & open;
    cover("mgcc.race.maint_fence_waits", waits, "a fence comes while banks are at work for another one");
    count("maint_acquires", begins & start.msg.acquire, "times that the banks were emptied");
    count("maint_releases", begins & !start.msg.acquire, "times that the banks wrote back");
    count("maint_cycles", open, "cycles in which banks were at work for a fence");
}

/// `last`: the last bank has done its part; `ends`: the fence is given back.
fn observe(state: &Reg<Enum<MaintState>>, fired: &[(MaintEvent, Bool)], last: Bool, ends: Bool) {
    let table = table();
    table.check();
    machine().check(&[]);
    let mut events: Vec<_> = fired.iter().map(|(event, now)| Happens::new(*event, now.bits())).collect();
    events.push(Happens { event: MaintEvent::LastBank, to: last.bits(), moves: ends.bits() });
    let rows: Vec<_> = table.rows().iter().collect();
    let after = rows_of_entries(table.name(), &rows, &[state.get().bits()], &events);
    state.on_next(move |next| follows("maint_table", next.bits(), after[0]));
}

/// The unit in the list of blocks.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "tsm-maint",
        about: "Fences of a GPU without coherence: its L2 banks are emptied or write back",
        params: || {
            let about = "L2 banks of the GPU";
            vec![ParamInfo { name: "banks", default: "8".into(), legal: "1..64", about }]
        },
        build: |set| maint(set.within("banks", 1, 64)? as u32),
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
