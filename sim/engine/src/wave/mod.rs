//! Waveform files: VCD and FST behind one writer, and the GTKWave save file beside them.

mod body;
mod gtkw;
mod trace;
mod writer;

pub use body::Format;
pub use gtkw::{SaveFile, View, save_file};
pub use trace::Trace;
pub use writer::{WaveError, WaveWriter};

use std::path::PathBuf;
use weft_rtl::ir::LeafType;

/// A variable of a waveform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveVar {
    /// Enclosing scopes, outermost first.
    pub scopes: Vec<String>,
    /// Name in its scope.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Kind: enumerations get a translation table.
    pub ty: LeafType,
    /// Registers are shown as `reg`, everything else as `wire`.
    pub is_reg: bool,
}

impl WaveVar {
    /// Splits a hierarchical path `a.b.c` into scopes and a name, below the outermost scope `top`.
    pub fn new(top: &str, path: &str, width: u32, ty: LeafType, is_reg: bool) -> WaveVar {
        let mut parts: Vec<String> =
            std::iter::once(top).chain(path.split('.')).map(str::to_string).collect();
        let name = parts.pop().unwrap_or_default();
        WaveVar { scopes: parts, name, width, ty, is_reg }
    }

    /// The full name with dots.
    pub fn path(&self) -> String {
        let mut out = self.scopes.join(".");
        out.push('.');
        out.push_str(&self.name);
        out
    }
}

/// Whether a hierarchical path is matched by a pattern in which `*` stands for any characters and `?` for one. A pattern also matches
/// everything below what it names.
pub fn scope_matches(pattern: &str, path: &str) -> bool {
    let (p, s): (Vec<char>, Vec<char>) = (pattern.chars().collect(), path.chars().collect());
    // reach[j]: the pattern so far matches s[..j].
    let mut reach = vec![false; s.len() + 1];
    reach[0] = true;
    for c in &p {
        let mut next = vec![false; s.len() + 1];
        match c {
            '*' => {
                let mut open = false;
                for j in 0..=s.len() {
                    open |= reach[j];
                    next[j] = open;
                }
            }
            _ => {
                for j in 0..s.len() {
                    next[j + 1] = reach[j] && (*c == '?' || *c == s[j]);
                }
            }
        }
        reach = next;
    }
    (0..=s.len()).any(|j| reach[j] && (j == s.len() || s[j] == '.'))
}

/// Path of the save file that belongs to a waveform: `x.vcd` has `x.vcd.gtkw`, so that `x.fst` beside it has one of its own.
pub fn save_path(wave: &std::path::Path) -> PathBuf {
    let mut name = wave.as_os_str().to_owned();
    name.push(".gtkw");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::{save_path, scope_matches};
    use std::path::Path;

    #[test]
    fn two_waveforms_of_one_stem_have_two_save_files() {
        assert_eq!(save_path(Path::new("out/x.vcd")), Path::new("out/x.vcd.gtkw"));
        assert_eq!(save_path(Path::new("out/x.fst")), Path::new("out/x.fst.gtkw"));
    }

    #[test]
    fn patterns_match_scopes_and_what_is_below() {
        assert!(scope_matches("g0_dir3", "g0_dir3.s1_valid"));
        assert!(scope_matches("g?_dir*", "g2_dir11"));
        assert!(scope_matches("*state", "g0_l2_1.mshr.state"));
        assert!(!scope_matches("g0_dir", "g0_dir3.s1_valid"));
        assert!(!scope_matches("x*", "g0"));
    }
}
