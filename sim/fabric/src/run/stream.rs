//! Data that comes over a link for memory while no kernel runs: each line is stored when it has arrived.

use super::counter::Counter;
use super::seat::Seat;
use crate::cu::{IDS, LineAccess};
use crate::family::{Link, Shape};
use crate::placement::PageTable;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use weft_workload::Kernel;

/// What the host orders next.
pub(super) enum Order {
    /// A kernel.
    Launch(Kernel),
    /// Bytes are stored from a place of the program's memory on.
    Store {
        /// Name in the record.
        name: &'static str,
        /// First byte address.
        addr: u64,
        /// The bytes.
        bytes: Vec<u8>,
        /// The link over which so many of them come; none comes over a link if there is none.
        over: Option<(Link, u64)>,
    },
}

/// What copy engines have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Copied {
    /// Copies ordered.
    pub copies: u64,
    /// Bytes that went from the memory of one GPU to that of another.
    pub bytes: u64,
    /// Bytes that came over the links of the host.
    pub host_bytes: u64,
}

impl Copied {
    /// As counters; none of a program without copies.
    pub fn counters(&self) -> BTreeMap<String, Counter> {
        if *self == Copied::default() { BTreeMap::new() } else { self.all_counters() }
    }

    /// All of them.
    pub fn all_counters(&self) -> BTreeMap<String, Counter> {
        let counter =
            |name: &str, value, about: &str| (format!("copy.{name}"), Counter { value, about: about.into() });
        BTreeMap::from([
            counter("copies", self.copies, "copies that the host has ordered from memory to memory"),
            counter("bytes", self.bytes, "bytes copied from the memory of one GPU to that of another"),
            counter("host_bytes", self.host_bytes, "bytes that the host has sent over its links"),
        ])
    }
}

/// Bytes of a copy that cross from the memory of one GPU to that of another; with one memory for all, all of them go over its links.
pub(super) fn crossing(table: &PageTable, shape: &Shape, from: u64, to: u64, bytes: u64) -> u64 {
    if shape.homes == 1 {
        return bytes;
    }
    let gpu = |addr| table.find(addr).map(|at| table.home(at) / shape.gpms);
    let (mut done, mut crossed) = (0, 0);
    while done < bytes {
        let left = |addr: u64| table.page_bytes() - addr % table.page_bytes();
        let piece = left(from + done).min(left(to + done)).min(bytes - done);
        if gpu(from + done) != gpu(to + done) {
            crossed += piece;
        }
        done += piece;
    }
    crossed
}

/// Lines on their way, in order of arrival, each with its cycle and the number of the seat that stores it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Stream {
    lines: VecDeque<(u64, usize, LineAccess)>,
}

impl Stream {
    /// Sends stores, in order and by node, over a link that they have for themselves from cycle `now` on; `cus` seats of each node take turns. Without a link
    /// all are there at once.
    pub fn send(
        &mut self,
        stores: Vec<(usize, LineAccess)>,
        over: Option<(Link, u64)>,
        now: u64,
        cus: usize,
        seats: &mut [Seat],
    ) {
        let mut turn = vec![0; seats.len() / cus];
        let count = stores.len() as u64;
        for (number, (node, mut access)) in (1..).zip(stores) {
            let seat = node * cus + turn[node] % cus;
            access.id = (turn[node] / cus % IDS) as u16;
            turn[node] += 1;
            match over {
                Some((link, bytes)) => {
                    self.lines.push_back((now + link.cycles(bytes * number / count), seat, access))
                }
                None => give(&mut seats[seat], access, now),
            }
        }
    }

    /// Nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Gives the seats what has arrived.
    pub fn arrive(&mut self, now: u64, seats: &mut [Seat]) {
        while let Some((_, seat, access)) = self.lines.pop_front_if(|(due, _, _)| *due <= now) {
            give(&mut seats[seat], access, now);
        }
    }
}

fn give(seat: &mut Seat, access: LineAccess, now: u64) {
    seat.host.push_back(access);
    seat.next = now;
}
