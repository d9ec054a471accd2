//! Accesses of compute units to memory of the host: each crosses the link of its GPU, and those of different GPUs to one page go one after the other.

use super::{Counter, bytes, counter};
use crate::cu::{KIND_ACK, KIND_DATA, LineAccess, LineReply};
use crate::family::{HostSide, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use weft_blocks::msg::CuOp;
use weft_workload::PAGE_BYTES;

/// Cycles from the arrival of an access at the host until its answer leaves.
const SERVICE: u64 = 100;
/// The server of an answer that no cache and no memory of a GPU gave.
const SERVER: u8 = 7;

/// The link of a GPU: cycles in which each direction is free again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Lane {
    up: u64,
    down: u64,
}

/// Who accesses a page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Page {
    gpu: u32,
    /// Since when.
    since: u64,
    /// When the last answer is at its GPU.
    until: u64,
}

/// An answer on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    id: u16,
    kind: u8,
    mask: u128,
    data: [u64; 16],
}

/// Accesses under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Remote {
    lanes: Vec<Lane>,
    pages: BTreeMap<u64, Page>,
    /// By compute unit, cycle and number of the access.
    answers: BTreeMap<(Unit, u64, u64), Answer>,
    accesses: u64,
    waits: u64,
    bytes: [u64; 2],
}

impl Remote {
    /// Of so many GPUs.
    pub fn new(gpus: usize) -> Remote {
        let (lanes, answers) = (vec![Lane::default(); gpus], BTreeMap::new());
        Remote { lanes, pages: BTreeMap::new(), answers, accesses: 0, waits: 0, bytes: [0; 2] }
    }

    pub fn gpus(&self) -> usize {
        self.lanes.len()
    }

    /// An access of a compute unit of `gpu` to the program's address `addr` leaves in cycle `now`; `data` is what it reads.
    pub fn send(
        &mut self,
        host: &HostSide,
        line: u64,
        (unit, gpu): (Unit, u32),
        access: &LineAccess,
        data: [u64; 16],
        (addr, now): (u64, u64),
    ) {
        let (up, down) = bytes(access, line);
        let (rate, latency) = (u64::from(host.link.bytes), u64::from(host.link.latency));
        let lane = &mut self.lanes[gpu as usize];
        lane.up = lane.up.max(now) + up.div_ceil(rate);
        let arrived = lane.up + latency;
        let page = self.pages.entry(addr / PAGE_BYTES).or_insert(Page { gpu, since: 0, until: 0 });
        if page.gpu != gpu {
            self.waits += u64::from(page.until > arrived);
            (page.gpu, page.since) = (gpu, arrived.max(page.until));
        }
        let served = arrived.max(page.since) + SERVICE;
        lane.down = lane.down.max(served) + down.div_ceil(rate);
        let due = lane.down + latency;
        page.until = page.until.max(due);
        self.bytes = [self.bytes[0] + up, self.bytes[1] + down];
        self.accesses += 1;
        if access.op != CuOp::St || access.want_ack {
            let kind = if access.op == CuOp::St { KIND_ACK } else { KIND_DATA };
            let answer = Answer { id: access.id, kind, mask: access.mask, data };
            self.answers.insert((unit, due, self.accesses), answer);
        }
    }

    /// The answer for a compute unit in this cycle.
    pub fn answer(&mut self, unit: Unit, now: u64) -> Option<LineReply> {
        let key = *self.answers.range((unit, 0, 0)..=(unit, now, u64::MAX)).next()?.0;
        let Answer { id, kind, mask, data } = self.answers.remove(&key)?;
        Some(LineReply { id, kind, mask, data, src: SERVER, merged: false })
    }

    /// Answers that a compute unit waits for, and the cycle of the first.
    pub fn held(&self, unit: Unit) -> (usize, u64) {
        let mut own = self.answers.range((unit, 0, 0)..=(unit, u64::MAX, u64::MAX));
        let first = own.next().map_or(u64::MAX, |((_, due, _), _)| *due);
        (own.count() + usize::from(first < u64::MAX), first)
    }

    /// Something was accessed.
    pub fn is_used(&self) -> bool {
        self.accesses > 0
    }

    pub fn counters(&self) -> Vec<(String, Counter)> {
        vec![
            counter("host.accesses", self.accesses, "accesses of compute units to memory of the host"),
            counter("host.bytes_up", self.bytes[0], "bytes of these accesses from GPUs to the host"),
            counter("host.bytes_down", self.bytes[1], "bytes of their answers from the host to GPUs"),
            counter(
                "host.page_waits",
                self.waits,
                "accesses that wait because another GPU accesses the page",
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Link;

    const HOST: HostSide = HostSide { link: Link { bytes: 16, latency: 50 }, fault_cycles: 0, page: 4096 };

    fn send(remote: &mut Remote, gpu: u32, addr: u64, now: u64) -> u64 {
        let access = LineAccess { mask: 0xf, id: 9, ..LineAccess::bare(CuOp::Ld) };
        remote.send(&HOST, 64, ((gpu, 0), gpu), &access, [7; 16], (addr, now));
        remote.answers.keys().filter(|(unit, ..)| unit.0 == gpu).map(|key| key.1).max().expect("an answer")
    }

    #[test]
    fn an_access_crosses_the_link_twice_and_pages_have_one_gpu_at_a_time() {
        let mut remote = Remote::new(2);
        // One cycle for 12 bytes up, five for 80 down.
        let alone = 1 + 50 + SERVICE + 5 + 50;
        assert_eq!(send(&mut remote, 0, 0, 0), alone);
        assert_eq!(send(&mut remote, 0, 64, 0), alone + 5, "the link back is taken for five cycles");
        assert_eq!(send(&mut remote, 1, 8192, 0), alone, "another page, another link");
        assert_eq!(
            send(&mut remote, 1, 128, 0),
            alone + 5 + SERVICE + 5 + 50,
            "after the other GPU's answers"
        );
        assert_eq!(remote.held((0, 0)), (2, alone));
        assert!(remote.answer((0, 0), alone - 1).is_none());
        assert_eq!(remote.answer((0, 0), alone).map(|r| (r.id, r.kind, r.data[0])), Some((9, KIND_DATA, 7)));
        let counted =
            |name: &str| remote.counters().into_iter().find(|(n, _)| n == name).map(|(_, c)| c.value);
        assert_eq!([counted("host.accesses"), counted("host.page_waits")], [Some(4), Some(1)]);
        assert_eq!([counted("host.bytes_up"), counted("host.bytes_down")], [Some(48), Some(320)]);
    }
}
