//! Orders to memory: they go out as a write of the line replaced, then the read of the next.

use super::pipeline::STAGES;
use crate::msg::MemReq;
use crate::params::Spandex;
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Orders that wait.
const ORDERS: u32 = 5;

/// A write of the line replaced, and the read of the one that takes its place; each may be alone.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub write: Bool,
    pub write_line: Bits,
    /// Where orders may only write: this one reads.
    pub read: Option<Bool>,
    /// TBE that reads.
    pub tbe: Bits,
    pub read_line: Bits,
    pub data: Bits,
}

impl Data for Order {
    /// Widths, and whether orders may only write.
    type Shape = (Spandex, bool);

    fn leaves((s, alone): &Self::Shape, prefix: &str, out: &mut Vec<Leaf>) {
        let name = |name: &str| join_name(prefix, name);
        Bool::leaves(&(), &name("write"), out);
        Bits::leaves(&s.line_bits(), &name("write_line"), out);
        if *alone {
            Bool::leaves(&(), &name("read"), out);
        }
        Bits::leaves(&s.tbe_bits(), &name("tbe"), out);
        Bits::leaves(&s.line_bits(), &name("read_line"), out);
        Bits::leaves(&s.data_bits(), &name("data"), out);
    }
    fn from_leaves((_, alone): &Self::Shape, leaves: &mut dyn Iterator<Item = Bits>) -> Order {
        let (write, write_line) = (Bool::from_leaves(&(), leaves), Bits::from_leaves(&0, leaves));
        let read = alone.then(|| Bool::from_leaves(&(), leaves));
        let [tbe, read_line, data] = [(); 3].map(|_| Bits::from_leaves(&0, leaves));
        Order { write, write_line, read, tbe, read_line, data }
    }
    fn to_leaves(&self, out: &mut Vec<Bits>) {
        self.write.to_leaves(out);
        out.push(self.write_line);
        self.read.iter().for_each(|read| read.to_leaves(out));
        out.extend([self.tbe, self.read_line, self.data]);
    }
    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Bits>) -> Order {
        let (write, write_line) = (Bool::from_leaves(&(), leaves), Bits::from_leaves(&0, leaves));
        let read = self.read.map(|_| Bool::from_leaves(&(), leaves));
        let [tbe, read_line, data] = [(); 3].map(|_| Bits::from_leaves(&0, leaves));
        Order { write, write_line, read, tbe, read_line, data }
    }
}

/// The queue and its channel.
pub(crate) struct Orders {
    s: Spandex,
    queue: Fifo<Order>,
    written: Reg<Bool>,
    mem: OutChannel<MemReq>,
}

impl Orders {
    /// Declares the queue `orders` and the channel `mem_req`; `alone`: some orders only write.
    pub fn new(s: &Spandex, alone: bool) -> Orders {
        Orders {
            queue: Fifo::new("orders", ORDERS, &(s.clone(), alone)),
            written: reg::<Bool>("orders_written", ()),
            mem: out_channel::<MemReq>("mem_req", s),
            s: s.clone(),
        }
    }
    /// A request may enter: there is room for its order.
    pub fn room(&self) -> Bool {
        self.queue.count.le(u64::from(ORDERS) - STAGES - 1)
    }
    /// Stage 3 reads or writes memory.
    pub fn push(&self, order: &Order) {
        self.queue.push(order);
    }
    /// An order waits for memory.
    pub fn waits(&self) -> Bool {
        self.queue.valid & !self.mem.free
    }
    /// Sends what waits.
    pub fn connect(&self) {
        let Order { write, write_line, read, tbe, read_line, data } = self.queue.head;
        let writes = write & !self.written.get();
        let none = lit_bv(Bv::zero(self.s.data_bits()));
        when(self.queue.valid & self.mem.free, || {
            self.mem.send(&MemReq {
                write: writes,
                tbe,
                line: mux(writes, write_line, read_line),
                data: mux(writes, data, none),
            });
            let (more, last) = match read {
                Some(reads) => (writes & reads, !writes | !reads),
                None => (writes, !writes),
            };
            self.written.set(more);
            when(last, || self.queue.pop());
        });
    }
}
