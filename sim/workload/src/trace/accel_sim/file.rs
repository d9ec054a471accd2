//! The file of one kernel: a header of `-KEY = VALUE` lines, then blocks, their warps, and the lines of
//! these.

use super::line::{LANES, Layout, take_apart};
use super::split::Windows;
use super::wave::{Tally, Wave};
use crate::trace::packed::{Ending, read_line};
use crate::trace::text::{number, sizes};
use crate::trace::{Gaps, ReadOptions, TraceError, TraceKernel};
use std::collections::BTreeMap;
use std::io::BufRead;

/// The first binary version whose blocks form clusters.
const CLUSTERS: u64 = 90;

/// Header of a kernel's file.
#[derive(Default)]
struct Head {
    keys: BTreeMap<String, String>,
}

impl Head {
    fn get(&self, key: &str) -> Result<&str, String> {
        let value = self.keys.get(key).map(String::as_str);
        value.ok_or_else(|| format!("the header has no \"-{key} = ...\""))
    }

    fn triple(&self, key: &str) -> Result<[u32; 3], String> {
        let text = self.get(key)?;
        let inside = text.trim().trim_start_matches('(').trim_end_matches(')');
        let parts = inside.split(',').map(|n| n.trim().parse().ok()).collect::<Option<Vec<u32>>>();
        parts
            .and_then(|parts| parts.try_into().ok())
            .ok_or_else(|| format!("{text:?} where (x,y,z) is expected"))
    }

    fn number(&self, key: &str, default: u64) -> Result<u64, String> {
        self.keys.get(key).map_or(Ok(default), |text| number(text.trim()))
    }
}

/// Where a reader is in a file.
struct File<R> {
    from: R,
    name: String,
    line: u64,
    raw: Vec<u8>,
    text: String,
}

impl<R: BufRead> File<R> {
    fn wrong<T>(&self, problem: impl Into<String>) -> Result<T, TraceError> {
        Err(TraceError::Line { file: self.name.clone(), line: self.line, problem: problem.into() })
    }

    fn of<T>(&self, result: Result<T, String>) -> Result<T, TraceError> {
        result.or_else(|problem| self.wrong(problem))
    }

    /// The next line that holds something; `None` at the end.
    fn next(&mut self) -> Result<Option<&str>, TraceError> {
        loop {
            self.line += 1;
            match read_line(&mut self.from, &mut self.raw) {
                Ok(Ending::End) => return Ok(None),
                Ok(Ending::TooLong) => return self.wrong(Ending::PROBLEM),
                Ok(Ending::Line) => {}
                Err(e) => return self.wrong(format!("the file cannot be read to its end: {e}")),
            }
            let Ok(text) = std::str::from_utf8(&self.raw) else {
                return self.wrong("the line is no UTF-8 text");
            };
            if !text.trim().is_empty() {
                self.text.clear();
                self.text.push_str(text.trim());
                return Ok(Some(&self.text));
            }
        }
    }

    /// The value of the line `KEY = VALUE` that must come next.
    fn key(&mut self, key: &str) -> Result<String, TraceError> {
        let found = self.next()?.unwrap_or("the end").to_string();
        match found.split_once('=').filter(|(k, _)| k.trim() == key) {
            Some((_, value)) => Ok(value.trim().to_string()),
            None => self.wrong(format!("{found:?} where \"{key} = ...\" is expected")),
        }
    }
}

/// A kernel whose blocks are being read.
struct Started {
    kernel: TraceKernel,
    layout: Layout,
    windows: Windows,
}

/// Reads the file of one kernel; with it the scratchpad bytes that its header says. It has as many as it
/// accesses: drivers keep some before those of the program.
pub(super) fn kernel(
    from: impl BufRead,
    name: &str,
    options: &ReadOptions,
    tally: &mut Tally,
) -> Result<(TraceKernel, u32), TraceError> {
    let mut file = File { from, name: name.into(), line: 0, raw: Vec::new(), text: String::new() };
    let mut head = Head::default();
    let mut made: Option<Started> = None;
    tally.scratchpad_end = 0;
    while let Some(line) = file.next()?.map(str::to_string) {
        if let (Some((key, value)), None) = (line.strip_prefix('-').and_then(|l| l.split_once('=')), &made) {
            head.keys.insert(key.trim().into(), value.trim().into());
        } else if line.starts_with('#') && line != "#BEGIN_TB" {
            continue;
        } else if line == "#BEGIN_TB" {
            if made.is_none() {
                let started = start(&head);
                made = Some(file.of(started)?);
            }
            if let Some(started) = &mut made {
                block(&mut file, started, options, tally)?;
            }
        } else {
            return file.wrong(format!("{line:?} where #BEGIN_TB is expected"));
        }
    }
    let Some(Started { mut kernel, .. }) = made else {
        return file.wrong("the file ends where #BEGIN_TB is expected");
    };
    if options.missing == Gaps::Refuse {
        file.of(whole(&kernel))?;
    }
    let (declared, used) = (kernel.lds, u32::try_from(tally.scratchpad_end).unwrap_or(u32::MAX));
    kernel.lds = declared.max(used);
    Ok((kernel, declared))
}

/// Refuses a kernel that lacks warps.
fn whole(kernel: &TraceKernel) -> Result<(), String> {
    let (recorded, all) = (kernel.waves.len() as u64, kernel.wave_count());
    if recorded == all {
        return Ok(());
    }
    let absent = (0..all).find(|wave| !kernel.waves.contains_key(&(*wave as usize))).unwrap_or(0);
    let (block, warp) =
        (absent / u64::from(kernel.waves_per_block), absent % u64::from(kernel.waves_per_block));
    let [x, y, z] = kernel.block_at(block as u32);
    Err(format!(
        "the trace is not whole: {} of the grid's {} blocks and {recorded} of its {all} warps are there, and \
         warp {warp} of block {x},{y},{z} is not; record it again, or let weft trace or weft run take what is \
         there with --missing-blocks accept",
        kernel.recorded_blocks(),
        kernel.blocks()
    ))
}

/// A kernel without blocks from its header.
fn start(head: &Head) -> Result<Started, String> {
    let (grid, threads) = (head.triple("grid dim")?, head.triple("block dim")?);
    sizes(grid, threads)?;
    let lds = u32::try_from(head.number("shmem", 0)?).map_err(|_| "shmem is too large".to_string())?;
    let name = head.get("kernel name")?.replace(char::is_whitespace, "_");
    let kernel = TraceKernel::new(&name, grid, threads, lds, LANES);
    let version = head.number("accelsim tracer version", 0)?;
    let lineinfo = head.number("enable lineinfo", 0)?;
    let windows = Windows {
        threads: kernel.wave_count() * u64::from(LANES),
        scratchpad: head.number("shmem base_addr", 0)?,
        local: head.number("local mem base_addr", 0)?,
        clusters: head.number("binary version", 0)? >= CLUSTERS,
    };
    let layout = Layout { skip: usize::from(lineinfo != 0) + if version < 3 { 4 } else { 0 }, version };
    Ok(Started { kernel, layout, windows })
}

fn block(
    file: &mut File<impl BufRead>,
    started: &mut Started,
    options: &ReadOptions,
    tally: &mut Tally,
) -> Result<(), TraceError> {
    let Started { kernel, layout, windows } = started;
    let at = file.key("thread block")?;
    let parts = at.split(',').map(|n| n.trim().parse().ok()).collect::<Option<Vec<u32>>>();
    let found = parts.and_then(|p| <[u32; 3]>::try_from(p).ok()).and_then(|at| kernel.block_number(at));
    let Some(here) = found else { return file.wrong(format!("block {at:?} is none of the grid")) };
    loop {
        match file.next()? {
            Some("#END_TB") => return Ok(()),
            Some(line) if line.starts_with("cluster") => continue,
            Some(line) if line.starts_with("warp") => {}
            Some(line) => {
                let problem = format!("{line:?} where \"warp = ...\" or #END_TB is expected");
                return file.wrong(problem);
            }
            None => return file.wrong("the file ends inside a block, where #END_TB is expected"),
        }
        let word = file.text.split('=').nth(1).unwrap_or("").trim().to_string();
        let warp = u32::try_from(file.of(number(&word))?).unwrap_or(u32::MAX);
        let count = file.key("insts")?;
        let count = file.of(number(&count))?;
        let first_thread =
            (u64::from(here) * u64::from(kernel.waves_per_block) + u64::from(warp)) * u64::from(LANES);
        let mut wave = Wave::new(*windows, first_thread, options.unknown, tally);
        for n in 0..count {
            let Some(line) = file.next()?.map(str::to_string) else {
                return file.wrong(format!("the file ends after {n} of {count} instructions of warp {warp}"));
            };
            let result = take_apart(&line, *layout).and_then(|line| wave.instruction(&line));
            file.of(result)?;
        }
        let code = file.of(wave.end())?;
        if kernel.add_code(here, warp, &code).is_none() {
            return file.wrong(format!(
                "warp {warp} of block {at} is there already, or the block has none of this number"
            ));
        }
    }
}
