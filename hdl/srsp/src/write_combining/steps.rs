//! Operations of several steps, one of which is at work at a time: the head of a queue.

use super::drain::Drain;
use crate::sfifo::Sfifo;
use std::marker::PhantomData;
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// The steps, each an `S`, of all programs `P`, one behind the other.
pub(crate) struct Rom<P, S> {
    steps: Vec<S>,
    starts: Vec<usize>,
    of: PhantomData<P>,
}

impl<P: HwEnum, S: HwEnum> Rom<P, S> {
    /// The ROM of programs with these steps.
    pub fn new(steps_of: impl Fn(P) -> Vec<S>) -> Rom<P, S> {
        let (mut steps, mut starts) = (Vec::new(), Vec::new());
        for program in P::VARIANTS {
            starts.push(steps.len());
            steps.extend(steps_of(*program));
        }
        Rom { steps, starts, of: PhantomData }
    }

    /// Width of a place.
    pub fn bits(&self) -> u32 {
        bits_for(self.steps.len() as u64)
    }

    /// The first step's place.
    pub fn start(&self, program: Enum<P>) -> Bits {
        let at: Vec<Bits> = self.starts.iter().map(|s| lit(*s as u64, self.bits())).collect();
        select(&at, program.bits())
    }

    /// The step at a place.
    pub fn step(&self, pc: Bits) -> Enum<S> {
        let codes: Vec<Bits> = self.steps.iter().map(|s| enum_lit(*s).bits()).collect();
        select(&codes, pc).as_enum::<S>()
    }
}

/// An operation in the queue.
pub(crate) trait Job: Data {
    /// The programs that there are.
    type Program: HwEnum;
    /// That of the operation.
    fn program(&self) -> Enum<Self::Program>;
}

/// The operation at work, a job `J`, and its step, an `S`, which is that at `pc` in the list of all programs.
pub(crate) struct Steps<J: Job, S> {
    pub rom: Rom<J::Program, S>,
    pub queue: Fifo<J>,
    /// The head of the queue is at work.
    pub runs: Reg<Bool>,
    pub pc: Reg<Bits>,
    /// The step has been begun.
    pub issued: Reg<Bool>,
    pub step: Enum<S>,
    /// The next step follows.
    pub advance: Wire<Bool>,
}

impl<J: Job, S: HwEnum> Steps<J, S> {
    /// The step at work is one of these.
    pub fn is(&self, steps: &[S]) -> Bool {
        self.runs.get() & self.step.is_any(steps)
    }

    /// An operation begins in this cycle.
    pub fn begins(&self) -> Bool {
        !self.runs.get() & self.queue.valid
    }

    /// Begins the operation at the head when none is at work; `begin`: what a step begins with.
    pub fn start(&self, begin: impl FnOnce()) {
        when(self.begins(), || {
            self.runs.set(true);
            self.pc.set(self.rom.start(self.queue.head.program()));
            begin();
        });
    }

    /// The operation at work is of this program.
    pub fn of(&self, program: J::Program) -> Bool {
        self.runs.get() & self.queue.head.program().is(program)
    }

    /// The next step follows.
    pub fn go_on(&self) {
        self.advance.set(true);
    }

    /// The next step follows one of these, on a condition.
    pub fn goes(&self, steps: &[S], cond: Bool) {
        when(self.is(steps) & cond, || self.go_on());
    }

    /// Begins the flush of everything dirty, if that is `wanted` and has not been begun.
    pub fn flush(&self, wanted: Bool, drain: &Drain, sfifo: &Sfifo) {
        when(wanted & !self.issued.get(), || {
            drain.flush_all(&drain.sync, sfifo);
            self.issued.set(true);
        });
    }

    /// The operation is done.
    pub fn end(&self) {
        self.queue.pop();
        self.runs.set(false);
    }

    /// Declares the way from one step to the next, after all that goes on; `begin`: what a step begins with.
    pub fn finish(&self, begin: impl FnOnce()) {
        when(self.advance.get(), || {
            self.pc.set(self.pc.get() + 1);
            begin();
        });
    }

    /// Observes `programs` of the block, by their names: the operation at work `ends`; `cycles`: what its cycles are counted from and to.
    pub fn observe(
        &self,
        (covers, block): (&str, &str),
        programs: impl IntoIterator<Item = (J::Program, String)>,
        ends: Bool,
        cycles: &str,
    ) {
        for (program, name) in programs {
            let mine = self.queue.head.program().is(program);
            let text = format!("{name} is carried out to its end");
            cover(&format!("{covers}.{name}"), ends & mine, &text);
            let name = name.to_lowercase();
            count(&format!("{block}_op_{name}"), self.begins() & mine, "operations begun");
            count(&format!("{block}_op_{name}_cycles"), self.runs.get() & mine, cycles);
        }
    }

    /// Counts cycles in which an operation waits for another one, for the block.
    pub fn count_waits(&self, block: &str) {
        let waits = self.runs.get() & self.queue.count.zext(16).gt(1);
        let text = "cycles in which an operation waits for another one";
        count(&format!("{block}_sq_waits"), waits, text);
    }
}

/// Programs as Markdown, by their names.
pub(crate) fn programs<P: HwEnum, S: std::fmt::Debug + 'static>(steps: impl Fn(P) -> &'static [S]) -> String {
    let mut out = String::from("| operation | steps |\n|---|---|\n");
    for program in P::VARIANTS {
        let words: Vec<String> = steps(*program).iter().map(|s| format!("{s:?}")).collect();
        out += &format!("| `{}` | {} |\n", program.label(), words.join(", "));
    }
    out
}
