//! `host-port`: frames of bytes to and from the channels of one block ([the format](crate)).
//!
//! ```text
//!  host_rx -> queue -> number, bytes left, message ----> channels into the block, held inputs
//!                            |
//!                          answer --+
//!  host_tx <- bytes <- round robin -+<-- skid <--------- channels out of the block
//!                                   +<-- on demand <---- outputs without a channel
//! ```
//! | state | until |
//! | --- | --- |
//! | Head | a byte comes: the number |
//! | Body | the message's bytes have come |
//! | Done | the channel takes the message and the answer before has left |

use crate::error::HostError;
use crate::interface::{Entry, Interface, Kind};
use crate::message::Message;
use weft_blocks::common::arbiter::RoundRobin;
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Bytes that wait in the port, and so bytes of unanswered frames that a host may have under way.
pub const BUFFER: u32 = 256;

/// Set in the answer to a frame that went into the block.
pub const ANSWER: u8 = 0x80;
/// Frame that asks for the signature, and the head of its answer.
pub const HELLO: u8 = 0xff;
/// Answer to an unknown number.
pub const UNKNOWN: u8 = 0xfe;

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum State {
    Head,
    Body,
    Done,
}

/// The answer that waits to leave.
struct Answer {
    valid: Reg<Bool>,
    head: Reg<Bits>,
}

/// The host port of a block: byte channels `host_rx` in and `host_tx` out, and for each entry of the interface the opposite end, by the block's port names.
///
/// # Errors
/// [`HostError::Elab`].
pub fn host_port(interface: &Interface) -> Result<Arc<Module>, HostError> {
    let name = format!("host_port_{}", interface.module);
    let built = Module::build(&name, ModuleKind::Block, || {
        doc("Frames of bytes to and from the channels of a block.");
        param("block", &interface.module);
        param("signature", format!("{:08x}", interface.signature()));
        let answer =
            Answer { valid: reg::<Bool>("host_answer_valid", ()), head: reg::<Bits>("host_answer_head", 8) };
        collect(interface, &answer);
        deliver(interface, &answer);
    });
    built.map_err(|errors| HostError::Elab { module: name, errors })
}

/// Entries of some kinds, with their numbers.
fn of_kind<'a>(interface: &'a Interface, kinds: &'a [Kind]) -> impl Iterator<Item = (u64, &'a Entry)> {
    let entries = interface.entries.iter().enumerate();
    entries.filter(|(_, e)| kinds.contains(&e.kind)).map(|(number, entry)| (number as u64, entry))
}

/// Most bytes of a message among some kinds, at least `least`.
fn most(interface: &Interface, kinds: &[Kind], least: usize) -> u32 {
    of_kind(interface, kinds).map(|(_, entry)| entry.bytes()).fold(least, usize::max) as u32
}

/// From bytes to channels and held inputs.
fn collect(interface: &Interface, answer: &Answer) {
    let towards = [Kind::Into, Kind::Set];
    let longest = most(interface, &towards, 1);
    let rx = in_channel::<Bits>("host_rx", &8);
    let bytes = Fifo::<Bits>::new("host_bytes", BUFFER, &8);
    when(rx.valid & !bytes.full, || {
        rx.take();
        bytes.push(&rx.msg);
    });
    let state = reg::<Enum<State>>("host_state", ());
    let number = reg::<Bits>("host_number", 8).doc("Number of the frame.");
    let left =
        reg::<Bits>("host_left", bits_for(u64::from(longest) + 1)).doc("Bytes of the message to come.");
    let message = reg::<Bits>("host_message", 8 * longest).field("queue").doc("Its bytes end at the top.");
    let length = wire_zero::<Bits>("host_length", left.get().width());
    switch_bits(bytes.head, |s| {
        for (number, entry) in of_kind(interface, &towards) {
            s.case(number, || length.set(entry.bytes() as u64));
        }
    });
    switch(state.get(), |s| {
        s.case(State::Head, || {
            when(bytes.valid, || {
                bytes.pop();
                number.set(bytes.head);
                left.set(length.get());
                state.set(mux(length.get().any(), enum_lit(State::Body), enum_lit(State::Done)));
            });
        });
        s.case(State::Body, || {
            when(bytes.valid, || {
                bytes.pop();
                let kept = 8 * (longest - 1);
                let before = message.get();
                message.set(if kept == 0 { bytes.head } else { cat(&[bytes.head, before.slice(8, kept)]) });
                left.set(left.get() - 1);
                when(left.get().eq(1), || state.set(State::Done));
            });
        });
        s.case(State::Done, || {});
    });
    let done = (state.is(State::Done) & !answer.valid.get()).named("host_done");
    let reply = |head: Bits| {
        answer.valid.set(true);
        answer.head.set(head);
        state.set(State::Head);
    };
    hand_over(interface, (done, number.get()), message.get(), &reply);
}

/// Gives a collected message to its entry.
fn hand_over(interface: &Interface, (done, number): (Bool, Bits), message: Bits, reply: &impl Fn(Bits)) {
    let longest = message.width() / 8;
    let of = |entry: &Entry| {
        let low = 8 * (longest - entry.bytes() as u32);
        if entry.width() == 0 {
            return Message::of_packed(&[], lit(0, 1));
        }
        Message::of_packed(&entry.leaves, message.slice(low, entry.width()))
    };
    let into = of_kind(interface, &[Kind::Into]);
    let channels: Vec<_> =
        into.map(|(n, entry)| (n, entry, out_channel::<Message>(&entry.name, &entry.leaves))).collect();
    let set = of_kind(interface, &[Kind::Set]);
    let held: Vec<_> =
        set.map(|(n, entry)| (n, entry, output_reg::<Message>(&entry.name, entry.leaves.clone()))).collect();
    let answered = lit(u64::from(ANSWER), 8);
    when(done, || {
        switch_bits(number, |s| {
            for (n, entry, channel) in &channels {
                s.case(*n, || {
                    when(channel.free, || {
                        channel.send(&of(entry));
                        reply(number | answered);
                    });
                });
            }
            for (n, entry, port) in &held {
                s.case(*n, || {
                    port.set(of(entry));
                    reply(number | answered);
                });
            }
            for (n, _) in of_kind(interface, &[Kind::Get]) {
                s.case(n, || reply(number));
            }
            s.case(u64::from(HELLO), || reply(number));
            s.default(|| reply(lit(u64::from(UNKNOWN), 8)));
        });
    });
}

/// From channels, answers and outputs to bytes.
fn deliver(interface: &Interface, answer: &Answer) {
    let from = [Kind::OutOf, Kind::Get];
    let longest = most(interface, &from, 4);
    let tx = out_channel::<Bits>("host_tx", &8);
    let out_of = of_kind(interface, &[Kind::OutOf]);
    let channels: Vec<_> =
        out_of.map(|(n, entry)| (n, entry, in_channel::<Message>(&entry.name, &entry.leaves))).collect();
    let get = of_kind(interface, &[Kind::Get]);
    let outputs: Vec<_> =
        get.map(|(n, entry)| (n, entry, input::<Message>(&entry.name, entry.leaves.clone()))).collect();
    let frame = reg::<Bits>("host_frame", 8 * (longest + 1))
        .field("queue")
        .doc("Bytes to send, the next one lowest.");
    let to_send = reg::<Bits>("host_to_send", bits_for(u64::from(longest) + 2));
    let load = |head: Bits, message: Bits, bytes: usize| {
        frame.set(cat(&[message, head]));
        to_send.set(bytes as u64 + 1);
    };
    let turn = RoundRobin::new("host_turn", channels.len() as u32 + 1);
    let mut requests: Vec<Bool> = channels.iter().map(|(_, _, channel)| channel.valid).collect();
    requests.push(answer.valid.get());
    let pick = turn.pick(pack_bools(&requests));
    let idle = to_send.get().none().named("host_idle");
    when(idle & pick.any, || {
        turn.granted(pick.index);
        switch_bits(pick.index, |s| {
            for (at, (n, entry, channel)) in channels.iter().enumerate() {
                s.case(at as u64, || {
                    channel.take();
                    load(lit(*n, 8), channel.msg.packed(8 * longest), entry.bytes());
                });
            }
            s.default(|| {
                answer.valid.set(false);
                let head = answer.head.get();
                let signature = lit(u64::from(interface.signature()), 8 * longest);
                switch_bits(head, |s| {
                    for (n, entry, value) in &outputs {
                        s.case(*n, || load(head, value.packed(8 * longest), entry.bytes()));
                    }
                    s.case(u64::from(HELLO), || load(head, signature, 4));
                    s.default(|| load(head, lit_bv(Bv::zero(8 * longest)), 0));
                });
            });
        });
    });
    when(!idle & tx.free, || {
        tx.send(&frame.get().slice(0, 8));
        frame.set(cat(&[lit(0, 8), frame.get().slice(8, 8 * longest)]));
        to_send.set(to_send.get() - 1);
    });
}
