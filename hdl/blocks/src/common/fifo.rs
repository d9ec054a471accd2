//! Queues: one to use inside a block, and one as a block of its own.
//!
//! ```text
//!            +---------------------------------+
//!  in_valid ->  rows 0..depth-1   -> out (reg) -> out_valid
//!  in_ready <-  head, tail, count              <- out_ready
//!            +---------------------------------+
//! ```
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/fifo.svg")]

use weft_rtl::prelude::*;

/// Least number of rows for which a queue is stored in an SRAM instead of a register file.
const SRAM_ROWS: u32 = 16;

/// A queue inside a block. Declare it outside every `when`, push and pop under `when`.
///
/// Up to one push and one pop per cycle; a pushed value can be popped in the next cycle. A push into a full queue is allowed only together
/// with a pop. Fifteen rows or fewer are a register file, more an SRAM whose read address follows the head.
pub struct Fifo<T: Data> {
    /// The oldest value, meaningful while `valid`.
    pub head: T,
    /// There is a value.
    pub valid: Bool,
    /// No row is free.
    pub full: Bool,
    /// Number of values held.
    pub count: Bits,
    push: Wire<Bool>,
    pop: Wire<Bool>,
    tail: Bits,
    writer: LaneWriter<T>,
}

/// `value + 1` modulo `count`.
#[track_caller]
pub(crate) fn wrapping_next(value: Bits, count: u32) -> Bits {
    let width = value.width();
    if count == 1 {
        return lit(0, width);
    }
    if width < 32 && count == 1 << width {
        return value + 1;
    }
    mux(value.eq(u64::from(count - 1)), lit(0, width), value + 1)
}

impl<T: Data> Fifo<T> {
    /// Declares a queue of `depth` values (1..1024); its signals are called `NAME_*`.
    #[track_caller]
    pub fn new(name: &str, depth: u32, shape: &T::Shape) -> Fifo<T> {
        if !(1..=1024).contains(&depth) {
            elab_error(format!("queue {name} of {depth} entries; legal: 1..1024"));
        }
        let depth = depth.clamp(1, 1024);
        let index_bits = bits_for(u64::from(depth));
        let head = reg::<Bits>(&format!("{name}_head"), index_bits).field("queue");
        let tail = reg::<Bits>(&format!("{name}_tail"), index_bits).field("queue");
        let count = reg::<Bits>(&format!("{name}_count"), bits_for(u64::from(depth) + 1)).field("queue");
        let push = wire_or::<Bool>(&format!("{name}_push"), (), false);
        let pop = wire_or::<Bool>(&format!("{name}_pop"), (), false);
        let head_next = wire_or::<Bits>(&format!("{name}_head_next"), index_bits, head.get());
        when(pop.get(), || head_next.set(wrapping_next(head.get(), depth)));
        head.set(head_next.get());
        when(push.get(), || tail.set(wrapping_next(tail.get(), depth)));
        when(push.get() & !pop.get(), || count.set(count.get() + 1));
        when(pop.get() & !push.get(), || count.set(count.get() - 1));
        let (store, first) = storage::<T>(name, depth, shape, head.get(), head_next.get());
        let valid = count.get().any().named(&format!("{name}_some"));
        let full = count.get().eq(u64::from(depth)).named(&format!("{name}_full"));
        assert_always(
            &format!("{name}_no_overflow"),
            !(push.get() & full & !pop.get()),
            "a full queue takes no value",
        );
        assert_always(
            &format!("{name}_no_underflow"),
            !(pop.get() & !valid),
            "an empty queue gives no value",
        );
        let writer = store.lane_writer("in");
        Fifo { head: first, valid, full, count: count.get(), push, pop, tail: tail.get(), writer }
    }

    /// Appends a value in this cycle; call it under `when(!full & ...)`.
    #[track_caller]
    pub fn push(&self, value: &T) {
        self.push.set(true);
        self.writer.write(self.tail, value);
    }

    /// Removes the oldest value in this cycle; call it under `when(valid & ...)`.
    #[track_caller]
    pub fn pop(&self) {
        self.pop.set(true);
    }
}

/// The rows of a queue and the value at its head.
fn storage<T: Data>(name: &str, depth: u32, shape: &T::Shape, head: Bits, head_next: Bits) -> (Memory<T>, T) {
    let rows = format!("{name}_rows");
    let fields = [("queue", width_of::<T>(shape))];
    if depth < SRAM_ROWS {
        let store = regfile::<T>(&rows, depth, shape.clone()).fields(&fields);
        let first = store.read(head);
        return (store, first);
    }
    // The port's address register always equals the head, so the row read is the oldest value without a cycle of delay.
    let store = sram::<T>(&rows, depth, 1, shape.clone()).fields(&fields);
    let port = store.read_port("out");
    port.present(head_next);
    let first = port.lane(0);
    (store, first)
}

/// A queue as a block: channel `in`, channel `out`.
///
/// `depth` rows (1..1024) and the output register, which a message reaches in one cycle when the queue is empty; order is kept. With one row
/// a message passes at most every other cycle once the receiver has been slow, otherwise one per cycle.
///
/// # Errors
/// A depth outside 1..1024.
pub fn fifo<T: Data>(name: &str, depth: u32, shape: &T::Shape) -> Result<Arc<Module>, ElabErrors> {
    Module::build(name, ModuleKind::Block, || {
        doc("Queue between two channels: rows of storage in front of a registered output.");
        param("depth", depth);
        let in_valid = input::<Bool>("in_valid", ());
        let in_msg = input::<T>(&message_name::<T>("in", shape), shape.clone());
        let in_ready = output_reg::<Bool>("in_ready", ());
        let out = out_channel::<T>("out", shape);
        let rows = Fifo::<T>::new("fifo", depth, shape);
        let arrive = (in_valid & in_ready.get()).named("arrive");
        let leave = (rows.valid & out.free).named("leave");
        let bypass = (arrive & out.free & !rows.valid).named("bypass");
        when(leave, || {
            out.send(&rows.head);
            rows.pop();
        });
        when(bypass, || out.send(&in_msg));
        when(arrive & !bypass, || rows.push(&in_msg));
        // Ready is promised one cycle ahead: low exactly when every row is taken after this cycle.
        let last = rows.count.eq(u64::from(depth.max(1) - 1)) & arrive & !bypass & !leave;
        in_ready.set(!(last | (rows.full & !leave)));
        count("full", rows.full, "cycles in which every row was taken");
    })
}
