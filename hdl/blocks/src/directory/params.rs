//! Parameters of a directory slice (rec.md sections 2 and 3): legal ranges, derived widths, names on the command line.

use crate::common::sys::sys_params;
use crate::msg::Sys;
use crate::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::bv::bits_for;

/// Entry layout (rec.md section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum DirKind {
    /// One line per entry (`baseline-directory`, the specification's `dir_perline`).
    Perline,
    /// One sharer vector per aligned four lines (`group-directory`, `dir_group4`).
    Group4,
    /// One entry per aligned range with exact sharers per line (`rec-directory`, `rec_dir`).
    Rec,
}

/// Replacement policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Policy {
    /// Only insertion makes a way the youngest.
    Fifo,
    /// Remote reads and writes that hit do so too.
    Lru,
}

/// Which address bits an entry stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TagStyle {
    /// The fields exactly as published: index bits, and for two kinds the line offset, are kept.
    Published,
    /// Without line offset, bank and set index bits, for cost studies.
    Minimal,
}

/// Parameters of one directory slice.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct DirParams {
    /// Entry layout.
    pub kind: DirKind,
    /// Message widths, line size, banks and interleave.
    pub sys: Sys,
    /// GPU whose lines are tracked, below `sys.nodes()`.
    pub home: u32,
    /// Bytes of a range (REC only): a power of two, 2 to 64 lines.
    pub range: u32,
    /// Entries of all slices of the GPU together: banks * sets * ways.
    pub entries: u32,
    /// Ways, 1..128.
    pub ways: u32,
    /// Replacement policy.
    pub policy: Policy,
    /// Entries of the eviction buffer, 1..8.
    pub evb_depth: u32,
    /// Lines expanded per cycle, 1, 2 or 4; each beyond the first has an `inv` port of its own.
    pub inv_rate: u32,
    /// Address bits stored.
    pub tag_style: TagStyle,
}

/// A parameter that is outside its legal range: key and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("directory parameter {key}: {problem}")]
pub struct DirParamError {
    /// Key as on the command line.
    pub key: &'static str,
    /// What is wrong, with the remedy.
    pub problem: String,
}

impl DirParams {
    /// The published directory of a kind: 8192 entries in 8 ways, ranges of 1 KB, LRU for REC and FIFO for the others, an eviction buffer of 4.
    pub fn published(kind: DirKind, sys: &Sys, home: u32) -> DirParams {
        let policy = if kind == DirKind::Rec { Policy::Lru } else { Policy::Fifo };
        DirParams {
            kind,
            sys: sys.clone(),
            home,
            range: 1024,
            entries: 8192,
            ways: 8,
            policy,
            evb_depth: 4,
            inv_rate: 1,
            tag_style: TagStyle::Published,
        }
    }

    /// Refuses what rec.md section 2 does not allow.
    ///
    /// # Errors
    /// The first parameter that is outside its range or does not fit the others.
    pub fn validate(&self) -> Result<(), DirParamError> {
        let sys = &self.sys;
        let ensure = |ok: bool, key: &'static str, problem: String| {
            if ok { Ok(()) } else { Err(DirParamError { key, problem }) }
        };
        ensure((2..=16).contains(&sys.nodes()), "gpus", format!("{} lies outside 2..16", sys.nodes()))?;
        ensure(self.home < sys.nodes(), "home", format!("there are only {} GPUs", sys.nodes()))?;
        ensure(sys.line == 64 || sys.line == 128, "line", "lines have 64 or 128 bytes".into())?;
        let reach = sys.il.trailing_zeros() + sys.banks.trailing_zeros();
        let il_ok = sys.il.is_power_of_two() && sys.il >= 4 * sys.line && reach <= sys.addr_bits;
        ensure(
            il_ok,
            "il",
            format!("it must be a power of two of at least 4 lines, {} bytes", 4 * sys.line),
        )?;
        if self.kind == DirKind::Rec {
            self.validate_range()?;
        }
        ensure((1..=128).contains(&self.ways), "ways", format!("{} lies outside 1..128", self.ways))?;
        let step = sys.banks * self.ways;
        let divides = self.entries > 0 && self.entries.is_multiple_of(step);
        ensure(divides, "entries", format!("it does not divide into banks * ways = {step}"))?;
        let odd = self.sets() >> self.sets().trailing_zeros();
        ensure(
            odd <= 15,
            "entries",
            format!("{} sets per bank are not c * 2^k with c odd and at most 15", self.sets()),
        )?;
        let covered = u128::from(self.sets()) << (self.cover_bits() + sys.banks.trailing_zeros());
        let fits = covered <= 1u128 << sys.addr_bits && self.block_bits() > self.set_low_bits();
        ensure(fits, "entries", format!("the sets cover more than {} address bits", sys.addr_bits))?;
        ensure(
            (1..=8).contains(&self.evb_depth),
            "evb_depth",
            format!("{} lies outside 1..8", self.evb_depth),
        )?;
        ensure([1, 2, 4].contains(&self.inv_rate), "inv_rate", "it is not 1, 2 or 4".into())
    }

    fn validate_range(&self) -> Result<(), DirParamError> {
        let line = self.sys.line;
        let fail = |problem: String| Err(DirParamError { key: "range", problem });
        if self.range < 2 * line {
            return fail(format!("a range smaller than two lines of {line} bytes: use baseline-directory"));
        }
        if !self.range.is_power_of_two() || self.range > 64 * line {
            return fail(format!("it must be a power of two in {}..{}", 2 * line, 64 * line));
        }
        if self.range > self.sys.il {
            return fail(format!(
                "it is larger than il = {}: a range must not straddle two slices",
                self.sys.il
            ));
        }
        Ok(())
    }

    /// S, sharers a line can have: all GPUs but the home.
    pub fn sharers(&self) -> u32 {
        self.sys.nodes() - 1
    }

    /// log2 of the lines that one entry covers (G / L).
    pub fn lines_log2(&self) -> u32 {
        match self.kind {
            DirKind::Perline => 0,
            DirKind::Group4 => 2,
            DirKind::Rec => self.range.trailing_zeros() - self.sys.line.trailing_zeros(),
        }
    }

    /// log2 of the bytes that one entry covers (G).
    pub fn cover_bits(&self) -> u32 {
        self.sys.line.trailing_zeros() + self.lines_log2()
    }

    /// n, sharer vectors of one entry: R/L for REC, else 1.
    pub fn slots(&self) -> u32 {
        if self.kind == DirKind::Rec { 1 << self.lines_log2() } else { 1 }
    }

    /// Width of a slot number.
    pub fn slot_bits(&self) -> u32 {
        bits_for(u64::from(self.slots()))
    }

    /// Position bits of a slot: 1 for REC, else none.
    pub fn position_bits(&self) -> u32 {
        u32::from(self.kind == DirKind::Rec)
    }

    /// Bits of one slot: position (REC) and sharers.
    pub fn slot_width(&self) -> u32 {
        self.position_bits() + self.sharers()
    }

    /// Bits of all slots of an entry.
    pub fn slots_width(&self) -> u32 {
        self.slots() * self.slot_width()
    }

    /// Width of the number of an entry-sized block of memory: A - log2 G.
    pub fn base_bits(&self) -> u32 {
        self.sys.addr_bits - self.cover_bits()
    }

    /// Width of the same with the bank bits removed.
    pub fn block_bits(&self) -> u32 {
        self.base_bits() - self.sys.banks.trailing_zeros()
    }

    /// Sets per slice: entries / (banks * ways) = c * 2^k.
    pub fn sets(&self) -> u32 {
        self.entries / (self.sys.banks * self.ways)
    }

    /// k: set bits taken straight from the address.
    pub fn set_low_bits(&self) -> u32 {
        self.sets().trailing_zeros()
    }

    /// c: the odd factor of the number of sets.
    pub fn set_odd(&self) -> u32 {
        self.sets() >> self.set_low_bits()
    }

    /// Width of a set number.
    pub fn set_bits(&self) -> u32 {
        bits_for(u64::from(self.sets()))
    }

    /// Width of a way number.
    pub fn way_bits(&self) -> u32 {
        bits_for(u64::from(self.ways))
    }

    /// Bits of a way's age: log2 ways, rounded up; none with one way.
    pub fn age_bits(&self) -> u32 {
        self.ways.next_power_of_two().trailing_zeros()
    }

    /// Bits of the stored base (REC) or tag (rec.md section 3).
    pub fn tag_bits(&self) -> u32 {
        match (self.tag_style, self.kind) {
            (TagStyle::Minimal, _) => self.block_bits() - self.set_low_bits(),
            (TagStyle::Published, DirKind::Rec) => self.base_bits(),
            (TagStyle::Published, _) => self.sys.addr_bits,
        }
    }

    /// Bits of one entry: slots, base or tag, valid.
    pub fn entry_bits(&self) -> u32 {
        self.slots_width() + self.tag_bits() + 1
    }

    /// Storage fields of one entry with their bits.
    pub fn entry_fields(&self) -> Vec<(&'static str, u32)> {
        let tag = if self.kind == DirKind::Rec { "base" } else { "tag" };
        vec![
            (tag, self.tag_bits()),
            ("position", self.slots() * self.position_bits()),
            ("sharers", self.slots() * self.sharers()),
            ("valid", 1),
        ]
    }

    /// Parts of one entry from bit 0 up: the slots (each a position bit, for REC, and the sharers), base or tag, valid.
    pub fn entry_layout(&self) -> Vec<(String, u32)> {
        let mut parts = Vec::new();
        let slots = self.slots();
        // The slots between the first and the last look like these two.
        for slot in [0, slots - 1].into_iter().take(slots.min(2) as usize) {
            let of = if slots == 1 { String::new() } else { format!(" {slot}") };
            if self.position_bits() > 0 {
                parts.push((format!("position{of}"), 1));
            }
            parts.push((format!("sharers{of}"), self.sharers()));
            if slot == 0 && slots > 2 {
                parts.push((format!("slots 1..{}", slots - 2), (slots - 2) * self.slot_width()));
            }
        }
        parts.push((if self.kind == DirKind::Rec { "base" } else { "tag" }.to_string(), self.tag_bits()));
        parts.push(("valid".to_string(), 1));
        parts
    }

    /// Module name, unique per parameters that change the hardware.
    pub fn module_name(&self) -> String {
        let kind = match self.kind {
            DirKind::Perline => "baseline_directory".to_string(),
            DirKind::Group4 => "group_directory".to_string(),
            DirKind::Rec => format!("rec_directory_r{}", self.range),
        };
        let (policy, tag) = (format!("{:?}", self.policy), format!("{:?}", self.tag_style));
        format!(
            "{kind}_e{}_w{}_{}_il{}_v{}_i{}_{}_{}_h{}",
            self.entries,
            self.ways,
            crate::common::sys::sys_tag(&self.sys),
            self.sys.il,
            self.evb_depth,
            self.inv_rate,
            policy.to_lowercase(),
            tag.to_lowercase(),
            self.home
        )
    }
}

/// Keys of a directory block on the command line. `entries` counts all slices of a GPU; with the default of one bank the block is the whole
/// directory of a GPU, while a fabric builds one slice per L2 bank.
pub fn dir_param_infos(kind: DirKind) -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut list: Vec<ParamInfo> = sys_params()
        .into_iter()
        .filter(|i| ["gpus", "addr_bits", "line", "banks", "l2_mshrs", "il"].contains(&i.name))
        .collect();
    for entry in &mut list {
        match entry.name {
            "banks" => {
                entry.default = "1".into();
                entry.about = "slices that the entries are divided into; the block is one of them";
            }
            "il" => entry.legal = "power of two, at least a range and at least 4 lines",
            _ => {}
        }
    }
    list.push(info("home", "0", "0..gpus-1", "GPU whose lines are tracked"));
    if kind == DirKind::Rec {
        list.push(info(
            "range",
            "1024",
            "power of two, 2 to 64 lines, at most il",
            "bytes that one entry covers",
        ));
    }
    let policy = if kind == DirKind::Rec { "lru" } else { "fifo" };
    list.extend([
        info(
            "entries",
            "8192",
            "banks * ways * c * 2^k, c odd, at most 15",
            "entries of all slices of a GPU",
        ),
        info("ways", "8", "1..128", "ways of a set"),
        info("policy", policy, "fifo, lru", "whether a remote hit makes a way the youngest"),
        info("evb_depth", "4", "1..8", "entries of the eviction buffer"),
        info("inv_rate", "1", "1, 2, 4", "lines of an evicted entry expanded per cycle"),
        info("tag_style", "published", "published, minimal", "whether index bits are stored, as published"),
    ]);
    list
}

/// Reads the keys of [`dir_param_infos`].
///
/// # Errors
/// A value outside its range, or values that do not fit each other.
pub fn dir_from(kind: DirKind, p: &ParamSet) -> Result<DirParams, BlockError> {
    let number = |key, lo, hi| p.within(key, lo, hi).map(|v| v as u32);
    let choice = |key: &str, first: &str, second: &str| match p.text(key).as_str() {
        t if t == first => Ok(false),
        t if t == second => Ok(true),
        _ => Err(p.illegal(key, "it is not known")),
    };
    let params = DirParams {
        kind,
        sys: slice_sys(p)?,
        home: number("home", 0, 15)?,
        range: if kind == DirKind::Rec { number("range", 1, 1 << 20)? } else { 0 },
        entries: number("entries", 1, 1 << 26)?,
        ways: number("ways", 1, 128)?,
        policy: if choice("policy", "fifo", "lru")? { Policy::Lru } else { Policy::Fifo },
        evb_depth: number("evb_depth", 1, 8)?,
        inv_rate: number("inv_rate", 1, 4)?,
        tag_style: if choice("tag_style", "published", "minimal")? {
            TagStyle::Minimal
        } else {
            TagStyle::Published
        },
    };
    params.validate().map_err(|e| p.illegal(e.key, &e.problem))?;
    Ok(params)
}

/// The message parameters of a slice on its own; what its messages do not depend on takes any value.
fn slice_sys(p: &ParamSet) -> Result<Sys, BlockError> {
    let number = |key, lo, hi| p.within(key, lo, hi).map(|v| v as u32);
    let sys = Sys {
        gpus: number("gpus", 2, 16)?,
        gpms: 1,
        addr_bits: number("addr_bits", 32, 64)?,
        line: number("line", 64, 128)?,
        banks: number("banks", 1, 64)?,
        l1s: 1,
        l2_mshrs: number("l2_mshrs", 2, 256)?,
        l1_mshrs: 1,
        il: number("il", 64, 1 << 30)?,
        home_shift: 0,
    };
    if !sys.banks.is_power_of_two() {
        return Err(p.illegal("banks", "it is no power of two"));
    }
    Ok(sys)
}
