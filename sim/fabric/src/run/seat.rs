//! A compute unit at its port of the fabric.

use super::observe::Observer;
use crate::channel::{Receiver, Sender, SenderState};
use crate::check::messages::CuRequest;
use crate::cu::{Cu, CuError, LineAccess, LineReply};
use crate::port::PortError;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use weft_engine::Sim;
use weft_rtl::prelude::HwEnum;

const REQ: [&str; 16] = [
    "op", "sync", "sem", "scope", "remote", "class", "region", "hint", "want_ack", "amo", "sgn", "line",
    "mask", "data", "cmp", "id",
];
const RSP: [&str; 6] = ["id", "kind", "mask", "data", "src", "merged"];

/// A compute unit, or for a while the host's copy engine, and the channels to its L1.
#[derive(Clone)]
pub(super) struct Seat {
    pub cu: Cu,
    gpu: u32,
    number: u32,
    req: Sender<16>,
    rsp: Receiver<6>,
    /// Limbs of a line.
    limbs: usize,
    /// Stores of the host waiting for the port, and those sent and not acknowledged.
    pub host: VecDeque<LineAccess>,
    pub host_open: u32,
    /// The next cycle in which something may happen here.
    pub next: u64,
}

/// What changes in a [`Seat`], as it is saved.
#[derive(Serialize, Deserialize)]
pub(super) struct SeatState {
    cu: Vec<u8>,
    req: SenderState,
    host: VecDeque<LineAccess>,
    host_open: u32,
    next: u64,
}

impl Seat {
    /// What has to be saved.
    pub fn state(&self) -> Result<SeatState, CuError> {
        let (cu, host) = (self.cu.save()?, self.host.clone());
        Ok(SeatState { cu, req: self.req.state(), host, host_open: self.host_open, next: self.next })
    }

    /// Goes on from what [`Seat::state`] gave.
    pub fn resume(&mut self, state: SeatState) -> Result<(), CuError> {
        self.cu.load(&state.cu)?;
        self.req.resume(state.req);
        (self.host, self.host_open, self.next) = (state.host, state.host_open, state.next);
        Ok(())
    }

    pub fn new(sim: &mut Sim, cu: Cu, gpu: u32, number: u32, line: u32) -> Result<Seat, PortError> {
        let name = format!("g{gpu}_cu{number}");
        let req = Sender::new(sim, &format!("{name}_req"), REQ)?;
        let rsp = Receiver::new(sim, &format!("{name}_rsp"), RSP)?;
        let limbs = line as usize / 8;
        Ok(Seat { cu, gpu, number, req, rsp, limbs, host: VecDeque::new(), host_open: 0, next: 0 })
    }

    /// One cycle: answers come in, the access offered goes to the L1, the compute unit ticks.
    pub fn tick(
        &mut self,
        sim: &mut Sim,
        translate: &dyn Fn(u64) -> u64,
        observer: &mut Observer,
    ) -> Result<(), String> {
        let now = sim.cycle();
        let reply = self.rsp.offered(sim).then(|| self.reply(sim));
        if let (Some(reply), Some(checks)) = (&reply, &mut observer.checks) {
            checks.cu_rsp(now, self.gpu, self.number, reply.id, reply.kind, reply.mask);
        }
        let host = !self.host.is_empty() || self.host_open > 0;
        if host {
            self.host_tick(sim, reply.is_some(), observer);
        } else {
            if let Some(access) = self.cu.offer(now) {
                if offer(&mut self.req, sim, access, self.limbs) {
                    tell(observer, now, self.gpu, self.number, access);
                    self.cu.accepted(now, observer);
                }
            } else {
                self.req.rest(sim);
            }
            if let Some(reply) = &reply {
                self.cu.reply(reply, now, observer);
            }
            self.cu.tick(now, translate, observer).map_err(|e| e.to_string())?;
        }
        let busy = host || self.req.driving() || self.cu.outstanding() > 0;
        self.next = if busy { now + 1 } else { self.cu.next_event(now + 1).unwrap_or(u64::MAX) };
        Ok(())
    }

    fn host_tick(&mut self, sim: &mut Sim, answered: bool, observer: &mut Observer) {
        match self.host.front() {
            Some(access) => {
                if offer(&mut self.req, sim, access, self.limbs) {
                    tell(observer, sim.cycle(), self.gpu, self.number, access);
                    self.host.pop_front();
                    self.host_open += 1;
                }
            }
            None => self.req.rest(sim),
        }
        if answered {
            self.host_open -= 1;
        }
    }

    fn reply(&self, sim: &Sim) -> LineReply {
        let word = |number| self.rsp.field(sim, number)[0];
        let mut data = [0; 16];
        data[..self.limbs].copy_from_slice(self.rsp.field(sim, 3));
        let mask = match self.rsp.field(sim, 2) {
            [low, high] => u128::from(*low) | u128::from(*high) << 64,
            limbs => u128::from(limbs[0]),
        };
        LineReply {
            id: word(0) as u16,
            kind: word(1) as u8,
            mask,
            data,
            src: word(4) as u8,
            merged: word(5) == 1,
        }
    }
}

/// Tells the checks that the L1 has taken an access.
fn tell(observer: &mut Observer, now: u64, gpu: u32, cu: u32, a: &LineAccess) {
    if let Some(checks) = &mut observer.checks {
        let request = CuRequest { op: a.op, id: a.id, line: a.line, mask: a.mask, want_ack: a.want_ack };
        checks.cu_req(now, gpu, cu, &request);
    }
}

fn offer(req: &mut Sender<16>, sim: &mut Sim, a: &LineAccess, limbs: usize) -> bool {
    let one = |v: bool| [u64::from(v)];
    let byte = |v: u8| [u64::from(v)];
    let mask = [a.mask as u64, (a.mask >> 64) as u64];
    req.offer(
        sim,
        [
            &[a.op.encoding()],
            &one(a.sync),
            &byte(a.sem),
            &byte(a.scope),
            &one(a.remote),
            &byte(a.class),
            &one(a.region),
            &byte(a.hint),
            &one(a.want_ack),
            &[a.amo.encoding()],
            &one(a.sgn),
            &[a.line],
            &mask[..limbs / 8],
            &a.data[..limbs],
            &[a.cmp],
            &[u64::from(a.id)],
        ],
    )
}
