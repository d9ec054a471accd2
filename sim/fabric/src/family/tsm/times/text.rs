//! What is wrong, in sentences.

use super::unit::Op;
use super::{By, LineFault, Times};
use weft_blocks::msg::CuOp;

impl Times {
    /// A time: with its epoch, unless that is the first.
    pub(super) fn time(&self, time: u64) -> String {
        let epoch = time >> self.ts;
        if epoch == 0 { time.to_string() } else { format!("{epoch}:{}", time & ((1 << self.ts) - 1)) }
    }

    /// Who made an access.
    pub(super) fn who(&self, by: &By) -> String {
        let at = format!("gpu {} cu {}", by.gpu, by.cu);
        match by.wave {
            Some((kernel, block, wave)) => format!("kernel {kernel} work-group {block} wave {wave} ({at})"),
            None => at,
        }
    }

    /// An access by its kind.
    pub(super) fn name(&self, op: &Op) -> String {
        let what = match op.access.op {
            CuOp::Ld => "a load",
            CuOp::St => "a store",
            _ => "an atomic",
        };
        format!("{what} of {}", self.who(&op.by))
    }

    /// What is wrong with a line.
    pub(super) fn line_text(&self, line: u64, fault: &LineFault) -> String {
        let at = |time: &u64| self.time(*time);
        let line = format!("line {:#x}", line * 64);
        match fault {
            LineFault::Stale { read, byte, expected, written } => {
                let found = (read.bytes.data[*byte as usize / 8] >> (8 * (byte % 8))) as u8;
                let left = match written {
                    Some((time, by)) => format!("the write of {} at {}", self.who(by), at(time)),
                    None => "what was there before the kernel".to_string(),
                };
                format!(
                    "{} finds {found:#04x} in byte {byte} of {line} at time {}, where {left} is the latest and left {expected:#04x}",
                    self.who(&read.by),
                    at(&read.time)
                )
            }
            LineFault::TooOld { read, floor } => {
                format!(
                    "{} reads {line} at time {}, which all clocks had passed at {}",
                    self.who(&read.by),
                    at(&read.time),
                    at(floor)
                )
            }
            LineFault::Late { time, by, floor } => format!(
                "{} writes {line} at time {}, although an access answered before the write was made bound at {}",
                self.who(by),
                at(time),
                at(floor)
            ),
            LineFault::Twice { time, by, other } => {
                format!("{} and {} write {line} at one time, {}", self.who(by), self.who(other), at(time))
            }
        }
    }
}
