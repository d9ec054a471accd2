//! A queue in which every message spends a fixed time: what a pipeline of that many stages does, for the cost of one (rec.md section 9, hmg.md
//! section 10: hit times of the L2).
//!
//! ```text
//!  in_valid -> rows ----------------------> out (reg) -> out_valid
//!     |                                      ^
//!     +---> shift register, a bit per cycle -> ripe: messages that have waited long enough
//! ```
//!
//! | state | values |
//! | --- | --- |
//! | `under_way` | a bit per cycle of the delay: a message was taken so many cycles ago |
//! | `ripe` | messages at the head that may leave |
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/delay-queue.svg")]

use super::delay::delayed;
use super::fifo::Fifo;
use weft_rtl::prelude::*;

/// A channel that is `cycles` (3..1024) long: channel `in`, channel `out`.
///
/// A message is offered at `out` so many cycles after the one in which it was taken, or later while `out` is not ready; one can be taken in every
/// cycle, and order is kept. There is room for the messages of `cycles + 2` cycles.
///
/// # Errors
/// A number of cycles outside 3..1021.
pub fn delay_queue<T: Data>(name: &str, cycles: u32, shape: &T::Shape) -> Result<Arc<Module>, ElabErrors> {
    Module::build(name, ModuleKind::Block, || {
        doc("Channel with a fixed time of flight: a queue whose messages leave when they are old enough.");
        param("cycles", cycles);
        if !(3..=1021).contains(&cycles) {
            elab_error(format!("cycles = {cycles}; legal: 3..1021"));
            return;
        }
        let depth = cycles + 2;
        let in_valid = input::<Bool>("in_valid", ());
        let in_msg = input::<T>(&message_name::<T>("in", shape), shape.clone());
        let in_ready = output_reg::<Bool>("in_ready", ());
        let out = out_channel::<T>("out", shape);
        let rows = Fifo::<T>::new("fifo", depth, shape);
        let arrive = (in_valid & in_ready.get()).named("arrive");
        // The row is written in the cycle after, and the output register takes one more.
        let ripens = delayed("under_way", arrive, cycles - 1).named("ripens");
        let ripe = reg::<Bits>("ripe", bits_for(u64::from(depth) + 1)).field("queue");
        let leave = ((ripe.get().any() | ripens) & out.free).named("leave");
        when(leave, || {
            out.send(&rows.head);
            rows.pop();
        });
        when(ripens & !leave, || ripe.set(ripe.get() + 1));
        when(leave & !ripens, || ripe.set(ripe.get() - 1));
        when(arrive, || rows.push(&in_msg));
        // Ready is promised one cycle ahead: low exactly when every row is taken after this cycle.
        let last = rows.count.eq(u64::from(depth - 1)) & arrive & !leave;
        in_ready.set(!(last | (rows.full & !leave)));
        assert_always(
            "ripe_is_there",
            ripe.get().zext(16).le(rows.count.zext(16)),
            "what is old enough is in the queue",
        );
        count("full", rows.full, "cycles in which every row was taken");
        count(
            "late",
            ripe.get().any() & !out.free,
            "cycles in which a message waits although it is old enough",
        );
    })
}
