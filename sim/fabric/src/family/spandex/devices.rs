//! Devices of other protocols in the place of L1s: an open list of kinds, and where a fabric has them.
//!
//! The LLC does not know what its devices are ([`weft_spandex::fabric`]), and the run loop knows their ports to the CU only. What a
//! device must not do is own words: the checks and the host find newer words in L1s of the protocols here alone, and a device of
//! another one that the LLC calls an owner fails the check of owners at rest.

use crate::config::{Field, Legal, Value};
use std::sync::Arc;
use weft_blocks::registry::BlockError;
use weft_lists::Further;
use weft_rtl::ir::Module;
use weft_spandex::params::Spandex;

/// A kind of device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceKind {
    /// Its name in key `devices` of a fabric.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// Builds it for a system, by [`weft_spandex::fabric::device`].
    pub build: fn(&Spandex) -> Result<Arc<Module>, BlockError>,
}

/// The kinds; none comes with this crate.
static KINDS: Further<DeviceKind> = Further::new();

/// Installs kinds of devices; before any fabric is asked for, and once.
///
/// # Panics
/// When kinds have been asked for or installed already.
pub fn install(kinds: Vec<DeviceKind>) {
    KINDS.install(kinds);
}

/// All kinds.
pub fn kinds() -> &'static [DeviceKind] {
    KINDS.all()
}

/// Devices of one kind with numbers in a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group {
    kind: String,
    first: u32,
    last: u32,
}

/// Which devices are of which kind, in the order in which they were given: the value of key `devices`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Devices(Vec<Group>);

impl Devices {
    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number and name of the kind of each.
    pub fn all(&self) -> impl Iterator<Item = (u32, &str)> {
        self.0.iter().flat_map(|group| (group.first..=group.last).map(|at| (at, group.kind.as_str())))
    }

    /// This device is one of them.
    pub fn has(&self, device: u32) -> bool {
        self.0.iter().any(|group| (group.first..=group.last).contains(&device))
    }
}

impl Field for Devices {
    fn parse(text: &str, _: &Legal) -> Result<Devices, String> {
        let group = |word: &str| {
            let (kind, places) = word.split_once('@')?;
            let (first, last) = places.split_once("..").unwrap_or((places, places));
            let group = Group { kind: kind.into(), first: first.parse().ok()?, last: last.parse().ok()? };
            (!kind.is_empty() && group.first <= group.last).then_some(group)
        };
        let form = |word| format!("{word} is no KIND@DEVICE or KIND@FIRST..LAST");
        text.split_whitespace()
            .map(|word| group(word).ok_or_else(|| form(word)))
            .collect::<Result<_, _>>()
            .map(Devices)
    }

    fn value(&self) -> Value {
        let word = |group: &Group| match group.first == group.last {
            true => format!("{}@{}", group.kind, group.first),
            false => format!("{}@{}..{}", group.kind, group.first, group.last),
        };
        self.0.iter().map(word).collect::<Vec<_>>().join(" ").into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Devices, String> {
        Devices::parse(text, &Legal::Form(""))
    }

    #[test]
    fn devices_are_read_and_written() {
        let devices = parsed("  mine@0 other@3..5 ").expect("legal");
        let all = [(0, "mine"), (3, "other"), (4, "other"), (5, "other")];
        assert_eq!(devices.all().collect::<Vec<_>>(), all);
        assert_eq!(devices.value(), Value::from("mine@0 other@3..5"));
        assert_eq!((devices.has(4), devices.has(2)), (true, false));
        assert_eq!(parsed(""), Ok(Devices::default()));
        for wrong in ["mine", "@1", "mine@", "mine@x", "mine@5..3", "mine@1,2"] {
            assert_eq!(parsed(wrong), Err(format!("{wrong} is no KIND@DEVICE or KIND@FIRST..LAST")));
        }
    }
}
