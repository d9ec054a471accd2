//! The tables in `hdl/mgcc/docs`, which the documentation shows, are those of today's hardware.

use weft_bench::pages;
use weft_mgcc::choice::{Coherence, Consistency};
use weft_mgcc::l1::{L1Params, answers, operations};
use weft_mgcc::params::Tsm;

#[test]
fn tables_are_those_of_the_hardware() {
    let p = L1Params::published(Tsm::default(), Consistency::Rc, Coherence::Mgcc);
    let text = format!(
        "Operations (release consistency):\n\n{}\nAnswers of the bank:\n\n{}",
        operations(&p).to_markdown(),
        answers(&p).to_markdown()
    );
    let g = L1Params::gtsc_published(Tsm::default());
    let [requests, fills] = weft_mgcc::gtsc::l2_tables();
    let gtsc = format!(
        "`gtsc-l1`, operations:\n\n{}\n`gtsc-l1`, answers of the bank:\n\n{}\n`gtsc-l2`, requests of L1s:\n\n{}\n`gtsc-l2`, answers of memory:\n\n{}",
        operations(&g).to_markdown(),
        answers(&g).to_markdown(),
        requests.to_markdown(),
        fills.to_markdown()
    );
    for (name, text) in [
        ("mgcc-l1", text),
        ("gtsc", gtsc),
        ("tsm-switch", weft_mgcc::switch::table().to_markdown()),
        ("rdma-engine", weft_mgcc::rdma::engine::table().to_markdown()),
        ("pcie-switch", weft_mgcc::rdma::pcie::table().to_markdown()),
        ("dram-port", weft_mgcc::rdma::dram_port::table().to_markdown()),
    ] {
        pages::is_current(&format!("mgcc/docs/{name}.md"), &text);
    }
}
