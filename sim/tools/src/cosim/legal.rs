//! Where a message's leaf may not take every value: a block that meets an illegal one waits for ever, and the rest of the run shows nothing.

use weft_rtl::bv::Bv;
use weft_rtl::ir::{Module, Op, SigId, SigKind, Signal, Stmt};

/// Lines of a home that random requests to an L2 bank name: few, so that they meet.
const LINES: u64 = 0x3f;

/// The bits of a stash's random messages that vary (cu-and-consistency.md section 8): a mapping has elements of one word, for the first half of the stash, in few lines; accesses
/// name words of that half. Most others would be illegal mappings or accesses of words in no mapping.
fn stash_bits(name: &str, width: u32, banks: u32) -> Option<Bv> {
    match name {
        "map_base" => Some(Bv::zero(width)),
        "map_element" => Some(Bv::from_u64(1, width)),
        "map_count" => Some(Bv::from_u64(1 << (width - 2), width)),
        "map_global" => Some(Bv::from_u64(LINES, width)),
        "cu_req_row" => {
            let row = width / banks;
            let lower = Bv::from_u64((1 << (row - 1)) - 1, row);
            Some(Bv::concat(&vec![lower; banks as usize]))
        }
        _ => None,
    }
}

/// The bits of an input that vary in random messages, if not all may.
pub(super) fn varying_bits(module: &Module, signal: &Signal) -> Option<Bv> {
    if signal.kind != SigKind::Input {
        return None;
    }
    let number = |key: &str| module.params.iter().find(|(k, _)| k == key)?.1.parse::<u64>().ok();
    let width = signal.width;
    // An invalidation never goes to the GPU that sends it (rec.md section 4).
    if module.name.starts_with("inv_egress") && signal.name.ends_with("_dest") {
        return Some(Bv::from_u64(!(1 << number("home")?), width));
    }
    if module.name.starts_with("stash_") {
        return stash_bits(&signal.name, width, number("stash_banks")? as u32);
    }
    // A request names a line of one of the GPUs (rec.md section 2: home GPU = address / bytes per GPU).
    if module.name.contains("l2_bank") && signal.name.ends_with("_line") {
        let home_bit = number("home_shift")? - u64::from(number("line")?.ilog2());
        // The largest power of two of GPUs, so that any value of these bits is one.
        let homes = ((1 << number("gpus")?.ilog2()) - 1) << home_bit;
        return Some(Bv::from_u64(LINES | homes, width));
    }
    None
}

/// The block's input that a fabric's input drives unchanged, through any number of levels; of a block the input itself.
pub(super) fn driven(module: &Module, input: SigId) -> (&Module, SigId) {
    let passed_to = |stmt: &Stmt| match stmt {
        Stmt::Assign { target, value, .. } if module.node(*value).op == Op::Sig(input) => Some(*target),
        _ => None,
    };
    for wire in module.body.iter().filter_map(passed_to) {
        for inst in &module.instances {
            if let Some((port, _)) = inst.inputs.iter().find(|(_, from)| *from == wire) {
                return driven(&inst.module, *port);
            }
        }
    }
    (module, input)
}
