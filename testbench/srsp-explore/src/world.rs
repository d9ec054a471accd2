//! Waves that ask, memory that answers, the hub, and what is remembered of the order in which that happens.

use super::form::Forms;
use super::judge::Judge;
use super::ops::{Access, DATA_AT, Issued, Memory, Op, SYNC_AT, Scope, performed, value, value_text};
use super::{Config, text};
use std::rc::Rc;
use weft_blocks::msg::{AmoOp, CuOp};
use weft_explore::form::Form;
use weft_explore::net::World;
use weft_rtl::value::HwEnum;
use weft_srsp::msg::{MemOp, SyncOp};

/// Numbers of the world's ports.
pub(super) struct Ports {
    pub cus: usize,
}

impl Ports {
    pub fn requests(&self, cu: usize) -> usize {
        cu
    }
    pub fn answers(&self, cu: usize) -> usize {
        self.cus + cu
    }
    pub fn casts(&self, cu: usize) -> usize {
        2 * self.cus + cu
    }
    pub fn memory(&self, bank: usize) -> usize {
        3 * self.cus + bank
    }
}

/// Bits of a transaction number that count the operations of a wave; the wave stands above.
const SEQ_BITS: u32 = 4;

/// The world of a net ([`super::build()`]).
pub struct Cus {
    config: Config,
    request: Rc<Form>,
    probe: Rc<Form>,
    memory: Rc<Form>,
}

/// An access of a synchronising operation on the CU port.
fn code(access: Access) -> (CuOp, AmoOp) {
    match access {
        Access::Ld => (CuOp::Ld, AmoOp::Add),
        Access::St => (CuOp::St, AmoOp::Add),
        Access::Rmw => (CuOp::Amo, AmoOp::Exch),
        Access::Cas => (CuOp::Amo, AmoOp::Cas),
    }
}

impl Cus {
    /// The world of a configuration.
    pub(super) fn new(config: &Config, forms: &Forms) -> Cus {
        Cus {
            config: config.clone(),
            request: forms.cu_req.clone(),
            probe: forms.probe.clone(),
            memory: forms.mem_rsp.clone(),
        }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The rules for the operations of a state.
    pub fn judge<'a>(&self, state: &'a Memory) -> Judge<'a> {
        Judge::new(state, self.config.gpu.heeds(), self.config.waves)
    }

    fn message(&self, op: Op, wave: usize, seq: usize) -> Vec<u64> {
        let at = if op.synchronises() { SYNC_AT } else { DATA_AT };
        let word = u64::from(value(wave, seq)) << (8 * at);
        let common = [
            ("line", self.config.line(op.line())),
            ("mask", 0xf << at),
            ("data", if op.writes(None) { word } else { 0 }),
            ("id", (wave << SEQ_BITS | seq) as u64),
        ];
        let own = match op {
            Op::Load(_) => vec![("op", CuOp::Ld.encoding())],
            Op::Store(_) => vec![("op", CuOp::St.encoding())],
            Op::Sync(access, sem, scope, _) => {
                let (op, amo) = code(access);
                let amo = if op == CuOp::Amo { amo.encoding() } else { 0 };
                let width = match scope {
                    Scope::Wg => 0,
                    Scope::Cmp | Scope::Remote => 1,
                    Scope::Sys => 2,
                };
                vec![
                    ("op", op.encoding()),
                    ("amo", amo),
                    ("sync", 1),
                    ("class", 1),
                    ("sem", sem.into()),
                    ("scope", width),
                    ("remote", (scope == Scope::Remote).into()),
                    ("want_ack", 1),
                ]
            }
        };
        self.request.message(&[&common[..], &own].concat())
    }

    /// The next operations that a wave may issue: none behind an access that synchronises before its answer,
    /// and a release behind the answers of all others.
    fn next_ops(&self, own: &[Issued], wave: usize) -> Vec<Op> {
        let open = || own.iter().filter(|issued| !issued.done);
        if own.len() >= self.config.budget(wave) || open().any(|issued| issued.op.synchronises()) {
            return Vec::new();
        }
        let count = open().count();
        let may = |op: &Op| match op {
            Op::Store(_) => true,
            Op::Load(_) => count < self.config.open,
            Op::Sync(..) => count == 0 || !op.releases(),
        };
        let list = self.config.alphabet(wave);
        let next = own.len() % list.len().max(1);
        let offered = if self.config.in_order { list.get(next..=next).unwrap_or(&[]) } else { list };
        offered.iter().copied().filter(may).collect()
    }

    /// Accesses of a variable that are over, a byte per wave, a bit per operation.
    fn over(state: &Memory, line: usize) -> u32 {
        let mut all = 0;
        for (wave, own) in state.waves.iter().enumerate() {
            for (seq, issued) in own.iter().enumerate() {
                let counts = issued.done && issued.op.synchronises() && issued.op.line() == line;
                all |= u32::from(counts) << (8 * wave + seq);
            }
        }
        all
    }

    fn asks(&self, state: &Memory, wave: usize) -> Vec<(Vec<u64>, Memory)> {
        let own = &state.waves[wave];
        let each = |op: Op| {
            let before = if op.synchronises() { Cus::over(state, op.line()) } else { 0 };
            let done = matches!(op, Op::Store(_));
            let mut after = state.clone();
            after.waves[wave].push(Issued { op, done, before, got: None });
            (self.message(op, wave, own.len()), after)
        };
        self.next_ops(own, wave).into_iter().map(each).collect()
    }

    fn answered(&self, state: &mut Memory, cu: usize, form: &Form, m: &[u64]) -> Result<(), String> {
        let id = form.get(m, "id") as usize;
        let (wave, seq) = (id >> SEQ_BITS, id & ((1 << SEQ_BITS) - 1));
        let own =
            state.waves.get(wave).filter(|_| self.config.cu_of(wave) == cu).and_then(|own| own.get(seq));
        let Some(op) = own.filter(|issued| !issued.done).map(|issued| issued.op) else {
            return Err(format!(
                "operation {seq} of wave {wave} is answered by L1 {cu}, which does not have it"
            ));
        };
        let at = if op.synchronises() { SYNC_AT } else { DATA_AT };
        let got = (form.get(m, "data") >> (8 * at)) as u32;
        state.waves[wave][seq].done = true;
        if op.synchronises() && op.reads() {
            state.waves[wave][seq].got = Some(got);
        }
        let judge = self.judge(state);
        let judged = match op {
            Op::Load(line) => judge.load((wave, seq), line.into(), got),
            Op::Store(_) => Ok(()),
            Op::Sync(.., line) => judge.variable(line.into(), None),
        };
        let got = if op.reads() { format!(" gets {}", value_text(got)) } else { " is over".to_string() };
        judged.map_err(|text| match op {
            Op::Load(_) => format!("operation {seq} of wave {wave}, {op}, gets {text}"),
            _ => format!("operation {seq} of wave {wave}, {op},{got}; {text}"),
        })
    }

    /// The hub: a copy of the probe for each L1 of the mask.
    fn cast(&self, form: &Form, m: &[u64]) -> Vec<(usize, Vec<u64>)> {
        let fields = ["op", "addr", "req"].map(|name| (name, form.get(m, &format!("probe_{name}"))));
        let probe = self.probe.message(&fields);
        let mask = form.get(m, "dst");
        let chosen = (0..self.config.cus()).filter(|cu| mask >> cu & 1 == 1);
        chosen.map(|cu| (self.config.hub_link(cu), probe.clone())).collect()
    }

    fn perform(
        &self,
        state: &mut Memory,
        bank: usize,
        form: &Form,
        m: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String> {
        let addr = form.get(m, "atomic_addr");
        let at = (0..self.config.lines).find(|line| self.config.line(*line) == addr / 64);
        let at =
            at.ok_or_else(|| format!("byte {addr:#x} of memory is asked for, of a line which no CU uses"))?;
        let line = &mut state.lines[at];
        let mut data = u64::from(line[0]) | u64::from(line[1]) << 32;
        match form.get(m, "op") {
            op if op == MemOp::Wr.encoding() => {
                let (mask, put) = (form.get(m, "mask"), form.get(m, "data"));
                for byte in (0..8).filter(|byte| mask >> byte & 1 == 1) {
                    let here = 0xff << (8 * byte);
                    data = data & !here | put & here;
                }
                *line = [data as u32, (data >> 32) as u32];
                data = 0;
            }
            op if op == MemOp::Amo.encoding() => {
                let word = &mut line[(addr % 64 / 4) as usize];
                let (opnd, cmp) = (form.get(m, "atomic_opnd") as u32, form.get(m, "atomic_cmp") as u32);
                let code = form.get(m, "atomic_op");
                let op = SyncOp::VARIANTS.iter().find(|op| op.encoding() == code).copied();
                data = (*word).into();
                *word = performed(op.unwrap_or(SyncOp::Ld), *word, opnd, cmp);
            }
            _ => {}
        }
        let answer = self.memory.message(&[("id", form.get(m, "id")), ("data", data)]);
        Ok(vec![(self.config.memory_link(bank), answer)])
    }
}

impl World for Cus {
    type State = Memory;

    fn start(&self) -> Memory {
        Memory {
            waves: vec![Vec::new(); self.config.cus() * self.config.waves],
            lines: vec![[0; 2]; self.config.lines],
        }
    }

    fn offers(&self, state: &Memory, port: usize) -> Vec<(Vec<u64>, Memory)> {
        let waves = self.config.waves;
        (port * waves..(port + 1) * waves).flat_map(|wave| self.asks(state, wave)).collect()
    }

    fn take(
        &self,
        state: &mut Memory,
        port: usize,
        form: &Form,
        message: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String> {
        let cus = self.config.cus();
        match port / cus {
            1 => self.answered(state, port % cus, form, message).map(|()| Vec::new()),
            2 => Ok(self.cast(form, message)),
            _ => self.perform(state, port - 3 * cus, form, message),
        }
    }

    fn finished(&self, state: &Memory) -> bool {
        let through = |(wave, own): (usize, &Vec<Issued>)| {
            own.iter().all(|issued| issued.done) && self.next_ops(own, wave).is_empty()
        };
        state.waves.iter().enumerate().all(through)
    }

    fn check(&self, _: &Memory) -> Result<(), String> {
        Ok(())
    }

    fn story(&self, state: &Memory) -> Vec<String> {
        let mut lines = Vec::new();
        for (wave, own) in state.waves.iter().enumerate() {
            for (seq, issued) in own.iter().enumerate() {
                let end = match (issued.done, issued.got) {
                    (true, Some(got)) => format!("done, found {}", value_text(got)),
                    (true, None) => "done".to_string(),
                    (false, _) => "open".to_string(),
                };
                lines.push(format!(
                    "wave {wave} of CU {}, operation {seq}: {}  {end}",
                    self.config.cu_of(wave),
                    issued.op
                ));
            }
        }
        lines
    }

    fn text(&self, place: &str, form: &Form, message: &[u64]) -> String {
        text::message(&self.config, place, form, message)
    }
}
