//! Files of the documentation that are made from the hardware: pictures of blocks, tables.

use std::path::Path;

/// What is wrong with a file below `hdl` that should hold this text; nothing if it does. With
/// `WEFT_PICTURES=write` in the environment it is written first.
///
/// # Panics
/// When it cannot be written.
pub fn outdated(file: &str, text: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hdl").join(file);
    if std::env::var_os("WEFT_PICTURES").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    let now = std::fs::read_to_string(&path).ok();
    (now.as_deref() != Some(text))
        .then(|| format!("hdl/{file} is old: write it again with WEFT_PICTURES=write"))
}

/// A file below `hdl` holds this text.
///
/// # Panics
/// When it does not.
pub fn is_current(file: &str, text: &str) {
    assert_eq!(outdated(file, text), None);
}
