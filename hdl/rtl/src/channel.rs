//! Channels: valid/ready with a typed message, registered on both sides.
//!
//! Ports of a channel `p` with message leaves `x`, `y`: `p_valid`, `p_ready`, `p_x`, `p_y`; a message without parts of its own, such as [`Bits`], is `p_data`. A transfer
//! happens in a cycle where valid and ready are both high; a sender holds valid and the message until then.

use crate::build::{ChannelEnd, End, with};
use crate::bv::Bv;
use crate::data::*;
use crate::ir::{Loc, SigId};
use crate::signal::*;
use crate::value::*;

/// What stands before the leaves of a channel's message in the names of its ports: the channel's name, or, for a message that is one leaf without a name, `NAME_data`,
/// so that the ports of `in` are `in_valid`, `in_ready`, `in_data`.
pub fn message_name<T: Data>(channel: &str, shape: &T::Shape) -> String {
    let is_scalar = leaves_of::<T>(shape, "").iter().any(|leaf| leaf.name.is_empty());
    join_name(channel, if is_scalar { "data" } else { "" })
}

fn note_end(name: &str, end: End, sets: SigId, told_by: [SigId; 2], loc: Loc) {
    with(|b| b.channels.push(ChannelEnd { name: name.to_string(), end, sets, told_by, loc }));
}

/// The receiving end, behind a two-entry skid buffer. `ready` is a register; the buffer is bypassed when empty.
pub struct InChannel<T: Data> {
    /// A message is there in this cycle.
    pub valid: Bool,
    /// The message, meaningful while `valid`.
    pub msg: T,
    /// The sender offers a message, taken or not (for observers).
    pub offered: Bool,
    take: Wire<Bool>,
}

impl<T: Data> InChannel<T> {
    /// Takes the message in this cycle; call it under `when(valid & ...)`. A condition that does not look at `valid` is an error, unless an assertion says that it implies
    /// `valid`.
    #[track_caller]
    pub fn take(&self) {
        self.take.set(true);
    }
}

/// Declares the receiving end of a channel: inputs `NAME_valid`, `NAME_*`, output `NAME_ready`.
#[track_caller]
pub fn in_channel<T: Data>(name: &str, shape: &T::Shape) -> InChannel<T> {
    receiver(name, shape, None)
}

/// A receiving end that is ready only while `open` held in the cycle before: for blocks that clear their memories first. Once open it
/// must stay open.
#[track_caller]
pub fn in_channel_when<T: Data>(name: &str, shape: &T::Shape, open: Bool) -> InChannel<T> {
    receiver(name, shape, Some(open))
}

#[track_caller]
fn receiver<T: Data>(name: &str, shape: &T::Shape, open: Option<Bool>) -> InChannel<T> {
    let loc = Loc::caller();
    let port_valid = input_signal::<Bool>(&format!("{name}_valid"), ());
    let port_sig = port_valid.signals()[0];
    let port_valid = port_valid.get();
    let port = input::<T>(&message_name::<T>(name, shape), shape.clone());
    let ready = output_reg::<Bool>(&format!("{name}_ready"), ());
    let first_valid = reg::<Bool>(&format!("{name}_skid0_valid"), ());
    let first = reg::<T>(&format!("{name}_skid0"), shape.clone()).field("queue");
    let second_valid = reg::<Bool>(&format!("{name}_skid1_valid"), ());
    let second = reg::<T>(&format!("{name}_skid1"), shape.clone()).field("queue");
    let take = wire_or::<Bool>(&format!("{name}_take"), (), false);
    note_end(name, End::Receiver, take.signals()[0], [port_sig, first_valid.signals()[0]], loc);
    let arrive = (port_valid & ready.get()).named(&format!("{name}_arrive"));
    let valid = (first_valid.get() | arrive).named(&format!("{name}_here"));
    let msg = mux(first_valid.get(), first.get(), port.clone());
    when(take.get(), || {
        // The oldest entry leaves; with an empty buffer it is the arriving message itself.
        when(first_valid.get(), || {
            first_valid.set(second_valid.get() | arrive);
            when(second_valid.get(), || {
                first.set(second.get());
                second_valid.set(arrive);
                when(arrive, || second.set(&port));
            })
            .elsewhen(arrive, || first.set(&port));
        });
    })
    .elsewhen(arrive, || {
        when(first_valid.get(), || {
            second_valid.set(true);
            second.set(&port);
        })
        .otherwise(|| {
            first_valid.set(true);
            first.set(&port);
        });
    });
    // Ready is promised one cycle ahead: low exactly when both entries are taken after this cycle.
    let fills = first_valid.get() & !take.get() & (second_valid.get() | arrive);
    let stays = first_valid.get() & take.get() & second_valid.get() & arrive;
    let room = !(fills | stays);
    ready.set(open.map_or(room, |open| open & room));
    InChannel { valid, msg, offered: port_valid, take }
}

/// The sending end: one registered message.
pub struct OutChannel<T: Data> {
    /// A message may be sent in this cycle.
    pub free: Bool,
    /// A message is waiting for the receiver.
    pub waiting: Bool,
    /// The message waiting.
    pub held: T,
    valid: Reg<Bool>,
    msg: Reg<T>,
}

impl<T: Data> OutChannel<T> {
    /// Sends a message; call it under `when(free & ...)`. A condition that does not look at `free` is an error, unless an assertion says that it implies `free`.
    #[track_caller]
    pub fn send(&self, msg: &T) {
        self.valid.set(true);
        self.msg.set(msg);
    }
}

/// Declares the sending end of a channel: outputs `NAME_valid`, `NAME_*`, input `NAME_ready`.
#[track_caller]
pub fn out_channel<T: Data>(name: &str, shape: &T::Shape) -> OutChannel<T> {
    let valid = output_reg::<Bool>(&format!("{name}_valid"), ());
    let msg = output_reg::<T>(&message_name::<T>(name, shape), shape.clone()).field("queue");
    let ready = input_signal::<Bool>(&format!("{name}_ready"), ());
    let told_by = [valid.signals()[0], ready.signals()[0]];
    let ready = ready.get();
    note_end(name, End::Sender, valid.signals()[0], told_by, Loc::caller());
    let free = (!valid.get() | ready).named(&format!("{name}_free"));
    when(ready, || valid.set(false));
    OutChannel { free, waiting: valid.get(), held: msg.get(), valid, msg }
}

/// The ports of a sending end on which this module never sends: `NAME_valid` is low, the message 0.
#[track_caller]
pub fn silent_out_channel<T: Data>(name: &str, shape: &T::Shape) {
    output::<Bool>(&format!("{name}_valid"), ()).set(false);
    unused_input(&input::<Bool>(&format!("{name}_ready"), ()));
    for leaf in leaves_of::<T>(shape, &message_name::<T>(name, shape)) {
        output::<Bits>(&leaf.name, leaf.width).set(lit_bv(Bv::zero(leaf.width)));
    }
}

/// The ports of a receiving end on which nothing may come, as an assertion says.
#[track_caller]
pub fn silent_in_channel<T: Data>(name: &str, shape: &T::Shape) {
    let valid = input::<Bool>(&format!("{name}_valid"), ());
    output::<Bool>(&format!("{name}_ready"), ()).set(true);
    for leaf in leaves_of::<T>(shape, &message_name::<T>(name, shape)) {
        unused_input(&input::<Bits>(&leaf.name, leaf.width));
    }
    assert_always(&format!("{name}_is_silent"), !valid, "this scheme has no such message");
}

/// Connects the sending end `from.out_name` to the receiving end `to.in_name` of two instances.
#[track_caller]
pub fn connect<T: Data>(
    from: &crate::instance::InstanceRef,
    out_name: &str,
    to: &crate::instance::InstanceRef,
    in_name: &str,
    shape: &T::Shape,
) {
    to.drive_bits(&format!("{in_name}_valid"), from.out_bits(&format!("{out_name}_valid")));
    let leaves = |channel: &str| leaves_of::<T>(shape, &message_name::<T>(channel, shape));
    for (source, sink) in leaves(out_name).iter().zip(leaves(in_name)) {
        to.drive_bits(&sink.name, from.out_bits(&source.name));
    }
    from.drive_bits(&format!("{out_name}_ready"), to.out_bits(&format!("{in_name}_ready")));
}
