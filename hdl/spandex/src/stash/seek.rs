//! Translation: from a stash word that is missing to the words of its line, and to other mappings that may hold them; from the line of a forward to words of the stash.
//!
//! One way of each translator serves all who need it, in the order forward, CU, walk; each step takes a cycle.

use super::Core;
use super::maps::Run;
use super::params::{Inject, StashParams};
use weft_rtl::prelude::*;

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Stage {
    /// Nothing is sought.
    None,
    /// The word's line is to be found.
    Line,
    /// The line's words are to be found.
    Run,
    /// Another mapping's words of the line are to be found.
    Other,
    /// They are found: they must be got out of the way.
    Alias,
    /// The words are found, and nobody else is in the way.
    Ready,
}

/// A search that begins with a stash word.
pub(super) struct Seeker {
    pub stage: Reg<Enum<Stage>>,
    pub word: Reg<Bits>,
    pub map: Reg<Bits>,
    pub line: Reg<Bits>,
    pub run: Reg<Run>,
}

impl Seeker {
    fn new(name: &str, p: &StashParams) -> Seeker {
        let named = |what: &str| format!("{name}_{what}");
        Seeker {
            stage: reg::<Enum<Stage>>(&named("stage"), ()),
            word: reg::<Bits>(&named("word"), p.word_bits()).field("pipeline"),
            map: reg::<Bits>(&named("map"), p.map_bits()).field("pipeline"),
            line: reg::<Bits>(&named("line"), p.spandex.line_bits()).field("pipeline"),
            run: reg::<Run>(&named("run"), p.clone()).field("pipeline"),
        }
    }

    pub fn is(&self, stage: Stage) -> Bool {
        self.stage.get().is(stage)
    }

    /// Seeks the words of the line of a word.
    pub fn start(&self, word: Bits, map: Bits) {
        self.stage.set(Stage::Line);
        self.word.set(word);
        self.map.set(map);
    }

    /// The search is over.
    pub fn stop(&self) {
        self.stage.set(Stage::None);
    }
}

/// The search for the words of a forward: one mapping after the other.
pub(super) struct Finder {
    /// The words of a mapping are found, or no mapping is left.
    pub known: Reg<Bool>,
    pub map: Reg<Bits>,
    pub run: Reg<Run>,
    /// Some mapping has been looked at; those left.
    begun: Reg<Bool>,
    pub left: Reg<Bits>,
}

impl Finder {
    /// Looks at the next mapping.
    pub fn advance(&self) {
        self.known.set(false);
    }
    /// The forward is done with.
    pub fn end(&self) {
        self.known.set(false);
        self.begun.set(false);
    }
}

/// All searches.
pub(super) struct Search {
    pub cu: Seeker,
    /// Of the CU's word: other mappings to be looked at, the present one.
    others: Reg<Bits>,
    pub other: Reg<Bits>,
    pub other_run: Reg<Run>,
    /// Words of the line that other mappings own, or have pending.
    pub elsewhere: Reg<Bits>,
    pub walk: Seeker,
    pub fwd: Finder,
}

impl Search {
    pub fn new(p: &StashParams) -> Search {
        Search {
            cu: Seeker::new("seek", p),
            others: reg::<Bits>("seek_others", p.maps).field("pipeline"),
            other: reg::<Bits>("seek_other", p.map_bits()).field("pipeline"),
            other_run: reg::<Run>("seek_other_run", p.clone()).field("pipeline"),
            elsewhere: reg::<Bits>("seek_elsewhere", p.spandex.words()).field("pipeline"),
            walk: Seeker::new("walk_seek", p),
            fwd: Finder {
                known: reg::<Bool>("find_known", ()),
                map: reg::<Bits>("find_map", p.map_bits()).field("pipeline"),
                run: reg::<Run>("find_run", p.clone()).field("pipeline"),
                begun: reg::<Bool>("find_begun", ()),
                left: reg::<Bits>("find_left", p.maps).field("pipeline"),
            },
        }
    }

    /// Nothing of the other mapping is in the way; these words are its own.
    pub fn pass(&self, words: Bits) {
        self.elsewhere.set(self.elsewhere.get() | words);
        self.cu.stage.set(mux(self.others.get().any(), enum_lit(Stage::Other), enum_lit(Stage::Ready)));
    }

    /// One step of translation; `line`: that of the forward at the head, if there is one.
    pub fn step(&self, core: &Core, waiting: Bool, line: Bits) {
        let (cu, walk, fwd) = (&self.cu, &self.walk, &self.fwd);
        let (cu_line, walk_line) = (cu.is(Stage::Line), walk.is(Stage::Line));
        let word = mux(cu_line, cu.word.get(), walk.word.get());
        let map = mux(cu_line, cu.map.get(), walk.map.get());
        let found = core.maps.line(word, map).named("seek_found");
        when(cu_line, || {
            cu.line.set(found);
            cu.stage.set(Stage::Run);
        })
        .elsewhen(walk_line, || {
            walk.line.set(found);
            walk.stage.set(Stage::Run);
        });
        let finds = (waiting & !fwd.known.get()).named("finds");
        let (cu_run, cu_other, walk_run) = (cu.is(Stage::Run), cu.is(Stage::Other), walk.is(Stage::Run));
        let of = mux(finds, line, mux(cu_run | cu_other, cu.line.get(), walk.line.get()));
        let all = core.maps.of_line(of).named("maps_of_line");
        let candidates = mux(fwd.begun.get(), fwd.left.get(), all);
        let mine = mux(cu_run, cu.map.get(), mux(cu_other, self.others.get().lowest_set(), walk.map.get()));
        let map = mux(finds, candidates.lowest_set(), mine);
        let run = core.maps.run(of, map);
        let without = |set: Bits, at: Bits| set & !at.one_hot(set.width());
        when(finds, || {
            let none = lit_bv(Bv::zero(run.mapped.width()));
            fwd.known.set(true);
            fwd.begun.set(true);
            fwd.map.set(map);
            fwd.run.set(Run { mapped: mux(candidates.any(), run.mapped, none), ..run });
            let left = without(candidates, map);
            let first = core.p.inject == Inject::FirstMapOnly;
            fwd.left.set(if first { left & !left } else { left });
        })
        .elsewhen(cu_run, || {
            let keeps = core.p.inject == Inject::KeepsAlias;
            let others = without(all, cu.map.get()) & (!bool_lit(keeps)).repeat(all.width());
            cu.run.set(run);
            self.others.set(others);
            self.elsewhere.set(lit_bv(Bv::zero(run.mapped.width())));
            cu.stage.set(mux(others.any(), enum_lit(Stage::Other), enum_lit(Stage::Ready)));
        })
        .elsewhen(cu_other, || {
            self.others.set(without(self.others.get(), map));
            self.other.set(map);
            self.other_run.set(run);
            cu.stage.set(Stage::Alias);
        })
        .elsewhen(walk_run, || {
            walk.run.set(run);
            walk.stage.set(Stage::Ready);
        });
    }
}
