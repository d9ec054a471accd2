//! The tables in `hdl/srsp/docs`, which the documentation shows, are those of today's hardware.

use weft_bench::pages;
use weft_rtl::prelude::HwEnum;
use weft_srsp::msg::ProbeOp;
use weft_srsp::params::Impl;
use weft_srsp::{hlrc_l1, l1, l2};

/// What keeps two remote operations by broadcast apart.
const ORDERS: &str = "\
A remote operation by broadcast is kept apart from others in one of two ways, key `broadcast_order` of a fabric:

- Impl `brsp` (`line`): it holds the lock of its line at the L2 bank from before its first probe, as `srsp` does, until it
  has been performed and what it invalidates is invalidated. An L1 that is probed by FLUSH_ALL drops the line and flushes
  everything; from then on whatever here wants the line asks the L2 and waits there. Nothing is locked in the L1, which
  answers probes also while its own remote operation waits, so that operations on different lines go on side by side, and
  none waits for another while it holds a lock. A compare-and-swap that fails has given the lock up at the L2, and
  invalidates nothing.
- Impl `brsp-token` (`token`): the address is locked in every other L1, from LOCK_FLUSH to INV_UNLOCK. An L1 can hold one
  such lock; two operations that have locked some of the L1s each would wait for each other for ever. So a token of bank 0
  lets one remote operation of the whole GPU go on at a time. What the lock stops is parameter `closes`.

rem_acq invalidates the other L1s in both, as published; its order of accesses would not need it.
";

#[test]
fn tables_are_those_of_the_hardware() {
    let text = format!(
        "{}\nOperations on a line:\n\n{}\nLines that leave:\n\n{}\nFills:\n\n{}\n{}\nProbes:\n\n{}\nOperations of several steps:\n\n{}\n{ORDERS}",
        l1::machine().to_svg(),
        l1::operations().to_markdown(),
        l1::leaving().to_markdown(),
        l1::fills().to_markdown(),
        l1::probe_machine(ProbeOp::VARIANTS).to_svg(),
        l1::probes(ProbeOp::VARIANTS).to_markdown(),
        l1::micro::to_markdown(),
    );
    pages::is_current("srsp/docs/srsp-l1.md", &text);
}

#[test]
fn tables_of_the_l2_are_those_of_the_hardware() {
    use l2::table::{frames, lines, locks, machine, token};
    let text = format!(
        "{}\nLines:\n\n{}\nFrames:\n\n{}\nLocks:\n\n{}\nThe token:\n\n{}",
        machine().to_svg(),
        lines().to_markdown(),
        frames().to_markdown(),
        locks(Impl::BrspToken).to_markdown(),
        token().to_markdown(),
    );
    pages::is_current("srsp/docs/srsp-l2.md", &text);
}

#[test]
fn tables_of_the_l1_of_hlrc_are_those_of_the_hardware() {
    use hlrc_l1::table::{answers, leaving, machine, operations, programs, revokes};
    let text = format!(
        "{}\nOperations on a line:\n\n{}\nLines that leave:\n\n{}\nREVOKEs:\n\n{}\nAnswers:\n\n{}\nOperations of several steps:\n\n{}",
        machine().to_svg(),
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
    use weft_srsp::hlrc_l2::table::{frames, lines, machine, revokes};
    use weft_srsp::hlrc_l2::{L2Write, Registered::Atomics};
    let [combine, through] =
        [L2Write::Combine, L2Write::ThroughInv].map(|write| lines(write, Atomics, false).to_markdown());
    let text = format!(
        "{}\nLines, where written data is combined:\n\n{combine}\nLines, where it goes to memory:\n\n{through}\nFrames:\n\n{}\nAnswers to a REVOKE:\n\n{}",
        machine(L2Write::Combine, Atomics).to_svg(),
        frames(L2Write::Combine, Atomics, false).to_markdown(),
        revokes(Atomics).to_markdown(),
    );
    pages::is_current("srsp/docs/hlrc-l2.md", &text);
}

#[test]
fn tables_of_the_l1_of_denovo_b_are_those_of_the_hardware() {
    use weft_srsp::denovo_b_l1::table::{answers, leaving, machine, operations, probes, programs};
    let text = format!(
        "{}\nOperations on a line:\n\n{}\nLines that leave, or are registered:\n\n{}\nREVOKEs and READs:\n\n{}\nAnswers:\n\n{}\nOperations of several steps:\n\n{}",
        machine().to_svg(),
        operations().to_markdown(),
        leaving().to_markdown(),
        probes().to_markdown(),
        answers().to_markdown(),
        programs(),
    );
    pages::is_current("srsp/docs/denovo-b-l1.md", &text);
}

#[test]
fn tables_of_the_l2_of_denovo_b_are_those_of_the_hardware() {
    use weft_srsp::hlrc_l2::table::{frames, lines, machine, reads, revokes};
    use weft_srsp::hlrc_l2::{L2Write, Registered::Writes};
    let text = format!(
        "{}\nLines:\n\n{}\nFrames:\n\n{}\nAnswers to a REVOKE:\n\n{}\nAnswers to a READ:\n\n{}",
        machine(L2Write::ThroughInv, Writes).to_svg(),
        lines(L2Write::ThroughInv, Writes, false).to_markdown(),
        frames(L2Write::ThroughInv, Writes, false).to_markdown(),
        revokes(Writes).to_markdown(),
        reads().to_markdown(),
    );
    pages::is_current("srsp/docs/denovo-b-l2.md", &text);
}
