//! Where the bytes of an output go, whatever its path leads to.
#![cfg(unix)]

use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use weft_output::{Output, Scratch, Staged, abandon, write};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("listed").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("there")
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

#[test]
fn a_file_is_whole_or_not_there() {
    let folder = folder();
    let path = folder.path().join("a");
    let mut output = Output::create(&path).expect("begun");
    output.write_all(b"half").expect("written");
    assert!(!path.exists() && names(folder.path()).len() == 1, "beside its place");
    drop(output);
    assert_eq!(names(folder.path()), [""; 0]);
    write(&path, b"whole").expect("written");
    assert_eq!((text(&path).as_str(), names(folder.path())), ("whole", vec!["a".to_string()]));
}

#[test]
fn a_file_that_was_there_keeps_its_mode_and_a_new_one_obeys_the_mask() {
    let folder = folder();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    std::fs::write(&old, "old").expect("written");
    std::fs::set_permissions(&old, Permissions::from_mode(0o640)).expect("set");
    write(&old, b"new").expect("written");
    write(&new, b"new").expect("written");
    let mode = |path: &Path| path.metadata().expect("there").mode() & 0o777;
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "").expect("written");
    assert_eq!((mode(&old), mode(&new)), (0o640, mode(&plain)));
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("deep")).expect("made");
    std::fs::write(at("deep/file"), "old").expect("written");
    symlink("deep/file", at("near")).expect("linked");
    symlink("near", at("far")).expect("linked");
    symlink("deep/none", at("open")).expect("linked");
    symlink("round", at("round")).expect("linked");
    write(&at("far"), b"new").expect("written");
    write(&at("open"), b"made").expect("written");
    assert!(at("far").is_symlink() && at("near").is_symlink() && at("open").is_symlink());
    assert_eq!((text(&at("deep/file")).as_str(), text(&at("deep/none")).as_str()), ("new", "made"));
    let round = write(&at("round"), b"").expect_err("refused").to_string();
    assert!(round.contains("lead in a circle"), "{round}");
    assert!(Output::same(&at("far"), &at("deep/file")) && !Output::same(&at("far"), &at("open")));
}

#[test]
fn a_pipe_is_written_to_and_stays() {
    let folder = folder();
    let path = folder.path().join("pipe");
    pipe(&path);
    Output::check(&path).expect("it is not opened, for that would wait");
    let reader = {
        let path = path.clone();
        std::thread::spawn(move || text(&path))
    };
    write(&path, b"through").expect("written");
    assert_eq!(reader.join().expect("read"), "through");
    assert_eq!(names(folder.path()), ["pipe"]);
    // Its reader sees the end, and no half, of what is given up.
    let reader = {
        let path = path.clone();
        std::thread::spawn(move || text(&path))
    };
    let mut output = Output::create(&path).expect("opened");
    output.write_all(b"half").expect("gathered");
    drop(output);
    assert_eq!(reader.join().expect("read"), "");
}

#[test]
fn devices_and_open_descriptors_are_written_to() {
    for path in ["/dev/null", "/dev/stdout", "/dev/fd/2"] {
        write(Path::new(path), b"").unwrap_or_else(|error| panic!("{error}"));
        assert!(Path::new(path).symlink_metadata().is_ok_and(|found| !found.is_file()), "{path}");
    }
    let full = write(Path::new("/dev/full"), b"x").expect_err("no room").to_string();
    assert_eq!(
        full,
        "/dev/full: cannot write it: no space is left there; make room, or give a file elsewhere"
    );
    // A file that somebody has open is added to, not replaced under their hands.
    let folder = folder();
    let (path, mut file) = (folder.path().join("a"), File::create(folder.path().join("a")).expect("made"));
    file.write_all(b"first ").expect("written");
    let descriptor = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    write(Path::new(&descriptor), b"second").expect("written");
    assert_eq!(text(&path), "first second");
}

#[test]
fn what_cannot_be_written_is_told_with_its_cause() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("file"), "").expect("written");
    let said = |name: &str| match write(&at(name), b"") {
        Ok(()) => panic!("{name} is written"),
        Err(error) => error.cause().replace(&folder.path().display().to_string(), "HERE"),
    };
    assert_eq!(
        said("no/where/x"),
        "the folder HERE/no does not exist; make it, or give a file in a folder that exists"
    );
    assert_eq!(said("file/x"), "HERE/file is no folder; give a file in a folder that exists");
    assert_eq!(said(""), "it is a folder; give a file");
    assert_eq!(said("."), "it is a folder; give a file");
    assert_eq!(said("new/"), "it is a folder; give a file");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn staged_files_take_their_places_together() {
    let folder = folder();
    let stage = |name: &str| -> Staged {
        let mut output = Output::create(&folder.path().join(name)).expect("begun");
        output.write_all(name.as_bytes()).expect("written");
        output.stage().expect("complete")
    };
    let staged = [stage("a"), stage("b")];
    assert!(!folder.path().join("a").exists());
    staged.into_iter().try_for_each(Staged::commit).expect("in place");
    drop(stage("c"));
    assert_eq!(names(folder.path()), ["a", "b"]);
}

#[test]
fn what_is_abandoned_leaves_nothing() {
    let folder = folder();
    let scratch = Scratch::inside(folder.path()).expect("made");
    std::fs::write(scratch.path().join("x"), "x").expect("written");
    let output = Output::create(&folder.path().join("a")).expect("begun");
    assert_eq!(names(folder.path()).len(), 2);
    abandon();
    assert_eq!(names(folder.path()), [""; 0]);
    drop((scratch, output));
    let mut whole = String::new();
    write(&folder.path().join("b"), b"still works").expect("written");
    File::open(folder.path().join("b")).expect("there").read_to_string(&mut whole).expect("read");
    assert_eq!(whole, "still works");
}
