//! What the toy family promises: answers of a unit are numbered, a wave's operations come in order, kernels begin with the sum of what ended the last one.

use crate::check::CheckError;
use crate::cu::{CuObserver, Issuer, LineAccess, LineReply, Who};
use crate::family::{FamilyCheck, Surroundings, Unit};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use weft_blocks::msg::CuOp;
use weft_engine::Sim;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Time of the last answer.
    times: BTreeMap<Unit, u64>,
    /// Numbers of the KENDs that are not answered.
    ends: BTreeMap<Unit, u16>,
    /// Units that have sent the KEND of the last end.
    ended: BTreeSet<Unit>,
    /// Sum of the last answers to KENDs.
    sum: u64,
    timed: u64,
    handed: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    s: State,
    /// Last operation of each wave.
    operations: HashMap<Who, u32>,
    fault: Option<String>,
}

impl Times {
    fn expect(&mut self, good: bool, text: impl FnOnce() -> String) {
        if !good {
            self.fault.get_or_insert_with(text);
        }
    }
}

impl CuObserver for Times {}

impl FamilyCheck for Times {
    fn request(&mut self, _: u64, node: u32, cu: u32, access: &LineAccess, issuer: Option<&Issuer>) {
        if let Some(Issuer { who, operation }) = issuer {
            let last = self.operations.insert(*who, *operation).unwrap_or(0);
            self.expect(last <= *operation, || format!("operation {operation} of {who:?} after {last}"));
            self.expect((who.gpu, who.cu) == (node, cu), || format!("{who:?} at node {node} cu {cu}"));
        }
        match access.op {
            CuOp::St => self.expect(access.want_ack, || "a store wants no answer".into()),
            CuOp::Kend => {
                if !self.s.ended.insert((node, cu)) {
                    (self.s.sum, self.s.ended) = (0, BTreeSet::from([(node, cu)]));
                }
                self.s.ends.insert((node, cu), access.id);
            }
            CuOp::Kbegin => {
                self.operations.retain(|who, _| (who.gpu, who.cu) != (node, cu));
                let (got, sum) = (access.data[0], self.s.sum);
                self.expect(got == sum, || format!("a kernel begins with {got} and not {sum}"));
                self.s.handed += u64::from(sum > 0);
            }
            _ => {}
        }
    }

    fn answer(&mut self, _: u64, node: u32, cu: u32, reply: &LineReply, time: Option<u64>) {
        let last = self.s.times.entry((node, cu)).or_insert(0);
        *last += 1;
        let expected = Some(*last);
        self.expect(time == expected, || format!("an answer's time is {time:?} and not {expected:?}"));
        self.s.timed += 1;
        if self.s.ends.get(&(node, cu)) == Some(&reply.id) {
            self.s.ends.remove(&(node, cu));
            self.s.sum += reply.data[0];
        }
    }

    fn judge(&mut self) -> Result<(), CheckError> {
        let fault = self.fault.take();
        fault.map_or(Ok(()), |text| Err(CheckError::Family { check: "toy", text, late: false }))
    }

    fn boundary(&mut self, _: &Sim, _: &dyn Surroundings) -> Result<(), CheckError> {
        self.judge()
    }

    fn end(&mut self, _: &Sim, _: &dyn Surroundings) -> Result<(), CheckError> {
        self.judge()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("timed", self.s.timed), ("handed", self.s.handed)]
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.s).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let loaded = postcard::from_bytes(bytes);
        self.s = loaded.clone().unwrap_or_default();
        loaded.is_ok()
    }

    fn boxed(&self) -> Box<dyn FamilyCheck> {
        Box::new(self.clone())
    }
}
