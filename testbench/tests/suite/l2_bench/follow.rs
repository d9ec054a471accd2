//! The golden bank steps as the pipeline does: with the operation in stage 1, when stage 2 takes over.

use super::model::Asker;
use super::request::{DOWN, RD, WR};
use super::{Bench, Question, Received, Role};
use std::collections::BTreeMap;

/// What was in stage 1.
pub struct Stage1 {
    valid: bool,
    pub(super) class: u64,
    kind: u64,
    line: u64,
    who: u64,
    id: u64,
    pub(super) epoch: u64,
    pub(super) far_epoch: u64,
    atom_end: bool,
    down_state: u64,
}

impl Stage1 {
    /// Whose request it is.
    pub(super) fn asker(&self) -> Option<Asker> {
        match self.class {
            2 => Some(Asker::Node(self.who, self.id, u64::from(self.kind == WR))),
            3 => Some(Asker::Local(self.who, self.id)),
            _ => None,
        }
    }
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
            down_state: if self.p.downgrade { self.peek("down_state") } else { 0 },
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
        if self.p.write_back && self.peek("s2_writes_on") == 1 {
            self.follow_write_on(before);
            let tags = self.tags();
            return self.model.compare(&tags, false, false);
        }
        match before.class {
            0 => self.follow_inv(before.line),
            1 if before.atom_end => {}
            1 => {
                let given = self.delivered.get(&before.line).and_then(|d| d.last());
                self.model.fill(before.line, given.map(|given| &given.data[..]));
            }
            2 if before.kind == DOWN => self.accept_down(before),
            2 => self.accept(before, Asker::Node(before.who, before.id, u64::from(before.kind == WR))),
            5 => self.follow_down(before),
            3 => self.accept(before, Asker::Local(before.who, before.id)),
            _ => {}
        }
        let tags = self.tags();
        self.model.compare(&tags, (1..=3).contains(&before.class), before.class == 4);
    }

    /// Another node holds no line of a group any more: the directory is told, nobody gets an answer.
    fn accept_down(&mut self, before: &Stage1) {
        let asker = Asker::Node(before.who, before.id, 2);
        self.running.remove(&asker).expect("a message of the test");
        let number = self.model.downgrade(asker, before.line);
        if self.lines[&before.line] == Role::GpuHome {
            let gpm = self.p.sys.gpm_of_node(before.who as u32);
            self.unanswered.insert(number, (self.group_of(before.line), u64::from(gpm)));
        }
    }

    /// A step of a downgrade: when something leaves, nothing of the group may be here or awaited.
    fn follow_down(&mut self, before: &Stage1) {
        let (look, leave) = (before.down_state == 2, before.down_state == 5);
        assert!(look || leave);
        let leaf = self.lines.get(&before.line).is_some_and(|role| *role == Role::Leaf);
        let (sends, group) = (self.peek("s2_step_request") == 1, self.group_of(before.line));
        let (passes, asks) = (self.peek("s2_step_pass") == 1, look && self.peek("down_state") == 3);
        assert_eq!((sends && (leave || !leaf), passes && look, asks && leaf), (false, false, false));
        if sends || passes || asks {
            assert_eq!(before.line % u64::from(self.p.group), 0, "the first line names the group");
            self.model.assert_none_of(self.members(before.line, true));
        }
        if asks {
            let number = self.model.downgrade(Asker::Local(0, 0), before.line);
            self.question = Some(Question { number, group, empty: None, spoiled: false });
        }
        if leave {
            let question = self.question.take().expect("the directory was asked");
            assert_eq!((question.group, question.empty), (group, Some(true)), "the directory's answer");
            assert_eq!(passes, !question.spoiled, "a request for the group of {:x} passed", before.line);
        }
        if sends || passes {
            self.model.send_down(before.line, self.p.sys.line as usize, passes);
            self.downs[usize::from(passes)] += 1;
        }
    }

    fn accept(&mut self, before: &Stage1, asker: Asker) {
        let mut running = self.running.remove(&asker).expect("a request of the test");
        assert!(running.answer.is_none(), "{asker:?} accepted twice");
        let request = &running.request;
        let (writes, local) = (request.kind != RD, asker.node().is_none());
        let group = request.line / u64::from(self.p.group);
        self.question.iter_mut().for_each(|question| question.spoiled |= question.group == group);
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
                let (answer, sent) = self.model.away_request(asker, request, before.epoch);
                if sent {
                    self.away_writes[before.epoch as usize] += 1;
                }
                answer
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
                self.drain_order.write(number as u64);
            }
        }
        if self.p.acks && !local && !writes {
            self.reads_behind.insert(asker, number);
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
        self.model.forget(|line| named[&line], self.p.drops_all);
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
