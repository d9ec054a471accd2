//! Rows that are all compared at once: what LR-TBL, PA-TBL and WBT have in common.

use weft_rtl::prelude::*;

/// A CAM whose rows are of any type. One row is written and any number removed per cycle; all bits count as one storage field.
pub(crate) struct Entries<T: Data> {
    n: u32,
    rows: Memory<T>,
    writer: LaneWriter<T>,
    valid: Reg<Bits>,
    set: Wire<Bits>,
    clear: Wire<Bits>,
}

impl<T: Data> Entries<T> {
    /// Declares `n` rows (1..256); signals are called `NAME_*`, bits are counted as `NAME`. Declare it outside every `when`.
    #[track_caller]
    pub fn new(name: &str, n: u32, shape: &T::Shape) -> Entries<T> {
        let bits = width_of::<T>(shape);
        let rows = regfile::<T>(&format!("{name}_rows"), n, shape.clone()).fields(&[(name, bits)]);
        let writer = rows.lane_writer("in");
        let valid = reg::<Bits>(&format!("{name}_valid"), n).field(name);
        let set = wire_zero::<Bits>(&format!("{name}_set"), n);
        let clear = wire_zero::<Bits>(&format!("{name}_clear"), n);
        when(set.get().any() | clear.get().any(), || valid.set((valid.get() & !clear.get()) | set.get()));
        Entries { n, rows, writer, valid, set, clear }
    }

    /// One bit per row: it holds something.
    pub fn valid(&self) -> Bits {
        self.valid.get()
    }

    /// Row `i`, of meaning while valid.
    #[track_caller]
    pub fn row(&self, i: u32) -> T {
        self.rows.entry(i)
    }

    /// A row chosen by a value.
    #[track_caller]
    pub fn read(&self, index: Bits) -> T {
        self.rows.read(index)
    }

    /// One bit per valid row that passes a test.
    #[track_caller]
    pub fn which(&self, test: impl Fn(T) -> Bool) -> Bits {
        let passed: Vec<Bool> = (0..self.n).map(|i| test(self.row(i))).collect();
        pack_bools(&passed) & self.valid.get()
    }

    /// No row is free.
    #[track_caller]
    pub fn full(&self) -> Bool {
        self.valid.get().all()
    }

    /// The lowest free row, of meaning while not full.
    #[track_caller]
    pub fn free_index(&self) -> Bits {
        (!self.valid.get()).lowest_set()
    }

    /// Writes a row in this cycle and makes it valid.
    #[track_caller]
    pub fn write(&self, index: Bits, value: &T) {
        self.writer.write(index, value);
        self.set.set(index.one_hot(self.n));
    }

    /// Removes the rows of a mask in this cycle.
    #[track_caller]
    pub fn remove(&self, mask: Bits) {
        self.clear.set(mask);
    }

    /// Removes all rows in this cycle.
    #[track_caller]
    pub fn clear(&self) {
        self.clear.set(lit_bv(Bv::ones(self.n)));
    }
}
