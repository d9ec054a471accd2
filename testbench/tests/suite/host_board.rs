//! A board's top module under Verilator with a serial line on its pins, driven by the host's own code: what comes back is what the block alone answers on the engine.

use crate::host_bench;

use host_bench::*;
use weft_host::board::Board;
use weft_host::{Link, with_uart};
use weft_tools::external::{verilator_lint, yosys_lint};
use weft_tools::host::{BoardWire, messages};

const CLOCKS_PER_BIT: u64 = 4;

fn board() -> &'static Board {
    Board::named("ulx3s-85f").expect("a board")
}

/// Asks a block on the simulated board one request after the other, then some at once.
fn answers_as_alone(name: &str, params: &[(&str, &str)], requests: &[Request]) {
    let module = block(name, params);
    let (uart, interface) = with_uart(&module, CLOCKS_PER_BIT).expect("a port");
    let folder = tempfile::tempdir().expect("a folder");
    let wire = BoardWire::new(board(), &uart, CLOCKS_PER_BIT, QUIET, folder.path())
        .unwrap_or_else(|e| panic!("{e}"));
    let mut link = Link::open(interface, wire).unwrap_or_else(|e| panic!("{e}"));
    let alone = alone(&module, link.interface(), requests);
    let half = requests.len() / 2;
    for (at, (request, expected)) in requests.iter().zip(&alone).take(half).enumerate() {
        let come = messages(&mut link, "req", request).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(by_channel(come), by_channel(expected.clone()), "request {at}: {request:?}");
    }
    let mut come = Vec::new();
    for request in &requests[half..] {
        link.send("req", request).unwrap_or_else(|e| panic!("{e}"));
    }
    while let Some(message) = link.receive().unwrap_or_else(|e| panic!("{e}")) {
        come.push(message);
    }
    link.settle("the requests").unwrap_or_else(|e| panic!("{e}"));
    assert!(by_channel(come) == by_channel(alone[half..].concat()), "all at once as one by one");
}

#[test]
fn verilator_runs_a_directory_on_the_board() {
    answers_as_alone("rec-directory", &[("entries", "16"), ("ways", "4")], &directory_requests(200));
}

#[test]
fn verilator_runs_the_tables_of_srsp_on_the_board() {
    answers_as_alone("lr-tbl", &[], &lr_requests(120));
    answers_as_alone("pa-tbl", &[], &pa_requests(120));
}

#[test]
fn verilator_and_yosys_find_nothing_in_what_goes_onto_the_board() {
    let folder = tempfile::tempdir().expect("a folder");
    // A cache has inputs and outputs without a channel, and messages of several hundred bits.
    let small = [
        ("size", "1K"),
        ("mshrs", "2"),
        ("wbt", "2"),
        ("targets", "2"),
        ("sq", "1"),
        ("cus", "4"),
        ("ways", "2"),
    ];
    let (uart, _) = with_uart(&block("srsp-l1", &small), 217).expect("a port");
    let mut files = vec![folder.path().join("top.v")];
    std::fs::write(&files[0], board().top(&uart.name)).expect("a file");
    for file in weft_rtl::verilog::emit(&uart) {
        files.push(folder.path().join(&file.name));
        std::fs::write(folder.path().join(&file.name), &file.text).expect("a file");
    }
    assert_eq!(verilator_lint("top", &files).expect("Verilator"), Vec::<String>::new());
    assert_eq!(yosys_lint("top", &files).expect("Yosys"), Vec::<String>::new());
}

#[test]
fn baud_rates_a_board_cannot_keep_are_none() {
    assert_eq!(
        [115_200, 1_000_000, 3_000_000].map(|baud| board().clocks_per_bit(baud)),
        [Some(217), Some(25), None]
    );
    assert_eq!(board().clocks_per_bit(0), None);
}
