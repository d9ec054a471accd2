//! A module's body: state, parts, expressions and statements, in the order in which they are made.

use crate::expression::OPERATIONS;
use crate::maker::Maker;
use crate::state::Target;
use std::sync::Arc;
use weft_rtl::prelude::*;

impl Maker {
    /// One more expression.
    fn grow(&mut self) {
        let made = self.choose(OPERATIONS)(self);
        let named = self.one_in(6).then(|| self.name("value"));
        self.add(match named {
            Some(name) => made.named(&name),
            None => made,
        });
    }

    /// All of a module but its outputs. Its first inputs have the widths that are given.
    pub fn body(&mut self, size: u32, given: &[u32], parts: &[Arc<Module>]) {
        let more = if given.is_empty() { 1 } else { 0 } + self.below(3);
        let widths: Vec<u32> =
            given.iter().copied().chain((0..more).map(|_| self.width()).collect::<Vec<_>>()).collect();
        for (number, width) in widths.into_iter().enumerate() {
            let port = input::<Bits>(&format!("in{number}"), width);
            unused_input(&port);
            self.add(port);
        }
        let mut targets = self.registers();
        if self.one_in(4) {
            targets.extend(self.memory());
        }
        let half = size / 2;
        (0..half).for_each(|_| self.grow());
        for part in parts {
            (0..1 + self.below(2)).for_each(|_| self.place(part));
        }
        if self.one_in(3) {
            self.wire();
        }
        (half..size).for_each(|_| self.grow());
        self.loads(&targets);
        self.observers(&targets);
    }

    /// An instance of a part.
    fn place(&mut self, part: &Arc<Module>) {
        let name = self.name("u");
        let placed = instance(&name, part);
        for (_, port) in part.inputs() {
            let value = self.of(port.width);
            placed.drive_bits(&port.name, value);
        }
        for (_, port) in part.outputs() {
            let seen = placed.out_bits(&port.name);
            self.add(seen);
        }
    }

    /// Observers: no hardware, but values that simulators compute.
    fn observers(&mut self, targets: &[Target]) {
        if !self.one_in(4) {
            return;
        }
        let (a, b, c) = (self.flag(), self.flag(), self.flag());
        let amount = self.of(40);
        assert_always("held", a | b, "some condition");
        about(amount, || cover("seen", b & c, "some condition"));
        count("often", a, "some condition");
        count_amount("sum", c & !a, amount, "some amount");
        for (number, target) in targets.iter().enumerate() {
            if let Target::Vector(register) = target {
                register.on_next(move |next| cover(&format!("next{number}"), next.any(), "some value"));
            }
        }
    }
}
