//! `weft explore srsp`: L1s and an L2 bank of the sRSP family, with scoped synchronisation or registered
//! lines.

use super::{Ends, shown};
use crate::failure::{Failure, Outcome};
use anyhow::anyhow;
use weft_explore::net::Timing;
use weft_fabric::config::FabricConfig;
use weft_srsp_explore::{
    Config, MOST_LINES, MOST_OPERATIONS, Op, build, explore, report, smallest, usual, walks,
};

/// Arguments of `weft explore srsp`.
#[derive(clap::Args)]
pub struct Args {
    /// Protocol; `weft list fabrics srsp-64cu` names them.
    #[arg(long, default_value = "srsp")]
    protocol: String,
    /// Lines, which meet in one set; each has a word of data and a synchronisation variable.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_LINES)))]
    lines: u32,
    /// Waves of each CU, numbered one CU after the other; with all CUs at most four.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4), value_name = "N")]
    per_cu: u8,
    /// What a wave may issue: LD or ST of a line's data, or an access of its variable by its name in the
    /// publication (ld_acq_wg, st_rel_cmp, rmw_ar_wg, cas_rem_acq, st_rem_rel ..), of a line X, Y, Z, A..
    /// Given again it is of the next wave; the last list stands for all further ones. Without it: LD Y, ST Y
    /// and acquire and release of X, in the first wave of work-group scope and in the others remote, where
    /// there are remote ones.
    #[arg(long, value_name = "OP,OP..")]
    ops: Vec<String>,
    /// A wave issues its list of --ops from its beginning, and not anything of it.
    #[arg(long)]
    in_order: bool,
    /// Operations of each wave; the last number stands for all further waves.
    #[arg(long, value_delimiter = ',', num_args = 1, default_value = "1", value_name = "N,N..")]
    budget: Vec<usize>,
    /// Plain loads of a wave that may be open together.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    open: u8,
    /// Messages that a link holds before it holds its sender back.
    #[arg(long, default_value_t = 1, value_name = "N")]
    link: usize,
    /// A fault: a value of the fabric's key inject.
    #[arg(long, default_value = "none", value_name = "FAULT")]
    inject: String,
    /// Changes a key of the fabric, whose sizes are the smallest: cus=3, l1_sfifo=3, broadcast_order=token.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
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
    fn fabric(&self) -> Result<FabricConfig, Failure> {
        let bad = |text: String| Failure::input(anyhow!(text));
        let (protocol, fault) = (self.protocol.as_str(), self.inject.as_str());
        let mut fabric = smallest();
        for pair in &self.set {
            fabric.set(pair).map_err(Failure::input)?;
        }
        let pairs = fabric.pairs("protocol", "inject");
        let Some((_, faults)) = pairs.iter().find(|of| of.0 == protocol) else {
            let remedy = weft_names::choice(protocol, pairs.iter().map(|of| of.0));
            return Err(bad(format!("--protocol {protocol}: there is no such protocol; {remedy}")));
        };
        // Without any the other keys are wrong, which the configuration tells itself.
        if !faults.is_empty() && !faults.contains(&fault) {
            let remedy = weft_names::choice(fault, faults.iter().copied());
            return Err(bad(format!("--inject {fault}: protocol {protocol} has no such fault; {remedy}")));
        }
        fabric.set(&format!("protocol={protocol}")).map_err(Failure::input)?;
        fabric.set(&format!("inject={fault}")).map_err(Failure::input)?;
        fabric.validate().map_err(Failure::input)?;
        Ok(fabric)
    }

    fn config(&self) -> Result<Config, Failure> {
        let bad = |text: String| Failure::input(anyhow!(text));
        if self.link == 0 || self.budget.iter().any(|budget| *budget > MOST_OPERATIONS) {
            return Err(bad(format!(
                "--link is at least 1, each number of --budget at most {MOST_OPERATIONS}"
            )));
        }
        let gpu = self.fabric()?.srsp().ok_or_else(|| bad("this is no fabric of the family srsp".into()))?;
        let lists = match self.ops.is_empty() {
            true => usual(&gpu).map(str::to_string).to_vec(),
            false => self.ops.clone(),
        };
        Ok(Config {
            lines: self.lines as usize,
            waves: self.per_cu.into(),
            in_order: self.in_order,
            alphabets: lists.iter().map(|list| self.alphabet(list)).collect::<Result<_, _>>()?,
            budgets: self.budget.clone(),
            open: self.open.into(),
            link: self.link,
            timing: if self.free { Timing::Free } else { Timing::Bursts },
            ..Config::of(gpu)
        })
    }

    fn alphabet(&self, list: &str) -> Result<Vec<Op>, Failure> {
        let each = |text: &str| {
            let op: Op = text.parse().map_err(|error: String| anyhow!("--ops: {error}"))?;
            if op.line() >= self.lines as usize {
                let text = text.trim();
                return Err(anyhow!("--ops {text}: --lines is {}; more lines make it legal", self.lines));
            }
            Ok(op)
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
