//! The keys of the directory blocks on the command line.

use super::params::{DirKind, DirParams, Policy, TagStyle};
use crate::common::sys::sys_params;
use crate::msg::Sys;
use crate::registry::{BlockError, ParamInfo, ParamSet};

/// Keys of a directory block on the command line. `entries` counts all slices of a node; with the default of one bank the block is the whole
/// directory of a node, while a fabric builds one slice per L2 bank.
pub fn dir_param_infos(kind: DirKind) -> Vec<ParamInfo> {
    let modules = kind.modules();
    let mut list = system_infos(kind);
    if modules {
        list.push(info("home", "0", "a node {GPU, GPM} that exists", "node that the slice belongs to"));
        if kind.groups() {
            list.push(info("group", "4", "1, 2, 4, 8", "lines that share an entry"));
        }
        if !kind.acked {
            list.push(info(
                "downgrade",
                "off",
                "on, off",
                "whether sharers may be removed on their own request",
            ));
        }
    } else {
        list.push(info("home", "0", "0..gpus-1", "GPU whose lines are tracked"));
    }
    if kind.ranges() {
        list.push(info(
            "range",
            "1024",
            "power of two, 2 to 64 lines, at most il",
            "bytes that one entry covers",
        ));
    }
    let (entries, ways, policy) = kind.published;
    let policy = if policy == Policy::Lru { "lru" } else { "fifo" };
    let (entries, ways) = (entries.to_string(), ways.to_string());
    let of = if modules { "entries of all slices of a GPM" } else { "entries of all slices of a GPU" };
    list.extend([
        info("entries", &entries, "banks * ways * c * 2^k, c odd, at most 15", of),
        info("ways", &ways, if modules { "1..64" } else { "1..128" }, "ways of a set"),
        info("policy", policy, "fifo, lru", "whether a remote hit makes a way the youngest"),
        match kind.acked {
            true => info("evb_depth", "4", "1..8", "Invs that wait for the egress"),
            false => info("evb_depth", "4", "1..8", "entries of the eviction buffer"),
        },
        match kind.acked {
            true => info("pending", "32", "2..64", "groups whose Invs are awaited at once"),
            false => info("inv_rate", "1", "1, 2, 4", "lines of an evicted entry expanded per cycle"),
        },
        info("tag_style", "published", "published, minimal", "whether index bits are stored, as published"),
    ]);
    list
}

fn info(name: &'static str, default: &str, legal: &'static str, about: &'static str) -> ParamInfo {
    ParamInfo { name, default: default.into(), legal, about }
}

fn system_infos(kind: DirKind) -> Vec<ParamInfo> {
    let modules = kind.modules();
    let mut list: Vec<ParamInfo> = Vec::new();
    for mut entry in sys_params() {
        let own = ["gpus", "addr_bits", "line", "banks", "l2_mshrs", "il"].contains(&entry.name);
        let shift = modules && entry.name == "home_shift";
        if !(own || shift) {
            continue;
        }
        match (entry.name, modules) {
            ("banks", _) => {
                entry.default = "1".into();
                entry.about = "slices that the entries are divided into; the block is one of them";
            }
            ("il", true) if kind.groups() => {
                entry.legal = "power of two, at least a group and at least 4 lines";
            }
            ("il", _) => entry.legal = "power of two, at least a range and at least 4 lines",
            ("gpus", true) => entry.legal = "1..16, 2..64 nodes in all",
            ("line", true) if kind.groups() => entry.default = "128".into(),
            ("home_shift", _) => {
                (entry.default, entry.about) = ("33".into(), "log2 of the bytes of DRAM per GPM");
            }
            _ => {}
        }
        let gpus = entry.name == "gpus";
        list.push(entry);
        if gpus && modules {
            list.push(info("gpms", "4", "1..8, 2..64 nodes in all", "GPU modules of a GPU"));
        }
    }
    list
}

/// Reads the keys of [`dir_param_infos`].
///
/// # Errors
/// A value outside its range, or values that do not fit each other.
pub fn dir_from(kind: DirKind, p: &ParamSet) -> Result<DirParams, BlockError> {
    let number = |key, lo, hi| p.within(key, lo, hi).map(|v| v as u32);
    let choice = |key: &str, first: &str, second: &str| match p.text(key).as_str() {
        t if t == first => Ok(false),
        t if t == second => Ok(true),
        _ => Err(p.illegal(key, "it is not known")),
    };
    let modules = kind.modules();
    let params = DirParams {
        kind,
        sys: Sys { owners: kind.owners, ..slice_sys(p, modules)? },
        home: number("home", 0, if modules { 127 } else { 15 })?,
        range: if kind.ranges() { number("range", 1, 1 << 20)? } else { 0 },
        group: if kind.groups() { number("group", 1, 8)? } else { 4 },
        downgrade: modules && !kind.acked && choice("downgrade", "off", "on")?,
        entries: number("entries", 1, 1 << 26)?,
        ways: number("ways", 1, if modules { 64 } else { 128 })?,
        policy: if choice("policy", "fifo", "lru")? { Policy::Lru } else { Policy::Fifo },
        evb_depth: number("evb_depth", 1, 8)?,
        inv_rate: if kind.acked { 1 } else { number("inv_rate", 1, 4)? },
        pending: if kind.acked { number("pending", 2, 64)? } else { 32 },
        tag_style: if choice("tag_style", "published", "minimal")? {
            TagStyle::Minimal
        } else {
            TagStyle::Published
        },
    };
    params.validate().map_err(|e| p.illegal(e.key, &e.problem))?;
    Ok(params)
}

/// The message parameters of a slice on its own; what its messages do not depend on takes any value.
fn slice_sys(p: &ParamSet, modules: bool) -> Result<Sys, BlockError> {
    let number = |key, lo, hi| p.within(key, lo, hi).map(|v| v as u32);
    let sys = Sys {
        gpus: number("gpus", if modules { 1 } else { 2 }, 16)?,
        gpms: if modules { number("gpms", 1, 8)? } else { 1 },
        addr_bits: number("addr_bits", 32, 64)?,
        line: number("line", 64, 128)?,
        banks: number("banks", 1, 64)?,
        l1s: 1,
        l2_mshrs: number("l2_mshrs", 2, 256)?,
        l1_mshrs: 1,
        il: number("il", 64, 1 << 30)?,
        home_shift: if modules { number("home_shift", 12, 60)? } else { 0 },
        owners: false,
    };
    if !sys.banks.is_power_of_two() {
        return Err(p.illegal("banks", "it is no power of two"));
    }
    Ok(sys)
}
