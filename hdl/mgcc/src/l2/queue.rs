//! The bank's two outputs: a short queue in front of each sending end, bypassed when empty, with a second source beside it.

use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Rows of each queue: what stages 1 and 2 may still send, and one more.
pub(super) const ROWS: u32 = 4;

/// Where the pipeline's messages leave.
pub(super) struct OutQueue<T: Data> {
    /// The sending end.
    pub out: OutChannel<T>,
    pub rows: Fifo<T>,
    /// Stage 2 sends.
    pub push: Wire<Bool>,
    msg: Wire<T>,
}

impl<T: Data> OutQueue<T> {
    /// Declares channel and queue.
    pub fn new(name: &str, shape: &T::Shape) -> OutQueue<T> {
        let out = out_channel::<T>(name, shape);
        OutQueue {
            out,
            rows: Fifo::new(&format!("{name}_queue"), ROWS, shape),
            push: wire_or::<Bool>(&format!("{name}_push"), (), false),
            msg: wire_zero::<T>(&format!("{name}_next"), shape.clone()),
        }
    }

    /// Sends a message of stage 2; stage 0 has made sure of room.
    pub fn push(&self, msg: &T) {
        self.push.set(true);
        self.msg.set(msg);
    }

    /// Stage 0 may let one more sender in.
    pub fn room(&self) -> Bool {
        self.rows.count.le(u64::from(ROWS - 3))
    }

    /// No message waits.
    pub fn idle(&self) -> Bool {
        !self.rows.valid & self.out.free
    }

    /// Moves messages; `beside` is another source's message, sent in turn with the pipeline's. Returns whether it was sent.
    pub fn connect_in_turn(&self, name: &str, wants: Bool, beside: &T) -> Bool {
        let turn = reg::<Bool>(&format!("{name}_turn"), ());
        let others = self.rows.valid | self.push.get();
        let goes = (self.out.free & wants & (turn.get() | !others)).named(name);
        when(self.out.free & others, || turn.set(wants & !goes));
        self.connect(goes, beside);
        goes
    }

    /// Moves messages; the other source's message goes when nothing of the pipeline waits.
    pub fn connect_when_idle(&self, name: &str, wants: Bool, beside: &T) -> Bool {
        let goes = (self.idle() & wants).named(name);
        self.connect(goes, beside);
        goes
    }

    fn connect(&self, goes: Bool, beside: &T) {
        let mine = self.out.free & !goes;
        let direct = mine & !self.rows.valid & self.push.get();
        when(goes, || self.out.send(beside));
        when(mine & self.rows.valid, || {
            self.out.send(&self.rows.head);
            self.rows.pop();
        });
        when(direct, || self.out.send(&self.msg.get()));
        when(self.push.get() & !direct, || self.rows.push(&self.msg.get()));
    }
}
