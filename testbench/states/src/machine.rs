//! Carries out the rows of a protocol's tables: one event in one state.

use crate::state::{ANSWERED, Device, LLC, Llc, NONE, Packet, State};
use crate::table::{Act, Protocol, Step, Tables, To, Verb, When};
use crate::values::Values;
use std::rc::Rc;

/// A protocol under a set of options, ready to run.
pub struct Machine {
    /// The protocol.
    pub protocol: Protocol,
    /// Its tables.
    pub tables: Tables,
    /// How often each row was carried out: the device's first, then the LLC's.
    pub uses: Vec<u64>,
    /// Stable device states, one bit each.
    pub stable: u32,
    /// Device states with ownership.
    pub owning: u32,
    /// Device states with a shared copy.
    pub shared: u32,
    /// LLC states that are not blocked.
    pub open: u32,
    valued: u32,
    values: Option<Values>,
}

/// What happens at a device by itself.
#[derive(Clone, Copy, Debug)]
pub struct Core {
    /// Where.
    pub device: usize,
    /// What.
    pub event: u8,
    /// Whom a direct request goes to, else none.
    pub target: u8,
    /// What a store writes.
    pub value: bool,
}

impl Machine {
    /// Numbers the tables; `on` tells which options are chosen.
    pub fn new(protocol: Protocol, on: &dyn Fn(When) -> Option<bool>) -> Machine {
        let tables = Tables::new(&protocol, on);
        let side = &tables.device;
        let (storing, owning) = (side.set(protocol.storing), side.set(protocol.owning));
        let values = on(When::Values) == Some(true);
        Machine {
            uses: vec![0; protocol.device.len() + protocol.llc.len()],
            stable: side.set(protocol.stable),
            owning,
            shared: side.set(protocol.shared),
            open: tables.llc.set(protocol.open),
            valued: side.set(protocol.valued),
            values: values.then_some(Values { storing, owning }),
            tables,
            protocol,
        }
    }

    /// Values are modelled.
    pub fn has_values(&self) -> bool {
        self.values.is_some()
    }

    /// The row for what happens at a device by itself, if it may.
    pub fn core_step(&self, state: &State, device: usize, event: u8) -> Option<&Rc<Step>> {
        let from = &state.device[device];
        let steps = self.tables.device.steps(from.state, event);
        steps.iter().find(|step| device_fits(step, from, &Packet::default()))
    }

    /// The row for what happens at the LLC by itself, if it may.
    pub fn own_step(&self, state: &State, event: u8) -> Option<&Rc<Step>> {
        let steps = self.tables.llc.steps(state.llc.state, event);
        steps.iter().find(|step| llc_fits(step, &state.llc, &Packet::default()))
    }

    /// The LLC leaves a message in the network; counts the row.
    pub fn stalls(&mut self, state: &State, packet: &Packet) -> bool {
        let steps = self.tables.llc.steps(state.llc.state, packet.op);
        let stall = steps.iter().find(|step| step.then.first() == Some(&Act::Do(Verb::Stall)));
        if let Some(step) = stall {
            self.uses[step.row] += 1;
        }
        stall.is_some()
    }

    /// Carries out what happens at a device by itself.
    ///
    /// # Errors
    /// What goes wrong.
    pub fn core(&mut self, state: &mut State, core: Core) -> Result<(), String> {
        let step = self.core_step(state, core.device, core.event).cloned();
        let step = step.ok_or_else(|| "the action is not possible here".to_string())?;
        self.at_device(state, core, &Packet::default(), &step)
    }

    /// Carries out what happens at the LLC by itself.
    ///
    /// # Errors
    /// What goes wrong.
    pub fn own(&mut self, state: &mut State, event: u8) -> Result<(), String> {
        let step = self.own_step(state, event).cloned();
        let step = step.ok_or_else(|| "the action is not possible here".to_string())?;
        self.at_llc(state, &Packet { src: NONE, req: NONE, ..Packet::default() }, &step)
    }

    /// Hands a message, taken from the network already, to its receiver.
    ///
    /// # Errors
    /// What goes wrong; most of all that no row of the table expects the message.
    pub fn deliver(&mut self, state: &mut State, packet: &Packet) -> Result<(), String> {
        if packet.dst == LLC {
            return self.request(state, packet);
        }
        let device = usize::from(packet.dst);
        let from = &state.device[device];
        let steps = self.tables.device.steps(from.state, packet.op).iter();
        let step = single(steps.filter(|step| device_fits(step, from, packet)));
        let name = self.protocol.device_states[usize::from(from.state)];
        let step =
            step.map_err(|rows| self.unexpected(rows, &format!("device {device}"), name, packet.op))?;
        self.at_device(state, Core { device, event: 0, target: NONE, value: false }, packet, &step)
    }

    fn request(&mut self, state: &mut State, packet: &Packet) -> Result<(), String> {
        let steps = self.tables.llc.steps(state.llc.state, packet.op).iter();
        let step = single(steps.filter(|step| llc_fits(step, &state.llc, packet)));
        let name = self.protocol.llc_states[usize::from(state.llc.state)];
        let step = step.map_err(|rows| self.unexpected(rows, "the LLC", name, packet.op))?;
        self.at_llc(state, packet, &step)
    }

    fn unexpected(&self, rows: usize, who: &str, state: &str, op: u8) -> String {
        let message = self.message(op);
        match rows {
            0 => format!("unexpected message: {who} in {state} does not expect {message}"),
            _ => format!("two rows of the table are for {who} in {state} and {message}"),
        }
    }

    /// Name of a message.
    pub fn message(&self, op: u8) -> &'static str {
        self.protocol.messages[usize::from(op) - 1].name
    }

    fn at_device(
        &mut self,
        state: &mut State,
        core: Core,
        packet: &Packet,
        step: &Step,
    ) -> Result<(), String> {
        self.uses[step.row] += 1;
        for act in &step.then {
            match act {
                Act::Send(to, op) => self.device_sends(state, core, packet, *to, *op),
                Act::Do(verb) => self.device_does(state, core, packet, *verb)?,
                Act::Commit(_) => return Err("a device cannot commit".into()),
            }
        }
        let device = &mut state.device[core.device];
        device.state = step.to.unwrap_or(device.state);
        if self.valued >> device.state & 1 == 0 {
            device.value = false;
        }
        if self.stable >> device.state & 1 != 0 {
            if device.delayed != NONE {
                return Err(format!("device {} forgets a delayed request", core.device));
            }
            *device = Device { value: device.value, ..Device::new(device.state) };
        }
        if let Some(values) = self.values.as_ref().filter(|_| step.writes) {
            values.settle(state);
        }
        Ok(())
    }

    fn device_sends(&self, state: &mut State, core: Core, packet: &Packet, to: To, op: u8) {
        let device = &mut state.device[core.device];
        let me = core.device as u8;
        let dst = match to {
            To::Llc => LLC,
            To::Req => packet.req,
            To::Target => core.target,
            To::Remover => device.remover,
            _ => std::mem::replace(&mut device.delayed, NONE),
        };
        if dst == NONE {
            return;
        }
        let message = &self.protocol.messages[usize::from(op) - 1];
        let src = if dst == LLC { me } else { NONE };
        let req = if message.names { me } else { NONE };
        let value = message.data && device.value;
        state.net.push(Packet { op, dst, src, req, count: 0, value });
    }

    fn device_does(&self, state: &mut State, core: Core, packet: &Packet, verb: Verb) -> Result<(), String> {
        let at = core.device;
        let device = &mut state.device[at];
        match verb {
            Verb::Delay => device.delayed = packet.req,
            Verb::Record => (device.removal, device.remover) = (packet.op, packet.req),
            Verb::MarkDg => device.removal = ANSWERED,
            Verb::Ack => device.acks -= 1,
            Verb::AwaitAcks => device.acks += packet.count as i8,
            _ => {}
        }
        if self.values.is_none() {
            return Ok(());
        }
        match verb {
            Verb::Ask => Values::ask(state, at),
            Verb::Load => return Values::load(state, at, packet.value),
            Verb::Issue => Values::issue(state, at, core.value),
            Verb::Done => Values::done(state, at),
            Verb::Take => return Values::take(state, at, packet.value),
            Verb::Hit => Values::hit(state, at),
            Verb::Write => Values::write(state, at, packet.value, packet.req),
            Verb::Yield => Values::give(state, at),
            _ => {}
        }
        Ok(())
    }

    fn at_llc(&mut self, state: &mut State, packet: &Packet, step: &Step) -> Result<(), String> {
        self.uses[step.row] += 1;
        let mut commit = None;
        for act in &step.then {
            match act {
                Act::Send(to, op) => self.llc_sends(state, packet, *to, *op),
                Act::Do(verb) => self.llc_does(state, packet, *verb)?,
                Act::Commit(at) => commit = Some(*at),
            }
        }
        state.llc.state = step.to.unwrap_or(state.llc.state);
        let Some(at) = commit else { return Ok(()) };
        let Llc { request: op, requestor: src, data: value, .. } = state.llc;
        state.llc = Llc { state: at, owner: state.llc.owner, value: state.llc.value, ..Llc::new(at) };
        self.request(state, &Packet { op, dst: LLC, src, req: NONE, count: 0, value })
    }

    fn llc_sends(&self, state: &mut State, packet: &Packet, to: To, op: u8) {
        let message = &self.protocol.messages[usize::from(op) - 1];
        let llc = &mut state.llc;
        let others = llc.sharers & !bit(packet.src);
        let value = message.data && if to == To::Owner { packet.value } else { llc.value };
        let (receivers, req) = match to {
            To::Owner => (bit(llc.owner), packet.src),
            To::Sharers => (llc.sharers, LLC),
            To::Others => (others, LLC),
            To::OthersForSrc => (others, packet.src),
            _ => (bit(packet.src), NONE),
        };
        if matches!(to, To::Sharers | To::Others) {
            llc.acks = receivers;
        }
        let req = if message.names { req } else { NONE };
        let count = if to == To::SrcCounted { others.count_ones() as u8 } else { 0 };
        for dst in (0..8).filter(|dst| receivers >> dst & 1 != 0) {
            state.net.push(Packet { op, dst, src: NONE, req, count, value });
        }
    }

    fn llc_does(&self, state: &mut State, packet: &Packet, verb: Verb) -> Result<(), String> {
        let llc = &mut state.llc;
        let src = packet.src;
        match verb {
            Verb::Latch => (llc.request, llc.requestor, llc.data) = (packet.op, src, packet.value),
            Verb::AckSrc if llc.acks & bit(src) == 0 => return Err(format!("device {src} owes no Ack")),
            Verb::AckSrc => llc.acks &= !bit(src),
            Verb::Own => llc.owner = src,
            Verb::Disown => llc.owner = NONE,
            Verb::Share => llc.sharers |= bit(src),
            Verb::ShareKept => {
                llc.sharers |= bit(llc.requestor);
                (llc.request, llc.requestor, llc.data) = (0, NONE, false);
            }
            Verb::Unshare => llc.sharers = 0,
            _ => {}
        }
        if self.values.is_none() {
            return Ok(());
        }
        match verb {
            Verb::WriteLlc => Values::write_llc(state, packet.value, src),
            Verb::Overtake => Values::overtake(state, src),
            Verb::Grant => Values::grant(state, src),
            Verb::RmwLlc => return Values::rmw_llc(state, src),
            Verb::TakeData => return Values::take_data(state, packet.value, src),
            _ => {}
        }
        Ok(())
    }
}

/// Set of one device.
fn bit(device: u8) -> u8 {
    if device < LLC { 1 << device } else { 0 }
}

/// The one step there is, or how many.
fn single<'a>(mut steps: impl Iterator<Item = &'a Rc<Step>>) -> Result<Rc<Step>, usize> {
    match (steps.next(), steps.next()) {
        (Some(step), None) => Ok(step.clone()),
        (None, _) => Err(0),
        _ => Err(2),
    }
}

fn device_fits(step: &Step, device: &Device, packet: &Packet) -> bool {
    step.owes.is_none_or(|message| device.removal == message)
        && step.when.iter().all(|when| match when {
            When::NoDg => device.removal == 0,
            When::Dg => device.removal != 0,
            When::Answered => device.removal == ANSWERED,
            When::Free => device.delayed == NONE,
            When::Taken => device.delayed != NONE,
            When::AllAcks => device.acks + packet.count as i8 == 0,
            When::SomeAcks => device.acks + packet.count as i8 != 0,
            When::LastAck => device.acks == 1,
            When::OneAck => device.acks != 1,
            _ => false,
        })
}

fn llc_fits(step: &Step, llc: &Llc, packet: &Packet) -> bool {
    let others = llc.sharers & !bit(packet.src);
    step.when.iter().all(|when| match when {
        When::ByOwner => llc.owner == packet.src,
        When::ByOther => llc.owner != packet.src,
        When::Owned => llc.owner != NONE,
        When::NotOwned => llc.owner == NONE,
        When::Others => others != 0,
        When::NoOthers => others == 0,
        When::LastAck => llc.acks == bit(packet.src),
        When::OneAck => llc.acks != bit(packet.src),
        _ => false,
    })
}
