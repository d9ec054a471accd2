//! `sfifo`: the store FIFO, line numbers of lines with dirty bytes in the order in which they became dirty, and of local releases (srsp.md sections 4 and 5).
//!
//! ```text
//!            +----------------------------------+
//!  push ---->  lines 0..entries-1               ----> line and index of the head
//!  pop  ---->  head, tail, count                |
//!            +----------------------------------+
//! ```
//! An index names a place, so that LR-TBL can point at one; an entry whose line is no longer dirty is *dead* and is popped all the same. Indices are never reset
//! but by a reset of the whole block.
//!
//! The block answers each request of channel `req` in channel `rsp`, in the next cycle.
//!
//! # Picture
//!
#![doc = include_str!("../pictures/sfifo.svg")]

use crate::params::{srsp_params, widths_from};
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::prelude::*;

/// The sFIFO inside a cache: at most one push and one pop per cycle; a push into a full one only together with a pop.
pub struct Sfifo {
    entries: u32,
    lines: Memory<Bits>,
    writer: LaneWriter<Bits>,
    head: Reg<Bits>,
    tail: Reg<Bits>,
    count: Reg<Bits>,
    head_next: Wire<Bits>,
    pushes: Wire<Bool>,
    pops: Wire<Bool>,
}

impl Sfifo {
    /// Declares an sFIFO of `entries` (2..256) line numbers of `line_bits` bits; its signals are called `NAME_*`, its bits are counted as `sfifo`:
    /// entries * line_bits + 2 * clog2(entries) + clog2(entries + 1). Declare it outside every `when`.
    #[track_caller]
    pub fn new(name: &str, entries: u32, line_bits: u32) -> Sfifo {
        if !(2..=256).contains(&entries) {
            elab_error(format!("sFIFO {name} of {entries} entries; legal: 2..256"));
        }
        let entries = entries.clamp(2, 256);
        let bits = bits_for(u64::from(entries));
        let lines =
            regfile::<Bits>(&format!("{name}_lines"), entries, line_bits).fields(&[("sfifo", line_bits)]);
        let writer = lines.lane_writer("in");
        let number = |part: &str, bits: u32| reg::<Bits>(&format!("{name}_{part}"), bits).field("sfifo");
        let (head, tail) = (number("head", bits), number("tail", bits));
        let count = number("count", bits_for(u64::from(entries) + 1));
        let pushes = wire_or::<Bool>(&format!("{name}_push"), (), false);
        let pops = wire_or::<Bool>(&format!("{name}_pop"), (), false);
        let head_next = wire_or::<Bits>(&format!("{name}_head_next"), bits, head.get());
        when(pops.get(), || head_next.set(next(head.get(), entries)));
        head.set(head_next.get());
        when(pushes.get(), || tail.set(next(tail.get(), entries)));
        when(pushes.get() & !pops.get(), || count.set(count.get() + 1));
        when(pops.get() & !pushes.get(), || count.set(count.get() - 1));
        let (pushed, popped) = (pushes.get(), pops.get());
        let sfifo = Sfifo { entries, lines, writer, head, tail, count, head_next, pushes, pops };
        let over = pushed & sfifo.full() & !popped;
        assert_always(&format!("{name}_no_overflow"), !over, "a full sFIFO takes no line");
        let under = popped & !sfifo.some();
        assert_always(&format!("{name}_no_underflow"), !under, "an empty sFIFO gives no line");
        sfifo
    }

    /// Entries.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Width of an index.
    pub fn index_bits(&self) -> u32 {
        bits_for(u64::from(self.entries))
    }

    /// Lines held, dead entries too.
    pub fn count(&self) -> Bits {
        self.count.get()
    }

    /// There is an entry.
    #[track_caller]
    pub fn some(&self) -> Bool {
        self.count.get().any()
    }

    /// No entry is free.
    #[track_caller]
    pub fn full(&self) -> Bool {
        self.count.get().eq(u64::from(self.entries))
    }

    /// Index of the oldest entry, while there is one.
    pub fn head(&self) -> Bits {
        self.head.get()
    }

    /// Index that the next push gets.
    pub fn tail(&self) -> Bits {
        self.tail.get()
    }

    /// Index of the youngest entry, while there is one.
    #[track_caller]
    pub fn last(&self) -> Bits {
        before(self.tail.get(), self.entries)
    }

    /// The index before another one.
    #[track_caller]
    pub fn before(&self, index: Bits) -> Bits {
        before(index, self.entries)
    }

    /// The oldest line, while there is one.
    #[track_caller]
    pub fn oldest(&self) -> Bits {
        self.lines.read(self.head.get())
    }

    /// The line that is the oldest after this cycle, if it is in by now.
    #[track_caller]
    pub fn oldest_next(&self) -> Bits {
        self.lines.read(self.head_next.get())
    }

    /// The line at an index.
    #[track_caller]
    pub fn line(&self, index: Bits) -> Bits {
        self.lines.read(index)
    }

    /// The entry at an index is there.
    #[track_caller]
    pub fn live(&self, index: Bits) -> Bool {
        let (head, bits) = (self.head.get(), self.index_bits());
        let wide = bits + 1;
        let ahead = index.zext(wide) - head.zext(wide);
        let around = ahead + u64::from(self.entries);
        let place = mux(index.lt(head), around, ahead);
        place.zext(16).lt(self.count.get().zext(16))
    }

    /// Appends a line in this cycle; its index is [`tail`](Sfifo::tail).
    #[track_caller]
    pub fn push(&self, line: Bits) {
        self.pushes.set(true);
        self.writer.write(self.tail.get(), &line);
    }

    /// Removes the oldest entry in this cycle.
    #[track_caller]
    pub fn pop(&self) {
        self.pops.set(true);
    }

    /// An entry leaves in this cycle.
    pub fn pops(&self) -> Bool {
        self.pops.get()
    }

    /// An entry enters in this cycle.
    pub fn pushes(&self) -> Bool {
        self.pushes.get()
    }
}

fn next(index: Bits, entries: u32) -> Bits {
    let zero = lit(0, index.width());
    mux(index.eq(u64::from(entries - 1)), zero, index + 1)
}

fn before(index: Bits, entries: u32) -> Bits {
    let last = lit(u64::from(entries - 1), index.width());
    mux(index.none(), last, index - 1)
}

/// What the block is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum SfifoOp {
    /// Appends a line, unless it is full.
    Push,
    /// Removes the oldest entry, unless it is empty.
    Pop,
}

/// Widths of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SfifoParams {
    /// Entries, 2..256.
    pub entries: u32,
    /// Bits of a line number.
    pub line_bits: u32,
}

/// Request (channel `req`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = SfifoParams)]
pub struct SfifoReq {
    /// What to do.
    pub op: Enum<SfifoOp>,
    /// Line of a Push.
    #[width(p.line_bits)]
    pub line: Bits,
}

/// Answer (channel `rsp`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = SfifoParams)]
pub struct SfifoRsp {
    /// It was done.
    pub done: Bool,
    /// Index of the entry appended or removed.
    #[width(bits_for(u64::from(p.entries)))]
    pub index: Bits,
    /// Line removed, else 0.
    #[width(p.line_bits)]
    pub line: Bits,
    /// Entries afterwards.
    #[width(bits_for(u64::from(p.entries) + 1))]
    pub count: Bits,
}

/// The sFIFO as a block.
///
/// # Errors
/// A number of entries outside 2..256.
pub fn sfifo(p: SfifoParams) -> Result<Arc<Module>, BlockError> {
    let name = format!("sfifo_{}x{}", p.entries, p.line_bits);
    let built = Module::build(&name, ModuleKind::Block, || {
        doc("Store FIFO: lines with dirty bytes in the order in which they became dirty.");
        param("entries", p.entries);
        param("line_bits", p.line_bits);
        let req = in_channel::<SfifoReq>("req", &p);
        let rsp = out_channel::<SfifoRsp>("rsp", &p);
        let store = Sfifo::new("sfifo", p.entries, p.line_bits);
        let push = req.msg.op.is(SfifoOp::Push);
        let done = mux(push, !store.full(), store.some()).named("done");
        let after = mux(push, store.count() + 1, store.count() - 1);
        when(req.valid & rsp.free, || {
            req.take();
            let count = mux(done, after, store.count());
            let index = mux(push, store.tail(), store.head());
            let line = mux(!push & done, store.oldest(), lit(0, p.line_bits));
            rsp.send(&SfifoRsp { done, index, line, count });
            when(push & done, || store.push(req.msg.line));
            when(!push & done, || store.pop());
        });
        cover("srsp.sfifo.full", req.valid & push & !done, "a line comes to a full sFIFO");
        let wraps = store.pops() & store.head().eq(u64::from(p.entries - 1));
        cover("srsp.sfifo.wraps", wraps, "the last place of the ring is popped");
    });
    built.map_err(|errors| BlockError::Elab { block: "sfifo".into(), errors })
}

/// The block in the list.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "sfifo",
        about: "Store FIFO of a cache with scoped synchronisation",
        params: || {
            let about = "entries";
            let mut list = vec![ParamInfo { name: "entries", default: "16".into(), legal: "2..256", about }];
            list.extend(srsp_params().into_iter().filter(|p| ["addr_bits", "line"].contains(&p.name)));
            list
        },
        build: |set| {
            let entries = set.within("entries", 2, 256)? as u32;
            sfifo(SfifoParams { entries, line_bits: widths_from(set)?.line_bits() })
        },
    }
}
