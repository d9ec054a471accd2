//! What holds state beside memories, and the statements that load it.

use crate::maker::Maker;
use rand::Rng;
use weft_rtl::prelude::*;

/// An enumeration with a gap.
#[derive(HwEnum, Clone, Copy, PartialEq, Debug)]
pub enum Phase {
    /// At reset.
    Clear,
    /// Second.
    Idle,
    /// Third.
    Look,
    /// Behind the gap.
    Answer = 5,
}

/// An enumeration in a bundle.
#[derive(HwEnum, Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// At reset.
    Read,
    /// Second.
    Write,
    /// Behind a gap.
    Count = 4,
}

/// An enumeration wider than a word of 32 bits.
#[derive(HwEnum, Clone, Copy, PartialEq, Debug)]
#[hw(width = 33)]
pub enum Far {
    /// Zero.
    Here,
    /// The widest that has a discriminant on every machine.
    There = 0x7fff_ffff,
}

/// A bundle; its parameter is the width of the data in bits.
#[derive(Bundle, Clone)]
#[bundle(params = u32)]
pub struct Message {
    /// Enumeration.
    pub kind: Enum<Kind>,
    /// Truth value.
    pub urgent: Bool,
    /// Vector.
    #[width(*p)]
    pub data: Bits,
}

/// What statements drive.
pub enum Target {
    /// A register of bits.
    Vector(Reg<Bits>),
    /// A register of one truth value.
    Flag(Reg<Bool>),
    /// A register of an enumeration.
    Phase(Reg<Enum<Phase>>),
    /// A register of a bundle.
    Message(Reg<Message>),
    /// A wire.
    Wire(Wire<Bits>),
    /// A port that writes lanes.
    Lane(LaneWriter<Bits>, [u32; 3]),
    /// A port that writes rows.
    Row(RowWriter<Bits>, [u32; 3]),
    /// A port that writes bundles.
    Entry(LaneWriter<Message>, [u32; 3]),
    /// A read port of an SRAM of vectors, its address width, and what is low in reset.
    Look(SramPort<Bits>, u32, Bool),
    /// The receiving end of a channel.
    Take(InChannel<Message>),
    /// The sending end of a channel, and its width of data.
    Send(OutChannel<Message>, u32),
}

impl Maker {
    /// A value of an enumeration, which may be none of its variants.
    pub fn phase(&mut self) -> Enum<Phase> {
        match self.below(3) {
            0 => enum_lit(self.choose(Phase::VARIANTS)),
            _ => self.of(3).as_enum(),
        }
    }

    /// A value of a bundle.
    pub fn message(&mut self, data: u32) -> Message {
        Message { kind: self.of(3).as_enum(), urgent: self.flag(), data: self.of(data) }
    }

    fn add_message(&mut self, message: &Message) {
        [message.kind.bits(), message.urgent.bits(), message.data]
            .into_iter()
            .for_each(|leaf| self.add(leaf));
    }

    /// Registers of several kinds, and channels.
    pub fn registers(&mut self) -> Vec<Target> {
        let mut out = Vec::new();
        for _ in 0..1 + self.below(2) {
            let (width, name) = (self.width(), self.name("reg"));
            let reset = self.rng.random_range(0..=u64::MAX >> 64_u32.saturating_sub(width));
            let register = reg::<Bits>(&name, width);
            let register = if self.one_in(2) { register.reset(&[reset]) } else { register };
            self.add(register.get());
            out.push(Target::Vector(register));
        }
        if self.one_in(4) {
            let register = reg::<Enum<Phase>>("phase", ()).doc("What is done in this cycle.");
            self.add(register.get().bits());
            out.push(Target::Phase(register));
        }
        if self.one_in(4) {
            let register = output_reg::<Bool>("raised", ()).reset(&[1]);
            self.add(register.get().bits());
            out.push(Target::Flag(register));
        }
        if self.one_in(6) {
            let register = reg::<Message>("kept", 1 + self.below(80)).field("kept");
            self.add_message(&register.get());
            out.push(Target::Message(register));
        }
        if self.one_in(10) {
            out.extend(self.channels());
        }
        out
    }

    fn channels(&mut self) -> [Target; 2] {
        let (width, sent) = (1 + self.below(40), 1 + self.below(40));
        let asked = in_channel::<Message>("asked", &width);
        self.add_message(&asked.msg);
        self.add(asked.valid.bits());
        let told = out_channel::<Message>("told", &sent);
        self.add(told.free.bits());
        [Target::Take(asked), Target::Send(told, sent)]
    }

    /// A wire that may depend on what there is so far.
    pub fn wire(&mut self) {
        let (width, name) = (self.width(), self.name("wire"));
        let made = match self.below(3) {
            0 => wire_zero::<Bits>(&name, width),
            1 => wire_or::<Bits>(&name, width, self.of(width)),
            _ => {
                let made = wire::<Bits>(&name, width);
                let (cond, yes, no) = (self.flag(), self.of(width), self.of(width));
                when(cond, || {
                    made.set(yes);
                    self.statements(&[Target::Wire(made.clone())], 1);
                })
                .otherwise(|| made.set(no));
                return self.add(made.get());
            }
        };
        let cond = self.flag();
        when(cond, || self.statements(&[Target::Wire(made.clone())], 2));
        self.add(made.get());
    }

    /// Statements that drive all targets; what comes later wins.
    pub fn loads(&mut self, targets: &[Target]) {
        let first = self.flag();
        when(first, || targets.iter().for_each(|target| self.drive(target)));
        let (run, other, depth) = (self.flag(), self.flag(), self.below(3));
        let chain = when(run, || self.statements(targets, depth));
        match self.below(3) {
            0 => {}
            1 => chain.otherwise(|| self.statements(targets, 1)),
            _ => chain
                .elsewhen(other, || self.statements(targets, 1))
                .otherwise(|| self.statements(targets, 0)),
        }
    }

    fn statements(&mut self, targets: &[Target], depth: u32) {
        for _ in 0..1 + self.below(2) {
            match self.below(if depth == 0 { 3 } else { 6 }) {
                0..=2 => {
                    let at = self.below(targets.len() as u32) as usize;
                    self.drive(&targets[at]);
                }
                3 => {
                    let cond = self.flag();
                    let chain = when(cond, || self.statements(targets, depth - 1));
                    if self.one_in(2) {
                        chain.otherwise(|| self.statements(targets, depth - 1));
                    }
                }
                4 => {
                    let phase = self.phase();
                    switch(phase, |arms| {
                        arms.case(Phase::Idle, || self.statements(targets, depth - 1));
                        arms.cases(&[Phase::Clear, Phase::Answer], || self.statements(targets, depth - 1));
                    });
                }
                _ => self.numbered(targets, depth - 1),
            }
        }
    }

    /// A choice by a number of any width, of which few values have an arm.
    fn numbered(&mut self, targets: &[Target], depth: u32) {
        let sel = match self.below(3) {
            0 => self.any(),
            _ => self.of(3),
        };
        // Values that fit any selector, and values that fit this one.
        let most = u64::MAX >> 64_u32.saturating_sub(sel.width());
        switch_bits(sel, |arms| {
            arms.case(0_u64, || self.statements(targets, depth));
            if most >= 5 {
                arms.cases(&[1_u64, 4], || self.statements(targets, depth));
                arms.case(most, || self.statements(targets, depth));
            }
            if self.one_in(2) {
                arms.default(|| self.statements(targets, depth));
            }
        });
    }

    fn drive(&mut self, target: &Target) {
        match target {
            Target::Vector(register) => register.set(self.of(*register.shape())),
            Target::Flag(register) => register.set(self.flag()),
            Target::Phase(register) if self.one_in(2) => register.set(self.choose(Phase::VARIANTS)),
            Target::Phase(register) => register.set(self.phase()),
            Target::Message(register) => register.set(self.message(*register.shape())),
            Target::Wire(wire) => wire.set(self.of(*wire.shape())),
            Target::Lane(port, [addr, lane, width]) => {
                let value = self.of(*width);
                port.write_lane(self.of(*addr), self.of(*lane), &value);
            }
            Target::Row(port, [addr, lanes, width]) => {
                let (addr, mask) = (self.of(*addr), self.of(*lanes));
                match self.below(3) {
                    0 => port.write_packed(addr, mask, self.any().resize(width * lanes)),
                    kind => {
                        let row: Vec<Bits> = (0..*lanes).map(|_| self.of(*width)).collect();
                        if kind == 1 { port.write(addr, &row) } else { port.write_masked(addr, mask, &row) }
                    }
                }
            }
            Target::Entry(port, [addr, lane, data]) => {
                let value = self.message(*data);
                port.write_lane(self.of(*addr), self.of(*lane), &value);
            }
            Target::Look(port, addr, awake) => port.present(mux(*awake, self.of(*addr), lit(0, *addr))),
            Target::Take(channel) => {
                when(channel.valid & self.flag(), || channel.take());
            }
            Target::Send(channel, data) => {
                let message = self.message(*data);
                when(channel.free & self.flag(), || channel.send(&message));
            }
        }
    }
}
