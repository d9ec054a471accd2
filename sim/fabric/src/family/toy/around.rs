//! The memory of the toy family: a channel for each compute unit, every access performed when it arrives and answered after a time.

use crate::channel::{Receiver, Sender, SenderState};
use crate::family::{Channels, MemOp, Newer, Shape, Surroundings, Transfer};
use crate::memory::Memory;
use crate::port::PortError;
use crate::run::Counter;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use weft_blocks::msg::CuOp;
use weft_engine::Sim;
use weft_engine::runner::Problem;
use weft_rtl::prelude::HwEnum;

/// Bytes of a line, and its limbs.
const LINE: u64 = 64;
const LIMBS: usize = 8;

/// An answer on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    due: u64,
    id: u64,
    kind: u64,
    mask: u64,
    data: [u64; LIMBS],
}

/// What changes at a channel.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Lane {
    answers: VecDeque<Answer>,
    /// Accesses since the kernel began.
    accesses: u64,
    tell: SenderState,
}

#[derive(Clone)]
pub(super) struct Around {
    asks: Vec<Receiver<6>>,
    tells: Vec<Sender<6>>,
    lanes: Vec<Lane>,
    memory: Memory,
    delay: u64,
    transfers: Vec<Transfer>,
    accesses: u64,
}

impl Around {
    pub fn new(sim: &mut Sim, shape: &Shape, delay: u64, memory: Memory) -> Result<Around, PortError> {
        let mut around = Around {
            asks: Vec::new(),
            tells: Vec::new(),
            lanes: vec![Lane::default(); (shape.nodes * shape.cus) as usize],
            memory,
            delay,
            transfers: Vec::new(),
            accesses: 0,
        };
        for (node, cu) in (0..shape.nodes).flat_map(|node| (0..shape.cus).map(move |cu| (node, cu))) {
            let name = |port: &str| format!("g{node}_cu{cu}_{port}");
            let asked = ["op", "line", "mask", "data", "id", "want_ack"];
            around.asks.push(Receiver::new(sim, &name("ask"), asked)?);
            let told = ["id", "kind", "mask", "data", "src", "merged"];
            around.tells.push(Sender::new(sim, &name("tell"), told)?);
        }
        Ok(around)
    }

    /// Performs the access on offer at a channel.
    fn take(&mut self, sim: &mut Sim, channel: usize) {
        let ask = &self.asks[channel];
        if !ask.offered(sim) {
            return;
        }
        let word = |field| ask.field(sim, field)[0];
        let (line, mask, id, acked) = (word(1), word(2), word(4), word(5) == 1);
        let op = [CuOp::Ld, CuOp::St, CuOp::Kend].into_iter().find(|op| op.encoding() == word(0));
        let mut data = [0; LIMBS];
        self.memory.read_limbs(line * LINE, &mut data);
        let (mut kind, answered) = (1, op != Some(CuOp::St) || acked);
        let lane = &mut self.lanes[channel];
        match op {
            Some(CuOp::Ld) => kind = 0,
            Some(CuOp::St) => {
                let bytes: Vec<u8> = ask.field(sim, 3).iter().flat_map(|limb| limb.to_le_bytes()).collect();
                for byte in (0..LINE).filter(|byte| mask >> byte & 1 == 1) {
                    self.memory.write(line * LINE + byte, &bytes[byte as usize..][..1]);
                }
            }
            Some(CuOp::Kend) => data[0] = std::mem::take(&mut lane.accesses),
            _ => {}
        }
        if let Some(CuOp::Ld | CuOp::St) = op {
            (self.accesses, lane.accesses) = (self.accesses + 1, lane.accesses + 1);
            let op = if kind == 0 { MemOp::Read } else { MemOp::Write };
            self.transfers.push(Transfer::Request { channel: 0, op, answered: false, line, id });
        }
        if answered {
            lane.answers.push_back(Answer { due: sim.cycle() + self.delay, id, kind, mask, data });
        }
    }

    /// Offers the oldest answer of a channel; returns when the channel must act next.
    fn tell(&mut self, sim: &mut Sim, channel: usize) -> Option<u64> {
        let (now, tell) = (sim.cycle(), &mut self.tells[channel]);
        let answers = &mut self.lanes[channel].answers;
        match answers.front().filter(|answer| answer.due <= now) {
            Some(Answer { id, kind, mask, data, .. }) => {
                if tell.offer(sim, [&[*id], &[*kind], &[*mask], data, &[3], &[0]]) {
                    answers.pop_front();
                }
            }
            None => tell.rest(sim),
        }
        let next = answers.front().map(|answer| answer.due.max(now + 1));
        if tell.driving() { Some(now + 1) } else { next }
    }
}

impl Surroundings for Around {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        self.transfers.clear();
        (0..self.lanes.len()).for_each(|channel| self.take(sim, channel));
        Ok((0..self.lanes.len()).filter_map(|channel| self.tell(sim, channel)).min())
    }

    fn is_idle(&self) -> bool {
        self.lanes.iter().all(|lane| lane.answers.is_empty())
    }

    fn channels(&self) -> Channels {
        Channels { names: vec!["the memory".into()], ids: 1 }
    }

    fn channel_of(&self, _: u64) -> usize {
        0
    }

    fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    fn read(&self, addr: u64, bytes: &mut [u8]) {
        self.memory.read(addr, bytes);
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) {
        self.memory.write(addr, bytes);
    }

    fn newer<'a>(&self, _: &'a Sim) -> Vec<Newer<'a>> {
        Vec::new()
    }

    fn counters(&self) -> BTreeMap<String, Counter> {
        let counter = Counter { value: self.accesses, about: "accesses performed".into() };
        BTreeMap::from([("memory.accesses".into(), counter)])
    }

    fn save(&self) -> Vec<u8> {
        let mut lanes = self.lanes.clone();
        lanes.iter_mut().zip(&self.tells).for_each(|(lane, tell)| lane.tell = tell.state());
        postcard::to_stdvec(&(lanes, &self.memory, self.accesses)).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok((lanes, memory, accesses)) = postcard::from_bytes::<(Vec<Lane>, Memory, u64)>(bytes) else {
            return false;
        };
        if lanes.len() != self.lanes.len() {
            return false;
        }
        lanes.iter().zip(&mut self.tells).for_each(|(lane, tell)| tell.resume(lane.tell));
        (self.lanes, self.memory, self.accesses) = (lanes, memory, accesses);
        true
    }

    fn boxed(&self) -> Box<dyn Surroundings> {
        Box::new(self.clone())
    }
}
