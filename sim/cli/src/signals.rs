//! Signals that ask the program to end: SIGINT, SIGTERM, and SIGHUP unless it is ignored (`nohup`).
//!
//! A command that has something to finish holds a [`Graceful`]: the first signal then only notes that the program is to end ([`asked`],
//! [`flag`]), and the command ends by itself, with what it has kept. Without one, and at the second signal, the program ends at once; temporary
//! files are removed in each case.

use crate::ranks::place::place;
use anyhow::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Instant;

/// The first signal; 0 before.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// Commands that end by themselves.
static GRACEFUL: AtomicUsize = AtomicUsize::new(0);

static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// When it came.
static SINCE: OnceLock<Instant> = OnceLock::new();

/// A signal that asks the program to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(i32);

impl Signal {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self.0 {
            SIGINT => "SIGINT",
            SIGTERM => "SIGTERM",
            _ => "SIGHUP",
        }
    }

    /// The exit status of a program that it has ended.
    pub fn status(self) -> u8 {
        128 + self.0 as u8
    }
}

/// Listens to signals from now on.
///
/// # Errors
/// A system that has no signals to listen to.
pub fn install() -> Result<(), Error> {
    // A limit of file sizes is then told by the write that meets it.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let mut all = vec![SIGINT, SIGTERM];
    if !ignored(SIGHUP) {
        all.push(SIGHUP);
    }
    let mut signals = Signals::new(all)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if GRACEFUL.load(Ordering::SeqCst) == 0 {
                end(Signal(signal), "nothing was left behind");
            }
            if ASKED.swap(signal, Ordering::SeqCst) != 0 {
                end(Signal(signal), "at once, by a second signal, and nothing more was kept");
            }
            SINCE.get_or_init(Instant::now);
            FLAG.store(true, Ordering::SeqCst);
        }
    })?;
    Ok(())
}

/// Whether whoever has started the program has told it to ignore a signal.
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The signal that has asked the program to end.
pub fn asked() -> Option<Signal> {
    Some(ASKED.load(Ordering::SeqCst)).filter(|signal| *signal != 0).map(Signal)
}

/// When a signal has asked the program to end.
#[cfg(feature = "mpi")]
pub fn since() -> Option<Instant> {
    SINCE.get().copied()
}

/// Set when a signal has asked the program to end.
pub fn flag() -> Arc<AtomicBool> {
    FLAG.clone()
}

/// While one is held, the first signal does not end the program.
pub struct Graceful(());

impl Graceful {
    /// The command ends by itself when it is asked to.
    pub fn new() -> Graceful {
        GRACEFUL.fetch_add(1, Ordering::SeqCst);
        Graceful(())
    }
}

impl Drop for Graceful {
    fn drop(&mut self) {
        GRACEFUL.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ends the program from any thread; `told` says what was kept.
pub fn end(signal: Signal, told: &str) -> ! {
    weft_output::abandon();
    if place().is_some_and(|place| place.rank > 0) {
        // Rank 0 speaks for all.
        std::process::exit(signal.status().into());
    }
    let mut out = std::io::stderr().lock();
    // A terminal may show a bar of progress; one that is gone is no reason not to end.
    let clear = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    let _ = writeln!(out, "{clear}weft: {}", sentence(signal, told));
    std::process::exit(signal.status().into())
}

/// What is said of a signal that has ended something.
pub fn sentence(signal: Signal, told: &str) -> String {
    format!("ended by {}: {told}", signal.name())
}
