//! `weft explore mgcc`: L1s, banks, lanes with their TSUs, relays and epoch controller of MGPU-TSM with MGCC.

use super::{Ends, shown};
use crate::failure::{Failure, Outcome};
use anyhow::anyhow;
use weft_explore::net::Timing;
use weft_explore::search::explore;
use weft_mgcc::choice::{Choice, Consistency, Inject};
use weft_mgcc_bench::explore::{Config, MOST_OPERATIONS, Op, build, report};

/// Consistency on the command line.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Order {
    /// Sequential: one operation of a CU at a time.
    Sc,
    /// Release consistency: two of a CU overlap.
    Rc,
}

/// Arguments of `weft explore mgcc`.
#[derive(clap::Args)]
pub struct Args {
    /// GPUs.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=2))]
    gpus: u32,
    /// CUs, each with an L1, per GPU.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=2))]
    cus: u32,
    /// What a CU may issue: LD, LD_SYNC, ST (all bytes, or word 0 or 1: ST X.0), AMO of a line X, Y, Z, A.., or
    /// FENCE (not as the first or last one).
    #[arg(long, value_delimiter = ',', default_value = "LD X,ST X.0,LD Y,ST Y.0")]
    ops: Vec<Op>,
    /// Operations of each CU; the last number stands for all further CUs.
    #[arg(long, value_delimiter = ',', default_value = "2,1", value_name = "N,N..")]
    budget: Vec<usize>,
    /// Consistency model.
    #[arg(long, value_enum, default_value_t = Order::Sc)]
    consistency: Order,
    /// Time up to which leases may have been given at the beginning: a late one brings an overflow near.
    #[arg(long, default_value_t = 0, value_name = "TIME")]
    start: u64,
    /// Lease of a read and of a write.
    #[arg(long, value_delimiter = ',', num_args = 1, default_value = "16,16", value_name = "RD,WR")]
    leases: Vec<u64>,
    /// Bits of a timestamp.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(6..=16))]
    ts: u32,
    /// Entries of the TSU.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    tsu: u32,
    /// Messages that a request link holds before it holds its sender back.
    #[arg(long, default_value_t = 1, value_name = "N")]
    link: usize,
    /// A fault: lit_mwts, lit_no_ts, lit_read_cts, lit_brts, lit_ack_nodata, lit_no_floor, lit_reinit, past_rts, early_fence, keep_clock.
    #[arg(long, default_value = "none", value_name = "FAULT")]
    inject: String,
    /// Blocks may also stop in the middle of their work: many more states.
    #[arg(long)]
    free: bool,
    #[command(flatten)]
    ends: Ends,
}

impl Args {
    fn config(&self) -> Result<Config, Failure> {
        let inject = Inject::WORDS.iter().find(|word| word.1 == self.inject);
        let inject = inject.ok_or_else(|| {
            let remedy = weft_names::choice(&self.inject, Inject::WORDS.iter().map(|word| word.1));
            Failure::input(anyhow!("--inject {}: there is no such fault; {remedy}", self.inject))
        })?;
        let (most, last) = (1 << (self.ts - 2), (1 << self.ts) - 1);
        let &[rd, wr] = &self.leases[..] else {
            return Err(Failure::input(anyhow!("--leases takes two numbers: of a read, of a write")));
        };
        if !(1..=most).contains(&rd) || !(1..=most).contains(&wr) {
            return Err(Failure::input(anyhow!(
                "--leases {rd},{wr}: legal with --ts {}: 1..{most}",
                self.ts
            )));
        }
        if self.start > last {
            return Err(Failure::input(anyhow!(
                "--start {}: legal with --ts {}: 0..{last}",
                self.start,
                self.ts
            )));
        }
        if self.link == 0 || self.budget.iter().any(|budget| *budget > MOST_OPERATIONS) {
            return Err(Failure::input(anyhow!(
                "--link is at least 1, each number of --budget at most {MOST_OPERATIONS}"
            )));
        }
        let lines = self.ops.iter().map(|op| op.line()).max().unwrap_or(0) as u64 + 1;
        let rc = matches!(self.consistency, Order::Rc);
        Ok(Config {
            gpus: self.gpus,
            cus: self.cus,
            // Even numbers: all lines meet in one set of the L1s.
            lines: (0..lines).map(|line| 2 * line).collect(),
            alphabet: self.ops.clone(),
            budgets: self.budget.clone(),
            consistency: if rc { Consistency::Rc } else { Consistency::Sc },
            start: self.start,
            leases: (rd, wr),
            ts: self.ts,
            link: self.link,
            tsu: (1, self.tsu),
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
    args.ends.explored(&mut net, told, |net| shown(|told| explore(net, args.ends.limits(), told)))
}
