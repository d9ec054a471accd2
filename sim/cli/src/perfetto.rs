//! Transactions in the JSON format of the Chrome trace viewer, which ui.perfetto.dev opens: a track for each block, a flow from each request to its answer.
//!
//! A cycle is a microsecond of the trace. On the track of a block stand the messages that it sends and, where one ends, receives (slices of a cycle), and the rows
//! and races that it meets (instants); what a block waits for is a span of its own beside the track. Bytes on links are counters.

use anyhow::{Error, anyhow};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use weft_events::hops::Hops;
use weft_events::{Log, What};
use weft_output::{Output, OutputError};

/// Refuses a name that says no format.
///
/// # Errors
/// Another ending than `.json` or `.json.gz`.
pub fn check_name(path: &Path) -> Result<(), Error> {
    let name = path.to_string_lossy();
    if name.ends_with(".json") || name.ends_with(".json.gz") {
        return Ok(());
    }
    Err(anyhow!("--trace {}: its name must end with .json or .json.gz", path.display()))
}

/// Writes a log as a trace, of whole cycles until it has `limit` bytes (not packed). Tells the first cycle left out.
///
/// # Errors
/// A disk that is full.
pub fn write(log: &Log, path: &Path, limit: u64) -> Result<Option<u64>, Error> {
    let mut out = BufWriter::new(Output::create(path)?);
    let failed = |cause| OutputError::of(path, &cause);
    let left = if path.extension().is_some_and(|e| e == "gz") {
        let mut packed = BufWriter::new(GzEncoder::new(out, Compression::fast()));
        let left = Export::new(log).write(&mut packed, limit).map_err(failed)?;
        let packed = packed.into_inner().map_err(|e| failed(e.into_error()))?;
        out = packed.finish().map_err(failed)?;
        left
    } else {
        Export::new(log).write(&mut out, limit).map_err(failed)?
    };
    out.into_inner().map_err(|e| failed(e.into_error()))?.commit()?;
    Ok(left)
}

/// A list of events being written.
struct List<'o, W> {
    out: &'o mut W,
    text: Vec<u8>,
    /// Written so far.
    bytes: u64,
}

impl<W: Write> List<'_, W> {
    fn put(&mut self, text: &str) -> io::Result<()> {
        self.bytes += text.len() as u64;
        self.out.write_all(text.as_bytes())
    }

    /// Writes an event behind another one.
    fn add(&mut self, event: &Value) -> io::Result<()> {
        self.text.clear();
        self.text.extend(b",\n");
        serde_json::to_writer(&mut self.text, event)?;
        self.bytes += self.text.len() as u64;
        self.out.write_all(&self.text)
    }
}

struct Export<'a> {
    log: &'a Log,
    hops: Hops,
    /// By actor: process and thread.
    tracks: Vec<(u64, u64)>,
    processes: BTreeMap<String, u64>,
}

impl<'a> Export<'a> {
    fn new(log: &'a Log) -> Export<'a> {
        let mut processes: BTreeMap<String, u64> = BTreeMap::new();
        let groups: Vec<String> = log.header.actors.iter().map(|a| group(&a.name)).collect();
        for group in &groups {
            processes.entry(group.clone()).or_insert(0);
        }
        processes.values_mut().zip(1..).for_each(|(number, next)| *number = next);
        let tracks = groups.iter().zip(1..).map(|(group, thread)| (processes[group], thread)).collect();
        Export { log, hops: Hops::new(log), tracks, processes }
    }

    fn write(&self, out: &mut impl Write, limit: u64) -> io::Result<Option<u64>> {
        let h = &self.log.header;
        let about = json!({"fabric": h.fabric, "workload": h.workload, "time": "1 us = 1 cycle"});
        let mut list = List { out, text: Vec::new(), bytes: 0 };
        list.put(&format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[\n"))?;
        let program =
            json!({"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "program"}});
        list.put(&program.to_string())?;
        self.names().iter().try_for_each(|event| list.add(event))?;
        let steps = self.log.steps.iter();
        steps.map(|s| span(&s.name, s.start, s.end)).try_for_each(|event| list.add(&event))?;
        let left = self.timed(&mut list, limit)?;
        list.put("\n]}\n")?;
        list.out.flush()?;
        Ok(left)
    }

    /// All that has a time, in its order, as the format wants it within a track. What an event writes lies at
    /// its own time or later, so that of the future only what has begun is kept.
    fn timed(&self, list: &mut List<impl Write>, limit: u64) -> io::Result<Option<u64>> {
        let mut ahead: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
        let mut counters: Vec<(u64, Value)> = self.counters();
        counters.sort_by_key(|(cycle, _)| *cycle);
        let mut counters = counters.into_iter().peekable();
        let mut room = Vec::new();
        let mut next = 0;
        let events = &self.log.events;
        loop {
            let open = ahead.first_key_value().map(|(cycle, _)| *cycle);
            let new = events.get(next as usize).map(|event| event.cycle);
            let counted = counters.peek().map(|(cycle, _)| *cycle);
            let Some(now) = [open, new, counted].into_iter().flatten().min() else { return Ok(None) };
            if list.bytes >= limit {
                return Ok(Some(now));
            }
            while events.get(next as usize).is_some_and(|event| event.cycle <= now) {
                self.event(next, &mut room);
                room.drain(..).for_each(|(cycle, event)| ahead.entry(cycle).or_default().push(event));
                next += 1;
            }
            ahead.remove(&now).iter().flatten().try_for_each(|event| list.add(event))?;
            while let Some((_, event)) = counters.next_if(|(cycle, _)| *cycle <= now) {
                list.add(&event)?;
            }
        }
    }

    /// Names of processes and threads.
    fn names(&self) -> Vec<Value> {
        let name = |what: &str, pid: u64, tid: u64, name: &str| json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}});
        let groups = self.processes.iter();
        let mut out: Vec<Value> = groups.map(|(group, pid)| name("process_name", *pid, 0, group)).collect();
        let actors = self.log.header.actors.iter().zip(&self.tracks);
        out.extend(actors.map(|(actor, (pid, tid))| name("thread_name", *pid, *tid, &actor.name)));
        out
    }

    fn event(&self, number: u32, out: &mut Vec<(u64, Value)>) {
        let (event, at) = (&self.log.events[number as usize], number as usize);
        let line = self.hops.line[at].map(|line| format!("{:#x}", self.log.header.address(line)));
        match &event.what {
            What::Row { actor, row, cycles, .. } => {
                let (pid, tid) = self.tracks[*actor as usize];
                let info = self.log.row(*actor, *row);
                let args = json!({"line": line, "meaning": info.text, "cycles": cycles});
                let mark = json!({"ph": "i", "s": "t", "cat": "row", "name": info.id, "ts": event.cycle, "pid": pid, "tid": tid, "args": args});
                out.push((event.cycle, mark));
            }
            What::Message { channel, limbs, .. } => {
                let c = &self.log.header.channels[*channel as usize];
                let operation = self.log.header.operation(*channel, self.log.fields(limbs));
                let details = self.log.header.details(*channel, self.log.fields(limbs));
                let slice = |actor: u32, name: String, other: &str| {
                    let (pid, tid) = self.tracks[actor as usize];
                    let args =
                        json!({"line": line, "fields": details, "channel": c.from_port, "with": other});
                    json!({"ph": "X", "cat": "message", "name": name, "ts": event.cycle, "dur": 1, "pid": pid, "tid": tid, "args": args})
                };
                let (from, to) = (self.log.name(c.from), self.log.name(c.to));
                out.push((event.cycle, slice(c.from, format!("{operation} to {to}"), to)));
                if self.hops.after[at].is_none() || self.hops.request[at].is_some() {
                    out.push((event.cycle, slice(c.to, format!("{operation} from {from}"), from)));
                }
                self.wait(number, c.from, &operation, line, out);
                self.flow(number, out);
            }
        }
    }

    /// A request that is answered, as a span.
    fn wait(&self, number: u32, actor: u32, name: &str, line: Option<String>, out: &mut Vec<(u64, Value)>) {
        let Some(answer) = self.hops.answer[number as usize] else { return };
        let ((pid, tid), cycle) =
            (self.tracks[actor as usize], |event: u32| self.log.events[event as usize].cycle);
        let end = |phase: &str, ts: u64| json!({"ph": phase, "cat": "request", "id": number, "name": name, "ts": ts, "pid": pid, "tid": tid, "args": {"line": line}});
        out.push((cycle(number), end("b", cycle(number))));
        out.push((cycle(answer), end("e", cycle(answer))));
    }

    /// The flow from a request to its answer: it begins where the request is sent, goes on where it or its answer are passed on, and ends where the answer arrives.
    fn flow(&self, number: u32, out: &mut Vec<(u64, Value)>) {
        let Some(answer) = self.hops.answer[number as usize] else { return };
        let mut way = vec![];
        let mut next = Some(number);
        while let Some(event) = next {
            way.push(event);
            next = self.hops.after[event as usize];
        }
        let mut back = self.hops.origin(answer);
        loop {
            way.push(back);
            match self.hops.after[back as usize] {
                Some(after) if back != answer => back = after,
                _ => break,
            }
        }
        // An answer that sets out before its request has come is not its.
        if !way.is_sorted_by_key(|event| self.log.events[*event as usize].cycle) {
            return;
        }
        let step = |phase: &str, event: u32, receiver: bool| {
            let cycle = self.log.events[event as usize].cycle;
            let c = weft_events::hops::channel(self.log, event).expect("messages only");
            let (pid, tid) = self.tracks[if receiver { c.to } else { c.from } as usize];
            let mut value = json!({"ph": phase, "cat": "transaction", "id": number, "name": "transaction", "ts": cycle, "pid": pid, "tid": tid});
            if phase == "f" {
                value["bp"] = "e".into();
            }
            (cycle, value)
        };
        out.push(step("s", number, false));
        out.extend(way[1..].iter().map(|event| step("t", *event, false)));
        out.push(step("f", answer, true));
    }

    fn counters(&self) -> Vec<(u64, Value)> {
        let counter = |sent: &weft_events::read::Sent| {
            let meter = &self.log.header.meters[sent.meter as usize];
            let (pid, tid) = self.tracks[meter.actor as usize];
            let name = format!("{} {}", self.log.name(meter.actor), meter.name);
            (
                sent.start,
                json!({"ph": "C", "name": name, "ts": sent.start, "pid": pid, "tid": tid, "args": {"bytes": sent.bytes}}),
            )
        };
        self.log.sent.iter().map(counter).collect()
    }
}

/// A kernel or a copy.
fn span(name: &str, start: u64, end: u64) -> Value {
    json!({"ph": "X", "cat": "step", "name": name, "ts": start, "dur": end.saturating_sub(start), "pid": 0, "tid": 0})
}

/// What stands together: `gpu0` of `gpu0.bank1`; a model outside stands alone.
fn group(actor: &str) -> String {
    if actor.is_empty() {
        return "design".into();
    }
    actor.split('.').next().unwrap_or(actor).to_string()
}
