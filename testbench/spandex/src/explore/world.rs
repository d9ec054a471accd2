//! What cores and memory do in a system that is explored, and when its log is judged.

use super::cores::{Cores, INITIAL, Issued, Memory, Op, place, value};
use super::judge;
use super::stash::PLACES;
use super::{Config, Kind};
use weft_blocks::msg::CuOp;
use weft_explore::form::Form;
use weft_explore::net::World;
use weft_rtl::value::HwEnum;

impl World for Cores {
    type State = Memory;

    fn start(&self) -> Memory {
        Memory {
            prepared: 0,
            preparing: None,
            cores: vec![Vec::new(); self.devices()],
            lines: vec![[INITIAL; 2]; self.config.lines.len()],
            maps: vec![[None; PLACES]; self.devices()],
        }
    }

    fn offers(&self, state: &Memory, port: usize) -> Vec<(Vec<u64>, Memory)> {
        if let Some((device, op)) = self.config.prelude.get(state.prepared) {
            if *device != port || state.preparing.is_some() {
                return Vec::new();
            }
            let after = Memory { prepared: state.prepared + 1, preparing: Some(port), ..state.clone() };
            let after = mapped(after, port, *op);
            let messages = self.messages(state, port, *op, (0, value(port, 14)));
            return messages.into_iter().map(|(_, message)| (message, after.clone())).collect();
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
        ops.flat_map(|op| {
            let mapped = mapped(state.clone(), port, op);
            let messages = self.messages(state, port, op, (slot, value(port, own.len())));
            messages.into_iter().map(move |(place, message)| {
                let mut after = mapped.clone();
                after.cores[port].push(Issued { op, slot, place, before, part: (0, [0; 2]), got: None });
                (message, after)
            })
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

impl Cores {
    /// Messages that ask for an operation now: one, and of a stash one for each place that holds the line; each with the place.
    fn messages(
        &self,
        state: &Memory,
        device: usize,
        op: Op,
        (slot, value): (u8, u8),
    ) -> Vec<(u8, Vec<u64>)> {
        if self.config.devices[device] != Kind::Stash {
            return vec![(0, self.message(op, slot, value))];
        }
        let ask = |place| at_place(&self.config, &self.stash, (op, place), slot, value);
        places(state, device, op).map(|place| (place, ask(place))).collect()
    }
}

/// What the places hold when an operation has begun.
fn mapped(mut state: Memory, device: usize, op: Op) -> Memory {
    if let Op::Map(line, place) = op {
        state.maps[device][usize::from(place)] = Some(line);
    }
    state
}

/// Places to which an operation may go: those that hold its line, and are not being mapped.
fn places(state: &Memory, device: usize, op: Op) -> impl Iterator<Item = u8> {
    let maps = state.maps[device];
    let open = state.cores[device].iter().filter(|issued| issued.got.is_none());
    let shut: Vec<u8> = open
        .filter_map(|issued| if let Op::Map(_, place) = issued.op { Some(place) } else { None })
        .collect();
    (0..PLACES as u8).filter(move |place| match op {
        Op::Map(_, own) => own == *place,
        Op::Acquire => *place == 0,
        _ => !shut.contains(place) && maps[usize::from(*place)].map(usize::from) == Some(op.line()),
    })
}

/// An operation at a place.
fn at_place(c: &Config, form: &Form, (op, place): (Op, u8), slot: u8, value: u8) -> Vec<u64> {
    let id = u64::from(slot);
    if let Op::Map(line, _) = op {
        let (place, global) = (u64::from(place), 2 * c.lines[usize::from(line)]);
        let fields =
            [("index", place), ("base", 2 * place), ("global", global), ("element", 2), ("stride", 2)];
        let fields = fields.into_iter().chain([("count", 1), ("id", id)]);
        let named: Vec<(String, u64)> =
            fields.map(|(name, value)| (format!("mapping_{name}"), value)).collect();
        return form.message(&all(&named, ("maps", 1)));
    }
    let words = |bits: u64, by: u32| {
        (0..2).filter(|w| op.words() >> w & 1 == 1).map(|w| bits << (w * by)).sum::<u64>()
    };
    let kind = match op {
        Op::Load(..) => CuOp::Ld,
        Op::Store(..) => CuOp::St,
        _ => CuOp::Acq,
    };
    let fields = [
        ("op", kind.encoding()),
        ("want_ack", op.writes().into()),
        ("mask", op.words().into()),
        ("row", words(place.into(), 1)),
        ("data", if op.writes() { words(value.into(), 32) } else { 0 }),
        ("id", id),
    ];
    let named: Vec<(String, u64)> =
        fields.into_iter().map(|(name, value)| (format!("access_{name}"), value)).collect();
    form.message(&all(&named, ("maps", 0)))
}

fn all<'a>(named: &'a [(String, u64)], kind: (&'a str, u64)) -> Vec<(&'a str, u64)> {
    named.iter().map(|(name, value)| (name.as_str(), *value)).chain([kind]).collect()
}
