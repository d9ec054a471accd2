//! A stash at its ports of the fabric: mappings and passes of its CU, its answers, and what the checks learn of them: accesses of a unit of its own, by global address.

use super::observe::Observe;
use crate::channel::{Receiver, Sender, SenderState};
use crate::cu::{BankWord, Cu, LineAccess, LineReply, Structural};
use crate::port::PortError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use weft_blocks::msg::CuOp;
use weft_engine::{OutPort, PinList, Pins, Sim};
use weft_rtl::prelude::HwEnum;

const MAP: [&str; 7] = ["index", "base", "global", "element", "stride", "count", "id"];
const REQ: [&str; 6] = ["op", "want_ack", "mask", "row", "data", "id"];
const RSP: [&str; 6] = ["id", "kind", "mask", "data", "src", "merged"];
/// Bytes of a line.
const LINE: u64 = 64;

/// What changes in a [`StashPort`], as it is saved.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StashState {
    map: SenderState,
    req: SenderState,
    open: BTreeMap<u16, Vec<Part>>,
    /// Numbers of parts in use, as bits.
    parts: Vec<u64>,
}

/// The words of a pass that lie in one line; none of a release or acquire.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Part {
    number: u16,
    /// Of each word its bank and its place in the line.
    words: Vec<(u8, u8)>,
}

/// The ports of a stash.
#[derive(Clone)]
pub(super) struct StashPort {
    map: Sender<7>,
    req: Sender<6>,
    rsp: Receiver<6>,
    stall: OutPort,
    gpu: u32,
    /// Its number among the devices.
    number: u32,
    /// Bits of a row's number.
    row_bits: u32,
    banks: u32,
    s: StashState,
}

impl StashPort {
    /// The stash that is device `number` of node `gpu`, of so many rows and banks.
    pub fn new(
        sim: &mut Sim,
        gpu: u32,
        number: u32,
        (rows, banks): (u32, u32),
    ) -> Result<StashPort, PortError> {
        let name = format!("g{gpu}_cu{number}");
        let stall = format!("{name}_stall");
        Ok(StashPort {
            map: Sender::new(sim, &format!("{name}_map"), MAP)?,
            req: Sender::new(sim, &format!("{name}_req"), REQ)?,
            rsp: Receiver::new(sim, &format!("{name}_rsp"), RSP)?,
            stall: crate::port::output(sim, &stall)?,
            gpu,
            number,
            row_bits: rows.trailing_zeros().max(1),
            banks,
            s: StashState::default(),
        })
    }

    /// Its ports.
    pub fn pins(&self) -> PinList {
        let stall = PinList { outputs: vec![self.stall], ..PinList::default() };
        self.map.pins().and(self.req.pins()).and(self.rsp.pins()).and(stall)
    }

    /// What has to be saved.
    pub fn state(&self) -> StashState {
        StashState { map: self.map.state(), req: self.req.state(), ..self.s.clone() }
    }

    /// Goes on from what [`StashPort::state`] gave.
    pub fn resume(&mut self, state: StashState) {
        self.map.resume(state.map);
        self.req.resume(state.req);
        self.s = state;
    }

    /// Valid is driven at one of its ports.
    pub fn driving(&self) -> bool {
        self.map.driving() || self.req.driving()
    }

    /// One cycle: what the CU presents goes in, an answer comes out.
    pub fn tick(&mut self, sim: &mut impl Pins, cu: &mut Cu, observer: &mut impl Observe) {
        let now = sim.cycle();
        match cu.offer_map() {
            Some(map) => {
                let one = |v: u64| [v];
                let count = u64::from(map.count);
                let (index, base, element) =
                    (u64::from(map.index), u64::from(map.base), u64::from(map.element));
                let fields = [
                    one(index),
                    one(base),
                    one(map.global),
                    one(element),
                    one(map.stride),
                    one(count),
                    one(u64::from(map.id)),
                ];
                if self.map.offer(sim, std::array::from_fn(|i| &fields[i][..])) {
                    cu.map_taken(now);
                }
            }
            None => self.map.rest(sim),
        }
        match cu.offer_stash() {
            Some((access, pass)) => {
                let taken = self.offer(sim, access, pass);
                if taken {
                    let (access, pass) = (access.clone(), pass.to_vec());
                    self.tell(now, &access, &pass, observer);
                    cu.stash_taken(now, observer);
                }
                let why = if taken { Structural::Bank } else { Structural::of_status(sim.get(self.stall)) };
                cu.stash_refused(now, why);
            }
            None => self.req.rest(sim),
        }
        if self.rsp.offered(sim) {
            let reply = self.reply(sim);
            self.hear(now, &reply, observer);
            cu.reply(&reply, now, observer);
        }
    }

    fn offer(&mut self, sim: &mut impl Pins, access: &LineAccess, pass: &[BankWord]) -> bool {
        let (mut mask, mut rows) = ([0u64], [0u64; 8]);
        for word in pass {
            mask[0] |= 1 << word.bank;
            let at = u32::from(word.bank) * self.row_bits;
            let row = u128::from(word.row) << (at % 64);
            rows[(at / 64) as usize] |= row as u64;
            rows[(at / 64) as usize + 1] |= (row >> 64) as u64;
        }
        let limbs = (self.banks * self.row_bits).div_ceil(64) as usize;
        let fields = [
            &[access.op.encoding()][..],
            &[u64::from(access.want_ack)],
            &mask,
            &rows[..limbs],
            &access.data[..self.banks as usize / 2],
            &[u64::from(access.id)],
        ];
        self.req.offer(sim, fields)
    }

    fn reply(&self, sim: &impl Pins) -> LineReply {
        let word = |number| self.rsp.field(sim, number)[0];
        let mut data = [0; 16];
        let words = self.rsp.field(sim, 3);
        data[..words.len()].copy_from_slice(words);
        let banks = word(2);
        let mask = (0..32).filter(|b| banks >> b & 1 == 1).map(|b| 0xf_u128 << (4 * b)).sum();
        LineReply {
            id: word(0) as u16,
            kind: word(1) as u8,
            mask,
            data,
            src: word(4) as u8,
            merged: word(5) == 1,
        }
    }

    /// A number of a part that is free.
    fn number(&mut self) -> u16 {
        let limb = self.s.parts.iter().position(|limb| *limb != u64::MAX).unwrap_or_else(|| {
            self.s.parts.push(0);
            self.s.parts.len() - 1
        });
        let bit = self.s.parts[limb].trailing_ones();
        self.s.parts[limb] |= 1 << bit;
        (64 * limb as u32 + bit) as u16
    }

    /// The checks learn what the stash has taken.
    fn tell(&mut self, now: u64, access: &LineAccess, pass: &[BankWord], observer: &mut impl Observe) {
        if !observer.checks() {
            return;
        }
        observer.other_transfer(now);
        if matches!(access.op, CuOp::Rel | CuOp::Acq) {
            let number = self.number();
            let told = LineAccess { id: number, ..access.clone() };
            observer.stash_request(now, (self.gpu, self.number), &told);
            self.s.open.insert(access.id, vec![Part { number, words: Vec::new() }]);
            return;
        }
        if !matches!(access.op, CuOp::Ld | CuOp::St) {
            return;
        }
        let mut lines: BTreeMap<u64, Vec<(u8, u8)>> = BTreeMap::new();
        for word in pass {
            let place = (word.global % LINE / 4) as u8;
            lines.entry(word.global / LINE).or_default().push((word.bank, place));
        }
        let mut parts = Vec::new();
        for (line, words) in lines {
            let number = self.number();
            let mut part = LineAccess { line, id: number, ..LineAccess::bare(access.op) };
            for (bank, place) in &words {
                part.mask |= 0xf << (4 * place);
                part.data[usize::from(place / 2)] |=
                    (access.data[usize::from(bank / 2)] >> (32 * (bank % 2)) & 0xffff_ffff)
                        << (32 * (place % 2));
            }
            observer.stash_request(now, (self.gpu, self.number), &part);
            parts.push(Part { number, words });
        }
        if access.op == CuOp::Ld {
            self.s.open.insert(access.id, parts);
        } else {
            parts.iter().for_each(|part| self.free(part.number));
        }
    }

    fn free(&mut self, number: u16) {
        self.s.parts[usize::from(number / 64)] &= !(1 << (number % 64));
    }

    /// The checks learn what the stash answers.
    fn hear(&mut self, now: u64, reply: &LineReply, observer: &mut impl Observe) {
        if !observer.checks() {
            return;
        }
        observer.other_transfer(now);
        let Some(mut parts) = self.s.open.remove(&reply.id) else { return };
        for part in &mut parts {
            let whole = part.words.is_empty();
            let mut told = LineReply { id: part.number, mask: 0, data: [0; 16], ..reply.clone() };
            part.words.retain(|(bank, place)| {
                let here = reply.mask >> (4 * bank) & 1 == 1;
                if here {
                    told.mask |= 0xf << (4 * place);
                    told.data[usize::from(place / 2)] |=
                        (reply.data[usize::from(bank / 2)] >> (32 * (bank % 2)) & 0xffff_ffff)
                            << (32 * (place % 2));
                }
                !here
            });
            if whole || told.mask != 0 {
                observer.stash_answer(now, (self.gpu, self.number), &told);
            }
        }
        let (done, open): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.words.is_empty());
        done.iter().for_each(|part| self.free(part.number));
        if !open.is_empty() {
            self.s.open.insert(reply.id, open);
        }
    }
}
