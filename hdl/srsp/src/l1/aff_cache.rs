//! `aff_cache`: which L1 was last the local modifier of an address: a predictor of sRSPOpt (srsp.md section 5.3), direct mapped. It is never trusted.

use super::params::L1Params;
use crate::Shape;
use weft_rtl::prelude::*;

/// A prediction.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
struct AffEntry {
    #[width(p.srsp.word_bits())]
    word: Bits,
    #[width(p.srsp.cu_bits())]
    cu: Bits,
}

/// The cache.
pub(super) struct AffCache {
    index_bits: u32,
    rows: Memory<AffEntry>,
    writer: LaneWriter<AffEntry>,
    valid: Reg<Bits>,
}

impl AffCache {
    pub fn new(p: &L1Params) -> AffCache {
        let bits = p.shape.srsp.word_bits() + p.shape.srsp.cu_bits();
        let rows = regfile::<AffEntry>("aff_rows", p.aff, p.shape.clone()).fields(&[("aff_cache", bits)]);
        let writer = rows.lane_writer("in");
        let valid = reg::<Bits>("aff_valid", p.aff).field("aff_cache");
        AffCache { index_bits: p.aff.trailing_zeros(), rows, writer, valid }
    }

    fn index(&self, addr: Bits) -> Bits {
        let k = self.index_bits;
        addr.slice(6, k) ^ addr.slice(2, 4).resize(k)
    }

    /// (There is a prediction, whose it is).
    pub fn look(&self, addr: Bits) -> (Bool, Bits) {
        let index = self.index(addr);
        let row = self.rows.read(index);
        let word = addr.slice(2, addr.width() - 2);
        (self.valid.get().bit_at(index) & row.word.eq(word), row.cu)
    }

    /// An L1 has acknowledged a hit.
    pub fn learn(&self, addr: Bits, cu: Bits) {
        let index = self.index(addr);
        let word = addr.slice(2, addr.width() - 2);
        self.writer.write(index, &AffEntry { word, cu });
        self.valid.set(self.valid.get() | index.one_hot(self.valid.get().width()));
    }

    /// A kernel begins.
    pub fn clear(&self) {
        self.valid.set(lit_bv(Bv::zero(self.valid.get().width())));
    }
}
