//! What a configuration must be like, in sentences that name the option of `weft explore spandex`.

use super::{Config, Kind, Op, faults};

/// Most devices: what an operation follows is a word of 32 bits.
const MOST_DEVICES: usize = 4;
/// Most operations of a core.
const MOST_OPERATIONS: usize = 8;
/// Most operations of a core that are open together.
const MOST_OPEN: usize = 4;
/// Most lines: X, Y, Z.
pub const MOST_LINES: u8 = 3;
/// Most messages that a network holds of a device, or for it.
const MOST_HELD: usize = 16;

impl Config {
    /// Checks what the blocks themselves do not.
    ///
    /// # Errors
    /// A sentence about the first value that is not legal.
    pub fn validate(&self) -> Result<(), String> {
        self.check_devices()?;
        let of_lists = |d: usize| self.issued(d).iter().map(move |op| (d, *op));
        (0..self.devices.len()).flat_map(of_lists).try_for_each(|(d, op)| self.check_op("--ops", d, op))?;
        self.prelude.iter().try_for_each(|(d, op)| self.check_op("--prelude", *d, *op))?;
        let within = |option: &str, value: usize, least: usize, most: usize| match value {
            value if (least..=most).contains(&value) => Ok(()),
            value => Err(format!("{option} {value}: legal are {least}..{most}")),
        };
        within("--lines", self.lines.len(), 1, MOST_LINES.into())?;
        within("--open", self.open, 1, MOST_OPEN)?;
        within("--link", self.link, 1, MOST_HELD)?;
        self.budgets.iter().try_for_each(|budget| within("--budget", *budget, 0, MOST_OPERATIONS))
    }

    /// What a device may do that does anything.
    fn issued(&self, device: usize) -> &[Op] {
        if self.budget(device) > 0 { self.alphabet(device) } else { &[] }
    }

    fn check_devices(&self) -> Result<(), String> {
        let (count, words) = (self.devices.len(), words(&self.devices));
        if !(1..=MOST_DEVICES).contains(&count) {
            return Err(format!("--devices {words}: {count} devices; legal are 1..{MOST_DEVICES}"));
        }
        let mut sorted = self.devices.clone();
        sorted.sort_by_key(|kind| !kind.shares());
        if sorted != self.devices {
            let right = self::words(&sorted);
            return Err(format!(
                "--devices {words}: devices that may hold words in state S (mesi, flex) come first: {right}"
            ));
        }
        for (option, given) in [("--ops", self.alphabets.len()), ("--budget", self.budgets.len())] {
            if given > count {
                return Err(format!("{option} is given for {given} devices; --devices {words} has {count}"));
            }
        }
        self.check_fault()?;
        match self.guess {
            Some(guess) if guess >= count => {
                Err(format!("--guess {guess}: legal with --devices {words}: 0..{}", count - 1))
            }
            Some(guess) if !self.devices.contains(&Kind::Flex) => {
                Err(format!("--guess {guess}: only flex devices guess; --devices {words} has none"))
            }
            _ => Ok(()),
        }
    }

    /// The block with the fault is there.
    fn check_fault(&self) -> Result<(), String> {
        let name = faults::name(&self.faults);
        let block = name.split(':').next().unwrap_or_default();
        let of = |kind: &&Kind| block.split('-').any(|part| part == kind.word());
        match Kind::ALL.iter().find(of) {
            Some(kind) if !self.devices.contains(kind) => {
                let devices = words(&self.devices);
                Err(format!(
                    "--inject {name}: none of the devices {devices} has a {block}; {} has",
                    kind.word()
                ))
            }
            _ => Ok(()),
        }
    }

    /// An operation of the prelude or of a list.
    fn check_op(&self, option: &str, device: usize, op: Op) -> Result<(), String> {
        let (count, lines) = (self.devices.len(), self.lines.len());
        let Some(kind) = self.devices.get(device) else {
            return Err(format!("{option} {device}:{op}: devices are 0..{}", count - 1));
        };
        let word = kind.word();
        if op.line() >= lines {
            return Err(format!("{option} {op}: --lines is {lines}; more lines make it legal"));
        }
        if *kind != Kind::Flex && op.hint().0 != 0 {
            return Err(format!(
                "{option} {op}: device {device} is {word}; only flex takes requests by name"
            ));
        }
        match (op.is_of(*kind), kind) {
            (true, _) => {}
            (false, Kind::Stash) => {
                return Err(format!(
                    "{option} {op}: device {device} is stash; legal there: LD, ST, ACQ, MAP"
                ));
            }
            (false, _) => {
                return Err(format!("{option} {op}: device {device} is {word}; MAP is legal on stash alone"));
            }
        }
        let Op::Here(line, words) = op else { return Ok(()) };
        if !self.scopes {
            return Err(format!("{option} {op}: is of CU scope, which --scopes makes legal"));
        }
        if *kind != Kind::Gpu {
            return Err(format!("{option} {op}: device {device} is {word}; legal on gpu alone"));
        }
        let others = (0..count).filter(|other| *other != device);
        let written = |other: usize| {
            let prelude = self.prelude.iter().filter(move |own| own.0 == other).map(|own| &own.1);
            self.issued(other)
                .iter()
                .chain(prelude)
                .any(|op| op.writes() && op.line() == usize::from(line) && op.words() & words != 0)
        };
        match others.into_iter().find(|other| written(*other)) {
            Some(other) => Err(format!(
                "{option} {op}: device {other} writes the word, too; of CU scope is what one device writes"
            )),
            None => Ok(()),
        }
    }
}

/// Devices as they stand on the command line.
pub(super) fn words(devices: &[Kind]) -> String {
    devices.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(",")
}

impl Op {
    /// A device of a kind can do it.
    pub(super) fn is_of(self, kind: Kind) -> bool {
        match kind {
            Kind::Stash => matches!(self, Op::Load(..) | Op::Store(..) | Op::Acquire | Op::Map(..)),
            _ => !matches!(self, Op::Map(..)),
        }
    }
}
