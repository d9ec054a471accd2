//! The races and special cases that rec.md and hmg.md name, sentence by sentence.
//!
//! A text says when the cover point is true, so that a block's author can write the condition from it. The block
//! `fabric` marks cases that only a scoreboard over several blocks can see.

mod bank;
mod directory;
mod hierarchy;
mod memory;

/// A race or special case of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// Stable identifier, `rec.race.*` or `hmg.race.*` after its page (`hmg_rec.race.*` after rec.md section 8.1), the name of its cover point.
    pub id: &'static str,
    /// Block that owns the cover point, by its name on the command line; `rec-directory` stands for the pipeline that
    /// all three directories share.
    pub block: &'static str,
    /// Section of its page.
    pub section: &'static str,
    /// When it is hit, in one sentence.
    pub text: &'static str,
}

/// A race by block, section, identifier and text.
pub(super) const fn race(
    block: &'static str,
    section: &'static str,
    id: &'static str,
    text: &'static str,
) -> Race {
    Race { id, block, section, text }
}

impl Race {
    /// The page of the specification that names it, of those that are no [`super::Part`]'s.
    pub fn page(&self) -> &'static str {
        if self.id.starts_with("hmg.") { "hmg.md" } else { "rec.md" }
    }
}

/// All races of rec.md and hmg.md that are no [`super::Part`]'s, in the order of the sections.
pub fn all_races() -> impl Iterator<Item = &'static Race> {
    let rec = [directory::DIRECTORY, directory::EVICTION, memory::NETWORK, memory::CACHE, memory::FENCES];
    rec.into_iter().chain([hierarchy::HIERARCHY, bank::BANK]).flatten()
}
