//! 128 bits of a state: two states with the same are taken for one.
//!
//! Versions count only as "of the last store" or "older", messages of a network without order as a set, and
//! what is kept for races not at all.

use super::bank::{Bank, BankLine};
use super::fabric::Params;
use super::msg::{Answer, Asks, Msg, Net, Node, SliceOp, Version};
use super::slice::{Phase, Slice};
use super::system::System;

fn option(answer: Option<Answer>) -> u8 {
    answer.map_or(0, |answer| 1 + answer as u8)
}

/// New names of the nodes.
type Names = [Node; 4];

fn op(op: SliceOp, names: &Names) -> u8 {
    let asks = if op.asks == Asks::GetS && op.alone { 5 } else { op.asks as u8 };
    asks | names[usize::from(op.src)] << 3 | op.line << 5
}

/// All ways to rename nodes that are homes of no line.
pub fn renamings(p: &Params) -> Vec<Names> {
    let mut all = vec![[0, 1, 2, 3]];
    for first in 1..p.nodes {
        for second in first + 1..p.nodes {
            let homes = &p.homes_of[..usize::from(p.lines)];
            if homes.contains(&first) || homes.contains(&second) {
                continue;
            }
            for mut names in all.clone() {
                names.swap(usize::from(first), usize::from(second));
                if !all.contains(&names) {
                    all.push(names);
                }
            }
        }
    }
    all
}

impl System {
    /// The key: the smallest of all renamings of the nodes, where they have the same program.
    pub fn key(&self, renamings: &[Names], bytes: &mut Vec<u8>) -> u128 {
        let fixed = self.programs.iter().any(|program| !program.fixed.is_empty());
        let some = if fixed { &renamings[..1] } else { renamings };
        some.iter().map(|names| self.named_key(names, bytes)).min().unwrap_or(0)
    }

    fn named_key(&self, names: &Names, bytes: &mut Vec<u8>) -> u128 {
        bytes.clear();
        let nodes = usize::from(self.p.nodes);
        let mut who = [0; 4];
        (0..nodes).for_each(|node| who[usize::from(names[node])] = node);
        for node in &who[..nodes] {
            self.bank_key(&self.banks[*node], names, bytes);
        }
        for slice in &self.slices {
            self.slice_key(slice, names, bytes);
        }
        for (memory, latest) in self.fabric.memory.iter().zip(&self.fabric.latest) {
            bytes.push(u8::from(memory == latest));
        }
        for program in who[..nodes].iter().map(|node| &self.programs[*node]) {
            bytes.extend([program.left, program.at as u8, u8::from(program.releasing)]);
            bytes.extend(program.seen.iter().map(|version| *version as u8));
            if self.p.record {
                bytes.extend(self.fabric.latest.iter().map(|version| *version as u8));
            }
        }
        self.net_key(names, bytes);
        hash(bytes)
    }

    fn fresh(&self, line: usize, version: Version) -> bool {
        self.fabric.latest[line] == version
    }

    fn line_key(&self, number: usize, line: &BankLine, bytes: &mut Vec<u8>) {
        let fresh = u8::from(self.fresh(number, line.copy.data));
        let mshr = line
            .mshr
            .map_or(0, |mshr| 1 + mshr.asks as u8 + u8::from(mshr.owes) * 8 + option(mshr.answer) * 16);
        let buffer = line.buffer.map_or(0, |buffer| {
            let fresh = u8::from(self.fresh(number, buffer.data));
            1 + u8::from(buffer.live) + 2 * u8::from(buffer.dirty) + 4 * fresh
        });
        bytes.extend([line.copy.state as u8 | fresh << 3 | u8::from(line.late) << 4, mshr, buffer]);
        bytes.push(line.waiting.len() as u8);
        bytes.extend(line.waiting.iter().map(|op| op.kind as u8));
    }

    fn bank_key(&self, bank: &Bank, names: &Names, bytes: &mut Vec<u8>) {
        for (number, line) in bank.lines.iter().enumerate() {
            self.line_key(number, line, bytes);
        }
        let mut homes: Vec<[u8; 2]> = bank
            .homes
            .iter()
            .map(|place| {
                let line = usize::from(place.op.line);
                let data = place.data.map_or(0, |data| 1 + u8::from(self.fresh(line, data)));
                [op(place.op, names), data | u8::from(place.asked) << 2 | option(place.answer) << 3]
            })
            .collect();
        homes.sort_unstable();
        bytes.push(homes.len() as u8);
        homes.iter().for_each(|place| bytes.extend(place));
    }

    fn slice_key(&self, slice: &Slice, names: &Names, bytes: &mut Vec<u8>) {
        for entry in &slice.entries {
            match entry {
                None => bytes.push(255),
                Some(entry) => {
                    let owner = entry.owner.map_or(0, |owner| 1 + names[usize::from(owner)]);
                    let shares = |node: &u8| entry.sharers & 1 << node != 0;
                    let sharers = (0..4).filter(shares).map(|node| 1 << names[usize::from(node)]).sum::<u8>();
                    bytes.extend([owner, sharers]);
                }
            }
        }
        for row in &slice.rows {
            let Some(row) = row else {
                bytes.push(255);
                continue;
            };
            let phase = match row.phase {
                Phase::Acks => 0,
                Phase::Done => 1,
                Phase::Written => 2,
                Phase::Replaced => 3,
                Phase::Recalled => 4,
            };
            let phase = phase + 8 * row.recall.map_or(0, |owner| 1 + names[usize::from(owner)]);
            bytes.extend([phase, row.acks, row.op.map_or(254, |at| op(at, names)), row.row_number()]);
        }
        bytes.push(slice.queue.len() as u8);
        bytes.extend(slice.queue.iter().map(|waiting| op(waiting.op, names)));
    }

    fn net_key(&self, names: &Names, bytes: &mut Vec<u8>) {
        let mut net: Vec<[u8; 5]> = self
            .fabric
            .net
            .iter()
            .map(|packet| {
                let mut code = packet.msg.code(|version| self.fresh(usize::from(packet.line), version));
                if let Msg::FwdS(node) | Msg::FwdM(node) = packet.msg {
                    code[1] = names[usize::from(node)];
                }
                let (from, to) = (names[usize::from(packet.from)], names[usize::from(packet.to)]);
                let ends = packet.msg.net() as u8 | from << 2 | to << 5;
                [ends, packet.line, code[0], code[1], 0]
            })
            .collect();
        if self.p.ordered {
            // Requests come in one order of all nodes: their senders do not count here.
            let place = |ends: u8| if ends & 3 == Net::Req as u8 { ends & !(7 << 2) } else { ends };
            net.sort_by_key(|packet| place(packet[0]));
        } else {
            net.sort_unstable();
        }
        net.iter().for_each(|packet| bytes.extend(&packet[..4]));
    }
}

/// Two multiplicative hashes side by side.
fn hash(bytes: &[u8]) -> u128 {
    let (mut low, mut high) = (0x243f_6a88_85a3_08d3_u64, 0x1319_8a2e_0370_7344_u64);
    let mut word = |word: u64| {
        let a = u128::from(low ^ word) * 0x9e37_79b9_7f4a_7c15_u128;
        let b = u128::from(high.rotate_left(29) ^ word) * 0xd6e8_feb8_6659_fd93_u128;
        low = (a as u64) ^ (a >> 64) as u64 ^ 0xa076_1d64_78bd_642f;
        high = (b as u64) ^ (b >> 64) as u64 ^ 0xe703_7ed1_a0b4_28db;
    };
    word(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        word(u64::from_le_bytes(eight));
    }
    u128::from(low) | u128::from(high) << 64
}
