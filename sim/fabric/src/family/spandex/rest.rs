//! What LLC and L1s say of each other while the fabric rests (spandex.md section 13): a word is owned in the LLC exactly if the device named there, and no other, has it in O; whoever has words in S is a
//! sharer of their line, and they are owned by nobody and are those of the LLC. In a hierarchical system the same of the L3 and its clients, lines in E or M being owned in all their words, and of the GPU L2 and the
//! L1s of CUs.

use super::SpandexSystem;
use super::banks::{Banks, Holdings, Line};
use super::hier::HierBanks;
use crate::check::CheckError;
use crate::cu::CuObserver;
use crate::family::{FamilyCheck, Surroundings};
use std::collections::BTreeMap;
use weft_engine::Sim;

/// The check. It looks at boundaries and at the end, when everything rests.
#[derive(Clone)]
pub(super) struct AtRest {
    /// Once they are found.
    caches: Option<Caches>,
    system: SpandexSystem,
    looks: u64,
    owned: u64,
    shared: u64,
}

/// Where the caches of a system keep what they say.
#[derive(Clone)]
enum Caches {
    Flat(Banks),
    Hierarchy(HierBanks),
}

/// Who says and who has, in sentences.
type Names = (&'static str, &'static str);

impl Caches {
    fn find(sim: &Sim, system: &SpandexSystem) -> Option<Caches> {
        match &system.hierarchy {
            None => Banks::find(sim, system).map(Caches::Flat),
            Some(h) => HierBanks::find(sim, system, h).map(Caches::Hierarchy),
        }
    }

    /// What is said, and what is so.
    fn pairs(&self, sim: &Sim) -> Vec<(Names, (BTreeMap<u64, Line>, Holdings))> {
        match self {
            Caches::Flat(banks) => vec![(("the LLC", "device"), (banks.lines(sim), banks.held(sim)))],
            Caches::Hierarchy(banks) => {
                vec![(("the L3", "client"), banks.of_l3(sim)), (("the GPU L2", "device"), banks.of_l2(sim))]
            }
        }
    }
}

impl AtRest {
    /// Of a system.
    pub fn new(system: &SpandexSystem) -> AtRest {
        AtRest { caches: None, system: system.clone(), looks: 0, owned: 0, shared: 0 }
    }

    fn look_around(&mut self, sim: &Sim) -> Result<(), CheckError> {
        if self.caches.is_none() {
            self.caches = Caches::find(sim, &self.system);
        }
        let Some(caches) = &self.caches else {
            return Err(violation("the L1s and banks are not found".into()));
        };
        self.looks += 1;
        for (names, (lines, held)) in caches.pairs(sim) {
            let (owned, shared) = agree(names, &lines, &held).map_err(violation)?;
            (self.owned, self.shared) = (self.owned + owned, self.shared + shared);
        }
        Ok(())
    }
}

fn violation(text: String) -> CheckError {
    CheckError::Family { check: "owners and sharers at rest", text, late: false }
}

/// Compares what a directory says, by line, with what devices have, by device and line. Words owned and lines shared by devices, or what does not agree.
fn agree(
    (directory, who): Names,
    lines: &BTreeMap<u64, Line>,
    held: &Holdings,
) -> Result<(u64, u64), String> {
    let (mut owned, mut shared) = (0, 0);
    for (number, line) in lines {
        for (device, words) in &line.owners {
            let has = held.get(&(*device, *number)).map_or(0, |holding| holding.owned);
            if has & words != *words {
                let wrong = words & !has;
                return Err(format!(
                    "{directory} calls {who} {device} owner of words {wrong:#x} of line {number:#x}, which it does not own"
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
                "{who} {device} owns words {wrong:#x} of line {number:#x}, of which {directory} does not know it"
            ));
        }
        if holding.shared == 0 {
            continue;
        }
        let listed = |line: &&Line| line.shared && line.sharers.is_none_or(|all| all >> device & 1 == 1);
        let Some(line) = line.filter(listed) else {
            return Err(format!("{who} {device} has line {number:#x} in S and is no sharer of it"));
        };
        let owned = line.owners.values().fold(0, |all, words| all | words);
        let word = |data: &[u64], w: u32| data.get(w as usize / 2).map(|limb| (limb >> (w % 2 * 32)) as u32);
        let differs = |w: &u32| word(&line.data, *w) != word(&holding.data, *w);
        let words = (0..u64::BITS).filter(|w| holding.shared >> w & 1 == 1);
        let old: u64 = words.filter(|w| owned >> w & 1 == 1 || differs(w)).map(|w| 1 << w).sum();
        if old != 0 {
            return Err(format!("{who} {device} has old copies of words {old:#x} of line {number:#x} in S"));
        }
        shared += 1;
    }
    Ok((owned, shared))
}

impl CuObserver for AtRest {}

impl FamilyCheck for AtRest {
    fn boundary(&mut self, sim: &Sim, _: &dyn Surroundings) -> Result<(), CheckError> {
        if sim.asleep() { self.look_around(sim) } else { Ok(()) }
    }

    fn end(&mut self, sim: &Sim, _: &dyn Surroundings) -> Result<(), CheckError> {
        self.look_around(sim)
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
    use super::super::banks::Holding;
    use super::*;

    /// Every word of a line.
    const ALL: u64 = 0xffff;

    fn line(owners: &[(u32, u64)], sharers: Option<u128>) -> Line {
        Line {
            owners: owners.iter().copied().collect(),
            sharers,
            shared: sharers != Some(0),
            data: vec![7; 8],
        }
    }

    /// Words in O, words in S, and each limb.
    fn holds(owned: u64, shared: u64, limb: u64) -> Holding {
        Holding { owned, shared, data: vec![limb; 8] }
    }

    fn said(lines: &[(u64, Line)], held: &[((u32, u64), Holding)]) -> Result<(u64, u64), String> {
        agree(("the LLC", "device"), &lines.iter().cloned().collect(), &held.iter().cloned().collect())
    }

    #[test]
    fn what_agrees_is_counted() {
        let lines = [
            (4, line(&[(1, 0xff)], Some(0))),
            (5, line(&[], Some(0b101))),
            (6, line(&[(1, 0xf)], Some(0b11))),
        ];
        let held = [
            ((1, 4), holds(0xff, 0, 0)),
            ((0, 5), holds(0, ALL, 7)),
            ((0, 6), holds(0, 0xf0, 7)),
            // The second word of each pair, which is not shared, differs.
            ((1, 6), holds(0xf, 0x50, 7 | 1 << 32)),
        ];
        assert_eq!(said(&lines, &held), Ok((12, 3)), "a sharer may have dropped its copy, or words of it");
    }

    #[test]
    fn each_rule_is_kept() {
        let owned = line(&[(1, 0xff)], Some(0));
        let cases: [(Line, Vec<((u32, u64), Holding)>, &str); 9] = [
            (owned.clone(), vec![], "owner of words 0xff"),
            (owned.clone(), vec![((1, 4), holds(0xf, 0, 0))], "owner of words 0xf0"),
            (
                owned.clone(),
                vec![((1, 4), holds(0xff, 0, 0)), ((2, 4), holds(1, 0, 0))],
                "device 2 owns words 0x1",
            ),
            (line(&[], Some(0b10)), vec![((0, 4), holds(0, ALL, 7))], "no sharer"),
            (line(&[], Some(0)), vec![((1, 4), holds(0, 0x10, 7))], "no sharer"),
            (line(&[], Some(0b10)), vec![((1, 4), holds(0, ALL, 8))], "old copies of words 0x5555 "),
            (line(&[], Some(0b10)), vec![((1, 4), holds(0, 0x30, 7 | 1 << 32))], "old copies of words 0x20 "),
            (
                line(&[(2, 1)], None),
                vec![((1, 4), holds(0, ALL, 7)), ((2, 4), holds(1, 0, 0))],
                "old copies of words 0x1 ",
            ),
            (
                line(&[(2, 2)], Some(2)),
                vec![((1, 4), holds(0, 3, 7)), ((2, 4), holds(2, 0, 0))],
                "words 0x2 ",
            ),
        ];
        for (line, held, words) in cases {
            let error = said(&[(4, line)], &held).expect_err(words);
            assert!(error.contains(words), "{error}: {words}");
        }
    }
}
