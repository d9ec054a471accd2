//! Where messages of a GPU come into a switch: a buffer behind the first link, with credits.

use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Channel, buffer and credits of one GPU in one network.
pub(crate) struct Ingress<T: Data> {
    /// Number of the GPU.
    pub gpu: u32,
    name: String,
    pub input: InChannel<T>,
    /// Messages that have passed the first link, those on their way to the second one among them.
    pub buffer: Fifo<T>,
    credits: Reg<Bits>,
    here: Reg<Bits>,
    /// Bytes of the message at the channel.
    pub size: Bits,
}

impl<T: Data> Ingress<T> {
    /// Declares the channel `FROM<gpu>` and the registers `NET_*<gpu>`; `names` are network and channel.
    pub fn new(
        gpu: u32,
        [net, from]: [&str; 2],
        shape: &T::Shape,
        credits: u32,
        bytes: &dyn Fn(&T) -> Bits,
    ) -> Ingress<T> {
        let input = in_channel::<T>(&format!("{from}{gpu}"), shape);
        let buffer = Fifo::<T>::new(&format!("{net}_buffer{gpu}"), credits, shape);
        let places = bits_for(u64::from(credits) + 1);
        let size = bytes(&input.msg);
        Ingress {
            gpu,
            name: format!("{net}{gpu}"),
            credits: reg::<Bits>(&format!("{net}_credits{gpu}"), places).reset(&[u64::from(credits)]),
            here: reg::<Bits>(&format!("{net}_here{gpu}"), places).field("queue"),
            input,
            buffer,
            size,
        }
    }

    /// A message may begin on the first link.
    pub fn wants(&self) -> Bool {
        self.input.valid & self.credits.get().any()
    }

    /// A message waits for a credit.
    pub fn blocked(&self) -> Bool {
        self.input.valid & self.credits.get().none()
    }

    /// The message at the buffer's head has come all the way; `arrive`: one comes in this cycle.
    pub fn there(&self, arrive: Bool) -> Bool {
        self.here.get().any() | arrive
    }

    /// A message passes the first link in this cycle.
    pub fn store(&self, passes: Bool) {
        when(passes, || {
            self.input.take();
            self.buffer.push(&self.input.msg);
        });
    }

    /// Credits and arrivals. A message has passed the first link, has come all the way, has left the buffer, its credit has come back; `free`: there is room for what leaves.
    pub fn count(&self, [stored, arrive, left, back]: [Bool; 4], free: Bool) {
        let step = |counter: &Reg<Bits>, up: Bool, down: Bool| {
            when(up & !down, || counter.set(counter.get() + 1));
            when(down & !up, || counter.set(counter.get() - 1));
        };
        step(&self.credits, back, stored);
        step(&self.here, arrive, left);
        let name = &self.name;
        let text = "a message passes the first link with a credit, so its place in the buffer is free";
        let place = self.credits.get().any() & !self.buffer.full;
        assert_always(&format!("{name}_place_is_free"), !stored | place, text);
        assert_always(
            &format!("{name}_delivered_is_here"),
            !left | (self.there(arrive) & free),
            "a message leaves the buffer when it has come and the receiver has room",
        );
    }
}
