//! A message from one device to another: words in many lines, then a flag. The words' bank is far from the writer and slow, the flag's bank stands beside it, so that a flag which does not wait
//! for the words is there long before them.

use weft_workload::{
    Access, Addrs, AmoKind, Array, Class, Frame, HostStep, Kernel, Layout, LoadedValues, Op, Program, Unit,
    Values, VerifyError,
};

/// Bytes of a line, and of a word.
const LINE: u64 = 64;
const WORD: u8 = 4;

/// Who sends; the receiver is the last CU in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// CPU core 0.
    Core,
    /// CU 0.
    Cu,
}

/// The message.
pub struct Message {
    arrays: Vec<Array>,
    writer: Writer,
    /// CPU cores and CUs of the fabric.
    cores: u32,
    cus: u32,
    /// Banks; the words are in lines of the last one, the flag is in one of the first.
    banks: u64,
    /// Words, each in a line of its own.
    words: u64,
    /// Ticks before the receiver looks for the first time.
    pause: u32,
}

impl Message {
    /// Of so many words; the fabric has so many cores, CUs and banks.
    pub fn new(writer: Writer, words: u64, (cores, cus, banks): (u32, u32, u64), pause: u32) -> Message {
        let mut layout = Layout::new();
        layout.add("flag", u64::from(WORD), 1, false, vec![]);
        layout.add("words", u64::from(WORD), words * banks * LINE / u64::from(WORD), false, vec![]);
        layout.add("seen", u64::from(WORD), words, false, vec![]);
        Message { arrays: layout.arrays().to_vec(), writer, cores, cus, banks, words, pause }
    }

    fn word(&self, i: u64) -> u64 {
        self.arrays[1].addr + (i * self.banks + self.banks - 1) * LINE
    }

    fn value(i: u64) -> u64 {
        1000 + i
    }

    fn access(addr: u64, class: Class) -> Access {
        Access { class, ..Access::data(WORD, Addrs::Strided { base: addr, stride: 0 }, 1) }
    }

    /// The flag is fetched, then the words are written, then the flag.
    fn write(&self, pc: u32) -> Vec<Op> {
        let flag = Message::access(self.arrays[0].addr, Class::P);
        let store = |access, value| Op::Store { access, values: Values::Const(value) };
        if pc == 1 {
            let (kind, values) = (AmoKind::Exch, Values::Const(0));
            let fetch =
                Op::Amo { token: 0, access: flag, kind, signed: false, values, compare: 0, ret: true };
            return vec![fetch, Op::Await { tokens: vec![0] }];
        }
        let words =
            (0..self.words).map(|i| store(Message::access(self.word(i), Class::D), Message::value(i)));
        words.chain([store(flag, 1), Op::End]).collect()
    }

    /// Looks at the flag until it is there, then reads the words from the last one, and keeps what it has read.
    fn read(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let words = 1..=self.words as u32;
        if frame.pc == 1 {
            let pause = Op::Compute {
                unit: Unit::Alu,
                latency: self.pause,
                occupancy: 0,
                needs: vec![],
                token: Some(0),
            };
            return vec![pause, Op::Await { tokens: vec![0] }];
        }
        if frame.pc == 3 && values.lane(0, 0) != 1 {
            frame.pc = 2;
        }
        match frame.pc {
            2 => {
                let access = Message::access(self.arrays[0].addr, Class::P);
                vec![Op::Load { token: 0, access }, Op::Await { tokens: vec![0] }]
            }
            3 => {
                let load = |token: u32| Op::Load {
                    token,
                    access: Message::access(self.word(u64::from(token) - 1), Class::D),
                };
                let all = words.clone().rev().map(load);
                all.chain([Op::Await { tokens: words.collect() }]).collect()
            }
            _ => {
                let keep = |token: u32| Op::Store {
                    access: Message::access(self.arrays[2].at(u64::from(token) - 1), Class::D),
                    values: Values::Token(token),
                };
                words.map(keep).chain([Op::End]).collect()
            }
        }
    }
}

impl Program for Message {
    fn name(&self) -> &str {
        "message"
    }
    fn lanes(&self) -> u32 {
        1
    }
    fn arrays(&self) -> &[Array] {
        &self.arrays
    }
    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        (index == 0).then(|| {
            HostStep::Launch(Kernel {
                id: 0,
                name: "message".to_owned(),
                blocks: self.cores + self.cus,
                cpus: self.cores,
                waves_per_block: 1,
                lds_bytes: 0,
                args: vec![],
                co_resident: true,
            })
        })
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, ..Frame::default() }
    }
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        frame.pc += 1;
        let writer = match self.writer {
            Writer::Core => 0,
            Writer::Cu => self.cores,
        };
        match frame.block {
            block if block == writer => self.write(frame.pc),
            block if block + 1 == self.cores + self.cus => self.read(frame, values),
            _ => vec![Op::End],
        }
    }
    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let found = |i: u64| {
            let bytes = memory(self.arrays[2].at(i), usize::from(WORD));
            bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let wrong: Vec<u64> = (0..self.words).filter(|i| found(*i) != Message::value(*i)).collect();
        let Some(first) = wrong.first() else { return Ok(()) };
        Err(VerifyError {
            program: "message".to_owned(),
            array: "seen".to_owned(),
            index: *first,
            found: found(*first).to_string(),
            expected: Message::value(*first).to_string(),
            wrong: wrong.len() as u64,
            total: self.words,
        })
    }
}
