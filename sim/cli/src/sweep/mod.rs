//! Sweeps: many runs described by one file, one table of results, summaries and pictures.
//!
//! # A sweep file
//!
//! ```toml
//! name = "entries"                      # of the results
//! about = "Directory size and range"
//! tier = "middle"                       # optional: what the file itself is
//! fabric = "rec-4gpu-small"             # built in or a TOML file
//! seed = 7                              # optional, for programs with random data
//! max_cycles = 100_000_000              # optional, per run
//! workloads = ["stencil", { workload = "pagerank", label = "PR", nodes = 4096, graph = "web.mtx" }]
//!
//! [set]                                 # keys of the fabric, for all runs
//! link_bytes = 12
//!
//! [[axis]]                              # one key: its values
//! key = "protocol"
//! values = ["baseline", "rec"]
//!
//! [[axis]]                              # keys that move together
//! name = "coverage"
//! keys = ["entries", "range"]
//! values = [[512, 512], [256, "1K"]]
//! labels = ["512 x 512", "256 x 1K"]    # optional
//!
//! [[summary]]                           # a table and a picture; may be given several times
//! columns = "protocol"
//! metric = "cycles"                     # any numeric column of the results
//! relative_to = "baseline"              # a value of the columns' axis, or { axis = value, ... }
//!
//! [small]                               # what `--tier small` changes: the same question at another size
//! workloads = [{ workload = "stencil", n = 32 }]
//! ```
//!
//! An axis moves keys of the fabric, or `workload`, `fabric`, `graph`, `seed`, or a program's parameter as `param.NAME`. The runs are the product of the
//! workloads and all axes, the last one fastest. A workload may be a trace, named by its folder or file. Paths of fabrics, graphs and traces are relative to the sweep file.
//! How a graph is read where its file does not say it, or says it wrongly, is said beside it: `graph_format
//! = "edge-list"`, `graph_directed = true` or `false`, `graph_limit = "4G"`, as by the options
//! `--graph-format`, `--directed`, `--undirected` and `--graph-limit` of `weft run`.
//!
//! Further keys of a summary: `show` (`value`; `ratio` = value / reference; `speedup` = reference / value), `plot` (`bars`, `stacked`, `lines`, `none`), `mean` (`geometric`,
//! `arithmetic`: in the picture; tables have both), `name` (of its picture), `title`, `x_label`, `y_label`, `rows` (the workloads that it is about; all unless given). In the place of `metric`, `parts = ["gsi_no_stall", "gsi_idle"]` adds up
//! several columns, whose shares `plot = "stacked"` shows, one bar of parts for each value of the columns' axis, and a second table, their means over the workloads.
//!
//! A question is asked at three sizes: `small` (a scaled fabric, seconds), `middle` (the published fabric, reduced
//! inputs) and `published`. The file itself is one of them, `tier = "middle"`; `[small]`, `[middle]` and
//! `[published]` have what others change: `fabric`, `seed`, `max_cycles`, `workloads`, `[small.set]`,
//! `[[small.axis]]` and `[[small.summary]]`, each in the place of the sweep's own. `weft sweep --tier` makes them,
//! and their results are called `NAME-small` and so on.
//!
//! Classes of values, each standing with its best one in each row, are set against each other by a contest:
//!
//! ```toml
//! [[contest]]
//! columns = "protocol"
//! by = "cycles"                         # the lowest wins
//! metrics = ["cycles", "flit_hops"]     # of the winners, relative to the winner of relative_to; then mean and lowest of these ratios
//! classes = { best = ["hmg", "nhcc"], other = ["rec"] }
//! relative_to = "best"
//! ```
//!
//! # Results
//!
//! `NAME.csv` has a line per run in the order of the product. Its columns ([`columns`]) depend on the sweep file alone: what the run was, what it
//! measured, why it failed. No column holds a time of the host: the same sweep gives the same bytes, whatever the number of jobs and however often it was
//! interrupted ([`begun`]). `weft sweep NAME --columns` prints each column with unit and meaning.

pub mod begun;
pub mod board;
pub mod built_in;
pub mod columns;
pub mod contest;
pub mod execute;
pub mod file;
pub mod known;
mod load;
mod only;
pub mod parts;
pub mod plan;
pub mod plot;
pub mod programs;
mod read;
pub mod record;
pub mod results;
pub mod run;
pub mod shard;
pub mod source;
pub mod summary;
pub mod tier;
mod variant;
