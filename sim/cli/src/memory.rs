//! Memory of the host: what there is, and what runs take of it.

use sysinfo::{MemoryRefreshKind, Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Bytes that this process has; 0 where the system does not tell.
pub fn resident() -> u64 {
    let bytes = || {
        let (mut system, own) = (System::new().ok()?, Pid::from_u32(std::process::id()));
        let only = ProcessRefreshKind::nothing().with_memory();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), false, only);
        Some(system.process(own)?.memory())
    };
    bytes().unwrap_or(0)
}

/// Bytes that processes can still have, of the machine or of the control group that this one is in; none where the system does not tell.
fn free() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    let of_group = system.cgroup_limits().map(|limits| limits.free_memory);
    of_group.into_iter().chain([system.available_memory()]).filter(|bytes| *bytes > 0).min()
}

/// What is to be said where more is needed than there is: `who` takes it, and `remedy` says what to do.
pub fn lack(needed: u64, who: &str, remedy: &str) -> Option<String> {
    lack_of(needed, free()?, who, remedy)
}

fn lack_of(needed: u64, free: u64, who: &str, remedy: &str) -> Option<String> {
    let text = || format!("{who} about {} of memory, and {} are free: {remedy}", words(needed), words(free));
    (free < needed).then(text)
}

/// Bytes as people say them.
pub fn words(bytes: u64) -> String {
    let mb = bytes as f64 / 1e6;
    match mb {
        ..0.95 => format!("{:.0} KB", 1000.0 * mb),
        ..99.5 => format!("{mb:.0} MB"),
        ..995.0 => format!("{:.0} MB", 10.0 * (mb / 10.0).round()),
        _ => format!("{:.1} GB", mb / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_of_more_than_is_free() {
        let said = |free| lack_of(5_000_000_000, free, "the run takes", "make it smaller");
        let text = "the run takes about 5.0 GB of memory, and 960 MB are free: make it smaller";
        assert_eq!(said(961_000_000).as_deref(), Some(text));
        assert_eq!(said(5_000_000_000), None);
    }

    #[test]
    fn the_system_tells() {
        assert!(resident() > 1 << 20 && free().is_some_and(|free| free > 1 << 20));
    }

    #[test]
    fn numbers_have_two_digits_or_three() {
        assert_eq!(
            [64_000, 1_000_000, 99_400_000, 99_600_000, 994_000_000, 996_000_000].map(words),
            ["64 KB", "1 MB", "99 MB", "100 MB", "990 MB", "1.0 GB"]
        );
    }
}
