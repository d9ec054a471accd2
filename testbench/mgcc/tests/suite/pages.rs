//! The tables in `hdl/mgcc/docs`, which the documentation shows, are those of today's hardware.

use weft_bench::pages;
use weft_mgcc::choice::{Coherence, Consistency};
use weft_mgcc::l1::{self, L1Params, answers, operations};
use weft_mgcc::l2::{BackKind, back_table};
use weft_mgcc::params::Tsm;
use weft_mgcc::rdma::{dram_port, engine, pcie};
use weft_mgcc::switch;

#[test]
fn tables_are_those_of_the_hardware() {
    let p = L1Params::published(Tsm::default(), Consistency::Rc, Coherence::Mgcc);
    let text = format!(
        "{}\nOperations (release consistency):\n\n{}\nAnswers of the bank:\n\n{}",
        l1::machine(&p).to_svg(),
        operations(&p).to_markdown(),
        answers(&p).to_markdown()
    );
    let g = L1Params::gtsc_published(Tsm::default());
    let gtsc = format!(
        "`gtsc-l1`, operations:\n\n{}\n{}\n`gtsc-l1`, answers of the bank:\n\n{}\n`gtsc-l2`, requests of L1s; `next` is the state of the line's way:\n\n{}\n{}\n`gtsc-l2`, answers of memory:\n\n{}",
        l1::machine(&g).to_svg(),
        operations(&g).to_markdown(),
        answers(&g).to_markdown(),
        back_table::machine(BackKind::Gtsc).to_svg(),
        back_table::requests(BackKind::Gtsc).to_markdown(),
        back_table::fills(BackKind::Gtsc).to_markdown()
    );
    let page = |svg: String, table: String| format!("{svg}\n{table}");
    for (name, text) in [
        ("mgcc-l1", text),
        ("gtsc", gtsc),
        ("tsm-switch", page(switch::machine().to_svg(), switch::table().to_markdown())),
        ("rdma-engine", page(engine::machine().to_svg(), engine::table().to_markdown())),
        ("pcie-switch", page(pcie::machine().to_svg(), pcie::table().to_markdown())),
        ("dram-port", page(dram_port::machine().to_svg(), dram_port::table().to_markdown())),
    ] {
        pages::is_current(&format!("mgcc/docs/{name}.md"), &text);
    }
}
