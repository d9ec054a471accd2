//! Values of expressions of a unit from cycle to cycle, computed again only where something that they read has
//! changed: what waveforms and event logs show beside the state itself.

use crate::design::UnitType;
use crate::interp::needed_for;
use crate::state::replace;
use std::ops::Range;
use weft_rtl::bv::limbs_for;
use weft_rtl::netlist::{NetId, NetOp};

/// Which expressions of a type are followed, and what makes them change.
pub(crate) struct Cone {
    /// The expressions by their numbers in the netlist, operands before their users.
    nodes: Vec<u32>,
    /// First limb of the value of each expression of the netlist, or [`NONE`].
    offsets: Vec<u32>,
    /// Limbs of all values.
    limbs: usize,
    /// Expressions of the cone that use each one: `users[starts[n]..starts[n + 1]]`.
    users: Vec<u32>,
    starts: Vec<u32>,
    /// Expression that shows each limb of the registers and, behind them, of the inputs, or [`NONE`].
    shown: Vec<u32>,
    /// Limbs of the registers.
    regs: usize,
    /// Limbs of the inputs in the state.
    inputs: Range<usize>,
    /// Limbs of registers and inputs that are compared: where they are in `shown`, and in the state.
    compared: Vec<(Range<usize>, usize)>,
    /// Reads of memories.
    reads: Vec<u32>,
    /// Expressions that fit a limb with all their operands.
    narrow: Vec<bool>,
    /// Most limbs of a value.
    widest: usize,
}

const NONE: u32 = u32::MAX;

impl Cone {
    /// Everything that these expressions are computed from; with `whole` all registers and inputs are followed, too.
    pub fn new(ty: &UnitType, roots: impl Iterator<Item = NetId>, whole: bool) -> Cone {
        let (netlist, layout) = (&ty.netlist, &ty.layout);
        let nodes = needed_for(netlist, roots);
        let mut place = vec![NONE; netlist.nodes.len()];
        nodes.iter().enumerate().for_each(|(own, number)| place[*number as usize] = own as u32);
        let (mut limbs, mut offsets) = (0, vec![NONE; netlist.nodes.len()]);
        for number in &nodes {
            offsets[*number as usize] = limbs as u32;
            limbs += limbs_for(netlist.nodes[*number as usize].width);
        }
        let mut of: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (own, number) in nodes.iter().enumerate() {
            netlist.nodes[*number as usize].op.operands(&mut |operand| {
                let users = &mut of[place[operand.index()] as usize];
                if users.last() != Some(&(own as u32)) {
                    users.push(own as u32);
                }
            });
        }
        let mut starts = vec![0];
        of.iter().for_each(|users| starts.push(starts[starts.len() - 1] + users.len() as u32));
        let (regs, inputs) = (layout.probes, layout.probes + netlist.probes.len()..layout.inputs_end());
        let mut shown = vec![NONE; regs + inputs.len()];
        let mut reads = Vec::new();
        for (own, number) in nodes.iter().enumerate() {
            let node = &netlist.nodes[*number as usize];
            let first = match node.op {
                NetOp::Reg(reg) => layout.regs[reg as usize],
                NetOp::Input(input) => regs + layout.inputs[input as usize] - inputs.start,
                NetOp::MemRead { .. } => {
                    reads.push(own as u32);
                    continue;
                }
                _ => continue,
            };
            shown[first..][..limbs_for(node.width)].fill(own as u32);
        }
        let state_of = |at: usize| if at < regs { at } else { at - regs + inputs.start };
        let mut compared: Vec<(Range<usize>, usize)> = Vec::new();
        for at in (0..shown.len()).filter(|at| whole || shown[*at] != NONE) {
            match compared.last_mut() {
                Some((range, _)) if range.end == at && at != regs => range.end += 1,
                _ => compared.push((at..at + 1, state_of(at))),
            }
        }
        let users = of.concat();
        let narrow = nodes.iter().map(|number| ty.interp.is_narrow(*number as usize)).collect();
        let widest = nodes.iter().map(|number| limbs_for(netlist.nodes[*number as usize].width)).max();
        let widest = widest.unwrap_or(0);
        Cone { nodes, offsets, limbs, users, starts, shown, regs, inputs, compared, reads, narrow, widest }
    }
}

/// The values in one unit.
pub(crate) struct Follower {
    /// Registers and inputs as they last were.
    seen: Vec<u64>,
    values: Vec<u64>,
    agenda: Agenda,
    /// Nothing has been computed yet.
    fresh: bool,
}

impl Follower {
    /// Nothing is known yet.
    pub fn new(cone: &Cone) -> Follower {
        let (seen, values) = (vec![0; cone.shown.len()], vec![0; cone.limbs]);
        Follower { seen, values, agenda: Agenda::new(cone.nodes.len()), fresh: true }
    }

    /// Follows the unit to this state, and to whether its last clock edge wrote a memory. Tells the limbs of
    /// registers and inputs that have changed, in order, and then the expressions, each by its number in the
    /// netlist; the first time all of them.
    pub fn update(
        &mut self,
        ty: &UnitType,
        cone: &Cone,
        (state, wrote): (&[u64], bool),
        room: &mut Vec<u64>,
        limb: &mut dyn FnMut(usize),
        node: &mut dyn FnMut(u32, &[u64]),
    ) {
        let Follower { seen, values, agenda, fresh } = self;
        let all = std::mem::replace(fresh, false);
        room.resize(room.len().max(cone.widest), 0);
        if all {
            (0..cone.nodes.len() as u32).for_each(|own| agenda.add(own));
            (0..cone.regs).chain(cone.inputs.clone()).for_each(&mut *limb);
        } else if wrote {
            cone.reads.iter().for_each(|own| agenda.add(*own));
        }
        for (range, from) in &cone.compared {
            let (old, now) = (&mut seen[range.clone()], &state[*from..][..range.len()]);
            differing(old, now, &mut |at| {
                if all {
                    return;
                }
                limb(from + at);
                if cone.shown[range.start + at] != NONE {
                    agenda.add(cone.shown[range.start + at]);
                }
            });
        }
        while let Some(own) = agenda.take() {
            let number = cone.nodes[own as usize];
            let offset = |id: NetId| cone.offsets[id.index()] as usize;
            let at = offset(NetId(number));
            let (before, rest) = values.split_at_mut(at);
            if cone.narrow[own as usize] {
                let new = ty.interp.narrow(number as usize, state, &|id| before[offset(id)]);
                let new = new.expect("the expression is narrow");
                if !all && rest[0] == new {
                    continue;
                }
                rest[0] = new;
            } else {
                let value = &mut rest[..limbs_for(ty.netlist.nodes[number as usize].width)];
                let new = &mut room[..value.len()];
                ty.interp.one(number as usize, state, before, new, &offset);
                if !replace(value, new) && !all {
                    continue;
                }
            }
            node(number, &rest[..limbs_for(ty.netlist.nodes[number as usize].width)]);
            let users = cone.starts[own as usize] as usize..cone.starts[own as usize + 1] as usize;
            cone.users[users].iter().for_each(|user| agenda.add(*user));
        }
    }

    /// The value of an expression of the cone, as it last was.
    pub fn value(&self, cone: &Cone, id: NetId) -> u64 {
        self.values[cone.offsets[id.index()] as usize]
    }
}

/// Tells where two states differ, and makes the old one the new one.
fn differing(old: &mut [u64], now: &[u64], tell: &mut dyn FnMut(usize)) {
    const STRETCH: usize = 8;
    for (number, (old, now)) in old.chunks_mut(STRETCH).zip(now.chunks(STRETCH)).enumerate() {
        // No early end: so it is done with wide registers, without a call.
        let differ = old.iter().zip(now).fold(0, |all, (old, now)| all | (old ^ now));
        if differ == 0 {
            continue;
        }
        for (at, (old, now)) in old.iter_mut().zip(now).enumerate() {
            if old != now {
                *old = *now;
                tell(number * STRETCH + at);
            }
        }
    }
}

/// Numbers of what is to be computed, taken in ascending order.
struct Agenda {
    bits: Vec<u64>,
    /// Which words of `bits` are not zero.
    words: Vec<u64>,
}

impl Agenda {
    fn new(count: usize) -> Agenda {
        let words = count.div_ceil(64);
        Agenda { bits: vec![0; words], words: vec![0; words.div_ceil(64)] }
    }

    #[inline]
    fn add(&mut self, number: u32) {
        let word = number as usize / 64;
        self.bits[word] |= 1 << (number % 64);
        self.words[word / 64] |= 1 << (word % 64);
    }

    /// The lowest one.
    #[inline]
    fn take(&mut self) -> Option<u32> {
        let group = self.words.iter().position(|words| *words != 0)?;
        let word = 64 * group + self.words[group].trailing_zeros() as usize;
        let bits = self.bits[word];
        self.bits[word] = bits & (bits - 1);
        if self.bits[word] == 0 {
            self.words[group] &= self.words[group] - 1;
        }
        Some(64 * word as u32 + bits.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agenda_is_taken_in_order() {
        let mut agenda = Agenda::new(10_000);
        for number in [9_999, 0, 64, 63, 5_000, 64] {
            agenda.add(number);
        }
        let taken: Vec<u32> = std::iter::from_fn(|| agenda.take()).collect();
        assert_eq!(taken, [0, 63, 64, 5_000, 9_999]);
    }

    #[test]
    fn what_differs_is_told_once() {
        let (mut old, mut now) = (vec![0; 21], vec![0; 21]);
        [0, 7, 8, 20].iter().for_each(|at| now[*at] = 1);
        let mut told = Vec::new();
        differing(&mut old, &now, &mut |at| told.push(at));
        assert_eq!((told, &old), (vec![0, 7, 8, 20], &now));
        differing(&mut old, &now, &mut |at| panic!("limb {at}"));
    }
}
