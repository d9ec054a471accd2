//! Lists that grow from outside: the blocks, programs, families and fabrics of somebody else's crate.

use std::sync::OnceLock;

/// Entries that a list gets besides its own, all at once and before anything has been asked of it: what a name means never changes while a program runs.
///
/// ```
/// static FURTHER: weft_lists::Further<&str> = weft_lists::Further::new();
/// FURTHER.install(vec!["mine"]);
/// assert_eq!(FURTHER.all(), ["mine"]);
/// ```
#[derive(Debug)]
pub struct Further<T>(OnceLock<Vec<T>>);

impl<T> Further<T> {
    /// None yet.
    pub const fn new() -> Further<T> {
        Further(OnceLock::new())
    }

    /// Adds entries.
    ///
    /// # Panics
    /// The second time, and when the list has been asked for: a name that meant nothing then would mean something now.
    pub fn install(&self, entries: Vec<T>) {
        assert!(self.0.set(entries).is_ok(), "entries are installed once, before the list is asked for");
    }

    /// The entries; from now on there will be no others.
    pub fn all(&self) -> &[T] {
        self.0.get_or_init(Vec::new)
    }
}

impl<T> Default for Further<T> {
    fn default() -> Further<T> {
        Further::new()
    }
}

/// The first of these names that a list has already, or has twice.
pub fn clash<'a>(known: impl IntoIterator<Item = &'a str>, names: &[&'a str]) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let twice = |(at, name): &(usize, &&'a str)| known.contains(*name) || names[..*at].contains(*name);
    names.iter().enumerate().find(twice).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_once() {
        let list = Further::new();
        list.install(vec![1, 2]);
        assert_eq!(list.all(), [1, 2]);
        assert!(std::panic::catch_unwind(|| list.install(vec![3])).is_err());
    }

    #[test]
    fn a_list_that_was_asked_for_is_closed() {
        let list: Further<u8> = Further::new();
        assert!(list.all().is_empty());
        assert!(std::panic::catch_unwind(|| list.install(vec![3])).is_err());
    }

    #[test]
    fn a_name_is_there_once() {
        assert_eq!(clash(["fifo", "cam"], &["mine", "cam"]), Some("cam"));
        assert_eq!(clash(["fifo"], &["mine", "mine"]), Some("mine"));
        assert_eq!(clash(["fifo"], &["mine"]), None);
    }
}
