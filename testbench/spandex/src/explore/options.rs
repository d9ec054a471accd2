//! A configuration as the options of `weft explore spandex`.

use super::{Config, Op, faults, keys, legal};
use std::fmt::Display;
use weft_explore::net::Timing;

/// Numbers or operations, with commas between them.
fn listed<T: Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

impl Config {
    /// The words behind `weft explore spandex` that stand for it; what is as in [`Config::of`] is left out.
    pub fn options(&self) -> Vec<String> {
        let usual = Config::of(&self.devices);
        let mut words = Vec::new();
        let mut add = |name: &str, value: String| words.extend([name.to_string(), value]);
        add("--devices", legal::words(&self.devices));
        if self.alphabets != usual.alphabets {
            self.alphabets.iter().for_each(|ops: &Vec<Op>| add("--ops", listed(ops)));
        }
        if self.budgets != usual.budgets {
            add("--budget", listed(&self.budgets));
        }
        if !self.prelude.is_empty() {
            let each: Vec<String> =
                self.prelude.iter().map(|(device, op)| format!("{device}:{op}")).collect();
            add("--prelude", listed(&each));
        }
        let numbers = [
            ("--lines", self.lines.len(), usual.lines.len()),
            ("--open", self.open, usual.open),
            ("--link", self.link, usual.link),
        ];
        for (name, value, _) in numbers.into_iter().filter(|(_, value, usual)| value != usual) {
            add(name, value.to_string());
        }
        for key in keys::ALL.iter().filter(|key| key.value(self) != key.value(&usual)) {
            add("--set", format!("{}={}", key.name, key.value(self)));
        }
        if let Some(device) = self.guess {
            add("--guess", device.to_string());
        }
        if self.faults != faults::NONE {
            add("--inject", faults::name(&self.faults));
        }
        let flags = [
            ("--several-waves", self.waves, false),
            ("--scopes", self.scopes, false),
            ("--races", self.races, self.ordered()),
            ("--free", self.timing == Timing::Free, false),
        ];
        for (name, value, usual) in flags {
            match value {
                _ if value == usual => {}
                true => words.push(name.to_string()),
                false => words.push(format!("{name}=false")),
            }
        }
        words
    }
}
