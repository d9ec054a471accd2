//! Messages followed from block to block, and answers found for requests.
//!
//! A block that sends a message with all fields of one that has come to it passes that one on: crossbars, links, switches, queues.
//!
//! An answer belongs to a request that its receiver has sent from the channel beside it (`mem_req` and `mem_rsp`), with the same number in a field `id`, `txn`,
//! `tag`, `mshr`, `tbe` or `wbt`, of the same line if it names one, with the same operation if both name one of the same kind, and not yet answered. Numbers are
//! shared (posted stores of an L1), so several requests may fit: those that have come to who sends the answer go before others, and of those from one channel the
//! oldest is taken. Requests from several channels that fit alike are not told apart, and the answer is then nobody's. A store that wants no acknowledgement
//! (`want_ack` 0) asks for nothing.
//!
//! What names no line has the line of what it passes on or answers.

use crate::header::Header;
use crate::read::{Log, What};
use std::collections::{HashMap, VecDeque};

/// Names of fields by which an answer finds its request.
const NUMBERS: [&str; 6] = ["id", "txn", "tag", "mshr", "tbe", "wbt"];

/// Most messages of one content that a block is thought to hold.
const HELD: usize = 8;

/// Most unanswered requests of one number that are remembered; more than any block has under way.
const OPEN: usize = 64;

/// How the events of a log hang together; all numbers are those of events.
#[derive(Clone, Debug, Default)]
pub struct Hops {
    /// The message that a message carries on.
    pub before: Vec<Option<u32>>,
    /// The message that carries a message on.
    pub after: Vec<Option<u32>>,
    /// The request that a message answers, where it arrives at who has asked.
    pub request: Vec<Option<u32>>,
    /// The first message that answers a request, where it arrives.
    pub answer: Vec<Option<u32>>,
    /// The line that an event is about.
    pub line: Vec<Option<u64>>,
    /// Messages about the aligned group of lines around theirs, and lines of a group.
    groups: HashMap<u32, u64>,
}

/// What has to be known of a channel.
struct Kind {
    /// Fields in the order of their names: place of the first limb, limbs.
    fields: Vec<(usize, usize)>,
    /// Tells messages with other fields apart.
    names: u64,
    /// Numbers: name and limb.
    numbers: Vec<(&'static str, usize)>,
    /// What is the same of a request's channel and of its answer's, at who asks; none where messages ask, or answer, nothing.
    asks: Option<u32>,
    answers: Option<u32>,
    /// Limb of the operation, and its names.
    operation: Option<(usize, u32)>,
    /// Limb that says whether a store is acknowledged.
    want_ack: Option<usize>,
    /// Limb that says whether a group of lines is meant.
    grp: Option<usize>,
}

impl Kind {
    fn all(header: &Header) -> Vec<Kind> {
        let mut stems: Vec<String> = Vec::new();
        let mut number = |port: &str| {
            let stem = stem(port);
            let found = stems.iter().position(|known| *known == stem);
            found.unwrap_or_else(|| {
                stems.push(stem);
                stems.len() - 1
            }) as u32
        };
        header.channels.iter().map(|channel| Kind::new(channel, &mut number)).collect()
    }

    fn new(channel: &crate::Channel, stem: &mut impl FnMut(&str) -> u32) -> Kind {
        let (mut fields, mut numbers, mut at) = (Vec::new(), Vec::new(), 0);
        let (mut operation, mut want_ack, mut grp) = (None, None, None);
        for field in &channel.fields {
            fields.push((field.name.as_str(), at, field.limbs()));
            let last = field.name.rsplit('_').next().unwrap_or_default();
            numbers.extend(NUMBERS.iter().find(|n| **n == last).map(|n| (*n, at)));
            if matches!(last, "op" | "kind") {
                operation = operation.or(field.names.map(|names| (at, names)));
            }
            if field.name.ends_with("want_ack") {
                want_ack = Some(at);
            }
            if last == "grp" {
                grp = Some(at);
            }
            at += field.limbs();
        }
        fields.sort_unstable();
        let names = fields
            .iter()
            .fold(hash(0, 1), |h, (name, ..)| name.bytes().fold(hash(h, 2), |h, b| hash(h, b.into())));
        let fields = fields.iter().map(|(_, at, limbs)| (*at, *limbs)).collect();
        let asks = (!is_answer(&channel.from_port)).then(|| stem(&channel.from_port));
        let answers = (!is_request(&channel.to_port)).then(|| stem(&channel.to_port));
        Kind { fields, names, numbers, asks, answers, operation, want_ack, grp }
    }

    fn content(&self, limbs: &[u64]) -> u64 {
        let values = self.fields.iter().flat_map(|(at, count)| &limbs[*at..at + count]);
        values.fold(self.names, |h, limb| hash(h, *limb))
    }
}

fn hash(h: u64, x: u64) -> u64 {
    let mixed = (h ^ x).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 29)
}

/// The words of a port's name, without the numbers of ports.
fn words(port: &str) -> impl Iterator<Item = &str> {
    port.split('_').map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// Words that say which way a message goes, not which exchange it belongs to.
const DIRECTIONS: [&str; 9] = ["req", "rsp", "wb", "ack", "out", "in", "start", "done", "far"];

/// The name of a port without what says which way its messages go.
fn stem(port: &str) -> String {
    let kept = port.split('_').zip(words(port)).filter(|(_, word)| !DIRECTIONS.contains(word));
    kept.map(|(whole, _)| whole).collect::<Vec<_>>().join("_")
}

/// A port's messages are answers by its name.
fn is_answer(port: &str) -> bool {
    words(port).any(|word| matches!(word, "rsp" | "ack" | "done"))
}

/// A port's messages are requests by its name.
fn is_request(port: &str) -> bool {
    words(port).any(|word| matches!(word, "req" | "wb" | "start"))
}

struct Tracer<'a> {
    log: &'a Log,
    kinds: Vec<Kind>,
    hops: Hops,
    /// Messages that an actor has got, by content.
    held: HashMap<(u32, u64), VecDeque<u32>>,
    /// Unanswered requests of an actor, the oldest first, by stem of the channel, name and value of the number.
    open: HashMap<Number, VecDeque<u32>>,
    /// The newest answered one of each.
    closed: HashMap<Number, u32>,
}

/// Actor, stem of the channel, name and value of a number.
type Number = (u32, u32, &'static str, u64);

impl Hops {
    /// Follows all messages of a log.
    pub fn new(log: &Log) -> Hops {
        let none = vec![None; log.events.len()];
        let hops = Hops {
            before: none.clone(),
            after: none.clone(),
            request: none.clone(),
            answer: none,
            line: vec![None; log.events.len()],
            groups: HashMap::new(),
        };
        let kinds = Kind::all(&log.header);
        let mut tracer =
            Tracer { log, kinds, hops, held: HashMap::new(), open: HashMap::new(), closed: HashMap::new() };
        for number in 0..log.events.len() {
            match &log.events[number].what {
                What::Row { line, .. } => tracer.hops.line[number] = *line,
                What::Message { channel, line, limbs } => {
                    tracer.message(number as u32, *channel, *line, log.fields(limbs));
                }
            }
        }
        tracer.hops
    }

    /// An event is about a line, or about a group of lines that holds it.
    pub fn is_about(&self, event: u32, line: u64) -> bool {
        let group = self.groups.get(&event).copied().unwrap_or(1);
        self.line[event as usize].is_some_and(|of| of / group == line / group)
    }

    /// The first message of those of which this one is the last so far.
    pub fn origin(&self, event: u32) -> u32 {
        let mut at = event;
        while let Some(before) = self.before[at as usize] {
            at = before;
        }
        at
    }

    /// The last message that carries this one on.
    pub fn last(&self, event: u32) -> u32 {
        let mut at = event;
        while let Some(after) = self.after[at as usize] {
            at = after;
        }
        at
    }
}

impl Tracer<'_> {
    fn message(&mut self, event: u32, channel: u32, line: Option<u64>, limbs: &[u64]) {
        let (kind, c) = (&self.kinds[channel as usize], &self.log.header.channels[channel as usize]);
        let content = kind.content(limbs);
        let before = self.held.get_mut(&(c.from, content)).and_then(VecDeque::pop_front);
        let at = event as usize;
        self.hops.line[at] = line;
        if kind.grp.is_some_and(|limb| limbs[limb] == 1) && line.is_some() {
            self.hops.groups.insert(event, u64::from(self.log.header.group.max(1)));
        }
        if let Some(before) = before {
            self.hops.before[at] = Some(before);
            self.hops.after[before as usize] = Some(event);
            // The first sender knows best: a crossbar carries fences like anything else.
            self.hops.line[at] = self.hops.line[before as usize];
        }
        let held = self.held.entry((c.to, content)).or_default();
        held.push_back(event);
        if held.len() > HELD {
            held.pop_front();
        }
        if let Some(request) = self.answered(event, channel, limbs) {
            self.hops.request[at] = Some(request);
            self.hops.answer[request as usize].get_or_insert(event);
            self.tell_line(event, self.hops.line[request as usize]);
            self.close(request);
        }
        if before.is_none() {
            self.asked(event, channel, limbs);
        }
    }

    /// The hops of an answer learn its line where it arrives.
    fn tell_line(&mut self, event: u32, line: Option<u64>) {
        let mut at = Some(event);
        while let Some(event) = at.filter(|event| self.hops.line[*event as usize].is_none()) {
            self.hops.line[event as usize] = line;
            at = self.hops.before[event as usize];
        }
    }

    fn asked(&mut self, event: u32, channel: u32, limbs: &[u64]) {
        let kind = &self.kinds[channel as usize];
        let store = || self.log.header.operation(channel, limbs).starts_with("ST");
        if kind.want_ack.is_some_and(|at| limbs[at] == 0) && store() {
            return;
        }
        for number in self.numbers(event) {
            let open = self.open.entry(number).or_default();
            open.push_back(event);
            if open.len() > OPEN {
                open.pop_front();
            }
        }
    }

    /// Under what a request is looked for.
    fn numbers(&self, request: u32) -> Vec<Number> {
        let What::Message { channel, limbs, .. } = &self.log.events[request as usize].what else {
            return Vec::new();
        };
        let (kind, limbs) = (&self.kinds[*channel as usize], self.log.fields(limbs));
        let from = self.log.header.channels[*channel as usize].from;
        let number = |(name, limb): &(&'static str, usize)| Some((from, kind.asks?, *name, limbs[*limb]));
        kind.numbers.iter().filter_map(number).collect()
    }

    /// A request is answered.
    fn close(&mut self, request: u32) {
        for number in self.numbers(request) {
            if let Some(open) = self.open.get_mut(&number) {
                open.retain(|other| *other != request);
            }
            self.closed.insert(number, request);
        }
    }

    /// The request that a message answers.
    fn answered(&self, event: u32, channel: u32, limbs: &[u64]) -> Option<u32> {
        let (kind, c) = (&self.kinds[channel as usize], &self.log.header.channels[channel as usize]);
        let stem = kind.answers?;
        let numbers = || kind.numbers.iter().map(|(name, limb)| (c.to, stem, *name, limbs[*limb]));
        let mut found: Vec<u32> =
            numbers().filter_map(|number| self.open.get(&number)).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found.retain(|request| self.fits(event, kind, limbs, *request));
        let sender =
            channel_of(self.log, self.hops.origin(event)).map(|c| self.log.header.channels[c as usize].from);
        let came = |request: &u32| sender.is_some_and(|sender| self.came_to(*request, sender));
        if found.iter().any(came) {
            found.retain(came);
        }
        // An answer in several parts.
        let Some(oldest) = found.first() else { return self.further_part(event, kind, limbs, numbers()) };
        // Of the channel that its operation names, else of requests proper.
        let operation = self.log.header.operation(channel, limbs).to_lowercase();
        let rank = |request: u32| {
            let port = self::channel(self.log, request).map_or("", |c| c.from_port.as_str());
            let said = words(port).any(|word| word == "wb") && operation.contains("wb");
            if said { 0 } else { u8::from(!words(port).any(|word| word == "req")) + 1 }
        };
        let best = found.iter().map(|request| rank(*request)).min()?;
        let request = *found.iter().find(|request| rank(**request) == best).unwrap_or(oldest);
        let same = |other: &u32| {
            rank(*other) > best || channel_of(self.log, *other) == channel_of(self.log, request)
        };
        found.iter().all(same).then_some(request)
    }

    /// The request of which one answer has come already.
    fn further_part(
        &self,
        event: u32,
        kind: &Kind,
        limbs: &[u64],
        numbers: impl Iterator<Item = Number>,
    ) -> Option<u32> {
        let of_line = |request: &u32| {
            let line = self.hops.line[event as usize];
            line.is_some() && self.hops.line[*request as usize] == line
        };
        let mut closed = numbers.filter_map(|number| self.closed.get(&number)).copied();
        closed.find(|request| of_line(request) && self.fits(event, kind, limbs, *request))
    }

    /// A message may answer a request by its line and operation.
    fn fits(&self, event: u32, kind: &Kind, limbs: &[u64], request: u32) -> bool {
        let line = self.hops.line[event as usize];
        if line.is_some() && self.hops.line[request as usize] != line {
            return false;
        }
        let What::Message { channel, limbs: asked, .. } = &self.log.events[request as usize].what else {
            return false;
        };
        let (wanted, asked) = (&self.kinds[*channel as usize], self.log.fields(asked));
        match (kind.operation, wanted.operation) {
            (Some((at, names)), Some((there, same))) if names == same => limbs[at] == asked[there],
            _ => true,
        }
    }

    /// A request has come to an actor.
    fn came_to(&self, request: u32, actor: u32) -> bool {
        let mut at = Some(request);
        while let Some(event) = at {
            if self::channel(self.log, event).is_some_and(|c| c.to == actor) {
                return true;
            }
            at = self.hops.after[event as usize];
        }
        false
    }
}

/// The number of the channel of a message.
pub fn channel_of(log: &Log, event: u32) -> Option<u32> {
    match &log.events[event as usize].what {
        What::Message { channel, .. } => Some(*channel),
        What::Row { .. } => None,
    }
}

/// The channel of a message, as the head of the log describes it.
pub fn channel(log: &Log, event: u32) -> Option<&crate::Channel> {
    channel_of(log, event).map(|number| &log.header.channels[number as usize])
}
