//! What the devices of a configuration ask for, by the requests as names of rows have them.

use super::super::{Config, Hint, Kind, Op};
use weft_spandex::llc::ReqsPolicy;

/// A request, in small letters.
type Request = &'static str;

/// Requests that an operation leads to.
fn of(kind: Kind, op: Op) -> &'static [Request] {
    let (atomic, load) = (op.updates(), matches!(op, Op::Load(..)));
    match (kind, op) {
        (_, Op::Acquire | Op::Map(..)) => &[],
        (Kind::Mesi, Op::Load(..)) => &["reqs"],
        (Kind::Mesi, _) => &["reqodata"],
        (Kind::Gpu, Op::Here(..)) => &["reqv", "reqwt"],
        (Kind::Gpu, Op::Store(..)) => &["reqwt"],
        (Kind::Gpu, _) if atomic => &["reqwtdata"],
        (Kind::Gpu, _) => &["reqv"],
        (Kind::Flex, _) if load && op.hint().request() == Hint::REQ_S => &["reqs"],
        (Kind::Flex, _) if op.hint().request() == Hint::REQ_O_DATA => &["reqodata"],
        (Kind::Flex, _) if atomic && op.hint().writes_through() => &["reqwtdata"],
        (Kind::Flex, Op::Store(..)) if op.hint().request() == Hint::REQ_WT_FWD => &["reqwtfwd"],
        (Kind::Flex, Op::Store(..)) if op.hint().writes_through() => &["reqwt"],
        _ if atomic => &["reqodata"],
        _ if load => &["reqv"],
        _ => &["reqo"],
    }
}

/// Of a device, what it does.
fn ops(config: &Config, device: usize) -> impl Iterator<Item = (Kind, Op)> {
    let there = config.budget(device) > 0;
    let own = config.alphabet(device).iter().filter(move |_| there);
    let prelude = config.prelude.iter().filter(move |(of, _)| *of == device).map(|(_, op)| op);
    own.chain(prelude).map(move |op| (config.devices[device], *op))
}

impl Config {
    /// Everything that is done.
    pub(super) fn done(&self) -> impl Iterator<Item = (Kind, Op)> {
        (0..self.devices.len()).flat_map(|device| ops(self, device))
    }

    /// A request is sent.
    pub(super) fn sends(&self, request: &str) -> bool {
        self.done().any(|(kind, op)| of(kind, op).contains(&request))
    }

    /// A request of both words, or of the line, is sent.
    pub(super) fn sends_both(&self, request: &str) -> bool {
        self.done().any(|(kind, op)| {
            let loads_line = kind == Kind::Gpu && matches!(op, Op::Load(..) | Op::Here(..));
            let both = kind == Kind::Mesi || loads_line || op.words() == 3 || op.hint().is_line();
            both && of(kind, op).contains(&request)
        })
    }

    /// Requests that lead to a forward; none: it needs something else, which is there.
    fn leads_to(&self, forward: &str) -> Option<&'static [Request]> {
        match forward {
            "reqo" => Some(&["reqo", "reqwt"]),
            "reqodata" if matches!(self.reqs, ReqsPolicy::Opt3 | ReqsPolicy::Eval) => {
                Some(&["reqodata", "reqs"])
            }
            "reqodata" => Some(&["reqodata"]),
            "reqwt" => self.guess.is_none().then_some(&["reqwtfwd"]),
            "reqv" if self.reqs == ReqsPolicy::Opt2 => Some(&["reqv", "reqs"]),
            "reqv" => Some(&["reqv"]),
            "reqs" if matches!(self.reqs, ReqsPolicy::Opt1 | ReqsPolicy::Eval) => Some(&["reqs"]),
            "rvko" => (self.lines.len() as u32 <= self.bank.1).then_some(&["reqwtdata"]),
            "inv" if self.shares_lines() => None,
            _ => Some(&[]),
        }
    }

    /// Devices of a kind may get a forward: another device sends what leads to it.
    pub(super) fn forwards(&self, kind: Kind, forward: &str) -> bool {
        let Some(from) = self.leads_to(forward) else { return true };
        let leads = |(kind, op): (Kind, Op)| of(kind, op).iter().any(|request| from.contains(request));
        let devices = 0..self.devices.len();
        let asked = |mine: usize| devices.clone().any(|other| other != mine && ops(self, other).any(leads));
        devices.clone().any(|mine| self.devices[mine] == kind && asked(mine))
    }

    /// Lines may come into state S.
    pub(super) fn shares_lines(&self) -> bool {
        let sharers = self.devices.iter().filter(|kind| kind.shares()).count();
        let policy = match self.reqs {
            ReqsPolicy::Opt1 => true,
            ReqsPolicy::Eval => sharers > 1,
            ReqsPolicy::Opt2 | ReqsPolicy::Opt3 => false,
        };
        policy && self.sends("reqs")
    }
}
