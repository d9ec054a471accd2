//! What a cycle must do, and under which conditions.

use weft_rtl::bv::Bv;
use weft_rtl::netlist::NetId;

/// Something a cycle may have to do.
#[derive(Clone, Debug)]
pub enum Task {
    /// A register takes a value.
    Reg { reg: u32, value: NetId },
    /// A memory port writes while `en` holds (always, if there is none). `first` is its mask or lane number.
    Write { mem: u32, port: u32, en: Option<NetId>, addr: NetId, first: NetId, data: NetId },
    /// An observer counts while `cond` holds (an assertion: while it does not; always, if there is none).
    Probe { probe: u32, cond: Option<NetId>, amount: Option<NetId>, negated: bool },
}

impl Task {
    /// Memory and port, of a write.
    pub fn port(&self) -> Option<(u32, u32)> {
        if let Task::Write { mem, port, .. } = self { Some((*mem, *port)) } else { None }
    }

    /// Expressions that it evaluates.
    pub fn operands(&self) -> Vec<NetId> {
        match self {
            Task::Reg { value, .. } => vec![*value],
            Task::Write { en, addr, first, data, .. } => {
                en.iter().copied().chain([*addr, *first, *data]).collect()
            }
            Task::Probe { cond, amount, .. } => cond.iter().copied().chain(*amount).collect(),
        }
    }
}

/// A step of a region.
#[derive(Debug)]
pub enum Step {
    /// Carry out a task; its condition, if one is left, is tested there.
    Do(Task),
    /// Go on in one of the arms.
    Branch {
        /// Selector.
        sel: NetId,
        /// Values and region.
        arms: Vec<(Vec<Bv>, usize)>,
        /// Region for all other values.
        default: usize,
    },
}

/// Straight-line steps under one condition.
#[derive(Debug, Default)]
pub struct Region {
    /// Steps in order.
    pub steps: Vec<Step>,
    /// Enclosing region and the step there.
    pub parent: Option<(usize, usize)>,
    /// Nesting depth.
    pub depth: usize,
}
