//! One of several tasks that share the runs of a sweep.

use std::fmt;
use std::str::FromStr;

/// Task `number` of `of`: it makes each `of`th run, from the one of its own number on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub number: usize,
    /// Tasks in all.
    pub of: usize,
}

impl Shard {
    /// Whether it makes the run in this place, from 0, of the list of all runs.
    pub fn takes(self, place: usize) -> bool {
        place % self.of == self.number - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err("give I/N, the number of this task and how many there are, 1/N to N/N".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_one_task() {
        for of in 1..9 {
            let shards: Vec<Shard> = (1..=of).map(|n| format!("{n}/{of}").parse().expect("legal")).collect();
            for place in 0..40 {
                assert_eq!(shards.iter().filter(|shard| shard.takes(place)).count(), 1);
            }
        }
    }

    #[test]
    fn other_words_are_refused() {
        for text in ["", "3", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b", "1 /4"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
