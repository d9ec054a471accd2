//! Storage and tables of `gpu-l1` and `tu-gpu`: what needs no simulation.

use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::{gpu_l1, tu_gpu};

/// spandex.md section 7: bits of the lines, from the hardware's own declarations.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    let found = area(&gpu_l1::info().with(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    let lines: u64 = ["state", "tag", "data", "replacement"].map(bits).iter().sum();
    assert_eq!(lines, 512 * (36 + 1 + 512) + 448);
    let scoped = area(&gpu_l1::info().with(&[("scopes", "1"), ("hold", "1")]).unwrap());
    assert_eq!(scoped.total_bits, found.total_bits, "scopes need no storage");
    let unit = area(&tu_gpu::info().with(&[]).unwrap());
    let buffer: u64 = unit.fields.iter().filter(|f| f.field == "line_buffer").map(|f| f.bits).sum();
    assert_eq!(buffer, 128 * 512, "a line buffer per MSHR");
}

#[test]
fn tables_are_those_of_the_hardware() {
    let text = format!(
        "{}\nOperations of the CU:\n\n{}\nAtomics and synchronising stores of CU scope, with `scopes=1`:\n\n{}\nAnswers of the translation unit:\n\n{}",
        gpu_l1::table::machine().to_svg(),
        gpu_l1::table::operations().to_markdown(),
        gpu_l1::table::locals().to_markdown(),
        gpu_l1::table::answers().to_markdown(),
    );
    pages::is_current("spandex/docs/gpu-l1.md", &text);
    let text = format!(
        "{}\nRequests of the L1:\n\n{}\nResponses:\n\n{}\nForwards:\n\n{}",
        tu_gpu::machine().to_svg(),
        tu_gpu::requests().to_markdown(),
        tu_gpu::responses().to_markdown(),
        tu_gpu::forwards().to_markdown(),
    );
    pages::is_current("spandex/docs/tu-gpu.md", &text);
}
