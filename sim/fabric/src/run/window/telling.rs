//! Telling, piece by piece, what has happened, by whichever thread has nothing else to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use weft_engine::runner::Problem;

/// What is told, one piece with each call of `F`: whether more is left, or what is wrong.
pub(super) struct Telling<F> {
    left: AtomicBool,
    next: Mutex<(F, Result<(), Problem>)>,
}

impl<F: FnMut() -> Result<bool, Problem>> Telling<F> {
    pub fn new(next: F) -> Telling<F> {
        Telling { left: AtomicBool::new(true), next: Mutex::new((next, Ok(()))) }
    }

    /// Tells a piece; false if nothing is left, or somebody else does. After a problem nothing more is told.
    pub fn one(&self) -> bool {
        if !self.left.load(Ordering::Relaxed) {
            return false;
        }
        let Ok(mut next) = self.next.try_lock() else { return false };
        let (next, found) = &mut *next;
        if found.is_err() {
            // Another thread has met it since this one has looked.
            return false;
        }
        let more = next().unwrap_or_else(|problem| {
            *found = Err(problem);
            false
        });
        self.left.store(more, Ordering::Relaxed);
        more
    }

    /// What was wrong, if anything was.
    pub fn found(self) -> Result<(), Problem> {
        self.next.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_engine::team::Team;

    #[test]
    fn a_problem_is_told_once_of_the_piece_that_has_it() {
        let mut team = Team::new(2).expect("threads");
        for _ in 0..2000 {
            let mut told = 0;
            let telling = Telling::new(|| {
                told += 1;
                // Long enough for the other thread to ask meanwhile.
                (0..100).for_each(|_| std::hint::spin_loop());
                if told < 20 { Ok(true) } else { Err(Problem { at: Some(told), ..String::new().into() }) }
            });
            team.together(&mut [(); 2], &|()| {
                while telling.left.load(Ordering::Relaxed) {
                    telling.one();
                }
            });
            assert_eq!(telling.found().map_err(|problem| problem.at), Err(Some(20)));
            assert_eq!(told, 20);
        }
    }

    #[test]
    fn nothing_is_told_when_nothing_is_left() {
        let mut told = 0;
        let telling = Telling::new(|| {
            told += 1;
            Ok(told < 3)
        });
        assert_eq!([0; 5].map(|_| telling.one()), [true, true, false, false, false]);
        assert!(telling.found().is_ok());
        assert_eq!(told, 3);
    }
}
