//! One input, read and watched.

use crate::memory::measure;
use crate::{Target, drive::What};
use nix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::time::Duration;

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was accepted.
    Accepted,
    /// It was refused with this sentence.
    Refused(String),
    /// The reader has failed: how, with which text, and where.
    Failed(What, String, String),
}

/// An input that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// What became of it.
    pub outcome: Outcome,
    /// Most bytes allocated; none where nothing is counted.
    pub peak: Option<u64>,
    /// Processor time.
    pub time: Duration,
}

thread_local! {
    /// In a thread that reads: text and place of its last panic.
    static PANIC: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
    static READS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Panics of readers are kept, not printed; those of other threads stay as they are.
pub(super) fn catch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !READS.try_with(std::cell::Cell::get).unwrap_or(false) {
                return before(info);
            }
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
            let place = info.location().map_or_else(String::new, |at| format!("{}:{}", at.file(), at.line()));
            PANIC.set(Some((text, place)));
        }));
    });
}

/// Processor time of this thread.
fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Reads an input; a panic is caught.
pub fn read(target: &Target, input: &[u8]) -> Read {
    catch_panics();
    READS.set(true);
    let began = now();
    let (done, peak) = measure(|| catch_unwind(AssertUnwindSafe(|| (target.read)(input))));
    let time = now().saturating_sub(began);
    READS.set(false);
    let outcome = match done {
        Err(_) => {
            let (text, place) = PANIC.take().unwrap_or_default();
            Outcome::Failed(What::Panic, text, place)
        }
        Ok(said) => match peak.filter(|peak| excess(target, input, *peak) > super::RATIO) {
            Some(peak) => {
                let text = format!("it allocates {peak} bytes for {} of input", input.len());
                Outcome::Failed(What::Memory, text, String::new())
            }
            None => said.map_or_else(refused, |()| Outcome::Accepted),
        },
    };
    Read { outcome, peak, time }
}

/// Bytes allocated beyond the constant for each byte of input.
pub(super) fn excess(target: &Target, input: &[u8], peak: u64) -> f64 {
    peak.saturating_sub(target.constant) as f64 / input.len().max(1) as f64
}

/// A refusal is one sentence.
fn refused(said: String) -> Outcome {
    let wrong = match said.trim().is_empty() {
        true => "the refusal says nothing".to_string(),
        false if said.contains('\n') => format!("the refusal has several lines: {said:?}"),
        false => return Outcome::Refused(said),
    };
    Outcome::Failed(What::Sentence, wrong, String::new())
}
