//! Vectors of bits that several parts set and clear in one cycle, and the two bits of a word that is being written back.

use weft_rtl::prelude::*;

/// A register file with its write port.
pub(crate) fn written<T: Data>(file: Memory<T>) -> (Memory<T>, LaneWriter<T>) {
    let writer = file.lane_writer("in");
    (file, writer)
}

/// One bit per entry of a table; after reset all are low. Each of two parts raises one mask and lowers one per cycle; raising wins.
pub(crate) struct Marks {
    now: Reg<Bits>,
    up: [Wire<Bits>; 2],
    down: [Wire<Bits>; 2],
}

impl Marks {
    pub fn new(name: &str, n: u32, field: &str) -> Marks {
        let event = |what: &str| wire_zero::<Bits>(&format!("{name}_{what}"), n);
        Marks {
            now: reg::<Bits>(name, n).field(field),
            up: [event("up0"), event("up1")],
            down: [event("down0"), event("down1")],
        }
    }

    pub fn get(&self) -> Bits {
        self.now.get()
    }

    pub fn at(&self, index: Bits) -> Bool {
        self.now.get().bit_at(index)
    }

    /// A bit after this cycle, as [`Marks::finish`] leaves it; for observers.
    pub fn after(&self, index: Bits) -> Bool {
        let (up, down) = (self.up[0].get() | self.up[1].get(), self.down[0].get() | self.down[1].get());
        ((self.now.get() & !down) | up).bit_at(index)
    }

    pub fn raise(&self, part: usize, mask: Bits) {
        self.up[part].set(mask);
    }

    pub fn lower(&self, part: usize, mask: Bits) {
        self.down[part].set(mask);
    }

    /// Declares how the bits change; called once, after everything else.
    pub fn finish(&self) {
        let up = self.up[0].get() | self.up[1].get();
        let down = self.down[0].get() | self.down[1].get();
        when(up.any() | down.any(), || self.now.set((self.now.get() & !down) | up));
    }
}

/// How far the words of a line are that is being written back (R2). Two bits per word:
///
/// | `here` | `waits` | word |
/// | --- | --- | --- |
/// | 0 | 0 | none, or closed |
/// | 1 | 0 | pending: neither RspWB nor a removal has come |
/// | 0 | 1 | released: a removal has come, RspWB is awaited |
/// | 1 | 1 | crossed: RspWB has announced a removal, which is awaited |
#[derive(Clone, Copy)]
pub(super) struct Words {
    /// The word is still the device's to answer for.
    pub here: Bits,
    pub waits: Bits,
}

impl Words {
    /// As stored: `waits` above `here`.
    pub fn of(row: Bits) -> Words {
        let w = row.width() / 2;
        Words { here: row.slice(0, w), waits: row.slice(w, w) }
    }

    pub fn row(&self) -> Bits {
        cat(&[self.waits, self.here])
    }

    /// These words are pending, no others.
    pub fn pending(mask: Bits) -> Words {
        Words { here: mask, waits: lit_bv(Bv::zero(mask.width())) }
    }

    pub fn open(&self) -> Bool {
        (self.here | self.waits).any()
    }

    /// A removal of words that are here.
    pub fn removed(&self, mask: Bits) -> Words {
        let released = mask & self.here & !self.waits;
        Words { here: self.here & !mask, waits: (self.waits & !mask) | released }
    }

    /// RspWB.
    pub fn answered(&self, mask: Bits, cross: Bits) -> Words {
        let crossed = mask & cross & self.here;
        Words { here: (self.here & !mask) | crossed, waits: (self.waits & !mask) | crossed }
    }

    /// RspWB answers words that await it; a removal that came before was announced by the bank's `cross`.
    pub fn may_answer(&self, mask: Bits, cross: Bits) -> Bool {
        let awaits = self.here ^ self.waits;
        let silent = mask & self.waits & !cross;
        (mask & !awaits).none() & silent.none()
    }
}
