//! The estimate of SRAMs against figures worked out by hand from CACTI's published parameters.

use weft_rtl::area::{MemoryArea, Storage};
use weft_rtl::sram::{SramEstimate, estimate};

fn memory(rows: u64, lanes: u64, lane_bits: u64, ports: [u64; 2]) -> MemoryArea {
    MemoryArea {
        module: "m".into(),
        name: "ram".into(),
        storage: Storage::Sram,
        rows,
        lanes,
        lane_bits,
        fields: Vec::new(),
        read_ports: ports[0],
        write_ports: ports[1],
        instances: 1,
        bits: rows * lanes * lane_bits,
    }
}

fn of(rows: u64, lanes: u64, lane_bits: u64) -> SramEstimate {
    estimate(&memory(rows, lanes, lane_bits, [1, 0])).expect("an SRAM")
}

#[test]
fn a_full_subarray_is_seventy_percent_cells() {
    let cells = 65536.0 * 146.0 * 0.045 * 0.045 * 1e-6;
    assert!((cells / of(256, 1, 256).area_mm2 - 0.7).abs() < 1e-9);
    // Larger memories are copies of it, smaller ones are mostly strips.
    assert!((of(1024, 4, 256).area_mm2 / of(256, 1, 256).area_mm2 - 16.0).abs() < 1e-9);
    assert!(8.0 * of(32, 1, 256).area_mm2 > 1.8 * of(256, 1, 256).area_mm2);
}

#[test]
fn a_second_port_doubles_a_cell() {
    let two = estimate(&memory(1 << 16, 1, 256, [1, 1])).expect("an SRAM").area_mm2;
    let ratio = two / of(1 << 16, 1, 256).area_mm2;
    // Cells (15 * 19.6) / (10 * 14.6) = 2.01; the strips stay.
    assert!(ratio > 1.6 && ratio < 2.01, "{ratio}");
}

#[test]
fn the_published_cell_gives_the_published_magnitude() {
    // CACTI's 6T cell at 45 nm: 0.296 um2; a megabyte of it, 70 % cells: 3.54 mm2.
    let megabyte = of(1 << 13, 1, 1 << 10).area_mm2;
    assert!((megabyte - 8_388_608.0 * 0.29565e-6 / 0.7).abs() < 0.01, "{megabyte}");
    // 0.0912 uA off current per cell at 1 V.
    assert!((of(1024, 1, 1024).leakage_mw - 95.7).abs() < 0.1);
}

#[test]
fn a_read_costs_by_the_row_and_a_write_by_the_lane() {
    let (one, eight) = (of(1024, 1, 103), of(1024, 8, 103));
    assert!(eight.read_pj > 8.0 * one.read_pj, "longer wires, too");
    assert!(eight.write_pj < 3.0 * one.write_pj);
    assert_eq!(estimate(&MemoryArea { storage: Storage::RegisterFile, ..memory(8, 1, 8, [1, 1]) }), None);
}
