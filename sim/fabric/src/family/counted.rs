//! Figures that are counters of blocks and models, declared as data: for families that watch nothing else.

use super::FigureValue::{Count, Parts as Values};
use super::{Figure, FigureInfo, FigureValue, Figures, Meter, Parts, Seen};
use crate::cu::CuObserver;

/// A figure that is one counter, or the sum of several: name, unit, meaning, counters.
pub(super) type Sum = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// A mean latency: name, meaning, sum of cycles, number of accesses.
pub(super) type Latency = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// Bytes of a hop and direction: name, meaning of a class's, classes with their counters.
pub(super) type Bytes = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// What a check has seen: name, unit, meaning; the check counts it under the same name.
pub(super) type Checked = (&'static str, &'static str, &'static str);

/// Servers by the `src` of a [`weft_blocks::msg::CuRsp`]: place and name.
const SERVERS: [(usize, &str); 3] = [(0, "l1"), (1, "l2"), (3, "memory")];

/// Words that the check of values counts.
pub(super) const STALE: Checked = (
    "stale",
    "words",
    "words read that others had overwritten and made visible before, on a fabric that nothing keeps coherent; only with checks",
);

/// The figures of a family, in this order; behind the bytes come loads and atomics by who answered them.
#[derive(Clone)]
pub(super) struct Counted {
    pub sums: Vec<Sum>,
    /// Each with the cycles for which its accesses wait before the counter sees them.
    pub latencies: Vec<(Latency, u64)>,
    pub bytes: &'static [Bytes],
    pub checked: &'static [Checked],
}

impl Counted {
    /// What every run has.
    pub fn infos(&self) -> Vec<FigureInfo> {
        let plain = |name, unit, about| FigureInfo { name, unit, about, parts: None, list: false };
        let mut all: Vec<FigureInfo> =
            self.sums.iter().map(|(name, unit, about, _)| plain(name, unit, about)).collect();
        all.extend(self.latencies.iter().map(|((name, about, ..), _)| plain(name, "cycles", about)));
        for (name, each, classes) in self.bytes {
            let names = classes.iter().map(|(class, _)| *class).collect();
            let parts = Some(Parts { column: name, names, each });
            all.push(FigureInfo { parts, ..plain(name, "bytes", "bytes by class of message") });
        }
        let names = SERVERS.iter().map(|(_, name)| *name).collect();
        let parts =
            Parts { column: "served", names, each: "loads and atomics, line by line, answered by {}" };
        let about = "loads and atomics by who answered them, line by line";
        all.push(FigureInfo { parts: Some(parts), ..plain("served", "accesses", about) });
        all.extend(self.checked.iter().map(|(name, unit, about)| plain(name, unit, about)));
        all
    }
}

impl CuObserver for Counted {}

impl Meter for Counted {
    fn figures(&self, seen: &Seen) -> Figures {
        let sum = |counters: &[&str]| counters.iter().map(|name| seen.get(name)).sum::<u64>();
        let mut values: Vec<FigureValue> =
            self.sums.iter().map(|(.., counters)| Count(sum(counters))).collect();
        for ((_, _, cycles, over), before) in &self.latencies {
            let over = sum(over);
            values.push(FigureValue::mean(seen.get(cycles) + over * before, over));
        }
        for (_, _, classes) in self.bytes {
            values.push(Values(classes.iter().map(|(class, counter)| (*class, seen.get(counter))).collect()));
        }
        values.push(Values(SERVERS.iter().map(|(src, name)| (*name, seen.served[*src])).collect()));
        values.extend(self.checked.iter().map(|(name, ..)| Count(seen.checked(name).unwrap_or(0))));
        Figures(self.infos().into_iter().zip(values).map(|(info, value)| Figure { info, value }).collect())
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        bytes.is_empty()
    }

    fn boxed(&self) -> Box<dyn Meter> {
        Box::new(self.clone())
    }
}

/// Sum of the parts of a figure, 0 if it has none.
pub(super) fn total(figures: &Figures, name: &str) -> u64 {
    match figures.get(name) {
        Some(Values(parts)) => parts.iter().map(|(_, count)| count).sum(),
        _ => 0,
    }
}
