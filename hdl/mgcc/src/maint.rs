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

/// State of the unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum MaintState {
    /// No fence is open.
    Idle,
    /// Banks are at work.
    Open,
}

/// What happens to the unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum MaintEvent {
    /// A fence that acquires.
    Acquire,
    /// A fence that releases.
    Release,
    /// A bank has done its part, others have not.
    Bank,
    /// The last bank has.
    LastBank,
}

/// The table; actions are the command to the banks, if there is one, and the next state. Banks may answer in any cycle, so the rows are not decoded but observed.
pub fn table() -> Table {
    use MaintEvent::*;
    use MaintState::*;
    let row = |id: &str, state: MaintState, event: MaintEvent, actions: &[&'static str], text: &str| Row {
        id: format!("mgcc.maint.{id}"),
        when: vec![vec![state.encoding()], vec![event.encoding()]],
        actions: actions.to_vec(),
        text: text.to_string(),
    };
    let events = [("acquire", Acquire), ("release", Release), ("bank", Bank), ("last bank", LastBank)];
    Table {
        name: "maint_table",
        columns: vec![
            Column { name: "state", values: vec![("IDLE", Idle.encoding()), ("OPEN", Open.encoding())] },
            Column { name: "event", values: events.iter().map(|e| (e.0, e.1.encoding())).collect() },
        ],
        rows: vec![
            row("IDLE.acquire", Idle, Acquire, &["Invalidate", "OPEN"], "Every bank drops its lines."),
            row(
                "IDLE.release",
                Idle,
                Release,
                &["WriteBack", "OPEN"],
                "Every bank writes back what is dirty.",
            ),
            row("OPEN.bank", Open, Bank, &["OPEN"], "Counted."),
            row("OPEN.last_bank", Open, LastBank, &["IDLE"], "The fence is given back."),
        ],
    }
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
    let fired = [
        (MaintEvent::Acquire, begins & start.msg.acquire),
        (MaintEvent::Release, begins & !start.msg.acquire),
        (MaintEvent::Bank, heard.any() & left.any()),
        (MaintEvent::LastBank, last),
    ];
    observe(state.get(), &fired);
    let waits = start.valid & open;
    cover("mgcc.race.maint_fence_waits", waits, "a fence comes while banks are at work for another one");
    count("maint_acquires", begins & start.msg.acquire, "times that the banks were emptied");
    count("maint_releases", begins & !start.msg.acquire, "times that the banks wrote back");
    count("maint_cycles", open, "cycles in which banks were at work for a fence");
}

fn observe(state: Enum<MaintState>, fired: &[(MaintEvent, Bool)]) {
    let table = table();
    for (event, now) in fired {
        for row in table.rows.iter().filter(|r| r.when[1] == vec![event.encoding()]) {
            let here = state.bits().eq(row.when[0][0]);
            cover(&row.id, *now & here, &row.text);
            let name = format!("{}_{}_listed", table.name, format!("{event:?}").to_lowercase());
            let text = "every pair of state and event that occurs has a row in the table";
            assert_always(&name, !*now | here, text);
        }
    }
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
    fn every_event_has_exactly_one_row() {
        let table = table();
        assert_eq!(table.overlaps(), []);
        for event in 0..4 {
            assert_eq!(table.rows.iter().filter(|r| r.when[1] == [event]).count(), 1);
        }
    }
}
