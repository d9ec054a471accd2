//! Recording of a run: what waves and the host do to memory, as it happens, into a [`weft_recording`] file. Nothing in the run changes by it.
//!
//! A run that fails is rewound and clocked once more for its waveform, and a clone of the model then tells what has been told already: every copy of a [`Recorder`] counts
//! what it has told, and what the recording holds is left out.

use crate::config::FabricConfig;
use crate::cu::{Issuer, LineAccess, Model, Who};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use weft_blocks::msg::CuOp;
use weft_recording::{Access, Fence, Head, Kind, Record, Thread, Writer};
use weft_workload::op::size_mask;
use weft_workload::program::{Array, PAGE_BYTES};
use weft_workload::{Addrs, AmoKind, Class, MapKind, Mapping, Op, Scope, Sem, Token, Values};

type Out = Box<dyn Write + Send>;

/// A recording under way.
pub struct Recording {
    sink: Arc<Mutex<Sink>>,
}

impl Recording {
    /// Writes the head.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(out: Out, head: &Head) -> io::Result<Recording> {
        let sink = Sink {
            writer: Some(Writer::new(out, head)?),
            told: 0,
            kernel: HashMap::new(),
            open: HashMap::new(),
            cycle: 0,
            error: None,
        };
        Ok(Recording { sink: Arc::new(Mutex::new(sink)) })
    }

    /// Why runs on a fabric are not recorded, if so: a sentence.
    pub fn refuses(config: &FabricConfig) -> Option<String> {
        let hardware = config.hardware();
        let shape = hardware.shape();
        let stashes = (0..shape.cus).any(|unit| hardware.stash(unit).is_some());
        let name = &config.name;
        stashes.then(|| {
            format!("accesses to the stashes of {name} are not recorded, and without them a recording says nothing: set local_memory to scratchpad or dma, or record nothing")
        })
    }

    /// The head of a recording of a program on a fabric; `command` are the words that make the same run.
    pub fn head(config: &FabricConfig, workload: &str, command: Vec<String>) -> Head {
        let hardware = config.hardware();
        let (mode, shape) = (hardware.mode(), hardware.shape());
        let model = match mode.model {
            Model::Sc => "sc",
            Model::Drf0 => "drf0",
            Model::Drf1 => "drf1",
            Model::Drfrlx => "drfrlx",
        };
        Head {
            fabric: config.name.clone(),
            workload: workload.into(),
            command,
            model: model.into(),
            scopes: mode.scopes,
            data_coherent: hardware.data_coherent(),
            posted: mode.posted,
            line: shape.line,
            gpms: shape.gpms,
            cores: shape.cores_each(),
        }
    }

    /// What a run tells; a program's memory begins with these arrays.
    pub(super) fn recorder(&self, arrays: &[Array]) -> Recorder {
        let mut recorder = Recorder { sink: self.sink.clone(), told: 0 };
        for array in arrays {
            recorder.tell(|sink| sink.memory(array.addr, &array.init, true));
        }
        recorder
    }

    /// Closes the recording of a run that has ended, or has failed. What is under way is recorded as open.
    ///
    /// # Errors
    /// When it, or something before, could not be written.
    pub fn finish(self, failure: Option<String>) -> io::Result<()> {
        let mut sink = lock(&self.sink);
        let cycle = sink.cycle;
        let mut open: Vec<Open> = sink.open.drain().map(|(_, open)| open).collect();
        open.sort_by_key(|open| (open.taken, open.thread, open.op.as_ref().map_or(0, |op| op.index)));
        for open in open {
            if let Some(access) = open.access(None, cycle) {
                sink.write(Record::Open(Box::new(access)));
            }
        }
        sink.write(Record::End { cycle, failure });
        if let Some(error) = sink.error.take() {
            return Err(error);
        }
        sink.writer.take().map_or(Ok(()), |writer| writer.finish().map(|_| ()))
    }
}

fn lock(sink: &Mutex<Sink>) -> MutexGuard<'_, Sink> {
    // A panic elsewhere leaves what was written until then.
    sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Tells a recording what happens; one copy for each copy of the model.
#[derive(Clone)]
pub(super) struct Recorder {
    sink: Arc<Mutex<Sink>>,
    /// What this copy has told.
    told: u64,
}

impl Recorder {
    fn tell(&mut self, what: impl FnOnce(&mut Sink)) {
        self.told += 1;
        let mut sink = lock(&self.sink);
        if self.told > sink.told {
            sink.told = self.told;
            what(&mut sink);
        }
    }

    pub fn memory(&mut self, addr: u64, bytes: &[u8]) {
        self.tell(|sink| sink.memory(addr, bytes, false));
    }

    pub fn kernel(&mut self, name: &str, cycle: u64) {
        self.tell(|sink| {
            sink.kernel.clear();
            sink.write(Record::Kernel { name: name.into(), cycle });
        });
    }

    pub fn boundary(&mut self, cycle: u64) {
        self.tell(|sink| sink.write(Record::Boundary { cycle }));
    }

    pub fn barrier(&mut self, who: &Who, cycle: u64) {
        self.tell(|sink| sink.write(Record::Barrier { block: who.block, cycle }));
    }

    pub fn operation(&mut self, who: &Who, number: u32, op: &Op) {
        self.tell(|sink| sink.wave(who).operation(number, op));
    }

    pub fn fence(&mut self, who: &Who, fence: (Sem, Scope), parts: u32, now: u64) {
        self.tell(|sink| sink.fence(who, fence, parts, now));
    }

    pub fn taken(&mut self, from: &Issuer, access: &LineAccess, addr: u64, now: u64) {
        self.tell(|sink| sink.taken(from, access, addr, now));
    }

    pub fn complete(&mut self, who: &Who, access: &LineAccess, old: Option<&[u64; 16]>, now: u64) {
        self.tell(|sink| sink.complete(who, access, old, now));
    }
}

/// An operation as its wave has issued it.
#[derive(Clone, Debug)]
struct Issued {
    index: u32,
    kind: Kind,
    access: weft_workload::Access,
    /// It is a transfer of the DMA engine, whose lines go beside those of other operations.
    engine: bool,
    wanted: bool,
    data: Vec<u32>,
    awaited: Vec<u32>,
}

/// A wave of the present kernel.
#[derive(Debug)]
struct Wave {
    thread: u32,
    /// Place of its next operation.
    next: u32,
    /// Which operation makes a token.
    makers: HashMap<Token, u32>,
    /// Operations awaited since the last one.
    awaited: Vec<u32>,
    /// Operations of which a line access may still be to come, by number.
    issued: HashMap<u32, Arc<Issued>>,
    /// A fence, and answers that it waits for.
    fence: Option<(Fence, u32)>,
}

impl Wave {
    fn operation(&mut self, number: u32, op: &Op) {
        let (kind, access, values, token, wanted) = match op {
            Op::Load { token, access } => (Kind::Load, access, None, Some(*token), true),
            Op::Store { access, values } => (Kind::Store, access, Some(values), None, false),
            Op::Amo { token, access, kind, values, ret, .. } => {
                (Kind::Amo(*kind), access, Some(values), Some(*token), *ret)
            }
            Op::Map { kind, map } if *kind != MapKind::Stash => return self.transfer(number, *kind, map),
            Op::Await { tokens } => {
                let makers = tokens.iter().filter_map(|token| self.makers.get(token));
                self.awaited.extend(makers);
                self.awaited.sort_unstable();
                self.awaited.dedup();
                return;
            }
            Op::LdsLoad { token, .. } | Op::LdsAmo { token, .. } | Op::Compute { token: Some(token), .. } => {
                self.makers.remove(token);
                return;
            }
            _ => return,
        };
        if access.mask == 0 {
            return;
        }
        let data = match values {
            Some(Values::Token(token)) => self.makers.get(token).copied().into_iter().collect(),
            _ => Vec::new(),
        };
        let (index, awaited) = self.next();
        let issued = Issued { index, kind, access: access.clone(), engine: false, wanted, data, awaited };
        if let Some(token) = token {
            self.makers.insert(token, index);
        }
        self.issued.insert(number, Arc::new(issued));
    }

    /// A mapping is executed; if its transfer begins by that, its lines have this number.
    /// The lines are accesses of the wave that begins the transfer. That all waves of the work-group have executed the mapping by then is not recorded: a race may be found between two transfers
    /// of a work-group that is none.
    fn transfer(&mut self, number: u32, kind: MapKind, map: &Mapping) {
        let kind = if kind == MapKind::DmaOut { Kind::Store } else { Kind::Load };
        let none = Addrs::Strided { base: 0, stride: 0 };
        let access = weft_workload::Access::data(map.element as u8, none, 0);
        let (index, awaited) = self.next();
        let issued = Issued { index, kind, access, engine: true, wanted: true, data: Vec::new(), awaited };
        self.issued.insert(number, Arc::new(issued));
    }

    fn next(&mut self) -> (u32, Vec<u32>) {
        self.next += 1;
        (self.next - 1, std::mem::take(&mut self.awaited))
    }
}

/// An access that the L1 has taken.
struct Open {
    thread: u32,
    /// None of a release or acquire.
    op: Option<Arc<Issued>>,
    access: LineAccess,
    addr: u64,
    taken: u64,
}

impl Open {
    /// As it is recorded, answered with old values or not.
    fn access(&self, old: Option<&[u64; 16]>, done: u64) -> Option<Access> {
        let op = self.op.as_ref()?;
        let bytes = |data: &[u64; 16]| -> Vec<u8> {
            let places = (0..128).filter(|n| self.access.mask >> n & 1 == 1);
            places.map(|n| (data[n / 8] >> (8 * (n % 8))) as u8).collect()
        };
        let written = match (op.kind, old) {
            (Kind::Load, _) => Vec::new(),
            (Kind::Store, _) | (Kind::Amo(_), None) => bytes(&self.access.data),
            (Kind::Amo(kind), Some(old)) => {
                self.left(kind, op.access.size, old).map_or(Vec::new(), |new| bytes(&new))
            }
        };
        let own = &op.access;
        Some(Access {
            thread: self.thread,
            index: op.index,
            kind: op.kind,
            class: own.class,
            sem: if own.class == Class::P { paired(op.kind, own.sem) } else { Sem::Relaxed },
            scope: own.scope,
            remote: own.remote,
            wanted: op.wanted,
            acked: self.access.want_ack,
            size: own.size,
            addr: self.addr,
            mask: self.access.mask,
            read: if op.kind == Kind::Store { Vec::new() } else { old.map(bytes).unwrap_or_default() },
            written,
            taken: self.taken,
            done,
            data: op.data.clone(),
            awaited: op.awaited.clone(),
        })
    }

    /// What an atomic leaves; nothing of a compare-and-swap that fails, which is alone in its access.
    fn left(&self, kind: AmoKind, size: u8, old: &[u64; 16]) -> Option<[u64; 16]> {
        let (a, mut new) = (&self.access, *old);
        let keep = size_mask(size);
        for offset in (0..128).step_by(size.into()).filter(|n| a.mask >> n & 1 == 1) {
            let (word, shift) = (offset / 8, 8 * (offset % 8));
            let of = |data: &[u64; 16]| data[word] >> shift & keep;
            if kind == AmoKind::Cas && of(old) != a.cmp & keep {
                return None;
            }
            let left = kind.apply(size, a.sgn, of(old), of(&a.data), a.cmp);
            new[word] = new[word] & !(keep << shift) | left << shift;
        }
        Some(new)
    }
}

/// What a paired access orders: as the program says, or the default of its kind.
fn paired(kind: Kind, own: Sem) -> Sem {
    match (own, kind) {
        (Sem::Relaxed, Kind::Load) => Sem::Acquire,
        (Sem::Relaxed, Kind::Store) => Sem::Release,
        (Sem::Relaxed, Kind::Amo(_)) => Sem::AcquireRelease,
        (own, _) => own,
    }
}

/// Where records go.
struct Sink {
    writer: Option<Writer<Out>>,
    /// What the foremost copy of the model has told.
    told: u64,
    /// Waves of the present kernel, by work-group and wave.
    kernel: HashMap<(u32, u32), Wave>,
    /// By node, compute unit and transaction number.
    open: HashMap<(u32, u32, u16), Open>,
    /// Last cycle in which something was complete.
    cycle: u64,
    /// The first error of the file.
    error: Option<io::Error>,
}

impl Sink {
    fn write(&mut self, record: Record) {
        match &record {
            Record::Access(access) => self.cycle = access.done,
            Record::Boundary { cycle } => self.cycle = *cycle,
            _ => {}
        }
        if let (Some(writer), None) = (&mut self.writer, &self.error) {
            self.error = writer.write(record).err();
        }
    }

    /// The host puts bytes into memory, which was `fresh` and zero or not.
    fn memory(&mut self, addr: u64, bytes: &[u8], fresh: bool) {
        for (addr, page) in (addr..).step_by(PAGE_BYTES as usize).zip(bytes.chunks(PAGE_BYTES as usize)) {
            if !fresh || page.iter().any(|byte| *byte != 0) {
                self.write(Record::Memory { addr, bytes: page.to_vec() });
            }
        }
    }

    fn wave(&mut self, who: &Who) -> &mut Wave {
        let (key, thread) = ((who.block, who.wave), self.kernel.len() as u32);
        if !self.kernel.contains_key(&key) {
            let made = Thread { node: who.gpu, cu: who.cu, block: who.block, wave: who.wave };
            self.write(Record::Thread(made));
        }
        self.kernel.entry(key).or_insert_with(|| Wave {
            thread,
            next: 0,
            makers: HashMap::new(),
            awaited: Vec::new(),
            issued: HashMap::new(),
            fence: None,
        })
    }

    fn fence(&mut self, who: &Who, (sem, scope): (Sem, Scope), parts: u32, now: u64) {
        let wave = self.wave(who);
        let (index, awaited) = wave.next();
        let fence = Fence { thread: wave.thread, index, sem, scope, taken: now, done: now, awaited };
        if parts > 0 {
            wave.fence = Some((fence, parts));
        } else {
            self.write(Record::Fence(fence));
        }
    }

    fn taken(&mut self, from: &Issuer, access: &LineAccess, addr: u64, now: u64) {
        let who = &from.who;
        let wave = self.wave(who);
        // Line accesses are taken in order: of operations before this one none is to come.
        wave.issued.retain(|number, op| *number >= from.operation || op.engine);
        let (thread, op) = (wave.thread, wave.issued.get(&from.operation).cloned());
        let op = op.filter(|_| !matches!(access.op, CuOp::Rel | CuOp::Acq));
        self.open.insert(
            (who.gpu, who.cu, access.id),
            Open { thread, op, access: access.clone(), addr, taken: now },
        );
    }

    fn complete(&mut self, who: &Who, access: &LineAccess, old: Option<&[u64; 16]>, now: u64) {
        let Some(open) = self.open.remove(&(who.gpu, who.cu, access.id)) else { return };
        if let Some(access) = open.access(old, now) {
            return self.write(Record::Access(Box::new(access)));
        }
        let wave = self.wave(who);
        let Some((mut fence, parts)) = wave.fence.take() else { return };
        if parts > 1 {
            wave.fence = Some((fence, parts - 1));
        } else {
            fence.done = now;
            self.write(Record::Fence(fence));
        }
    }
}
