//! Parameters of an L2 bank and the widths that follow from them.

use crate::msg::Sys;
use crate::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::bv::bits_for;
use weft_rtl::prelude::{Bits, Bool, bool_lit, cat, lit};

/// Where lines homed in another GPU may be kept (rec.md section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caching {
    /// In this L2 and in the L1s.
    L1L2,
    /// In the L1s only; this L2 lends an MSHR.
    L1Only,
    /// Nowhere; to this L2 the same as [`Caching::L1Only`].
    None,
    /// In the L2s and L1s of the GPU where they are homed: in its other GPMs (hmg.md section 8, no-remote-caching).
    OwnGpu,
}

/// What one bank is (rec.md section 6).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct L2Params {
    /// The fabric's widths.
    pub sys: Sys,
    /// Number of the GPU this bank belongs to: lines with this home are its own.
    pub home: u32,
    /// Sets of this bank: c * 2^k with c odd and at most 15.
    pub sets: u32,
    /// Ways, a power of two, 2..64.
    pub ways: u32,
    /// Requests that may wait in all merge and replay lists together.
    pub pool: u32,
    /// Where remote-homed lines may be kept.
    pub caching: Caching,
    /// A directory slice is attached.
    pub dir: bool,
    /// Lines of a group that an invalidation may name: 1, 2, 4 or 8.
    pub group: u32,
    /// GPU homes exist: requests for lines of other GPUs go through the GPM of this GPU that has the number of their home (hmg.md section 1).
    pub hier: bool,
    /// Loads of GPU and system scope may not hit in copies below that scope (hmg.md section 5.1). Banks of a hierarchy always obey that.
    pub scoped: bool,
    /// Software coherence: the fence unit may order copies to be dropped (hmg.md section 8).
    pub drops: bool,
    /// Such an order drops every line, those of this home too, after their dirty bytes are written back;
    /// reads under way are poisoned by its own class. Only with `drops`.
    pub drops_all: bool,
    /// The next home is told when the last clean line of a group leaves this bank (hmg.md section 4, Downgrade). Only with `hier` and `dir`.
    pub downgrade: bool,
    /// Stores stay in the first bank on their way that may hold them, until they are displaced or a release writes them on (hmg.md section 5.2). Only
    /// with `hier`, all lines kept, and 4 ways or more.
    pub write_back: bool,
    /// The directory's Invs are acknowledged and releases send no markers (GPU-VI, hmg.md section 8): answers to reads of other nodes wait for the directory, and
    /// a drain waits for every write under way. Only with `dir`, without `hier`, and with all lines kept.
    pub acks: bool,
}

impl L2Params {
    /// Width of a set number.
    pub fn set_bits(&self) -> u32 {
        bits_for(u64::from(self.sets))
    }
    /// Low address bits used as they are in the set number: k of c * 2^k.
    pub fn low_bits(&self) -> u32 {
        self.sets.trailing_zeros()
    }
    /// Odd factor c of the number of sets.
    pub fn odd(&self) -> u32 {
        self.sets >> self.low_bits()
    }
    /// Address bits that choose the bank; not kept in a tag.
    pub fn bank_field(&self) -> u32 {
        self.sys.banks.trailing_zeros()
    }
    /// Width of a tag: the line number without bank bits and without the low set bits (31 for the published bank).
    pub fn tag_bits(&self) -> u32 {
        self.sys.line_bits() - self.bank_field() - self.low_bits()
    }
    /// Width of a way number.
    pub fn way_bits(&self) -> u32 {
        bits_for(u64::from(self.ways))
    }
    /// Width of a line's place in the data array: set, then way.
    pub fn row_bits(&self) -> u32 {
        bits_for(u64::from(self.sets * self.ways))
    }
    /// Width of a pool entry's number.
    pub fn pool_bits(&self) -> u32 {
        bits_for(u64::from(self.pool))
    }
    /// Width of a requester's number: an L1 or a GPU.
    pub fn who_bits(&self) -> u32 {
        self.sys.l1_bits().max(self.sys.node_bits())
    }
    /// Width of a requester's transaction number: of an L1 or of another bank.
    pub fn id_bits(&self) -> u32 {
        self.sys.l1_id_bits().max(self.sys.l2_id_bits())
    }
    /// MSHRs that remote-homed lines may hold: 3/4 of all (rec.md section 5, rule b).
    pub fn mshr_quota(&self) -> u32 {
        self.sys.l2_mshrs * 3 / 4
    }
    /// Pool entries that remote-homed lines may hold, by the same rule.
    pub fn pool_quota(&self) -> u32 {
        self.pool * 3 / 4
    }
    /// MSHRs that lines served by other GPMs may hold in a hierarchy, and also those that lines with their GPU home here may hold: half. So
    /// each sort goes on while the other one waits for its network.
    pub fn away_half(&self) -> u32 {
        self.sys.l2_mshrs / 2
    }
    /// Pool entries that each sort may hold.
    pub fn away_pool_half(&self) -> u32 {
        self.pool / 2
    }
    /// Some remote-homed lines may be installed.
    pub fn keeps_remote(&self) -> bool {
        matches!(self.caching, Caching::L1L2 | Caching::OwnGpu)
    }
    /// A line may be installed although it is homed elsewhere.
    pub fn keeps(&self, line: Bits) -> Bool {
        match self.caching {
            Caching::OwnGpu => self.of_own_gpu(line),
            caching => bool_lit(caching == Caching::L1L2),
        }
    }
    /// This node's GPU.
    pub fn own_gpu(&self) -> u32 {
        self.sys.gpu_of_node(self.home)
    }
    /// A line's home is in this GPU.
    pub fn of_own_gpu(&self, line: Bits) -> Bool {
        self.near(self.sys.home_of(line))
    }
    /// A node is of this GPU.
    pub fn near(&self, node: Bits) -> Bool {
        self.sys.gpu_of(node).eq(u64::from(self.own_gpu()))
    }
    /// A line's home is here.
    pub fn homed(&self, line: Bits) -> Bool {
        self.sys.home_of(line).eq(u64::from(self.home))
    }
    /// A hierarchy's line of another GPU, with its GPU home here.
    pub fn gpu_homed(&self, line: Bits) -> Bool {
        if !self.hier {
            return bool_lit(false);
        }
        !self.of_own_gpu(line) & self.own_gpm(line)
    }
    /// A line's home has the GPM number of this node.
    fn own_gpm(&self, line: Bits) -> Bool {
        if self.sys.gpms == 1 {
            return bool_lit(true);
        }
        self.sys.gpm_of(self.sys.home_of(line)).eq(u64::from(self.sys.gpm_of_node(self.home)))
    }
    /// Another node serves a line's requests directly: in a hierarchy a GPM of this GPU.
    pub fn leaf(&self, line: Bits) -> Bool {
        if self.hier { !self.own_gpm(line) } else { !self.homed(line) }
    }
    /// Where a leaf sends a line's requests.
    pub fn leaf_target(&self, line: Bits) -> Bits {
        let home = self.sys.home_of(line);
        if !self.hier || self.sys.gpus == 1 {
            return home;
        }
        let gpu = lit(u64::from(self.own_gpu()), self.sys.node_bits() - self.sys.gpm_bits());
        if self.sys.gpms == 1 { gpu } else { cat(&[gpu, self.sys.gpm_of(home)]) }
    }
    /// Loads of GPU and system scope are told apart.
    pub fn forces(&self) -> bool {
        self.hier || self.scoped
    }
    /// Ways of a set that may hold dirty bytes of lines that other GPMs serve, and as many those of lines with their GPU home here.
    pub fn held_ways(&self) -> u32 {
        self.ways / 4
    }
    /// Places that an operation needs free in an output queue to enter: its own and one for each stage ahead; with write-back it may send two messages.
    pub fn places(&self) -> u32 {
        if self.write_back { 4 } else { 3 }
    }
    /// Sets whose tags are read and written at once, so that a drop takes sets / bulk cycles.
    pub fn bulk(&self) -> u32 {
        if self.drops { 1 << self.sets.trailing_zeros().min(3) } else { 1 }
    }

    fn interleave(&self) -> u32 {
        self.sys.il.trailing_zeros() - self.sys.line.trailing_zeros()
    }

    fn stripped(&self, line: Bits) -> Bits {
        if self.bank_field() == 0 {
            return line;
        }
        let (low, top) = (self.interleave(), self.interleave() + self.bank_field());
        cat(&[line.slice(top, self.sys.line_bits() - top), line.slice(0, low)])
    }

    /// Set of a line: {(upper part mod c), low k bits} of the line number without bank bits (rec.md section 2).
    pub fn set_of(&self, line: Bits) -> Bits {
        let (stripped, low) = (self.stripped(line), self.low_bits());
        if self.odd() == 1 {
            return stripped.slice(0, low);
        }
        let upper = stripped.slice(low, stripped.width() - low);
        let rest = modulo(upper, self.odd()).resize(self.set_bits() - low);
        if low == 0 { rest } else { cat(&[rest, stripped.slice(0, low)]) }
    }

    /// Tag of a line.
    pub fn tag_of(&self, line: Bits) -> Bits {
        let stripped = self.stripped(line);
        stripped.slice(self.low_bits(), self.tag_bits())
    }

    /// The line with this tag in this set of the bank.
    pub fn line_from(&self, tag: Bits, set: Bits, bank: Bits) -> Bits {
        let low = self.low_bits();
        let stripped = if low == 0 { tag } else { cat(&[tag, set.slice(0, low)]) };
        if self.bank_field() == 0 {
            return stripped;
        }
        let below = self.interleave();
        let above = stripped.slice(below, stripped.width() - below);
        cat(&[above, bank.slice(0, self.bank_field()), stripped.slice(0, below)])
    }

    /// [`L2Params::line_from`] on numbers: the line that a row of the tag array names.
    pub fn line_number(&self, tag: u64, set: u64, bank: u64) -> u64 {
        let low = self.low_bits();
        let stripped = tag << low | set & ((1 << low) - 1);
        let below = self.interleave();
        let offset = stripped & ((1 << below) - 1);
        (stripped >> below << self.bank_field() | bank & ((1 << self.bank_field()) - 1)) << below | offset
    }

    /// Name of the module, distinct for distinct parameters.
    pub fn module_name(&self) -> String {
        let s = &self.sys;
        let caching = match self.caching {
            Caching::L1L2 => "l1l2",
            Caching::L1Only => "l1only",
            Caching::None => "none",
            Caching::OwnGpu => "owngpu",
        };
        let flag = |on: bool, text: &'static str| if on { text } else { "" };
        format!(
            "rec_l2_bank_h{}of{}_a{}_l{}_b{}_il{}_p{}_s{}_w{}_m{}_q{}_c{}x{}_{caching}_{}{}{}{}{}{}{}{}{}",
            self.home,
            if s.gpms == 1 { s.nodes().to_string() } else { format!("{}x{}", s.gpus, s.gpms) },
            s.addr_bits,
            s.line,
            s.banks,
            s.il,
            s.home_shift,
            self.sets,
            self.ways,
            s.l2_mshrs,
            self.pool,
            s.l1s,
            s.l1_mshrs,
            if self.dir { "dir" } else { "nodir" },
            if self.group == 4 { String::new() } else { format!("_g{}", self.group) },
            flag(self.hier, "_hier"),
            flag(self.scoped, "_scoped"),
            flag(self.drops, "_drops"),
            flag(self.drops_all, "_all"),
            flag(self.downgrade, "_down"),
            flag(self.write_back, "_wb"),
            flag(self.acks, "_acks"),
        )
    }
}

/// `value` modulo an odd constant of at most 15.
fn modulo(value: Bits, by: u32) -> Bits {
    let width = bits_for(u64::from(by)) + 1;
    let modulus = lit(u64::from(by), width);
    let mut rest = lit(0, width);
    for i in (0..value.width()).rev() {
        let next = cat(&[rest.slice(0, width - 1), value.slice(i, 1)]);
        rest = weft_rtl::prelude::mux(next.ge(modulus), next - modulus, next);
    }
    rest
}

/// The parameters as listed on the command line.
pub fn infos() -> Vec<ParamInfo> {
    let row = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    vec![
        row("gpus", "4", "1..64", "GPUs of the fabric; with their GPMs 2 to 64 nodes"),
        row("gpms", "1", "1..8", "modules of a GPU"),
        row("home", "0", "0..nodes-1", "node the bank belongs to: {GPU, GPM}"),
        row("addr_bits", "48", "32..64", "address bits"),
        row("line", "64", "64, 128", "line size in bytes"),
        row("banks", "16", "a power of two, 1..64", "L2 banks per GPU"),
        row("il", "4096", "a power of two, 4*line..1M, at least a group", "bank interleave in bytes"),
        row(
            "home_shift",
            "32",
            "address bit, log2(il*banks)..addr_bits-log2(gpus)",
            "home = address >> home_shift",
        ),
        row("sets", "128", "c*2^k, c odd <= 15, 2..16384", "sets of the bank"),
        row("ways", "16", "a power of two, 2..64", "ways per set"),
        row("mshrs", "64", "4..256", "MSHRs of the bank"),
        row("pool", "128", "mshrs..1024", "requests waiting in all merge and replay lists together"),
        row("caching", "l1_l2", "l1_l2, l1_only, none, own_gpu", "where remote-homed lines may be kept"),
        row("l1s", "64", "1..256", "L1 caches of the GPU"),
        row("l1_mshrs", "32", "1..256", "transactions of one L1"),
        row("dir", "1", "0, 1", "1: a directory slice is attached"),
        row("group", "4", "1, 2, 4, 8", "lines of a group that an invalidation may name"),
        row("hier", "0", "0, 1", "1: GPU homes, as in HMG"),
        row(
            "scoped",
            "0",
            "0, 1",
            "1: loads of GPU and system scope miss copies below that scope (always with hier)",
        ),
        row(
            "write_back",
            "0",
            "0, 1 (only with hier, caching l1_l2, 4 ways or more)",
            "1: stores stay in the first bank on their way that may hold them",
        ),
        row("drops", "0", "0, 1", "1: software coherence, copies are dropped on command"),
        row(
            "drops_all",
            "0",
            "0, 1 (only with drops)",
            "1: such a command drops all lines, those of this home too, and writes dirty ones back before",
        ),
        row(
            "downgrade",
            "0",
            "0, 1 (only with hier and dir)",
            "1: the next home is told when the last clean line of a group is evicted",
        ),
        row(
            "acks",
            "0",
            "0, 1 (only with dir and caching l1_l2, without hier)",
            "1: a store is complete when no other copy is left, and nobody releases it before",
        ),
    ]
}

/// Those of a bank that keeps all lines and has a directory, and nothing that is optional.
pub fn infos_of_kept() -> Vec<ParamInfo> {
    const SIZES: [&str; 14] = [
        "gpus",
        "gpms",
        "home",
        "addr_bits",
        "line",
        "banks",
        "il",
        "home_shift",
        "sets",
        "ways",
        "mshrs",
        "pool",
        "l1s",
        "l1_mshrs",
    ];
    infos().into_iter().filter(|info| SIZES.contains(&info.name)).collect()
}

/// Reads and checks the parameters of [`infos_of_kept`].
///
/// # Errors
/// An illegal value, with its legal range.
pub fn read_kept(set: &ParamSet) -> Result<L2Params, BlockError> {
    let p = read(&set.with(infos()))?;
    Ok(L2Params { sys: Sys { owners: true, ..p.sys }, dir: true, acks: true, ..p })
}

/// Reads and checks the parameters.
///
/// # Errors
/// An illegal value, with its legal range.
pub fn read(set: &ParamSet) -> Result<L2Params, BlockError> {
    let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
    let power = |key, lo, hi| {
        let value = number(key, lo, hi)?;
        if value.is_power_of_two() { Ok(value) } else { Err(set.illegal(key, "it is no power of two")) }
    };
    let gpus = number("gpus", 1, 64)?;
    let gpms = number("gpms", 1, 8)?;
    let line = power("line", 64, 128)?;
    let banks = power("banks", 1, 64)?;
    let group = power("group", 1, 8)?;
    let il = power("il", u64::from(group.max(4) * line), 1 << 20)?;
    let addr_bits = number("addr_bits", 32, 64)?;
    let floor = u64::from(il.trailing_zeros() + banks.trailing_zeros());
    let nodes = gpus * gpms.next_power_of_two();
    if !(2..=64).contains(&nodes) {
        return Err(set.illegal("gpus", "with their GPMs they make less than 2 or more than 64 nodes"));
    }
    let home_shift = number("home_shift", floor, u64::from(addr_bits - bits_for(u64::from(nodes))))?;
    let sets = number("sets", 2, 16384)?;
    if sets >> sets.trailing_zeros() > 15 {
        return Err(set.illegal("sets", "its odd factor is above 15"));
    }
    let l2_mshrs = number("mshrs", 4, 256)?;
    let on = |key| number(key, 0, 1).map(|v| v == 1);
    let (hier, dir, downgrade) = (on("hier")?, on("dir")?, on("downgrade")?);
    if downgrade && !(hier && dir) {
        return Err(set.illegal("downgrade", "the bank has no GPU homes or no directory"));
    }
    let (drops, drops_all) = (on("drops")?, on("drops_all")?);
    if drops_all && !drops {
        return Err(set.illegal("drops_all", "the bank drops nothing on command"));
    }
    let caching = match set.text("caching").as_str() {
        "l1_l2" => Caching::L1L2,
        "l1_only" => Caching::L1Only,
        "none" => Caching::None,
        "own_gpu" => Caching::OwnGpu,
        _ => return Err(set.illegal("caching", "it is none of these")),
    };
    let ways = power("ways", 2, 64)?;
    let write_back = on("write_back")?;
    if write_back && !(hier && caching == Caching::L1L2 && ways >= 4) {
        return Err(set.illegal(
            "write_back",
            "the bank has no GPU homes, keeps not all lines, or has less than 4 ways",
        ));
    }
    let acks = on("acks")?;
    if acks && (hier || !dir || caching != Caching::L1L2) {
        return Err(set.illegal("acks", "the bank has GPU homes or no directory, or keeps not all lines"));
    }
    let l1s = number("l1s", 1, 256)?;
    let l1_mshrs = number("l1_mshrs", 1, 256)?;
    let sys =
        Sys { gpus, gpms, addr_bits, line, banks, l1s, l2_mshrs, l1_mshrs, il, home_shift, owners: false };
    Ok(L2Params {
        sys,
        home: number("home", 0, u64::from(nodes - 1))?,
        sets,
        ways,
        pool: number("pool", u64::from(l2_mshrs), 1024)?,
        caching,
        dir,
        group,
        hier,
        scoped: on("scoped")?,
        drops,
        drops_all,
        downgrade,
        write_back,
        acks,
    })
}
