//! Transition tables of the bank (rec.md sections 6.1 and 6.2, hmg.md section 5) as data. Pairs that the specification calls errors have no
//! row: they fail the table's assertion.

use super::tables_held;
use weft_rtl::prelude::*;

/// States of a remote-homed line: I, V, and MSHR waiting (P) or waiting poisoned (PX).
///
/// With write-back also V with dirty bytes (D), and dirty bytes alone (W).
pub const REQUESTER_STATES: [&str; 6] = ["I", "V", "P", "PX", "D", "W"];
/// Events of a remote-homed line, in order of their encodings.
pub const REQUESTER_EVENTS: [&str; 9] = [
    "load",
    "store_full",
    "store_partial",
    "atomic",
    "RdRsp",
    "Inv",
    "load_forced",
    "store_full_held",
    "store_partial_held",
];
/// States of a line whose GPU home is this bank: as of a remote-homed line, and MSHR waiting with atomics in its list (PA), the same poisoned (PAX).
///
/// With write-back D and W as of a remote-homed line.
pub const GPU_HOME_STATES: [&str; 8] = ["I", "V", "P", "PX", "PA", "PAX", "D", "W"];
/// Events of such a line, of this GPM and of other GPMs alike, in order of their encodings. Forced loads are those of system scope.
pub const GPU_HOME_EVENTS: [&str; 10] = [
    "load",
    "load_forced",
    "store_full",
    "store_partial",
    "atomic_gpu",
    "atomic_sys",
    "RdRsp",
    "Inv",
    "store_full_held",
    "store_partial_held",
];
/// States of a home line: I, V, D, and being fetched (F).
pub const HOME_STATES: [&str; 4] = ["I", "V", "D", "F"];
/// Events of a home line, in order of their encodings.
pub const HOME_EVENTS: [&str; 10] = [
    "load",
    "store_full",
    "store_partial",
    "atomic",
    "RdReq",
    "WrReq_full",
    "WrReq_partial",
    "AtomReq",
    "fill",
    "Inv",
];

pub(super) type Cell = (&'static str, &'static str, &'static [&'static str], &'static str);

const REQUESTER: [Cell; 22] = [
    ("I", "load", &["open_read"], "RdReq to the home, MSHR opened: P"),
    ("I", "store_full", &["install", "send_write"], "installed whole, WrReq to the home: V"),
    ("I", "store_partial", &["send_write"], "WrReq to the home, no allocation"),
    ("I", "atomic", &["send_atomic"], "AtomReq to the home"),
    ("I", "Inv", &["inv_miss"], "counted as miss"),
    ("V", "load", &["answer"], "hit"),
    ("V", "store_full", &["update", "send_write"], "copy updated, WrReq to the home"),
    ("V", "store_partial", &["update", "send_write"], "copy updated, WrReq to the home"),
    ("V", "atomic", &["drop", "send_atomic"], "copy dropped, AtomReq to the home: I"),
    ("V", "Inv", &["drop", "inv_hit"], "copy dropped, counted by cause: I"),
    ("P", "load", &["merge"], "joins the MSHR, at most 8"),
    ("P", "store_full", &["send_write", "poison"], "WrReq to the home: PX"),
    ("P", "store_partial", &["send_write", "poison"], "WrReq to the home: PX"),
    ("P", "atomic", &["send_atomic", "poison"], "AtomReq to the home: PX"),
    ("P", "RdRsp", &["install_fill"], "loads answered, line installed: V"),
    ("P", "Inv", &["poison", "inv_miss"], "the fill will not be installed: PX"),
    ("PX", "load", &["wait"], "waits until the MSHR is freed"),
    ("PX", "store_full", &["send_write"], "WrReq to the home"),
    ("PX", "store_partial", &["send_write"], "WrReq to the home"),
    ("PX", "atomic", &["send_atomic"], "AtomReq to the home"),
    ("PX", "RdRsp", &[], "loads answered, nothing installed: I"),
    ("PX", "Inv", &["inv_miss"], "stays poisoned"),
];

const HOME: [Cell; 33] = [
    ("I", "load", &["fetch"], "fetched from DRAM: F"),
    ("I", "store_full", &["install"], "installed whole: D"),
    ("I", "store_partial", &["fetch"], "fetched from DRAM: F"),
    ("I", "atomic", &["fetch"], "fetched from DRAM: F"),
    ("I", "RdReq", &["fetch"], "fetched from DRAM: F"),
    ("I", "WrReq_full", &["install"], "installed whole: D"),
    ("I", "WrReq_partial", &["fetch"], "fetched from DRAM: F"),
    ("I", "AtomReq", &["fetch"], "fetched from DRAM: F"),
    ("V", "load", &["answer"], "hit"),
    ("V", "store_full", &["update"], "updated: D"),
    ("V", "store_partial", &["update"], "updated: D"),
    ("V", "atomic", &["update"], "performed: D"),
    ("V", "RdReq", &["answer"], "RdRsp"),
    ("V", "WrReq_full", &["update"], "updated: D"),
    ("V", "WrReq_partial", &["update"], "updated: D"),
    ("V", "AtomReq", &["update"], "performed, AtomRsp: D"),
    ("D", "load", &["answer"], "hit"),
    ("D", "store_full", &["update"], "updated"),
    ("D", "store_partial", &["update"], "updated"),
    ("D", "atomic", &["update"], "performed"),
    ("D", "RdReq", &["answer"], "RdRsp"),
    ("D", "WrReq_full", &["update"], "updated"),
    ("D", "WrReq_partial", &["update"], "updated"),
    ("D", "AtomReq", &["update"], "performed, AtomRsp"),
    ("F", "load", &["append"], "joins the replay list, at most 8"),
    ("F", "store_full", &["append"], "joins the replay list, at most 8"),
    ("F", "store_partial", &["append"], "joins the replay list, at most 8"),
    ("F", "atomic", &["append"], "joins the replay list, at most 8"),
    ("F", "RdReq", &["append"], "joins the replay list, at most 8"),
    ("F", "WrReq_full", &["append"], "joins the replay list, at most 8"),
    ("F", "WrReq_partial", &["append"], "joins the replay list, at most 8"),
    ("F", "AtomReq", &["append"], "joins the replay list, at most 8"),
    ("F", "fill", &["install_fill"], "replayed in order: V or D"),
];

/// Rows of banks that know scopes (hmg.md section 5.1): a load that no copy here may serve.
const FORCED: [Cell; 4] = [
    ("I", "load_forced", &["open_read"], "RdReq to the home, MSHR opened: P"),
    ("V", "load_forced", &["drop", "open_read"], "copy dropped, RdReq to the home: P"),
    ("P", "load_forced", &["wait"], "the older read may return older data: waits until the MSHR is freed"),
    ("PX", "load_forced", &["wait"], "waits until the MSHR is freed"),
];

const GPU_HOME: [Cell; 46] = [
    ("I", "load", &["open_read"], "RdReq to the system home, MSHR opened: P"),
    ("I", "load_forced", &["open_read"], "RdReq to the system home, MSHR opened: P"),
    ("I", "store_full", &["install", "pass_write"], "installed whole, WrReq to the system home: V"),
    ("I", "store_partial", &["pass_write"], "WrReq to the system home, no allocation"),
    ("I", "atomic_gpu", &["open_read", "await"], "waits for the line: PA"),
    ("I", "atomic_sys", &["send_atomic"], "AtomReq to the system home"),
    ("I", "Inv", &["inv_miss"], "counted as miss, passed on by the directory"),
    ("V", "load", &["answer"], "hit"),
    ("V", "load_forced", &["drop", "open_read"], "copy dropped, RdReq to the system home: P"),
    ("V", "store_full", &["update", "pass_write"], "copy updated, WrReq to the system home"),
    ("V", "store_partial", &["update", "pass_write"], "copy updated, WrReq to the system home"),
    ("V", "atomic_gpu", &["update", "pass_result"], "performed, its result to the system home as WrReq"),
    ("V", "atomic_sys", &["drop", "send_atomic"], "copy dropped, AtomReq to the system home: I"),
    ("V", "Inv", &["drop", "inv_hit"], "copy dropped, counted by cause, passed on by the directory: I"),
    ("P", "load", &["merge"], "joins the MSHR, at most 8"),
    ("P", "load_forced", &["wait"], "the older read may return older data: waits until the MSHR is freed"),
    ("P", "store_full", &["pass_write", "poison"], "WrReq to the system home: PX"),
    ("P", "store_partial", &["pass_write", "poison"], "WrReq to the system home: PX"),
    ("P", "atomic_gpu", &["merge", "await"], "joins the MSHR, at most 8: PA"),
    ("P", "atomic_sys", &["send_atomic", "poison"], "AtomReq to the system home: PX"),
    ("P", "RdRsp", &["install_fill"], "loads answered, line installed: V"),
    ("P", "Inv", &["poison", "inv_miss"], "the fill will not be installed: PX"),
    ("PX", "load", &["wait"], "waits until the MSHR is freed"),
    ("PX", "load_forced", &["wait"], "waits until the MSHR is freed"),
    ("PX", "store_full", &["pass_write"], "WrReq to the system home"),
    ("PX", "store_partial", &["pass_write"], "WrReq to the system home"),
    ("PX", "atomic_gpu", &["wait"], "waits until the MSHR is freed"),
    ("PX", "atomic_sys", &["send_atomic"], "AtomReq to the system home"),
    ("PX", "RdRsp", &[], "loads answered, nothing installed: I"),
    ("PX", "Inv", &["inv_miss"], "stays poisoned"),
    ("PA", "load", &["merge"], "joins the MSHR behind the atomic"),
    ("PA", "load_forced", &["wait"], "waits until the MSHR is freed"),
    ("PA", "store_full", &["wait"], "the atomic comes first: waits until the MSHR is freed"),
    ("PA", "store_partial", &["wait"], "the atomic comes first: waits until the MSHR is freed"),
    ("PA", "atomic_gpu", &["merge", "await"], "joins the MSHR, at most 8"),
    ("PA", "atomic_sys", &["wait"], "the other atomic comes first: waits until the MSHR is freed"),
    (
        "PA",
        "RdRsp",
        &["install_fill"],
        "list replayed in order, results sent to the system home, line installed: V",
    ),
    ("PA", "Inv", &["poison", "inv_miss"], "the fill will not be installed: PAX"),
    ("PAX", "load", &["wait"], "waits until the MSHR is freed"),
    ("PAX", "load_forced", &["wait"], "waits until the MSHR is freed"),
    ("PAX", "store_full", &["wait"], "waits until the MSHR is freed"),
    ("PAX", "store_partial", &["wait"], "waits until the MSHR is freed"),
    ("PAX", "atomic_gpu", &["wait"], "waits until the MSHR is freed"),
    ("PAX", "atomic_sys", &["wait"], "waits until the MSHR is freed"),
    ("PAX", "RdRsp", &[], "list replayed in order, results sent to the system home, nothing installed: I"),
    ("PAX", "Inv", &["inv_miss"], "stays poisoned"),
];

fn column(name: &'static str, values: &[&'static str]) -> Column {
    Column { name, values: values.iter().enumerate().map(|(i, v)| (*v, i as u64)).collect() }
}

fn table(
    name: &'static str,
    prefix: &str,
    states: &[&'static str],
    events: &[&'static str],
    cells: &[Cell],
) -> Table {
    let columns = vec![column("state", states), column("event", events)];
    let code = |column: &Column, value: &str| {
        column.values.iter().filter(|v| v.0 == value).map(|v| v.1).collect::<Vec<u64>>()
    };
    let rows = cells
        .iter()
        .map(|(state, event, actions, text)| Row {
            id: format!("{prefix}.{state}.{event}"),
            when: vec![code(&columns[0], state), code(&columns[1], event)],
            actions: actions.to_vec(),
            text: (*text).to_string(),
        })
        .collect();
    Table { name, columns, rows }
}

/// A remote-homed line in this bank (rec.md section 6.1); `forces`: the bank tells scopes apart; `holds`: stores stay here (hmg.md section 5.2).
pub fn requester(forces: bool, holds: bool) -> Table {
    let mut rows = REQUESTER.to_vec();
    rows.extend(FORCED.iter().filter(|_| forces));
    rows.extend(tables_held::REQUESTER.iter().filter(|_| holds));
    let (states, events) = match (forces, holds) {
        (_, true) => (6, 9),
        (true, false) => (4, 7),
        (false, false) => (4, 6),
    };
    table("l2_requester", "l2req", &REQUESTER_STATES[..states], &REQUESTER_EVENTS[..events], &rows)
}

/// A line of another GPU whose GPU home is this bank (hmg.md section 5); `holds`: stores stay here.
pub fn gpu_home(holds: bool) -> Table {
    let mut rows = GPU_HOME.to_vec();
    rows.extend(tables_held::GPU_HOME.iter().filter(|_| holds));
    let (states, events) = if holds { (8, 10) } else { (6, 8) };
    table("l2_gpu_home", "l2gpu", &GPU_HOME_STATES[..states], &GPU_HOME_EVENTS[..events], &rows)
}

/// A line whose home is this bank (rec.md section 6.2).
pub fn home() -> Table {
    table("l2_home", "l2home", &HOME_STATES, &HOME_EVENTS, &HOME)
}
