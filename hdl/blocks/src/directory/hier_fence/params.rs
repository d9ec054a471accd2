//! Parameters of the hierarchical fence unit, and what follows from them.

use crate::msg::*;
use weft_rtl::prelude::*;

/// How caches are kept coherent (hmg.md section 8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceScheme {
    /// Directories at GPU homes and system homes: a release waits for markers, an acquire for nothing.
    Hmg {
        /// A release of system scope writes back dirty lines of the own banks.
        flush: bool,
    },
    /// The same where the GPMs of a GPU join: its first GPM, the leader, asks for all that release, and asks
    /// one GPM of each other GPU.
    Joined {
        /// A release of system scope writes back dirty lines of the own banks.
        flush: bool,
    },
    /// Directories at the lines' homes only, which record every other node: a release waits for markers, an acquire for nothing, and there is one kind
    /// of release.
    Flat {
        /// A release writes back dirty lines of the own banks.
        flush: bool,
    },
    /// Directories at the lines' homes only, whose invalidations are acknowledged: a release is a drain, an acquire does nothing, and there is one kind of
    /// release.
    Drain {
        /// A release writes back dirty lines of the own banks.
        flush: bool,
    },
    /// Software coherence with GPU homes: an acquire drops copies.
    SwHierarchical,
    /// Software coherence without GPU homes.
    SwFlat,
}

impl FenceScheme {
    /// Releases send markers.
    pub fn markers(self) -> bool {
        matches!(self, FenceScheme::Hmg { .. } | FenceScheme::Joined { .. } | FenceScheme::Flat { .. })
    }

    /// Fences of GPU scope are told apart from those of system scope.
    pub fn gpu_scope(self) -> bool {
        !matches!(self, FenceScheme::Flat { .. } | FenceScheme::Drain { .. })
    }

    /// There are GPU homes. They pass writes on, so releases of system scope wait for those.
    pub fn far_drains(self) -> bool {
        matches!(self, FenceScheme::Hmg { .. } | FenceScheme::Joined { .. } | FenceScheme::SwHierarchical)
    }

    /// Acquires of system scope drop copies in other GPMs.
    pub fn far_drops(self) -> bool {
        self == FenceScheme::SwHierarchical
    }

    pub(super) fn tag(self) -> &'static str {
        match self {
            FenceScheme::Hmg { flush: true } => "hmg_flush",
            FenceScheme::Hmg { flush: false } => "hmg",
            FenceScheme::Joined { flush: true } => "joined_flush",
            FenceScheme::Joined { flush: false } => "joined",
            FenceScheme::Flat { flush: true } => "flat_flush",
            FenceScheme::Flat { flush: false } => "flat",
            FenceScheme::Drain { flush: true } => "drain_flush",
            FenceScheme::Drain { flush: false } => "drain",
            FenceScheme::SwHierarchical => "sw_hierarchical",
            FenceScheme::SwFlat => "sw_flat",
        }
    }
}

/// Parts of the unit that depend on scheme and size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Markers and their acknowledgements.
    Markers,
    /// Markers of GPU scope.
    GpuMarks,
    /// Markers of other GPUs that are passed on.
    Forwards,
    FarDrains,
    FarDrops,
    GpuHomes,
    /// There are other GPMs in the GPU, and requests to them.
    NearAsks,
    /// There are requests to other GPUs.
    FarAsks,
}

/// Parameters of the hierarchical fence unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierFenceParams {
    /// Message widths; 1..16 GPUs of 1..8 GPMs, 2..64 nodes; at least 3 MSHRs per bank, so that an acknowledgement's number holds its order.
    pub sys: Sys,
    /// This node, one that exists.
    pub home: u32,
    /// How caches are kept coherent.
    pub scheme: FenceScheme,
    /// Most markers of a scope that this home has in flight, 1, 2 or 4; of two nodes it never needs more than 2.
    pub marks: u32,
    /// Fault (simulation only): a fence is told complete when it begins.
    pub early: bool,
}

impl HierFenceParams {
    /// Default of `marks`.
    pub const MARKS: u32 = MAX_MARKS;

    /// Serials in use for each scope: a home has no more requesters than there are nodes.
    pub fn serials(&self) -> u32 {
        self.marks.min(1 << self.sys.node_bits())
    }

    /// Acknowledgements that end a release, one per home: M of GPU scope, N*M of system scope; none of GPU
    /// scope where a GPU is one node. Where GPMs join those of system scope are the leader's, and one per
    /// GPU at the leader.
    pub fn acks(&self, system: bool) -> u32 {
        match (system, self.sys.gpms) {
            (true, _) if self.follows() => 1,
            (true, _) if self.leads() => self.sys.gpus,
            (true, gpms) => self.sys.gpus * gpms,
            (false, 1) => 0,
            (false, gpms) => gpms,
        }
    }

    /// Nodes that a home's marker of system scope reaches directly: the other GPMs of its GPU and the GPU homes of the others, or all other nodes.
    pub fn receivers(&self) -> u32 {
        let Sys { gpus, gpms, .. } = self.sys;
        if self.scheme.far_drains() { gpms + gpus - 2 } else { gpus * gpms - 1 }
    }

    /// Width of their counter: ceil(log2(acks + 1)), at least for the M acknowledgements of far drains.
    pub fn ack_bits(&self, system: bool) -> u32 {
        let markers = if self.scheme.markers() { self.acks(system) } else { 0 };
        let others = if system && self.far_phase() { self.sys.gpms } else { 0 };
        bits_for(u64::from(markers.max(others)) + 1)
    }

    pub(super) fn has(&self, part: Part) -> bool {
        let (gpus, gpms) = (self.sys.gpus, self.sys.gpms);
        match part {
            Part::Markers => self.scheme.markers(),
            Part::GpuMarks => self.scheme.markers() && self.scheme.gpu_scope() && gpms > 1,
            Part::Forwards => self.has(Part::GpuMarks) && gpus > 1,
            Part::FarDrains | Part::GpuHomes => self.scheme.far_drains(),
            Part::FarDrops => self.scheme.far_drops(),
            Part::NearAsks => (self.scheme.far_drains() || self.scheme.markers()) && gpms > 1,
            Part::FarAsks => self.scheme.markers() && gpus > 1,
        }
    }

    pub(super) fn flushes(&self) -> bool {
        use FenceScheme::{Drain, Flat, Hmg, Joined};
        matches!(
            self.scheme,
            Hmg { flush: true } | Joined { flush: true } | Flat { flush: true } | Drain { flush: true }
        )
    }

    /// The GPMs of a GPU join their releases of system scope.
    pub(super) fn joined(&self) -> bool {
        matches!(self.scheme, FenceScheme::Joined { .. })
    }

    /// The leader of the own GPU.
    pub(super) fn leader(&self) -> u32 {
        self.sys.node(self.sys.gpu_of_node(self.home), 0)
    }

    /// The leaders of the other GPUs.
    pub(super) fn other_leaders(&self) -> Vec<u32> {
        (0..self.sys.gpus).map(|gpu| self.sys.node(gpu, 0)).filter(|node| *node != self.leader()).collect()
    }

    /// This GPM asks for its GPU.
    pub(super) fn leads(&self) -> bool {
        self.joined() && self.home == self.leader()
    }

    /// This GPM has the leader ask.
    pub(super) fn follows(&self) -> bool {
        self.joined() && self.home != self.leader()
    }

    /// The own engine of system scope has all GPMs of the GPU drain towards other GPUs.
    pub(super) fn far_phase(&self) -> bool {
        self.has(Part::FarDrains) && !self.follows()
    }

    /// Who asks a home for markers of system scope: nodes, or GPUs where their GPMs join.
    pub(super) fn sys_requesters(&self) -> u32 {
        if self.joined() { self.sys.gpus } else { self.sys.nodes() }
    }

    /// This node's bit among those, or its GPU's.
    pub(super) fn own_requester(&self) -> Bits {
        if self.joined() { self.own_gpu() } else { self.node_mask(&[self.home]) }
    }

    /// The own GPU's bit among the GPUs.
    pub(super) fn own_gpu(&self) -> Bits {
        let mut mask = Bv::zero(self.sys.gpus);
        mask.set_bit(self.sys.gpu_of_node(self.home), true);
        lit_bv(mask)
    }

    /// Numbers of GPMs inside a GPU, used or not.
    pub(super) fn gpm_slots(&self) -> u32 {
        1 << self.sys.gpm_bits()
    }

    /// The other GPMs of the own GPU.
    pub(super) fn near(&self) -> Vec<u32> {
        let gpu = self.sys.gpu_of_node(self.home);
        self.others().into_iter().filter(|node| self.sys.gpu_of_node(*node) == gpu).collect()
    }

    /// All other nodes.
    pub(super) fn others(&self) -> Vec<u32> {
        self.sys.all_nodes().into_iter().filter(|node| *node != self.home).collect()
    }

    /// A bit for each of these nodes.
    pub(super) fn node_mask(&self, nodes: &[u32]) -> Bits {
        let mut mask = Bv::zero(self.sys.nodes());
        nodes.iter().for_each(|node| mask.set_bit(*node, true));
        lit_bv(mask)
    }

    /// The same with a bit per GPM of the own GPU.
    pub(super) fn gpm_mask(&self, nodes: &[u32]) -> Bits {
        let mut mask = Bv::zero(self.gpm_slots());
        nodes.iter().for_each(|node| mask.set_bit(self.sys.gpm_of_node(*node), true));
        lit_bv(mask)
    }

    /// A bit per serial in use.
    pub(super) fn serial_bit(&self, serial: Bits) -> Bits {
        pack_bools(&(0..self.serials()).map(|k| serial.eq(u64::from(k))).collect::<Vec<_>>())
    }

    /// Number of a marker among those of a scope: {home, serial}, the home as a node, a GPU or a GPM.
    pub(super) fn marker_number(&self, home: Bits, serial: Bits) -> Bits {
        match self.serials() {
            1 => home,
            serials => cat(&[home, serial.slice(0, bits_for(u64::from(serials)))]),
        }
    }

    /// Home, in so many bits, and serial of such a number.
    pub(super) fn marker_of(&self, number: Bits, home_bits: u32) -> (Bits, Bits) {
        match self.serials() {
            1 => (number.resize(home_bits), lit(0, SERIAL_BITS)),
            serials => {
                let low = bits_for(u64::from(serials));
                (number.slice(low, home_bits), number.slice(0, low).zext(SERIAL_BITS))
            }
        }
    }

    /// This node's bit among the GPMs of its GPU, if `yes`.
    pub(super) fn own_gpm(&self, yes: Bool) -> Bits {
        self.gpm_mask(&[self.home]) & yes.repeat(self.gpm_slots())
    }

    /// Number of a GPM of the own GPU as a node.
    pub(super) fn node_of_gpm(&self, gpm: Bits) -> Bits {
        let (bits, low) = (self.sys.node_bits(), self.sys.gpm_bits());
        if low == 0 {
            return lit(u64::from(self.home), bits);
        }
        if bits == low {
            return gpm.resize(bits);
        }
        cat(&[lit(u64::from(self.sys.gpu_of_node(self.home)), bits - low), gpm.resize(low)])
    }

    /// Whether a node is of the own GPU.
    pub(super) fn of_own_gpu(&self, node: Bits) -> Bool {
        self.sys.gpu_of(node).eq(u64::from(self.sys.gpu_of_node(self.home)))
    }

    /// The acknowledgement of a marker of this origin stays in the own GPU: it goes to the node that the marker came from.
    pub(super) fn receipt_is_near(&self, origin: u32) -> bool {
        let sys = &self.sys;
        if self.has(Part::Forwards) {
            return sys.gpm_of_node(origin) != sys.gpm_of_node(self.home);
        }
        sys.gpu_of_node(origin) == sys.gpu_of_node(self.home)
    }

    pub(super) fn is_home(&self, node: Bits) -> Bool {
        node.eq(u64::from(self.home))
    }

    pub(super) fn home_bits(&self) -> Bits {
        lit(u64::from(self.home), self.sys.node_bits())
    }

    pub(super) fn check(&self) -> bool {
        let sys = &self.sys;
        if self.home >= sys.nodes() || sys.gpm_of_node(self.home) >= sys.gpms {
            elab_error(format!("home = {}; legal: a node that exists, 0..{}", self.home, sys.nodes() - 1));
        } else if !(2..=64).contains(&(sys.gpus * sys.gpms)) {
            elab_error(format!("gpus * gpms = {}; legal: 2..64 nodes", sys.gpus * sys.gpms));
        } else if ![1, 2, 4].contains(&self.marks) {
            elab_error(format!("marks = {}; legal: 1, 2, 4", self.marks));
        } else if self.joined() && sys.gpms == 1 {
            elab_error("gpms = 1; legal: 2..8 with scheme joined, which joins the GPMs of a GPU".to_string());
        } else if sys.l2_id_bits() < 2 {
            elab_error(format!("l2_mshrs = {}; legal: 3 and more, for the order in an answer", sys.l2_mshrs));
        } else {
            return true;
        }
        false
    }
}
