//! `weft new`: a crate of one's own, with a block, a device, a program and a fabric that all commands know.

use crate::failure::{Failure, Outcome, say};
use crate::output;
use anyhow::anyhow;
use std::fs;
use std::path::{Path, PathBuf};

/// Arguments of `weft new`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the new crate; the last part of the path is its name.
    folder: PathBuf,
    /// Source tree of Weft that the crate is built with; by default the one that this program was built from.
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    path: Option<PathBuf>,
    /// Repository of Weft that the crate is built with, in the place of a source tree.
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

/// Name and text of each file.
const TEMPLATE: [(&str, &str); 8] = [
    ("Cargo.toml", include_str!("../new/template/Cargo.toml")),
    (".gitignore", include_str!("../new/template/gitignore")),
    ("README.md", include_str!("../new/template/README.md")),
    ("src/main.rs", include_str!("../new/template/src/main.rs")),
    ("src/peak.rs", include_str!("../new/template/src/peak.rs")),
    ("src/saxpy.rs", include_str!("../new/template/src/saxpy.rs")),
    ("src/uncached.rs", include_str!("../new/template/src/uncached.rs")),
    ("fabrics/uncached-soc.toml", include_str!("../new/template/fabrics/uncached-soc.toml")),
];

/// What the template calls the crate, and the source tree of Weft.
const NAME: &str = "my-lab";
const TREE: &str = "../weft/";

/// Words that Cargo or Rust take for something else.
const TAKEN: &str = "\
    abstract alloc as async await become box break build const continue core crate deps do dyn else \
    enum examples extern false final fn for gen if impl in incremental let loop macro match mod \
    move mut override priv proc-macro pub ref return self static std struct super test trait true \
    try type typeof unsafe unsized use virtual weft where while yield";

/// Runs the verb.
///
/// # Errors
/// A name that is none of a crate, a folder with something in it, no source tree of Weft, a folder that cannot be written.
pub fn run(args: &Args) -> Outcome {
    let folder = &args.folder;
    let name = name(folder)?;
    // What is there and no folder is told when it is written to.
    if fs::read_dir(folder).is_ok_and(|mut inside| inside.next().is_some()) {
        let folder = folder.display();
        return Err(Failure::input(anyhow!("{folder} is not empty; name a folder that is not there yet")));
    }
    let source = source(args)?;
    let files = TEMPLATE.map(|(path, text)| (path, filled(path, text, name, &source)));
    output::folder(folder, &files).map_err(|problem| {
        let folder = folder.display();
        Failure::input(anyhow!("cannot write to {folder}: {problem}; name a folder that can be written"))
    })?;
    say(format!("wrote crate {name} to {}, built with Weft of {}", folder.display(), source.words()))?;
    say(format!(
        "to see it: cd {} && cargo run --release -- run uncached-soc --workload saxpy",
        folder.display()
    ))
}

/// Where the crate finds Weft.
enum Source {
    /// A source tree.
    Tree(PathBuf),
    /// A repository.
    Git(String),
}

impl Source {
    fn words(&self) -> String {
        match self {
            Source::Tree(tree) => tree.display().to_string(),
            Source::Git(url) => url.clone(),
        }
    }
}

/// The source tree or repository that was asked for, else the source tree of this program.
fn source(args: &Args) -> Result<Source, Failure> {
    if let Some(url) = &args.git {
        return Ok(Source::Git(url.clone()));
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (tree, given) = match &args.path {
        Some(path) => (path.as_path(), true),
        None => (own.as_path(), false),
    };
    let found = tree.canonicalize().ok().filter(|tree| tree.join("sim/cli/Cargo.toml").is_file());
    found.map(Source::Tree).ok_or_else(|| {
        let tree = tree.display();
        Failure::input(match given {
            true => anyhow!("--path {tree}: this is no source tree of Weft; it has a folder sim/cli"),
            false => anyhow!(
                "the source tree {tree} is gone; name another with --path, or a repository with --git"
            ),
        })
    })
}

/// The name of the crate in a folder.
fn name(folder: &Path) -> Result<&str, Failure> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let letters = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c));
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let refused = |problem: &str| {
        Err(Failure::input(anyhow!("{}: {problem}; choose a name like my-lab", folder.display())))
    };
    if !letters || !begins {
        return refused(
            "the name of a crate is of lower-case letters, digits, - and _, and begins with a letter",
        );
    }
    if TAKEN.split_whitespace().any(|taken| taken == name) || name.starts_with("weft-") {
        return refused("this name is taken, by Rust, Cargo or Weft");
    }
    Ok(name)
}

/// A file of the template, for a crate of this name that is built with this source.
fn filled(path: &str, text: &str, name: &str, source: &Source) -> String {
    let text = text.replace(NAME, name);
    if path != "Cargo.toml" {
        return text;
    }
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let line = |line: &str| match (line.split_once(&format!("path = \"{TREE}")), source) {
        (Some((before, after)), Source::Tree(tree)) => {
            let (inside, after) = after.split_once('"').unwrap_or((after, ""));
            format!("{before}path = {}{after}\n", quoted(&tree.join(inside).to_string_lossy()))
        }
        (Some((before, after)), Source::Git(url)) => {
            let (_, after) = after.split_once('"').unwrap_or((after, ""));
            format!("{before}git = {}{after}\n", quoted(url))
        }
        (None, _) => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_crates() {
        for good in ["my-lab", "a/b/lab2", "x_y"] {
            assert!(name(Path::new(good)).is_ok(), "{good}");
        }
        for bad in ["", "/", "..", "My-Lab", "2lab", "lab.x", "struct", "weft", "weft-rtl", "a b"] {
            assert!(name(Path::new(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_dependency_is_of_the_source() {
        let manifest = |source| filled("Cargo.toml", TEMPLATE[0].1, "lab", &source);
        let git = manifest(Source::Git("https://example.org/weft".into()));
        let parsed: toml::Table = git.parse().expect("TOML");
        assert_eq!(parsed["package"]["name"].as_str(), Some("lab"));
        for (_, dependency) in parsed["dependencies"].as_table().expect("a table") {
            assert_eq!(dependency["git"].as_str(), Some("https://example.org/weft"));
        }
        let tree: toml::Table = manifest(Source::Tree("/a \"b\"".into())).parse().expect("TOML");
        assert_eq!(tree["dependencies"]["weft"]["path"].as_str(), Some("/a \"b\"/sim/cli"));
        assert!(!git.contains(TREE));
    }
}
