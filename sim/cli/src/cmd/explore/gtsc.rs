//! `weft explore gtsc`: L1s, banks, relay and epoch controller of a GPU with G-TSC.

use super::{Ends, shown};
use crate::failure::{Failure, Outcome};
use anyhow::anyhow;
use weft_explore::guess::{learn_and_explore, walks};
use weft_explore::net::Timing;
use weft_mgcc::choice::GtscFault;
use weft_mgcc_bench::explore::gtsc::{Config, build};
use weft_mgcc_bench::explore::{MOST_OPERATIONS, Op, report};

/// Arguments of `weft explore gtsc`.
#[derive(clap::Args)]
pub struct Args {
    /// CUs, each with an L1.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=3))]
    cus: u32,
    /// Waves of each CU, numbered one CU after the other.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4), value_name = "N")]
    per_cu: u8,
    /// L2 banks, among which the lines are dealt out.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=2))]
    banks: u32,
    /// What a wave may issue: LD, LD_SYNC, ST (all bytes, or word 0 or 1: ST X.0), AMO of a line X, Y, Z, A..,
    /// or FENCE (not as the first or last one).
    /// Given again it is of the next wave; the last list stands for all further waves.
    #[arg(long, default_value = "LD X,ST X.0,LD Y,ST Y.0", value_name = "OP,OP..")]
    ops: Vec<String>,
    /// A wave issues its list of --ops from its beginning, and not anything of it.
    #[arg(long)]
    in_order: bool,
    /// Operations of each wave; the last number stands for all further waves.
    #[arg(long, value_delimiter = ',', num_args = 1, default_value = "2,1", value_name = "N,N..")]
    budget: Vec<usize>,
    /// Operations of a wave that may be open together: 1, judged as sequentially consistent, or 2, judged as
    /// release consistent.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    open: u8,
    /// Time up to which leases may have been given at the beginning: a late one brings an overflow near.
    #[arg(long, default_value_t = 0, value_name = "TIME")]
    start: u64,
    /// The lease of reads and writes.
    #[arg(long, default_value_t = 16, value_name = "LEASE")]
    lease: u64,
    /// Bits of a timestamp.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(6..=16))]
    ts: u32,
    /// Messages that a request link holds before it holds its sender back.
    #[arg(long, default_value_t = 1, value_name = "N")]
    link: usize,
    /// A fault: renew_changed, lease_not_kept, evict_untimed, unlocked.
    #[arg(long, default_value = "none", value_name = "FAULT")]
    inject: String,
    /// Blocks may also stop in the middle of their work: many more states.
    #[arg(long)]
    free: bool,
    /// Random walks instead of all states, for what is too large.
    #[arg(long, value_name = "N")]
    walks: Option<u64>,
    #[command(flatten)]
    ends: Ends,
}

impl Args {
    fn check(&self) -> Result<(), Failure> {
        let (most, last) = (1 << (self.ts - 2), (1 << self.ts) - 1);
        let bad = |text: String| Err(Failure::input(anyhow!(text)));
        if !(1..=most).contains(&self.lease) {
            return bad(format!("--lease {}: legal with --ts {}: 1..{most}", self.lease, self.ts));
        }
        if self.start > last {
            return bad(format!("--start {}: legal with --ts {}: 0..{last}", self.start, self.ts));
        }
        if self.link == 0 || self.budget.iter().any(|budget| *budget > MOST_OPERATIONS) {
            return bad(format!("--link is at least 1, each number of --budget at most {MOST_OPERATIONS}"));
        }
        Ok(())
    }

    fn config(&self) -> Result<Config, Failure> {
        self.check()?;
        let inject = GtscFault::WORDS.iter().find(|word| word.1 == self.inject);
        let inject = inject.ok_or_else(|| {
            let remedy = weft_names::choice(&self.inject, GtscFault::WORDS.iter().map(|word| word.1));
            Failure::input(anyhow!("--inject {}: there is no such fault; {remedy}", self.inject))
        })?;
        let alphabet =
            |list: &String| -> Result<Vec<Op>, String> { list.split(',').map(str::parse).collect() };
        let alphabets: Result<Vec<Vec<Op>>, String> = self.ops.iter().map(alphabet).collect();
        let alphabets = alphabets.map_err(|text| Failure::input(anyhow!("--ops: {text}")))?;
        Ok(Config {
            cus: self.cus,
            waves: self.per_cu.into(),
            banks: self.banks,
            lines: alphabets.iter().flatten().map(|op| op.line()).max().unwrap_or(0) + 1,
            alphabets,
            in_order: self.in_order,
            budgets: self.budget.clone(),
            open: self.open.into(),
            ts: self.ts,
            lease: self.lease,
            start: self.start,
            // As many misses of a bank as L1s may have.
            l2_mshrs: (self.cus.max(2), 1),
            link: self.link,
            timing: if self.free { Timing::Free } else { Timing::Bursts },
            inject: inject.0,
            ..Config::default()
        })
    }
}

/// Runs the verb.
///
/// # Errors
/// Values out of their range; a violation; a waveform that cannot be written.
pub fn run(args: &Args) -> Outcome {
    let mut net = build(&args.config()?).map_err(Failure::input)?;
    let told = (report::table as _, report::counterexample as _);
    args.ends.explored(&mut net, told, |net| match args.walks {
        Some(number) => walks(net, number),
        None => shown(|told| learn_and_explore(net, args.ends.limits(), told)),
    })
}
