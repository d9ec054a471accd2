//! The tables in `hdl/srsp/docs`, which the documentation shows, are those of today's hardware.

use weft_bench::pages;
use weft_srsp::params::Impl;
use weft_srsp::{hlrc_l1, l1, l2};

#[test]
fn tables_are_those_of_the_hardware() {
    let text = format!(
        "Operations on a line:\n\n{}\nLines that leave:\n\n{}\nProbes:\n\n{}\nOperations of several steps:\n\n{}",
        l1::operations().to_markdown(),
        l1::leaving().to_markdown(),
        l1::probes().to_markdown(),
        l1::micro::to_markdown(),
    );
    pages::is_current("srsp/docs/srsp-l1.md", &text);
}

#[test]
fn tables_of_the_l2_are_those_of_the_hardware() {
    use l2::table::{frames, lines, locks, token};
    let text = format!(
        "Lines:\n\n{}\nFrames:\n\n{}\nLocks:\n\n{}\nThe token:\n\n{}",
        lines().to_markdown(),
        frames().to_markdown(),
        locks(Impl::Brsp).to_markdown(),
        token().to_markdown(),
    );
    pages::is_current("srsp/docs/srsp-l2.md", &text);
}

#[test]
fn tables_of_the_l1_of_hlrc_are_those_of_the_hardware() {
    use hlrc_l1::table::{answers, leaving, operations, programs, revokes};
    let text = format!(
        "Operations on a line:\n\n{}\nLines that leave:\n\n{}\nREVOKEs:\n\n{}\nAnswers:\n\n{}\nOperations of several steps:\n\n{}",
        operations().to_markdown(),
        leaving().to_markdown(),
        revokes().to_markdown(),
        answers().to_markdown(),
        programs(),
    );
    pages::is_current("srsp/docs/hlrc-l1.md", &text);
}

#[test]
fn tables_of_the_l2_of_hlrc_are_those_of_the_hardware() {
    use weft_srsp::hlrc_l2::L2Write;
    use weft_srsp::hlrc_l2::table::{frames, lines, revokes};
    let [combine, through] = [L2Write::Combine, L2Write::ThroughInv].map(|write| lines(write).to_markdown());
    let text = format!(
        "Lines, where written data is combined:\n\n{combine}\nLines, where it goes to memory:\n\n{through}\nFrames:\n\n{}\nAnswers to a REVOKE:\n\n{}",
        frames(L2Write::Combine, false).to_markdown(),
        revokes().to_markdown(),
    );
    pages::is_current("srsp/docs/hlrc-l2.md", &text);
}
