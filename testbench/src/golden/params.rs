//! Parameters of a directory (rec.md section 2, hmg.md section 2): legal ranges, and the index of an address in the slices.

use serde::{Deserialize, Serialize};

/// Which directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirKind {
    /// `dir_perline`: one line per entry (`baseline-directory`).
    Perline,
    /// `dir_group4`: one sharer vector per aligned 4 lines (`group-directory`).
    Group4,
    /// `rec_dir`: one entry per aligned range, exact sharers per line (`rec-directory`).
    Rec,
    /// `dir_ideal`: an unbounded exact map.
    Ideal,
    /// NHCC: one sharer vector per group over all other nodes (`nhcc-directory`).
    Nhcc,
    /// HMG: one sharer vector per group over the other GPMs of the GPU and the other GPUs (`hmg-directory`).
    Hmg,
    /// REC under the HMG hierarchy: HMG's sharers, exact for each line of a range (`hmg-rec-directory`).
    HmgRec,
}

/// Replacement policy (section 4): both keep ages, `Lru` also refreshes them on remote hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Only insertion makes a way the youngest.
    Fifo,
    /// Insertion and RD_REM/WR_REM hits make a way the youngest.
    Lru,
}

/// Parameters of one GPU's directory, all slices together. Names and defaults as in section 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirParams {
    /// Kind of directory.
    pub kind: DirKind,
    /// Number of GPUs, 2..16 (where nodes are GPMs: 1..16).
    pub gpus: u32,
    /// GPU modules of a GPU, 1..8 (NHCC, HMG and its REC; else 1).
    pub gpms: u32,
    /// The node that this directory belongs to: a GPU, or {GPU, GPM}.
    pub home: u32,
    /// Home of a line: the node number above this bit of the byte address (where nodes are GPMs).
    pub home_shift: u32,
    /// Lines of an entry of NHCC and HMG: 1, 2, 4 or 8.
    pub group: u64,
    /// Sharers may be removed on their own request (where nodes are GPMs).
    pub downgrade: bool,
    /// Bits of a byte address, 32..64.
    pub addr_bits: u32,
    /// Bytes of a line, 64 or 128.
    pub line: u64,
    /// Bytes of a range, power of two, 2..64 lines; read by `rec_dir` and HMG's REC only.
    pub range: u64,
    /// Entries of all slices together; banks * sets * ways.
    pub entries: u64,
    /// Ways of a set, 1..128.
    pub ways: u32,
    /// Slices, a power of two.
    pub banks: u32,
    /// Bytes after which the next bank follows, a power of two, at least a range and 4 lines.
    pub il: u64,
    /// Replacement policy.
    pub policy: Policy,
    /// Entries of the eviction buffer, 1..8.
    pub evb_depth: u32,
    /// Lines expanded per cycle and slice, 1, 2 or 4.
    pub inv_rate: u32,
}

/// A parameter outside its legal range (section 2): each sentence names the key, the value and what is legal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// `gpus` outside 2..16.
    #[error("gpus = {0} is out of range: legal are 2..16")]
    Gpus(u32),
    /// `home` is no GPU.
    #[error("home = {0} is no GPU: legal are 0..{max}", max = .1 - 1)]
    Home(u32, u32),
    /// `addr_bits` outside 32..64.
    #[error("addr_bits = {0} is out of range: legal are 32..64")]
    AddrBits(u32),
    /// `line` neither 64 nor 128.
    #[error("line = {0} is not a legal line size: legal are 64 and 128 bytes")]
    Line(u64),
    /// `range` below two lines.
    #[error("range = {0} is less than two lines of {1} bytes: use dir_perline, or a power of two in {min}..{max}", min = 2 * .1, max = 64 * .1)]
    RangeBelowTwoLines(u64, u64),
    /// `range` is no power of two or above 64 lines.
    #[error("range = {0} is not legal: a power of two in {min}..{max} (2 to 64 lines of {1} bytes)", min = 2 * .1, max = 64 * .1)]
    Range(u64, u64),
    /// `range` above `il`.
    #[error(
        "range = {0} is larger than il = {1}: a range must not straddle two slices, so il must be at least the range"
    )]
    RangeOverInterleave(u64, u64),
    /// `ways` outside 1..128.
    #[error("ways = {0} is out of range: legal are 1..128")]
    Ways(u32),
    /// `banks` is no power of two.
    #[error("banks = {0} is not a power of two")]
    Banks(u32),
    /// `il` is no power of two, below 4 lines, or beyond the address.
    #[error(
        "il = {0} is not legal: a power of two from {1} (4 lines), with banks * il within the address space"
    )]
    Interleave(u64, u64),
    /// `entries` is not a multiple of `banks * ways`.
    #[error("entries = {0} does not divide into banks * ways = {1}: legal are banks * ways * sets")]
    EntriesDivide(u64, u64),
    /// Sets per bank are not c * 2^k with c odd and at most 15.
    #[error("entries = {0} gives {1} sets per bank: legal are c * 2^k sets with c odd and at most 15")]
    Sets(u64, u64),
    /// The directory's sets cover more than the address space.
    #[error(
        "entries = {0} is too many for addr_bits = {1}: banks * sets * bytes per entry must not exceed 2^addr_bits"
    )]
    BeyondAddress(u64, u32),
    /// `evb_depth` outside 1..8.
    #[error("evb_depth = {0} is out of range: legal are 1..8")]
    EvbDepth(u32),
    /// GPUs, GPMs or home of NHCC or HMG.
    #[error(
        "gpus, gpms or home is out of range: legal are 1..16 GPUs of 1..8 GPMs, 2..64 in all, one of them the home"
    )]
    Modules,
    /// `group` is not 1, 2, 4 or 8.
    #[error("group = {0} is not legal: legal are 1, 2, 4 and 8")]
    Group(u64),
    /// `inv_rate` is not 1, 2 or 4.
    #[error("inv_rate = {0} is not legal: legal are 1, 2 and 4")]
    InvRate(u32),
}

/// Where a line lives: slice and set in the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Slice, `(addr / il) mod banks`.
    pub bank: u32,
    /// Set within the slice.
    pub set: u64,
}

impl DirParams {
    /// The defaults of section 2 for a kind: 4 GPUs, home 0, 48 bits, 64 B lines, 1 KB ranges, 8192 entries in 8 ways
    /// and 16 banks, 4096 B interleave, EVB of 4, one line expanded per cycle; `lru` for REC, `fifo` for the others.
    /// For NHCC and HMG those of hmg.md: 4 GPUs of 4 GPMs, 128 B lines, 12288 entries in 12 ways, groups of 4, `lru`. For HMG's REC those
    /// of REC with 4 GPUs of 4 GPMs.
    pub fn new(kind: DirKind) -> Self {
        let fifo = matches!(kind, DirKind::Perline | DirKind::Group4 | DirKind::Ideal);
        let policy = if fifo { Policy::Fifo } else { Policy::Lru };
        let modules = matches!(kind, DirKind::Nhcc | DirKind::Hmg);
        let gpms = if modules || kind == DirKind::HmgRec { 4 } else { 1 };
        DirParams {
            kind,
            gpus: 4,
            gpms,
            home: 0,
            home_shift: 33,
            group: 4,
            downgrade: false,
            addr_bits: 48,
            line: if modules { 128 } else { 64 },
            range: 1024,
            entries: if modules { 12288 } else { 8192 },
            ways: if modules { 12 } else { 8 },
            banks: 16,
            il: 4096,
            policy,
            evb_depth: 4,
            inv_rate: 1,
        }
    }

    /// Refuses what section 2 does not allow. `range` is looked at where entries cover ranges only; the storage keys
    /// (entries, ways, EVB) are not looked at for [`DirKind::Ideal`], which has no storage.
    pub fn validate(&self) -> Result<(), ParamError> {
        use ParamError as E;
        let ensure = |ok: bool, e: E| if ok { Ok(()) } else { Err(e) };
        if self.modules() {
            let nodes = self.nodes();
            ensure((1..=16).contains(&self.gpus) && (1..=8).contains(&self.gpms), E::Modules)?;
            ensure((2..=64).contains(&nodes.len()) && nodes.contains(&self.home), E::Modules)?;
            ensure(self.ranges() || [1, 2, 4, 8].contains(&self.group), E::Group(self.group))?;
        } else {
            ensure((2..=16).contains(&self.gpus), E::Gpus(self.gpus))?;
            ensure(self.home < self.gpus, E::Home(self.home, self.gpus))?;
        }
        ensure((32..=64).contains(&self.addr_bits), E::AddrBits(self.addr_bits))?;
        ensure(self.line == 64 || self.line == 128, E::Line(self.line))?;
        ensure(self.banks.is_power_of_two(), E::Banks(self.banks))?;
        let fits = u128::from(self.banks) * u128::from(self.il) <= 1u128 << self.addr_bits;
        let il_ok = self.il.is_power_of_two() && self.il >= 4 * self.line && fits;
        ensure(il_ok, E::Interleave(self.il, 4 * self.line))?;
        if self.ranges() {
            ensure(self.range >= 2 * self.line, E::RangeBelowTwoLines(self.range, self.line))?;
            let legal = self.range.is_power_of_two() && self.range <= 64 * self.line;
            ensure(legal, E::Range(self.range, self.line))?;
            ensure(self.range <= self.il, E::RangeOverInterleave(self.range, self.il))?;
        }
        if self.kind == DirKind::Ideal { Ok(()) } else { self.validate_storage() }
    }

    fn validate_storage(&self) -> Result<(), ParamError> {
        use ParamError as E;
        let ensure = |ok: bool, e: E| if ok { Ok(()) } else { Err(e) };
        ensure((1..=128).contains(&self.ways), E::Ways(self.ways))?;
        let per_set_row = u64::from(self.banks) * u64::from(self.ways);
        let divides = self.entries > 0 && self.entries.is_multiple_of(per_set_row);
        ensure(divides, E::EntriesDivide(self.entries, per_set_row))?;
        let sets = self.sets();
        ensure(sets >> sets.trailing_zeros() <= 15, E::Sets(self.entries, sets))?;
        let rows = u128::from(sets) * u128::from(self.banks);
        let covered = rows * u128::from(self.lines_per_entry() * self.line);
        ensure(covered <= 1u128 << self.addr_bits, E::BeyondAddress(self.entries, self.addr_bits))?;
        ensure((1..=8).contains(&self.evb_depth), E::EvbDepth(self.evb_depth))?;
        ensure([1, 2, 4].contains(&self.inv_rate), E::InvRate(self.inv_rate))
    }

    /// NHCC, HMG and its REC, whose nodes are GPMs.
    pub fn modules(&self) -> bool {
        matches!(self.kind, DirKind::Nhcc | DirKind::Hmg | DirKind::HmgRec)
    }

    /// HMG and its REC, which record other GPUs as a whole and pass received Invs on.
    pub fn two_level(&self) -> bool {
        matches!(self.kind, DirKind::Hmg | DirKind::HmgRec)
    }

    /// REC and HMG's REC, whose entries cover ranges.
    pub fn ranges(&self) -> bool {
        matches!(self.kind, DirKind::Rec | DirKind::HmgRec)
    }

    /// Nodes that a GPU's numbers leave room for: its GPMs, rounded up to a power of two.
    fn stride(&self) -> u32 {
        self.gpms.next_power_of_two()
    }

    /// Every node: {GPU, GPM}, lowest first.
    pub fn nodes(&self) -> Vec<u32> {
        (0..self.gpus).flat_map(|g| (0..self.gpms).map(move |m| (g, m))).map(|n| self.node(n)).collect()
    }

    fn node(&self, (gpu, gpm): (u32, u32)) -> u32 {
        gpu * self.stride() + gpm
    }

    /// GPU of a node.
    pub fn gpu(&self, node: u32) -> u32 {
        node / self.stride()
    }

    /// Number of a node in its GPU.
    pub fn gpm(&self, node: u32) -> u32 {
        node % self.stride()
    }

    /// The node whose DRAM holds a line: its system home.
    pub fn system_home(&self, line: u64) -> u32 {
        let numbers = u64::from((self.gpus * self.stride()).next_power_of_two());
        (line / (1 << (self.home_shift - self.line.ilog2())) % numbers) as u32
    }

    /// Requests for the line may come to this directory: it is the system home, or (HMG) a GPU's home of the line, which
    /// has the same GPM number.
    pub fn serves(&self, line: u64) -> bool {
        let home = self.system_home(line);
        match self.kind {
            DirKind::Nhcc => home == self.home,
            DirKind::Hmg | DirKind::HmgRec => {
                self.nodes().contains(&home) && self.gpm(home) == self.gpm(self.home)
            }
            _ => true,
        }
    }

    /// The node that an entry records for a request of `src`, which is where its Inv will go. HMG knows other GPUs as a
    /// whole, and tells the GPM that is the home there.
    pub fn recorded_as(&self, src: u32) -> u32 {
        let far = self.two_level() && self.gpu(src) != self.gpu(self.home);
        if far { self.node((self.gpu(src), self.gpm(self.home))) } else { src }
    }

    /// What the sharer bits of an entry stand for, lowest bit first: every node but the home; under HMG the GPMs of the
    /// own GPU first, then the other GPUs, each as its home of the line.
    pub fn recordable(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.nodes().into_iter().map(|n| self.recorded_as(n)).collect();
        all.retain(|n| *n != self.home);
        all.sort_by_key(|n| (self.two_level() && self.gpu(*n) != self.gpu(self.home), *n));
        all.dedup();
        all
    }

    /// S, the sharers that a line can have: every GPU but the home; N*M - 1 for NHCC, M + N - 2 for HMG and its REC.
    pub fn sharers(&self) -> u32 {
        match self.kind {
            DirKind::Nhcc => self.gpus * self.gpms - 1,
            DirKind::Hmg | DirKind::HmgRec => self.gpms + self.gpus - 2,
            _ => self.gpus - 1,
        }
    }

    /// Invs name groups of lines.
    pub fn grouped(&self) -> bool {
        self.kind == DirKind::Group4 || self.modules() && !self.ranges() && self.group > 1
    }

    /// G / L, lines covered by one entry: 1, 4, R/L or the group.
    pub fn lines_per_entry(&self) -> u64 {
        match self.kind {
            DirKind::Perline | DirKind::Ideal => 1,
            DirKind::Group4 => 4,
            DirKind::Rec | DirKind::HmgRec => self.range / self.line,
            DirKind::Nhcc | DirKind::Hmg => self.group,
        }
    }

    /// n, sharer vectors of one entry: R/L for ranges, else 1.
    pub fn slots(&self) -> usize {
        if self.ranges() { (self.range / self.line) as usize } else { 1 }
    }

    /// LA, bits of a line number: A - log2 L.
    pub fn line_addr_bits(&self) -> u32 {
        self.addr_bits - self.line.ilog2()
    }

    /// Sets per slice: entries / (banks * ways).
    pub fn sets(&self) -> u64 {
        self.entries / (u64::from(self.banks) * u64::from(self.ways))
    }

    /// Bits of an age: log2 ways, rounded up.
    pub fn age_bits(&self) -> u32 {
        self.ways.next_power_of_two().ilog2()
    }

    /// The number of the entry-sized block that holds `line`: REC's base, the group, or the line itself.
    pub fn base(&self, line: u64) -> u64 {
        line / self.lines_per_entry()
    }

    /// The slot of `line` in its entry; 0 unless entries cover ranges.
    pub fn slot(&self, line: u64) -> usize {
        if self.ranges() { (line % self.lines_per_entry()) as usize } else { 0 }
    }

    /// Slice and set of a line. Set = {(hi mod c), low k bits} of the entry-sized block number with the bank bits
    /// removed, for c * 2^k sets.
    pub fn place(&self, line: u64) -> Place {
        let lines_per_il = self.il / self.line;
        let banks = u64::from(self.banks);
        let bank = (line / lines_per_il) % banks;
        let without_bank = line / (lines_per_il * banks) * lines_per_il + line % lines_per_il;
        let block = without_bank / self.lines_per_entry();
        let k = self.sets().trailing_zeros();
        let c = self.sets() >> k;
        let low = block & ((1 << k) - 1);
        Place { bank: bank as u32, set: ((block >> k) % c) << k | low }
    }

    /// k(g, h), the number of GPU `gpu`'s sharer bit, counted from 1 (bit 0 of a slot is the position bit); where nodes are GPMs that of the node
    /// which is recorded for `gpu`.
    pub fn sharer_bit(&self, gpu: u32) -> u32 {
        if self.modules() {
            let bits = self.recordable();
            return bits.iter().position(|n| *n == self.recorded_as(gpu)).map_or(0, |bit| bit as u32 + 1);
        }
        if gpu < self.home { gpu + 1 } else { gpu }
    }

    /// The inverse of [`Self::sharer_bit`]: the GPU of sharer bit `k` (1..S).
    pub fn sharer_gpu(&self, k: u32) -> u32 {
        if self.modules() {
            return self.recordable()[k as usize - 1];
        }
        if k <= self.home { k - 1 } else { k }
    }
}
