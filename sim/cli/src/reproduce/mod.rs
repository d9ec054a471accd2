//! Published results beside measured ones: what `weft reproduce` makes.
//!
//! # A file of published results
//!
//! One per system, in `sim/fabrics/published/`, built into the program:
//!
//! ```toml
//! system = "rec"
//! about = "Range-coalescing directories, 4 GPUs"
//! source = "rec.md sections 12 and 13"
//!
//! [[figure]]
//! name = "speedup"                      # weft reproduce rec speedup
//! title = "Speedup over the per-line directory"
//! sweep = "rec-protocols"               # whose runs it needs
//! pictures = ["cycles"]                 # summaries of the sweep that are drawn and tabulated, in the publication's form
//! says = "REC is ahead of all but the ideal directory"   # what is published without a number
//! all = { metric = "cycles", to = { protocol = "baseline" }, show = "speedup" }   # keys that all rows share
//!
//! [[figure.row]]
//! what = "REC"
//! over = { protocol = "rec" }           # these runs ...
//! published = 1.327                     # ... to those of `to`, workload by workload, then the mean
//! printed = "+32.7%"                    # as the publication has it
//!
//! [[figure.order]]
//! what = "speed"
//! first = ["ideal"]                     # ...
//! ranks = [["ideal"], ["REC"], ["baseline"]]   # names of rows, or the value of `to`; those of a rank are in no order
//!
//! [[missing]]                           # a published number that is not measured
//! what = "power of the directory"
//! published = "3.28%"
//! not_measured = "rates of access are not estimated"
//! ```
//!
//! A row is a number of runs, or of hardware:
//!
//! | key | meaning |
//! | --- | --- |
//! | `metric`, or `parts = [...]` | a column of the sweep's results, or the sum of several |
//! | `per` | column by which it is divided within each run |
//! | `over`, `to` | value of each axis; a list of values stands for the one with the lowest `by` (`cycles`) in each workload; axes with one value need not be named |
//! | `at` | values of further axes, for both; of a list, or of `*` for all, each counts as a workload does |
//! | `show` | `ratio` (over / to), `speedup` (to / over), `value` (no `to`) |
//! | `rows` | workloads; all unless given |
//! | `mean` | over them: `arithmetic` (as most publications say), `geometric`, `greatest`, `least` |
//! | `published` | a number, or `[least, most]` |
//! | `explain` | counters that are told of both sides when measured and published differ |
//! | `block`, `params`, `figure`, `beside` | in the place of a metric: storage of a block, see [`fact`] |
//! | `states` | in the place of a metric: ratio of states that two abstract protocols reach under this set of options |
//!
//! A row *differs* when measured is less than two thirds or more than one and a half of published, or lies on the other side of 1 (faster where slower is published). The report then says so
//! in words, with the counters of `explain` of both sides, the largest change first. These are counters and not reasons: reasons are in RESULTS.md, which a person has written.

pub mod built_in;
pub mod explored;
pub mod fact;
pub mod figure;
mod inputs;
pub mod measure;
pub mod page;
pub mod published;
pub mod recorded;
pub mod report;
pub mod words;
