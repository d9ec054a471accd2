//! Stall inspection of a run (`cu-and-consistency.md` section 3): what the compute units have counted, by unit and by kernel.

use super::seat::Seat;
use crate::cu::{GSI_COLUMNS, GsiCounts};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

/// Counts of the kernels that have ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Stalls {
    /// Begin of the first kernel.
    begin: Option<u64>,
    /// End of the last one.
    end: u64,
    /// Begin of the kernel under way.
    open: Option<u64>,
    /// By unit, in order of the seats.
    units: Vec<GsiCounts>,
    /// By kernel: name, sum over the compute units that are no CPU cores.
    kernels: Vec<(String, GsiCounts)>,
}

impl Stalls {
    /// A kernel begins in cycle `now`.
    pub fn begin(&mut self, now: u64, seats: &[Seat]) {
        self.units.resize(seats.len(), GsiCounts::default());
        if self.begin.is_some() {
            for (unit, seat) in self.units.iter_mut().zip(seats) {
                unit.add_between(seat.cu.params().pace.ticks(self.end, now));
            }
        }
        self.begin.get_or_insert(now);
        self.open = Some(now);
    }

    /// All units have ended the kernel `name` before cycle `now`; the first `cores` of `cus` seats of each node are CPU cores.
    ///
    /// # Errors
    /// A sum that does not hold.
    pub fn end(
        &mut self,
        now: u64,
        name: &str,
        seats: &mut [Seat],
        (cores, cus): (usize, usize),
    ) -> Result<(), String> {
        let Some(begun) = self.open.take() else { return Ok(()) };
        let mut sum = GsiCounts::default();
        for (number, (unit, seat)) in self.units.iter_mut().zip(seats).enumerate() {
            let Some(counts) = seat.cu.inspected(now)? else { continue };
            let ticks = seat.cu.params().pace.ticks(begun, now);
            if counts.ticks != ticks {
                return Err(format!(
                    "stall inspection of unit {number}: {} ticks have a class, and kernel {name} took {ticks}",
                    counts.ticks
                ));
            }
            unit.add(&counts);
            if number % cus >= cores {
                sum.add(&counts);
            }
        }
        self.end = now;
        self.kernels.push((name.to_string(), sum));
        Ok(())
    }

    /// What a record shows of it; the seats of a node as for [`Stalls::end`].
    pub fn report(&self, (cores, cus): (usize, usize)) -> StallReport {
        let (mut sum, mut on_cores) = (GsiCounts::default(), GsiCounts::default());
        let mut rows = Vec::new();
        for (number, counts) in self.units.iter().enumerate() {
            let core = number % cus < cores;
            if core { &mut on_cores } else { &mut sum }.add(counts);
            let kind = if core { "core" } else { "cu" };
            rows.push(StallRow {
                name: format!("g{}_{kind}{}", number / cus, number % cus),
                counts: *counts,
            });
        }
        let row = |(name, counts): &(String, GsiCounts)| StallRow { name: name.clone(), counts: *counts };
        StallReport {
            begin: self.begin.unwrap_or(0),
            end: self.end,
            sum,
            cores: (cores > 0).then_some(on_cores),
            columns: GSI_COLUMNS.map(|(name, _)| name),
            units: rows,
            kernels: self.kernels.iter().map(row).collect(),
        }
    }
}

/// Ticks of a unit, or of all compute units in a kernel. In JSON a list: the name, then the numbers in order of `columns`.
#[derive(Clone, Debug)]
pub struct StallRow {
    /// Node and unit, or kernel.
    pub name: String,
    /// Its ticks.
    pub counts: GsiCounts,
}

impl Serialize for StallRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = self.counts.values();
        let mut row = serializer.serialize_seq(Some(1 + values.len()))?;
        row.serialize_element(&self.name)?;
        values.iter().try_for_each(|value| row.serialize_element(value))?;
        row.end()
    }
}

fn named<S: Serializer>(counts: &GsiCounts, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(GSI_COLUMNS.iter().map(|(name, _)| *name).zip(counts.values()))
}

fn named_if_any<S: Serializer>(counts: &Option<GsiCounts>, serializer: S) -> Result<S::Ok, S::Error> {
    match counts {
        Some(counts) => named(counts, serializer),
        None => serializer.serialize_none(),
    }
}

/// Why compute units did not issue: ticks by class, each unit's from the first kernel's begin to the last one's end.
#[derive(Clone, Debug, Serialize)]
pub struct StallReport {
    /// Cycle of the first KBEGIN.
    pub begin: u64,
    /// Cycle after the last acknowledgement of KEND.
    pub end: u64,
    /// Over all compute units, CPU cores left out.
    #[serde(serialize_with = "named")]
    pub sum: GsiCounts,
    /// Over all CPU cores.
    #[serde(serialize_with = "named_if_any", skip_serializing_if = "Option::is_none")]
    pub cores: Option<GsiCounts>,
    /// Of the rows' numbers.
    pub columns: [&'static str; GSI_COLUMNS.len()],
    /// By compute unit and CPU core.
    pub units: Vec<StallRow>,
    /// By kernel, over all compute units; without what lies between kernels.
    pub kernels: Vec<StallRow>,
}

impl StallReport {
    /// Name of a column of [`GSI_COLUMNS`] in a table of runs.
    pub fn metric(column: &str) -> String {
        format!("gsi_{column}")
    }

    /// The sum by name in a table of runs.
    pub fn cells(&self) -> impl Iterator<Item = (String, String)> {
        GSI_COLUMNS
            .iter()
            .zip(self.sum.values())
            .map(|((name, _), value)| (StallReport::metric(name), value.to_string()))
    }
}
