//! The program, started as a user starts it.

use std::path::Path;
use std::process::{Command, Output};

/// The program that was built with these tests.
pub const WEFT: &str = env!("CARGO_BIN_EXE_weft");

/// Runs the program to its end, in a folder.
pub fn weft_in(folder: &Path, args: &[&str]) -> Output {
    Command::new(WEFT).args(args).current_dir(folder).output().expect("the program starts")
}

/// Runs the program to its end, in the folder of its crate.
pub fn weft(args: &[&str]) -> Output {
    weft_in(Path::new(env!("CARGO_MANIFEST_DIR")), args)
}

fn succeeded(args: &[&str], out: Output) -> String {
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

/// Standard output of a command that succeeds.
pub fn stdout_in(folder: &Path, args: &[&str]) -> String {
    succeeded(args, weft_in(folder, args))
}

/// Standard output of a command that succeeds, in the folder of the program's crate.
pub fn stdout(args: &[&str]) -> String {
    succeeded(args, weft(args))
}

fn sentence(args: &[&str], out: Output) -> String {
    let said = String::from_utf8(out.stderr).expect("text");
    assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{args:?}: one sentence, not: {said}");
    said.trim_end().to_string()
}

/// The one sentence about wrong input, which ends the program with status 2.
pub fn refusal_in(folder: &Path, args: &[&str]) -> String {
    sentence(args, weft_in(folder, args))
}

/// The same, in the folder of the program's crate.
pub fn refusal(args: &[&str]) -> String {
    sentence(args, weft(args))
}

/// The sentence about wrong input has these words in it.
pub fn refused(args: &[&str], part: &str) {
    let said = refusal(args);
    assert!(said.contains(part), "{args:?}: {said}\nlacks {part:?}");
}
