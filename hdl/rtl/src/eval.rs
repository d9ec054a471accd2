//! The meaning of operations on values: what constant folding and the interpreter compute.

use crate::bv::Bv;
use crate::netlist::{NetId, NetOp, Netlist};

/// Folds an operation whose operands are all constants.
///
/// # Panics
/// When an operand is not a constant.
pub fn constant(netlist: &Netlist, op: &NetOp, width: u32) -> Bv {
    pure(op, width, &|id: NetId| match &netlist.node(id).op {
        NetOp::Const(v) => v.clone(),
        other => unreachable!("folding needs constants, found {other:?}"),
    })
}

/// The value of an operation without state, from its operands' values.
///
/// # Panics
/// On inputs, registers and memory reads, which have no meaning without state.
pub fn pure(op: &NetOp, width: u32, get: &dyn Fn(NetId) -> Bv) -> Bv {
    let flag = |b: bool| Bv::from_u64(u64::from(b), 1);
    match op {
        NetOp::Const(v) => v.clone(),
        NetOp::Input(_) | NetOp::Reg(_) | NetOp::MemRead { .. } => unreachable!("needs state: {op:?}"),
        NetOp::Not(a) => zip(&get(*a), &Bv::zero(width), width, |x, _| !x),
        NetOp::And(a, b) => zip(&get(*a), &get(*b), width, |x, y| x & y),
        NetOp::Or(a, b) => zip(&get(*a), &get(*b), width, |x, y| x | y),
        NetOp::Xor(a, b) => zip(&get(*a), &get(*b), width, |x, y| x ^ y),
        NetOp::Add(a, b) => add(&get(*a), &get(*b), width, false),
        NetOp::Sub(a, b) => {
            let inverted = zip(&get(*b), &Bv::zero(width), width, |x, _| !x);
            add(&get(*a), &inverted, width, true)
        }
        NetOp::Mul(a, b) => mul(&get(*a), &get(*b), width),
        NetOp::Eq(a, b) => flag(get(*a) == get(*b)),
        NetOp::Lt(a, b) => {
            let (x, y) = (get(*a), get(*b));
            flag(x.limbs().iter().rev().lt(y.limbs().iter().rev()))
        }
        NetOp::Shl(a, b) => match shift_amount(&get(*b), width) {
            None => Bv::zero(width),
            Some(0) => get(*a),
            Some(by) => Bv::concat(&[Bv::zero(by), get(*a).slice(0, width - by)]),
        },
        NetOp::Shr(a, b) => {
            shift_amount(&get(*b), width).map_or(Bv::zero(width), |by| get(*a).slice(by, width))
        }
        NetOp::Mux(c, a, b) => get(if get(*c).bit(0) { *a } else { *b }),
        NetOp::Case { sel, arms, default } => {
            let sel = get(*sel);
            get(arms.iter().find(|(codes, _)| codes.contains(&sel)).map_or(*default, |(_, n)| *n))
        }
        NetOp::Concat(parts) => Bv::concat(&parts.iter().map(|p| get(*p)).collect::<Vec<_>>()),
        NetOp::Slice { a, lo } => get(*a).slice(*lo, width),
        NetOp::Index { a, idx } => {
            let (a, idx) = (get(*a), get(*idx).to_u64());
            let elements = u64::from(a.width() / width);
            idx.filter(|i| *i < elements).map_or(Bv::zero(width), |i| a.slice(i as u32 * width, width))
        }
        NetOp::AnyBit(a) => flag(!get(*a).is_zero()),
        NetOp::AllBits(a) => {
            let a = get(*a);
            flag(a == Bv::ones(a.width()))
        }
        NetOp::Parity(a) => flag(ones(&get(*a)) % 2 == 1),
        NetOp::PopCount(a) => Bv::from_u64(ones(&get(*a)), width),
        NetOp::LowestSet(a) => {
            let a = get(*a);
            Bv::from_u64(u64::from((0..a.width()).find(|i| a.bit(*i)).unwrap_or(0)), width)
        }
    }
}

fn ones(v: &Bv) -> u64 {
    v.limbs().iter().map(|l| u64::from(l.count_ones())).sum()
}

fn zip(a: &Bv, b: &Bv, width: u32, f: impl Fn(u64, u64) -> u64) -> Bv {
    let limbs: Vec<u64> = a.limbs().iter().zip(b.limbs()).map(|(x, y)| f(*x, *y)).collect();
    Bv::from_limbs(&limbs, width)
}

fn add(a: &Bv, b: &Bv, width: u32, mut carry: bool) -> Bv {
    let mut limbs = Vec::with_capacity(a.limbs().len());
    for (x, y) in a.limbs().iter().zip(b.limbs()) {
        let (sum, c1) = x.overflowing_add(*y);
        let (sum, c2) = sum.overflowing_add(u64::from(carry));
        carry = c1 || c2;
        limbs.push(sum);
    }
    Bv::from_limbs(&limbs, width)
}

fn mul(a: &Bv, b: &Bv, width: u32) -> Bv {
    let n = a.limbs().len();
    let mut out = vec![0u64; n];
    for i in 0..n {
        let mut carry = 0u128;
        for j in 0..n - i {
            let cell = u128::from(out[i + j]) + u128::from(a.limbs()[i]) * u128::from(b.limbs()[j]) + carry;
            out[i + j] = cell as u64;
            carry = cell >> 64;
        }
    }
    Bv::from_limbs(&out, width)
}

fn shift_amount(by: &Bv, width: u32) -> Option<u32> {
    by.to_u64().filter(|b| *b < u64::from(width)).map(|b| b as u32)
}
