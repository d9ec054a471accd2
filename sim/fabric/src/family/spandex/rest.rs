//! What LLC and L1s say of each other while the fabric rests (spandex.md section 13): a word is owned in the LLC exactly if the device named there, and no other, has it in O; whoever has a line in S is a
//! sharer of it, with the data of the LLC.

use super::SpandexSystem;
use super::banks::{Banks, Holding, Line};
use crate::check::CheckError;
use crate::cu::CuObserver;
use crate::family::{FamilyCheck, Surroundings};
use std::collections::BTreeMap;
use weft_engine::Sim;

/// The check. It looks at boundaries and at the end, when everything rests.
#[derive(Clone)]
pub(super) struct AtRest {
    /// Once they are found.
    banks: Option<Banks>,
    system: SpandexSystem,
    looks: u64,
    owned: u64,
    shared: u64,
}

impl AtRest {
    /// Of a system.
    pub fn new(system: &SpandexSystem) -> AtRest {
        AtRest { banks: None, system: system.clone(), looks: 0, owned: 0, shared: 0 }
    }

    fn look(&mut self, sim: &Sim) -> Result<(), CheckError> {
        if self.banks.is_none() {
            self.banks = Banks::find(sim, &self.system);
        }
        let Some(banks) = &self.banks else {
            return Err(violation("the L1s and banks are not found".into()));
        };
        self.looks += 1;
        let (owned, shared) = agree(&banks.lines(sim), &banks.held(sim)).map_err(violation)?;
        (self.owned, self.shared) = (self.owned + owned, self.shared + shared);
        Ok(())
    }
}

fn violation(text: String) -> CheckError {
    CheckError::Family { check: "owners and sharers at rest", text, late: false }
}

/// Compares what the LLC says, by line, with what devices have, by device and line. Words owned and lines shared, or what does not agree.
fn agree(lines: &BTreeMap<u64, Line>, held: &BTreeMap<(u32, u64), Holding>) -> Result<(u64, u64), String> {
    let (mut owned, mut shared) = (0, 0);
    for (number, line) in lines {
        for (device, words) in &line.owners {
            let has = held.get(&(*device, *number)).map_or(0, |holding| holding.owned);
            if has & words != *words {
                let wrong = words & !has;
                return Err(format!(
                    "the LLC calls device {device} owner of words {wrong:#x} of line {number:#x}, which it does not own"
                ));
            }
            owned += u64::from(words.count_ones());
        }
    }
    for ((device, number), holding) in held {
        let line = lines.get(number);
        let known = line.and_then(|line| line.owners.get(device)).copied().unwrap_or(0);
        if holding.owned & !known != 0 {
            let wrong = holding.owned & !known;
            return Err(format!(
                "device {device} owns words {wrong:#x} of line {number:#x}, of which the LLC does not know it"
            ));
        }
        let Some(copy) = &holding.shared else { continue };
        let listed = |line: &&Line| line.shared && line.sharers.is_none_or(|all| all >> device & 1 == 1);
        let Some(line) = line.filter(listed) else {
            return Err(format!("device {device} has line {number:#x} in S and is no sharer of it"));
        };
        if !line.owners.is_empty() || line.data != *copy {
            return Err(format!("device {device} has an old copy of line {number:#x} in S"));
        }
        shared += 1;
    }
    Ok((owned, shared))
}

impl CuObserver for AtRest {}

impl FamilyCheck for AtRest {
    fn cycle(&mut self, _: &Sim) -> Result<(), CheckError> {
        Ok(())
    }

    fn boundary(&mut self, sim: &Sim, _: &dyn Surroundings) -> Result<(), CheckError> {
        if sim.asleep() { self.look(sim) } else { Ok(()) }
    }

    fn end(&mut self, sim: &Sim, _: &dyn Surroundings) -> Result<(), CheckError> {
        self.look(sim)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("looks_at_rest", self.looks), ("owned_at_rest", self.owned), ("shared_at_rest", self.shared)]
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&(self.looks, self.owned, self.shared)).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok((looks, owned, shared)) = postcard::from_bytes(bytes) else { return false };
        (self.looks, self.owned, self.shared) = (looks, owned, shared);
        true
    }

    fn boxed(&self) -> Box<dyn FamilyCheck> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(owners: &[(u32, u64)], sharers: Option<u128>) -> Line {
        Line {
            owners: owners.iter().copied().collect(),
            sharers,
            shared: sharers != Some(0),
            data: vec![7; 8],
        }
    }

    fn holds(owned: u64, shared: Option<u64>) -> Holding {
        Holding { owned, shared: shared.map(|data| vec![data; 8]) }
    }

    fn said(lines: &[(u64, Line)], held: &[((u32, u64), Holding)]) -> Result<(u64, u64), String> {
        agree(&lines.iter().cloned().collect(), &held.iter().cloned().collect())
    }

    #[test]
    fn what_agrees_is_counted() {
        let lines = [(4, line(&[(1, 0xff)], Some(0))), (5, line(&[], Some(0b101)))];
        let held = [((1, 4), holds(0xff, None)), ((0, 5), holds(0, Some(7)))];
        assert_eq!(said(&lines, &held), Ok((8, 1)), "a sharer may have dropped its copy");
    }

    #[test]
    fn each_rule_is_kept() {
        let owned = line(&[(1, 0xff)], Some(0));
        let cases: [(Line, Vec<((u32, u64), Holding)>, &str); 7] = [
            (owned.clone(), vec![], "owner of words 0xff"),
            (owned.clone(), vec![((1, 4), holds(0xf, None))], "owner of words 0xf0"),
            (
                owned.clone(),
                vec![((1, 4), holds(0xff, None)), ((2, 4), holds(1, None))],
                "device 2 owns words 0x1",
            ),
            (line(&[], Some(0b10)), vec![((0, 4), holds(0, Some(7)))], "no sharer"),
            (line(&[], Some(0)), vec![((1, 4), holds(0, Some(7)))], "no sharer"),
            (line(&[], Some(0b10)), vec![((1, 4), holds(0, Some(8)))], "old copy"),
            (line(&[(2, 1)], None), vec![((1, 4), holds(0, Some(7))), ((2, 4), holds(1, None))], "old copy"),
        ];
        for (line, held, words) in cases {
            let error = said(&[(4, line)], &held).expect_err(words);
            assert!(error.contains(words), "{error}: {words}");
        }
    }
}
