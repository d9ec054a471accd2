//! A state of the abstract system, and its compact form: one number of 32 bits per device, two for the LLC and the bookkeeping of values, one per message.
//!
//! Fields that a protocol does not use stay at their reset value, and a message carries only what its receiver looks at: two states differ only where the
//! protocol can tell.

/// Most devices.
pub const DEVICES: usize = 4;
/// Number of the LLC among the nodes; devices are 0, 1, ..
pub const LLC: u8 = 6;
/// No node.
pub const NONE: u8 = 7;
/// Messages that the network can hold, per device: more is an error of the search, not of the protocol.
const MESSAGES: usize = 5;

/// A device and its one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// State, stable or transient: an index into the protocol's list (5 bits).
    pub state: u8,
    /// Requestor of the delayed fwd ReqV, or none (3 bits).
    pub delayed: u8,
    /// Ownership-removing forward that was recorded: 0 none, [`ANSWERED`], or the message that still waits for its answer (6 bits).
    pub removal: u8,
    /// Its requestor (3 bits).
    pub remover: u8,
    /// Acknowledgements that are still to come; below 0 if they are early (4 bits).
    pub acks: i8,
    /// Data of the copy, of the store that is on its way, or of the write-back buffer (1 bit).
    pub value: bool,
    /// Values that the outstanding read may return, a set (2 bits); 0 without one.
    pub legal: u8,
}

/// A recorded removal that was answered at once.
pub const ANSWERED: u8 = 63;

/// The line's entry in the LLC, and its transaction entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Llc {
    /// State: an index into the protocol's list (5 bits).
    pub state: u8,
    /// Owner, or none (3 bits).
    pub owner: u8,
    /// Sharers, a set (4 bits).
    pub sharers: u8,
    /// Devices whose acknowledgement is awaited, a set (4 bits).
    pub acks: u8,
    /// Request that blocks the line, or 0 (6 bits).
    pub request: u8,
    /// Its requestor (3 bits).
    pub requestor: u8,
    /// Its data (1 bit).
    pub data: bool,
    /// Data of the line (1 bit).
    pub value: bool,
}

/// What no hardware knows: the judge's view of the values (see [`crate::values`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judge {
    /// Value of the last write in the order of coherence.
    pub latest: bool,
    /// Values that a read may return that is issued now, a set (2 bits).
    pub now: u8,
    /// Device whose write is the last one and not yet complete, or none (3 bits).
    pub writer: u8,
    /// Devices whose ownership, granted or on its way, no later write has overtaken, a set (4 bits).
    pub alive: u8,
}

/// A message in the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// What it says, from 1: an index into the protocol's list (6 bits).
    pub op: u8,
    /// Receiver (3 bits).
    pub dst: u8,
    /// Sender, if the LLC receives it, else none (3 bits).
    pub src: u8,
    /// Whom the receiver shall answer, if it shall, else none (3 bits).
    pub req: u8,
    /// Acknowledgements that the receiver has to wait for (3 bits).
    pub count: u8,
    /// Data (1 bit).
    pub value: bool,
}

/// A state of the whole system. The messages are a multiset, kept in the order of their numbers: the network keeps no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Devices in use.
    pub devices: usize,
    /// Devices.
    pub device: [Device; DEVICES],
    /// LLC.
    pub llc: Llc,
    /// Judge.
    pub judge: Judge,
    /// Messages under way.
    pub net: Vec<Packet>,
}

impl Packet {
    /// As a number, never 0.
    pub fn pack(self) -> u32 {
        let Packet { op, dst, src, req, count, value } = self;
        fields(&[(op, 6), (dst, 3), (src, 3), (req, 3), (count, 3), (u8::from(value), 1)])
    }
    /// From a number.
    pub fn unpack(number: u32) -> Packet {
        let mut rest = number;
        Packet {
            op: take(&mut rest, 6),
            dst: take(&mut rest, 3),
            src: take(&mut rest, 3),
            req: take(&mut rest, 3),
            count: take(&mut rest, 3),
            value: take(&mut rest, 1) != 0,
        }
    }
}

impl Device {
    /// At rest in a state.
    pub fn new(state: u8) -> Device {
        Device { state, delayed: NONE, removal: 0, remover: NONE, acks: 0, value: false, legal: 0 }
    }
    fn pack(&self) -> u32 {
        let acks = (self.acks + 8) as u8;
        let (value, legal) = (u8::from(self.value), self.legal);
        fields(&[
            (self.state, 5),
            (self.delayed, 3),
            (self.removal, 6),
            (self.remover, 3),
            (acks, 4),
            (value, 1),
            (legal, 2),
        ])
    }
    fn unpack(number: u32) -> Device {
        let mut rest = number;
        Device {
            state: take(&mut rest, 5),
            delayed: take(&mut rest, 3),
            removal: take(&mut rest, 6),
            remover: take(&mut rest, 3),
            acks: take(&mut rest, 4) as i8 - 8,
            value: take(&mut rest, 1) != 0,
            legal: take(&mut rest, 2),
        }
    }
}

impl Llc {
    /// At rest in a state.
    pub fn new(state: u8) -> Llc {
        Llc {
            state,
            owner: NONE,
            sharers: 0,
            acks: 0,
            request: 0,
            requestor: NONE,
            data: false,
            value: false,
        }
    }
    fn pack(&self) -> u32 {
        let (data, value) = (u8::from(self.data), u8::from(self.value));
        fields(&[
            (self.state, 5),
            (self.owner, 3),
            (self.sharers, 4),
            (self.acks, 4),
            (self.request, 6),
            (self.requestor, 3),
            (data, 1),
            (value, 1),
        ])
    }
    fn unpack(number: u32) -> Llc {
        let mut rest = number;
        Llc {
            state: take(&mut rest, 5),
            owner: take(&mut rest, 3),
            sharers: take(&mut rest, 4),
            acks: take(&mut rest, 4),
            request: take(&mut rest, 6),
            requestor: take(&mut rest, 3),
            data: take(&mut rest, 1) != 0,
            value: take(&mut rest, 1) != 0,
        }
    }
}

impl Judge {
    fn pack(&self) -> u32 {
        fields(&[(u8::from(self.latest), 1), (self.now, 2), (self.writer, 3), (self.alive, 4)])
    }
    fn unpack(number: u32) -> Judge {
        let mut rest = number;
        Judge {
            latest: take(&mut rest, 1) != 0,
            now: take(&mut rest, 2),
            writer: take(&mut rest, 3),
            alive: take(&mut rest, 4),
        }
    }
}

/// Fields side by side, the first one lowest.
fn fields(fields: &[(u8, u32)]) -> u32 {
    let mut at = 0;
    fields.iter().fold(0, |number, (value, bits)| {
        debug_assert!(u32::from(*value) < 1 << bits, "{value} does not fit {bits} bits");
        let number = number | u32::from(*value) << at;
        at += bits;
        number
    })
}

fn take(rest: &mut u32, bits: u32) -> u8 {
    let value = *rest & ((1 << bits) - 1);
    *rest >>= bits;
    value as u8
}

impl State {
    /// Numbers that a state of so many devices takes.
    pub fn width(devices: usize) -> usize {
        devices + 2 + MESSAGES * devices
    }

    /// The compact form.
    ///
    /// # Errors
    /// More messages than the network holds.
    pub fn pack(&self) -> Result<Box<[u32]>, String> {
        let most = MESSAGES * self.devices;
        if self.net.len() > most {
            return Err(format!("more than {most} messages are under way"));
        }
        let mut out = vec![0; State::width(self.devices)].into_boxed_slice();
        for (to, device) in out.iter_mut().zip(&self.device[..self.devices]) {
            *to = device.pack();
        }
        out[self.devices] = self.llc.pack();
        out[self.devices + 1] = self.judge.pack();
        let net = &mut out[self.devices + 2..];
        for (to, packet) in net.iter_mut().zip(&self.net) {
            *to = packet.pack();
        }
        net[..self.net.len()].sort_unstable();
        Ok(out)
    }

    /// From the compact form.
    pub fn unpack(numbers: &[u32], devices: usize) -> State {
        let mut device = [Device::new(0); DEVICES];
        for (to, number) in device.iter_mut().zip(&numbers[..devices]) {
            *to = Device::unpack(*number);
        }
        let llc = Llc::unpack(numbers[devices]);
        let judge = Judge::unpack(numbers[devices + 1]);
        let net = numbers[devices + 2..].iter().take_while(|number| **number != 0);
        State { devices, device, llc, judge, net: net.map(|number| Packet::unpack(*number)).collect() }
    }

    /// The same state with device `i` under the number `to[i]`.
    pub fn renamed(&self, to: &[u8]) -> State {
        let name = |node: u8| to.get(usize::from(node)).copied().unwrap_or(node);
        let set = |devices: u8| {
            (0..self.devices).filter(|i| devices >> i & 1 != 0).fold(0, |all, i| all | 1 << to[i])
        };
        let mut other = self.clone();
        for (from, number) in to.iter().enumerate() {
            let device = self.device[from];
            other.device[usize::from(*number)] =
                Device { delayed: name(device.delayed), remover: name(device.remover), ..device };
        }
        let llc = &self.llc;
        other.llc = Llc {
            owner: name(llc.owner),
            requestor: name(llc.requestor),
            sharers: set(llc.sharers),
            acks: set(llc.acks),
            ..*llc
        };
        other.judge = Judge { writer: name(self.judge.writer), alive: set(self.judge.alive), ..self.judge };
        for packet in &mut other.net {
            *packet =
                Packet { dst: name(packet.dst), src: name(packet.src), req: name(packet.req), ..*packet };
        }
        other
    }

    /// Of all namings of the devices the one with the smallest compact form: form and naming.
    ///
    /// # Errors
    /// As [`State::pack`].
    pub fn smallest<'a>(&self, namings: &'a [Vec<u8>]) -> Result<(Box<[u32]>, &'a [u8]), String> {
        let mut best: Option<(Box<[u32]>, &[u8])> = None;
        for naming in namings {
            let form = self.renamed(naming).pack()?;
            if best.as_ref().is_none_or(|(smallest, _)| form < *smallest) {
                best = Some((form, naming));
            }
        }
        Ok(best.expect("there is a naming of any number of devices"))
    }
}

/// Every way to number the devices.
pub fn namings(devices: usize) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = vec![Vec::new()];
    for next in 0..devices as u8 {
        let longer = all.iter().flat_map(|naming| {
            (0..=naming.len()).map(move |at| {
                let mut naming = naming.clone();
                naming.insert(at, next);
                naming
            })
        });
        all = longer.collect();
    }
    all
}
