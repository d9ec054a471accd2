//! `owner-predictor`: which device owns the words of a line, guessed from who answered for it (spandex.md section 8, `opred = table`).
//!
//! ```text
//!  line --> [valid | tag | owner | confidence] x entries, direct-mapped by the line's low bits --> likely, owner
//!                 ^
//!  answers and refusals of devices: {line, device, refused}
//! ```
//! A guess is used at confidence 2 or more. An answer (RspV or RspWT) of the device that the entry names raises it, up to 3; a refusal (NackV or NackWT) of that device lowers it.
//!
//! Decisions: an answer of another device, or for another line, takes the entry with confidence 1: the newest owner is the best guess, and a line must answer twice before a request goes astray for it.
//! A refusal of another device than the one named says nothing. RspWT of an old owner that has just lost its words counts as an answer too, for it cannot be told from that of an owner that keeps them.
//!
//! # Transition table
//!
#![doc = include_str!("../docs/owner-predictor.md")]
//!
//! # Picture
//!
#![doc = include_str!("../pictures/owner-predictor.svg")]

use crate::params::{Spandex, spandex_from, spandex_params};
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::prelude::*;

/// Confidence from which on a guess is used, and the highest one: two bits.
const USED: u64 = 2;
const MOST: u64 = 3;

/// What fixes a predictor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PredictorParams {
    /// Widths of line and device numbers.
    pub spandex: Spandex,
    /// Entries, a power of two, 2..1024.
    pub entries: u32,
}

impl PredictorParams {
    /// 64 entries.
    pub fn published(spandex: Spandex) -> PredictorParams {
        PredictorParams { spandex, entries: 64 }
    }

    fn index_bits(&self) -> u32 {
        self.entries.trailing_zeros()
    }

    /// Width of a tag: line number without the bits of the index.
    pub fn tag_bits(&self) -> u32 {
        self.spandex.line_bits() - self.index_bits()
    }

    /// Checks the number of entries.
    ///
    /// # Errors
    /// It is illegal.
    pub fn validate(&self) -> Result<(), BlockError> {
        if self.entries.is_power_of_two() && (2..=1024).contains(&self.entries) {
            return Ok(());
        }
        Err(BlockError::Illegal {
            block: "owner-predictor".into(),
            key: "entries".into(),
            value: self.entries.to_string(),
            problem: "it is no power of two in the range".into(),
            legal: "2, 4, .. 1024".into(),
        })
    }
}

/// Whom the entry of a line speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Entry {
    /// Another line, or nothing.
    #[hw(label = "other line")]
    Other,
    /// This line, and the device that answers.
    #[hw(label = "this device")]
    Same,
    /// This line, and another device.
    #[hw(label = "another device")]
    Moved,
}

/// What a device says of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Said {
    /// It had the words.
    #[hw(label = "answered")]
    Answered,
    /// It had not.
    #[hw(label = "refused")]
    Refused,
}

/// What is done to the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Lesson {
    /// It is written anew.
    Take,
    /// Confidence rises.
    Up,
    /// Confidence falls.
    Down,
}

transitions! {
    /// What the entry of a line learns; the state is as the device sees it that speaks.
    pub fn lessons() {
        name "owner_predictor_lessons", rows "spandex.owner_predictor.";
        on "device": Said, "entry": Entry;
        next Entry;
        does Lesson;

        "answer.new"    (Answered, Other) -> Same [Take] "The line takes the entry, confidence 1.";
        "answer.same"   (Answered, Same)          [Up]   "Confidence rises, up to 3.";
        "answer.moved"  (Answered, Moved) -> Same [Take] "The device takes the entry, confidence 1.";
        "refusal.same"  (Refused, Same)           [Down] "Confidence falls, down to 0.";
        "refusal.other" (Refused, Other | Moved)         "Nothing.";
    }
}

#[derive(Clone, Copy, Bundle)]
#[bundle(params = PredictorParams)]
struct Known {
    #[width(p.tag_bits())]
    #[field("predictor")]
    tag: Bits,
    #[width(p.spandex.dev_bits())]
    #[field("predictor")]
    owner: Bits,
    #[width(2)]
    #[field("predictor")]
    confidence: Bits,
}

/// A guess.
#[derive(Clone, Copy)]
pub(crate) struct Guess {
    /// It is to be used.
    pub likely: Bool,
    pub owner: Bits,
}

/// The table inside a block.
pub(crate) struct Predictor {
    p: PredictorParams,
    valid: Reg<Bits>,
    rows: Memory<Known>,
    learn: LaneWriter<Known>,
}

impl Predictor {
    /// Declares it.
    pub fn new(p: &PredictorParams) -> Predictor {
        let rows = regfile::<Known>("predicted", p.entries, p.clone());
        Predictor {
            valid: reg::<Bits>("predicted_valid", p.entries).field("predictor"),
            learn: rows.lane_writer("learn"),
            rows,
            p: p.clone(),
        }
    }

    fn index(&self, line: Bits) -> Bits {
        line.slice(0, self.p.index_bits())
    }

    fn tag(&self, line: Bits) -> Bits {
        line.slice(self.p.index_bits(), self.p.tag_bits())
    }

    fn find(&self, line: Bits) -> (Known, Bool) {
        let at = self.index(line);
        let row = self.rows.read(at);
        (row, self.valid.get().bit_at(at) & row.tag.eq(self.tag(line)))
    }

    /// Looks a line up.
    pub fn look(&self, line: Bits) -> Guess {
        let (row, here) = self.find(line);
        Guess { likely: here & row.confidence.ge(USED), owner: row.owner }
    }

    /// A device has answered for words of a line, or refused them; once per cycle, when `valid`.
    pub fn hear(&self, valid: Bool, line: Bits, device: Bits, refused: Bool) {
        let (row, here) = self.find(line);
        let entry = speaks_of(here, row.owner.eq(device));
        let said = mux(refused, enum_lit(Said::Refused), enum_lit(Said::Answered));
        let lesson = lessons().decode_about(line, valid, (said, entry));
        let up = mux(row.confidence.eq(MOST), row.confidence, row.confidence + 1);
        let down = mux(row.confidence.none(), row.confidence, row.confidence - 1);
        let confidence = mux(lesson.does(Lesson::Up), up, mux(lesson.does(Lesson::Down), down, lit(1, 2)));
        let changes = lesson.does(Lesson::Take) | lesson.does(Lesson::Up) | lesson.does(Lesson::Down);
        when(valid & changes, || {
            let at = self.index(line);
            self.learn.write(at, &Known { tag: self.tag(line), owner: device, confidence });
            self.valid.set(self.valid.get() | at.one_hot(self.p.entries));
        });
        let (at, tag) = (self.index(line), self.tag(line));
        let left = self.learn.leaves(at, lit(0, 1), &row);
        self.valid.on_next(move |known| {
            let here = known.bit_at(at) & left.tag.eq(tag);
            lesson.leads_to(speaks_of(here, left.owner.eq(device)));
        });
    }
}

/// What an entry is to a line and a device.
fn speaks_of(of_line: Bool, of_device: Bool) -> Enum<Entry> {
    let entry = mux(of_device, enum_lit(Entry::Same), enum_lit(Entry::Moved));
    mux(of_line, entry, enum_lit(Entry::Other))
}

/// Builds the predictor as a block of its own: `look_line` in, one cycle later `likely` and `owner` out; `heard` with `heard_line`, `heard_device`, `heard_refused` in.
///
/// # Errors
/// Illegal parameters.
pub fn owner_predictor(p: &PredictorParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let name = format!("owner_predictor_{}_e{}", p.spandex.name_part(), p.entries);
    Module::build(&name, ModuleKind::Block, || describe(p))
        .map_err(|errors| BlockError::Elab { block: "owner-predictor".into(), errors })
}

fn describe(p: &PredictorParams) {
    doc("Guesses the owner of a line's words from the devices that answered for it.");
    param("entries", p.entries);
    let s = &p.spandex;
    let table = Predictor::new(p);
    let guess = table.look(input::<Bits>("look_line", s.line_bits()));
    output_reg::<Bool>("likely", ()).set(guess.likely);
    // What nobody has been told is not shown.
    let shown = guess.owner & guess.likely.repeat(s.dev_bits());
    output_reg::<Bits>("owner", s.dev_bits()).set(shown);
    let valid = input::<Bool>("heard", ());
    let line = input::<Bits>("heard_line", s.line_bits());
    let device = input::<Bits>("heard_device", s.dev_bits());
    table.hear(valid, line, device, input::<Bool>("heard_refused", ()));
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "owner-predictor",
        about: "Guesses the owner of a line's words from the devices that answered for it",
        params: || {
            let about = "entries, direct-mapped by line";
            let mut list =
                vec![ParamInfo { name: "entries", default: "64".into(), legal: "2, 4, .. 1024", about }];
            list.extend(spandex_params());
            list
        },
        build: |set| {
            let entries = set.within("entries", 2, 1024)? as u32;
            owner_predictor(&PredictorParams { spandex: spandex_from(set)?, entries })
        },
    }
}
