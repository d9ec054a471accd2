//! Storage of MGPU-TSM against the published figures (mgcc.md sections 4 to 6), from the hardware's own declarations, as `weft area` shows them.

use weft_mgcc::fabric::{TsmFabricParams, TsmProtocol, tsm_fabric};
use weft_mgcc::l1::mgcc_l1;
use weft_mgcc::l2::mgcc_l2;
use weft_mgcc::params::Tsm;
use weft_mgcc::umc::umc;
use weft_rtl::area::{Area, Storage, area};

/// Bytes of a field in one kind of storage.
fn bytes(found: &Area, field: &str, storage: Storage) -> u64 {
    let bits: u64 =
        found.fields.iter().filter(|f| f.field == field && f.storage == storage).map(|f| f.bits).sum();
    assert_eq!(bits % 8, 0, "{field}");
    bits / 8
}

fn published() -> TsmFabricParams {
    TsmFabricParams::published(TsmProtocol::WtCRc)
}

#[test]
fn stamps_of_an_l1_are_a_kilobyte() {
    let found = area(&mgcc_l1(&published().l1()).expect("legal"));
    let stamps = ["wts", "rts"].map(|field| bytes(&found, field, Storage::Sram));
    assert_eq!(stamps, [512, 512]);
    assert_eq!(bytes(&found, "data", Storage::Sram) / (16 << 10), 1);
}

#[test]
fn stamps_of_a_bank_are_8_kilobytes_each() {
    let found = area(&mgcc_l2(&published().l2()).expect("legal"));
    let stamps = ["wts", "rts"].map(|field| bytes(&found, field, Storage::Sram));
    assert_eq!(stamps, [8 << 10, 8 << 10]);
}

#[test]
fn memts_are_64_kilobytes_per_gpu() {
    let p = published();
    let found = area(&umc(&p.lane()).expect("legal"));
    let t = &p.tsm;
    assert_eq!(bytes(&found, "memts", Storage::Sram) * u64::from(t.banks) / u64::from(t.gpus), 64 << 10);
    assert_eq!(bytes(&found, "wts", Storage::Sram), bytes(&found, "memts", Storage::Sram));
}

#[test]
fn a_whole_system_has_the_published_storage() {
    let found = area(&tsm_fabric(&published()).expect("legal"));
    assert_eq!(bytes(&found, "cts", Storage::Registers), 4 * 576, "64 L1s and 8 banks of a GPU: 576 bytes");
    assert_eq!(bytes(&found, "memts", Storage::Sram), 4 * (64 << 10));
    // 64 L1s of 512 bytes, 8 banks of 8 KB; the TSUs' stamps of last writes are under the same name as the caches'.
    assert_eq!(bytes(&found, "rts", Storage::Sram), 4 * (64 * 512 + 8 * (8 << 10)));
    assert_eq!(bytes(&found, "wts", Storage::Sram), 4 * (64 * 512 + 8 * (8 << 10)) + 4 * (64 << 10));
    // Entries of the TSUs: as many as the L2 has lines.
    let entries: u64 = found.memories.iter().filter(|m| m.name == "memts").map(|m| m.entries()).sum();
    assert_eq!(entries, 131_072);
}

#[test]
fn without_coherence_nothing_has_a_time() {
    for protocol in [TsmProtocol::WbNcRc, TsmProtocol::WtNcRc] {
        let published = TsmFabricParams::published(protocol);
        let small =
            TsmFabricParams { tsm: Tsm { gpus: 2, cus: 2, banks: 2, ..published.tsm.clone() }, ..published };
        let found = area(&tsm_fabric(&small).expect("legal"));
        for field in ["wts", "rts", "memts", "cts", "timestamp", "floors", "wfloors"] {
            assert!(!found.fields.iter().any(|f| f.field == field && f.bits > 0), "{protocol:?}: {field}");
        }
    }
}

#[test]
fn figures_follow_the_parameters() {
    let p = published();
    let wide = TsmFabricParams { tsm: Tsm { ts: 32, ..p.tsm.clone() }, ..p };
    let found = area(&mgcc_l1(&wide.l1()).expect("legal"));
    assert_eq!(["wts", "rts"].map(|field| bytes(&found, field, Storage::Sram)), [1024, 1024]);
}
