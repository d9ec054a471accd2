//! `weft profile`: where the time of a run goes.

mod cores;

use super::run::{MAX_CYCLES, Subject, begin, rewind, serve, sort};
use crate::failure::{Failure, Outcome, say};
use crate::ranks;
use cores::{Cores, Estimate};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use weft_engine::activity::{Activity, Sampler};
use weft_engine::runner::Listener;
use weft_engine::{BackendKind, Design, Effort, Sim};
use weft_fabric::activity;
use weft_fabric::ranks::Link;
use weft_fabric::run::{RankCost, RunOptions, StartUp};

/// Time from one look to the next. A run of a second gives some thousand.
const INTERVAL: Duration = Duration::from_micros(200);

/// Modules with less of the time are shown as one row.
const SHOWN: f64 = 0.005;

/// Arguments of `weft profile`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Looks at the run up to this cycle.
    #[arg(long, value_name = "CYCLES", default_value_t = MAX_CYCLES)]
    max_cycles: u64,
    /// Threads that go through each cycle. With more than one it is told what each of them does, and how often units are clocked is not.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Estimates what so many cores would give, from what one thread does; several numbers with commas between.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(2..=32))]
    cores: Vec<u16>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// Wrong input before anything is simulated; a failed check of the run.
pub fn run(args: &Args) -> Outcome {
    let threads = args.threads.into();
    let serve = |link, begun: &dyn Fn(Outcome) -> bool| {
        serve(&args.subject, (BackendKind::Native, threads), link, begun);
    };
    ranks::share(threads, &|link| lead(args, link), &serve)
}

/// On a process alone, or on rank 0.
fn lead(args: &Args, link: Option<Arc<dyn Link>>) -> Outcome {
    let (_, config) = args.subject.configs()?;
    let (program, ..) = args.subject.program(&config)?;
    let name = program.name().to_string();
    // As `weft run` does it.
    let threads = usize::from(args.threads);
    let (rewind, ranks) = (Some(rewind()), link.clone());
    let options = RunOptions { rewind, threads, ranks, ..RunOptions::default() };
    let mut run = begin(&config, program, &options)?;
    link.as_deref().map_or(Ok(()), ranks::ready)?;
    let alone = threads == 1 && link.is_none();
    if !alone && !args.cores.is_empty() {
        return Err(Failure::input(anyhow::anyhow!(
            "--cores estimates from the cycles of one thread of one process; leave --threads and mpirun out"
        )));
    }
    let design = run.sim().design().clone();
    let wanted: Vec<usize> = args.cores.iter().map(|cores| usize::from(*cores)).collect();
    let census = Census(Arc::new(Mutex::new((Vec::new(), Cores::new(&design, &wanted)))));
    if alone {
        run.listen(Box::new(census.clone()));
    }
    let begun = Instant::now();
    let sampler = Sampler::start(INTERVAL, threads).map_err(|e| {
        Failure::check(anyhow::anyhow!(
            "no thread starts that would look at the run: {e}; raise the limit of processes (ulimit -u)"
        ))
    })?;
    let ended = run.run_to(args.max_cycles);
    Activity::OUTSIDE.begin();
    let (seen, wall) = (sampler.end(), begun.elapsed().as_secs_f64());
    ended.map_err(sort)?;
    let (cycles, start, ranks) = (run.cycle(), run.start, run.rank_cost());
    let head = Head { program: name, fabric: config.name.clone(), cycles, start, alone, ranks };
    let (clocked, cores) = census.0.lock().map_err(|e| Failure::check(anyhow::anyhow!("{e}")))?.clone();
    let mut profile = Profile::new(head, &design, &seen, &clocked, wall);
    profile.estimates = cores.estimates(profile.seconds / cycles.max(1) as f64);
    match args.json {
        true => say(serde_json::to_string_pretty(&profile.json()).map_err(Failure::check)?),
        false => profile.print(),
    }
}

/// Counts in how many cycles each unit is clocked.
#[derive(Clone)]
struct Census(Arc<Mutex<(Vec<u64>, Cores)>>);

impl Listener for Census {
    fn cycle(&mut self, sim: &Sim) {
        let Ok(mut counted) = self.0.lock() else { return };
        let (clocked, cores) = &mut *counted;
        clocked.resize(sim.design().units.len(), 0);
        sim.awake().for_each(|unit| clocked[unit] += 1);
        cores.cycle(sim);
    }

    fn end(&mut self, _: &Sim) {}
}

/// What was run.
struct Head {
    program: String,
    fabric: String,
    cycles: u64,
    start: StartUp,
    /// One thread of one process: units were counted.
    alone: bool,
    /// What it cost that there were other ranks, if there were.
    ranks: Option<RankCost>,
}

/// Modules of one code, or what the engine or a model does.
struct Row {
    /// Of the first module.
    name: String,
    /// Other modules of the same code.
    others: Vec<String>,
    /// Of the time of the run, 0 to 1.
    share: f64,
    /// For modules.
    units: Option<Units>,
}

/// Units of a module.
#[derive(Clone, Copy)]
struct Units {
    count: usize,
    /// On average.
    clocked_per_cycle: f64,
}

/// What a thread did, in shares of its time.
struct Thread {
    hardware: f64,
    models: f64,
    engine: f64,
    /// For other threads.
    waiting: f64,
}

impl Thread {
    fn new(seen: &BTreeMap<Activity, u64>) -> Thread {
        let all = seen.values().sum::<u64>().max(1) as f64;
        let share = |of: &dyn Fn(Activity) -> bool| {
            seen.iter().filter(|(what, _)| of(**what)).map(|(_, looks)| looks).sum::<u64>() as f64 / all
        };
        let hardware = share(&|what| what.of_unit().is_some());
        let models = share(&|what| activity::name(what).is_some());
        let waiting = share(&|what| what == Activity::WAITING);
        Thread { hardware, models, engine: 1.0 - hardware - models - waiting, waiting }
    }
}

/// Where the time went.
struct Profile {
    head: Head,
    units: Units,
    /// With one, nothing is told of it.
    threads: Vec<Thread>,
    /// Seconds of the run without what the profile itself took.
    seconds: f64,
    looks: u64,
    modules: Vec<Row>,
    models: Vec<Row>,
    engine: Vec<Row>,
    estimates: Vec<Estimate>,
}

impl Profile {
    fn new(
        head: Head,
        design: &Design,
        of_threads: &[BTreeMap<Activity, u64>],
        clocked: &[u64],
        wall: f64,
    ) -> Profile {
        let threads = of_threads.iter().map(Thread::new).collect();
        let mut seen: BTreeMap<Activity, u64> = BTreeMap::new();
        of_threads.iter().flatten().for_each(|(what, looks)| *seen.entry(*what).or_default() += looks);
        let own = seen.get(&Activity::LISTENER).copied().unwrap_or(0);
        let all: u64 = seen.values().sum();
        let looks = all - own;
        let share = |count: u64| count as f64 / looks.max(1) as f64;
        let per_cycle = |count: u64| count as f64 / head.cycles.max(1) as f64;
        let code = |ty: usize| design.types[ty].code;
        // Looks, units, and how often they were clocked.
        let mut of_code: Vec<(u64, usize, u64)> = vec![(0, 0, 0); design.codes()];
        for (number, unit) in design.units.iter().enumerate() {
            of_code[code(unit.ty)].1 += 1;
            of_code[code(unit.ty)].2 += clocked.get(number).copied().unwrap_or(0);
        }
        let mut names: Vec<Vec<String>> = vec![Vec::new(); design.codes()];
        design.types.iter().for_each(|ty| names[ty.code].push(ty.module.name.clone()));
        let (mut models, mut engine) = (Vec::new(), Vec::new());
        for (what, count) in seen {
            let row =
                |name: &str| Row { name: name.into(), others: vec![], share: share(count), units: None };
            match (what.of_unit(), activity::name(what), engine_name(what)) {
                (Some(ty), ..) => of_code[code(ty)].0 += count,
                (_, Some(name), _) => models.push(row(name)),
                (.., Some(name)) => engine.push(row(name)),
                _ => {}
            }
        }
        let module = |(mut names, (looks, count, clocked)): (Vec<String>, (u64, usize, u64))| Row {
            name: names.remove(0),
            others: names,
            share: share(looks),
            units: Some(Units { count, clocked_per_cycle: per_cycle(clocked) }),
        };
        let mut modules: Vec<Row> = names.into_iter().zip(of_code).map(module).collect();
        [&mut modules, &mut models, &mut engine].into_iter().for_each(|rows| sort_rows(rows));
        let seconds = wall * looks as f64 / all.max(1) as f64;
        let clocked_per_cycle = per_cycle(clocked.iter().sum());
        let units = Units { count: design.units.len(), clocked_per_cycle };
        Profile { head, units, threads, seconds, looks, modules, models, engine, estimates: Vec::new() }
    }

    fn json(&self) -> Value {
        let rows = |rows: &[Row]| -> Vec<Value> {
            let one = |row: &Row| {
                let mut value = json!({ "name": row.name, "share": row.share });
                if let Some(Units { count, clocked_per_cycle }) = row.units {
                    value["units"] = count.into();
                    if self.head.alone {
                        value["clocked_per_cycle"] = clocked_per_cycle.into();
                    }
                    value["others"] = row.others.clone().into();
                }
                value
            };
            rows.iter().map(one).collect()
        };
        let Head { program, fabric, cycles, start, alone, ranks } = &self.head;
        let StartUp { elaborate, design: Effort { flatten, compile, wire, compiled, codes }, models } = start;
        let mut told = json!({
            "schema": "weft-profile-1",
            "program": program,
            "fabric": fabric,
            "cycles": cycles,
            "memory_bytes": crate::memory::resident(),
            "start_seconds": {
                "elaborate": elaborate,
                "flatten": flatten,
                "compile": compile,
                "wire": wire,
                "models": models,
                "all": start.seconds(),
            },
            "codes": codes,
            "compiled": compiled,
            "run_seconds": self.seconds,
            "looks": self.looks,
            "units": self.units.count,
            "clocked_per_cycle": self.units.clocked_per_cycle,
            "hardware": { "share": sum(&self.modules), "modules": rows(&self.modules) },
            "models": { "share": sum(&self.models), "parts": rows(&self.models) },
            "engine": { "share": sum(&self.engine), "parts": rows(&self.engine) },
        });
        if self.threads.len() > 1 {
            let thread = |Thread { hardware, models, engine, waiting }: &Thread| json!({ "hardware": hardware, "models": models, "engine": engine, "waiting": waiting });
            told["threads"] = self.threads.iter().map(thread).collect();
        }
        if !alone {
            told["clocked_per_cycle"] = Value::Null;
        }
        if !self.estimates.is_empty() {
            let estimate = |Estimate { cores, busiest, speedup }: &Estimate| json!({ "cores": cores, "busiest": busiest, "speedup": speedup });
            told["estimates"] = self.estimates.iter().map(estimate).collect();
        }
        if let Some(cost) = ranks {
            told["ranks"] = ranks_json(cost);
        }
        told
    }

    fn print(&self) -> Outcome {
        let Head { program, fabric, cycles, start, alone, ranks } = &self.head;
        let StartUp { elaborate, design: Effort { flatten, compile, wire, compiled, codes }, models } = start;
        say(format!("{program} on {fabric}: {cycles} cycles"))?;
        say(format!("start-up {:>54.2} s", start.seconds()))?;
        let compile_name = format!("compile: {compiled} of {codes} codes, the others are kept");
        let parts: [(&str, &f64); 5] = [
            ("elaborate the fabric", elaborate),
            ("flatten its modules", flatten),
            (&compile_name, compile),
            ("wire its units", wire),
            ("make models", models),
        ];
        for (name, seconds) in parts {
            say(format!("  {name:<54} {seconds:>6.2} s"))?;
        }
        let Units { count, clocked_per_cycle } = self.units;
        say(format!("run {:>59.2} s, {} looks", self.seconds, self.looks))?;
        for Estimate { cores, busiest, speedup } in &self.estimates {
            let least = format!("{:.1} % of the work on the longest way", 100.0 * busiest);
            say(format!("  {cores:>2} cores, estimated: {speedup:>5.2}x, {least}"))?;
        }
        if let Some(cost) = ranks {
            print_ranks(cost, self.seconds)?;
        }
        let several = !alone;
        if several {
            say(format!("{:<56} {:>9} {:>9} {:>9} {:>9}", "", "hardware", "models", "engine", "waiting"))?;
            for (number, Thread { hardware, models, engine, waiting }) in self.threads.iter().enumerate() {
                let shares =
                    [hardware, models, engine, waiting].map(|share| format!("{:>7.1} %", 100.0 * share));
                say(format!("{:<56} {}", format!("thread {number}"), shares.join(" ")))?;
            }
            say(format!("{:<56} {:>7} {:>6}", "all threads", "share", "units"))?;
        } else {
            say(format!("  {clocked_per_cycle:.1} of {count} units are clocked per cycle"))?;
            say(format!("{:<56} {:>7} {:>6} {:>9}", "", "share", "units", "clocked"))?;
        }
        for (name, rows) in [("hardware", &self.modules), ("models", &self.models), ("engine", &self.engine)]
        {
            say(format!("{name:<56} {:>5.1} %", 100.0 * sum(rows)))?;
            let (shown, rest): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.share >= SHOWN);
            for row in shown {
                let units =
                    row.units.map_or(String::new(), |Units { count, clocked_per_cycle }| match several {
                        true => format!(" {count:>6}"),
                        false => format!(" {count:>6} {clocked_per_cycle:>9.2}"),
                    });
                say(format!("  {:<54} {:>5.1} %{units}", row.told(), 100.0 * row.share))?;
            }
            let others: f64 = rest.iter().map(|row| row.share).sum();
            if !rest.is_empty() {
                say(format!("  {:<54} {:>5.1} %", format!("{} others", rest.len()), 100.0 * others))?;
            }
        }
        Ok(())
    }
}

fn ranks_json(cost: &RankCost) -> Value {
    json!({
        "windows": cost.windows,
        "cycles": cost.cycles,
        "gathers": cost.gathers,
        "letters": cost.letters,
        "letter_bytes": cost.letter_bytes,
        "report_bytes": cost.report_bytes,
        "state_bytes": cost.state_bytes,
        "window_seconds": cost.window_seconds,
        "report_seconds": cost.report_seconds,
        "disperse_seconds": cost.disperse_seconds,
        "gather_seconds": cost.gather_seconds,
    })
}

/// What rank 0 has sent, heard and waited for.
fn print_ranks(cost: &RankCost, seconds: f64) -> Outcome {
    let per = |count: u64, of: u64| count as f64 / of.max(1) as f64;
    let share = |part: f64| format!("{:>5.1} % of the time", 100.0 * part / seconds.max(1e-9));
    let alone =
        seconds - cost.window_seconds - cost.report_seconds - cost.disperse_seconds - cost.gather_seconds;
    let rows = [
        ("windows", format!("{}, of {:.1} cycles", cost.windows, per(cost.cycles, cost.windows))),
        (
            "  letters of rank 0 per cycle",
            format!(
                "{:.2}, of {:.0} bytes",
                per(cost.letters, cost.cycles),
                per(cost.letter_bytes, cost.letters)
            ),
        ),
        ("  reports to rank 0 per window", format!("{:.0} bytes", per(cost.report_bytes, cost.windows))),
        ("  in windows", share(cost.window_seconds)),
        ("  waiting for reports", share(cost.report_seconds)),
        (
            "gatherings",
            format!("{}, of {:.0} bytes there and back", cost.gathers, per(cost.state_bytes, cost.gathers)),
        ),
        ("  giving parts", share(cost.disperse_seconds)),
        ("  taking parts over", share(cost.gather_seconds)),
        ("rank 0 alone", share(alone)),
    ];
    say("ranks")?;
    rows.iter().try_for_each(|(name, value)| say(format!("  {name:<34} {value}")))
}

/// The dearest first.
fn sort_rows(rows: &mut [Row]) {
    rows.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
}

fn sum(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.share).sum()
}

impl Row {
    /// The name, cut to its column, and how many others it stands for.
    fn told(&self) -> String {
        let more = match self.others.len() {
            0 => String::new(),
            others => format!(" and {others} like it"),
        };
        let room = 54 - more.len();
        if self.name.chars().count() <= room {
            return self.name.clone() + &more;
        }
        self.name.chars().take(room - 3).chain("...".chars()).chain(more.chars()).collect()
    }
}

fn engine_name(what: Activity) -> Option<&'static str> {
    Some(match what {
        Activity::SCHEDULE => "whom to clock",
        Activity::LOOK => "who may sleep",
        Activity::MESSAGES => "messages between units",
        Activity::SNAPSHOT => "copies to go back to",
        Activity::WAITING => "waiting for other threads",
        Activity::WAVES | Activity::OUTSIDE => "the rest",
        _ => return None,
    })
}
