//! Schedules by hand: everything runs on but what is held back.

use super::explore::World;
use super::program::{Instr, Thread};
use super::{Step, System, SystemParams};

/// A system, and steps held back by words of what they would do ([`World::describe`]).
pub struct Schedule<W = System> {
    /// The system.
    pub system: W,
    held: Vec<String>,
}

impl Schedule {
    /// After reset, with a thread on each of these devices that has nothing to do yet. Drains happen when they can.
    pub fn new(p: SystemParams, devices: &[u8]) -> Schedule {
        let threads = devices.iter().map(|dev| Thread::new(*dev, Vec::new())).collect();
        let p = SystemParams { l1_evictions: u8::MAX, llc_evictions: u8::MAX, ..p };
        Schedule::of(System::new(p, threads))
    }
    /// Replaces a line in an L1, and lets everything run.
    ///
    /// # Panics
    /// That cannot be now.
    #[track_caller]
    pub fn evict(&mut self, dev: u8, line: u32) -> &mut Schedule {
        assert!(self.system.step(Step::EvictL1(dev, line)), "device {dev} cannot replace line {line}");
        self.go()
    }
    /// Evicts a line from its bank, and lets everything run.
    ///
    /// # Panics
    /// That cannot be now.
    #[track_caller]
    pub fn evict_llc(&mut self, bank: u8, line: u32) -> &mut Schedule {
        assert!(self.system.step(Step::EvictLlc(bank, line)), "bank {bank} cannot evict line {line}");
        self.go()
    }
    /// What a thread has got so far.
    pub fn got(&self, thread: usize) -> &[u32] {
        &self.system.threads[thread].results
    }
}

impl<W: World> Schedule<W> {
    /// Of a system whose threads have nothing to do yet.
    pub fn of(system: W) -> Schedule<W> {
        Schedule { system, held: Vec::new() }
    }
    /// Gives an instruction to a thread, and lets everything run.
    #[track_caller]
    pub fn run(&mut self, thread: usize, instr: Instr) -> &mut Self {
        self.system.program(thread, instr);
        self.go()
    }
    /// Everything happens that is not held back, but no evictions.
    ///
    /// # Panics
    /// Something is wrong.
    #[track_caller]
    pub fn go(&mut self) -> &mut Self {
        loop {
            let steps = self.system.steps();
            let free = |step: &W::Step| {
                let text = self.system.describe(*step);
                !self.system.evicts(*step)
                    && !self.held.iter().any(|words| words.split('&').all(|word| text.contains(word.trim())))
            };
            let next = steps.into_iter().find(|step| free(step) && self.system.clone().step(*step));
            let Some(step) = next else { return self };
            self.system.step(step);
            assert_eq!(self.system.wrong(), None);
        }
    }
    /// Steps whose words contain all of these, separated by `&`, are held back from now on.
    pub fn hold(&mut self, words: &str) -> &mut Self {
        self.held.push(words.into());
        self
    }
    /// They are held back no longer.
    ///
    /// # Panics
    /// They were not.
    #[track_caller]
    pub fn release(&mut self, words: &str) -> &mut Self {
        assert!(self.held.iter().any(|held| held == words), "{words} is not held back");
        self.held.retain(|held| held != words);
        self.go()
    }
    /// The first step with all of these words happens though it is held back, and then everything else that is not.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn pass(&mut self, words: &str) -> &mut Self {
        let has = |text: String| words.split('&').all(|word| text.contains(word.trim()));
        let step = self.system.steps().into_iter().find(|step| has(self.system.describe(*step)));
        assert!(step.is_some_and(|step| self.system.step(step)), "nothing like {words}");
        self.go()
    }
    /// A step with all of these words could come next.
    pub fn waits(&self, words: &str) -> bool {
        let has = |text: String| words.split('&').all(|word| text.contains(word.trim()));
        self.system.steps().into_iter().any(|step| has(self.system.describe(step)))
    }
    /// To the end.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn end(&mut self) {
        self.held.clear();
        self.go();
        assert!(self.system.done(), "the run does not end");
    }
}
