//! What rank 0 does with the others.

use super::{Call, Given, Lap, RankCost, Ranks, Report, Taken};
use crate::run::model::FabricModel;
use std::ops::Range;
use weft_engine::{Part, Sim};

impl FabricModel {
    /// The other ranks, while they have their parts.
    fn apart_ranks(&self) -> Option<&Ranks> {
        self.company.0.as_ref().filter(|ranks| ranks.apart)
    }

    /// A window of these cycles begins on all ranks, which take their parts if rank 0 has them.
    pub fn call_window(&mut self, sim: &mut Sim, cycles: Range<u64>) {
        self.disperse(sim);
        let (errand, checked) = (self.processor.errand(), self.observer.checks.is_some());
        if let Some(ranks) = self.apart_ranks() {
            ranks.call_all(&Call::Window { cycles, errand, checked });
        }
    }

    /// The window goes on.
    pub fn call_stretch(&self, until: u64) {
        if let Some(ranks) = self.apart_ranks() {
            ranks.call_all(&Call::Stretch { until });
        }
    }

    /// Pages were placed, and these are what those hold.
    pub fn call_place(&self, touched: Vec<(usize, u64)>, fresh: Vec<(u64, Vec<u8>)>) {
        if let Some(ranks) = self.apart_ranks() {
            ranks.call_all(&Call::Place { touched, fresh });
        }
    }

    /// The other ranks take their parts.
    fn disperse(&mut self, sim: &mut Sim) {
        let Some(mut ranks) = self.company.0.take() else { return };
        if ranks.apart {
            self.company.0 = Some(ranks);
            return;
        }
        let mut lap = Lap::new();
        sim.settle();
        let (cycle, table) = (sim.cycle(), self.moves_pages().then(|| self.table.clone()));
        let now = self.around.by_part().memory.lock().clone();
        let changes = now.changes(&ranks.memory);
        let processor = postcard::to_stdvec(&self.processor.state()).expect("plain data is always encoded");
        for rank in ranks.others() {
            let mut agreed = std::mem::take(&mut ranks.agreed);
            let parts = self.states(sim, &mut agreed, &|part| ranks.owner(part) == rank);
            ranks.agreed = agreed;
            let (table, memory, processor) = (table.clone(), changes.clone(), processor.clone());
            let taken = Taken { cycle, parts, table, memory, processor };
            ranks.costs.told.state_bytes += ranks.send(rank, &Call::Take(Box::new(taken)));
        }
        sim.part_ways(&|part| ranks.is_own(part));
        lap.add(&mut ranks.costs.told.disperse_seconds);
        self.company.0 = Some(Ranks { apart: true, memory: now, ..ranks });
    }

    /// Rank 0 has all parts, between two windows.
    pub fn gather(&mut self, sim: &mut Sim) {
        let Some(mut ranks) = self.company.0.take() else { return };
        if !ranks.apart {
            self.company.0 = Some(ranks);
            return;
        }
        let mut lap = Lap::new();
        ranks.call_all(&Call::Give);
        for rank in ranks.others() {
            let (Given { parts, memory }, bytes) = ranks.receive(rank);
            ranks.costs.told.state_bytes += bytes;
            self.take_states(sim, &mut ranks.agreed, parts);
            self.take_memory(&memory);
        }
        sim.come_together();
        let memory = self.around.by_part().memory.lock().clone();
        ranks.costs.told.gathers += 1;
        lap.add(&mut ranks.costs.told.gather_seconds);
        self.company.0 = Some(Ranks { apart: false, memory, since: sim.cycle(), ..ranks });
    }

    /// What it has cost that there are other ranks, if there are.
    pub fn rank_cost(&self) -> Option<RankCost> {
        self.company.0.as_ref().map(|ranks| ranks.costs.total())
    }

    /// A window of so many cycles is over.
    pub fn note_window(&mut self, cycles: u64) {
        if let Some(ranks) = &mut self.company.0 {
            ranks.costs.told.windows += 1;
            ranks.costs.told.cycles += cycles;
        }
    }

    /// A stretch of a window has taken so long on rank 0.
    pub fn note_stretch(&mut self, mut lap: Lap) {
        if let Some(ranks) = &mut self.company.0 {
            lap.add(&mut ranks.costs.told.window_seconds);
        }
    }

    /// The other ranks tell how they have come through a stretch.
    pub fn hear_reports(&mut self, sim: &mut Sim) {
        let Some(mut ranks) = self.company.0.take() else { return };
        if ranks.apart {
            let mut lap = Lap::new();
            let mut reports: Vec<Report> = Vec::new();
            for rank in ranks.others() {
                let (mut told, bytes) = ranks.receive(rank);
                reports.append(&mut told);
                ranks.costs.told.report_bytes += bytes;
            }
            let mut parts: Vec<&mut Part> = sim.parts().collect();
            for report in reports {
                let (_, nodes) = self.units_of(report.part);
                parts[report.part].stand(report.cycle, report.failed);
                self.courses[report.part] = report.course;
                if let (Some(left), Some(group)) =
                    (report.left, self.groups.iter_mut().find(|group| group.part == report.part))
                {
                    group.left = left;
                }
                self.processor.set_blocks(nodes, &report.blocks);
                self.notes.parts[report.part].add(report.notes);
            }
            lap.add(&mut ranks.costs.told.report_seconds);
        }
        self.company.0 = Some(ranks);
    }
}
