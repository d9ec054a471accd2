//! `weft explore directory`: L1s, banks, directory slices, fence units and INV networks of the directory family.

use super::{Ends, shown};
use crate::failure::{Failure, Outcome};
use anyhow::anyhow;
use weft_blocks::fabric::Protocol;
use weft_directory_bench::explore::{Config, FAULTS, MOST_OPERATIONS, Op, build, explore, report, walks};
use weft_explore::net::Timing;

/// Arguments of `weft explore directory`.
#[derive(clap::Args)]
pub struct Args {
    /// Protocol; `weft list fabrics rec-4gpu` names them, all but ideal can be explored.
    #[arg(long, default_value = "nhcc")]
    protocol: String,
    /// GPUs.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=4))]
    gpus: u32,
    /// Nodes of a GPU, its GPMs, of one CU, L1 and bank each; in all there are 2 to 4.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4))]
    gpms: u32,
    /// Lines, which meet in one set and one directory entry of their home.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    lines: u32,
    /// Node at which each line is homed, counted over all GPUs; the last number stands for all further lines.
    #[arg(long, value_delimiter = ',', num_args = 1, default_value = "0", value_name = "NODE,NODE..")]
    homes: Vec<u32>,
    /// What a CU may issue: LD, LDg (GPU scope), LDs (system scope), ST, AMO of a line X, Y, Z, A.., or REL, ACQ, RELg, ACQg (GPU scope). Given again it is of the next CU; the last
    /// list stands for all further CUs.
    #[arg(long, default_value = "LD X,ST X,REL,ACQ", value_name = "OP,OP..")]
    ops: Vec<String>,
    /// Operations of each CU; the last number stands for all further CUs.
    #[arg(long, value_delimiter = ',', num_args = 1, default_value = "1", value_name = "N,N..")]
    budget: Vec<usize>,
    /// Loads and atomics of a CU that may be open together.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    open: u8,
    /// Messages that a link between GPUs holds before it holds its sender back.
    #[arg(long, default_value_t = 1, value_name = "N")]
    link: usize,
    /// Stores stay in the first L2 on their way that may hold them.
    #[arg(long)]
    write_back: bool,
    /// Slices are told of lines that leave.
    #[arg(long)]
    downgrade: bool,
    /// A fault: l1-early-release, l1-keeps-copies, fence-early-done.
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
    fn config(&self) -> Result<Config, Failure> {
        let bad = |text: String| Failure::input(anyhow!(text));
        let protocol = Protocol::from_name(&self.protocol).ok_or_else(|| {
            let remedy = weft_names::choice(
                &self.protocol,
                weft_blocks::directory::protocols::all().map(Protocol::name),
            );
            bad(format!("--protocol {}: there is no such protocol; {remedy}", self.protocol))
        })?;
        let inject = FAULTS.iter().find(|fault| fault.1 == self.inject).ok_or_else(|| {
            let remedy = weft_names::choice(&self.inject, FAULTS.iter().map(|fault| fault.1));
            bad(format!("--inject {}: there is no such fault; {remedy}", self.inject))
        })?;
        let nodes = self.gpus * self.gpms;
        if !(2..=4).contains(&nodes) {
            return Err(bad(format!(
                "--gpus {} --gpms {}: these are {nodes} nodes; legal: 2 to 4",
                self.gpus, self.gpms
            )));
        }
        if let Some(home) = self.homes.iter().find(|home| **home >= nodes) {
            return Err(bad(format!(
                "--homes {home}: legal with {nodes} nodes (--gpus, --gpms): 0..{}",
                nodes - 1
            )));
        }
        if self.link == 0 || self.budget.iter().any(|budget| *budget > MOST_OPERATIONS) {
            return Err(bad(format!(
                "--link is at least 1, each number of --budget at most {MOST_OPERATIONS}"
            )));
        }
        let home = |line: u32| self.homes.get(line as usize).or(self.homes.last()).copied().unwrap_or(0);
        Ok(Config {
            protocol,
            gpus: self.gpus,
            gpms: self.gpms,
            homes: (0..self.lines).map(home).collect(),
            alphabets: self.ops.iter().map(|list| self.alphabet(list)).collect::<Result<_, _>>()?,
            budgets: self.budget.clone(),
            open: self.open.into(),
            link: self.link,
            write_back: self.write_back,
            downgrade: self.downgrade,
            timing: if self.free { Timing::Free } else { Timing::Bursts },
            inject: inject.0,
        })
    }

    fn alphabet(&self, list: &str) -> Result<Vec<Op>, Failure> {
        let each = |text: &str| {
            let op: Op = text.parse().map_err(|error: String| anyhow!("--ops: {error}"))?;
            match op.line() {
                Some(line) if line >= self.lines as usize => {
                    Err(anyhow!("--ops {}: --lines is {}; more lines make it legal", text.trim(), self.lines))
                }
                _ => Ok(op),
            }
        };
        list.split(',').map(each).collect::<Result<_, _>>().map_err(Failure::input)
    }
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
