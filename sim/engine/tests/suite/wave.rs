//! What the waveform writers write is read back with another crate: same names, same values, same bytes for the same run.

use std::path::Path;
use std::sync::Arc;
use weft_engine::wave::{Trace, View, WaveVar, WaveWriter, save_file};
use weft_engine::{BackendKind, Design, Options, Sim};
use weft_rtl::bv::Bv;
use weft_rtl::ir::{EnumType, LeafType};
use weft_rtl::prelude::*;

fn vars() -> Vec<WaveVar> {
    let states = Arc::new(EnumType {
        name: "FenceState".into(),
        width: 3,
        variants: vec![("IDLE".into(), 0), ("DRAIN".into(), 1), ("WAIT".into(), 4)],
    });
    vec![
        WaveVar::new("top", "a.valid", 1, LeafType::Bool, true),
        WaveVar::new("top", "a.state", 3, LeafType::Enum(states), true),
        WaveVar::new("top", "b.c.row", 103, LeafType::Bits, false),
        WaveVar::new("top", "count", 8, LeafType::Bits, true),
    ]
}

/// Values of variable `v` at `time`, changing at different rates.
fn value(v: usize, time: u64) -> Vec<u64> {
    match v {
        0 => vec![(time / 3) % 2],
        1 => vec![[0, 1, 4][(time / 5 % 3) as usize]],
        2 => vec![time.wrapping_mul(0x9e37_79b9_7f4a_7c15), time & 0x7f],
        _ => vec![time & 0xff],
    }
}

fn write(path: &Path) {
    let vars = vars();
    let mut out = WaveWriter::create(path, &vars).unwrap();
    for time in 0..200 {
        for v in 0..vars.len() {
            out.change(time, v, &value(v, time)).unwrap();
        }
    }
    out.finish(200).unwrap();
}

fn check(path: &Path) {
    let mut wave = wellen::simple::read(path).unwrap();
    let times: Vec<u64> = wave.time_table().to_vec();
    for (i, var) in vars().iter().enumerate() {
        let mut scopes: Vec<&str> = var.scopes.iter().map(String::as_str).collect();
        let name = var.name.as_str();
        let found = wave.hierarchy().lookup_var(&scopes, name);
        let id = found.unwrap_or_else(|| panic!("{} is missing in {}", var.path(), path.display()));
        scopes.clear();
        let signal = wave.hierarchy()[id].signal_ref();
        wave.load_signals(&[signal]);
        let data = wave.get_signal(signal).unwrap();
        for (index, time) in times.iter().enumerate().filter(|(_, t)| **t < 200) {
            let offset = data.get_offset(index as u32).unwrap();
            let text = data.get_value_at(&offset, 0).to_bit_string().unwrap();
            let limbs = value(i, *time);
            let want: String = (0..var.width)
                .rev()
                .map(|b| if limbs[(b / 64) as usize] >> (b % 64) & 1 == 1 { '1' } else { '0' })
                .collect();
            assert_eq!(text, want, "{} at {time} in {}", var.path(), path.display());
        }
    }
}

#[test]
fn both_formats_read_back_and_repeat_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    for ending in ["vcd", "fst"] {
        let (first, second) =
            (dir.path().join(format!("x.{ending}")), dir.path().join(format!("y.{ending}")));
        write(&first);
        write(&second);
        check(&first);
        assert_eq!(std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap(), "{ending}");
    }
}

#[test]
fn a_waveform_begins_with_its_first_value() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("late.fst");
    let mut out = WaveWriter::create(&path, &vars()).unwrap();
    for (var, info) in vars().iter().enumerate() {
        out.change(3500, var, &vec![0; info.width.div_ceil(64) as usize]).unwrap();
    }
    out.finish(4500).unwrap();
    // Viewers show what lies between the two times in the header.
    let bytes = std::fs::read(&path).unwrap();
    let time = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!((time(9), time(17)), (3500, 4500));
}

#[test]
fn an_abandoned_waveform_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.vcd");
    drop(WaveWriter::create(&path, &vars()).unwrap());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn bad_paths_say_what_to_do() {
    let error = |p: &str| WaveWriter::create(Path::new(p), &vars()).err().expect("refused").to_string();
    assert_eq!(error("x.txt"), "waveform x.txt has an unknown ending; use .vcd or .fst");
    let missing = error("/no/such/folder/x.vcd");
    assert!(missing.starts_with("/no/such/folder/x.vcd: cannot write it: "), "{missing}");
    assert!(missing.contains("the folder /no does not exist"), "{missing}");
}

#[test]
fn the_save_file_names_states_and_groups() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.fst");
    write(&path);
    let marks =
        vec![(40, "first".to_string()), (199, "second".to_string()), (700, "not recorded".to_string())];
    let view = View { from: 0, to: 200, marker: Some(120), marks };
    let saved = save_file(&path, &vars(), &|_| true, view).unwrap();
    let text = std::fs::read_to_string(&saved.path).unwrap();
    // Whole paths: the viewer looks for the waveform from where it was started.
    let whole = path.canonicalize().unwrap();
    assert!(text.contains(&format!("[dumpfile] \"{}\"", whole.display())), "{text}");
    assert!(text.contains(&format!("[savefile] \"{}.gtkw\"", whole.display())), "{text}");
    assert!(text.contains("\n[timestart] 72\n") && text.contains(" 120 40 199 -1 "), "{text}");
    assert!(text.contains("\n[markername] Afirst\n[markername] Bsecond\n"), "{text}");
    assert!(text.contains("\ntop.b.c.row[102:0]\n") && text.contains("\n-b.c\n"), "{text}");
    let table = std::fs::read_to_string(&saved.filters[0]).unwrap();
    assert_eq!(table, "0 IDLE\n1 DRAIN\n4 WAIT\n");
}

/// Blocks of one design may call different enumerations alike, such as the states of a line.
#[test]
fn enumerations_of_one_name_have_a_table_each() {
    let dir = tempfile::tempdir().unwrap();
    let state = |names: &[&str]| {
        let variants = names.iter().zip(0..).map(|(name, code)| (name.to_string(), code)).collect();
        LeafType::Enum(Arc::new(EnumType { name: "LineState".into(), width: 2, variants }))
    };
    let var = |path: &str, ty: LeafType| WaveVar::new("top", path, 2, ty, true);
    let vars = [
        var("a.state", state(&["I", "V"])),
        var("b.state", state(&["I", "S", "M"])),
        var("c.state", state(&["I", "V"])),
    ];
    let view = View { to: 10, ..View::default() };
    let saved = save_file(&dir.path().join("x.vcd"), &vars, &|_| true, view).unwrap();
    let tables = saved.filters.iter().map(|path| std::fs::read_to_string(path).unwrap());
    assert_eq!(tables.collect::<Vec<_>>(), ["0 I\n1 V\n", "0 I\n1 S\n2 M\n"]);
    let text = std::fs::read_to_string(&saved.path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (scope, table) in [("a", 0), ("b", 1), ("c", 0)] {
        let row = lines.iter().position(|l| *l == format!("top.{scope}.state[1:0]")).expect("a row");
        assert_eq!(lines[row - 1], format!("^1 {}", saved.filters[table].display()));
    }
}

/// Behind the last cycle of a marked waveform nothing is known, in both formats.
#[test]
fn what_follows_a_marked_cycle_is_unknown() {
    for file in ["x.vcd", "x.fst"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(file);
        let mut out = WaveWriter::create(&path, &vars()).unwrap();
        for var in 0..vars().len() {
            out.change(100, var, &[1, 1]).unwrap();
        }
        out.unknown(101).unwrap();
        out.finish(125).unwrap();
        let mut wave = wellen::simple::read(&path).unwrap();
        let times = wave.time_table().to_vec();
        assert_eq!(times.last(), Some(&125), "{file}");
        let signals: Vec<_> = vars()
            .iter()
            .map(|var| {
                let scopes: Vec<&str> = var.scopes.iter().map(String::as_str).collect();
                let id = wave.hierarchy().lookup_var(&scopes, var.name.as_str()).unwrap();
                wave.hierarchy()[id].signal_ref()
            })
            .collect();
        wave.load_signals(&signals);
        let at = |time| times.iter().rposition(|t| *t <= time).unwrap() as u32;
        for signal in signals {
            let data = wave.get_signal(signal).unwrap();
            let text =
                |time| data.get_value_at(&data.get_offset(at(time)).unwrap(), 0).to_bit_string().unwrap();
            assert!(text(100).ends_with('1'), "{file}: {}", text(100));
            assert!(text(101).chars().all(|c| c == 'x'), "{file}: {}", text(101));
        }
    }
}

/// A name behind a read of a memory changes when the row is written, whoever writes it, though nothing else does.
#[test]
fn what_reads_a_memory_follows_its_writes() {
    let module = Module::build("shelf", ModuleKind::Block, || {
        let (put, value) = (input::<Bool>("put", ()), input::<Bits>("value", 8));
        let rows = regfile::<Bits>("rows", 4, 8);
        let writer = rows.lane_writer("put");
        when(put, || writer.write(lit(1, 2), &value));
        let seen = (rows.read(lit(1, 2)) + 1).named("seen");
        // Something that is read, and a block that is awake in every cycle.
        output_reg::<Bits>("sum", 8).set(seen);
        let beat = reg::<Bool>("beat", ());
        beat.set(!beat.get());
    });
    let module = module.expect("legal");
    for backend in [BackendKind::Native, BackendKind::Interp] {
        let design = Design::new(&module, Options { backend, ..Options::default() }).expect("compiled");
        let mut sim = Sim::new(&design);
        let [put, value] = ["put", "value"].map(|name| sim.input(name).expect("a port"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.fst");
        let mut trace = Trace::create(&path, &sim, &[]).unwrap();
        for cycle in 0..20 {
            sim.set(value, 40);
            sim.set(put, u64::from(cycle == 5));
            if cycle == 12 {
                assert!(sim.poke_mem("rows", 1, 0, &Bv::from_u64(99, 8)));
            }
            trace.sample(&mut sim).unwrap();
            sim.step();
        }
        trace.finish(20, None).unwrap();
        assert_eq!(changes(&path, "seen"), [(0, 1), (6, 41), (12, 100)], "{backend:?}");
    }
}

/// Times and new values of a variable of a waveform.
fn changes(path: &Path, name: &str) -> Vec<(u64, u64)> {
    let mut wave = wellen::simple::read(path).unwrap();
    let times = wave.time_table().to_vec();
    let h = wave.hierarchy();
    let var = h.all_vars().find(|var| h[*var].name(h).starts_with(name)).expect("recorded");
    let signal = h[var].signal_ref();
    wave.load_signals(&[signal]);
    let data = wave.get_signal(signal).unwrap();
    let value = |value: wellen::SignalValueRef| {
        u64::from_str_radix(&value.to_bit_string().expect("bits"), 2).expect("known")
    };
    data.iter_changes().map(|(at, new)| (times[at as usize], value(new))).collect()
}
