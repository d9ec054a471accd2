//! Parameters of a whole fabric (rec.md sections 2, 8 and 9; hmg.md section 10).

use crate::cache::l1::{L1Inject, L1Params};
use crate::cache::l2::L2Params;
use crate::common::link::LinkParams;
use crate::directory::hier_fence::FenceScheme;
use crate::directory::params::{Covers, DirKind, DirParams, Policy, TagStyle};
use crate::directory::protocols::Protocol;
use crate::msg::Sys;
use crate::registry::BlockError;

/// A fabric.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FabricParams {
    /// Counts and widths: GPUs, L1s and banks per GPU, MSHRs, interleave, home partition.
    pub sys: Sys,
    /// Protocol.
    pub protocol: Protocol,
    /// Directory entries per GPU before the protocol doubles them (`baseline-2x`).
    pub dir_entries: u32,
    /// Directory ways.
    pub dir_ways: u32,
    /// Bytes of a range (protocols whose entries cover one).
    pub range: u32,
    /// Lines of an entry (protocols whose entries cover a group): 1, 2, 4 or 8.
    pub group: u32,
    /// Replacement; `None` takes the protocol's own.
    pub policy: Option<Policy>,
    /// Eviction buffer entries.
    pub evb_depth: u32,
    /// Lines of an evicted entry expanded per cycle.
    pub inv_rate: u32,
    /// Address bits that a directory entry stores.
    pub tag_style: TagStyle,
    /// L2 sets per bank.
    pub l2_sets: u32,
    /// L2 ways.
    pub l2_ways: u32,
    /// Requests waiting in the merge and replay lists of a bank.
    pub l2_pool: u32,
    /// L2 hit time in cycles, from a bank's entrance to its answer: 3, which is the bank alone, or 6..1024.
    pub l2_latency: u32,
    /// L1 bytes.
    pub l1_size: u32,
    /// L1 ways.
    pub l1_ways: u32,
    /// Loads that one L1 miss can answer.
    pub l1_targets: u32,
    /// Unanswered stores per L1 and release epoch.
    pub l1_stores: u32,
    /// L1 hit time in cycles.
    pub l1_latency: u32,
    /// Links from each GPU to the switch, 1..8. A line's requests take the link of the line number's lowest bits, or of a hash if this is no power of two.
    pub links: u32,
    /// Each link; its latency counts from GPU to switch and again from switch to GPU.
    pub link: LinkParams,
    /// Links inside a GPU of several GPMs; `link` is then the one between GPUs. The latency counts from GPM to the GPU's switch and again back.
    pub gpm_link: LinkParams,
    /// Dirty lines of the L2 are written back at a release (rec.md section 7, `release_l2_flush`).
    pub release_l2_flush: bool,
    /// Slices tell the next home when their last clean line of a group is evicted (hmg.md section 4); protocol `hmg` only.
    pub downgrade: bool,
    /// Stores stay in the first L2 on their way that may hold them (hmg.md section 5.2); protocols `hmg` and `sw-hierarchical` only.
    pub write_back: bool,
    /// The GPMs of a GPU join their releases of system scope (hmg.md section 6); protocols `hmg` and
    /// `hmg-rec`, others have no leader.
    pub joined: bool,
    /// Acquires of software coherence drop all lines of the L2s that they reach, else those of other homes
    /// only (hmg.md section 8); protocols `sw-flat` and `sw-hierarchical` only.
    pub acquire_all: bool,
    /// Fault of a block (simulation only).
    pub inject: FabricInject,
}

/// A fault of a block of the fabric, put in on purpose: what litmus tests and the checks of a run must find (simulation only).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FabricInject {
    /// None.
    None,
    /// L1: a release is answered at once.
    L1EarlyRelease,
    /// L1: an acquire drops no copy.
    L1KeepsCopies,
    /// Fence unit: a fence is told complete when it begins.
    FenceEarlyDone,
}

/// Cycles of a hit in a bank: taken, looked up, answered.
const L2_HIT: u32 = 3;

impl FabricParams {
    /// The published system (rec.md section 9): 4 GPUs of 64 L1s and 16 banks, 150 B/cycle per direction, 140 cycles one way.
    pub fn published(protocol: Protocol) -> FabricParams {
        let sys = Sys {
            gpus: 4,
            gpms: 1,
            addr_bits: 48,
            line: 64,
            banks: 16,
            l1s: 64,
            l2_mshrs: 64,
            l1_mshrs: 32,
            il: 4096,
            home_shift: 32,
            owners: protocol.owners(),
        };
        FabricParams {
            sys,
            protocol,
            dir_entries: 8192,
            dir_ways: 8,
            range: 1024,
            group: 4,
            policy: None,
            evb_depth: 4,
            inv_rate: 1,
            tag_style: TagStyle::Published,
            l2_sets: 128,
            l2_ways: 16,
            l2_pool: 128,
            l2_latency: 30,
            l1_size: 16 << 10,
            l1_ways: 4,
            l1_targets: 8,
            l1_stores: 64,
            l1_latency: 20,
            links: 1,
            link: LinkParams { bytes_per_cycle: 150, latency: 70, credits: [256, 256, 256] },
            gpm_link: LinkParams { bytes_per_cycle: 384, latency: 20, credits: [256, 256, 256] },
            release_l2_flush: true,
            downgrade: false,
            write_back: false,
            joined: true,
            acquire_all: false,
            inject: FabricInject::None,
        }
    }

    /// The scaled system: 1/32 of the published one (rec.md section 9): 2 L1s, 2 banks of 32 kB, 256 directory entries, 5 B/cycle per
    /// direction.
    pub fn scaled(protocol: Protocol) -> FabricParams {
        let published = FabricParams::published(protocol);
        FabricParams {
            sys: Sys { banks: 2, l1s: 2, l2_mshrs: 16, ..published.sys.clone() },
            dir_entries: 256,
            l2_sets: 32,
            l2_pool: 32,
            link: LinkParams { bytes_per_cycle: 5, latency: 70, credits: [64, 64, 64] },
            ..published
        }
    }

    /// The link at a node.
    pub fn node_link(&self) -> LinkParams {
        if self.sys.gpms > 1 { self.gpm_link } else { self.link }
    }

    /// Links of a node.
    pub fn node_links(&self) -> u32 {
        if self.planes() { 2 } else { self.links }
    }

    /// A node has two links, to the GPMs of its GPU and to other GPUs (hmg.md section 6), whatever the protocol, if GPUs are made of GPMs. The protocols of
    /// GPU homes, of software coherence and of acknowledged invalidations are built that way for GPUs of one node too.
    pub fn planes(&self) -> bool {
        self.sys.gpms > 1 || self.protocol.planes()
    }

    /// Requests for lines of other GPUs go through GPU homes.
    pub fn hier_banks(&self) -> bool {
        self.protocol.gpu_homes(self.sys.gpms > 1)
    }

    /// Directories of GPU homes pass invalidations on.
    pub fn forwards(&self) -> bool {
        self.protocol.directory().is_some_and(DirKind::two_level)
    }

    /// Invalidations are acknowledged.
    pub fn acked(&self) -> bool {
        self.protocol.directory().is_some_and(|kind| kind.acked)
    }

    /// Directories outside the RTL are attached to ports.
    pub fn outside_directory(&self) -> bool {
        self.protocol.ideal() && !self.planes()
    }

    /// Caches that nothing keeps coherent: values come from elsewhere.
    pub fn incoherent(&self) -> bool {
        self.protocol.ideal() && self.planes()
    }

    /// Acquires drop copies in the L2s (hmg.md section 8).
    pub fn software(&self) -> bool {
        self.protocol.software(self.planes())
    }

    /// Its acquires drop all lines: those of software coherence, but not of what all others are compared with.
    fn drops_all(&self) -> bool {
        self.acquire_all && self.protocol.may_drop_all()
    }

    /// The banks send directory operations.
    pub fn has_directory(&self) -> bool {
        self.protocol.directory().is_some() || self.outside_directory()
    }

    /// The GPMs of a GPU join their releases, and their fence units know the release that ends a kernel (scope
    /// 3): there are GPU homes, several GPMs, and other GPUs, to which messages are saved.
    pub fn joins(&self) -> bool {
        self.joined && self.forwards() && self.sys.gpms > 1 && self.sys.gpus > 1
    }

    /// How the fence unit of a fabric with planes works.
    pub fn fence_scheme(&self) -> Option<FenceScheme> {
        let flush = self.release_l2_flush;
        let scheme = || if self.joins() { FenceScheme::Joined { flush } } else { self.protocol.fence(flush) };
        self.planes().then(scheme)
    }

    /// Scope (1 GPU, 2 system) of the fence that a release of a scope (0 CU, 1 GPU, 2 system) needs beside what the L1 does.
    pub fn release_fence(&self, scope: u8) -> Option<u8> {
        match scope {
            0 => None,
            // All L1s of the GPU stand before one L2.
            1 if self.sys.gpms == 1 => None,
            1 if self.fence_scheme().is_some_and(FenceScheme::gpu_scope) => Some(1),
            _ => Some(2),
        }
    }

    /// Scope of the fence that an acquire needs before what the L1 does.
    pub fn acquire_fence(&self, scope: u8) -> Option<u8> {
        if self.software() { self.release_fence(scope) } else { None }
    }

    /// The L1s.
    pub fn l1(&self) -> L1Params {
        L1Params {
            sys: self.sys.clone(),
            size: self.l1_size,
            ways: self.l1_ways,
            targets: self.l1_targets,
            stores: self.l1_stores,
            latency: self.l1_latency,
            bypass_remote: self.protocol.l1_bypasses_remote() && self.sys.gpus > 1,
            // An Inv may be on its way to any copy: only what is read at home comes after what was written before it.
            scoped: true,
            store_scope: self.write_back,
            inject: match self.inject {
                FabricInject::L1EarlyRelease => L1Inject::EarlyRelease,
                FabricInject::L1KeepsCopies => L1Inject::KeepsCopies,
                FabricInject::None | FabricInject::FenceEarlyDone => L1Inject::None,
            },
        }
    }

    /// The L2 banks of a node.
    pub fn l2(&self, node: u32) -> L2Params {
        L2Params {
            sys: self.sys.clone(),
            home: node,
            sets: self.l2_sets,
            ways: self.l2_ways,
            pool: self.l2_pool,
            caching: self.protocol.caching(self.planes()),
            dir: self.has_directory(),
            group: self.lines_of_group(),
            hier: self.hier_banks(),
            scoped: true,
            drops: self.software(),
            drops_all: self.drops_all(),
            downgrade: self.downgrade,
            write_back: self.write_back,
            acks: self.acked(),
        }
    }

    /// Cycles that a request waits before it enters a bank, so that a hit takes [`FabricParams::l2_latency`]; `None` for the bank alone.
    pub fn l2_wait(&self) -> Option<u32> {
        (self.l2_latency > L2_HIT).then(|| self.l2_latency - L2_HIT)
    }

    /// The directory slices of a GPU, if the protocol has them in RTL.
    pub fn dir(&self, gpu: u32) -> Option<DirParams> {
        let kind = self.protocol.directory()?;
        let published = DirParams::published(kind, &self.sys, gpu);
        Some(DirParams {
            range: self.range,
            group: self.group,
            entries: self.protocol.entries(self.dir_entries),
            ways: self.dir_ways,
            policy: self.policy.unwrap_or(published.policy),
            evb_depth: self.evb_depth,
            inv_rate: self.inv_rate,
            tag_style: self.tag_style,
            downgrade: self.downgrade,
            ..published
        })
    }

    /// Lines that an INV message for a group means, and that a directory of two levels knows together.
    pub fn lines_of_group(&self) -> u32 {
        match self.protocol.directory() {
            Some(kind) if kind.groups() => self.group,
            // Received Invs name single lines.
            Some(kind) if kind.two_level() && kind.ranges() => 1,
            _ => 4,
        }
    }

    /// INV messages that a slice can send per cycle: one port each at the egress.
    pub fn inv_ports(&self) -> u32 {
        if self.protocol.directory().is_some() { self.inv_rate } else { 1 }
    }

    /// The part of a module's name that tells fabrics apart.
    pub fn tag(&self) -> String {
        // FNV-1a over all parameters: the same name in every run and build. No fault leaves no trace in it,
        // nor does what joins nothing or drops no more.
        let text = format!("{self:?}").replace(", inject: None", "").replace(", joined: false", "");
        let text = text.replace(", owners: false", "");
        let text = text.replace(", acquire_all: false", "");
        let text = if self.joins() { text } else { text.replace(", joined: true", "") };
        let text = if self.drops_all() { text } else { text.replace(", acquire_all: true", "") };
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        format!("{}_{hash:016x}", self.protocol.name().replace('-', "_"))
    }

    /// Bytes that one entry of its directory covers, where that is a parameter.
    pub fn bytes_of_entry(&self) -> Option<u32> {
        match self.protocol.directory()?.covers {
            Covers::Lines(_) => None,
            Covers::Group => Some(self.group * self.sys.line),
            Covers::Range => Some(self.range),
        }
    }

    /// Checks what no block checks by itself.
    ///
    /// # Errors
    /// The first key that is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let illegal = |key: &str, value: u32, problem: &str, legal: &str| {
            Err(BlockError::Illegal {
                block: "fabric".into(),
                key: key.into(),
                value: value.to_string(),
                problem: problem.into(),
                legal: legal.into(),
            })
        };
        let s = &self.sys;
        if !s.gpms.is_power_of_two() || s.gpms > 8 {
            return illegal("gpms", s.gpms, "it is no power of two of at most 8", "1, 2, 4, 8");
        }
        if !(2..=64).contains(&s.nodes()) {
            return illegal(
                "gpus",
                s.gpus,
                "with their GPMs they make less than 2 or more than 64 nodes",
                "2..64 nodes",
            );
        }
        if s.gpms > 1 && self.links != 1 {
            return illegal("links", self.links, "a GPM has one link to its GPU and one to other GPUs", "1");
        }
        if !s.banks.is_power_of_two() || s.banks > 64 {
            return illegal("banks", s.banks, "it is no power of two of at most 64", "1, 2, 4 ... 64");
        }
        if !s.il.is_power_of_two() || s.il < 4 * s.line {
            return illegal(
                "il",
                s.il,
                "it is no power of two of at least four lines",
                "4 * line, 8 * line ...",
            );
        }
        if !(1..=256).contains(&s.l1s) {
            return illegal("l1s", s.l1s, "it lies outside", "1..256");
        }
        if !(4..=256).contains(&s.l2_mshrs) {
            return illegal("l2_mshrs", s.l2_mshrs, "it lies outside", "4..256");
        }
        if s.home_shift + s.node_bits() > s.addr_bits
            || s.home_shift < s.il.trailing_zeros() + s.banks.trailing_zeros()
        {
            let legal = "log2(il * banks) .. addr_bits - log2(gpus)";
            return illegal("home_shift", s.home_shift, "the GPU number does not fit there", legal);
        }
        let forwards = |of: Protocol| of.directory().is_some_and(DirKind::two_level);
        if self.downgrade && !self.forwards() {
            return illegal(
                "downgrade",
                1,
                &format!("protocol {} has no directory that sharers may leave", self.protocol.name()),
                &format!("false, or true with protocol {}", Protocol::names_of(forwards)),
            );
        }
        if self.acked() && self.inv_rate != 1 {
            let problem =
                format!("with protocol {} an operation causes one Inv at most", self.protocol.name());
            return illegal("inv_rate", self.inv_rate, &problem, "1");
        }
        if self.write_back && !self.protocol.write_back() {
            let problem =
                format!("with protocol {} stores do not stay in an L2 on their way", self.protocol.name());
            let protocols = Protocol::names_of(|of| of.write_back());
            let legal = format!("write-through, or write-back with protocol {protocols}");
            return illegal("l2_policy", 1, &problem, &legal);
        }
        if self.write_back && self.l2_ways < 4 {
            return illegal(
                "l2_ways",
                self.l2_ways,
                "an L2 that holds stores needs more",
                "4, 8 ... with l2_policy = write-back",
            );
        }
        if !(1..=8).contains(&self.links) {
            return illegal("links", self.links, "it lies outside", "1..8");
        }
        if self.l2_wait().is_some_and(|wait| !(3..=1021).contains(&wait)) || self.l2_latency < L2_HIT {
            let problem = "a bank takes 3 cycles, and a queue before it 3 and more";
            return illegal("l2_latency", self.l2_latency, problem, "3, 6..1024");
        }
        self.l1().validate()
    }
}
