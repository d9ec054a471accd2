//! How much a thread allocates: an allocator that counts, for programs that drive targets.
//!
//! ```
//! use weft_fuzz::memory::{Counting, measure};
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//! let (kept, peak) = measure(|| vec![1_u8; 5000].len());
//! assert!(kept == 5000 && peak.unwrap() >= 5000);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, which counts bytes on threads that [`measure`]. While nobody does it costs one
/// load.
///
/// Not counted is what libraries in C allocate: the dictionary of an xz file.
pub struct Counting;

/// Bytes beyond which a counted thread gets no more: the program ends before the machine suffers.
pub const MOST: i64 = 1 << 30;

/// Whether any thread has ever measured.
static ON: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Bytes allocated and not freed since the measurement began; none outside of one.
    static LIVE: Cell<Option<i64>> = const { Cell::new(None) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// Counts bytes; false if the thread may have no more.
fn add(bytes: i64) -> bool {
    // A thread that ends has no variables of its own any more.
    LIVE.try_with(|live| {
        let Some(now) = live.get().map(|live| live + bytes) else { return true };
        if now > MOST {
            return false;
        }
        live.set(Some(now));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now)));
        true
    })
    .unwrap_or(true)
}

fn counts(bytes: i64) -> bool {
    !ON.load(Ordering::Relaxed) || add(bytes)
}

// SAFETY: all memory is that of the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match counts(layout.size() as i64) {
            // SAFETY: the caller's.
            true => unsafe { System.alloc(layout) },
            false => std::ptr::null_mut(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match counts(layout.size() as i64) {
            // SAFETY: the caller's.
            true => unsafe { System.alloc_zeroed(layout) },
            false => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        counts(-(layout.size() as i64));
        // SAFETY: the caller's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match counts(size as i64 - layout.size() as i64) {
            // SAFETY: the caller's.
            true => unsafe { System.realloc(at, layout, size) },
            false => std::ptr::null_mut(),
        }
    }
}

/// Does something, and says how many bytes this thread had allocated at most meanwhile; none where
/// [`Counting`] is not the program's allocator.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    ON.store(true, Ordering::Relaxed);
    PEAK.set(0);
    LIVE.set(Some(0));
    drop(std::hint::black_box(Box::new(0_u64)));
    let counted = PEAK.get() > 0;
    let done = work();
    LIVE.set(None);
    (done, counted.then(|| PEAK.get() as u64))
}
