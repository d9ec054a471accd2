//! Channels: valid/ready with a typed message, registered on both sides.
//!
//! Ports of a channel `p` with message leaves `x`, `y`: `p_valid`, `p_ready`, `p_x`, `p_y`. A transfer happens in a cycle where valid and ready are both
//! high; a sender holds valid and the message until then.

use crate::data::*;
use crate::signal::*;
use crate::value::*;

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
    /// Takes the message in this cycle; call it under `when(valid & ...)`.
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
    let port_valid = input::<Bool>(&format!("{name}_valid"), ());
    let port = input::<T>(name, shape.clone());
    let ready = output_reg::<Bool>(&format!("{name}_ready"), ());
    let first_valid = reg::<Bool>(&format!("{name}_skid0_valid"), ());
    let first = reg::<T>(&format!("{name}_skid0"), shape.clone()).field("queue");
    let second_valid = reg::<Bool>(&format!("{name}_skid1_valid"), ());
    let second = reg::<T>(&format!("{name}_skid1"), shape.clone()).field("queue");
    let take = wire_or::<Bool>(&format!("{name}_take"), (), false);
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
    /// Sends a message; call it under `when(free & ...)`.
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
    let msg = output_reg::<T>(name, shape.clone()).field("queue");
    let ready = input::<Bool>(&format!("{name}_ready"), ());
    let free = (!valid.get() | ready).named(&format!("{name}_free"));
    when(ready, || valid.set(false));
    OutChannel { free, waiting: valid.get(), held: msg.get(), valid, msg }
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
    for (source, sink) in leaves_of::<T>(shape, out_name).iter().zip(leaves_of::<T>(shape, in_name)) {
        to.drive_bits(&sink.name, from.out_bits(&source.name));
    }
    from.drive_bits(&format!("{out_name}_ready"), to.out_bits(&format!("{in_name}_ready")));
}
