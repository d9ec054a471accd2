//! Parameters of the L1.

use crate::l1::L1Params;
use crate::params::{Impl, Srsp, srsp_from, srsp_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::bv::bits_for;

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum HlrcInject {
    /// None.
    None,
    /// REVOKE_ACK is sent before the flush has completed.
    FlushAfterAck,
    /// Gaining a line drops nothing.
    NoGainInv,
    /// A revoked line is captured when its flush has completed, and is used until then.
    LateCapture,
    /// An invalidation leaves no mark on lines under way.
    NoNoinst,
    /// The CU gate stays open after a gain.
    OpenGate,
    /// A read of an owned line does not wait for the write-back of its bytes.
    ReadPastWb,
}

impl HlrcInject {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(HlrcInject, &'static str)] = &[
        (HlrcInject::None, "none"),
        (HlrcInject::FlushAfterAck, "flush-after-ack"),
        (HlrcInject::NoGainInv, "no-gain-inv"),
        (HlrcInject::LateCapture, "late-capture"),
        (HlrcInject::NoNoinst, "no-noinst"),
        (HlrcInject::OpenGate, "open-gate"),
        (HlrcInject::ReadPastWb, "read-past-wb"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        HlrcInject::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }

    fn from_set(set: &ParamSet) -> Result<HlrcInject, BlockError> {
        let text = set.text("inject");
        let found = HlrcInject::WORDS.iter().find(|w| w.1 == text);
        found.map(|w| w.0).ok_or_else(|| set.illegal("inject", "it is not known"))
    }
}

/// What fixes an L1 of hLRC (srsp.md sections 2 and 9).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HlrcL1Params {
    /// Widths of messages; MSHRs and WBT entries.
    pub srsp: Srsp,
    /// Capacity in bytes: 16 KB.
    pub size: u32,
    /// Ways, a power of two, 2..32.
    pub ways: u32,
    /// Cycles from the slot of an operation to its answer, 2..64.
    pub latency: u32,
    /// Entries of the sFIFO, 2..256.
    pub sfifo: u32,
    /// Operations that wait for one line, 1..64.
    pub targets: u32,
    /// Operations of several steps (fences, begin and end of kernels) that wait behind the one at work, 1..64.
    pub sq: u32,
    /// Victims are lines that are not registered, while there are any: `OWNED_AWARE`.
    pub owned_aware: bool,
    /// Fault (simulation only).
    pub inject: HlrcInject,
}

impl HlrcL1Params {
    /// The published L1: 16 KB in 16 ways, 4 cycles.
    pub fn published(srsp: Srsp) -> HlrcL1Params {
        HlrcL1Params {
            srsp,
            size: 16 << 10,
            ways: 16,
            latency: 4,
            sfifo: 16,
            targets: 8,
            sq: 8,
            owned_aware: true,
            inject: HlrcInject::None,
        }
    }

    /// Sets.
    pub fn sets(&self) -> u32 {
        self.size / (self.srsp.line * self.ways)
    }
    /// Width of a set number.
    pub fn set_bits(&self) -> u32 {
        bits_for(u64::from(self.sets()))
    }
    /// Width of a tag.
    pub fn tag_bits(&self) -> u32 {
        self.srsp.line_bits() - self.set_bits()
    }
    /// Width of a way number.
    pub fn way_bits(&self) -> u32 {
        bits_for(u64::from(self.ways))
    }
    /// Width of an sFIFO index.
    pub fn ptr_bits(&self) -> u32 {
        bits_for(u64::from(self.sfifo))
    }
    /// Width of a target's number.
    pub fn target_bits(&self) -> u32 {
        bits_for(u64::from(self.targets))
    }
    /// Width of a byte offset in a line.
    pub fn offset_bits(&self) -> u32 {
        self.srsp.line.trailing_zeros()
    }

    /// What the parts that are the same as in `srsp-l1` go by.
    pub(super) fn shared(&self) -> L1Params {
        L1Params {
            size: self.size,
            ways: self.ways,
            latency: self.latency,
            sfifo: self.sfifo,
            targets: self.targets,
            sq: self.sq,
            ..L1Params::published(self.srsp.clone(), Impl::Base)
        }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        format!(
            "hlrc_l1_{}_s{}_w{}_d{}_f{}_t{}_q{}_o{}_{}",
            self.srsp.tag(),
            self.size,
            self.ways,
            self.latency,
            self.sfifo,
            self.targets,
            self.sq,
            u8::from(self.owned_aware),
            self.inject.word().replace('-', "_"),
        )
    }

    /// Checks the values that are not [`Srsp`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let check = |good: bool, key: &str, value: u32, problem: &str, legal: &str| {
            if good {
                return Ok(());
            }
            let (key, value, problem, legal) = (key.into(), value.to_string(), problem.into(), legal.into());
            Err(BlockError::Illegal { block: "hlrc-l1".into(), key, value, problem, legal })
        };
        let outside = "it lies outside";
        let ways = self.ways.is_power_of_two() && (2..=32).contains(&self.ways);
        check(ways, "ways", self.ways, "it is no supported number of ways", "2, 4, 8, 16, 32")?;
        let sets = self.size.is_multiple_of(self.srsp.line * self.ways) && self.sets().is_power_of_two();
        check(
            sets && (2..=1024).contains(&self.sets()),
            "size",
            self.size,
            "size / (ways * line) is no power of two from 2 to 1024",
            "ways * line * 2^k, k in 1..10",
        )?;
        check((2..=64).contains(&self.latency), "latency", self.latency, outside, "2..64")?;
        check((2..=256).contains(&self.sfifo), "sfifo", self.sfifo, outside, "2..256")?;
        check((1..=64).contains(&self.targets), "targets", self.targets, outside, "1..64")?;
        check((1..=64).contains(&self.sq), "sq", self.sq, outside, "1..64")
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<HlrcL1Params, BlockError> {
        let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
        let params = HlrcL1Params {
            srsp: srsp_from(set)?,
            size: number("size", 128, 1 << 22)?,
            ways: number("ways", 2, 32)?,
            latency: number("latency", 2, 64)?,
            sfifo: number("sfifo", 2, 256)?,
            targets: number("targets", 1, 64)?,
            sq: number("sq", 1, 64)?,
            owned_aware: number("owned_aware", 0, 1)? == 1,
            inject: HlrcInject::from_set(set)?,
        };
        params.validate()?;
        Ok(params)
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut list = vec![
        info("size", "16K", "ways * line * 2^k, k in 1..10", "bytes of data"),
        info("ways", "16", "2, 4, 8, 16, 32", "ways of a set"),
        info("latency", "4", "2..64", "cycles from the slot of an operation to its answer"),
        info("sfifo", "16", "2..256", "entries of the sFIFO"),
        info("targets", "8", "1..64", "operations that wait for one line"),
        info("sq", "8", "1..64", "operations of several steps that wait behind the one at work"),
        info(
            "owned_aware",
            "1",
            "0 or 1",
            "1: victims are lines that are not registered, while there are any",
        ),
        info(
            "inject",
            "none",
            "none, flush-after-ack, no-gain-inv, late-capture, no-noinst, open-gate, read-past-wb",
            "fault put in on purpose, for simulation",
        ),
    ];
    list.extend(srsp_params());
    list
}
