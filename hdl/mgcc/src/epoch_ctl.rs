//! Epochs: the controller at the switch, and the relay that spreads a Roll in a GPU or UMC (mgcc.md section 8).
//!
//! ```text
//!  ask0.. -> epoch-ctl -> roll0..  -> gpu-relay -> roll0.. -> every L1 and bank
//!                 ^   \-> rollu0.. -> UMC                       |
//!                 +----- ack0.., acku0.. <- ack <--- all acks <-+
//! ```
//! | state | values |
//! | --- | --- |
//! | `state` | IDLE; OPEN: a Roll is under way, and not everybody has acknowledged it |
//! | `epoch` | the last epoch begun |
//! | `to_tell`, `to_hear` | receivers to whom the Roll has still to be sent; who have still to acknowledge |
//!
//! One roll is open at a time, so a relay never gets a second one before it has acknowledged the first. Epochs are numbers modulo 2^(CTS-TS), 8 or more: with one roll open
//! everybody is in the last epoch begun or in the one before it, so these two are told apart whatever their numbers ([`crate::time`]). An ask that is not for the end of
//! the present epoch is for that of one that is over.
//!
//! # Picture
//!
//! `epoch-ctl`:
//!
#![doc = include_str!("../pictures/epoch-ctl.svg")]
//!
//! `gpu-relay`:
//!
#![doc = include_str!("../pictures/gpu-relay.svg")]

use crate::msg::{Roll, RollAck};
use crate::params::{Tsm, tsm_from, tsm_params};
use crate::time::later;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::prelude::*;

/// State of the controller and of a relay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum RollState {
    /// No roll is open.
    #[hw(label = "IDLE")]
    Idle,
    /// A roll is open.
    #[hw(label = "OPEN")]
    Open,
}

/// What happens to the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum RollEvent {
    /// A UMC asks for the end of the present epoch.
    #[hw(label = "ask")]
    Ask,
    /// A UMC asks for the end of an epoch that is over.
    #[hw(label = "ask_left")]
    AskLeft,
    /// A receiver has swept, others have not.
    #[hw(label = "ack")]
    Ack,
    /// The last receiver has swept.
    #[hw(label = "last_ack")]
    LastAck,
}

transitions! {
    /// The controller. Several events may come in a cycle, so the rows are not decoded but observed.
    pub fn table() {
        name "epoch_table", rows "mgcc.epoch.";
        on "state": RollState, "event": RollEvent;
        next RollState;

        (Idle, Ask) -> Open      "Begin the next epoch: Roll to every GPU and UMC.";
        (Idle, AskLeft)          "It is over already.";
        (Open, AskLeft)          "It is over already.";
        (Open, Ack)              "Counted.";
        (Open, LastAck) -> Idle  "Everybody has swept.";
        never (Idle, Ack | LastAck) "acknowledgements come only while a roll is open";
        never (Open, Ask)        "an ask of the present epoch waits until the roll is over";
    }
}

/// What moves the controller.
pub fn machine() -> Machine<RollState> {
    Machine::new("rolls", RollState::Idle).with(&table())
}

/// Sends a Roll to a number of receivers and collects their acknowledgements.
struct Spread {
    n: u32,
    state: Reg<Enum<RollState>>,
    epoch: Reg<Bits>,
    to_tell: Reg<Bits>,
    to_hear: Reg<Bits>,
    /// An acknowledgement comes; the last one.
    heard: Bool,
    last: Bool,
}

impl Spread {
    /// Receiver `i` has the channels named `ports[i]`: its Roll out, its RollAck in.
    fn new(t: &Tsm, ports: &[(String, String)]) -> Spread {
        let n = ports.len() as u32;
        let state = reg::<Enum<RollState>>("state", ());
        let epoch = reg::<Bits>("epoch", t.epoch_bits());
        let to_tell = reg::<Bits>("to_tell", n);
        let to_hear = reg::<Bits>("to_hear", n);
        let (mut told, mut heard) = (Vec::new(), Vec::new());
        for (i, (roll, ack)) in ports.iter().enumerate() {
            let (roll, ack) = (out_channel::<Roll>(roll, t), in_channel::<RollAck>(ack, t));
            let tell = to_tell.get().bit(i as u32) & roll.free;
            when(tell, || roll.send(&Roll { epoch: epoch.get() }));
            when(ack.valid, || ack.take());
            let expected = to_hear.get().bit(i as u32) & ack.msg.epoch.eq(epoch.get());
            assert_always(
                &format!("ack{i}_expected"),
                !ack.valid | expected,
                "a receiver acknowledges the open roll, once",
            );
            told.push(tell);
            heard.push(ack.valid);
        }
        let (told, heard) = (pack_bools(&told), pack_bools(&heard).named("heard"));
        let left = (to_hear.get() & !heard).named("left_to_hear");
        to_tell.set(to_tell.get() & !told);
        to_hear.set(left);
        let last = (heard.any() & left.none()).named("last_ack");
        Spread { n, state, epoch, to_tell, to_hear, heard: heard.any(), last }
    }

    fn open(&self, epoch: Bits) {
        self.state.set(RollState::Open);
        self.epoch.set(epoch);
        self.to_tell.set(lit_bv(Bv::ones(self.n)));
        self.to_hear.set(lit_bv(Bv::ones(self.n)));
    }

    fn is(&self, state: RollState) -> Bool {
        self.state.get().is(state)
    }
}

/// The epoch controller: channels `ask{u}` in; `roll{g}`, `rollu{u}` out; `ack{g}`, `acku{u}` in, for every GPU g and UMC u.
///
/// # Errors
/// None for legal message widths.
pub fn epoch_ctl(t: &Tsm) -> Result<Arc<Module>, BlockError> {
    let built = Module::build(&format!("epoch_ctl_{}", t.tag()), ModuleKind::Block, || {
        doc("Epoch controller: ends an epoch of logical time for everybody when a UMC has used it up.");
        let gpus = (0..t.gpus).map(|g| (format!("roll{g}"), format!("ack{g}")));
        let umcs = (0..t.banks).map(|u| (format!("rollu{u}"), format!("acku{u}")));
        let ports: Vec<(String, String)> = gpus.chain(umcs).collect();
        let spread = Spread::new(t, &ports);
        let (mut now, mut left, mut waits) = (Vec::new(), Vec::new(), Vec::new());
        for u in 0..t.banks {
            let ask = in_channel::<RollAck>(&format!("ask{u}"), t);
            let over = ask.valid & ask.msg.epoch.ne(spread.epoch.get());
            let present = ask.valid & ask.msg.epoch.eq(spread.epoch.get());
            let begins = present & spread.is(RollState::Idle);
            when(over | begins, || ask.take());
            // An ask is passed by at most one of each other lane, so it is at most as many epochs old as a UMC has lanes.
            if 1 << (t.epoch_bits() - 1) > u64::from(t.lanes) {
                assert_always(
                    &format!("ask{u}_known"),
                    !ask.valid | !later(ask.msg.epoch, spread.epoch.get()),
                    "nobody is in an epoch that has not begun",
                );
            }
            now.push(begins);
            left.push(over);
            waits.push(present & spread.is(RollState::Open));
        }
        let (begin, over) = (any_of(&now).named("begins"), any_of(&left).named("ask_left"));
        when(begin, || spread.open(spread.epoch.get() + 1))
            .elsewhen(spread.last, || spread.state.set(RollState::Idle));
        let fired = [
            (RollEvent::Ask, begin),
            (RollEvent::AskLeft, over),
            (RollEvent::Ack, spread.heard & !spread.last),
            (RollEvent::LastAck, spread.last),
        ];
        table().observe(&spread.state, &fired);
        machine().check(&[]);
        cover(
            "mgcc.race.epoch_two_asks",
            pack_bools(&now).popcount().gt(1),
            "two UMCs ask in the same cycle",
        );
        cover(
            "mgcc.race.epoch_ask_waits",
            any_of(&waits),
            "the end of the new epoch is wanted before everybody has swept",
        );
        count("rolls", begin, "epochs begun");
        count("roll_cycles", spread.is(RollState::Open), "cycles in which a roll was open");
    });
    built.map_err(|errors| BlockError::Elab { block: "epoch-ctl".into(), errors })
}

/// A relay of Rolls to `leaves` (1..256) receivers: channel `roll` in, `roll{i}` out, `ack{i}` in, `ack` out once every receiver has acknowledged. In a GPU the L1s come
/// first, then the banks.
///
/// # Errors
/// A number of receivers outside its range.
pub fn relay(t: &Tsm, leaves: u32) -> Result<Arc<Module>, BlockError> {
    let built = Module::build(&format!("gpu_relay_{}_n{leaves}", t.tag()), ModuleKind::Block, || {
        doc("Relay of Rolls: tells every receiver, acknowledges when all have acknowledged.");
        param("leaves", leaves);
        if !(1..=256).contains(&leaves) {
            elab_error(format!("leaves = {leaves}; legal: 1..256"));
            return;
        }
        let roll = in_channel::<Roll>("roll", t);
        let done = out_channel::<RollAck>("ack", t);
        let ports: Vec<(String, String)> =
            (0..leaves).map(|i| (format!("roll{i}"), format!("ack{i}"))).collect();
        let spread = Spread::new(t, &ports);
        when(roll.valid & spread.is(RollState::Idle), || {
            roll.take();
            spread.open(roll.msg.epoch);
        })
        .elsewhen(spread.is(RollState::Open) & spread.to_hear.get().none() & done.free, || {
            spread.state.set(RollState::Idle);
            done.send(&RollAck { epoch: spread.epoch.get() });
        });
        assert_always(
            "one_roll",
            !(roll.valid & spread.is(RollState::Open)),
            "the next Roll comes when this one is acknowledged",
        );
        let last = spread.to_hear.get().none() & spread.to_tell.get().any();
        assert_always("told_before_heard", !last, "nobody acknowledges what it was not told");
    });
    built.map_err(|errors| BlockError::Elab { block: "gpu-relay".into(), errors })
}

/// The epoch controller in the list of blocks.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "epoch-ctl",
        about: "Ends an epoch of logical time for all L1s, banks and UMCs",
        params: tsm_params,
        build: |set| epoch_ctl(&tsm_from(set)?),
    }
}

/// The relay in the list of blocks.
pub fn relay_info() -> BlockInfo {
    BlockInfo {
        name: "gpu-relay",
        about: "Spreads a Roll to the L1s and banks of a GPU, or the lanes of a UMC, and collects their answers",
        params: || {
            let about = "receivers: L1s and banks of a GPU, or lanes of a UMC";
            let leaves = ParamInfo { name: "leaves", default: "72".into(), legal: "1..256", about };
            [vec![leaves], tsm_params()].concat()
        },
        build: |set| relay(&tsm_from(set)?, set.within("leaves", 1, 256)? as u32),
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
