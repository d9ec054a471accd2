//! Untimed model of a GPU's fence unit (rec.md section 7) and of its message counts.
//!
//! Before an InvFence leaves, for its own fence or another GPU's, every bank confirms that the invalidations of the writes under way in it are ahead: it is
//! given a token and gives it back ([`super::order`]). One marker is confirmed at a time. Other GPUs' markers leave in the order of their
//! requests; where the own one comes between them is left open.

use super::fence_table::{FENCE, FenceEvent, FenceRow, FenceState};
use std::collections::VecDeque;

/// Acknowledgements that one fence waits for: N*(N-1), one per (source, receiver) pair, own receipts included.
pub fn acks_per_fence(gpus: u32) -> u32 {
    gpus * (gpus - 1)
}

/// Width of the acknowledgement counter: ceil(log2(N*(N-1)+1)).
pub fn ack_counter_bits(gpus: u32) -> u32 {
    u32::BITS - acks_per_fence(gpus).leading_zeros()
}

/// Messages that one fence puts on the inter-GPU network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceTraffic {
    /// FenceReq: to each other home.
    pub fence_req: u32,
    /// InvFence: every GPU to every other on every link.
    pub inv_fence: u32,
    /// FenceAck: one per (source, receiver) pair whose receiver is not the requester.
    pub fence_ack: u32,
    /// Receipts at the requester itself, counted without a message.
    pub own_receipts: u32,
}

/// The messages of one fence with `links` links per port.
pub fn traffic(gpus: u32, links: u32) -> FenceTraffic {
    let others = gpus - 1;
    FenceTraffic {
        fence_req: others,
        inv_fence: gpus * others * links,
        fence_ack: others * others,
        own_receipts: others,
    }
}

/// A message or order that a fence unit gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceOut {
    /// Ask the L2 banks to write back all D lines.
    StartFlush,
    /// FenceReq to another GPU.
    FenceReq {
        /// Destination.
        to: u32,
    },
    /// The token of a marker to a bank.
    Order {
        /// The bank.
        bank: u32,
        /// The GPU whose fence it is.
        requester: u32,
    },
    /// Push InvFence(`requester`) into every INV FIFO on every link.
    Broadcast {
        /// The GPU whose fence it is.
        requester: u32,
    },
    /// The fence is complete; so many releases were waiting for it.
    Complete {
        /// Releases served.
        releases: u32,
    },
}

/// Something that cannot happen to a fence unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FenceError {
    /// No table row.
    #[error("fence of GPU {gpu}: {event:?} in {state:?} must not happen")]
    NoRow {
        /// GPU of the unit.
        gpu: u32,
        /// State.
        state: FenceState,
        /// Event.
        event: FenceEvent,
    },
    /// A marker that is not to be confirmed now, a token that the bank does not hold, or SEND left before the own marker.
    #[error("fence of GPU {gpu}: {what}")]
    Marker {
        /// GPU of the unit.
        gpu: u32,
        /// What is wrong.
        what: String,
    },
    /// An acknowledgement or completion for nothing outstanding.
    #[error("fence of GPU {gpu}: {what} of epoch {epoch} completes, but none is outstanding")]
    Underflow {
        /// GPU of the unit.
        gpu: u32,
        /// `remote write` or `local store`.
        what: &'static str,
        /// Epoch, 0 or 1.
        epoch: usize,
    },
}

/// A marker that is being confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Confirming {
    requester: u32,
    /// Banks that have not given the token back.
    banks: u64,
}

/// The fence unit of one GPU. Drive it with what happens; after each call [`FenceUnit::take`] gives its messages.
#[derive(Clone, Debug)]
pub struct FenceUnit {
    gpu: u32,
    gpus: u32,
    banks: u32,
    flush: bool,
    state: FenceState,
    epoch: usize,
    wr_out: [u64; 2],
    local_out: [u64; 2],
    serving: u32,
    batched: u32,
    acks: u32,
    /// The own marker has not left.
    own_marker: bool,
    /// Other GPUs' requests whose markers are not being confirmed yet.
    requests: VecDeque<u32>,
    confirming: Option<Confirming>,
    rows: Vec<&'static FenceRow>,
    out: Vec<FenceOut>,
}

impl FenceUnit {
    /// An idle unit, epoch 0. `banks`: L2 banks of the GPU, 1..=64; `flush` is the switch `release_l2_flush`.
    pub fn new(gpu: u32, gpus: u32, banks: u32, flush: bool) -> Self {
        FenceUnit {
            gpu,
            gpus,
            banks,
            flush,
            state: FenceState::Idle,
            epoch: 0,
            wr_out: [0; 2],
            local_out: [0; 2],
            serving: 0,
            batched: 0,
            acks: 0,
            own_marker: false,
            requests: VecDeque::new(),
            confirming: None,
            rows: Vec::new(),
            out: Vec::new(),
        }
    }

    /// State.
    pub fn state(&self) -> FenceState {
        self.state
    }

    /// The epoch that new writes carry, 0 or 1.
    pub fn epoch(&self) -> usize {
        self.epoch
    }

    /// Acknowledgements counted in the fence in flight.
    pub fn acks(&self) -> u32 {
        self.acks
    }

    /// Releases waiting for the next fence.
    pub fn batched(&self) -> u32 {
        self.batched
    }

    /// Remote writes and atomics in flight, by epoch.
    pub fn wr_out(&self) -> [u64; 2] {
        self.wr_out
    }

    /// Rows taken and messages given since the last call.
    pub fn take(&mut self) -> (Vec<&'static FenceRow>, Vec<FenceOut>) {
        (std::mem::take(&mut self.rows), std::mem::take(&mut self.out))
    }

    /// A WrReq or AtomReq leaves; returns the epoch it carries.
    pub fn write_sent(&mut self) -> usize {
        self.wr_out[self.epoch] += 1;
        self.epoch
    }

    /// Its WrAck or AtomRsp arrives.
    pub fn write_acked(&mut self, epoch: usize) -> Result<(), FenceError> {
        let error = FenceError::Underflow { gpu: self.gpu, what: "a remote write", epoch };
        self.wr_out[epoch] = self.wr_out[epoch].checked_sub(1).ok_or(error)?;
        self.try_drained()
    }

    /// A local store enters its L2 bank; returns the epoch it belongs to.
    pub fn local_store(&mut self) -> usize {
        self.local_out[self.epoch] += 1;
        self.epoch
    }

    /// Its data step and its directory operation are both done.
    pub fn local_store_done(&mut self, epoch: usize) -> Result<(), FenceError> {
        let error = FenceError::Underflow { gpu: self.gpu, what: "a local store", epoch };
        self.local_out[epoch] = self.local_out[epoch].checked_sub(1).ok_or(error)?;
        self.try_drained()
    }

    /// The GPU asks for a release: starts a fence, or is batched into the next one.
    pub fn release(&mut self) -> Result<(), FenceError> {
        let idle = self.state == FenceState::Idle;
        self.batched += 1;
        self.go(FenceEvent::Release)?;
        if idle { self.begin() } else { Ok(()) }
    }

    /// The L2 banks have written back their D lines.
    pub fn flush_done(&mut self) -> Result<(), FenceError> {
        self.go(FenceEvent::Flushed)?;
        let others = (0..self.gpus).filter(|g| *g != self.gpu);
        self.out.extend(others.map(|to| FenceOut::FenceReq { to }));
        self.own_marker = true;
        Ok(())
    }

    /// GPUs whose marker may be confirmed next: none while one is being confirmed.
    pub fn next_markers(&self) -> Vec<u32> {
        let own = self.own_marker.then_some(self.gpu);
        let free = self.confirming.is_none();
        own.into_iter().chain(self.requests.front().copied()).filter(|_| free).collect()
    }

    /// The unit chooses one of [`FenceUnit::next_markers`]: its token goes to every bank.
    pub fn confirm(&mut self, requester: u32) -> Result<(), FenceError> {
        if !self.next_markers().contains(&requester) {
            return Err(self.marker(format!("the marker of GPU {requester} is not to be confirmed now")));
        }
        if requester != self.gpu {
            self.requests.pop_front();
        }
        let banks = u64::MAX >> (u64::BITS - self.banks);
        self.confirming = Some(Confirming { requester, banks });
        self.out.extend((0..self.banks).map(|bank| FenceOut::Order { bank, requester }));
        Ok(())
    }

    /// A bank gives a token back; with the last one the marker leaves.
    pub fn ordered(&mut self, bank: u32, requester: u32) -> Result<(), FenceError> {
        let held = self.confirming.filter(|c| c.requester == requester && c.banks >> bank & 1 == 1);
        let Some(mut confirming) = held else {
            return Err(self.marker(format!("bank {bank} has no token of GPU {requester}")));
        };
        confirming.banks &= !(1 << bank);
        self.confirming = Some(confirming);
        if confirming.banks == 0 {
            self.confirming = None;
            self.own_marker &= requester != self.gpu;
            self.out.push(FenceOut::Broadcast { requester });
        }
        Ok(())
    }

    fn marker(&self, what: String) -> FenceError {
        FenceError::Marker { gpu: self.gpu, what }
    }

    /// All FenceReqs and the own broadcast have left.
    pub fn sent(&mut self) -> Result<(), FenceError> {
        if self.own_marker {
            return Err(self.marker("it leaves SEND before its own marker has left".into()));
        }
        self.go(FenceEvent::Sent)
    }

    /// Another GPU's FenceReq; handled in every state, its marker behind those of earlier requests.
    pub fn fence_req(&mut self, requester: u32) -> Result<(), FenceError> {
        self.go(FenceEvent::FenceReq)?;
        self.requests.push_back(requester);
        Ok(())
    }

    /// A FenceAck, or the own receipt of a source's InvFences. The last one completes the fence, and a batch of
    /// releases that arrived meanwhile starts the next.
    pub fn ack(&mut self) -> Result<(), FenceError> {
        if self.acks + 1 < acks_per_fence(self.gpus) {
            self.go(FenceEvent::Ack)?;
            self.acks += 1;
            return Ok(());
        }
        self.go(FenceEvent::LastAck)?;
        self.acks = 0;
        self.out.push(FenceOut::Complete { releases: std::mem::take(&mut self.serving) });
        if self.batched == 0 {
            return Ok(());
        }
        self.go(FenceEvent::Release)?;
        self.begin()
    }

    fn begin(&mut self) -> Result<(), FenceError> {
        self.serving = std::mem::take(&mut self.batched);
        self.epoch ^= 1;
        self.try_drained()
    }

    fn try_drained(&mut self) -> Result<(), FenceError> {
        let old = self.epoch ^ 1;
        if self.state != FenceState::Drain || self.wr_out[old] + self.local_out[old] != 0 {
            return Ok(());
        }
        self.go(FenceEvent::Drained)?;
        if self.flush {
            self.out.push(FenceOut::StartFlush);
            return Ok(());
        }
        self.flush_done()
    }

    fn go(&mut self, event: FenceEvent) -> Result<(), FenceError> {
        let row = FENCE.iter().find(|r| r.state == self.state && r.event == event);
        let row = row.ok_or(FenceError::NoRow { gpu: self.gpu, state: self.state, event })?;
        self.state = row.next;
        self.rows.push(row);
        Ok(())
    }
}
