//! What a CU and its stash say to each other.

use super::params::{STRIDE, StashParams};
use weft_blocks::msg::CuOp;
use weft_rtl::prelude::*;

/// CU to stash (channel `map`), STASH_MAP: element `i`, word `e` of it is stash word `base + i * element + e` and global word `global + i * stride + e`.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = StashParams)]
pub struct StashMap {
    /// Entry of the stash map that is written: the CU chooses it.
    #[width(p.map_bits())]
    pub index: Bits,
    /// First stash word.
    #[width(p.word_bits())]
    pub base: Bits,
    /// First global word: its byte address / 4.
    #[width(p.global_bits())]
    pub global: Bits,
    /// Words of an element, at least 1.
    #[width(p.count_bits())]
    pub element: Bits,
    /// Words from element to element, at least `element`.
    #[width(STRIDE)]
    pub stride: Bits,
    /// Elements, at least 1.
    #[width(p.count_bits())]
    pub count: Bits,
    /// Transaction number of the CU, acknowledged on `cu_rsp`.
    #[width(12)]
    pub id: Bits,
}

/// CU to stash (channel `cu_req`): one pass of a wave, at most one word of each bank. Word `s` lies in bank `s mod banks`, row `s / banks`.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = StashParams)]
pub struct StashReq {
    /// LD, ST; REL, ACQ, KBEGIN, KEND, which name no words.
    pub op: Enum<CuOp>,
    /// A store is acknowledged when it is performed; without it a store is complete when it is taken and gets no response.
    pub want_ack: Bool,
    /// Banks accessed.
    #[width(p.banks)]
    pub mask: Bits,
    /// Row of each bank.
    #[width(p.banks * p.row_bits())]
    pub row: Bits,
    /// ST: word of each bank.
    #[width(32 * p.banks)]
    pub data: Bits,
    /// Transaction number of the CU.
    #[width(12)]
    pub id: Bits,
}

/// Stash to CU (channel `cu_rsp`; the CU always accepts).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = StashParams)]
pub struct StashRsp {
    /// Transaction number of the CU.
    #[width(12)]
    pub id: Bits,
    /// 0 data, 1 acknowledgement.
    #[width(2)]
    pub kind: Bits,
    /// Banks answered; a load is answered when its mask is covered.
    #[width(p.banks)]
    pub mask: Bits,
    /// Word of each bank.
    #[width(32 * p.banks)]
    pub data: Bits,
    /// Who served it: 0 the stash, 1 the LLC, 2 another device.
    #[width(3)]
    pub src: Bits,
    /// Answered by a read that another load had opened.
    pub merged: Bool,
}
