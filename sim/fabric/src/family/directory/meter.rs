//! What is seen of the accesses of compute units for the figures of rec.md section 11 and hmg.md section 12.

pub(super) mod metrics;

use super::releases::Releases;
use super::sharing::{Sharing, SharingState};
use crate::cu::{CuObserver, LineAccess, Who};
use crate::family::{Figures, Meter, Seen};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use weft_blocks::fabric::FabricParams;
use weft_blocks::msg::CuOp;

/// Watches all compute units.
#[derive(Clone)]
pub(super) struct DirectoryMeter {
    pub params: FabricParams,
    pub clock_ghz: f64,
    /// Lines that a node's L2 has been asked for, per node: 64 lines by the number of the first one / 64.
    touched: Vec<HashMap<u64, u64>>,
    /// First references to a line in an L2, of those that can miss there: loads in every L2 on their way, stores and atomics at home.
    pub cold: u64,
    /// Loads that leave a GPU.
    pub sharing: Sharing,
    /// Releases of GPU scope.
    pub releases: Releases,
    /// Loads go through the GPU home.
    gpu_homes: bool,
}

/// What changes in a [`DirectoryMeter`], as it is saved.
#[derive(Serialize, Deserialize)]
struct State {
    /// In order, so that equal states are equal bytes.
    touched: Vec<BTreeMap<u64, u64>>,
    cold: u64,
    sharing: SharingState,
    releases: Releases,
}

impl DirectoryMeter {
    /// Of a fabric's compute units.
    pub fn new(params: &FabricParams, clock_ghz: f64) -> DirectoryMeter {
        let sys = &params.sys;
        DirectoryMeter {
            touched: vec![HashMap::new(); sys.nodes() as usize],
            cold: 0,
            sharing: Sharing::new(sys.nodes(), sys.gpms),
            releases: Releases::new(sys.nodes()),
            gpu_homes: params.hier_banks(),
            params: params.clone(),
            clock_ghz,
        }
    }

    /// The L2s that a node's load looks into: its own, that of the GPU home, the home's. With owners its own asks for the line.
    fn of_load(&self, node: u32, home: u32) -> [u32; 3] {
        let sys = &self.params.sys;
        if sys.owners {
            return [node; 3];
        }
        let middle =
            if self.gpu_homes { sys.node(sys.gpu_of_node(node), sys.gpm_of_node(home)) } else { home };
        [node, middle, home]
    }

    /// The L2 in which a node's store or atomic is performed.
    fn of_store(&self, node: u32, home: u32) -> u32 {
        if self.params.sys.owners { node } else { home }
    }

    /// Home of a line.
    fn home(&self, line: u64) -> u32 {
        let sys = &self.params.sys;
        (line >> (sys.home_shift - sys.line.trailing_zeros())) as u32
    }

    fn touch(&mut self, nodes: &[u32], line: u64) {
        let bit = 1 << (line % 64);
        for node in nodes {
            let word = self.touched[*node as usize].entry(line / 64).or_insert(0);
            self.cold += u64::from(*word & bit == 0);
            *word |= bit;
        }
    }
}

/// GPU scope of a fence.
const GPU: u8 = 1;

/// Servers in another GPU: its L2, the DRAM behind it.
const FAR: [u8; 2] = [4, 5];

impl CuObserver for DirectoryMeter {
    fn load(&mut self, who: &Who, line: u64, _: u128, _: &[u64; 16], _: u64, _: u64) {
        self.touch(&self.of_load(who.gpu, self.home(line)), line);
    }

    fn served(&mut self, who: &Who, access: &LineAccess, src: u8, merged: bool) {
        if access.op == CuOp::Ld {
            self.sharing.load(who.gpu, access.line, FAR.contains(&src) && !merged);
        }
    }

    fn store(&mut self, who: &Who, line: u64, _: u128, _: &[u64; 16], _: u64) {
        self.touch(&[self.of_store(who.gpu, self.home(line))], line);
    }

    fn amo(&mut self, who: &Who, access: &LineAccess, _: &[u64; 16], issued: u64, done: u64) {
        let (sys, home) = (&self.params.sys, self.home(access.line));
        // One of CU scope is performed in the L1.
        if access.scope > 0 && sys.gpu_of_node(home) != sys.gpu_of_node(who.gpu) {
            self.releases.atomic(who.gpu, issued, done);
        }
        self.touch(&[self.of_store(who.gpu, home)], access.line);
    }
}

impl Meter for DirectoryMeter {
    fn figures(&self, seen: &Seen) -> Figures {
        metrics::figures(self, seen)
    }

    fn node_fence(&mut self, now: u64, node: u32, start: bool, scope: u8, acquire: bool) {
        if scope == GPU && !acquire {
            self.releases.release(node, start, now);
        }
    }

    fn save(&self) -> Vec<u8> {
        let ordered = |lines: &HashMap<u64, u64>| lines.iter().map(|(k, v)| (*k, *v)).collect();
        let state = State {
            touched: self.touched.iter().map(ordered).collect(),
            cold: self.cold,
            sharing: self.sharing.state(),
            releases: self.releases.clone(),
        };
        postcard::to_stdvec(&state).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok(state) = postcard::from_bytes::<State>(bytes) else { return false };
        let fits = state.touched.len() == self.touched.len() && state.releases.fits(&self.releases);
        if !fits || !self.sharing.resume(state.sharing) {
            return false;
        }
        self.releases = state.releases;
        self.touched = state.touched.into_iter().map(|lines| lines.into_iter().collect()).collect();
        self.cold = state.cold;
        true
    }

    fn boxed(&self) -> Box<dyn Meter> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_blocks::directory::protocols;
    use weft_blocks::fabric::Protocol;

    fn meter(protocol: Protocol) -> DirectoryMeter {
        let mut hardware = FabricParams::scaled(protocol);
        (hardware.sys.gpus, hardware.sys.gpms) = (2, 2);
        DirectoryMeter::new(&hardware, 1.0)
    }

    fn who(node: u32) -> Who {
        Who { gpu: node, gpms: 2, cu: 0, kernel: 0, block: 0, wave: 0 }
    }

    fn load(seen: &mut DirectoryMeter, node: u32, line: u64) -> u64 {
        CuObserver::load(seen, &who(node), line, 1, &[0; 16], 0, 1);
        seen.cold
    }

    #[test]
    fn a_load_is_cold_once_in_each_l2_on_its_way() {
        // Line 5 is at home in node 0. Node 3's GPU home for it is node 2.
        let mut seen = meter(Protocol::HMG);
        assert_eq!([load(&mut seen, 3, 5), load(&mut seen, 3, 5)], [3, 3]);
        assert_eq!([load(&mut seen, 2, 5), load(&mut seen, 0, 5), load(&mut seen, 1, 5)], [3, 3, 4]);
        let mut flat = meter(Protocol::NHCC);
        assert_eq!([load(&mut flat, 3, 5), load(&mut flat, 2, 5)], [2, 3]);
    }

    #[test]
    fn a_store_can_miss_at_home_only() {
        let mut seen = meter(Protocol::HMG);
        CuObserver::store(&mut seen, &who(3), 5, 1, &[0; 16], 0);
        assert_eq!(seen.cold, 1);
        assert_eq!(load(&mut seen, 3, 5), 3, "the load finds nothing in the L2s of its own GPU");
    }

    #[test]
    fn with_owners_a_line_is_cold_once_in_each_node() {
        for protocol in protocols::all().filter(|of| of.owners()) {
            let mut seen = meter(protocol);
            CuObserver::store(&mut seen, &who(3), 5, 1, &[0; 16], 0);
            let cold = [load(&mut seen, 3, 5), load(&mut seen, 2, 5)];
            assert_eq!(cold, [1, 2], "the line has come to node 3 with its store");
        }
    }

    #[test]
    fn a_release_of_gpu_scope_is_told_from_others_and_its_atomics_by_the_home_of_their_line() {
        let mut seen = meter(Protocol::HMG);
        // Nodes 0 and 1 are of GPU 0. An atomic of node 1, of this scope, on a line that is at home in another node.
        let atomic = |seen: &mut DirectoryMeter, home: u64, scope, done| {
            let line = home << (seen.params.sys.home_shift - seen.params.sys.line.trailing_zeros());
            let access = LineAccess { line, scope, ..LineAccess::bare(CuOp::Amo) };
            seen.amo(&who(1), &access, &[0; 16], 15, done);
        };
        for (scope, acquire) in [(2, false), (1, true)] {
            seen.node_fence(0, 1, true, scope, acquire);
            seen.node_fence(9, 1, false, scope, acquire);
        }
        assert_eq!(seen.releases.times().count, 0);
        seen.node_fence(20, 1, true, 1, false);
        for (home, scope, done) in [(2, 1, 50), (0, 1, 60), (2, 0, 62)] {
            atomic(&mut seen, home, scope, done);
        }
        seen.node_fence(70, 1, false, 1, false);
        let times = seen.releases.times();
        assert_eq!((times.count, times.cycles, times.atomics), (1, 50, 30));
        let mut again = meter(Protocol::HMG);
        assert!(again.resume(&seen.save()));
        assert_eq!(again.releases, seen.releases);
    }

    #[test]
    fn a_saved_meter_goes_on() {
        let mut seen = meter(Protocol::HMG);
        load(&mut seen, 3, 5);
        let mut again = meter(Protocol::HMG);
        assert!(again.resume(&seen.save()));
        assert_eq!(load(&mut again, 3, 5), 3);
        assert_eq!(again.save(), seen.save());
        let mut other = DirectoryMeter::new(&FabricParams::scaled(Protocol::REC), 1.0);
        other.touched.pop();
        assert!(!other.resume(&seen.save()), "of another fabric");
    }
}
