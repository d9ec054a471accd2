//! Every Nack is followed by progress (spandex.md sections 5 and 13): words of a read or a write-through that an owner refuses are asked for again, soon; a read by ReqV fewer than `n_fail` times more, beside
//! the first time after a refused direct request, and then in a way that cannot be refused: at the LLC (ReqWT+data READ, ReqWT that is not forwarded) or with ownership.

use super::SpandexSystem;
use super::taps::{Fields, Taps};
use crate::check::CheckError;
use crate::cu::CuObserver;
use crate::family::{FamilyCheck, Surroundings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use weft_engine::Sim;
use weft_rtl::prelude::HwEnum;
use weft_spandex::msg::{ReqOp, RspOp};
use weft_spandex::net::NETS;

/// Cycles in which refused words must be asked for again: retries go before an L1's own requests and need a place on the network only.
const SOON: u64 = 20_000;

/// Between two looks for words that nobody asks for, in cycles.
const LOOK: u64 = 1024;

/// A device's transaction of which words were refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Refused {
    /// Words refused and not yet asked for again.
    open: u64,
    /// Of them, those that were asked for through the LLC.
    counted: u64,
    /// Cycle of the last refusal.
    since: u64,
    /// Times that counted words were asked for by ReqV again.
    again: u32,
    /// Words asked for in a way that cannot be refused.
    sure: u64,
}

/// Transactions by device and number.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    refused: BTreeMap<(u64, u64), Refused>,
    nacks: u64,
    retries: u64,
}

impl Books {
    fn request(&mut self, m: &Fields, n_fail: u32) -> Result<(), String> {
        let [op, mask, device, tag, fwd, ..] = *m;
        let Some(known) = self.refused.get_mut(&(device, tag)) else { return Ok(()) };
        if known.open == 0 {
            self.refused.remove(&(device, tag));
            return Ok(());
        }
        let asked = mask & known.open;
        if asked == 0 {
            return Ok(());
        }
        self.retries += 1;
        let reads = op == ReqOp::ReqV.encoding();
        if reads && asked & known.counted != 0 {
            known.again += 1;
            if known.again >= n_fail {
                return Err(format!(
                    "device {device} asks for words {asked:#x} of transaction {tag} by ReqV again after {} Nacks, of which it may take n_fail = {n_fail}",
                    known.again
                ));
            }
        }
        let forwarded = op == ReqOp::ReqWt.encoding() && fwd == 1;
        if !reads && !forwarded {
            known.sure |= asked;
        }
        (known.open, known.counted) = (known.open & !asked, known.counted & !asked);
        Ok(())
    }

    fn response(&mut self, m: &Fields, now: u64) -> Result<(), String> {
        let [op, mask, device, tag, direct, ..] = *m;
        if ![RspOp::NackV, RspOp::NackWt].iter().any(|nack| nack.encoding() == op) {
            return Ok(());
        }
        self.nacks += 1;
        let known = self.refused.entry((device, tag)).or_default();
        if direct == 1 {
            // Only the first request of a transaction goes to a guessed owner: what is known of these words is of an earlier one of the same number.
            known.sure &= !mask;
        }
        if known.sure & mask != 0 {
            return Err(format!(
                "words {:#x} of transaction {tag} of device {device} are refused although they were asked for at the LLC",
                known.sure & mask
            ));
        }
        known.open |= mask;
        known.counted |= if direct == 0 { mask } else { 0 };
        known.since = now;
        Ok(())
    }

    /// Words refused before a cycle that nobody has asked for since.
    fn forgotten(&self, before: u64) -> Result<(), String> {
        let late = self.refused.iter().find(|(_, known)| known.open != 0 && known.since < before);
        let Some(((device, tag), known)) = late else { return Ok(()) };
        Err(format!(
            "words {:#x} of transaction {tag} of device {device} were refused in cycle {} and are not asked for again",
            known.open, known.since
        ))
    }
}

/// The check.
#[derive(Clone)]
pub(super) struct Progress {
    system: SpandexSystem,
    n_fail: u32,
    /// Once they are found.
    taps: Option<Taps>,
    books: Books,
}

impl Progress {
    /// Of a system.
    pub fn new(system: &SpandexSystem) -> Progress {
        // All units have the same.
        let n_fail = system.tu_gpu.n_fail;
        Progress { system: system.clone(), n_fail, taps: None, books: Books::default() }
    }
}

fn violation(text: String) -> CheckError {
    CheckError::Family { check: "progress after Nacks", text, late: false }
}

impl CuObserver for Progress {}

impl FamilyCheck for Progress {
    fn looks(&self) -> u64 {
        0
    }

    fn look(&mut self, sim: &Sim) -> Result<(), CheckError> {
        if self.taps.is_none() {
            let lanes: [(&str, &[&str]); 2] = [
                (NETS[0], &["op", "mask", "src", "tag", "fwd"]),
                (NETS[3], &["op", "mask", "dst", "tag", "direct"]),
            ];
            self.taps = Taps::find(sim, &self.system, &lanes);
        }
        let Some(taps) = &self.taps else { return Err(violation("the routers are not found".into())) };
        let (books, n_fail, now) = (&mut self.books, self.n_fail, sim.cycle());
        let mut result = Ok(());
        taps.each(sim, |_, lane, fields| {
            let told = if lane == 0 { books.request(fields, n_fail) } else { books.response(fields, now) };
            result = std::mem::replace(&mut result, Ok(())).and(told);
        });
        result.map_err(violation)?;
        let overdue = now.checked_sub(SOON).filter(|_| now.is_multiple_of(LOOK));
        overdue.map_or(Ok(()), |before| books.forgotten(before)).map_err(violation)
    }

    fn boundary(&mut self, sim: &Sim, _: &dyn Surroundings) -> Result<(), CheckError> {
        let rests = if sim.asleep() { self.books.forgotten(u64::MAX) } else { Ok(()) };
        rests.map_err(violation)
    }

    fn end(&mut self, _: &Sim, _: &dyn Surroundings) -> Result<(), CheckError> {
        self.books.forgotten(u64::MAX).map_err(violation)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("nacks_seen", self.books.nacks), ("asked_again", self.books.retries)]
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.books).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok(books) = postcard::from_bytes(bytes) else { return false };
        self.books = books;
        true
    }

    fn boxed(&self) -> Box<dyn FamilyCheck> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(books: &mut Books, op: ReqOp, mask: u64, n_fail: u32) -> Result<(), String> {
        books.request(&[op.encoding(), mask, 3, 7, 0, 0, 0, 0], n_fail)
    }

    fn nack(books: &mut Books, mask: u64, direct: u64) -> Result<(), String> {
        books.response(&[RspOp::NackV.encoding(), mask, 3, 7, direct, 0, 0, 0], 100)
    }

    #[test]
    fn a_read_is_tried_n_fail_times() {
        for n_fail in 1..4 {
            let mut books = Books::default();
            for _ in 1..n_fail {
                nack(&mut books, 6, 0).expect("may be refused");
                ask(&mut books, ReqOp::ReqV, 6, n_fail).expect("may ask again");
            }
            nack(&mut books, 6, 0).expect("may be refused");
            let error = ask(&mut books.clone(), ReqOp::ReqV, 6, n_fail).expect_err("too often");
            assert!(error.contains("by ReqV again"), "{error}");
            ask(&mut books, ReqOp::ReqWtData, 6, n_fail).expect("escalates");
            assert!(nack(&mut books, 2, 0).expect_err("cannot fail").contains("at the LLC"));
        }
    }

    /// The first ReqV after a refused direct request is no second try; another transaction of the same number begins anew.
    #[test]
    fn direct_requests_and_earlier_transactions_do_not_count() {
        let mut books = Books::default();
        nack(&mut books, 1, 1).expect("a guess may be wrong");
        ask(&mut books, ReqOp::ReqV, 1, 1).expect("the first try at the LLC");
        nack(&mut books, 1, 0).expect("may be refused");
        ask(&mut books, ReqOp::ReqWtData, 1, 1).expect("escalates");
        ask(&mut books, ReqOp::ReqV, 1, 1).expect("another read");
        nack(&mut books, 1, 0).expect("of the other read");
        ask(&mut books, ReqOp::ReqWtData, 1, 1).expect("escalates");
        nack(&mut books, 1, 1).expect("a guess of a third read, which the network of requests does not see");
        assert!(nack(&mut books.clone(), 1, 0).is_ok(), "nothing sure is asked for");
        ask(&mut books, ReqOp::ReqWtData, 1, 1).expect("escalates");
        assert!(nack(&mut books, 1, 0).expect_err("cannot fail").contains("at the LLC"));
    }

    #[test]
    fn refused_words_are_not_forgotten() {
        let mut books = Books::default();
        nack(&mut books, 5, 0).expect("may be refused");
        ask(&mut books, ReqOp::ReqWtData, 1, 1).expect("escalates");
        assert_eq!(books.forgotten(100), Ok(()), "there is time");
        let error = books.forgotten(101).expect_err("word 2");
        assert!(error.contains("words 0x4 of transaction 7 of device 3"), "{error}");
    }
}
