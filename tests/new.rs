//! `weft new`: a crate of one's own, which builds as it is and whose parts all commands know; wrong names and folders.

use crate::program::{WEFT, refusal_in, stdout_in, weft_in};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the program's crate is in sim/cli")
}

/// How the crate is built here: with the versions of this workspace, which are there without a network, and in its folder and with its
/// profiles but for its own crates, so that those of others are not built again. What takes minutes the first time takes seconds the next.
struct Builder {
    folder: PathBuf,
    target: PathBuf,
}

impl Builder {
    fn new(folder: PathBuf) -> Builder {
        fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("copied");
        let manifest: toml::Table =
            fs::read_to_string(root().join("Cargo.toml")).expect("a manifest").parse().expect("TOML");
        let mut profile = manifest["profile"]["dev"].as_table().expect("a table").clone();
        profile.insert("opt-level".into(), 0.into());
        let packages = profile.get_mut("package").and_then(toml::Value::as_table_mut).expect("a table");
        packages.retain(|name, _| !name.starts_with("weft"));
        let table =
            |key: &str, inside| toml::Table::from_iter([(key.to_string(), toml::Value::Table(inside))]);
        let config = table("profile", table("dev", profile));
        fs::create_dir(folder.join(".cargo")).expect("made");
        fs::write(folder.join(".cargo/config.toml"), config.to_string()).expect("written");
        let target = Path::new(WEFT).ancestors().nth(2).expect("a target folder").to_path_buf();
        Builder { folder, target }
    }

    /// What Cargo prints when it does this in the crate.
    fn cargo(&self, args: &[&str]) -> String {
        let out = Command::new(env!("CARGO"))
            .args(args)
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_NET_OFFLINE", "true")
            .output()
            .expect("cargo starts");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "{args:?}: {said}");
        String::from_utf8(out.stdout).expect("text")
    }
}

#[test]
fn a_new_crate_builds_and_its_parts_are_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = stdout_in(folder.path(), &["new", "corner-lab"]);
    assert!(said.starts_with("wrote crate corner-lab to corner-lab, built with Weft of /"), "{said}");
    let lab = Builder::new(folder.path().join("corner-lab"));
    lab.cargo(&["test", "--quiet"]);
    let weft = |args: &[&str]| lab.cargo(&[&["run", "--quiet", "--"], args].concat());
    assert!(weft(&["list", "blocks"]).contains("\npeak\n    Sends the largest"));
    assert!(weft(&["list", "workloads"]).contains("\nsaxpy\n"));
    assert!(weft(&["list", "fabrics"]).contains("\nuncached-soc\n"));
    let run = weft(&["run", "uncached-soc", "--workload", "saxpy"]);
    assert!(run.ends_with("verified: true\n"), "{run}");
    let everywhere = ["run", "spandex-soc-small", "--workload", "saxpy", "--set", "devices=uncached@0..5"];
    assert!(weft(&everywhere).ends_with("verified: true\n"));
    assert!(weft(&["area", "peak", "--param", "width=8"]).contains("result"));
    let verilog = folder.path().join("verilog");
    weft(&["export", "peak", "--out", verilog.to_str().expect("text")]);
    assert!(verilog.join("peak_16x8.v").exists());
}

#[test]
fn nothing_is_written_where_something_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let there = folder.path().join("lab");
    fs::create_dir(&there).expect("made");
    fs::write(there.join("notes"), "mine").expect("written");
    let said = refusal_in(folder.path(), &["new", "lab"]);
    assert_eq!(said, "weft: lab is not empty; name a folder that is not there yet");
    assert_eq!(fs::read_dir(&there).expect("a folder").count(), 1);
    fs::remove_file(there.join("notes")).expect("removed");
    stdout_in(folder.path(), &["new", "lab"]);
    assert!(there.join("src/main.rs").exists() && there.join("fabrics/uncached-soc.toml").exists());
}

#[test]
fn names_and_sources_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |args: &[&str], part: &str| {
        let said = refusal_in(folder.path(), &[&["new"], args].concat());
        assert!(said.contains(part), "{said}");
    };
    refused(&["My Lab"], "lower-case letters");
    refused(&["struct"], "this name is taken");
    refused(&["lab", "--path", "/nowhere"], "--path /nowhere: this is no source tree of Weft");
    refused(&["lab", "--path", ".", "--git", "x"], "cannot be used with");
    fs::write(folder.path().join("file"), "").expect("written");
    refused(&["file"], "cannot write to file");
    refused(&["file/lab"], "cannot write to file/lab");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is written");
}

#[test]
fn a_repository_takes_the_place_of_a_source_tree() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = weft_in(folder.path(), &["new", "lab", "--git", "https://example.org/weft.git"]);
    assert!(out.status.success());
    let manifest = fs::read_to_string(folder.path().join("lab/Cargo.toml")).expect("a manifest");
    assert!(manifest.contains("weft = { git = \"https://example.org/weft.git\" }"), "{manifest}");
    assert!(!manifest.contains("path ="), "{manifest}");
}

#[test]
fn a_device_that_nobody_has_written_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = |value: &str| {
        let set = format!("devices={value}");
        refusal_in(folder.path(), &["run", "spandex-soc-small", "--workload", "fir", "--set", &set])
    };
    assert!(set("mine@0").contains("there is no kind of device mine"), "{}", set("mine@0"));
    assert!(set("mine").contains("mine is no KIND@DEVICE or KIND@FIRST..LAST"), "{}", set("mine"));
}
