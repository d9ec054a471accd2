//! Schedules by hand: everything runs on but what is held back.

use super::{Instr, System, SystemParams, Wave};

/// A system, and messages and slots held back by words of what they would do ([`System::describe`]).
pub struct Schedule {
    /// The system.
    pub system: System,
    held: Vec<&'static str>,
}

impl Schedule {
    /// After reset, with waves on these CUs that have nothing to do yet.
    pub fn new(p: SystemParams, cus: &[u8]) -> Schedule {
        let waves = cus.iter().map(|cu| Wave::new(*cu, Vec::new())).collect();
        Schedule { system: System::new(p, waves), held: Vec::new() }
    }
    /// Gives an operation to a wave.
    pub fn give(&mut self, wave: usize, instr: Instr) -> &mut Schedule {
        self.system.append_to(wave, instr);
        self
    }
    /// Everything happens that is not held back.
    ///
    /// # Panics
    /// Something is wrong.
    pub fn go(&mut self) -> &mut Schedule {
        let held = self.held.clone();
        self.system.advance(|system, step| {
            let text = system.describe(*step);
            !held.iter().any(|words| text.contains(words))
        });
        assert_eq!(self.system.wrong(), None);
        self
    }
    /// What has these words is held back from now on.
    pub fn hold(&mut self, words: &'static str) -> &mut Schedule {
        self.held.push(words);
        self
    }
    /// It is held back no longer.
    ///
    /// # Panics
    /// It was not.
    pub fn release(&mut self, words: &'static str) -> &mut Schedule {
        assert!(self.held.contains(&words), "{words} is not held back");
        self.held.retain(|held| *held != words);
        self.go()
    }
    /// Something with these words is under way.
    pub fn waits(&self, words: &str) -> bool {
        self.system.steps().into_iter().any(|step| self.system.describe(step).contains(words))
    }
    /// What a wave has got so far.
    pub fn got(&self, wave: usize) -> &[u64] {
        &self.system.waves()[wave].results
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
