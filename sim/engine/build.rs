//! Gives the engine a digest of what it is made of, so that machine code kept on disk is never that of another
//! engine.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut hasher = DefaultHasher::new();
    for folder in [root.join("src"), root.join("../../hdl/rtl/src")] {
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = files(&folder);
        files.sort();
        for file in files {
            file.strip_prefix(&folder).expect("found inside").hash(&mut hasher);
            let text = fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            text.hash(&mut hasher);
        }
    }
    println!("cargo:rustc-env=WEFT_ENGINE_DIGEST={:016x}", hasher.finish());
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a folder that can be read").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
