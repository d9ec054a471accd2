//! An output queue with reservation: messages behind a sending end.

use weft_rtl::prelude::*;

/// A queue of messages in front of a channel's sending end; an empty queue is bypassed.
pub(crate) struct OutQueue<T: Data> {
    /// Messages in the queue, without the one in the sending end.
    pub count: Reg<Bits>,
    /// A message is pushed in this cycle.
    pub push: Wire<Bool>,
    /// The sending end.
    pub out: OutChannel<T>,
    msg: Wire<T>,
    head: Reg<Bits>,
    slots: Memory<T>,
    depth: u32,
}

impl<T: Data> OutQueue<T> {
    /// Declares the queue and channel `name`; `depth` is a power of two.
    pub fn new(name: &str, shape: &T::Shape, depth: u32) -> Self {
        let out = out_channel::<T>(name, shape);
        let slots = regfile::<T>(&format!("{name}_queue"), depth, shape.clone());
        let fields = leaves_of::<T>(shape, "x").iter().map(|l| l.width).sum();
        let slots = slots.fields(&[("queue", fields)]);
        let bits = bits_for(u64::from(depth));
        OutQueue {
            count: reg::<Bits>(&format!("{name}_count"), bits + 1).field("queue"),
            push: wire_or::<Bool>(&format!("{name}_push"), (), false),
            msg: wire_zero::<T>(&format!("{name}_next"), shape.clone()),
            head: reg::<Bits>(&format!("{name}_head"), bits).field("queue"),
            out,
            slots,
            depth,
        }
    }

    /// Pushes a message; the caller has made sure of room.
    pub fn push(&self, msg: &T) {
        self.push.set(true);
        self.msg.set(msg);
    }

    /// At least `places` places are free.
    pub fn room(&self, places: u32) -> Bool {
        self.count.get().le(u64::from(self.depth - places))
    }

    /// No push into a full queue.
    pub fn fits(&self) -> Bool {
        !self.push.get() | self.room(1) | self.out.free
    }

    /// Messages in the queue and in the sending end.
    pub fn waiting(&self) -> Bits {
        self.count.get().zext(self.count.get().width() + 1)
            + self.out.waiting.bits().zext(self.count.get().width() + 1)
    }

    /// Some queued message meets `test`.
    pub fn any(&self, test: impl Fn(&T) -> Bool) -> Bool {
        let bits = self.head.get().width();
        let hits: Vec<Bool> = (0..self.depth)
            .map(|i| {
                let age = lit(u64::from(i), bits) - self.head.get();
                age.zext(bits + 1).lt(self.count.get()) & test(&self.slots.entry(i))
            })
            .collect();
        any_of(&hits)
    }

    /// Moves messages; called once, after all pushes.
    pub fn connect(&self) {
        self.connect_when(self.out.free);
    }

    /// The same, but while `first` the sending end belongs to `msg`, which is sent as soon as it is free.
    pub fn connect_behind(&self, first: Bool, msg: &T) {
        self.connect_when(self.out.free & !first);
        when(self.out.free & first, || self.out.send(msg));
    }

    fn connect_when(&self, free: Bool) {
        let (bits, count) = (self.head.get().width(), self.count.get());
        let writer = self.slots.lane_writer("push");
        let filled = count.any();
        let pass = self.push.get() & !filled & free;
        let enter = self.push.get() & !pass;
        let leave = filled & free;
        when(pass, || self.out.send(&self.msg.get()));
        when(leave, || {
            self.out.send(&self.slots.read(self.head.get()));
            self.head.set(self.head.get() + 1);
        });
        when(enter, || writer.write(self.head.get() + count.slice(0, bits), &self.msg.get()));
        when(enter & !leave, || self.count.set(count + 1));
        when(leave & !enter, || self.count.set(count - 1));
    }
}
