//! The mutant of this process, or of a closure, planted where modules are described.
//!
//! Statements are changed before the observers of the next state are declared ([`crate::next`]), so that these see what the mutant does; expressions when
//! all is described. The checks of a module are made of what its author wrote.

use super::apply::{apply, statement};
use super::sites::{Place, place};
use super::{Mutant, MutantError};
use crate::ir::{Module, Stmt};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The environment variable that names the mutant of a process.
pub const VARIABLE: &str = "WEFT_MUTANT";

/// The environment variable that names a file; to it a process adds a line with the name of each module in which it has planted its mutant.
pub const NOTE: &str = "WEFT_MUTANT_NOTE";

thread_local! {
    static HERE: RefCell<Option<Mutant>> = const { RefCell::new(None) };
}

static REFUSED: OnceLock<MutantError> = OnceLock::new();

static PLANTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// What the environment asks for; read once.
pub fn chosen() -> Option<&'static Result<Mutant, MutantError>> {
    static CHOSEN: OnceLock<Option<Result<Mutant, MutantError>>> = OnceLock::new();
    let read = || std::env::var_os(VARIABLE).filter(|text| !text.is_empty());
    CHOSEN.get_or_init(|| read().map(|text| text.to_string_lossy().parse())).as_ref()
}

/// Runs `describe` with a mutant planted in all modules of its name that are described on this thread.
pub fn plant<R>(mutant: &Mutant, describe: impl FnOnce() -> R) -> R {
    struct Before(Option<Mutant>);
    impl Drop for Before {
        fn drop(&mut self) {
            HERE.set(self.0.take());
        }
    }
    let _before = Before(HERE.replace(Some(mutant.clone())));
    describe()
}

/// Names of the modules in which this process has planted the mutant of its environment.
pub fn planted() -> Vec<String> {
    PLANTED.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}

/// Why the mutant of the environment was not planted in a module that it names.
pub fn refused() -> Option<&'static MutantError> {
    REFUSED.get()
}

/// The mutant for a module of this name, and whether it is the environment's.
fn wanted(module: &str) -> Result<Option<(Mutant, bool)>, MutantError> {
    let here = HERE.with_borrow(|here| here.clone());
    let found = match (here, chosen()) {
        (Some(mutant), _) => Some((mutant, false)),
        (None, None) => None,
        (None, Some(chosen)) => Some((chosen.clone()?, true)),
    };
    Ok(found.filter(|(mutant, _)| mutant.is_of(module)))
}

/// What is planted in the module under construction.
pub(crate) struct Change {
    mutant: Mutant,
    of_process: bool,
    /// The body with the change, if it is one of the statements.
    body: Option<Vec<Stmt>>,
}

/// Before the last observers are declared: what is to be planted, if anything; the body that these are to see is in it.
///
/// # Errors
/// A malformed text in the environment; a module of exactly this name that has no such place.
pub(crate) fn before_observers(module: &mut Module, body: &[Stmt]) -> Result<Option<Change>, MutantError> {
    let Some((mutant, of_process)) = wanted(&module.name)? else { return Ok(None) };
    module.body = body.to_vec();
    let found = place(module, &mutant);
    let mut body = std::mem::take(&mut module.body);
    match found {
        None if mutant.module.ends_with('*') => Ok(None),
        None => {
            let error = MutantError::NoPlace { mutant: Box::new(mutant), module: module.name.clone() };
            if of_process {
                REFUSED.get_or_init(|| error.clone());
            }
            Err(error)
        }
        Some(Place::Node(_)) => Ok(Some(Change { mutant, of_process, body: None })),
        Some(Place::Stmt(number)) => {
            statement(&mut body, number, mutant.kind);
            Ok(Some(Change { mutant, of_process, body: Some(body) }))
        }
    }
}

impl Change {
    /// The body that observers are to see, if it is another one; it is handed over.
    pub fn body(&mut self) -> Option<Vec<Stmt>> {
        self.body.take()
    }
}

/// When the module is complete and checked: makes the change; `body` is the changed one, if there is one.
///
/// # Errors
/// A place that is no longer there; a file of [`NOTE`] that cannot be written is none.
pub(crate) fn completed(
    module: &mut Module,
    change: &Change,
    body: Option<Vec<Stmt>>,
) -> Result<(), MutantError> {
    match body {
        Some(body) => module.body = body,
        None => *module = apply(module, &change.mutant)?,
    }
    if change.of_process {
        note(&module.name);
    }
    Ok(())
}

fn note(module: &str) {
    let new = PLANTED.lock().unwrap_or_else(PoisonError::into_inner).insert(module.to_string());
    if let Some(path) = std::env::var_os(NOTE).filter(|_| new) {
        // Whoever asked for the file sees that it is missing.
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{module}"));
    }
}
