//! What of a design is recorded, and how the head of a log describes it.

use super::{Counted, INTERVAL, Rows, Tapped};
use crate::check::watchdog::channels::{self, Channel, End, Leaf};
use crate::family::Hardware;
use crate::placement::PageTable;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_engine::Design;
use weft_events::{Actor, Array, Block, Field, Header, Meter, Row};
use weft_rtl::ir::{EnumType, LeafType, ProbeKind};
use weft_workload::Program;

/// Widest field that is recorded: masks are, data is not.
const WIDEST: u32 = 128;

/// Operations about no line, whatever stands in their field for one: fences, and what is meant for a whole cache.
const LINELESS: [&str; 12] = [
    "REL",
    "ACQ",
    "KBEGIN",
    "KEND",
    "FENCE",
    "TOKEN",
    "TOKENREL",
    "TOKEN_REL",
    "SYSFLUSH",
    "SYS_FLUSH",
    "SYSINV",
    "SYS_INV",
];

/// The design as the head of a log describes it.
pub(super) struct Survey<'a> {
    design: &'a Arc<Design>,
    hardware: &'a dyn Hardware,
    pub header: Header,
    enums: Vec<Arc<EnumType>>,
    /// Numbers of the models around it.
    outside: BTreeMap<String, u32>,
}

impl Survey<'_> {
    pub fn new<'a>(design: &'a Arc<Design>, hardware: &'a dyn Hardware) -> Survey<'a> {
        let actor =
            |unit: &weft_engine::design::Unit| Actor { name: unit.path.clone(), block: Some(unit.ty as u32) };
        let covers = |ty: &weft_engine::design::UnitType| {
            let covers = ty.netlist.probes.iter().filter(|p| p.kind == ProbeKind::Cover);
            let rows = covers.map(|p| Row { id: p.name.clone(), text: p.text.clone() });
            Block { module: ty.module.name.clone(), rows: rows.collect() }
        };
        let header = Header {
            fabric: String::new(),
            workload: String::new(),
            seed: None,
            setup: serde_json::Value::Null,
            config: serde_json::Value::Null,
            line: 0,
            group: 1,
            from: 0,
            to: 0,
            scope: Vec::new(),
            interval: INTERVAL,
            actors: design.units.iter().map(actor).collect(),
            blocks: design.types.iter().map(covers).collect(),
            channels: Vec::new(),
            enums: Vec::new(),
            meters: Vec::new(),
            arrays: Vec::new(),
        };
        Survey { design, hardware, header, enums: Vec::new(), outside: BTreeMap::new() }
    }

    /// The channels that one of the wanted blocks is at, by the unit that takes part in every transfer.
    pub fn channels(&mut self, wanted: &dyn Fn(&str) -> bool) -> Vec<(usize, Vec<Tapped>)> {
        let mut out: BTreeMap<usize, Vec<Tapped>> = BTreeMap::new();
        for channel in channels::find(self.design).into_iter().chain(channels::wires(self.design)) {
            let at = |end: &End| end.unit().is_some_and(|unit| wanted(&self.design.units[unit].path));
            if !at(&channel.from) && !at(&channel.to) {
                continue;
            }
            let unit = channel.to.unit().or(channel.from.unit()).expect("one end is a block");
            let tapped = self.tap(channel);
            out.entry(unit).or_default().push(tapped);
        }
        out.into_iter().collect()
    }

    fn tap(&mut self, channel: Channel) -> Tapped {
        let recorded = |leaf: &Leaf| leaf.width <= WIDEST && !leaf.name.ends_with("data");
        let leaves: Vec<usize> =
            (0..channel.leaves.len()).filter(|n| recorded(&channel.leaves[*n])).collect();
        let last = |leaf: &Leaf| leaf.name.rsplit('_').next().unwrap_or_default().to_string();
        let find = |name: &str| channel.leaves.iter().position(|leaf| last(leaf) == name);
        let bits = self.hardware.shape().line.trailing_zeros();
        let line = find("line").map(|n| (n, 0)).or(find("addr").map(|n| (n, bits)));
        let place = [&channel.to, &channel.from].into_iter().find(|end| end.unit().is_some());
        let path =
            place.and_then(|end| Some(format!("{}.{}", self.design.units[end.unit()?].path, end.port())));
        let path = path.unwrap_or_default();
        let width = line.map_or(0, |(n, shift)| channel.leaves[n].width - shift.min(channel.leaves[n].width));
        let whole = line.and_then(|_| self.hardware.whole_line(&path, width));
        let fields = leaves.iter().map(|n| self.field(&channel.leaves[*n])).collect();
        let at = |end: &End, survey: &mut Self| (survey.actor(end), end.port().to_string());
        let ((from, from_port), (to, to_port)) = (at(&channel.from, self), at(&channel.to, self));
        let operation = |leaf: &Leaf| match &leaf.ty {
            LeafType::Enum(ty) if matches!(last(leaf).as_str(), "op" | "kind") => Some(ty.clone()),
            _ => None,
        };
        let lineless = channel.leaves.iter().enumerate().find_map(|(n, leaf)| Some((n, operation(leaf)?)));
        let lineless = lineless.map(|(n, ty)| {
            let codes = ty.variants.iter().filter(|(name, _)| LINELESS.contains(&name.as_str()));
            (n, codes.map(|(_, code)| *code).collect())
        });
        let number = self.header.channels.len() as u32;
        let of_line = line.and_then(|(n, _)| leaves.iter().position(|leaf| *leaf == n)).map(|n| n as u32);
        self.header.channels.push(weft_events::Channel {
            from,
            from_port,
            to,
            to_port,
            fields,
            line: of_line,
        });
        Tapped { number, leaves, line, lineless, dst: find("dst"), whole, channel }
    }

    fn field(&mut self, leaf: &Leaf) -> Field {
        let names = match &leaf.ty {
            LeafType::Enum(ty) => Some(self.names(ty)),
            LeafType::Bits | LeafType::Bool => None,
        };
        Field { name: leaf.name.clone(), width: leaf.width, names }
    }

    fn names(&mut self, ty: &Arc<EnumType>) -> u32 {
        let found = self.enums.iter().position(|known| known == ty);
        let number = found.unwrap_or_else(|| {
            self.enums.push(ty.clone());
            self.header.enums.push(ty.variants.clone());
            self.enums.len() - 1
        });
        number as u32
    }

    /// A block, or the model whose ports these are: what `g0_cu1_req` and `g0_cu1_rsp` belong to is `g0_cu1`.
    fn actor(&mut self, end: &End) -> u32 {
        match end {
            End::Unit { unit, .. } => *unit as u32,
            End::Port(port) => {
                let name = port.rsplit_once('_').map_or(port.as_str(), |(model, _)| model);
                let next = self.header.actors.len() as u32;
                let number = *self.outside.entry(name.to_string()).or_insert(next);
                if number == next {
                    self.header.actors.push(Actor { name: name.to_string(), block: None });
                }
                number
            }
        }
    }

    /// Counters of bytes: those whose name says so, of all bytes and not of a part that is counted again.
    pub fn meters(&mut self, wanted: &dyn Fn(&str) -> bool) -> Vec<Counted> {
        let mut out = Vec::new();
        for (unit, info) in self.design.units.iter().enumerate().filter(|(_, info)| wanted(&info.path)) {
            let ty = &self.design.types[info.ty];
            let per_cycle = ty.module.params.iter().find(|(name, _)| name.ends_with("bytes_per_cycle"));
            let per_cycle = per_cycle.and_then(|(_, value)| value.parse().ok());
            for (number, probe) in ty.netlist.probes.iter().enumerate() {
                let bytes = probe.name.contains("bytes") && probe.name != "bytes_wrreq";
                if probe.kind == ProbeKind::Count && probe.amount.is_some() && bytes {
                    let (actor, name) = (unit as u32, probe.name.clone());
                    self.header.meters.push(Meter { actor, name, per_cycle });
                    out.push(Counted { unit, at: ty.layout.probes + number, before: 0 });
                }
            }
        }
        out
    }

    pub fn rows(&self) -> Vec<Rows> {
        let of = |unit: &weft_engine::design::Unit| {
            let netlist = &self.design.types[unit.ty].netlist;
            let covers = netlist.probes.iter().enumerate().filter(|(_, p)| p.kind == ProbeKind::Cover);
            let mut rows = Rows { of_probe: BTreeMap::new(), whole: BTreeMap::new() };
            for (row, (probe, info)) in covers.enumerate() {
                let width = info.about.map_or(0, |line| netlist.node(line).width);
                rows.of_probe.insert(probe, row as u32);
                // Parts of a unit may know different parts of memory.
                let path = format!("{}.{}", unit.path, info.scope);
                if let Some(whole) = self.hardware.whole_line(&path, width).filter(|_| width > 0) {
                    rows.whole.insert(probe, whole);
                }
            }
            rows
        };
        self.design.units.iter().map(of).collect()
    }
}

/// Where the arrays lie whose places are known from the start.
pub(super) fn arrays(program: &dyn Program, table: &PageTable) -> Vec<Array> {
    let mut out: Vec<Array> = Vec::new();
    for array in program.arrays() {
        table.for_pieces(array.addr, array.bytes() as usize, |at, range| {
            let Some(at) = at else { return };
            let (offset, bytes) = (range.start as u64, range.len() as u64);
            match out.last_mut() {
                Some(last) if last.name == array.name && last.at + last.bytes == at => last.bytes += bytes,
                _ => out.push(Array { name: array.name.clone(), element: array.element, offset, at, bytes }),
            }
        });
    }
    out
}
