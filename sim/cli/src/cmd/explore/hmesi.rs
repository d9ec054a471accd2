//! `weft explore hmesi`: the hierarchical baseline of Spandex: an L3, CPU cores and a GPU L2 with CUs.

use super::{Ends, shown};
use crate::failure::{Failure, Outcome};
use anyhow::anyhow;
use weft_explore::net::Timing;
use weft_hmesi_bench::explore::{
    Config, DEVICES, Faults, Hint, Kind, LINES, MOST_OPERATIONS, Op, build, explore, faults, report, walks,
};

/// Arguments of `weft explore hmesi`.
#[derive(clap::Args)]
pub struct Args {
    /// Devices: CPU cores (cpu), then CUs with GPU coherence (gpu) or DeNovo (denovo), at least one, below
    /// the
    /// GPU L2; at most four in all.
    #[arg(long, value_delimiter = ',', num_args = 1, default_value = "cpu,gpu", value_name = "KIND,KIND..")]
    devices: Vec<String>,
    /// Lines, which meet in one set of every cache.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=LINES.len() as i64))]
    lines: u8,
    /// What a device may issue: LD, ST (both words, or word 0 or 1: ST X.0), AT and SYNC (exchange of a word,
    /// the latter releases and acquires) of a line X, Y, Z, or ACQ. Given again it is of the next device; the
    /// last list stands for all further ones. Without it: loads, stores and exchanges of X.
    #[arg(long, value_name = "OP,OP..")]
    ops: Vec<String>,
    /// A device issues its list of --ops from its beginning, and not anything of it.
    #[arg(long)]
    in_order: bool,
    /// Operations of each device; the last number stands for all further devices.
    #[arg(long, value_delimiter = ',', num_args = 1, default_value = "1", value_name = "N,N..")]
    budget: Vec<usize>,
    /// Operations of a device that may be open together; an L1 has as many entries of everything.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    open: u8,
    /// Ways of the GPU L2, which has one set: 2 or 4.
    #[arg(long, default_value_t = 2, value_name = "N")]
    l2_ways: u32,
    /// Ways of the L3, which has one set: 2 or 4.
    #[arg(long, default_value_t = 2, value_name = "N")]
    l3_ways: u32,
    /// Transactions (TBEs) of the GPU L2; one of them is for forwards of the L3.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=4), value_name = "N")]
    l2_tbes: u32,
    /// Transactions (TBEs) of the L3; with one alone no request finds its line busy.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4), value_name = "N")]
    l3_tbes: u32,
    /// Messages that a link holds before it holds its sender back; answers always have a place.
    #[arg(long, default_value_t = 2, value_name = "N")]
    link: usize,
    /// A fault, BLOCK:FAULT: a value of the key inject of hmesi-client, gpu-l2 or mesi-llc.
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
    fn devices(&self) -> Result<Vec<Kind>, Failure> {
        let each = |word: &String| {
            DEVICES.iter().find(|of| of.1 == *word).map(|of| of.0).ok_or_else(|| {
                let remedy = weft_names::choice(word, DEVICES.iter().map(|of| of.1));
                Failure::input(anyhow!("--devices {word}: there is no such device; {remedy}"))
            })
        };
        self.devices.iter().map(each).collect()
    }

    fn faults(&self) -> Result<Faults, Failure> {
        let named = faults::named();
        if self.inject == "none" {
            return Ok(faults::NONE);
        }
        named.iter().find(|of| of.0 == self.inject).map(|of| of.1).ok_or_else(|| {
            let remedy = weft_names::choice(&self.inject, named.iter().map(|of| of.0.as_str()));
            Failure::input(anyhow!("--inject {}: there is no such fault; {remedy}", self.inject))
        })
    }

    fn config(&self) -> Result<Config, Failure> {
        let bad = |text: String| Failure::input(anyhow!(text));
        if self.link == 0 || self.budget.iter().any(|budget| *budget > MOST_OPERATIONS) {
            return Err(bad(format!(
                "--link is at least 1, each number of --budget at most {MOST_OPERATIONS}"
            )));
        }
        for (key, ways) in [("--l2-ways", self.l2_ways), ("--l3-ways", self.l3_ways)] {
            if ![2, 4].contains(&ways) {
                return Err(bad(format!("{key} {ways}: legal are 2 and 4")));
            }
        }
        let mut config = Config::of(&self.devices()?);
        let lists = self.ops.iter().map(|list| self.alphabet(list)).collect::<Result<Vec<_>, _>>()?;
        let cores = &mut config.cores;
        if !lists.is_empty() {
            cores.alphabets = lists;
        }
        cores.in_order = self.in_order;
        cores.budgets.clone_from(&self.budget);
        cores.lines.truncate(self.lines.into());
        cores.link = self.link;
        cores.bank = (1, self.l2_ways);
        cores.tbes.0 = self.l2_tbes;
        cores.timing = if self.free { Timing::Free } else { Timing::Bursts };
        config.overlap(self.open.into());
        let (l3, l3_tbes) = ((1, self.l3_ways), (self.l3_tbes, config.l3_tbes.1));
        Ok(Config { l3, l3_tbes, faults: self.faults()?, ..config })
    }

    fn alphabet(&self, list: &str) -> Result<Vec<Op>, Failure> {
        let each = |text: &str| {
            let text = text.trim();
            let op = text.parse().ok().filter(is_known).ok_or_else(|| anyhow!("--ops: '{text}' {NO_OP}"))?;
            if op.line() >= usize::from(self.lines) {
                return Err(anyhow!("--ops {text}: --lines is {}; more lines make it legal", self.lines));
            }
            Ok(op)
        };
        list.split(',').map(each).collect::<Result<_, _>>().map_err(Failure::input)
    }
}

/// What is said of an operation that there is not.
const NO_OP: &str = "is no operation; legal: LD X, ST X (both words), LD X.0, ST X.0, AT X.0, SYNC X.0, ACQ, \
     with X, Y, Z for the lines and 0, 1 for the words";

/// Hints and scopes are for other systems.
fn is_known(op: &Op) -> bool {
    op.hint() == Hint::default() && !matches!(op, Op::Here(..))
}

/// Runs the verb.
///
/// # Errors
/// Values out of their range; a violation; a waveform that cannot be written.
pub fn run(args: &Args) -> Outcome {
    let mut system = build(&args.config()?).map_err(Failure::input)?;
    let told = (report::table as _, report::counterexample as _);
    args.ends.explored(&mut system, told, |system| match args.walks {
        Some(number) => walks(system, number),
        None => shown(|told| explore(system, args.ends.limits(), told)),
    })
}
