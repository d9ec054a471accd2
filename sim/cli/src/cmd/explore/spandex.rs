//! `weft explore spandex`: L1s with their translation units and a bank of the LLC.

use super::{Ends, quoted, shown};
use crate::failure::{Failure, Outcome, say};
use anyhow::anyhow;
use weft_explore::guess::walks;
use weft_explore::net::Timing;
use weft_explore::search::explore;
use weft_spandex_bench::explore::faults::{self, Faults, Shown};
use weft_spandex_bench::explore::mixes::{Mix, mixes};
use weft_spandex_bench::explore::{Config, Kind, MOST_LINES, Op, build, keys, report};

/// Arguments of `weft explore spandex`.
#[derive(clap::Args)]
pub struct Args {
    /// Devices, each an L1 and its translation unit: mesi and flex, then denovo and gpu. Without it
    /// mesi,gpu, or those of the mix or fault.
    #[arg(long, value_delimiter = ',', num_args = 1, value_name = "KIND,KIND..")]
    devices: Vec<String>,
    /// Begins with one of the named systems, of which the other options change something; --list names them.
    #[arg(long, value_name = "NAME", conflicts_with = "devices")]
    mix: Option<String>,
    /// Explores nothing: prints the command of each named system and of each fault.
    #[arg(long)]
    list: bool,
    /// What a core may issue: LD X or ST X of both words of a line, LD X.0 or ST X.1 of one; AT X.0, an
    /// exchange; SYNC X.0, one that releases and acquires; HERE X.0, one of CU scope (gpu, with --scopes);
    /// ACQ. Lines are X, Y, Z. For a flex device ReqV, ReqS, ReqO, ReqO+data, ReqWT or ReqWT+fwd may follow,
    /// and then line: LD X.0 ReqS line. Given again it is of the next device; the last list stands for all
    /// further ones. Without it loads, stores and exchanges of X, for flex every request.
    #[arg(long, value_name = "OP,OP..")]
    ops: Vec<String>,
    /// Operations of each device; the last number stands for all further ones. Without it 2,1, of other than
    /// two devices 1, or those of the mix or fault.
    #[arg(long, value_delimiter = ',', num_args = 1, value_name = "N,N..")]
    budget: Vec<usize>,
    /// What is done before, one after the other: a device's number and an operation each.
    #[arg(long, value_delimiter = ',', num_args = 1, value_name = "DEVICE:OP,DEVICE:OP..")]
    prelude: Vec<String>,
    /// Lines, which all meet in one set of an L1 of two ways.
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=i64::from(MOST_LINES)), value_name = "N")]
    lines: Option<u8>,
    /// Operations of a device that may be open together.
    #[arg(long, value_name = "N")]
    open: Option<usize>,
    /// Messages of a device that REQ and WB hold each, and that FWD holds for it, before they hold back.
    #[arg(long, value_name = "N")]
    link: Option<usize>,
    /// Changes a key of the hardware, whose sizes are the smallest: mshrs, sb, wbb, targets, releases of an
    /// L1, n_fail of its unit, sets, ways, tbes, stalls, reqs_policy, rvko_gran, flex_rsp of the bank.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The device that flex devices take for the owner of every word, instead of asking the bank.
    #[arg(long, value_name = "DEVICE")]
    guess: Option<usize>,
    /// Operations that are open together are of several waves: so may be atomics of one word.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    several_waves: Option<bool>,
    /// GPU coherence does what is of CU scope in its L1; what is not HERE is of system scope.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    scopes: Option<bool>,
    /// Reads that race with writes must be in one order with them, too. If nothing is said, that is judged of
    /// one or two devices with one line, one operation of each at a time and no --guess.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    races: Option<bool>,
    /// A fault of a block, BLOCK:FAULT. Without --devices and --mix in a system that shows it; --list names
    /// them.
    #[arg(long, value_name = "BLOCK:FAULT")]
    inject: Option<String>,
    /// Blocks may also stop in the middle of their work: many more states.
    #[arg(long)]
    free: bool,
    /// Random walks instead of all states, for what is too large.
    #[arg(long, value_name = "N")]
    walks: Option<u64>,
    #[command(flatten)]
    ends: Ends,
}

fn bad(text: String) -> Failure {
    Failure::input(anyhow!(text))
}

const LISTED: &str = "`weft explore spandex --list` names all";

/// The mix of a name: the one with the smallest budgets.
fn mix(name: &str) -> Result<Config, Failure> {
    let all = mixes();
    let found = all.iter().find(|mix| mix.name == name);
    found.map(|mix| mix.config.clone()).ok_or_else(|| {
        let remedy = weft_names::remedy(name, all.iter().map(|mix| mix.name.as_str()), LISTED);
        bad(format!("--mix {name}: there is no such mix; {remedy}"))
    })
}

/// The fault of a name.
fn fault(name: &str) -> Result<Faults, Failure> {
    let all = faults::named();
    match all.iter().find(|known| known.0 == name) {
        _ if name == "none" => Ok(faults::NONE),
        Some(known) => Ok(known.1),
        None => {
            let remedy = weft_names::remedy(name, all.iter().map(|known| known.0.as_str()), LISTED);
            Err(bad(format!("--inject {name}: there is no such fault; {remedy}")))
        }
    }
}

/// A word of a command that starts with a mix or fault.
fn starts(option: &str, name: &str) -> String {
    format!("weft explore spandex {option} {}", quoted(name))
}

/// The command of a mix.
fn command(mix: &Mix, all: &[Mix]) -> String {
    let first = all.iter().find(|other| other.name == mix.name).unwrap_or(mix);
    let budgets: Vec<String> = mix.config.budgets.iter().map(usize::to_string).collect();
    let more = match first.config.budgets == mix.config.budgets {
        true => String::new(),
        false => format!(" --budget {}", budgets.join(",")),
    };
    starts("--mix", &mix.name) + &more
}

/// Everything that has a name, each with its command.
fn list() -> String {
    let (all, shown) = (mixes(), faults::shown());
    let of = |short: bool| {
        let some = all.iter().filter(|mix| mix.short == short).map(|mix| command(mix, &all));
        some.collect::<Vec<_>>()
    };
    let seen = |name: &str| shown.iter().any(|shown| shown.name == name);
    let named = faults::named();
    let (seen, unseen): (Vec<_>, Vec<_>) = named.iter().partition(|(name, _)| seen(name));
    let each = |names: Vec<&(String, Faults)>, option: &str| {
        names.iter().map(|(name, _)| starts(option, name)).collect::<Vec<_>>()
    };
    let parts = [
        ("mixes, seconds each", of(true)),
        ("mixes, minutes each", of(false)),
        ("faults, each in a system that shows it", each(seen, "--inject")),
        ("faults that no named system shows", each(unseen, "--devices KIND,KIND.. --inject")),
    ];
    parts.map(|(title, lines)| format!("{title}:\n  {}\n", lines.join("\n  "))).join("\n")
}

impl Args {
    /// The system that the options change, and whether it has a name.
    fn base(&self) -> Result<(Config, bool), Failure> {
        if let Some(name) = &self.mix {
            return Ok((mix(name)?, true));
        }
        let inject = self.inject.as_deref().filter(|name| *name != "none");
        let Some(name) = inject.filter(|_| self.devices.is_empty()) else {
            return Ok((Config::of(&self.kinds()?), false));
        };
        fault(name)?;
        match faults::shown().into_iter().find(|shown| shown.name == name) {
            Some(Shown { config, .. }) => Ok((config, true)),
            None => Err(bad(format!(
                "--inject {name}: no named system shows it; --devices or --mix says where it is put"
            ))),
        }
    }

    fn kinds(&self) -> Result<Vec<Kind>, Failure> {
        if self.devices.is_empty() {
            return Ok(vec![Kind::Mesi, Kind::Gpu]);
        }
        let kind = |word: &String| {
            let known = Kind::ALL.iter().find(|kind| kind.word() == word);
            known.copied().ok_or_else(|| {
                let remedy = weft_names::choice(word, Kind::ALL.iter().map(|kind| kind.word()));
                bad(format!("--devices {word}: there is no such kind of device; {remedy}"))
            })
        };
        self.devices.iter().map(kind).collect()
    }

    fn config(&self) -> Result<(Config, bool), Failure> {
        let (base, named) = self.base()?;
        let mut c = base.clone();
        if !self.ops.is_empty() {
            c.alphabets = self.ops.iter().map(|list| alphabet(list)).collect::<Result<_, _>>()?;
        }
        if !self.budget.is_empty() {
            c.budgets.clone_from(&self.budget);
        }
        if !self.prelude.is_empty() {
            c.prelude = self.prelude.iter().map(|text| prepared(text)).collect::<Result<_, _>>()?;
        }
        if let Some(count) = self.lines {
            c.lines = Config::lines(count.into());
        }
        c.open = self.open.unwrap_or(c.open);
        c.link = self.link.unwrap_or(c.link);
        self.set.iter().try_for_each(|pair| set(&mut c, pair))?;
        c.guess = self.guess.or(c.guess);
        c.waves = self.several_waves.unwrap_or(c.waves);
        c.scopes = self.scopes.unwrap_or(c.scopes);
        c.races = self.races.unwrap_or(if named { c.races && c.ordered() } else { c.ordered() });
        if let Some(name) = &self.inject {
            c.faults = fault(name)?;
        }
        if self.free {
            c.timing = Timing::Free;
        }
        Ok((c, named))
    }
}

fn operation(option: &str, text: &str) -> Result<Op, Failure> {
    text.parse().map_err(|error: String| bad(format!("{option}: {error}")))
}

fn alphabet(list: &str) -> Result<Vec<Op>, Failure> {
    list.split(',').map(|text| operation("--ops", text.trim())).collect()
}

fn prepared(text: &str) -> Result<(usize, Op), Failure> {
    let wrong =
        || bad(format!("--prelude {text}: legal are a device's number and an operation, as 0:ST X.0"));
    let (device, op) = text.split_once(':').ok_or_else(wrong)?;
    let device = device.trim().parse().map_err(|_| wrong())?;
    Ok((device, operation("--prelude", op.trim())?))
}

fn set(config: &mut Config, pair: &str) -> Result<(), Failure> {
    let Some((name, value)) = pair.split_once('=') else {
        return Err(bad(format!("--set {pair}: legal is KEY=VALUE")));
    };
    let Some(key) = keys::ALL.iter().find(|key| key.name == name) else {
        let remedy = weft_names::choice(name, keys::ALL.iter().map(|key| key.name));
        return Err(bad(format!("--set {pair}: there is no such key; {remedy}")));
    };
    key.set(config, value)
        .ok_or_else(|| bad(format!("--set {pair}: {}; legal are {}", key.about, key.legal())))
}

/// Runs the verb.
///
/// # Errors
/// Values out of their range; a violation; a waveform that cannot be written.
pub fn run(args: &Args) -> Outcome {
    if args.list {
        return say(list().trim_end());
    }
    let (config, named) = args.config()?;
    let mut system = build(&config).map_err(Failure::input)?;
    if named {
        let words: Vec<String> = config.options().iter().map(|word| quoted(word)).collect();
        say(format!("system: {}\n", words.join(" ")))?;
    }
    let told = (report::table as _, report::counterexample as _);
    args.ends.explored(&mut system, told, |system| match args.walks {
        Some(number) => walks(system, number),
        None => shown(|told| explore(system, args.ends.limits(), told)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn read(words: &[String]) -> Config {
        let words = [String::from("spandex")].into_iter().chain(words.iter().cloned());
        let line = Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        line.args.config().unwrap_or_else(|error| panic!("{error}")).0
    }

    fn words(command: &str) -> Vec<String> {
        command.split_whitespace().skip(3).map(String::from).collect()
    }

    #[test]
    fn the_options_of_a_system_make_it() {
        let faulty = faults::shown().into_iter().map(|shown| shown.config);
        for config in mixes().into_iter().map(|mix| mix.config).chain(faulty) {
            assert_eq!(config.validate(), Ok(()), "{config:?}");
            assert_eq!(read(&config.options()), config, "{:?}", config.options());
        }
    }

    #[test]
    fn the_command_of_a_mix_makes_it() {
        let all = mixes();
        for mix in &all {
            assert_eq!(read(&words(&command(mix, &all))), mix.config, "{}", mix.name);
        }
    }
}
