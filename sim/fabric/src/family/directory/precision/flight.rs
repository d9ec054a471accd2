//! Messages in flight that excuse a copy that its home's directory does not track: invalidations on their way to the copy, the copy's own directory operation, the write
//! that installed it (rec.md section 7).
//!
//! They rest in the ends of channels (`P_valid`, `P_line`...), in queues, and in a few registers of directory and bank, which are found by name once.

use super::directory::Slice;
use super::places::{Finder, MemAt, RegAt, bits};
use std::collections::HashMap;
use weft_blocks::cache::l2::L2Params;
use weft_blocks::msg::{Cause, DirInv, DirOp, DirRecv, DirReq, InvKind, InvMsg, ReqKind, ReqMsg, Sys};
use weft_engine::Sim;
use weft_rtl::prelude::{Bool, Enum, HwEnum, leaves_of, width_of};

/// Which GPUs' copies of a line a message concerns.
#[derive(Clone, Copy, Debug)]
enum Whose {
    /// A register with one bit per GPU.
    Mask(RegAt),
    /// A register with a GPU's number.
    Number(RegAt),
    /// These GPUs, one bit each.
    Gpus(u64),
}

/// A condition: the register has one of these values.
#[derive(Clone, Copy, Debug)]
struct When {
    reg: RegAt,
    /// `None`: any but 0.
    is: Option<u64>,
}

/// A message held in registers.
#[derive(Clone, Debug)]
struct Held {
    all: Vec<When>,
    line: RegAt,
    grp: Group,
    whose: Whose,
}

/// Whether a message in registers concerns the group of its line.
#[derive(Clone, Copy, Debug)]
enum Group {
    Never,
    Always,
    If(RegAt),
}

impl From<Option<RegAt>> for Group {
    fn from(reg: Option<RegAt>) -> Group {
        reg.map_or(Group::Never, Group::If)
    }
}

/// Where the fields of a queue's rows lie.
#[derive(Clone, Copy, Debug)]
struct Fields {
    line: u32,
    line_bits: u32,
    /// First bit and width of a field, and the value it must have.
    kind: Option<(u32, u32, u64)>,
    grp: Rows,
    gpu: Of,
}

/// Which GPUs' copies a row concerns.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// First bit and width of a GPU's number.
    Number((u32, u32)),
    /// First bit and width of a mask with one bit per GPU.
    Mask((u32, u32)),
    /// These, one bit each.
    Gpus(u64),
}

/// Whether a row concerns the group of its line.
#[derive(Clone, Copy, Debug)]
enum Rows {
    Never,
    Always,
    /// If this bit is set.
    If(u32),
}

/// A queue of messages.
#[derive(Clone, Copy, Debug)]
struct Queue {
    rows: MemAt,
    head: RegAt,
    count: RegAt,
    fields: Fields,
}

/// All places.
#[derive(Clone, Debug)]
pub(super) struct Places {
    held: Vec<Held>,
    queues: Vec<Queue>,
}

/// Lines with messages in flight, and the GPUs that they concern, one bit each.
#[derive(Debug)]
pub(super) struct InFlight {
    lines: HashMap<u64, u64>,
    /// By line / lines of a group.
    groups: HashMap<u64, u64>,
    /// log2 of the lines of a group.
    group: u32,
    /// Messages found.
    pub messages: u64,
}

impl InFlight {
    /// Nothing found yet, in a fabric whose groups have this many lines, a power of two.
    pub fn new(lines: u32) -> InFlight {
        InFlight { lines: HashMap::new(), groups: HashMap::new(), group: lines.trailing_zeros(), messages: 0 }
    }

    pub fn add(&mut self, line: u64, group: bool, gpus: u64) {
        self.messages += 1;
        if group {
            *self.groups.entry(line >> self.group).or_default() |= gpus;
        } else {
            *self.lines.entry(line).or_default() |= gpus;
        }
    }

    /// Some message in flight concerns the copy of `line` in `gpu`.
    pub fn concerns(&self, line: u64, gpu: u32) -> bool {
        let of = |map: &HashMap<u64, u64>, key| map.get(&key).is_some_and(|gpus| gpus >> gpu & 1 == 1);
        of(&self.lines, line) || of(&self.groups, line >> self.group)
    }
}

/// First bit of a leaf of a packed message, and its width.
fn leaf<T: weft_rtl::prelude::Data<Shape = Sys>>(sys: &Sys, name: &str) -> (u32, u32) {
    let mut lo = 0;
    for leaf in leaves_of::<T>(sys, "") {
        if leaf.name == name {
            return (lo, leaf.width);
        }
        lo += leaf.width;
    }
    unreachable!("message without {name}")
}

impl Places {
    /// Finds everything that can hold such a message; `two_level`: GPU homes have directories.
    pub fn find(finder: Finder, sys: &Sys, two_level: bool) -> Places {
        let mut places = Places { held: Vec::new(), queues: Vec::new() };
        for unit in 0..finder.design.units.len() {
            let path = &finder.design.units[unit].path;
            let gpu = sys.node_of_path(path);
            for prefix in finder.lines(unit, sys.line_bits()) {
                places.held.extend(held(finder, unit, sys, gpu, &prefix));
                if let Some(gpu) = gpu.filter(|_| two_level) {
                    places.held.extend(held_atomics(finder, unit, sys, gpu, &prefix));
                }
            }
            for memory in finder.mems(unit) {
                places.queues.extend(queue(finder, unit, gpu, &memory, sys));
                if let Some(gpu) = gpu.filter(|_| two_level) {
                    places.queues.extend(queued_atomics(finder, unit, sys, gpu, &memory));
                }
            }
        }
        places
    }

    /// What is in flight now, in addition to `found`.
    pub fn collect(&self, sim: &Sim, found: &mut InFlight) {
        for held in &self.held {
            let met = |w: &When| {
                let value = w.reg.get(sim);
                w.is.map_or(value != 0, |is| value == is)
            };
            if held.all.iter().all(met) {
                let gpus = match held.whose {
                    Whose::Mask(reg) => reg.get(sim),
                    Whose::Number(reg) => 1 << reg.get(sim),
                    Whose::Gpus(gpus) => gpus,
                };
                let group = match held.grp {
                    Group::Never => false,
                    Group::Always => true,
                    Group::If(reg) => reg.get(sim) == 1,
                };
                found.add(held.line.get(sim), group, gpus);
            }
        }
        self.queues.iter().for_each(|queue| queue.collect(sim, found));
    }
}

impl Queue {
    fn collect(&self, sim: &Sim, found: &mut InFlight) {
        let (head, fields) = (self.head.get(sim) as u32, &self.fields);
        for i in 0..self.count.get(sim) as u32 {
            let row = self.rows.lane(sim, (head + i) % self.rows.rows, 0);
            if fields.kind.is_some_and(|(lo, width, is)| bits(row, lo, width) != is) {
                continue;
            }
            let gpus = match fields.gpu {
                Of::Number((lo, width)) => 1 << bits(row, lo, width),
                Of::Mask((lo, width)) => bits(row, lo, width),
                Of::Gpus(gpus) => gpus,
            };
            let group = match fields.grp {
                Rows::Never => false,
                Rows::Always => true,
                Rows::If(lo) => bits(row, lo, 1) == 1,
            };
            found.add(bits(row, fields.line, fields.line_bits), group, gpus);
        }
    }
}

/// The message whose line number is register `PREFIX_line`, if it is of a kind that matters.
fn held(finder: Finder, unit: usize, sys: &Sys, gpu: Option<u32>, prefix: &str) -> Vec<Held> {
    let reg = |name: &str| finder.reg(unit, &format!("{prefix}_{name}"));
    let other = |name: &str| finder.reg(unit, name);
    let set = |reg: RegAt| When { reg, is: None };
    let is = |reg: RegAt, value: u64| When { reg, is: Some(value) };
    let Some(line) = reg("line") else { return Vec::new() };
    let one =
        |all: Vec<When>, grp: Option<RegAt>, whose: Whose| vec![Held { all, line, grp: grp.into(), whose }];
    // An Inv that a GPU home has received and the directory passes on concerns all GPMs of the GPU.
    if let (Some(_), Some(gpu)) = (reg("also"), gpu) {
        let valid = if prefix == "recv_q" { other("recv_state") } else { reg("valid") };
        let whose = Whose::Gpus(nodes_of_gpu(sys, gpu));
        return valid
            .map(|valid| Held { all: vec![set(valid)], line, grp: Group::Always, whose })
            .into_iter()
            .collect();
    }
    // The bank's pipeline: an invalidation about to be applied, another GPU's write, the own write on its way out.
    if let (Some(class), Some(kind), Some(valid), Some(gpu)) =
        (other("s1_class"), other("s1_req_kind"), other("s1_valid"), gpu.filter(|_| prefix == "s1_req"))
    {
        let inv = vec![set(valid), is(class, 0)];
        // At a GPU home the last lookup of an Inv hands the whole group on to the directory, for all GPMs of the GPU.
        let mut found = match other("recv_out_count") {
            Some(_) => {
                vec![Held { all: inv, line, grp: Group::Always, whose: Whose::Gpus(nodes_of_gpu(sys, gpu)) }]
            }
            None => one(inv, None, Whose::Gpus(1 << gpu)),
        };
        let write = vec![set(valid), is(class, 2), is(kind, ReqKind::Wr.encoding())];
        found.extend(
            other("s1_req_who").into_iter().flat_map(|who| one(write.clone(), None, Whose::Number(who))),
        );
        return found;
    }
    if let (Some(valid), Some(request), Some(gpu)) =
        (other("s2_valid"), other("s2_step_request"), gpu.filter(|_| prefix == "s2_req"))
    {
        let whose = Whose::Gpus(1 << gpu);
        let steps = [Some(request), other("s2_step_pass")].into_iter().flatten();
        let own = steps.flat_map(|step| one(vec![set(valid), set(step)], None, whose));
        // Dirty bytes that are written on.
        let on = other("s2_writes_on").zip(other("s2_step_victim"));
        let on = on.map(|(on, line)| Held { all: vec![set(valid), set(on)], line, grp: Group::Never, whose });
        return own.chain(on).collect();
    }
    // A message on a wire is announced as valid with its last phit only.
    let network = prefix.strip_prefix("wire_");
    let flying = network.and_then(|network| other(&format!("flying_{network}")));
    let valids: Vec<RegAt> = [reg("valid"), flying].into_iter().flatten().collect();
    let each = |more: Vec<When>, grp: Option<RegAt>, whose: Whose| -> Vec<Held> {
        let with = |valid: &RegAt| [vec![set(*valid)], more.clone()].concat();
        valids.iter().flat_map(|valid| one(with(valid), grp, whose)).collect()
    };
    let write = |kind: RegAt| vec![is(kind, ReqKind::Wr.encoding())];
    match (reg("kind"), reg("cause"), reg("dest"), reg("dst"), reg("src")) {
        (_, Some(_), Some(dest), ..) => {
            match prefix.strip_suffix("_held").and_then(|p| other(&format!("{p}_left"))) {
                Some(left) => one(vec![set(left)], reg("grp"), Whose::Mask(left)),
                None => each(Vec::new(), reg("grp"), Whose::Mask(dest)),
            }
        }
        (Some(kind), Some(_), None, Some(dst), _) => {
            each(vec![is(kind, InvKind::Inv.encoding())], reg("grp"), Whose::Number(dst))
        }
        (None, Some(_), None, None, None) => {
            gpu.map_or(Vec::new(), |gpu| each(Vec::new(), reg("grp"), Whose::Gpus(1 << gpu)))
        }
        (None, None, None, None, Some(src)) if reg("op").is_some() => {
            each(Vec::new(), None, Whose::Number(src))
        }
        (Some(kind), None, None, Some(_), Some(src)) => each(write(kind), None, Whose::Number(src)),
        (Some(kind), ..) if ["remote_held", "far_held"].contains(&prefix) => {
            reg("who").map_or(Vec::new(), |who| each(write(kind), None, Whose::Number(who)))
        }
        _ => Vec::new(),
    }
}

/// Operations of atomics at a GPU home: the atomic itself has gone on, and the line's home may have forgotten the GPU, when its GPMs' copies are still to be
/// invalidated by this operation.
const ATOMICS: [DirOp; 2] = [DirOp::AtomRem, DirOp::WrLoc];

/// [`ATOMICS`] in the end of a channel, or in a directory's pipeline.
fn held_atomics(finder: Finder, unit: usize, sys: &Sys, gpu: u32, prefix: &str) -> Vec<Held> {
    let reg = |name: &str| finder.reg(unit, &format!("{prefix}_{name}"));
    let (Some(line), Some(op), Some(_), Some(valid)) = (reg("line"), reg("op"), reg("src"), reg("valid"))
    else {
        return Vec::new();
    };
    let whose = Whose::Gpus(nodes_of_gpu(sys, gpu));
    let one = |is: DirOp| {
        let all = vec![When { reg: valid, is: None }, When { reg: op, is: Some(is.encoding()) }];
        Held { all, line, grp: Group::Never, whose }
    };
    ATOMICS.map(one).into()
}

/// [`ATOMICS`] in the queue before a directory.
fn queued_atomics(finder: Finder, unit: usize, sys: &Sys, gpu: u32, memory: &str) -> Vec<Queue> {
    let Some(queue) = queue(finder, unit, Some(gpu), memory, sys).filter(|_| memory.starts_with("dir_req_"))
    else {
        return Vec::new();
    };
    let (lo, width) = leaf::<DirReq>(sys, "op");
    let one = |is: DirOp| {
        let kind = Some((lo, width, is.encoding()));
        Queue { fields: Fields { kind, gpu: Of::Gpus(nodes_of_gpu(sys, gpu)), ..queue.fields }, ..queue }
    };
    ATOMICS.map(one).into()
}

/// The queue with this memory, if it holds messages of a kind that matters.
fn queue(finder: Finder, unit: usize, gpu: Option<u32>, memory: &str, sys: &Sys) -> Option<Queue> {
    let line_bits = sys.line_bits();
    // Requests of other nodes before a bank.
    let waits =
        ["remote_delay", "far_delay"].contains(&crate::run::block_of(&finder.design.units[unit].path));
    let base = memory.strip_suffix("_rows").or_else(|| memory.strip_suffix("_queue"))?;
    let requests = || Fields {
        line: leaf::<ReqMsg>(sys, "line").0,
        line_bits,
        kind: Some({
            let (lo, width) = leaf::<ReqMsg>(sys, "kind");
            (lo, width, ReqKind::Wr.encoding())
        }),
        grp: Rows::Never,
        gpu: Of::Number(leaf::<ReqMsg>(sys, "src")),
    };
    let fields = match base {
        "req_buffer" | "req_out" | "far_out" | "late" => requests(),
        "fifo" if waits => requests(),
        "recv_out" => Fields {
            line: leaf::<DirRecv>(sys, "line").0,
            line_bits,
            kind: None,
            grp: Rows::Always,
            gpu: Of::Gpus(nodes_of_gpu(sys, gpu?)),
        },
        "inv_buffer" => Fields {
            line: leaf::<InvMsg>(sys, "line").0,
            line_bits,
            kind: Some({
                let (lo, width) = leaf::<InvMsg>(sys, "kind");
                (lo, width, InvKind::Inv.encoding())
            }),
            grp: Rows::If(leaf::<InvMsg>(sys, "grp").0),
            gpu: Of::Number(leaf::<InvMsg>(sys, "dst")),
        },
        // Before a directory, or inside one whose operations wait for acknowledgements.
        "dir_req" | "wait" => Fields {
            line: leaf::<DirReq>(sys, "line").0,
            line_bits,
            kind: None,
            grp: Rows::Never,
            gpu: Of::Number(leaf::<DirReq>(sys, "src")),
        },
        "invs" => Fields {
            line: leaf::<DirInv>(sys, "line").0,
            line_bits,
            kind: None,
            grp: Rows::If(leaf::<DirInv>(sys, "grp").0),
            gpu: Of::Mask(leaf::<DirInv>(sys, "dest")),
        },
        // A FIFO of the egress: kind, line, cause, grp, for the GPU in its name.
        _ => {
            let gpu: u32 = base.strip_prefix('d')?.split_once("_l")?.0.parse().ok()?;
            let kind = width_of::<Enum<InvKind>>(&());
            let cause = width_of::<Enum<Cause>>(&());
            debug_assert_eq!(width_of::<Bool>(&()), 1);
            Fields {
                line: kind,
                line_bits,
                kind: Some((0, kind, InvKind::Inv.encoding())),
                grp: Rows::If(kind + line_bits + cause),
                gpu: Of::Gpus(1 << gpu),
            }
        }
    };
    Some(Queue {
        rows: finder.mem(unit, memory)?,
        head: finder.reg(unit, &format!("{base}_head"))?,
        count: finder.reg(unit, &format!("{base}_count"))?,
        fields,
    })
}

/// What a directory slice still has to invalidate.
pub(super) fn pending(slice: &Slice, sim: &Sim, found: &mut InFlight) {
    let p = &slice.p;
    let group = p.names_groups();
    let mut victim = |limbs: &[u64], base: u64, sent: u64| {
        for slot in (0..p.slots()).filter(|slot| sent >> slot & 1 == 0) {
            let gpus = slice.gpus_of(slice.slot_sharers(limbs, slot));
            if gpus != 0 {
                found.add(slice.line_of(base, slot), group, gpus);
            }
        }
    };
    if slice.s2_evict.get(sim) == 1 {
        victim(slice.s2_victim_slots.limbs(sim), slice.s2_victim_base.get(sim), 0);
    }
    let Some(untold) = &slice.untold else { return };
    let (valid, head) = (untold.evb_valid.get(sim), untold.evb_head.get(sim));
    for row in (0..p.evb_depth).filter(|row| valid >> row & 1 == 1) {
        let limbs = untold.evb.lane(sim, row, 0);
        let sent = if u64::from(row) == head { untold.evb_sent.get(sim) } else { 0 };
        victim(limbs, bits(limbs, p.slots_width(), p.base_bits()), sent);
    }
    if untold.write_inv_state.get(sim) != 0 {
        let gpus = slice.gpus_of(untold.write_inv_sharers.get(sim));
        found.add(untold.write_inv_line.get(sim), group, gpus);
    }
}

/// Nodes of the GPU of a node, one bit each.
fn nodes_of_gpu(sys: &Sys, node: u32) -> u64 {
    let gpu = sys.gpu_of_node(node);
    sys.all_nodes().into_iter().filter(|n| sys.gpu_of_node(*n) == gpu).fold(0, |all, n| all | 1 << n)
}

/// The bank's parameters are those of the fabric.
pub(super) fn own_line(p: &L2Params, line: u64) -> bool {
    line >> (p.sys.home_shift - p.sys.line.trailing_zeros()) == u64::from(p.home)
}
