//! Every error sentence of the parameters, pinned; legal boundaries accepted.

use crate::golden::params::{DirKind, DirParams, Policy};

fn rec() -> DirParams {
    DirParams::new(DirKind::Rec)
}

#[test]
fn defaults_are_legal_and_published() {
    for kind in [DirKind::Perline, DirKind::Group4, DirKind::Rec, DirKind::Ideal] {
        let p = DirParams::new(kind);
        p.validate().unwrap();
        assert_eq!(p.policy, if kind == DirKind::Rec { Policy::Lru } else { Policy::Fifo });
    }
    assert_eq!((rec().sets(), rec().slots(), rec().sharers(), rec().age_bits()), (64, 16, 3, 3));
}

#[test]
fn every_error_sentence() {
    let cases = [
        (DirParams { gpus: 17, ..rec() }, "gpus = 17 is out of range: legal are 2..16"),
        (DirParams { gpus: 1, ..rec() }, "gpus = 1 is out of range: legal are 2..16"),
        (DirParams { home: 4, ..rec() }, "home = 4 is no GPU: legal are 0..3"),
        (DirParams { addr_bits: 31, ..rec() }, "addr_bits = 31 is out of range: legal are 32..64"),
        (DirParams { line: 32, ..rec() }, "line = 32 is not a legal line size: legal are 64 and 128 bytes"),
        (
            DirParams { range: 64, ..rec() },
            "range = 64 is less than two lines of 64 bytes: use dir_perline, or a power of two in 128..4096",
        ),
        (
            DirParams { range: 1000, ..rec() },
            "range = 1000 is not legal: a power of two in 128..4096 (2 to 64 lines of 64 bytes)",
        ),
        (
            DirParams { range: 8192, il: 8192, ..rec() },
            "range = 8192 is not legal: a power of two in 128..4096 (2 to 64 lines of 64 bytes)",
        ),
        (
            DirParams { range: 4096, il: 2048, ..rec() },
            "range = 4096 is larger than il = 2048: a range must not straddle two slices, so il must be at least the range",
        ),
        (DirParams { ways: 0, ..rec() }, "ways = 0 is out of range: legal are 1..128"),
        (DirParams { ways: 129, ..rec() }, "ways = 129 is out of range: legal are 1..128"),
        (DirParams { banks: 12, ..rec() }, "banks = 12 is not a power of two"),
        (DirParams { banks: 0, ..rec() }, "banks = 0 is not a power of two"),
        (
            DirParams { il: 128, range: 128, ..rec() },
            "il = 128 is not legal: a power of two from 256 (4 lines), with banks * il within the address space",
        ),
        (
            DirParams { entries: 8200, ..rec() },
            "entries = 8200 does not divide into banks * ways = 128: legal are banks * ways * sets",
        ),
        (
            DirParams { entries: 0, ..rec() },
            "entries = 0 does not divide into banks * ways = 128: legal are banks * ways * sets",
        ),
        (
            DirParams { entries: 17 * 8192, ..rec() },
            "entries = 139264 gives 1088 sets per bank: legal are c * 2^k sets with c odd and at most 15",
        ),
        (
            DirParams { entries: 1 << 30, addr_bits: 32, ..rec() },
            "entries = 1073741824 is too many for addr_bits = 32: banks * sets * bytes per entry must not exceed 2^addr_bits",
        ),
        (DirParams { evb_depth: 9, ..rec() }, "evb_depth = 9 is out of range: legal are 1..8"),
        (DirParams { evb_depth: 0, ..rec() }, "evb_depth = 0 is out of range: legal are 1..8"),
        (DirParams { inv_rate: 3, ..rec() }, "inv_rate = 3 is not legal: legal are 1, 2 and 4"),
    ];
    for (p, sentence) in cases {
        assert_eq!(p.validate().unwrap_err().to_string(), sentence);
    }
}

#[test]
fn boundaries_and_multiples_are_legal() {
    for times in [1, 2, 3, 4, 5, 6, 8, 10, 12] {
        DirParams { entries: times * 8192, ..rec() }.validate().unwrap();
    }
    for range in [128, 256, 512, 1024, 2048, 4096] {
        DirParams { range, ..rec() }.validate().unwrap();
    }
    for ways in [1, 128] {
        DirParams { ways, ..rec() }.validate().unwrap();
    }
    for (gpus, addr_bits) in [(2, 32), (16, 64)] {
        DirParams { gpus, addr_bits, ..rec() }.validate().unwrap();
    }
    DirParams { range: 64, ..DirParams::new(DirKind::Perline) }.validate().unwrap();
}
