//! Which bits of a state nobody will read, as data.
//!
//! Two states that differ in such bits only are one. A rule that is wrong is found out: every step is also made from a state whose dead bits are noise, and must lead to
//! the same state ([`crate::block::Block`]).

use weft_engine::layout::Layout;
use weft_rtl::bv::limbs_for;
use weft_rtl::netlist::Netlist;

/// What is dead.
#[derive(Clone, Debug)]
pub enum What {
    /// Registers. A name that ends in `*` stands for all that begin so, except those that end in `_valid`.
    Regs(String),
    /// Bits of a register, each a cell of its own.
    Flags(String),
    /// One bit of a register.
    Flag(String, u32),
    /// Some bits of a register: lowest, number.
    Span(String, u32, u32),
    /// Cells of a memory: cell `row * lanes + lane`. Conditions of a rule speak of the same cell.
    Cells(String),
    /// One cell of a memory.
    Cell(String, u32),
    /// Some bits of the cells of a memory: lowest, number.
    Bits(String, u32, u32),
    /// Some bits of one cell of a memory: cell, lowest, number.
    Part(String, u32, u32, u32),
    /// Where in its memory a queue begins: registers `NAME_head` and, if there is one, `NAME_tail`, and the rows of memory `NAME_rows` or `NAME_queue`. Takes no conditions.
    Ring(String),
}

/// When it is not.
#[derive(Clone, Debug)]
pub enum When {
    /// A register is not zero.
    Some(String),
    /// A register's value is one of these.
    Is(String, Vec<u64>),
    /// A register's value is none of these.
    Not(String, Vec<u64>),
    /// A register has the number of the cell.
    Here(String),
    /// A register has another number than that of the cell.
    Elsewhere(String),
    /// The register's bit with the number of the cell is set.
    Bit(String),
    /// This bit of a register is set.
    At(String, u32),
    /// This bit of a register is not set.
    Clear(String, u32),
    /// Of a memory whose lanes are ways: bit `row` of the register NAME`lane` is set.
    Way(String),
    /// In the same cell of a memory these bits (lowest, number) have one of these values; no values: they are not zero.
    Cell(String, u32, u32, Vec<u64>),
    /// The same of this cell of a memory.
    Of(String, u32, u32, u32, Vec<u64>),
    /// All of these hold.
    All(Vec<When>),
}

/// Something is dead unless one of some conditions holds.
#[derive(Clone, Debug)]
pub struct Dead {
    /// What.
    pub what: Vec<What>,
    /// Conditions; none: it is always dead.
    pub unless: Vec<When>,
}

/// A rule.
pub fn dead(what: &[What], unless: &[When]) -> Dead {
    Dead { what: what.to_vec(), unless: unless.to_vec() }
}

/// A number in a state: `(limbs[at] >> shift) & mask`.
#[derive(Clone, Debug)]
struct Test {
    at: usize,
    shift: u32,
    mask: u64,
    /// One of these; empty: not zero.
    values: Vec<u64>,
    /// The opposite.
    not: bool,
}

impl Test {
    fn holds(&self, limbs: &[u64]) -> bool {
        let value = limbs[self.at] >> self.shift & self.mask;
        let holds = if self.values.is_empty() { value != 0 } else { self.values.contains(&value) };
        holds != self.not
    }
}

/// A rule for one design: bits, and conditions of which one must hold (each a list of tests that must all hold).
#[derive(Clone, Debug)]
struct Compiled {
    bits: Vec<(usize, u64)>,
    unless: Vec<Vec<Test>>,
    ring: Option<Ring>,
}

/// A queue whose beginning means nothing.
#[derive(Clone, Debug)]
struct Ring {
    /// Head, and tail if there is one.
    ends: Vec<usize>,
    /// First limb of its memory, rows, limbs of a row.
    first: usize,
    rows: usize,
    limbs: usize,
}

impl Ring {
    /// Moves everything so that the queue begins so many rows later.
    fn turn(&self, limbs: &mut [u64], by: usize) {
        let rows = &mut limbs[self.first..self.first + self.rows * self.limbs];
        rows.rotate_right(by % self.rows * self.limbs);
        for end in &self.ends {
            limbs[*end] = (limbs[*end] + by as u64) % self.rows as u64;
        }
    }
}

impl Compiled {
    fn lives(&self, limbs: &[u64]) -> bool {
        self.unless.iter().any(|all| all.iter().all(|test| test.holds(limbs)))
    }
}

/// The rules of a design: those that are stated, then those that are guessed.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    dead: Vec<Compiled>,
    stated: usize,
}

/// Where things lie.
struct Place<'a> {
    netlist: &'a Netlist,
    layout: &'a Layout,
}

fn names(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start) && !name.ends_with("_valid"),
        None => name == pattern,
    }
}

/// Limbs with the mask of `bits` bits from `lo` on.
fn span(first: usize, lo: u32, bits: u32) -> Vec<(usize, u64)> {
    let (mut out, mut at, end) = (Vec::new(), lo, lo + bits);
    while at < end {
        let stop = end.min((at / 64 + 1) * 64);
        let ones = if stop - at == 64 { u64::MAX } else { (1 << (stop - at)) - 1 };
        out.push((first + at as usize / 64, ones << (at % 64)));
        at = stop;
    }
    out
}

fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

impl Place<'_> {
    fn regs(&self, pattern: &str) -> Vec<(usize, u32)> {
        let regs = self.netlist.regs.iter().enumerate().filter(|(_, reg)| names(pattern, &reg.path));
        let found: Vec<_> = regs.map(|(i, reg)| (self.layout.regs[i], reg.width)).collect();
        assert!(!found.is_empty(), "a rule names {pattern}, but there is no such register");
        found
    }
    fn reg(&self, name: &str) -> (usize, u32) {
        self.regs(name)[0]
    }
    /// First limb, cells, lanes, bits of a cell.
    fn memory(&self, name: &str) -> (usize, u32, u32, u32) {
        let number = self.netlist.mems.iter().position(|mem| mem.path == name);
        let number = number.unwrap_or_else(|| panic!("a rule names {name}, but there is no such memory"));
        let mem = &self.netlist.mems[number];
        (self.layout.mems[number], mem.rows * mem.lanes, mem.lanes, mem.lane_width)
    }
    fn bits(&self, what: &What, cell: u32) -> Vec<(usize, u64)> {
        let in_cell = |name: &str, cell: u32, part: Option<(u32, u32)>| {
            let (at, _, _, width) = self.memory(name);
            let (lo, bits) = part.unwrap_or((0, width));
            span(at + cell as usize * limbs_for(width), lo, bits)
        };
        match what {
            What::Regs(pattern) => {
                self.regs(pattern).into_iter().flat_map(|(at, width)| span(at, 0, width)).collect()
            }
            What::Flags(name) => span(self.reg(name).0, cell, 1),
            What::Flag(name, bit) => span(self.reg(name).0, *bit, 1),
            What::Span(name, lo, bits) => span(self.reg(name).0, *lo, *bits),
            What::Cells(name) => in_cell(name, cell, None),
            What::Cell(name, only) => in_cell(name, *only, None),
            What::Bits(name, lo, bits) => in_cell(name, cell, Some((*lo, *bits))),
            What::Part(name, only, lo, bits) => in_cell(name, *only, Some((*lo, *bits))),
            What::Ring(_) => Vec::new(),
        }
    }
    /// Cells that a rule speaks of, and lanes of a row.
    fn cells(&self, what: &What) -> (std::ops::Range<u32>, u32) {
        match what {
            What::Regs(_) | What::Flag(..) | What::Span(..) | What::Ring(_) => (0..1, 1),
            What::Flags(name) => (0..self.reg(name).1, 1),
            What::Cell(name, only) | What::Part(name, only, ..) => (*only..only + 1, self.memory(name).2),
            What::Cells(name) | What::Bits(name, ..) => {
                let (_, cells, lanes, _) = self.memory(name);
                (0..cells, lanes)
            }
        }
    }
    fn ring(&self, name: &str) -> Ring {
        let named = |path: &str| self.netlist.regs.iter().position(|reg| reg.path == path);
        let tail = named(&format!("{name}_tail")).map(|at| self.layout.regs[at]);
        let ends = [self.reg(&format!("{name}_head")).0].into_iter().chain(tail).collect();
        let queue = format!("{name}_queue");
        let there = self.netlist.mems.iter().any(|mem| mem.path == queue);
        let (first, rows, _, width) = self.memory(&if there { queue } else { format!("{name}_rows") });
        Ring { ends, first, rows: rows as usize, limbs: limbs_for(width) }
    }
    fn in_cell(&self, name: &str, cell: u32, lo: u32, bits: u32, values: &[u64]) -> Test {
        let (at, _, _, width) = self.memory(name);
        let at = at + cell as usize * limbs_for(width) + lo as usize / 64;
        assert!(lo % 64 + bits <= 64, "a condition on {name} crosses a word");
        Test { at, shift: lo % 64, mask: ones(bits), values: values.to_vec(), not: false }
    }
    fn tests(&self, when: &When, cell: u32, lanes: u32) -> Vec<Test> {
        let reg = |name: &str, values: Vec<u64>| {
            let (at, width) = self.reg(name);
            Test { at, shift: 0, mask: ones(width), values, not: false }
        };
        let bit = |name: &str, bit: u32| {
            let (at, width) = self.reg(name);
            assert!(bit < width, "a rule speaks of bit {bit} of {name}, which has {width}");
            Test { at: at + bit as usize / 64, shift: bit % 64, mask: 1, values: vec![], not: false }
        };
        match when {
            When::Some(name) => vec![reg(name, vec![])],
            When::Is(name, values) => vec![reg(name, values.clone())],
            When::Not(name, values) => vec![Test { not: true, ..reg(name, values.clone()) }],
            When::Here(name) => vec![reg(name, vec![u64::from(cell)])],
            When::Elsewhere(name) => vec![Test { not: true, ..reg(name, vec![u64::from(cell)]) }],
            When::Bit(name) => vec![bit(name, cell)],
            When::At(name, number) => vec![bit(name, *number)],
            When::Clear(name, number) => vec![Test { not: true, ..bit(name, *number) }],
            When::Way(name) => vec![bit(&format!("{name}{}", cell % lanes), cell / lanes)],
            When::Cell(name, lo, bits, values) => vec![self.in_cell(name, cell, *lo, *bits, values)],
            When::Of(name, only, lo, bits, values) => vec![self.in_cell(name, *only, *lo, *bits, values)],
            When::All(all) => all.iter().flat_map(|when| self.tests(when, cell, lanes)).collect(),
        }
    }
}

impl Rules {
    /// The rules for a design.
    ///
    /// # Panics
    /// When a rule names something that is not there.
    pub fn new(rules: &[Dead], netlist: &Netlist, layout: &Layout) -> Rules {
        let mut out = Rules::default();
        out.add(rules, &Place { netlist, layout });
        out.stated = out.dead.len();
        out
    }

    /// Adds rules that may be dropped again.
    ///
    /// # Panics
    /// When a rule names something that is not there.
    pub fn guess(&mut self, guesses: &[Dead], netlist: &Netlist, layout: &Layout) {
        self.add(guesses, &Place { netlist, layout });
    }

    fn add(&mut self, rules: &[Dead], place: &Place<'_>) {
        for rule in rules {
            for what in &rule.what {
                if let What::Ring(name) = what {
                    let ring = Some(place.ring(name));
                    self.dead.push(Compiled { bits: Vec::new(), unless: Vec::new(), ring });
                    continue;
                }
                let (cells, lanes) = place.cells(what);
                for cell in cells {
                    let unless = rule.unless.iter().map(|when| place.tests(when, cell, lanes)).collect();
                    self.dead.push(Compiled { bits: place.bits(what, cell), unless, ring: None });
                }
            }
        }
    }

    /// Rules in all, each bit of a register or cell of a memory that one speaks of counted.
    pub fn len(&self) -> usize {
        self.dead.len()
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.dead.is_empty()
    }

    /// Those that are guessed.
    pub fn guesses(&self) -> std::ops::Range<usize> {
        self.stated..self.dead.len()
    }

    /// A rule calls something dead in a state.
    pub fn is_dead(&self, rule: usize, limbs: &[u64]) -> bool {
        let rule = &self.dead[rule];
        rule.ring.is_some() || (!rule.bits.is_empty() && !rule.lives(limbs))
    }

    /// A rule calls nothing dead any more.
    pub fn drop_rule(&mut self, rule: usize) {
        self.dead[rule].bits.clear();
        self.dead[rule].ring = None;
    }

    /// Marks the dead bits of a state.
    pub fn mark(&self, limbs: &[u64], dead: &mut [u64]) {
        self.mark_some(limbs, 0..self.dead.len(), dead);
    }

    /// Marks what some of the rules call dead.
    pub fn mark_some(&self, limbs: &[u64], rules: std::ops::Range<usize>, dead: &mut [u64]) {
        dead.fill(0);
        for rule in self.dead[rules].iter().filter(|rule| !rule.bits.is_empty()) {
            if !rule.lives(limbs) {
                rule.bits.iter().for_each(|(at, mask)| dead[*at] |= mask);
            }
        }
    }

    /// Lets every queue begin at row 0.
    pub fn straighten(&self, limbs: &mut [u64]) {
        for ring in self.dead.iter().filter_map(|rule| rule.ring.as_ref()) {
            let head = limbs[ring.ends[0]] as usize;
            if head != 0 {
                ring.turn(limbs, ring.rows - head);
            }
        }
    }

    /// Lets every queue of some of the rules that begins at row 0 begin anywhere.
    pub fn turn_some(&self, limbs: &mut [u64], rules: std::ops::Range<usize>, noise: u64) {
        let rings = self.dead[rules].iter().filter_map(|rule| rule.ring.as_ref());
        rings.for_each(|ring| ring.turn(limbs, noise as usize % ring.rows));
    }
}
