use super::*;
use crate::dead::{What, When, dead};
use weft_rtl::prelude::*;

#[derive(Clone, Copy, Bundle)]
struct Word {
    #[width(4)]
    value: Bits,
}

/// Keeps the last word given and sends it on; `sum` falls when it overflows; words above 12 are refused by an assertion.
fn keeper() -> Block {
    let module = Module::build("keeper", ModuleKind::Block, || {
        let (given, sent) = (in_channel::<Word>("given", &()), out_channel::<Word>("sent", &()));
        let (full, kept) = (reg::<Bool>("full", ()), reg::<Bits>("kept", 4));
        let sum = reg::<Bits>("sum", 5);
        when(given.valid & !full.get(), || {
            given.take();
            full.set(true);
            kept.set(given.msg.value);
            sum.set(sum.get() + given.msg.value.zext(5));
        });
        when(full.get() & sent.free, || {
            sent.send(&Word { value: kept.get() });
            full.set(false);
        });
        assert_always("small", !given.valid | given.msg.value.le(12), "words are at most 12");
    });
    let design = Block::compile(&module.expect("legal")).expect("compiled");
    let regs = |name: &str| What::Regs(name.into());
    let held = |name: &str, valid: &str| dead(&[regs(name)], &[When::Some(valid.into())]);
    let rules = [
        held("given_skid0_*", "given_skid0_valid"),
        held("given_skid1_*", "given_skid1_valid"),
        held("sent_value", "sent_valid"),
        held("kept", "full"),
    ];
    connected(Block::new("keeper", &design, &rules))
}

fn connected(mut block: Block) -> Block {
    let form = Rc::new(Form::new::<Word>(&(), &[], &[]));
    block.input("given", &form);
    block.output("sent", &form);
    block
}

/// Gives a word and clocks until nothing moves; everything sent is taken.
fn give(block: &mut Block, state: u32, value: u64, messages: &mut Numbered) -> Step {
    let word = messages.number(&[value]);
    let mut step = block.step(state, &[word], 1, messages);
    loop {
        let Step::To(at) = step else { return step };
        step = block.step(at, &[NONE], 1, messages);
        if step == Step::To(at) {
            return step;
        }
    }
}

#[test]
fn what_is_dead_makes_no_states_and_steps_are_remembered() {
    let (mut block, mut messages) = (keeper(), Numbered::default());
    let start = block.begin(&mut messages, |_| {});
    let Step::To(three) = give(&mut block, start, 3, &mut messages) else { panic!("it takes 3") };
    let clocked = block.clocked;
    assert_eq!(give(&mut block, start, 3, &mut messages), Step::To(three));
    assert_eq!(block.clocked, clocked, "the same steps are not clocked again");
    let Step::To(one) = give(&mut block, start, 1, &mut messages) else { panic!("it takes 1") };
    assert_eq!(give(&mut block, one, 2, &mut messages), Step::To(three), "only the sum is left");
    assert_ne!(one, three);
}

#[test]
fn assertions_and_falling_registers_are_wrong_steps() {
    let (mut block, mut messages) = (keeper(), Numbered::default());
    block.rises("the sum", &["sum"]);
    let mut at = block.begin(&mut messages, |_| {});
    let Step::Wrong(wrong) = give(&mut block, at, 13, &mut messages) else { panic!("13 is refused") };
    assert!(block.wrong(wrong).contains("words are at most 12"), "{}", block.wrong(wrong));
    for _ in 0..2 {
        let Step::To(next) = give(&mut block, at, 12, &mut messages) else { panic!("12 is taken") };
        at = next;
    }
    let Step::Wrong(wrong) = give(&mut block, at, 12, &mut messages) else { panic!("36 does not fit") };
    assert!(block.wrong(wrong).contains("goes back from [24] to [4]"), "{}", block.wrong(wrong));
}

#[test]
fn a_wrong_rule_is_found_out() {
    let design = keeper().design.clone();
    let rules = [dead(&[What::Regs("sum".into())], &[])];
    let mut block = connected(Block::new("keeper", &design, &rules));
    let mut messages = Numbered::default();
    // Nothing reads the sum but itself: that rule is right.
    let start = block.begin(&mut messages, |_| {});
    assert!(matches!(give(&mut block, start, 3, &mut messages), Step::To(_)));
    let rules = [dead(&[What::Regs("kept".into())], &[])];
    let mut block = connected(Block::new("keeper", &design, &rules));
    let start = block.begin(&mut messages, |_| {});
    let Step::Wrong(wrong) = give(&mut block, start, 3, &mut messages) else { panic!("kept is sent") };
    assert!(block.wrong(wrong).contains("sent_value differs"), "{}", block.wrong(wrong));
}
