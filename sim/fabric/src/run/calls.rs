//! What calls of the host cost: the time in which its runtime and driver work and the GPUs wait (keys `runtime`, `call_launch`,
//! `call_copy`, `call_sync`).

use super::counter::Counter;
use super::stream::Order;
use crate::config::{Common, Runtime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Cycles of a call of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HostCalls {
    launch: u64,
    copy: u64,
    /// Until the host knows that what it has ordered is done.
    sync: u64,
}

/// What calls have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Called {
    /// Calls that took time.
    pub calls: u64,
    /// Their cycles.
    pub cycles: u64,
}

impl HostCalls {
    /// As the keys have it.
    ///
    /// Of CUDA (all own, from public measurements): a kernel of 2.9 us takes 9.6 us when the host waits for each and 3.8 us when it does not
    /// (A. Gray, "Getting started with CUDA graphs", NVIDIA technical blog, 2019), so 0.9 us for a launch and 5.8 us for the wait; a call of
    /// cudaMemcpyAsync takes 5 to 7 us (Wu et al., "DualPath", arXiv 2602.21548, section 5.2).
    pub fn new(common: &Common) -> HostCalls {
        let cycles = |us: f64| (us * 1000.0 * common.clock_ghz).round() as u64;
        match common.runtime {
            Runtime::Keys => {
                let [launch, copy, sync] =
                    [common.call_launch, common.call_copy, common.call_sync].map(u64::from);
                HostCalls { launch, copy, sync }
            }
            Runtime::Cuda => HostCalls { launch: cycles(0.9), copy: cycles(6.0), sync: cycles(5.8) },
        }
    }

    /// Cycles before an order is carried out; from the second step on the host has waited for the step before. None is the end.
    pub fn before(self, order: Option<&Order>, step: usize) -> u64 {
        let own = match order {
            None => 0,
            Some(Order::Launch(_)) => self.launch,
            Some(Order::Store { .. }) => self.copy,
        };
        own + if step > 0 { self.sync } else { 0 }
    }
}

impl Called {
    /// As counters; none where calls take no time.
    pub fn counters(self) -> BTreeMap<String, Counter> {
        if self == Called::default() {
            return BTreeMap::new();
        }
        let counter =
            |name: &str, value, about: &str| (format!("host.{name}"), Counter { value, about: about.into() });
        BTreeMap::from([
            counter("calls", self.calls, "launches, copies and waits of the host that took time"),
            counter("call_cycles", self.cycles, "cycles of these calls, in which nothing runs"),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FabricConfig;

    fn calls(changes: &[&str]) -> HostCalls {
        let mut config = FabricConfig::load("rdma-4gpu-small").expect("built in");
        changes.iter().for_each(|change| config.set(change).expect("legal"));
        HostCalls::new(&config.common)
    }

    #[test]
    fn calls_cost_nothing_unless_told_and_cuda_costs_microseconds() {
        let store = Order::Store { name: "copy", addr: 0, bytes: Vec::new(), over: None };
        let cost = |changes: &[&str]| {
            let calls = calls(changes);
            [
                calls.before(Some(&store), 0),
                calls.before(Some(&store), 3),
                calls.before(None, 3),
                calls.before(None, 0),
            ]
        };
        assert_eq!(cost(&[]), [0; 4]);
        assert_eq!(cost(&["call_copy=30", "call_sync=4"]), [30, 34, 4, 0]);
        assert_eq!(cost(&["runtime=cuda"]), [6000, 11_800, 5800, 0]);
        assert_eq!(cost(&["runtime=cuda", "clock_ghz=1.5"]), [9000, 17_700, 8700, 0]);
    }
}
