//! Control flow regained: from the decision trees of registers, writes and observers to nested regions.
//!
//! What a cycle must do is a list of tasks. Tasks whose top-level choice has the same selector share one
//! branch; inside its arms the rest of each task is placed in the same way. A register that an arm leaves
//! alone needs nothing there, so an idle block runs a few tests and returns.

use super::sets::BitSet;
use super::task::{Region, Step, Task};
use super::writes::Writes;
use std::collections::{BTreeMap, HashMap};
use weft_rtl::bv::Bv;
use weft_rtl::ir::ProbeKind;
use weft_rtl::netlist::*;

/// All regions of a unit; roots are the first region of each list of tasks.
pub struct Regions<'n> {
    netlist: &'n Netlist,
    writes: &'n Writes,
    /// Regions; children come after their parents.
    pub list: Vec<Region>,
    budget: usize,
}

/// Known outcomes of selectors on the way to a region.
type Known = HashMap<NetId, Bv>;

const MAX_DEPTH: usize = 24;

impl<'n> Regions<'n> {
    /// No regions yet.
    pub fn new(netlist: &'n Netlist, writes: &'n Writes) -> Regions<'n> {
        let budget = 200 + 6 * netlist.regs.len() + 4 * netlist.probes.len();
        Regions { netlist, writes, list: Vec::new(), budget }
    }

    /// The tasks of registers.
    pub fn state_tasks(netlist: &Netlist) -> Vec<Task> {
        netlist.regs.iter().enumerate().map(|(i, r)| Task::Reg { reg: i as u32, value: r.next }).collect()
    }

    /// The tasks of observers.
    pub fn probe_tasks(netlist: &Netlist) -> Vec<Task> {
        let probe = |(i, p): (usize, &NetProbe)| Task::Probe {
            probe: i as u32,
            cond: Some(p.cond),
            amount: p.amount,
            negated: p.kind == ProbeKind::Assert,
        };
        netlist.probes.iter().enumerate().map(probe).collect()
    }

    /// Places tasks and returns the root region.
    pub fn place(&mut self, tasks: Vec<Task>) -> usize {
        self.region(tasks, &mut Known::new(), None, 0)
    }

    /// How an expression may be taken apart.
    fn op(&self, id: NetId) -> &'n NetOp {
        const WHOLE: NetOp = NetOp::Input(u32::MAX);
        if self.writes.early.contains(&id) { &WHOLE } else { &self.netlist.nodes[id.index()].op }
    }

    /// Follows choices whose outcome is known.
    pub fn resolve(&self, mut id: NetId, known: &Known) -> NetId {
        loop {
            let next = match self.op(id) {
                NetOp::Mux(c, a, b) => known.get(c).map(|v| if v.bit(0) { *a } else { *b }),
                NetOp::Case { sel, arms, default } => known
                    .get(sel)
                    .map(|v| arms.iter().find(|(codes, _)| codes.contains(v)).map_or(*default, |(_, n)| *n)),
                _ => None,
            };
            match next {
                Some(n) => id = n,
                None => return id,
            }
        }
    }

    /// A condition with known parts left out; `None` when its value is then known to be `false`.
    fn condition(&self, id: NetId, known: &Known) -> NetId {
        let id = self.resolve(id, known);
        match self.op(id) {
            NetOp::And(a, b) | NetOp::Or(a, b) => {
                let neutral = matches!(self.op(id), NetOp::And(..));
                for (x, y) in [(a, b), (b, a)] {
                    let value = known.get(x).map(|v| v.bit(0)).or_else(|| self.negation(*x, known));
                    if value == Some(neutral) {
                        return self.condition(*y, known);
                    }
                    if value == Some(!neutral) {
                        return *x;
                    }
                }
                id
            }
            _ => id,
        }
    }

    fn negation(&self, id: NetId, known: &Known) -> Option<bool> {
        match self.op(id) {
            NetOp::Not(a) => known.get(a).map(|v| !v.bit(0)),
            NetOp::Const(v) => Some(v.bit(0)),
            _ => None,
        }
    }

    fn value_of(&self, cond: NetId, known: &Known) -> Option<bool> {
        known.get(&cond).map(|v| v.bit(0)).or_else(|| self.negation(cond, known))
    }

    /// What is left of a condition: `None` when it can no longer hold, `Some(None)` when it holds for
    /// certain.
    fn open_condition(&self, cond: Option<NetId>, active: bool, known: &Known) -> Option<Option<NetId>> {
        let Some(cond) = cond else { return Some(None) };
        let cond = self.condition(cond, known);
        match self.value_of(cond, known) {
            Some(value) if value == active => Some(None),
            Some(_) => None,
            None => Some(Some(cond)),
        }
    }

    /// The task as it stands where the known outcomes hold; `None` when nothing is left to do.
    fn reduce(&self, task: Task, known: &Known) -> Option<Task> {
        match task {
            Task::Reg { reg, value } => {
                let value = self.resolve(value, known);
                (*self.op(value) != NetOp::Reg(reg)).then_some(Task::Reg { reg, value })
            }
            Task::Write { mem, port, en, addr, first, data } => {
                let en = self.open_condition(en, true, known)?;
                let follow = |n| self.resolve(n, known);
                Some(Task::Write {
                    mem,
                    port,
                    en,
                    addr: follow(addr),
                    first: follow(first),
                    data: follow(data),
                })
            }
            Task::Probe { probe, cond, amount, negated } => {
                let cond = self.open_condition(cond, !negated, known)?;
                Some(Task::Probe { probe, cond, amount: amount.map(|a| self.resolve(a, known)), negated })
            }
        }
    }

    /// What the task's next choice depends on.
    fn selector(&self, task: &Task, known: &Known) -> Option<NetId> {
        let cond = |cond: NetId| {
            if self.value_of(cond, known).is_some() {
                return None;
            }
            match self.op(cond) {
                NetOp::Mux(c, ..) => Some(*c),
                NetOp::Case { sel, .. } => Some(*sel),
                NetOp::And(a, b) | NetOp::Or(a, b) => Some(self.first_of(*a, *b)),
                NetOp::Not(a) => Some(*a),
                _ => Some(cond),
            }
        };
        match task {
            Task::Reg { value, .. } => match self.op(*value) {
                NetOp::Mux(c, ..) => Some(*c),
                NetOp::Case { sel, .. } => Some(*sel),
                _ => None,
            },
            Task::Write { en, .. } => en.and_then(cond),
            Task::Probe { cond: c, .. } => c.and_then(cond),
        }
    }

    /// Of two operands the one to test first: a plain register or input, then the older expression.
    fn first_of(&self, a: NetId, b: NetId) -> NetId {
        let strip = |n: NetId| match self.op(n) {
            NetOp::Not(x) => *x,
            _ => n,
        };
        let leaf = |n: NetId| matches!(self.op(n), NetOp::Reg(_) | NetOp::Input(_));
        let (a, b) = (strip(a), strip(b));
        if leaf(a) != leaf(b) {
            return if leaf(a) { a } else { b };
        }
        a.min(b)
    }

    fn region(
        &mut self,
        tasks: Vec<Task>,
        known: &mut Known,
        parent: Option<(usize, usize)>,
        depth: usize,
    ) -> usize {
        let me = self.list.len();
        self.list.push(Region { steps: Vec::new(), parent, depth });
        let mut open: Vec<Task> = tasks.into_iter().filter_map(|t| self.reduce(t, known)).collect();
        while !open.is_empty() {
            let sel = if depth < MAX_DEPTH && self.list.len() < self.budget {
                self.selector(&open[0], known)
            } else {
                None
            };
            let Some(sel) = sel.filter(|s| !known.contains_key(s)) else {
                self.list[me].steps.push(Step::Do(open.remove(0)));
                continue;
            };
            // A port never overtakes an earlier port of the same memory, for the later one wins, nor one that
            // reads its memory.
            let mut left = BitSet::new(self.netlist.mems.len());
            let (group, rest): (Vec<Task>, Vec<Task>) = open.into_iter().partition(|t| {
                let here = self.selector(t, known) == Some(sel) || self.mentions(t, sel);
                let mem = t.port().map(|(mem, _)| mem as usize);
                let joins = here && mem.is_none_or(|m| !left.has(m));
                if let Some(mem) = mem.filter(|_| !joins) {
                    left.add(mem);
                    t.operands().iter().for_each(|node| left.join(&self.writes.reads[node.index()]));
                }
                joins
            });
            open = rest;
            let step = self.list[me].steps.len();
            self.list[me].steps.push(Step::Branch { sel, arms: Vec::new(), default: 0 });
            let (arms, default) = self.arms(sel, &group, known, (me, step), depth);
            self.list[me].steps[step] = Step::Branch { sel, arms, default };
        }
        me
    }

    /// Whether a condition is a conjunction (or disjunction) with this selector as a direct part.
    fn mentions(&self, task: &Task, sel: NetId) -> bool {
        let cond = match task {
            Task::Reg { .. } => None,
            Task::Write { en, .. } => *en,
            Task::Probe { cond, .. } => *cond,
        };
        let Some(cond) = cond else { return false };
        match self.op(cond) {
            NetOp::And(a, b) | NetOp::Or(a, b) => {
                [a, b].iter().any(|n| **n == sel || matches!(self.op(**n), NetOp::Not(x) if *x == sel))
            }
            _ => false,
        }
    }

    fn arms(
        &mut self,
        sel: NetId,
        group: &[Task],
        known: &mut Known,
        parent: (usize, usize),
        depth: usize,
    ) -> (Vec<(Vec<Bv>, usize)>, usize) {
        let width = self.netlist.nodes[sel.index()].width;
        if width == 1 {
            let mut arm = |regions: &mut Self, value: u64| {
                known.insert(sel, Bv::from_u64(value, 1));
                let region = regions.region(group.to_vec(), known, Some(parent), depth + 1);
                known.remove(&sel);
                region
            };
            let yes = arm(self, 1);
            let no = arm(self, 0);
            return (vec![(vec![Bv::from_u64(1, 1)], yes)], no);
        }
        // Codes that every task of the group treats alike share an arm.
        let cases: Vec<&Vec<(Vec<Bv>, NetId)>> = group
            .iter()
            .filter_map(|t| match root_of(t).map(|r| self.op(r)) {
                Some(NetOp::Case { sel: s, arms, .. }) if *s == sel => Some(arms),
                _ => None,
            })
            .collect();
        let mut codes: Vec<Bv> =
            cases.iter().flat_map(|arms| arms.iter().flat_map(|(c, _)| c.iter().cloned())).collect();
        codes.sort();
        codes.dedup();
        let mut shared: BTreeMap<Vec<Option<usize>>, Vec<Bv>> = BTreeMap::new();
        for code in codes {
            let key = cases.iter().map(|arms| arms.iter().position(|(c, _)| c.contains(&code))).collect();
            shared.entry(key).or_default().push(code);
        }
        let mut out = Vec::new();
        for codes in shared.into_values() {
            let tasks = group.iter().map(|t| self.arm_of(t, sel, Some(&codes[0]))).collect();
            if let [only] = &codes[..] {
                known.insert(sel, only.clone());
            }
            let region = self.region(tasks, known, Some(parent), depth + 1);
            known.remove(&sel);
            out.push((codes, region));
        }
        let rest: Vec<Task> = group.iter().map(|t| self.arm_of(t, sel, None)).collect();
        let default = self.region(rest, known, Some(parent), depth + 1);
        (out, default)
    }

    /// The task in the arm for a code, or in the arm for codes that are not listed.
    fn arm_of(&self, task: &Task, sel: NetId, code: Option<&Bv>) -> Task {
        let follow = |n: NetId| match self.op(n) {
            NetOp::Case { sel: s, arms, default } if *s == sel => {
                let arm = code.and_then(|v| arms.iter().find(|(codes, _)| codes.contains(v)));
                arm.map_or(*default, |(_, n)| *n)
            }
            _ => n,
        };
        match task.clone() {
            Task::Reg { reg, value } => Task::Reg { reg, value: follow(value) },
            Task::Write { mem, port, en, addr, first, data } => {
                Task::Write { mem, port, en: en.map(follow), addr, first, data }
            }
            Task::Probe { probe, cond, amount, negated } => {
                Task::Probe { probe, cond: cond.map(follow), amount, negated }
            }
        }
    }
}

/// The expression whose top-level choice places the task.
fn root_of(task: &Task) -> Option<NetId> {
    match task {
        Task::Reg { value, .. } => Some(*value),
        Task::Write { en, .. } => *en,
        Task::Probe { cond, .. } => *cond,
    }
}
