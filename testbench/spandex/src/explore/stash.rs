//! A stash as a device: what its core may do, and what it holds.
//!
//! Place p of the stash is its words 2 p and 2 p + 1, and entry p of its map, which holds a whole line there.

use super::Config;
use super::held::Held;
use std::rc::Rc;
use weft_explore::block::Block;
use weft_explore::form::Form;
use weft_rtl::prelude::*;
use weft_spandex::gpu_l1::SbDrain;
use weft_spandex::stash::{StashMap, StashParams, StashReq};

/// Places of a line.
pub const PLACES: usize = 2;

/// Core to stash: an access, or a mapping.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = StashParams)]
pub(super) struct Ask {
    /// A mapping.
    pub maps: Bool,
    /// The access.
    #[shape(p.clone())]
    pub access: StashReq,
    /// The mapping.
    #[shape(p.clone())]
    pub mapping: StashMap,
}

/// The stash of a configuration: two places of a line.
pub(super) fn params(c: &Config) -> StashParams {
    let spandex = c.spandex();
    StashParams {
        size: PLACES as u32 * spandex.line,
        banks: spandex.words(),
        maps: PLACES as u32,
        targets: c.targets,
        releases: c.releases,
        sb_drain: SbDrain::Full,
        inject: c.faults.stash,
        spandex,
    }
}

/// The form of what a core asks.
pub(super) fn form(c: &Config) -> Rc<Form> {
    Rc::new(Form::new::<Ask>(&params(c), &[], &[]))
}

/// What a core asks, in words; none: the message is none of a stash's core.
pub(super) fn text(form: &Form, message: &[u64]) -> Option<String> {
    let has = |name: &str| form.leaves.iter().any(|leaf| leaf.name == name);
    if !has("maps") {
        return None;
    }
    let of = |name: &str| form.get(message, name);
    if of("maps") == 1 {
        return Some(format!("map word {:#x} to place {}", of("mapping_global"), of("mapping_index")));
    }
    let names = ["load", "store", "atomic", "release", "acquire"];
    let name = names.get(of("access_op") as usize).copied().unwrap_or("access");
    Some(format!(
        "{name} mask={:x} row={:x} data={:x}",
        of("access_mask"),
        of("access_row"),
        of("access_data")
    ))
}

/// What a stash holds of a line: words that are owned, in whichever place.
pub(super) fn held(own: &mut Block, at: u32, line: u64) -> Held {
    let (valid, low, high) = (
        own.register(at, "cache.maps_valid"),
        own.register(at, "cache.word_valid"),
        own.register(at, "cache.word_owned"),
    );
    let mut held = Held::default();
    for cell in 0..2 * PLACES as u32 {
        let map = own.cell(at, "cache.owner_map", cell) as u32;
        // First word in the stash, then the first in memory.
        let mapped = own.cell(at, "cache.maps", map) >> 2 & 0x3fff_ffff;
        let owned = (high & !low) >> cell & valid >> map & 1 == 1;
        if owned && mapped >> 1 == line {
            let word = cell as usize & 1;
            held.owned |= 1 << word;
            held.words[word] = own.cell(at, &format!("cache.bank_{word}"), cell / 2);
        }
    }
    held
}
