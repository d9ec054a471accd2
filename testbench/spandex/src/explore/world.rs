//! What cores and memory do in a system that is explored, and when its log is judged.

use super::cores::{Cores, INITIAL, Issued, Memory, place, value};
use super::judge;
use weft_explore::form::Form;
use weft_explore::net::World;

impl World for Cores {
    type State = Memory;

    fn start(&self) -> Memory {
        Memory {
            prepared: 0,
            preparing: None,
            cores: vec![Vec::new(); self.devices()],
            lines: vec![[INITIAL; 2]; self.config.lines.len()],
        }
    }

    fn offers(&self, state: &Memory, port: usize) -> Vec<(Vec<u64>, Memory)> {
        if let Some((device, op)) = self.config.prelude.get(state.prepared) {
            if *device != port || state.preparing.is_some() {
                return Vec::new();
            }
            let after = Memory { prepared: state.prepared + 1, preparing: Some(port), ..state.clone() };
            return vec![(self.message(*op, 0, value(port, 14)), after)];
        }
        if state.preparing.is_some() {
            return Vec::new();
        }
        let own = &state.cores[port];
        let slot = (0..).find(|slot| own.iter().all(|o| o.got.is_some() || o.slot != *slot)).unwrap_or(0);
        let each = state.cores.iter().enumerate().flat_map(|(d, core)| {
            let done = core.iter().enumerate().filter(|(_, o)| o.got.is_some());
            done.map(move |(seq, _)| place(d, seq))
        });
        let before = each.sum();
        let ops = self.next_ops(state, port).into_iter();
        ops.map(|op| {
            let mut after = state.clone();
            after.cores[port].push(Issued { op, slot, before, got: None });
            (self.message(op, slot, value(port, own.len())), after)
        })
        .collect()
    }

    fn take(
        &self,
        state: &mut Memory,
        port: usize,
        form: &Form,
        message: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String> {
        let devices = self.devices();
        if port < 2 * devices {
            self.answered(state, port - devices, form, message)?;
            return Ok(Vec::new());
        }
        self.perform(state, form, message)
    }

    fn finished(&self, state: &Memory) -> bool {
        let c = &self.config;
        let done = |(device, own): (usize, &Vec<Issued>)| {
            own.len() == c.budget(device) || self.next_ops(state, device).is_empty()
        };
        state.quiet() && state.prepared == c.prelude.len() && state.cores.iter().enumerate().all(done)
    }

    fn check(&self, state: &Memory) -> Result<(), String> {
        if state.quiet() { judge::check(self, state, None) } else { Ok(()) }
    }

    fn story(&self, state: &Memory) -> Vec<String> {
        Cores::story(self, state)
    }

    fn text(&self, place: &str, form: &Form, message: &[u64]) -> String {
        super::report::message(place, form, message)
    }
}
