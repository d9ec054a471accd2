//! Channels at the boundary of a fabric, as behavioural models see them.

use crate::port::{PortError, input, output};
use serde::{Deserialize, Serialize};
use weft_engine::{InPort, OutPort, PinList, Pins, Sim};

/// A channel into the fabric: the model drives valid and the message, the fabric answers with ready.
#[derive(Clone, Debug)]
pub struct Sender<const N: usize> {
    valid: InPort,
    ready: OutPort,
    fields: [InPort; N],
    s: SenderState,
}

/// What changes in a [`Sender`], to be saved and put back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderState {
    /// A message is offered and not yet taken.
    offering: bool,
    /// Valid is driven.
    driving: bool,
}

impl<const N: usize> Sender<N> {
    /// The channel `name` with these fields.
    ///
    /// # Errors
    /// A port that the design lacks.
    pub fn new(sim: &Sim, name: &str, fields: [&str; N]) -> Result<Sender<N>, PortError> {
        let valid = input(sim, &format!("{name}_valid"))?;
        let mut ports = [valid; N];
        for (port, field) in ports.iter_mut().zip(fields) {
            *port = input(sim, &format!("{name}_{field}"))?;
        }
        let ready = output(sim, &format!("{name}_ready"))?;
        Ok(Sender { valid, ready, fields: ports, s: SenderState::default() })
    }

    /// Offers a message in the present cycle, by its fields' limbs; true when the fabric takes it. The same message must be offered until then.
    pub fn offer(&mut self, sim: &mut impl Pins, message: [&[u64]; N]) -> bool {
        if !self.s.offering {
            for (port, limbs) in self.fields.iter().zip(message) {
                sim.set_limbs(*port, limbs);
            }
            sim.set(self.valid, 1);
            self.s.driving = true;
        }
        let taken = self.taken(sim);
        self.s.offering = !taken;
        taken
    }

    /// Whether the fabric takes what is offered in the present cycle.
    #[inline]
    pub fn taken(&self, sim: &mut impl Pins) -> bool {
        sim.get(self.ready) == 1
    }

    /// Offers nothing in the present cycle.
    pub fn rest(&mut self, sim: &mut impl Pins) {
        if self.s.driving {
            sim.set(self.valid, 0);
            self.s.driving = false;
        }
    }

    /// Its ports.
    pub fn pins(&self) -> PinList {
        let inputs = self.fields.iter().copied().chain([self.valid]).collect();
        PinList { inputs, outputs: vec![self.ready] }
    }

    /// A message has been offered and not yet taken.
    pub fn offering(&self) -> bool {
        self.s.offering
    }

    /// Valid is driven: the next cycle needs another message or [`Sender::rest`].
    pub fn driving(&self) -> bool {
        self.s.driving
    }

    /// What has to be saved.
    pub fn state(&self) -> SenderState {
        self.s
    }

    /// Goes on from what [`Sender::state`] gave; what it drives is part of the simulation's own state.
    pub fn resume(&mut self, state: SenderState) {
        self.s = state;
    }
}

/// A channel out of the fabric that the model always accepts.
#[derive(Clone, Debug)]
pub struct Receiver<const N: usize> {
    valid: OutPort,
    fields: [OutPort; N],
}

impl<const N: usize> Receiver<N> {
    /// The channel `name` with these fields, always ready.
    ///
    /// # Errors
    /// A port that the design lacks.
    pub fn new(sim: &mut Sim, name: &str, fields: [&str; N]) -> Result<Receiver<N>, PortError> {
        let valid = output(sim, &format!("{name}_valid"))?;
        let mut ports = [valid; N];
        for (port, field) in ports.iter_mut().zip(fields) {
            *port = output(sim, &format!("{name}_{field}"))?;
        }
        let ready = input(sim, &format!("{name}_ready"))?;
        sim.set(ready, 1);
        Ok(Receiver { valid, fields: ports })
    }

    /// Its ports, but for the one that is always driven.
    pub fn pins(&self) -> PinList {
        let outputs = self.fields.iter().copied().chain([self.valid]).collect();
        PinList { inputs: Vec::new(), outputs }
    }

    /// Whether a message is offered in the present cycle.
    #[inline]
    pub fn offered(&self, sim: &mut impl Pins) -> bool {
        sim.get(self.valid) == 1
    }

    /// A field of the offered message.
    #[inline]
    pub fn field<'a>(&self, sim: &'a impl Pins, number: usize) -> &'a [u64] {
        sim.limbs(self.fields[number])
    }
}
