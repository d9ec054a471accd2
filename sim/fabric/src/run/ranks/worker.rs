//! What a rank does that is not rank 0.

use super::{Call, Given, Ranks, Report, Taken};
use crate::run::model::FabricModel;
use crate::run::window::Shared;
use std::sync::Arc;
use weft_engine::Sim;
use weft_engine::team::Team;

impl FabricModel {
    /// Does what rank 0 says, until the run is over.
    pub fn serve(&mut self, sim: &mut Sim, team: &mut Team) {
        let Some(mut ranks) = self.company.0.take() else { return };
        let mut window: Option<Shared> = None;
        loop {
            match ranks.receive::<Call>(0).0 {
                Call::Take(taken) => {
                    self.take(sim, &mut ranks, *taken);
                    sim.part_ways(&|part| ranks.is_own(part));
                }
                Call::Window { cycles, errand, checked } => {
                    self.take_left();
                    self.processor.run_errand(errand);
                    self.checked = checked;
                    let shared =
                        self.begin_window(cycles.start, true, !team.has_room() || ranks.link.crowded());
                    ranks = self.served(sim, team, ranks, &shared, cycles.end);
                    window = Some(shared);
                }
                Call::Stretch { until } => {
                    let shared = window.as_ref().expect("a window has begun");
                    ranks = self.served(sim, team, ranks, shared, until);
                }
                Call::Place { touched, fresh } => self.take_places(&touched, &fresh),
                Call::Give => {
                    self.take_left();
                    let given = self.give(sim, &mut ranks);
                    ranks.send(0, &given);
                }
                Call::Over => break,
            }
        }
        self.company.0 = Some(ranks);
    }

    /// A stretch of a window, and the report of it.
    fn served(&mut self, sim: &mut Sim, team: &mut Team, ranks: Ranks, shared: &Shared, until: u64) -> Ranks {
        self.company.0 = Some(ranks);
        shared.go_on();
        let told = self.stretch(sim, team, shared, until, true);
        assert!(told.is_ok(), "nobody checks anything on a rank that is not rank 0");
        let ranks = self.company.0.take().expect("it was put there");
        let mut reports = Vec::new();
        for part in sim.own_parts() {
            let number = part.number();
            let (_, nodes) = self.units_of(number);
            reports.push(Report {
                part: number,
                cycle: part.cycle(),
                failed: part.failed().to_vec(),
                course: self.courses[number].clone(),
                left: self.groups.iter().find(|group| group.part == number).map(|group| group.left.clone()),
                blocks: self.processor.of_nodes(nodes).0,
                notes: std::mem::take(&mut self.notes.parts[number]),
            });
        }
        ranks.send(0, &reports);
        ranks
    }

    fn take(&mut self, sim: &mut Sim, ranks: &mut Ranks, taken: Taken) {
        let processor = postcard::from_bytes(&taken.processor).expect("ranks are of the same build");
        assert!(self.processor.resume(processor), "ranks have the same fabric");
        if let Some(table) = taken.table {
            self.table = table;
        }
        sim.parts().for_each(|part| part.stand(taken.cycle, Vec::new()));
        self.take_states(sim, &mut ranks.agreed, taken.parts);
        self.take_memory(&taken.memory);
        ranks.memory = self.around.by_part().memory.lock().clone();
    }

    fn give(&mut self, sim: &mut Sim, ranks: &mut Ranks) -> Given {
        let now = sim.own_parts().next().map_or(0, |part| part.cycle());
        for part in sim.parts() {
            match ranks.is_own(part.number()) {
                true => assert!(part.hear().is_ok() && part.cycle() == now, "all parts are in one cycle"),
                false => part.stand(now, Vec::new()),
            }
        }
        sim.come_together();
        let mut agreed = std::mem::take(&mut ranks.agreed);
        let parts = self.states(sim, &mut agreed, &|part| ranks.is_own(part));
        ranks.agreed = agreed;
        let memory = self.around.by_part().memory.lock().clone();
        let changes = memory.changes(&ranks.memory);
        ranks.memory = memory;
        Given { parts, memory: changes }
    }

    /// Rank 0 has placed pages that were touched first.
    fn take_places(&mut self, touched: &[(usize, u64)], fresh: &[(u64, Vec<u8>)]) {
        for (seat, _) in touched {
            let group = self.groups.iter_mut().find(|group| group.seats.contains(seat));
            group.expect("a compute unit has a group").left.touched.clear();
        }
        self.place_pages(touched);
        Arc::make_mut(&mut self.table).take_fresh();
        fresh.iter().for_each(|(at, bytes)| self.around.write(*at, bytes));
    }
}
