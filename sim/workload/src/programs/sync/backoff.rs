//! Pauses after failures: linear, as in the public programs.

use super::super::params::{Legal, ParamSpec, Params};

/// Parameter `backoff`.
pub const BACKOFF: ParamSpec = ParamSpec {
    name: "backoff",
    default: "10",
    legal: Legal::Integer { min: 1, max: 1 << 20 },
    unit: "ticks",
    about: "Pause after the first failure.",
};

/// Parameter `backoff_step`.
pub const STEP: ParamSpec = ParamSpec {
    name: "backoff_step",
    default: "5",
    legal: Legal::Integer { min: 0, max: 1 << 20 },
    unit: "ticks",
    about: "How much longer the pause after each further failure is.",
};

/// Parameter `backoff_failures`; its default is each program's.
pub const fn failures(default: &'static str) -> ParamSpec {
    ParamSpec {
        name: "backoff_failures",
        default,
        legal: Legal::Integer { min: 1, max: 1 << 20 },
        unit: "failures",
        about: "After so many failures every pause is one tick.",
    }
}

/// How long who fails pauses.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: u64,
    step: u64,
    failures: u64,
}

impl Backoff {
    /// As the parameters say.
    pub fn new(params: &Params) -> Self {
        let [first, step, failures] =
            ["backoff", "backoff_step", "backoff_failures"].map(|key| params.integer(key));
        Self { first, step, failures }
    }

    /// Ticks after failure number `failure`, counted from 0.
    pub fn ticks(self, failure: u64) -> u64 {
        if failure < self.failures { self.first + self.step * failure } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_then_are_short() {
        let backoff = Backoff { first: 10, step: 5, failures: 25 };
        let ticks = [0, 1, 24, 25, 26].map(|failure| backoff.ticks(failure));
        assert_eq!(ticks, [10, 15, 130, 1, 1]);
    }
}
