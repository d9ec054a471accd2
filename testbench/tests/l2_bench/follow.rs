//! The golden bank steps as the pipeline does: with the operation in stage 1, when stage 2 takes over.

use super::model::Asker;
use super::request::{RD, WR};
use super::{Bench, Received, Role};
use std::collections::BTreeMap;

/// What was in stage 1.
pub struct Stage1 {
    valid: bool,
    class: u64,
    kind: u64,
    line: u64,
    who: u64,
    id: u64,
    epoch: u64,
    far_epoch: u64,
    atom_end: bool,
}

impl Bench {
    pub(super) fn stage1(&self) -> Stage1 {
        let mshr = self.peek("fill_mshr");
        Stage1 {
            valid: self.peek("s1_valid") == 1,
            class: self.peek("s1_class"),
            kind: self.peek("s1_req_kind"),
            line: self.peek("s1_req_line"),
            who: self.peek("s1_req_who"),
            id: self.peek("s1_req_id"),
            epoch: self.peek("epoch"),
            far_epoch: if self.p.hier { self.peek("far_epoch") } else { 0 },
            atom_end: self.peek("mshr_atom") >> mshr & 1 == 1,
        }
    }

    /// Follows the operation in stage 1 of the cycle now ending; `before`: what was in it.
    pub(super) fn follow(&mut self, before: &Stage1) {
        self.follow_drop();
        let went = self.peek("s2_valid") == 1;
        if !before.valid {
            assert!(!went);
            return;
        }
        if !went {
            assert!(before.class == 2 || before.class == 3, "only requests are sent back");
            return;
        }
        match before.class {
            0 => self.follow_inv(before.line),
            1 if before.atom_end => {}
            1 => {
                let given = self.delivered.get(&before.line).and_then(|d| d.last());
                self.model.fill(before.line, given.map(|given| &given.data[..]));
            }
            2 => self.accept(before, Asker::Node(before.who, before.id, u64::from(before.kind == WR))),
            3 => self.accept(before, Asker::Local(before.who, before.id)),
            _ => {}
        }
        let tags = self.tags();
        self.model.compare(&tags, (1..=3).contains(&before.class), before.class == 4);
    }

    fn accept(&mut self, before: &Stage1, asker: Asker) {
        let mut running = self.running.remove(&asker).expect("a request of the test");
        assert!(running.answer.is_none(), "{asker:?} accepted twice");
        let request = &running.request;
        let (writes, local) = (request.kind != RD, asker.node().is_none());
        let (number, role) = (self.model.next_op, self.lines[&request.line]);
        let mut needs = 0;
        running.answer = Some(match role {
            Role::Home => {
                let answer = self.model.home_request(asker, request);
                needs = self.model.fetches(request.line);
                answer
            }
            Role::Leaf => {
                assert!(local, "{asker:?} asks for a line that is served elsewhere");
                if writes {
                    self.away_writes[before.epoch as usize] += 1;
                }
                self.model.away_request(asker, request, before.epoch)
            }
            Role::GpuHome => {
                let (answer, passed) = self.model.gpu_request(asker, request, before.far_epoch);
                if passed {
                    self.far_writes[before.far_epoch as usize] += 1;
                }
                if matches!(answer, super::Answer::OldReplayed(..)) {
                    needs = self.model.gpu_reads(request.line);
                }
                answer
            }
        });
        if role != Role::Leaf && writes {
            if local {
                self.home_writes.push((before.epoch, number, request.line, needs));
            }
            if self.p.dir {
                self.order.write(number as u64);
            }
        }
        if role == Role::GpuHome && self.p.dir && self.model.next_op > number && !local {
            let gpm = self.p.sys.gpm_of_node(before.who as u32);
            self.unanswered.insert(number, (request.line / u64::from(self.p.group), u64::from(gpm)));
        }
        self.running.insert(asker, running);
    }

    /// One lookup of an Inv; after the last the bank owes its answer, at a GPU home through the directory.
    fn follow_inv(&mut self, line: u64) {
        self.model.invalidate(line);
        let forwards = self.p.dir && self.role_of(self.home_of(line)) == Role::GpuHome;
        let inv = self.inv_pending.front_mut().expect("an Inv of the test");
        assert_eq!(inv.members[inv.looked], line, "every line of a group is invalidated once, in order");
        inv.looked += 1;
        if inv.looked < inv.members.len() {
            return;
        }
        let inv = self.inv_pending.pop_front().expect("the front");
        if !forwards {
            self.inv_due.push_back(inv.link);
            return;
        }
        let group = line / u64::from(self.p.group);
        let gpms = |of: &mut dyn Iterator<Item = &(u64, u64)>| {
            of.filter(|(g, _)| *g == group).fold(0, |all, (_, gpm)| all | 1 << gpm)
        };
        let must = gpms(&mut self.unanswered.values());
        let may = must | gpms(&mut self.answered_now.iter());
        let (members, cause, link) = (inv.members, inv.cause, inv.link);
        self.recv_due.push_back(Received { members, cause, link, must, may });
    }

    /// Copies are dropped all at once when nothing is in the pipeline any more.
    fn follow_drop(&mut self) {
        let walking = self.p.drops && self.peek("drop_state") == 2;
        if !walking || self.drop_applied {
            return;
        }
        let op = self.fence.as_ref().expect("a command of the test").0;
        let named: BTreeMap<u64, bool> = self.lines.keys().map(|l| (*l, self.drops_line(op, *l))).collect();
        self.model.forget(|line| named[&line]);
        self.drop_applied = true;
    }

    /// A command to drop copies names this line (hmg.md section 8).
    pub(super) fn drops_line(&self, op: u64, line: u64) -> bool {
        let (role, near) = (self.lines[&line], self.near(self.home_of(line)));
        match op {
            2 => role == Role::Leaf,
            3 => role != Role::Home && !near,
            4 => role != Role::Home,
            op => panic!("command {op} drops nothing"),
        }
    }
}
