//! Threads that work together for microseconds at a time.
//!
//! A cycle of a fabric takes some 10 to 200 microseconds, so what is shared out within it must begin and end
//! in far less. The threads of a team wait with their eyes open for a while before they sleep; where there
//! are fewer processors than threads, they sleep at once.

use crate::activity::Activity;
use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, Thread, available_parallelism};
use std::time::{Duration, Instant};

/// What a team is given to do: called once on every thread, with its number.
type Work<'a> = &'a (dyn Fn(usize) + Sync);

/// Keeps what different threads write apart.
#[repr(align(128))]
struct Apart<T>(T);

/// How long a thread waits awake, if there is a processor for each.
const AWAKE: Duration = Duration::from_micros(100);

/// Looks from one look at the clock to the next.
const LOOKS: u32 = 500;

struct Shared {
    /// Rises with every piece of work.
    round: Apart<AtomicU64>,
    /// Valid in a round until `left` is 0.
    work: UnsafeCell<Option<Work<'static>>>,
    /// Threads at work.
    left: Apart<AtomicUsize>,
    /// By thread.
    asleep: Vec<Apart<AtomicBool>>,
    /// Who has given the work.
    owner: Mutex<Option<Thread>>,
    over: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// There is a processor for each thread: waiting takes nothing from the others.
    room: bool,
    /// By item, the round in which somebody has taken it.
    taken: Vec<AtomicU64>,
}

// SAFETY: `work` is written by the owner of the team only, while no thread is at work (`left` is 0), and read
// by the threads only between the rise of `round` (released after the write, acquired before the read) and
// their own decrement of `left`.
unsafe impl Sync for Shared {}

/// Most items of [`Team::each`].
pub const ITEMS: usize = 64;

/// Threads that wait for work. The thread that gives it does its share.
pub struct Team {
    shared: Arc<Shared>,
    others: Vec<(JoinHandle<()>, Thread)>,
}

impl Team {
    /// A team of so many threads, the calling one among them.
    ///
    /// # Errors
    /// A system that starts no further thread.
    pub fn new(threads: usize) -> std::io::Result<Team> {
        let others = threads.max(1) - 1;
        let shared = Arc::new(Shared {
            round: Apart(AtomicU64::new(0)),
            work: UnsafeCell::new(None),
            left: Apart(AtomicUsize::new(0)),
            asleep: (0..=others).map(|_| Apart(AtomicBool::new(false))).collect(),
            owner: Mutex::new(None),
            over: AtomicBool::new(false),
            panic: Mutex::new(None),
            room: available_parallelism().is_ok_and(|processors| threads <= processors.get()),
            taken: (0..ITEMS).map(|_| AtomicU64::new(0)).collect(),
        });
        let mut team = Team { shared, others: Vec::new() };
        for number in 1..=others {
            let shared = team.shared.clone();
            let builder = std::thread::Builder::new().name(format!("clock-{number}"));
            let handle = builder.spawn(move || attend(&shared, number))?;
            let thread = handle.thread().clone();
            team.others.push((handle, thread));
        }
        Ok(team)
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.others.len() + 1
    }

    /// There is a processor for each thread.
    pub fn has_room(&self) -> bool {
        self.shared.room
    }

    /// Calls `work` once on every thread with its number, from 0 (the caller) on, and returns when all have
    /// come back.
    ///
    /// # Panics
    /// When one of them has, with what it said.
    fn run(&mut self, work: Work<'_>) {
        let shared = &*self.shared;
        // SAFETY: only the lifetime is changed. No thread touches the work after it has decremented `left`,
        // and this function does not return, and does not unwind, before `left` is 0.
        let work: Work<'static> = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(work) };
        // SAFETY: nobody is at work, see `Shared`.
        unsafe { *shared.work.get() = Some(work) };
        shared.left.0.store(self.others.len(), Ordering::Relaxed);
        shared.round.0.fetch_add(1, Ordering::SeqCst);
        for ((_, thread), asleep) in self.others.iter().zip(&shared.asleep[1..]) {
            if asleep.0.load(Ordering::SeqCst) {
                thread.unpark();
            }
        }
        let own = catch_unwind(AssertUnwindSafe(|| work(0)));
        Activity::WAITING.begin();
        shared.wait(0, || (shared.left.0.load(Ordering::SeqCst) == 0).then_some(()));
        if let Err(panic) = own {
            resume_unwind(panic);
        }
        let panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Calls `work` once for each item, on whichever thread is free. A thread begins with neighbouring items
    /// that it mostly has, in order, so that they stay in its caches, and then takes what others have not
    /// begun, from the end.
    ///
    /// # Panics
    /// When there are more than [`ITEMS`], or a call has.
    pub fn each<T: Send>(&mut self, items: &mut [T], work: &(dyn Fn(&mut T) + Sync)) {
        let (count, threads) = (items.len(), self.threads());
        assert!(count <= ITEMS, "{count} items are more than {ITEMS}");
        let shared = self.shared.clone();
        let round = shared.round.0.load(Ordering::Relaxed) + 1;
        let items = Items(items.as_mut_ptr());
        let of = |thread: usize| thread * count / threads..(thread + 1) * count / threads;
        let take = |item: usize| {
            if shared.taken[item].load(Ordering::Relaxed) == round
                || shared.taken[item].swap(round, Ordering::AcqRel) == round
            {
                return;
            }
            // SAFETY: the item exists, and it was taken by this call of the closure and no other in this
            // round; `items` is borrowed until all threads have come back.
            let own = unsafe { items.get(item) };
            work(own);
        };
        self.run(&|thread| {
            of(thread).for_each(take);
            for other in (1..threads).map(|step| (thread + step) % threads) {
                of(other).rev().for_each(take);
            }
        });
    }

    /// Calls `work` once for each item, all at the same time, so that one may wait for another.
    ///
    /// # Panics
    /// When there are more items than threads, or a call has.
    pub fn together<T: Send>(&mut self, items: &mut [T], work: &(dyn Fn(&mut T) + Sync)) {
        let count = items.len();
        assert!(count <= self.threads(), "{count} items are more than threads");
        let items = Items(items.as_mut_ptr());
        self.run(&|thread| {
            if thread < count {
                // SAFETY: the item exists, and no other thread has this number; `items` is borrowed until all
                // threads have come back.
                let own = unsafe { items.get(thread) };
                work(own);
            }
        });
    }
}

/// A list of which each item is lent to one thread.
#[derive(Clone, Copy)]
struct Items<T>(*mut T);

// SAFETY: items go to other threads, one by one, which `T: Send` allows; see `Team::each`.
unsafe impl<T: Send> Send for Items<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Items<T> {}

impl<T> Items<T> {
    /// # Safety
    /// There is such an item, and nobody else has it.
    #[allow(clippy::mut_from_ref)]
    unsafe fn get(&self, item: usize) -> &mut T {
        // SAFETY: by the caller.
        unsafe { &mut *self.0.add(item) }
    }
}

impl Shared {
    /// Waits as thread `number` for something that comes with a call of [`Thread::unpark`] if the thread is
    /// then known to be asleep.
    fn wait<T>(&self, number: usize, come: impl Fn() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if let Some(what) = come() {
                    return what;
                }
                std::hint::spin_loop();
            }
            if !self.room || begun.elapsed() > AWAKE {
                break;
            }
            // Others may want the processor on which the thread is that this one waits for.
            std::thread::yield_now();
        }
        let asleep = &self.asleep[number].0;
        if number == 0 {
            *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current());
        }
        asleep.store(true, Ordering::SeqCst);
        loop {
            if let Some(what) = come() {
                asleep.store(false, Ordering::SeqCst);
                return what;
            }
            std::thread::park();
        }
    }

    /// A thread has done its work.
    fn done(&self) {
        if self.left.0.fetch_sub(1, Ordering::SeqCst) == 1
            && self.asleep[0].0.load(Ordering::SeqCst)
            && let Some(owner) = &*self.owner.lock().unwrap_or_else(PoisonError::into_inner)
        {
            owner.unpark();
        }
    }
}

/// What every thread but the first does.
fn attend(shared: &Shared, number: usize) {
    Activity::of_thread(number);
    let mut seen = 0;
    loop {
        Activity::WAITING.begin();
        seen = shared
            .wait(number, || Some(shared.round.0.load(Ordering::SeqCst)).filter(|round| *round != seen));
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        // SAFETY: a round has begun, see `Shared`.
        let work = unsafe { *shared.work.get() };
        if let Some(work) = work
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(number)))
        {
            let mut kept = shared.panic.lock().unwrap_or_else(PoisonError::into_inner);
            kept.get_or_insert(panic);
        }
        shared.done();
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        self.shared.round.0.fetch_add(1, Ordering::SeqCst);
        for (handle, thread) in self.others.drain(..) {
            thread.unpark();
            // What its work has panicked with was told when it did.
            let _ = handle.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once_in_every_round() {
        for threads in [1, 2, 3, 7] {
            let mut team = Team::new(threads).expect("threads");
            let mut items = vec![0u64; 10];
            for round in 1..=500 {
                team.each(&mut items, &|item| *item += 1);
                assert!(items.iter().all(|count| *count == round), "{threads} threads: {items:?}");
            }
        }
    }

    #[test]
    fn items_that_go_on_together_can_wait_for_each_other() {
        for threads in [2, 3] {
            let mut team = Team::new(threads).expect("threads");
            let done = AtomicUsize::new(0);
            for round in 1..=100 {
                let mut items = vec![(); threads];
                team.together(&mut items, &|()| {
                    done.fetch_add(1, Ordering::SeqCst);
                    while done.load(Ordering::SeqCst) < round * threads {
                        std::thread::yield_now();
                    }
                });
            }
        }
    }

    #[test]
    fn threads_that_sleep_are_woken() {
        let mut team = Team::new(2).expect("threads");
        for _ in 0..20 {
            std::thread::sleep(3 * AWAKE);
            let mut items = [0, 0];
            team.each(&mut items, &|item| *item = 1);
            assert_eq!(items, [1, 1]);
        }
    }

    #[test]
    fn a_panic_comes_back_and_the_team_goes_on() {
        let mut team = Team::new(4).expect("threads");
        for bad in 0..8 {
            let mut items: Vec<usize> = (0..8).collect();
            let told = catch_unwind(AssertUnwindSafe(|| {
                team.each(&mut items, &|item| assert!(*item != bad, "item {bad}"));
            }));
            assert_eq!(
                *told.expect_err("it panics").downcast::<String>().expect("text"),
                format!("item {bad}")
            );
        }
        let mut items = [1; 8];
        team.each(&mut items, &|item| *item = 2);
        assert_eq!(items, [2; 8]);
    }
}
