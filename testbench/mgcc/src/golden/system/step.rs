//! What may happen in a system, and what then happens.

use super::super::l1::{CuRsp, L1Action};
use super::super::l2::L2Action;
use super::super::msg::{UmcReq, UmcRsp, UpReq, UpRsp};
use super::super::umc::Granted;
use super::{Link, System, Target};
use std::rc::Rc;

/// One event in one block. Blocks by their numbers in the system.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A wave's next operation enters its L1.
    Issue(usize),
    /// An L1 replays the next request of a transaction.
    L1Replay(usize, u32),
    /// An L1 answers a fence.
    L1Fence(usize, u32),
    /// The oldest request of a queue {L1, bank number} enters its bank.
    Up(usize, usize),
    /// A bank replays the next request of a transaction.
    L2Replay(usize, u32),
    /// The oldest message of a bank's link enters its lane.
    Link(usize),
    /// An EvictNote at the head of a bank's link is lost.
    LoseNote(usize),
    /// A lane issues an entry.
    LaneIssue(usize, usize),
    /// A lane asks its TSU again.
    LaneRetry(usize, usize),
    /// A lane answers an entry.
    LaneRespond(usize, usize),
    /// One of the answers on their way to a bank arrives.
    Back(usize, usize),
    /// One of the answers on their way to an L1 arrives.
    Down(usize, usize),
    /// The roll controller starts a roll.
    StartRoll,
    /// A roll arrives.
    Roll(Target, u64),
}

impl Step {
    /// Kinds of steps, for schedulers that favour some.
    pub const KINDS: usize = 14;
    /// Kind of the step, below [`Step::KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Step::Issue(_) => 0,
            Step::L1Replay(..) => 1,
            Step::L1Fence(..) => 2,
            Step::Up(..) => 3,
            Step::L2Replay(..) => 4,
            Step::Link(_) => 5,
            Step::LoseNote(_) => 6,
            Step::LaneIssue(..) => 7,
            Step::LaneRetry(..) => 8,
            Step::LaneRespond(..) => 9,
            Step::Back(..) => 10,
            Step::Down(..) => 11,
            Step::StartRoll => 12,
            Step::Roll(..) => 13,
        }
    }
}

/// A message that a step sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Message {
    /// L1 (number in the system) to CU.
    Cu { l1: usize, rsp: CuRsp },
    /// L1 to bank.
    Up { l1: usize, req: UpReq },
    /// Bank to memory.
    Link { l2: usize, req: UmcReq },
    /// Bank to memory: a block was dropped.
    Note { l2: usize, line: u64, rts: u64 },
    /// Memory to bank.
    Back { l2: usize, rsp: UmcRsp },
    /// Bank to L1.
    Down { l1: usize, rsp: UpRsp },
    /// The controller's roll.
    Roll { epoch: u64 },
}

impl System {
    /// All steps that are possible now, in a fixed order.
    pub fn enabled(&self) -> Vec<Step> {
        let mut out = Vec::new();
        for (i, l1) in self.l1.iter().enumerate() {
            out.extend((0..self.down[i].len()).map(|which| Step::Down(i, which)));
            out.extend(l1.replays().into_iter().map(|txn| Step::L1Replay(i, txn)));
            out.extend(l1.fences().into_iter().map(|id| Step::L1Fence(i, id)));
        }
        for (i, l2) in self.l2.iter().enumerate() {
            out.extend((0..self.back[i].len()).map(|which| Step::Back(i, which)));
            out.extend(l2.replays().into_iter().map(|txn| Step::L2Replay(i, txn)));
        }
        for (i, lane) in self.lanes.iter().enumerate() {
            out.extend(lane.ready().into_iter().map(|slot| Step::LaneRespond(i, slot)));
            out.extend(lane.retries().into_iter().map(|slot| Step::LaneRetry(i, slot)));
            out.extend(lane.choices().into_iter().map(|slot| Step::LaneIssue(i, slot)));
        }
        out.extend(self.control.rolls.iter().map(|(target, epoch)| Step::Roll(*target, *epoch)));
        if self.control.rolls.is_empty() && self.control.asked.contains(&self.control.epoch) {
            out.push(Step::StartRoll);
        }
        for (i, link) in self.link.iter().enumerate() {
            match link.front() {
                Some(Link::Note { .. }) => out.extend([Step::Link(i), Step::LoseNote(i)]),
                Some(Link::Req(req)) if self.lanes[self.lane_of(req.line)].tracker().can_take() => {
                    out.push(Step::Link(i));
                }
                _ => {}
            }
        }
        self.enabled_requests(&mut out);
        out
    }
    fn enabled_requests(&self, out: &mut Vec<Step>) {
        let banks = self.p.layout.banks as usize;
        for (i, queue) in self.up.iter().enumerate() {
            let (l1, bank) = (i / banks, i % banks);
            let l2 = &self.l2[self.gpu_of_l1(l1) * banks + bank];
            if queue.front().is_some_and(|req| l2.can_take(req)) {
                out.push(Step::Up(l1, bank));
            }
        }
        for wave in 0..self.waves.len() {
            let l1 = &self.l1[self.l1_of(wave)];
            if self.next_request(wave).is_some_and(|req| l1.can_take(&req)) {
                out.push(Step::Issue(wave));
            }
        }
    }

    /// Makes a step; the messages that it sent.
    ///
    /// # Panics
    /// The step is not enabled.
    pub fn step(&mut self, step: Step) -> Vec<Message> {
        let before: Vec<_> = self.clocks().collect();
        let messages = match step {
            Step::Issue(wave) => self.issue(wave),
            Step::L1Replay(l1, txn) => {
                let actions = Rc::make_mut(&mut self.l1[l1]).replay(txn);
                self.l1_actions(l1, actions)
            }
            Step::L1Fence(l1, id) => {
                let action = Rc::make_mut(&mut self.l1[l1]).fence(id);
                self.l1_actions(l1, vec![action])
            }
            Step::Down(l1, which) => {
                let rsp = self.down[l1].remove(which);
                let actions = Rc::make_mut(&mut self.l1[l1]).rsp(&rsp);
                self.l1_actions(l1, actions)
            }
            Step::Up(l1, bank) => self.up_arrives(l1, bank),
            Step::L2Replay(l2, txn) => {
                let actions = Rc::make_mut(&mut self.l2[l2]).replay(txn);
                self.l2_actions(l2, actions)
            }
            Step::Back(l2, which) => {
                let rsp = self.back[l2].remove(which);
                let actions = Rc::make_mut(&mut self.l2[l2]).rsp(&rsp);
                self.l2_actions(l2, actions)
            }
            Step::Link(l2) => self.link_arrives(l2),
            Step::LoseNote(l2) => {
                self.link[l2].pop_front();
                Vec::new()
            }
            Step::LaneIssue(lane, slot) => {
                let granted = Rc::make_mut(&mut self.lanes[lane]).issue(slot);
                self.granted(granted)
            }
            Step::LaneRetry(lane, slot) => {
                let granted = Rc::make_mut(&mut self.lanes[lane]).retry(slot);
                self.granted(granted)
            }
            Step::LaneRespond(lane, slot) => self.lane_responds(lane, slot),
            Step::StartRoll => self.start_roll(),
            Step::Roll(target, epoch) => self.roll_arrives(target, epoch),
        };
        self.watch(&before);
        messages
    }

    fn issue(&mut self, number: usize) -> Vec<Message> {
        let Some(req) = self.next_request(number) else { panic!("wave {number} may not issue now") };
        let l1 = self.l1_of(number);
        let wave = &mut self.waves[number];
        wave.outstanding.insert(wave.issued as u32);
        wave.issued += 1;
        let Ok(actions) = Rc::make_mut(&mut self.l1[l1]).cu(req) else {
            panic!("L1 {l1} has no place for the request")
        };
        self.l1_actions(l1, actions)
    }
    fn up_arrives(&mut self, l1: usize, bank: usize) -> Vec<Message> {
        let banks = self.p.layout.banks as usize;
        let l2 = self.gpu_of_l1(l1) * banks + bank;
        let Some(req) = self.up[l1 * banks + bank].pop_front() else {
            panic!("L1 {l1} has sent nothing to bank {bank}")
        };
        let Ok(actions) = Rc::make_mut(&mut self.l2[l2]).request(req) else {
            panic!("bank {l2} has no place for the request")
        };
        self.l2_actions(l2, actions)
    }
    fn link_arrives(&mut self, l2: usize) -> Vec<Message> {
        match self.link[l2].pop_front() {
            Some(Link::Req(req)) => {
                let lane = self.lane_of(req.line);
                assert!(Rc::make_mut(&mut self.lanes[lane]).arrive(req), "lane {lane} has no free entry");
            }
            Some(Link::Note { line, tag, rts }) => {
                let lane = self.lane_of(line);
                Rc::make_mut(&mut self.lanes[lane]).note(line, tag, rts);
            }
            None => panic!("bank {l2} has sent nothing"),
        }
        Vec::new()
    }
    fn lane_responds(&mut self, lane: usize, slot: usize) -> Vec<Message> {
        let rsp = Rc::make_mut(&mut self.lanes[lane]).respond(slot);
        let banks = self.p.layout.banks as usize;
        let l2 = rsp.dst as usize * banks + lane / self.p.layout.lanes as usize;
        self.back[l2].push(rsp);
        self.back[l2].sort();
        vec![Message::Back { l2, rsp }]
    }
    fn granted(&mut self, granted: Option<Granted>) -> Vec<Message> {
        if let Some(granted) = granted {
            if granted.grant.ask {
                self.control.asked.insert(granted.epoch);
            }
            self.watch_grant(&granted);
        }
        Vec::new()
    }
    fn start_roll(&mut self) -> Vec<Message> {
        self.control.epoch += 1;
        let epoch = self.control.epoch;
        self.control.asked.retain(|asked| *asked >= epoch);
        let l1 = (0..self.l1.len()).map(Target::L1);
        let l2 = (0..self.l2.len()).map(Target::L2);
        let lanes = (0..self.lanes.len()).map(Target::Lane);
        self.control.rolls = l1.chain(l2).chain(lanes).map(|target| (target, epoch)).collect();
        vec![Message::Roll { epoch }]
    }
    /// The acknowledgement is back at once: the controller's next roll waits for the last of them.
    fn roll_arrives(&mut self, target: Target, epoch: u64) -> Vec<Message> {
        self.control.rolls.remove(&(target, epoch));
        match target {
            Target::L1(l1) => {
                Rc::make_mut(&mut self.l1[l1]).roll(epoch);
            }
            Target::L2(l2) => {
                Rc::make_mut(&mut self.l2[l2]).roll(epoch);
            }
            Target::Lane(lane) => Rc::make_mut(&mut self.lanes[lane]).roll(epoch),
        }
        Vec::new()
    }

    fn l1_actions(&mut self, l1: usize, actions: Vec<L1Action>) -> Vec<Message> {
        let banks = self.p.layout.banks as usize;
        let mut messages = Vec::new();
        for action in actions {
            match action {
                L1Action::Up(req) => {
                    self.up[l1 * banks + self.p.layout.bank(req.line)].push_back(req);
                    messages.push(Message::Up { l1, req });
                }
                L1Action::Cu(rsp) => {
                    self.complete(&rsp);
                    messages.push(Message::Cu { l1, rsp });
                }
                L1Action::RollAck(_) => {}
            }
        }
        messages
    }
    fn l2_actions(&mut self, l2: usize, actions: Vec<L2Action>) -> Vec<Message> {
        let mut messages = Vec::new();
        for action in actions {
            match action {
                L2Action::Rsp(rsp) => {
                    let l1 = l2 / self.p.layout.banks as usize * self.p.cus + rsp.dst as usize;
                    self.down[l1].push(rsp);
                    self.down[l1].sort();
                    messages.push(Message::Down { l1, rsp });
                }
                L2Action::Mem(req) => {
                    self.link[l2].push_back(Link::Req(req));
                    messages.push(Message::Link { l2, req });
                }
                L2Action::Note { line, tag, rts } if self.p.evict_notes => {
                    self.link[l2].push_back(Link::Note { line, tag, rts });
                    messages.push(Message::Note { l2, line, rts });
                }
                L2Action::Note { .. } | L2Action::RollAck(_) => {}
            }
        }
        messages
    }
}
