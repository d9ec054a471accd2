//! Tells the program which commit it is built from.

use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo:rerun-if-env-changed=WEFT_COMMIT");
    let sources = sources(&root);
    // A commit, or another branch, changes one of these; in a linked worktree they lie elsewhere.
    let head = git(&root, &["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
    let of_git = ["HEAD", "packed-refs", &head].map(|name| git(&root, &["rev-parse", "--git-path", name]));
    let watched = sources.iter().cloned().chain(of_git.into_iter().flatten()).map(|path| root.join(path));
    for path in watched.filter(|path| path.exists()) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    // A packager who builds without git says it.
    let given = std::env::var("WEFT_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(|| commit(&root, &sources)).unwrap_or_else(|| "unknown".into());
    println!("cargo:rustc-env=WEFT_COMMIT={commit}");
}

/// What the program is built from, below the root of the workspace; not its tests, so that it stays when
/// one of them changes.
fn sources(root: &Path) -> Vec<String> {
    let mut all: Vec<String> =
        ["Cargo.toml", "Cargo.lock", "sim/fabrics", "testbench/src"].map(String::from).into();
    for folder in ["hdl", "sim", "testbench"] {
        for entry in std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let of_crate = |part: &str| format!("{folder}/{}/{part}", name.to_string_lossy());
            all.extend(["src", "data", "Cargo.toml"].map(of_crate));
        }
    }
    all.retain(|path| root.join(path).exists());
    all.sort();
    all
}

/// The commit, with `-dirty` behind it if a source differs from it; `None` outside a repository of this
/// project.
fn commit(root: &Path, sources: &[String]) -> Option<String> {
    // A tree that was unpacked inside another repository is none of its commits.
    git(root, &["ls-files", "--error-unmatch", "sim/cli/build.rs"])?;
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let changed = git(root, &[&status[..], &sources[..]].concat())?;
    Some(if changed.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// What git says, if it is there and succeeds.
fn git(root: &Path, args: &[&str]) -> Option<String> {
    // A status must not write the index: that would make it newer than what is built.
    let out =
        Command::new("git").args(args).current_dir(root).env("GIT_OPTIONAL_LOCKS", "0").output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}
