//! GTKWave save files: groups per scope, enumeration names, radices, a zoom that shows the recording, a marker.
//!
//! GTKWave passes over rows whose signal it does not find, so an old save file still opens a waveform of a changed design.

use super::{WaveError, WaveVar, save_path};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weft_rtl::ir::{EnumType, LeafType};

/// Where the pieces of a save file were written.
#[derive(Debug, Clone)]
pub struct SaveFile {
    /// The `.gtkw` file.
    pub path: PathBuf,
    /// Translation files, one per enumeration.
    pub filters: Vec<PathBuf>,
}

/// What the viewer shows first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    /// First cycle recorded.
    pub from: u64,
    /// Last time stamp, one more than the last cycle recorded.
    pub to: u64,
    /// A cycle to mark and to zoom to.
    pub marker: Option<u64>,
    /// Cycles with names, for the viewer's markers A to Z; those that were not recorded have none.
    pub marks: Vec<(u64, String)>,
}

/// The viewer's named markers.
const MARKS: usize = 26;

/// GTKWave's display flags.
mod flag {
    pub const HEX: u32 = 0x02;
    pub const BINARY: u32 = 0x08;
    pub const RIGHT: u32 = 0x20;
    pub const BLANK: u32 = 0x200;
    pub const COLLAPSED: u32 = 0x1000;
    pub const FILE_TRANSLATED: u32 = 0x2000;
    pub const CLOSED: u32 = 0x40_0000;
    pub const GROUP_BEGIN: u32 = 0x80_0000;
    pub const GROUP_END: u32 = 0x100_0000;
}

/// A file with more groups has closed ones below an overview.
const OPEN_GROUPS: usize = 6;

/// A larger file's groups hold only states and handshakes: the viewer reads rows slowly, and its tree has the others.
const MOST_ROWS: usize = 2000;

/// Rows of the overview, and how many of them at most are states: as many as a window shows at once.
const OVERVIEW_ROWS: usize = 36;
const STATE_ROWS: usize = 16;

/// Window, and what is left of it for the waves beside the names, in pixels.
const WINDOW: (u32, u32) = (1600, 900);
const WAVES: f64 = 940.0;

/// Cycles shown around a marker, and how many of them come before it.
const AROUND: (u64, u64) = (64, 48);

/// Cycles that a waveform goes on behind a marker in its last cycle, with nothing known in them: the viewer shows its first
/// cycles where those around a marker are not all there.
pub(super) const AFTER: u64 = 24;

/// A translation file, with the enumeration whose names it holds. Blocks may have different enumerations of one name.
type Filter = (Arc<EnumType>, PathBuf);

fn filter<'a>(filters: &'a [Filter], ty: &EnumType) -> Option<&'a PathBuf> {
    filters.iter().find(|(known, _)| **known == *ty).map(|(_, path)| path)
}

/// Writes the save file of `wave` and its enumeration tables (`NAME.TYPE.txt` beside it, `NAME.TYPE-2.txt` of another type of that name). `moved` tells, by number of the variable, whether its value
/// changed: the overview of a large file prefers these.
///
/// # Errors
/// When a file cannot be written.
pub fn save_file(
    wave: &Path,
    vars: &[WaveVar],
    moved: &dyn Fn(usize) -> bool,
    view: View,
) -> Result<SaveFile, WaveError> {
    let folder = wave.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder
        .canonicalize()
        .map_err(|e| WaveError::Io { path: wave.to_path_buf(), cause: e.to_string() })?;
    let file = wave.file_name().and_then(|s| s.to_str()).unwrap_or("wave");
    let mut filters: Vec<Filter> = Vec::new();
    for var in vars {
        if let LeafType::Enum(ty) = &var.ty
            && filter(&filters, ty).is_none()
        {
            let before = filters.iter().filter(|(known, _)| known.name == ty.name).count();
            let number = if before == 0 { String::new() } else { format!("-{}", before + 1) };
            let path = folder.join(format!("{file}.{}{number}.txt", ty.name));
            let mut text = String::new();
            for (name, code) in &ty.variants {
                let digits = ty.width.div_ceil(4) as usize;
                let _ = writeln!(text, "{code:0digits$x} {name}");
            }
            write(&path, &text)?;
            filters.push((ty.clone(), path));
        }
    }
    let path = save_path(wave);
    // Whole paths, so that the save file alone opens the waveform from anywhere, and still does when both have been moved together.
    let mut out = head(&folder.join(file), &view);
    body(&mut out, vars, &filters, moved);
    write(&path, &out)?;
    Ok(SaveFile { path, filters: filters.into_iter().map(|(_, path)| path).collect() })
}

fn write(path: &Path, text: &str) -> Result<(), WaveError> {
    Ok(weft_output::write(path, text.as_bytes())?)
}

fn head(wave: &Path, view: &View) -> String {
    let (start, cycles) = match view.marker {
        Some(marker) => (marker.saturating_sub(AROUND.1).max(view.from), AROUND.0),
        None => (view.from, view.to.saturating_sub(view.from)),
    };
    // 200 pixels show 2^-zoom time units.
    let zoom = -(cycles.max(1) as f64 * 200.0 / WAVES).log2();
    let mut out = String::from("[*] Written by weft; names that a waveform lacks are passed over.\n");
    let _ = writeln!(out, "[dumpfile] \"{}\"\n[savefile] \"{}\"", wave.display(), save_path(wave).display());
    let _ = writeln!(out, "[size] {} {}", WINDOW.0, WINDOW.1);
    let _ = writeln!(out, "[timestart] {start}\n[sst_width] 220\n[signals_width] 330");
    let marker = view.marker.map_or("-1".to_string(), |m| m.to_string());
    let here = view.marks.iter().filter(|(cycle, _)| (view.from..view.to).contains(cycle));
    let marks: Vec<&(u64, String)> = here.take(MARKS).collect();
    let at = |i: usize| marks.get(i).map_or("-1".to_string(), |(cycle, _)| cycle.to_string());
    let named: Vec<String> = (0..MARKS).map(at).collect();
    let _ = writeln!(out, "*{zoom:.6} {marker} {}", named.join(" "));
    for ((_, name), letter) in marks.iter().zip('A'..='Z') {
        let _ = writeln!(out, "[markername] {letter}{name}");
    }
    out
}

fn body(out: &mut String, vars: &[WaveVar], filters: &[Filter], moved: &dyn Fn(usize) -> bool) {
    let mut groups: BTreeMap<&[String], Vec<usize>> = BTreeMap::new();
    for (i, var) in vars.iter().enumerate() {
        groups.entry(&var.scopes).or_default().push(i);
    }
    let rows = Rows { vars, filters };
    let many = groups.len() > OPEN_GROUPS;
    if many {
        let chosen = overview(vars, moved);
        rows.group(out, "overview", false, &chosen, &|var| Some(label(var)));
    }
    for (scopes, mut members) in groups {
        if vars.len() > MOST_ROWS {
            members.retain(|i| is_state(&vars[*i]) || is_handshake(&vars[*i]));
        }
        rows.group(out, &below_top(scopes), many, &ordered(vars, members, moved), &|_| None);
    }
}

/// The path below the outermost scope, which all rows share; that scope's own name for itself.
fn below_top(scopes: &[String]) -> String {
    if scopes.len() > 1 { scopes[1..].join(".") } else { scopes.concat() }
}

/// A name with its path. Behind a dot the viewer would show only the last part.
fn label(var: &WaveVar) -> String {
    let mut parts: Vec<&str> = var.scopes.iter().skip(1).map(String::as_str).collect();
    parts.push(&var.name);
    parts.join("/")
}

fn is_state(var: &WaveVar) -> bool {
    matches!(var.ty, LeafType::Enum(_)) && (var.name == "state" || var.name.ends_with("_state"))
}

/// `p_valid` and `p_ready` of a channel, not the valid bits of tables.
fn is_handshake(var: &WaveVar) -> bool {
    var.width == 1 && (var.name.ends_with("_valid") || var.name.ends_with("_ready"))
}

/// Rows that tell at a glance what the design did: states, then channels at their senders, of as many kinds of blocks as there is room for. Those
/// that changed are preferred.
fn overview(vars: &[WaveVar], moved: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let ports: HashSet<(&[String], &str)> = vars.iter().map(|v| (&v.scopes[..], v.name.as_str())).collect();
    let sends = |v: &WaveVar| {
        let channel = v.name.strip_suffix("_valid").filter(|_| v.is_reg && v.width == 1);
        channel.is_some_and(|c| ports.contains(&(&v.scopes[..], format!("{c}_ready").as_str())))
    };
    let pick = |wanted: &dyn Fn(&WaveVar) -> bool, most: usize| {
        let all: Vec<usize> = (0..vars.len()).filter(|i| wanted(&vars[*i])).collect();
        let lively: Vec<usize> = all.iter().copied().filter(|i| moved(*i)).collect();
        by_turns(vars, if lively.is_empty() { all } else { lively }, most)
    };
    let mut chosen = pick(&is_state, STATE_ROWS);
    chosen.extend(pick(&sends, OVERVIEW_ROWS - chosen.len()));
    if chosen.is_empty() {
        chosen = pick(&|_| true, OVERVIEW_ROWS);
    }
    chosen
}

/// One variable of each kind in turn, kinds being names and scopes without their numbers: `gpu0.l1_0.state`, `gpu0.bank0.state`, `gpu1.l1_0.state`, ... At
/// most `most`, in order of declaration.
fn by_turns(vars: &[WaveVar], members: Vec<usize>, most: usize) -> Vec<usize> {
    let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for i in members {
        let kind = vars[i].path().chars().filter(|c| !c.is_ascii_digit()).collect();
        kinds.entry(kind).or_default().push(i);
    }
    // The innermost number changes last, so that the first instances are of different GPUs.
    kinds
        .values_mut()
        .for_each(|list| list.sort_by_key(|i| (vars[*i].scopes.iter().rev().collect::<Vec<_>>(), *i)));
    let longest = kinds.values().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest).flat_map(|turn| kinds.values().filter_map(move |list| list.get(turn)));
    let mut out: Vec<usize> = turns.copied().take(most).collect();
    out.sort();
    out
}

/// States and channels first, a channel being its handshake and then its message, then the rest; of each what changed comes before
/// what never did, and else the order of declaration holds.
fn ordered(vars: &[WaveVar], members: Vec<usize>, moved: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let named = |name: &str| members.iter().copied().find(|i| vars[*i].name == name);
    let lively = |name: &str| named(name).is_some_and(moved);
    let channels: Vec<&str> = members
        .iter()
        .filter_map(|i| vars[*i].name.strip_suffix("_valid"))
        .filter(|c| named(&format!("{c}_ready")).is_some())
        .collect();
    let key = |i: usize| {
        let name = vars[i].name.as_str();
        // The longest prefix: `rsp_out_data` belongs to channel `rsp_out` even if there is one named `rsp`.
        let of = |c: &&&str| name == **c || name.strip_prefix(**c).is_some_and(|rest| rest.starts_with('_'));
        let channel = channels.iter().filter(of).max_by_key(|c| c.len());
        let place = channel.and_then(|c| channels.iter().position(|d| d == c));
        let leaf = place.map(|p| &name[channels[p].len()..]);
        let handshake = [Some("_valid"), Some("_ready")].iter().position(|h| *h == leaf);
        match place {
            _ if is_state(&vars[i]) => (if moved(i) { 0 } else { 3 }, 0, 0),
            Some(p) if !lively(&format!("{}_valid", channels[p])) => (4, p, handshake.unwrap_or(2)),
            // What is kept of a message inside, and never was, is no row to begin with.
            Some(p) if handshake.is_some() || moved(i) => (1, p, handshake.unwrap_or(2)),
            _ if moved(i) => (2, 0, 0),
            _ => (5, 0, 0),
        }
    };
    let mut out: Vec<_> = members.iter().map(|i| (key(*i), *i)).collect();
    out.sort();
    out.into_iter().map(|(_, i)| i).collect()
}

struct Rows<'a> {
    vars: &'a [WaveVar],
    filters: &'a [Filter],
}

impl Rows<'_> {
    fn group(
        &self,
        out: &mut String,
        title: &str,
        closed: bool,
        members: &[usize],
        label: &dyn Fn(&WaveVar) -> Option<String>,
    ) {
        if members.is_empty() {
            return;
        }
        let (begin, end) = match closed {
            true => (flag::CLOSED, flag::CLOSED | flag::COLLAPSED),
            false => (0, 0),
        };
        let _ = writeln!(out, "@{:x}\n-{title}", flag::GROUP_BEGIN | flag::BLANK | begin);
        for i in members {
            self.row(out, &self.vars[*i], label(&self.vars[*i]));
        }
        let _ = writeln!(out, "@{:x}\n-{title}", flag::GROUP_END | flag::BLANK | end);
    }

    fn row(&self, out: &mut String, var: &WaveVar, label: Option<String>) {
        let mut flags = flag::RIGHT | if var.width == 1 { flag::BINARY } else { flag::HEX };
        let mut names = None;
        if let LeafType::Enum(ty) = &var.ty {
            flags = flag::RIGHT | flag::HEX | flag::FILE_TRANSLATED;
            names = filter(self.filters, ty);
        }
        let _ = writeln!(out, "@{flags:x}");
        if let Some(path) = names {
            let _ = writeln!(out, "^1 {}", path.display());
        }
        let range = if var.width > 1 { format!("[{}:0]", var.width - 1) } else { String::new() };
        let path = format!("{}{range}", var.path());
        let _ = match (label, names) {
            // A single bit is drawn as a level, without its name, unless it is made a vector.
            (label, Some(_)) if var.width == 1 => {
                writeln!(out, "#{{{}}} {path}", label.unwrap_or(var.name.clone()))
            }
            (Some(label), _) => writeln!(out, "+{{{label}}} {path}"),
            (None, _) => writeln!(out, "{path}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_shows_every_gpu_and_each_channel_once() {
        let var = |path: &str, width, is_reg| WaveVar::new("top", path, width, LeafType::Bits, is_reg);
        let mut vars = Vec::new();
        for (gpu, l1) in (0..4).flat_map(|g| (0..16).map(move |l| (g, l))) {
            let at = |name: &str| format!("gpu{gpu}.l1_{l1}.{name}");
            vars.push(var(&at("req_valid"), 1, true));
            vars.push(var(&at("req_ready"), 1, false));
            vars.push(var(&at("s1_valid"), 1, true));
            vars.push(var(&at("rsp_valid"), 1, false));
            vars.push(var(&at("rsp_ready"), 1, true));
        }
        let shown = |moved: &dyn Fn(usize) -> bool| -> Vec<String> {
            overview(&vars, moved).into_iter().map(|i| label(&vars[i])).collect()
        };
        let all = shown(&|_| true);
        assert_eq!(all.len(), OVERVIEW_ROWS);
        assert!(all.iter().all(|name| name.ends_with("/req_valid")), "channels at their senders: {all:?}");
        for gpu in 0..4 {
            let of = all.iter().filter(|name| name.starts_with(&format!("gpu{gpu}/"))).count();
            assert_eq!(of, OVERVIEW_ROWS / 4, "{all:?}");
        }
        let moved: Vec<bool> = vars.iter().map(|v| v.scopes[2] == "l1_7").collect();
        assert_eq!(shown(&|i| moved[i]), [0, 1, 2, 3].map(|g| format!("gpu{g}/l1_7/req_valid")));
        assert_eq!(shown(&|_| false), all, "something is shown even if nothing moves");
    }

    #[test]
    fn what_never_changed_comes_last() {
        let var = |name: &str| WaveVar::new("top", &format!("b.{name}"), 1, LeafType::Bits, true);
        let names =
            ["idle_valid", "idle_ready", "req_skid_op", "req_valid", "req_ready", "req_op", "count", "fixed"];
        let vars: Vec<WaveVar> = names.iter().map(|name| var(name)).collect();
        let moved = |i: usize| matches!(names[i], "req_valid" | "req_op" | "count");
        let order = ordered(&vars, (0..vars.len()).collect(), &moved);
        let shown: Vec<&str> = order.into_iter().map(|i| names[i]).collect();
        let expected = ["req_valid", "req_ready", "req_op", "count", "idle_valid", "idle_ready"];
        assert_eq!(shown, [&expected[..], &["req_skid_op", "fixed"]].concat());
    }
}
