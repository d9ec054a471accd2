//! The protocols of the directory family: what keeps copies in several GPUs coherent, each in a file or a folder of its own.
//!
//! A protocol says in its file what it brings: to a fabric by [`Features`], and if it has directory slices, to these by a [`Layout`](super::params::Layout) - what
//! an entry covers and whom it records, what operations do to it, its sizes as published, its hardware, and the parameter sets at which it is compared.
//! [`ALL`] names every protocol once, and [`install`] adds those of others: the blocks of the catalogue, their pictures and co-simulations, `--set protocol=`, its legal values and the checks
//! of combinations follow from it.
//!
//! | protocol | its slices |
//! | --- | --- |
//! | [`Protocol::BASELINE`], [`Protocol::BASELINE_2X`] | [`DirKind::PERLINE`] |
//! | [`Protocol::HMG_ENTRY`] | [`DirKind::GROUP4`] |
//! | [`Protocol::REC`] | [`DirKind::REC`] |
//! | [`Protocol::NHCC`] | [`DirKind::NHCC`] |
//! | [`Protocol::HMG`] | [`DirKind::HMG`] |
//! | [`Protocol::HMG_REC`] | [`DirKind::HMG_REC`] |
//! | [`Protocol::GPU_VI`] | [`DirKind::GPU_VI`], with a pipeline of their own: [`gpu_vi`] |
//! | [`Protocol::MOESI`] | [`DirKind::MOESI`], with a pipeline and banks of its own: [`moesi`] |
//! | [`Protocol::SW_FLAT`], [`Protocol::SW_HIERARCHICAL`] | none: software drops copies |
//! | [`Protocol::IDEAL`], [`Protocol::L1_ONLY`], [`Protocol::NO_REMOTE_CACHING`] | none: what the others are compared with |

mod baseline;
mod bounds;
pub mod gpu_vi;
mod hmg;
mod hmg_entry;
mod hmg_rec;
pub mod moesi;
mod nhcc;
mod rec;
mod software;

use super::hier_fence::FenceScheme;
use super::params::{DirKind, camel};
use crate::cache::l2::{self, BankKind, Caching};
use std::fmt;
use std::hash::{Hash, Hasher};
use weft_lists::Further;

/// The protocols that come with this crate, in the order in which they are listed.
pub const ALL: &[Protocol] = &[
    Protocol::BASELINE,
    Protocol::BASELINE_2X,
    Protocol::HMG_ENTRY,
    Protocol::REC,
    Protocol::NHCC,
    Protocol::HMG,
    Protocol::HMG_REC,
    Protocol::GPU_VI,
    Protocol::MOESI,
    Protocol::SW_FLAT,
    Protocol::SW_HIERARCHICAL,
    Protocol::IDEAL,
    Protocol::L1_ONLY,
    Protocol::NO_REMOTE_CACHING,
];

/// Those of others.
static FURTHER: Further<Protocol> = Further::new();

/// Installs protocols from outside this crate; before any is asked for by name, and once.
///
/// # Panics
/// When protocols have been asked for or installed already.
pub fn install(protocols: Vec<Protocol>) {
    FURTHER.install(protocols);
}

/// All protocols, those of others last.
pub fn all() -> impl Iterator<Item = Protocol> {
    ALL.iter().chain(FURTHER.all()).copied()
}

/// The kinds of directory slices that the protocols have, each once.
pub fn kinds() -> Vec<DirKind> {
    let mut kinds = Vec::new();
    for kind in all().filter_map(|protocol| protocol.directory()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// The kinds of L2 banks that protocols bring, each once.
pub fn banks() -> Vec<&'static BankKind> {
    let mut banks: Vec<&'static BankKind> = Vec::new();
    for bank in all().map(|protocol| protocol.bank()) {
        let known = |other: &str| other == bank.info.name;
        if !known(l2::KIND.info.name) && !banks.iter().any(|other| known(other.info.name)) {
            banks.push(bank);
        }
    }
    banks
}

/// What a protocol brings to a fabric (rec.md section 8, hmg.md section 8). *Modules*: the fabric's GPUs are made of several GPMs. *Planes*: its nodes
/// have links for their own GPU and links for the others.
pub trait Features: Sync {
    /// Its directory slices in RTL.
    fn directory(&self) -> Option<DirKind> {
        None
    }

    /// Messages carry what owners need ([`crate::msg::owners`]), and banks tell slices what is over.
    fn owners(&self) -> bool {
        self.directory().is_some_and(|kind| kind.owners)
    }

    /// Its L2 banks.
    fn bank(&self) -> &'static BankKind {
        &l2::KIND
    }

    /// Entries of the directory of a node, of those configured.
    fn entries(&self, given: u32) -> u32 {
        given
    }

    /// Nodes have planes even where GPUs are not made of modules.
    fn planes(&self) -> bool {
        self.directory().is_some_and(|kind| kind.two_level() || kind.acked)
    }

    /// Requests for lines of other GPUs go through GPU homes.
    fn gpu_homes(&self, modules: bool) -> bool {
        let _ = modules;
        self.directory().is_some_and(DirKind::two_level)
    }

    /// Caching that costs nothing: an unbounded exact directory outside the RTL, or with planes copies that nobody invalidates.
    fn ideal(&self) -> bool {
        false
    }

    /// Acquires drop copies in the L2s.
    fn software(&self, planes: bool) -> bool {
        let _ = planes;
        false
    }

    /// They may be told to drop all lines (key `acquire`), not only those of other homes.
    fn may_drop_all(&self) -> bool {
        false
    }

    /// How the fence unit of a node with planes works; `flush`: a release writes dirty lines of the L2 back.
    fn fence(&self, flush: bool) -> FenceScheme {
        match self.directory() {
            Some(kind) if kind.two_level() => FenceScheme::Hmg { flush },
            Some(kind) if kind.acked => FenceScheme::Drain { flush },
            _ => FenceScheme::Flat { flush },
        }
    }

    /// Where lines homed in another node may be kept.
    fn caching(&self, planes: bool) -> Caching {
        let _ = planes;
        Caching::L1L2
    }

    /// L1s keep no lines of other GPUs.
    fn l1_bypasses_remote(&self) -> bool {
        false
    }

    /// Stores may stay in the first L2 on their way that may hold them (key `l2_policy`).
    fn write_back(&self) -> bool {
        false
    }
}

/// A protocol by name. Two of a name are the same.
#[derive(Clone, Copy)]
pub struct Protocol {
    name: &'static str,
    brings: &'static dyn Features,
}

impl Protocol {
    /// A protocol of this name on the command line, kebab-case.
    pub const fn new(name: &'static str, brings: &'static dyn Features) -> Protocol {
        Protocol { name, brings }
    }

    /// The protocol of this name.
    pub fn from_name(name: &str) -> Option<Protocol> {
        all().find(|protocol| protocol.name == name)
    }

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Its own means keep GPUs of several GPMs coherent.
    pub fn keeps_modules(self) -> bool {
        self.software(true) || self.directory().is_some_and(DirKind::modules)
    }

    /// The names of those that a property holds of, as a list of choices for a person.
    pub fn names_of(has: impl Fn(Protocol) -> bool) -> String {
        let names: Vec<&str> = all().filter(|of| has(*of)).map(Protocol::name).collect();
        match names.as_slice() {
            [] => "none".into(),
            [one] => (*one).into(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        }
    }
}

impl std::ops::Deref for Protocol {
    type Target = dyn Features;

    fn deref(&self) -> &Self::Target {
        self.brings
    }
}

impl PartialEq for Protocol {
    fn eq(&self, other: &Protocol) -> bool {
        self.name == other.name
    }
}

impl Eq for Protocol {}

impl Hash for Protocol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&camel(self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_protocol_and_every_kind_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = ALL.iter().map(|of| of.name()).collect();
        assert_eq!(names.len(), ALL.len());
        let kinds = kinds();
        let of_rows: BTreeSet<&str> = kinds.iter().map(|kind| kind.name).collect();
        let of_blocks: BTreeSet<&str> = kinds.iter().map(|kind| kind.info.name).collect();
        assert_eq!((of_rows.len(), of_blocks.len()), (kinds.len(), kinds.len()));
        for protocol in ALL {
            assert_eq!(Protocol::from_name(protocol.name()), Some(*protocol));
        }
        assert_eq!(Protocol::from_name("mesif"), None);
    }

    #[test]
    fn names_for_people_are_a_list_of_choices() {
        assert_eq!(Protocol::names_of(|of| of.ideal()), "ideal");
        assert_eq!(Protocol::names_of(|of| of.write_back()), "hmg or sw-hierarchical");
        assert_eq!(Protocol::names_of(|_| false), "none");
        assert_eq!(format!("{:?} {:?}", Protocol::BASELINE_2X, DirKind::HMG_REC), "Baseline2x HmgRec");
    }
}
