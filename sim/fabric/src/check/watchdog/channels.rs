//! The channels of a design, found by the names of its units' ports: `P_valid` and `P_ready`.

use weft_engine::{Design, Driver, Sim};
use weft_rtl::bv::limbs_for;
use weft_rtl::ir::LeafType;
use weft_rtl::netlist::{NetOp, NetPort};

/// Limbs in the state of a unit.
#[derive(Clone, Copy, Debug)]
struct Place {
    unit: usize,
    at: usize,
    limbs: usize,
}

impl Place {
    fn read(self, sim: &Sim) -> &[u64] {
        &sim.state(self.unit)[self.at..][..self.limbs]
    }
}

/// One end of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A unit and the name of its port.
    Unit { unit: usize, path: String, port: String },
    /// A port of the whole design: the models outside.
    Port(String),
}

impl End {
    pub fn unit(&self) -> Option<usize> {
        match self {
            End::Unit { unit, .. } => Some(*unit),
            End::Port(_) => None,
        }
    }

    fn who(&self) -> String {
        match self {
            End::Unit { path, .. } if path.is_empty() => "the block".to_string(),
            End::Unit { path, .. } => path.clone(),
            End::Port(_) => "the model outside".to_string(),
        }
    }

    pub fn port(&self) -> &str {
        match self {
            End::Unit { port, .. } | End::Port(port) => port,
        }
    }
}

/// A field of the message.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub name: String,
    pub ty: LeafType,
    pub width: u32,
    place: Place,
}

/// A channel between two units, or between a unit and the outside.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub from: End,
    pub to: End,
    valid: Place,
    /// None of a wire, on which a message goes over whenever it is offered.
    ready: Option<Place>,
    pub leaves: Vec<Leaf>,
}

/// Ports of one unit with where their values lie.
struct Ports<'a> {
    design: &'a Design,
    unit: usize,
}

impl Ports<'_> {
    fn output(&self, name: &str) -> Option<usize> {
        self.netlist().outputs.iter().position(|p| p.name == name)
    }

    fn netlist(&self) -> &weft_rtl::netlist::Netlist {
        &self.design.types[self.design.units[self.unit].ty].netlist
    }

    fn input_place(&self, number: usize) -> Place {
        let ty = &self.design.types[self.design.units[self.unit].ty];
        let limbs = limbs_for(ty.netlist.inputs[number].width);
        Place { unit: self.unit, at: ty.layout.inputs[number], limbs }
    }

    /// Place of an output that is a register.
    fn output_place(&self, number: usize) -> Option<Place> {
        let ty = &self.design.types[self.design.units[self.unit].ty];
        let port = &ty.netlist.outputs[number];
        match ty.netlist.node(port.node).op {
            NetOp::Reg(reg) => Some(Place {
                unit: self.unit,
                at: ty.layout.regs[reg as usize],
                limbs: limbs_for(port.width),
            }),
            _ => None,
        }
    }

    fn end(&self, port: &str) -> End {
        let path = self.design.units[self.unit].path.clone();
        End::Unit { unit: self.unit, path, port: port.to_string() }
    }
}

fn leaves<'a>(
    ports: impl Iterator<Item = (usize, &'a NetPort)>,
    channel: &str,
    place: &dyn Fn(usize) -> Option<Place>,
) -> Vec<Leaf> {
    let field = |(number, port): (usize, &NetPort)| {
        let name = port.name.strip_prefix(channel)?.strip_prefix('_')?;
        // What ends so belongs to another channel, whose name begins with that of this one.
        if ["valid", "ready"].iter().any(|end| name == *end || name.ends_with(&format!("_{end}"))) {
            return None;
        }
        Some(Leaf { name: name.to_string(), ty: port.ty.clone(), width: port.width, place: place(number)? })
    };
    ports.filter_map(field).collect()
}

/// All channels of a design.
pub(crate) fn find(design: &Design) -> Vec<Channel> {
    let mut out = Vec::new();
    for unit in 0..design.units.len() {
        let ports = Ports { design, unit };
        let netlist = ports.netlist();
        for (number, port) in netlist.inputs.iter().enumerate() {
            if let Some(name) = port.name.strip_suffix("_valid") {
                out.extend(receiving(&ports, name, number));
            } else if let Some(name) = port.name.strip_suffix("_ready")
                && let Driver::Top(top) = design.driver(unit, number)
            {
                out.extend(leaving(&ports, name, number, &design.inputs[top].name));
            }
        }
    }
    out
}

/// The wires of a design: ports `P_valid` and fields of a message between two units, without `P_ready`. The ends of chip-to-chip links, which have credits, are joined so.
pub(crate) fn wires(design: &Design) -> Vec<Channel> {
    let mut out = Vec::new();
    for unit in 0..design.units.len() {
        let ports = Ports { design, unit };
        for (number, port) in ports.netlist().inputs.iter().enumerate() {
            let Some(name) = port.name.strip_suffix("_valid") else { continue };
            if ports.output(&format!("{name}_ready")).is_none()
                && matches!(design.driver(unit, number), Driver::Unit { .. })
            {
                out.extend(joined(&ports, name, number, None).filter(|wire| !wire.leaves.is_empty()));
            }
        }
    }
    out
}

/// The channel that a unit receives as `name`.
fn receiving(ports: &Ports, name: &str, valid: usize) -> Option<Channel> {
    let ready = Some(ports.output_place(ports.output(&format!("{name}_ready"))?)?);
    joined(ports, name, valid, ready)
}

/// A channel that a unit receives as `name`, by what drives its `valid`.
fn joined(ports: &Ports, name: &str, valid: usize, ready: Option<Place>) -> Option<Channel> {
    let strip = |port: &str| port.strip_suffix("_valid").unwrap_or(port).to_string();
    let from = match ports.design.driver(ports.unit, valid) {
        Driver::Const => return None,
        Driver::Top(number) => End::Port(strip(&ports.design.inputs[number].name)),
        Driver::Unit { unit, output } => {
            let sender = Ports { design: ports.design, unit };
            sender.end(&strip(&sender.netlist().outputs[output].name))
        }
    };
    let inputs = ports.netlist().inputs.iter().enumerate();
    Some(Channel {
        from,
        to: ports.end(name),
        valid: ports.input_place(valid),
        ready,
        leaves: leaves(inputs, name, &|number| Some(ports.input_place(number))),
    })
}

/// The channel that a unit sends as `name` to the outside.
fn leaving(ports: &Ports, name: &str, ready: usize, top: &str) -> Option<Channel> {
    let valid = ports.output_place(ports.output(&format!("{name}_valid"))?)?;
    let outputs = ports.netlist().outputs.iter().enumerate();
    Some(Channel {
        from: ports.end(name),
        to: End::Port(top.strip_suffix("_ready").unwrap_or(top).to_string()),
        valid,
        ready: Some(ports.input_place(ready)),
        leaves: leaves(outputs, name, &|number| ports.output_place(number)),
    })
}

impl Channel {
    /// A message is offered and not taken.
    pub fn blocked(&self, sim: &Sim) -> bool {
        self.valid.read(sim)[0] == 1 && self.ready.is_some_and(|ready| ready.read(sim)[0] == 0)
    }

    /// A message is offered and taken.
    #[inline]
    pub fn transfers(&self, sim: &Sim) -> bool {
        self.valid.read(sim)[0] == 1 && self.ready.is_none_or(|ready| ready.read(sim)[0] == 1)
    }

    /// A number that tells the message from others.
    pub fn hash(&self, sim: &Sim) -> u64 {
        let limbs = self.leaves.iter().flat_map(|leaf| leaf.place.read(sim));
        limbs.fold(0xcbf2_9ce4_8422_2325, |hash, limb| {
            let mixed = (hash ^ limb).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ (mixed >> 29)
        })
    }

    /// Who holds what, for whom, since when.
    pub fn sentence(&self, sim: &Sim, since: u64, line: u64) -> String {
        let wide = |leaf: &&Leaf| leaf.width <= 64 && !["mask", "cmp", "data"].contains(&leaf.name.as_str());
        let fields: Vec<String> =
            self.leaves.iter().filter(wide).map(|leaf| leaf.describe(sim, line)).collect();
        let message = if fields.is_empty() { "a message".to_string() } else { fields.join(", ") };
        let (from, to) = (self.from.who(), self.to.who());
        let same = self.from.port() == self.to.port();
        let into = if same { String::new() } else { format!(" as {}", self.to.port()) };
        format!(
            "{from} holds {{{message}}} on its channel {} and waits for {to}, which has not taken it{into} since cycle {since} at the latest",
            self.from.port()
        )
    }
}

impl Leaf {
    /// Its value in limbs.
    pub fn read<'a>(&self, sim: &'a Sim) -> &'a [u64] {
        self.place.read(sim)
    }

    fn describe(&self, sim: &Sim, line: u64) -> String {
        let value = self.place.read(sim)[0];
        match &self.ty {
            LeafType::Enum(e) => {
                let name = e.variants.iter().find(|(_, code)| *code == value).map(|(name, _)| name.as_str());
                format!("{} {}", self.name, name.unwrap_or("unknown"))
            }
            _ if self.name == "line" => format!("line {:#x}", value * line),
            _ => format!("{} {value}", self.name),
        }
    }
}
