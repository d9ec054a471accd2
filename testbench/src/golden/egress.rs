//! Models of `inv_egress` and `inv_ingress` (rec.md sections 4.1, 5 and 7).
//!
//! [`InvEgress`] is stepped: in one step each FIFO takes at most one message, from the slice that its round-robin
//! pointer chooses. How many FIFOs a slice serves per cycle is the hardware's choice, so a bench compares with
//! [`EgressCheck`], which asks only for what the specification promises: per (slice, destination, link) order, no loss,
//! no repetition.

use super::{GpuMask, Inv, gpus_of, only};
use std::collections::VecDeque;

/// Depth of one INV FIFO (section 4.1).
pub const FIFO_DEPTH: usize = 16;

/// A message of the INV network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InvMsg {
    /// An invalidation; `slice` is the directory slice it came from.
    Inv {
        /// Line, cause and group; `dest` holds the one GPU it is for.
        inv: Inv,
        /// Sending slice.
        slice: usize,
    },
    /// The fence marker of a GPU.
    Fence {
        /// GPU whose fence it is.
        requester: u32,
    },
}

/// `inv_egress` of one GPU: a message and its remaining destinations per slice, a FIFO per destination and link.
#[derive(Clone, Debug)]
pub struct InvEgress {
    home: u32,
    links: usize,
    slices: Vec<Option<(Inv, GpuMask)>>,
    fifos: Vec<VecDeque<InvMsg>>,
    turn: Vec<usize>,
    link_of: fn(u64, usize) -> usize,
}

impl InvEgress {
    /// An empty egress of GPU `home`. `link_of(line, links)` is the hash that chooses the link.
    pub fn new(gpus: u32, home: u32, slices: usize, links: usize, link_of: fn(u64, usize) -> usize) -> Self {
        let fifos = vec![VecDeque::new(); gpus as usize * links];
        let turn = vec![0; fifos.len()];
        InvEgress { home, links, slices: vec![None; slices], fifos, turn, link_of }
    }

    /// A slice offers a message; false while its previous one has destinations left.
    pub fn offer(&mut self, slice: usize, inv: Inv) -> bool {
        let free = self.slices[slice].is_none();
        if free {
            self.slices[slice] = Some((inv, inv.dest));
        }
        free
    }

    /// Destinations that a slice's message has not reached yet; 0 when it is accepted.
    pub fn remaining(&self, slice: usize) -> GpuMask {
        self.slices[slice].map_or(0, |(_, left)| left)
    }

    /// One step: every FIFO with room takes one message. Returns the slices whose message became fully accepted.
    pub fn step(&mut self) -> Vec<usize> {
        let count = self.slices.len();
        for at in 0..self.fifos.len() {
            let (gpu, link) = ((at / self.links) as u32, at % self.links);
            if self.fifos[at].len() == FIFO_DEPTH {
                continue;
            }
            let wants = |s: &usize| {
                let held = self.slices[*s].as_ref();
                held.is_some_and(|(i, left)| {
                    left & only(gpu) != 0 && (self.link_of)(i.line, self.links) == link
                })
            };
            let order = (0..count).map(|i| (self.turn[at] + i) % count);
            let Some(slice) = order.into_iter().find(wants) else { continue };
            if let Some((inv, left)) = &mut self.slices[slice] {
                *left &= !only(gpu);
                let inv = Inv { dest: only(gpu), ..*inv };
                self.fifos[at].push_back(InvMsg::Inv { inv, slice });
                self.turn[at] = (slice + 1) % count;
            }
        }
        let done: Vec<usize> = (0..count).filter(|s| matches!(self.slices[*s], Some((_, 0)))).collect();
        done.iter().for_each(|s| self.slices[*s] = None);
        done
    }

    /// Pushes InvFence into the FIFO of a destination and link; false if it is full (the push is tried again).
    pub fn push_fence(&mut self, requester: u32, gpu: u32, link: usize) -> bool {
        let at = gpu as usize * self.links + link;
        let ok = gpu != self.home && self.fifos[at].len() < FIFO_DEPTH;
        if ok {
            self.fifos[at].push_back(InvMsg::Fence { requester });
        }
        ok
    }

    /// The link towards a GPU takes the head of its FIFO.
    pub fn pop(&mut self, gpu: u32, link: usize) -> Option<InvMsg> {
        self.fifos[gpu as usize * self.links + link].pop_front()
    }
}

/// Order and conservation checker for the hardware's `inv_egress`.
#[derive(Clone, Debug, Default)]
pub struct EgressCheck {
    due: Vec<(usize, u32, Inv)>,
}

impl EgressCheck {
    /// An empty checker.
    pub fn new() -> Self {
        Self::default()
    }

    /// The egress took a slice's message.
    pub fn offered(&mut self, slice: usize, inv: Inv) {
        self.due.extend(gpus_of(inv.dest).map(|g| (slice, g, Inv { dest: only(g), ..inv })));
    }

    /// An Inv left towards `gpu` on `link`. The error says what is wrong: sent twice or never offered, or ahead of an
    /// older message of the same slice for the same destination and link.
    pub fn left(
        &mut self,
        gpu: u32,
        link: usize,
        inv: Inv,
        link_of: impl Fn(u64) -> usize,
    ) -> Result<(), String> {
        if link_of(inv.line) != link {
            return Err(format!(
                "Inv of line {:#x} left on link {link}, not {}",
                inv.line,
                link_of(inv.line)
            ));
        }
        let same = |d: &(usize, u32, Inv)| {
            d.1 == gpu && (d.2.line, d.2.cause, d.2.grp) == (inv.line, inv.cause, inv.grp)
        };
        let at = self.due.iter().position(same);
        let at = at.ok_or_else(|| format!("Inv of line {:#x} to GPU {gpu} was not due", inv.line))?;
        let slice = self.due[at].0;
        let earlier = &self.due[..at];
        if let Some(d) = earlier.iter().find(|d| d.0 == slice && d.1 == gpu && link_of(d.2.line) == link) {
            let (new, old) = (inv.line, d.2.line);
            return Err(format!("Inv of line {new:#x} overtook line {old:#x} of slice {slice} to GPU {gpu}"));
        }
        self.due.remove(at);
        Ok(())
    }

    /// Unicasts still to be seen.
    pub fn outstanding(&self) -> usize {
        self.due.len()
    }
}

/// What `inv_ingress` does with the head of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// To the L2 bank; report [`InvIngress::applied`] when its lookups are done.
    Inv(Inv),
    /// InvFence absorbed; copies from other links of this source are missing.
    Absorbed,
    /// InvFence absorbed, all links are in: FenceAck to this GPU (or its own receipt).
    Ack {
        /// GPU whose fence it is.
        requester: u32,
        /// GPU whose copies are complete.
        source: u32,
    },
}

/// `inv_ingress` of one GPU: an input per source and link, and the requester x source array of section 5.
#[derive(Clone, Debug)]
pub struct InvIngress {
    links: usize,
    inputs: Vec<VecDeque<InvMsg>>,
    unapplied: Vec<u32>,
    seen: Vec<Vec<u32>>,
}

impl InvIngress {
    /// Empty inputs for `gpus` sources with `links` links (at most 32) each.
    pub fn new(gpus: u32, links: usize) -> Self {
        let inputs = vec![VecDeque::new(); gpus as usize * links];
        let unapplied = vec![0; inputs.len()];
        InvIngress { links, inputs, unapplied, seen: vec![vec![0; gpus as usize]; gpus as usize] }
    }

    /// A message arrives on an input.
    pub fn push(&mut self, source: u32, link: usize, message: InvMsg) {
        self.inputs[source as usize * self.links + link].push_back(message);
    }

    /// True while the head of an input is an InvFence that earlier Invs of that input hold back.
    pub fn held(&self, source: u32, link: usize) -> bool {
        let at = source as usize * self.links + link;
        matches!(self.inputs[at].front(), Some(InvMsg::Fence { .. })) && self.unapplied[at] > 0
    }

    /// Takes the head of an input; `None` if it is empty or held.
    pub fn take(&mut self, source: u32, link: usize) -> Option<Delivery> {
        if self.held(source, link) {
            return None;
        }
        let at = source as usize * self.links + link;
        match self.inputs[at].pop_front()? {
            InvMsg::Inv { inv, .. } => {
                self.unapplied[at] += 1;
                Some(Delivery::Inv(inv))
            }
            InvMsg::Fence { requester } => {
                let links = &mut self.seen[requester as usize][source as usize];
                *links |= 1 << link;
                let all = u64::from(*links) == (1u64 << self.links) - 1;
                if all {
                    *links = 0;
                }
                Some(if all { Delivery::Ack { requester, source } } else { Delivery::Absorbed })
            }
        }
    }

    /// An Inv that came from this input has been applied to the L2; false if none was outstanding.
    pub fn applied(&mut self, source: u32, link: usize) -> bool {
        let left = &mut self.unapplied[source as usize * self.links + link];
        let ok = *left > 0;
        *left = left.saturating_sub(1);
        ok
    }
}
