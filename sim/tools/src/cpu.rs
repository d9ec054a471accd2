//! CPU time: unlike the clock on the wall it does not count what else the machine does.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use nix::time::{ClockId, clock_gettime};

/// Seconds of CPU time of this thread.
///
/// # Panics
/// On a system without such a clock.
pub fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock of every Unix");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

/// Seconds of CPU time of all child processes that have ended and were waited for.
///
/// # Panics
/// On a system that counts none.
pub fn children_seconds() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("a call of every Unix");
    let micros = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
    micros(usage.user_time()) + micros(usage.system_time())
}

/// The middle one of some numbers, at least one; of two in the middle the lower one.
pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_a_rest_none() {
        let before = thread_seconds();
        let mut sum = 0u64;
        while thread_seconds() < before + 0.01 {
            sum = std::hint::black_box(sum + 1);
        }
        let worked = thread_seconds();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(thread_seconds() - worked < 0.02, "a thread that sleeps takes no CPU time");
    }

    #[test]
    fn the_middle_is_found() {
        assert_eq!(
            [median(&[3.0]), median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])],
            [3.0, 2.0, 2.0]
        );
    }
}
