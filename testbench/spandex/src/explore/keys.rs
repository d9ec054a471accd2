//! Keys of the hardware that a system is made of, by the names of the blocks' parameters.

use super::Config;
use weft_spandex::llc::{ReqsPolicy, RvkoGran};

/// A key.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it fixes.
    pub about: &'static str,
    place: Place,
}

/// Where its value stands.
enum Place {
    /// One of some numbers.
    Number(&'static [u32], fn(&mut Config) -> &mut u32),
    Reqs,
    Rvko,
    /// 0 or 1.
    Extras,
}

use Place::{Extras, Number, Reqs, Rvko};

const FEW: &[u32] = &[1, 2, 3, 4];

const fn key(name: &'static str, about: &'static str, place: Place) -> Key {
    Key { name, about, place }
}

/// Every key.
pub const ALL: &[Key] = &[
    key("mshrs", "misses of an L1 under way", Number(FEW, |c| &mut c.l1.0)),
    key("sb", "lines in the store buffer of an L1", Number(FEW, |c| &mut c.l1.1)),
    key("wbb", "lines in the write-back buffer of an L1", Number(FEW, |c| &mut c.l1.2)),
    key("targets", "loads that wait for one line", Number(FEW, |c| &mut c.targets)),
    key("releases", "operations that wait for a release", Number(FEW, |c| &mut c.releases)),
    key("sets", "sets of the bank", Number(&[1, 2, 4], |c| &mut c.bank.0)),
    key("ways", "ways of the bank", Number(&[2, 4], |c| &mut c.bank.1)),
    key("tbes", "transactions of the bank under way", Number(FEW, |c| &mut c.tbes.0)),
    key("stalls", "requests stalled at blocked lines", Number(FEW, |c| &mut c.tbes.1)),
    key(
        "n_fail",
        "Nacks of a read before its words are asked for by an update",
        Number(&[1, 2, 3, 4, 5, 6, 7], |c| &mut c.n_fail),
    ),
    key("reqs_policy", "how the bank answers ReqS", Reqs),
    key("rvko_gran", "what is revoked for a ReqWT+data", Rvko),
    key("flex_rsp", "available words of the line are added to RspV", Extras),
];

/// The value of a word.
fn worded<T: Copy>(words: &[(T, &'static str)], word: &str) -> Option<T> {
    words.iter().find(|known| known.1 == word).map(|known| known.0)
}

impl Key {
    /// Legal values.
    pub fn legal(&self) -> String {
        match &self.place {
            Number(legal, _) => legal.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
            Reqs => ReqsPolicy::LEGAL.into(),
            Rvko => RvkoGran::LEGAL.into(),
            Extras => "0, 1".into(),
        }
    }

    /// Its value.
    pub fn value(&self, config: &Config) -> String {
        match &self.place {
            Number(_, at) => at(&mut config.clone()).to_string(),
            Reqs => config.reqs.word().into(),
            Rvko => config.rvko.word().into(),
            Extras => u32::from(config.flex).to_string(),
        }
    }

    /// Sets it; none if the value is not legal.
    pub fn set(&self, config: &mut Config, value: &str) -> Option<()> {
        match &self.place {
            Number(legal, at) => {
                let number: u32 = value.parse().ok()?;
                *at(config) = *legal.iter().find(|known| **known == number)?;
            }
            Reqs => config.reqs = worded(ReqsPolicy::WORDS, value)?,
            Rvko => config.rvko = worded(RvkoGran::WORDS, value)?,
            Extras => config.flex = worded(&[(false, "0"), (true, "1")], value)?,
        }
        Some(())
    }
}
