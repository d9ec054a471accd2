//! What the checker's lines say.

use super::checker::answer;

#[test]
fn failures_steps_and_verdicts_are_read() {
    let said = "##   0:00:00  Solver: yices\n\
                ##   0:00:00  Checking assertions in step 0..\n\
                ##   0:00:00  Checking assertions in step 1..\n\
                ##   0:00:00  BMC failed!\n\
                ##   0:00:00  Assert failed in weft_prove: dut.fifo_no_overflow\n\
                ##   0:00:00  Checking remaining assertions..\n\
                ##   0:00:00  Checking assertions in step 1..\n\
                ##   0:00:00  Checking assertions in step 2..\n\
                ##   0:00:01  Assert failed in weft_prove: dut.fifo_no_overflow [failed before]\n\
                ##   0:00:01  Assert failed in weft_prove: out_holds\n\
                ##   0:00:02  Status: FAILED\n";
    let read = answer(said);
    assert_eq!((read.step, read.ended, read.passed), (2, true, false));
    let failed: Vec<(&str, u32)> = read.failed.iter().map(|(name, at)| (name.as_str(), *at)).collect();
    assert_eq!(failed, [("fifo_no_overflow", 1), ("out_holds", 2)]);
}

#[test]
fn a_checker_that_was_ended_has_no_verdict() {
    let read = answer("##   0:00:00  Checking assertions in step 7..\n");
    assert_eq!((read.step, read.ended, read.passed), (7, false, false));
}
