//! Write-back of copies in the golden bank (hmg.md section 5.2): dirty bytes that go on, and when they may or must.

use super::follow::Stage1;
use super::gpu::{Content, event_of};
use super::model::{Asker, Model, Sent};
use super::request::{Request, WR};
use super::{Bench, Role};
use std::collections::BTreeMap;
use weft_testbench::golden::l2::held_table::{GPU_HOME_HELD, REQUESTER_HELD};
use weft_testbench::golden::l2::hier::gpu_row;
use weft_testbench::golden::l2::hier_table::{GpuDo, GpuEvent, GpuState};
use weft_testbench::golden::l2::req_row;
use weft_testbench::golden::l2::table::{ReqDo, ReqEvent, ReqState};

/// Why dirty bytes may go on before a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// They are of its own line, and it must go to the next home.
    Own,
    /// It makes a further line dirty.
    Room,
    No,
}

impl Model {
    /// The dirty bytes of a line go on; `epochs`: of writes to GPMs of this GPU, and to other GPUs.
    pub fn write_on(&mut self, line: u64, epochs: [u64; 2]) {
        let of = |mask: &[bool], copy: &[u8]| Request {
            kind: WR,
            mask: mask.to_vec(),
            data: copy.to_vec(),
            ..Request::down(line, copy.len())
        };
        let from = Asker::Local(0, 0);
        if let Some(away) = self.away.get_mut(&line) {
            away.line.step(ReqEvent::WriteOn).expect("a line with dirty bytes");
            away.dirty.gone += 1;
            let request = of(&away.dirty.mask, &away.copy);
            self.sent.push_back(Sent { request, epoch: epochs[0], from });
            return;
        }
        let gpu = self.gpu.get_mut(&line).expect("a line of another home");
        gpu.line.step(GpuEvent::WriteOn).expect("a line with dirty bytes");
        gpu.dirty.gone += 1;
        let request = of(&gpu.dirty.mask, &gpu.copy);
        self.pass(WR, Content::AsAsked, &request, epochs[1], from);
    }

    /// Lines with dirty bytes that other GPMs serve, or whose GPU home this is, and how often their bytes have gone on.
    pub fn held(&self, gpu_home: bool) -> BTreeMap<u64, u64> {
        if gpu_home {
            let held = self.gpu.iter().filter(|(_, g)| matches!(g.line.state(), GpuState::D | GpuState::W));
            return held.map(|(line, g)| (*line, g.dirty.gone)).collect();
        }
        let held = self.away.iter().filter(|(_, a)| matches!(a.line.state(), ReqState::D | ReqState::W));
        held.map(|(line, a)| (*line, a.dirty.gone)).collect()
    }

    /// How often a line's dirty bytes have gone on.
    pub fn gone(&self, line: u64) -> u64 {
        match (self.away.get(&line), self.gpu.get(&line)) {
            (Some(away), _) => away.dirty.gone,
            (None, Some(gpu)) => gpu.dirty.gone,
            (None, None) => 0,
        }
    }

    /// Which dirty bytes may go on before this request.
    pub fn first(&self, request: &Request) -> First {
        if let Some(away) = self.away.get(&request.line) {
            let row = req_row(away.line.state(), self.away_event(request));
            let new = matches!(away.line.state(), ReqState::I | ReqState::V);
            return match (row.does.contains(&ReqDo::DirtyFirst), new && row.does.contains(&ReqDo::Mark)) {
                (true, _) => First::Own,
                (false, true) => First::Room,
                (false, false) => First::No,
            };
        }
        let Some(gpu) = self.gpu.get(&request.line) else { return First::No };
        let row = gpu_row(gpu.line.state(), event_of(request, self.holds));
        let new = matches!(gpu.line.state(), GpuState::I | GpuState::V);
        match (row.does.contains(&GpuDo::DirtyFirst), new && row.does.contains(&GpuDo::Mark)) {
            (true, _) => First::Own,
            (false, true) => First::Room,
            (false, false) => First::No,
        }
    }
}

impl Bench {
    /// Dirty bytes have gone on in stage 1; a request in it stays there.
    pub(super) fn follow_write_on(&mut self, before: &Stage1) {
        let line = self.peek("s2_step_victim");
        let (near, far) = (self.peek("s2_step_request") == 1, self.peek("s2_step_pass") == 1);
        let role = self.lines[&line];
        assert_eq!((near, far), (role == Role::Leaf, role == Role::GpuHome), "{line:x}");
        if let Some(asker) = before.asker() {
            assert_eq!(self.peek("s1_valid"), 1, "the request stays in stage 1");
            let request = &self.running[&asker].request;
            let dirty = self.dirty_ways(line, role);
            match self.model.first(request) {
                First::Own => assert_eq!(line, request.line),
                First::Room => {
                    assert_eq!(
                        (role, dirty),
                        (self.lines[&request.line], self.p.ways / 4),
                        "room for {request:?}"
                    );
                }
                First::No => panic!("{line:x} is written on before {request:?}"),
            }
        } else {
            assert_eq!(before.class, 4, "only walks and requests write dirty bytes on");
        }
        self.model.write_on(line, [before.epoch, before.far_epoch]);
        self.wrote_on[usize::from(far)] += 1;
        match far {
            true => self.far_writes[before.far_epoch as usize] += 1,
            false => self.away_writes[before.epoch as usize] += 1,
        }
    }

    /// Ways with dirty bytes of a role in the set of a line; the tags have just lost it.
    fn dirty_ways(&self, line: u64, role: Role) -> u32 {
        let tags = self.tags_by_set();
        let set = tags.iter().find(|(_, lines)| lines.contains_key(&line)).map(|(set, _)| *set);
        // A line of dirty bytes only has left its set with them.
        let Some(set) = set else { return self.p.ways / 4 };
        let held = tags[&set].iter().filter(|(l, state)| **state > 1 && self.lines[*l] == role);
        held.count() as u32 + 1
    }

    /// What a drain must have written on: lines dirty when it began.
    pub(super) fn assert_written_on(&self, before: &BTreeMap<u64, u64>) {
        for (line, gone) in before {
            assert!(self.model.gone(*line) > *gone, "drained with dirty bytes of {line:x} from before");
        }
    }

    /// Both drains, after which nothing dirty is left here.
    pub(super) fn drain_held(&mut self) {
        self.start_fence(0);
        self.start_far_drain();
        for _ in 0..2_000 {
            self.cycle();
        }
        assert!(self.fence.is_none() && !self.far_drain, "the drains do not end");
        assert_eq!((self.model.held(false), self.model.held(true)), Default::default());
        assert_eq!((self.away_writes, self.far_writes), ([0, 0], [0, 0]));
        self.model.assert_idle();
    }
}

#[test]
fn every_row_of_write_back_belongs_to_a_line_with_dirty_bytes_or_a_held_store() {
    for row in &REQUESTER_HELD {
        let held = matches!(row.event, ReqEvent::StoreFullHeld | ReqEvent::StorePartialHeld);
        assert!(held || matches!(row.state, ReqState::D | ReqState::W), "{}", row.id);
        // Dirty bytes are lost by no event.
        let dirty = matches!(row.state, ReqState::D | ReqState::W);
        let stays = matches!(row.next, ReqState::D | ReqState::W);
        let sent = row.does.contains(&ReqDo::SendDirty) || row.event == ReqEvent::StoreFull;
        assert!(!dirty || stays || sent, "{}", row.id);
    }
    for row in &GPU_HOME_HELD {
        let dirty = matches!(row.state, GpuState::D | GpuState::W);
        let stays = matches!(row.next, GpuState::D | GpuState::W);
        let sent = row.does.contains(&GpuDo::SendDirty) || row.event == GpuEvent::StoreFull;
        assert!(!dirty || stays || sent, "{}", row.id);
    }
}
