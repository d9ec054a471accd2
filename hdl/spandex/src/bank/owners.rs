//! Owners of a line's words: the data field of an owned word holds its owner's number.

use crate::params::Spandex;
use weft_rtl::prelude::*;

/// Owner of each word.
pub(crate) fn owners_of(s: &Spandex, line: Bits) -> Bits {
    let (words, width) = (s.words(), s.data_bits() / s.words());
    let ids: Vec<Bits> = (0..words).map(|w| line.slice(width * w, s.dev_bits())).collect();
    pack(&ids)
}

/// Owner of a word.
pub(crate) fn owner(s: &Spandex, owners: Bits, word: u32) -> Bits {
    owners.slice(word * s.dev_bits(), s.dev_bits())
}

/// Words of `owned` whose owner owns a word of `some`.
pub(crate) fn whole_owners(s: &Spandex, owners: Bits, owned: Bits, some: Bits) -> Bits {
    let devs = s.devs();
    let none = lit_bv(Bv::zero(devs));
    let who = (0..s.words())
        .fold(none, |sum, w| sum | (owner(s, owners, w).one_hot(devs) & some.bit(w).repeat(devs)));
    let its: Vec<Bool> = (0..s.words()).map(|w| who.bit_at(owner(s, owners, w))).collect();
    pack_bools(&its) & owned
}

/// Words whose owner is a device.
pub(crate) fn words_of(s: &Spandex, owners: Bits, dev: Bits) -> Bits {
    let its: Vec<Bool> = (0..s.words()).map(|w| owner(s, owners, w).eq(dev)).collect();
    pack_bools(&its)
}
