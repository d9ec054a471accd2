//! A failing assertion gives one clear report and a waveform of the last 1 000 cycles without having asked for waves.

use std::sync::Arc;
use weft_engine::runner::{Model, Problem, Rewind, RunError, Runner};
use weft_engine::{Design, InPort, Options, Sim};
use weft_rtl::prelude::*;

/// A saturating counter, or with `broken` one that forgets to saturate.
fn counter(broken: bool) -> Arc<Module> {
    Module::build(if broken { "counter_broken" } else { "counter" }, ModuleKind::Block, || {
        let enable = input::<Bool>("enable", ());
        let count = output_reg::<Bits>("count", 12);
        let room = count.get().lt(2000);
        when(enable & if broken { bool_lit(true) } else { room }, || count.set(count.get() + 1));
        assert_always("count_saturates", count.get().le(2000), "the count never passes 2000");
    })
    .unwrap()
}

/// Enables the counter in pseudo-random cycles; all it knows is one number.
#[derive(Clone)]
struct Random {
    enable: InPort,
    state: u64,
    /// From this cycle on the model's check fails, every so many cycles.
    forbidden: Option<u64>,
    every: u64,
    /// The same when it looks closely.
    since: Option<u64>,
    late: bool,
    shown: Option<u64>,
}

impl Model for Random {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        sim.set(self.enable, self.state >> 63);
        match self.forbidden {
            Some(cycle) if sim.cycle() >= cycle && (sim.cycle() - cycle).is_multiple_of(self.every) => {
                Err(Problem {
                    text: "the model does not like this cycle".into(),
                    shown: self.shown,
                    late: self.every > 1 || self.late,
                    at: None,
                })
            }
            _ => Ok(Some(sim.cycle() + 1)),
        }
    }

    fn look_closely(&mut self) {
        (self.forbidden, self.every) = (self.since, 1);
    }

    fn moved(&self) -> Option<u64> {
        self.shown
    }
}

fn runner(broken: bool, wave: &std::path::Path) -> Runner<Random> {
    let sim = Sim::new(&Design::new(&counter(broken), Options::default()).unwrap());
    let model = Random {
        enable: sim.input("enable").unwrap(),
        state: 7,
        every: 1,
        forbidden: None,
        since: None,
        late: false,
        shown: None,
    };
    Runner::new(sim, model, Some(Rewind { cycles: 1000, wave: wave.to_path_buf() }))
}

#[test]
fn a_broken_block_leaves_the_last_thousand_cycles() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("failure.vcd");
    let error = runner(true, &path).run_to(100_000).expect_err("the broken counter passes 2000");
    let RunError::Assertion(report) = &error else { panic!("{error}") };
    let cycle = report.failure.cycle;
    assert_eq!((report.failure.name.as_str(), report.kept), ("count_saturates", 1000));
    assert!(error.to_string().contains("the count never passes 2000"), "{error}");
    assert_eq!(error.to_string().lines().count(), 1, "one sentence: {error}");

    let mut wave = wellen::simple::read(&path).unwrap();
    let times = wave.time_table().to_vec();
    assert!(
        times[0] >= cycle - 999 && times[0] <= cycle - 990,
        "starts a thousand cycles before: {}",
        times[0]
    );
    let id = wave.hierarchy().lookup_var(&["counter_broken"], "count").unwrap();
    let signal = wave.hierarchy()[id].signal_ref();
    wave.load_signals(&[signal]);
    let data = wave.get_signal(signal).unwrap();
    let index = times.iter().rposition(|t| *t <= cycle).unwrap() as u32;
    let text = data.get_value_at(&data.get_offset(index).unwrap(), 0).to_bit_string().unwrap();
    assert_eq!(u64::from_str_radix(&text, 2).unwrap(), 2001, "the waveform shows the failing value");
    let save = std::fs::read_to_string(weft_engine::wave::save_path(&path)).unwrap();
    let marker = save.lines().find(|l| l.starts_with('*')).and_then(|l| l.split(' ').nth(1));
    assert_eq!(marker, Some(cycle.to_string().as_str()), "a marker at the failing cycle: {save}");
}

#[test]
fn a_failed_check_of_the_model_leaves_them_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("failure.fst");
    let mut runner = runner(false, &path);
    runner.model.forbidden = Some(70_123);
    let error = runner.run_to(100_000).expect_err("the check fails").to_string();
    assert!(error.starts_with("check failed in cycle 70123: the model does not like this cycle; the 1000 cycles up to it are in "), "{error}");
    let wave = wellen::simple::read(&path).unwrap();
    let last = wave.time_table().last().copied().unwrap();
    // The viewer shows a window around the marker only if the waveform reaches to its end.
    assert_eq!(last, 70_124 + 24);
}

#[test]
fn what_was_found_late_is_told_when_it_first_shows() {
    let dir = tempfile::tempdir().unwrap();
    let mut runner = runner(false, &dir.path().join("failure.fst"));
    (runner.model.forbidden, runner.model.since, runner.model.late) = (Some(70_123), Some(66_001), true);
    let error = runner.run_to(100_000).expect_err("the check fails");
    let RunError::Assertion(report) = &error else { panic!("{error}") };
    assert_eq!((report.failure.cycle, report.shown, report.kept), (66_001, 66_001, 1000));
    assert!(error.to_string().starts_with("check failed in cycle 66001: "), "{error}");
}

#[test]
fn a_long_standstill_is_shown_from_where_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("failure.fst");
    let mut runner = runner(false, &path);
    (runner.model.forbidden, runner.model.shown) = (Some(470_000), Some(50_200));
    let error = runner.run_to(500_000).expect_err("the check fails");
    let RunError::Assertion(report) = &error else { panic!("{error}") };
    assert_eq!((report.failure.cycle, report.shown, report.kept), (470_000, 50_200, 1000));
    assert!(error.to_string().contains("; the 1000 cycles up to cycle 50200 are in "), "{error}");
    let times = wellen::simple::read(&path).unwrap().time_table().to_vec();
    // An FST begins at time 0, where nothing is known yet.
    let (first, last) = (times[1], times[times.len() - 1]);
    assert!((49_201..49_300).contains(&first) && last == 50_201 + 24, "{first}..{last}");
}

#[test]
fn the_sound_block_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    runner(false, &dir.path().join("failure.vcd")).run_to(20_000).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_saved_run_goes_on_as_if_never_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let wave = dir.path().join("w.vcd");
    let mut straight = runner(false, &wave);
    straight.run_to(3000).unwrap();
    let mut first = runner(false, &wave);
    first.run_to(1234).unwrap();
    let bytes = first.sim.save();
    first.run_to(2000).unwrap();
    first.sim.load(&bytes).unwrap();
    assert_eq!(first.sim.cycle(), 1234);
    assert_eq!(first.sim.save(), bytes);
}

#[test]
fn a_foreign_snapshot_is_refused() {
    let bytes = runner(true, std::path::Path::new("x.vcd")).sim.save();
    let mut sound = runner(false, std::path::Path::new("x.vcd"));
    let error = sound.sim.load(&bytes).expect_err("another design").to_string();
    assert!(error.contains("it was saved from counter_broken"), "{error}");
}
