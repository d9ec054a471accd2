//! GTKWave save files: groups per scope, enumeration names, radices, a marker.

use super::{WaveError, WaveVar, save_path};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use weft_rtl::ir::LeafType;

/// Where the pieces of a save file were written.
#[derive(Debug, Clone)]
pub struct SaveFile {
    /// The `.gtkw` file.
    pub path: PathBuf,
    /// Translation files, one per enumeration.
    pub filters: Vec<PathBuf>,
}

/// GTKWave's display flags.
mod flag {
    pub const HEX: u32 = 0x02;
    pub const BINARY: u32 = 0x08;
    pub const RIGHT: u32 = 0x20;
    pub const BLANK: u32 = 0x200;
    pub const FILE_TRANSLATED: u32 = 0x2000;
    pub const CLOSED: u32 = 0x40_0000;
    pub const GROUP_BEGIN: u32 = 0x80_0000;
    pub const GROUP_END: u32 = 0x100_0000;
}

/// Groups with more than this many scopes in the file start closed.
const OPEN_GROUPS: usize = 6;

/// Writes the save file of `wave` and its enumeration tables (`NAME.TYPE.txt` beside it). `marker` is a cycle to mark.
///
/// # Errors
/// When a file cannot be written.
pub fn save_file(wave: &Path, vars: &[WaveVar], marker: Option<u64>) -> Result<SaveFile, WaveError> {
    let folder = wave.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder
        .canonicalize()
        .map_err(|e| WaveError::Io { path: wave.to_path_buf(), cause: e.to_string() })?;
    let stem = wave.file_stem().and_then(|s| s.to_str()).unwrap_or("wave");
    let mut filters: BTreeMap<String, PathBuf> = BTreeMap::new();
    for var in vars {
        if let LeafType::Enum(ty) = &var.ty
            && !filters.contains_key(&ty.name)
        {
            let path = folder.join(format!("{stem}.{}.txt", ty.name));
            let mut text = String::new();
            for (name, code) in &ty.variants {
                let digits = ty.width.div_ceil(4) as usize;
                let _ = writeln!(text, "{code:0digits$x} {name}");
            }
            write(&path, &text)?;
            filters.insert(ty.name.clone(), path);
        }
    }
    let path = save_path(wave);
    write(&path, &render(wave, vars, &filters, marker))?;
    Ok(SaveFile { path, filters: filters.into_values().collect() })
}

fn write(path: &Path, text: &str) -> Result<(), WaveError> {
    std::fs::write(path, text).map_err(|e| WaveError::Io { path: path.to_path_buf(), cause: e.to_string() })
}

fn render(wave: &Path, vars: &[WaveVar], filters: &BTreeMap<String, PathBuf>, marker: Option<u64>) -> String {
    let mut groups: BTreeMap<String, Vec<&WaveVar>> = BTreeMap::new();
    for var in vars {
        groups.entry(var.scopes.join(".")).or_default().push(var);
    }
    let mut out = String::from("[*] Written by weft; names that a waveform lacks are passed over.\n");
    let file = wave.file_name().and_then(|f| f.to_str()).unwrap_or_default();
    let _ = writeln!(out, "[dumpfile] \"{file}\"");
    let _ = writeln!(out, "*-4.0 {} -1 -1 -1 -1", marker.map_or("-1".to_string(), |m| m.to_string()));
    let closed = groups.len() > OPEN_GROUPS;
    for (scope, members) in &groups {
        // Deep scopes of a large file start closed; their names stay in sight.
        let begin = flag::GROUP_BEGIN | flag::BLANK | if closed { flag::CLOSED } else { 0 };
        let _ = writeln!(out, "@{begin:x}\n-{scope}");
        for var in ordered(members) {
            row(&mut out, var, filters);
        }
        let _ = writeln!(out, "@{:x}\n-{scope}", flag::GROUP_END | flag::BLANK);
    }
    out
}

/// States first, then handshakes, then the rest in order of declaration.
fn ordered<'a>(members: &[&'a WaveVar]) -> Vec<&'a WaveVar> {
    let rank = |v: &WaveVar| match &v.ty {
        LeafType::Enum(_) => 0,
        _ if v.name.ends_with("valid") || v.name.ends_with("ready") => 1,
        _ => 2,
    };
    let mut out = members.to_vec();
    out.sort_by_key(|v| rank(v));
    out
}

fn row(out: &mut String, var: &WaveVar, filters: &BTreeMap<String, PathBuf>) {
    let mut flags = flag::RIGHT | if var.width == 1 { flag::BINARY } else { flag::HEX };
    let mut filter = None;
    if let LeafType::Enum(ty) = &var.ty {
        flags = flag::RIGHT | flag::HEX | flag::FILE_TRANSLATED;
        filter = filters.get(&ty.name);
    }
    let _ = writeln!(out, "@{flags:x}");
    if let Some(path) = filter {
        let _ = writeln!(out, "^1 {}", path.display());
    }
    let range = if var.width > 1 { format!("[{}:0]", var.width - 1) } else { String::new() };
    let _ = writeln!(out, "{}{range}", var.path());
}
