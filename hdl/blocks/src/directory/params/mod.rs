//! Parameters of a directory slice (rec.md and hmg.md, sections 2 and 3): legal ranges, derived widths.

mod kind;

pub(super) use kind::camel;
pub use kind::{Covers, DirKind, Layout, Sharers};

use crate::msg::Sys;
use weft_rtl::bv::bits_for;

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
    /// Node that the slice belongs to: a GPU, or {GPU, GPM}.
    pub home: u32,
    /// Bytes of a range (kinds with ranges only): a power of two, 2 to 64 lines.
    pub range: u32,
    /// Lines that share an entry (kinds with groups only): 1, 2, 4 or 8.
    pub group: u32,
    /// The slice understands [`crate::msg::DirOp::Downgrade`] (kinds with GPMs only, without acknowledged Invs).
    pub downgrade: bool,
    /// Entries of all slices of the node together: banks * sets * ways.
    pub entries: u32,
    /// Ways, 1..128 (1..64 for kinds with GPMs).
    pub ways: u32,
    /// Replacement policy.
    pub policy: Policy,
    /// Entries of the eviction buffer, 1..8; with acknowledged Invs, Invs that wait for the egress.
    pub evb_depth: u32,
    /// Lines expanded per cycle, 1, 2 or 4; each beyond the first has an `inv` port of its own. With acknowledged Invs 1.
    pub inv_rate: u32,
    /// Groups whose Invs are awaited at once, 2..64 (kinds with acknowledged Invs only).
    pub pending: u32,
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

fn ensure(ok: bool, key: &'static str, problem: impl FnOnce() -> String) -> Result<(), DirParamError> {
    if ok { Ok(()) } else { Err(DirParamError { key, problem: problem() }) }
}

impl DirParams {
    /// The published directory of a kind: entries, ways and policy of its [`Layout`]; ranges of 1 KB, groups of 4 lines, an eviction buffer of 4; no
    /// downgrade; 32 groups whose Invs are awaited.
    pub fn published(kind: DirKind, sys: &Sys, home: u32) -> DirParams {
        let (entries, ways, policy) = kind.published;
        DirParams {
            kind,
            sys: sys.clone(),
            home,
            range: 1024,
            group: 4,
            downgrade: false,
            entries,
            ways,
            policy,
            evb_depth: 4,
            inv_rate: 1,
            pending: 32,
            tag_style: TagStyle::Published,
        }
    }

    /// Refuses what section 2 of rec.md, or of hmg.md, does not allow.
    ///
    /// # Errors
    /// The first parameter that is outside its range or does not fit the others.
    pub fn validate(&self) -> Result<(), DirParamError> {
        let sys = &self.sys;
        if self.kind.modules() {
            self.validate_modules()?;
        } else {
            let nodes = sys.nodes();
            ensure((2..=16).contains(&nodes), "gpus", || format!("{nodes} lies outside 2..16"))?;
            ensure(self.home < nodes, "home", || format!("there are only {nodes} GPUs"))?;
        }
        ensure(sys.line == 64 || sys.line == 128, "line", || "lines have 64 or 128 bytes".into())?;
        let reach = sys.il.trailing_zeros() + sys.banks.trailing_zeros();
        let lines = if self.kind.groups() { self.group.max(4) } else { 4 };
        let least = lines * sys.line;
        let il_ok = sys.il.is_power_of_two() && sys.il >= least && reach <= sys.addr_bits;
        ensure(il_ok, "il", || {
            format!("it must be a power of two of at least {lines} lines, {least} bytes")
        })?;
        if self.kind.ranges() {
            self.validate_range()?;
        }
        if self.kind.modules() {
            let above = sys.home_shift + sys.node_bits();
            ensure(above <= sys.addr_bits, "home_shift", || {
                let most = sys.addr_bits.saturating_sub(sys.node_bits());
                format!("the node number above it lies outside the address; it is at most {most} here")
            })?;
            ensure(sys.home_shift >= reach, "home_shift", || {
                format!("a node's memory does not reach all its banks; it is at least {reach} here")
            })?;
        }
        self.validate_storage()
    }

    fn validate_modules(&self) -> Result<(), DirParamError> {
        let sys = &self.sys;
        let nodes = sys.gpus * sys.gpms;
        ensure((1..=16).contains(&sys.gpus), "gpus", || format!("{} lies outside 1..16", sys.gpus))?;
        ensure((1..=8).contains(&sys.gpms), "gpms", || format!("{} lies outside 1..8", sys.gpms))?;
        ensure((2..=64).contains(&nodes), "gpms", || {
            format!("{} GPUs of {} GPMs make {nodes} nodes, which lies outside 2..64", sys.gpus, sys.gpms)
        })?;
        ensure(sys.all_nodes().contains(&self.home), "home", || {
            format!("there is no node {} among {} GPUs of {} GPMs", self.home, sys.gpus, sys.gpms)
        })?;
        let group = !self.kind.groups() || [1, 2, 4, 8].contains(&self.group);
        ensure(group, "group", || format!("{} is not 1, 2, 4 or 8", self.group))
    }

    fn validate_storage(&self) -> Result<(), DirParamError> {
        let sys = &self.sys;
        let most = if self.kind.modules() { 64 } else { 128 };
        ensure((1..=most).contains(&self.ways), "ways", || format!("{} lies outside 1..{most}", self.ways))?;
        let step = sys.banks * self.ways;
        let divides = self.entries > 0 && self.entries.is_multiple_of(step);
        ensure(divides, "entries", || format!("it does not divide into banks * ways = {step}"))?;
        let odd = self.sets() >> self.sets().trailing_zeros();
        ensure(odd <= 15, "entries", || {
            format!("{} sets per bank are not c * 2^k with c odd and at most 15", self.sets())
        })?;
        let covered = u128::from(self.sets()) << (self.cover_bits() + sys.banks.trailing_zeros());
        let fits = covered <= 1u128 << sys.addr_bits && self.block_bits() > self.set_low_bits();
        ensure(fits, "entries", || format!("the sets cover more than {} address bits", sys.addr_bits))?;
        let depth = self.evb_depth;
        ensure((1..=8).contains(&depth), "evb_depth", || format!("{depth} lies outside 1..8"))?;
        ensure([1, 2, 4].contains(&self.inv_rate), "inv_rate", || "it is not 1, 2 or 4".into())?;
        if self.kind.acked { self.validate_acked() } else { Ok(()) }
    }

    fn validate_acked(&self) -> Result<(), DirParamError> {
        let rows = self.pending;
        ensure((2..=64).contains(&rows), "pending", || format!("{rows} lies outside 2..64"))?;
        ensure(self.inv_rate == 1, "inv_rate", || {
            "an operation causes one Inv at most: it must be 1".into()
        })?;
        ensure(!self.downgrade, "downgrade", || "this directory knows no downgrades: it must be off".into())
    }

    fn validate_range(&self) -> Result<(), DirParamError> {
        let line = self.sys.line;
        let fail = |problem: String| Err(DirParamError { key: "range", problem });
        if self.range < 2 * line {
            let remedy =
                if self.kind.modules() { "hmg-directory with group = 1" } else { "baseline-directory" };
            return fail(format!("a range smaller than two lines of {line} bytes: use {remedy}"));
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

    /// S, sharers that a slot can record: all nodes but the home; in two levels all GPMs of the GPU but the home, and all GPUs but its own.
    pub fn sharers(&self) -> u32 {
        match self.kind.sharers {
            Sharers::Nodes => self.sys.gpus * self.sys.gpms - 1,
            Sharers::TwoLevel => self.sys.gpms + self.sys.gpus - 2,
            Sharers::Gpus => self.sys.nodes() - 1,
        }
    }

    /// GPU of the home.
    pub fn own_gpu(&self) -> u32 {
        self.sys.gpu_of_node(self.home)
    }

    /// Number of the home in its GPU.
    pub fn own_gpm(&self) -> u32 {
        self.sys.gpm_of_node(self.home)
    }

    /// The node that an Inv for each sharer bit goes to, lowest bit first: all other nodes; in two levels the other GPMs of the GPU, then in each
    /// other GPU the GPM that is the home there for the same lines.
    pub fn sharer_nodes(&self) -> Vec<u32> {
        let others = self.sys.all_nodes().into_iter().filter(|node| *node != self.home);
        let near = |node: &u32| self.sys.gpu_of_node(*node) == self.own_gpu();
        let across = |node: &u32| !near(node) && self.sys.gpm_of_node(*node) == self.own_gpm();
        if self.kind.two_level() {
            others.clone().filter(near).chain(others.filter(across)).collect()
        } else {
            others.collect()
        }
    }

    /// Sharer bits of GPMs of the home's GPU, which are the lowest of a slot (two levels only).
    pub fn near_sharers(&self) -> u32 {
        self.sys.gpms - 1
    }

    /// An Inv names a group of several lines.
    pub fn names_groups(&self) -> bool {
        !self.kind.ranges() && self.lines_log2() > 0
    }

    /// log2 of the lines that one entry covers (G / L).
    pub fn lines_log2(&self) -> u32 {
        match self.kind.covers {
            Covers::Lines(lines) => lines.trailing_zeros(),
            Covers::Range => self.range.trailing_zeros() - self.sys.line.trailing_zeros(),
            Covers::Group => self.group.trailing_zeros(),
        }
    }

    /// log2 of the bytes that one entry covers (G).
    pub fn cover_bits(&self) -> u32 {
        self.sys.line.trailing_zeros() + self.lines_log2()
    }

    /// n, sharer vectors of one entry: R/L for ranges, else 1.
    pub fn slots(&self) -> u32 {
        if self.kind.ranges() { 1 << self.lines_log2() } else { 1 }
    }

    /// Width of a slot number.
    pub fn slot_bits(&self) -> u32 {
        bits_for(u64::from(self.slots()))
    }

    /// Position bits of a slot: 1 for ranges, else none.
    pub fn position_bits(&self) -> u32 {
        u32::from(self.kind.ranges())
    }

    /// Bits of the owner: whether there is one, and which node it is.
    pub fn owner_bits(&self) -> u32 {
        if self.kind.owners { 1 + self.sys.node_bits() } else { 0 }
    }

    /// Bits of one slot: position (ranges), sharers, owner.
    pub fn slot_width(&self) -> u32 {
        self.position_bits() + self.sharers() + self.owner_bits()
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

    /// Bits of the stored base (ranges) or tag (rec.md section 3).
    pub fn tag_bits(&self) -> u32 {
        match self.tag_style {
            TagStyle::Minimal => self.block_bits() - self.set_low_bits(),
            TagStyle::Published if self.kind.ranges() => self.base_bits(),
            TagStyle::Published => self.sys.addr_bits,
        }
    }

    /// Name of the field that tells entries of a set apart.
    fn tag_name(&self) -> &'static str {
        if self.kind.ranges() { "base" } else { "tag" }
    }

    /// Bits of one entry: slots, base or tag, valid.
    pub fn entry_bits(&self) -> u32 {
        self.slots_width() + self.tag_bits() + 1
    }

    /// Storage fields of one entry with their bits.
    pub fn entry_fields(&self) -> Vec<(&'static str, u32)> {
        let mut fields = vec![
            (self.tag_name(), self.tag_bits()),
            ("position", self.slots() * self.position_bits()),
            ("sharers", self.slots() * self.sharers()),
            ("valid", 1),
        ];
        if self.kind.owners {
            fields.push(("owner", self.owner_bits()));
        }
        fields
    }

    /// Parts of one entry from bit 0 up: the slots (each a position bit, for ranges, and the sharers), base or tag, valid.
    pub fn entry_layout(&self) -> Vec<(String, u32)> {
        let mut parts = Vec::new();
        let slots = self.slots();
        // The slots between the first and the last look like these two.
        for slot in [0, slots - 1].into_iter().take(slots.min(2) as usize) {
            let of = if slots == 1 { String::new() } else { format!(" {slot}") };
            if self.position_bits() > 0 {
                parts.push((format!("position{of}"), 1));
            }
            parts.extend(self.sharers_layout(&of));
            if self.kind.owners {
                parts.push(("owner".to_string(), self.owner_bits()));
            }
            if slot == 0 && slots > 2 {
                parts.push((format!("slots 1..{}", slots - 2), (slots - 2) * self.slot_width()));
            }
        }
        parts.push((self.tag_name().to_string(), self.tag_bits()));
        parts.push(("valid".to_string(), 1));
        parts
    }

    fn sharers_layout(&self, of: &str) -> Vec<(String, u32)> {
        if !self.kind.two_level() {
            return vec![(format!("sharers{of}"), self.sharers())];
        }
        let (near, far) = (self.near_sharers(), self.sharers() - self.near_sharers());
        let parts = [("GPMs", near), ("GPUs", far)];
        let present = parts.into_iter().filter(|(_, bits)| *bits > 0);
        present.map(|(who, bits)| (format!("sharers{of}: {who}"), bits)).collect()
    }

    fn modules_tag(&self) -> String {
        let downgrade = if self.downgrade { "_down" } else { "" };
        let Sys { gpus, gpms, home_shift, .. } = self.sys;
        let covers = if self.kind.ranges() { format!("r{}", self.range) } else { format!("g{}", self.group) };
        format!("{gpus}x{gpms}_{covers}_p{home_shift}{downgrade}")
    }

    /// Module name, unique per parameters that change the hardware.
    pub fn module_name(&self) -> String {
        let of = self.kind.info.name.replace('-', "_");
        let kind = match self.kind {
            kind if kind.acked => format!("{of}_{}_a{}", self.modules_tag(), self.pending),
            kind if kind.modules() => format!("{of}_{}", self.modules_tag()),
            kind if kind.ranges() => format!("{of}_r{}", self.range),
            _ => of,
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
