//! What a lane of each memory holds, most significant bit left.

use super::svg::{Anchor, Canvas, LINE, Style, WIDTH, text_width};
use crate::ir::{Mem, MemKind, Module};

/// Parts of a lane from bit 0 up.
fn parts(mem: &Mem, layouts: &[(String, Vec<(String, u32)>)]) -> Vec<(String, u32)> {
    if let Some((_, parts)) = layouts.iter().find(|(name, _)| *name == mem.name) {
        return parts.clone();
    }
    match &mem.leaves[..] {
        [leaf] if leaf.name.is_empty() => vec![(mem.name.clone(), leaf.width)],
        leaves => leaves.iter().map(|leaf| (leaf.name.clone(), leaf.width)).collect(),
    }
}

fn caption(mem: &Mem, count: usize) -> String {
    let kind = match mem.kind {
        MemKind::Sram => "SRAM",
        MemKind::RegFile => "register file",
    };
    let more = if count > 1 { format!(" (and {} like it)", count - 1) } else { String::new() };
    let lanes = if mem.lanes > 1 { format!("{} lanes of ", mem.lanes) } else { String::new() };
    format!("{}{more}: {kind}, {} rows of {lanes}{} bits", mem.name, mem.rows, mem.lane_width())
}

pub(super) fn draw(canvas: &mut Canvas, module: &Module, layouts: &[(String, Vec<(String, u32)>)]) {
    let mut groups: Vec<(&Mem, Vec<(String, u32)>, usize)> = Vec::new();
    for mem in &module.mems {
        let parts = parts(mem, layouts);
        let shape = |m: &Mem| (m.kind, m.rows, m.lanes);
        // A memory of plain bits is named by its one part.
        let plain = |parts: &[(String, u32)], m: &Mem| parts.len() == 1 && parts[0].0 == m.name;
        let same = groups.iter_mut().find(|(other, theirs, _)| {
            let alike = *theirs == parts || plain(theirs, other) && plain(&parts, mem);
            shape(other) == shape(mem) && other.lane_width() == mem.lane_width() && alike
        });
        match same {
            Some((_, _, count)) => *count += 1,
            None => groups.push((mem, parts, 1)),
        }
    }
    for (mem, parts, count) in &groups {
        canvas.text(4, canvas.y + 12, Anchor::Start, Style::Bold, &caption(mem, *count));
        bar(canvas, parts);
    }
}

/// Height of a bar.
const HEIGHT: u32 = 26;

fn bar(canvas: &mut Canvas, parts: &[(String, u32)]) {
    let top = canvas.y + LINE + 4;
    let least: Vec<u32> = parts
        .iter()
        .map(|(name, bits)| (text_width(name) + 12).max(if *bits == 1 { 26 } else { 46 }))
        .collect();
    // What is left is shared out by the logarithm of the widths, so that wide parts look wide and narrow ones can be read.
    let spare = (WIDTH - 8).saturating_sub(least.iter().sum());
    let weight = |bits: u32| u64::from((f64::from(bits).log2() * 16.0) as u32);
    let total: u64 = parts.iter().map(|(_, bits)| weight(*bits)).sum::<u64>().max(1);
    let mut lo: u32 = parts.iter().map(|(_, bits)| bits).sum();
    let mut x = 4;
    for ((name, bits), least) in parts.iter().zip(&least).rev() {
        let width = least + (u64::from(spare) * weight(*bits) / total) as u32;
        lo -= bits;
        canvas.rect(x, top, width, HEIGHT, 0, true);
        canvas.text(x + width / 2, top + 17, Anchor::Middle, Style::Plain, name);
        let below = top + HEIGHT + 12;
        if *bits == 1 {
            canvas.text(x + width / 2, below, Anchor::Middle, Style::Small, &lo.to_string());
        } else {
            canvas.text(x + 3, below, Anchor::Start, Style::Small, &(lo + bits - 1).to_string());
            canvas.text(x + width - 3, below, Anchor::End, Style::Small, &lo.to_string());
        }
        x += width;
    }
    canvas.reach(x + 4);
    canvas.y = top + HEIGHT + 22;
}
