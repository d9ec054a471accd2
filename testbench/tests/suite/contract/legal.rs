//! Values by the sentence that tells what is legal: those that must build, and those that must be refused.

/// What a text such as `power of two, 2..65536` says, with the other parameters' values put in for their
/// names.
#[derive(Debug, Default)]
pub struct Legal {
    /// Words of an enumeration.
    pub words: Vec<String>,
    listed: Vec<u64>,
    range: Option<(u64, u64)>,
    power: bool,
    steps: Option<Steps>,
    /// It says more, in words.
    open: bool,
}

/// `unit * 2^k`, or `unit * c * 2^k` with c odd and at most 15.
#[derive(Clone, Copy, Debug)]
struct Steps {
    unit: u64,
    k: Option<(u64, u64)>,
    odd: u64,
}

/// Values of other parameters, by name.
pub type Values<'a> = &'a dyn Fn(&str) -> Option<u64>;

/// A whole number, with K, M, G for powers of 1024.
pub fn number(text: &str) -> Option<u64> {
    let (digits, scale) = match text.chars().last()? {
        'K' => (&text[..text.len() - 1], 1 << 10),
        'M' => (&text[..text.len() - 1], 1 << 20),
        'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

/// A number, a parameter's name, a sum, difference or product of such, or `log2(...)` of one.
fn value(text: &str, values: Values) -> Option<u64> {
    let text = text.trim();
    for op in ['+', '-', '*'] {
        let depth = |at: usize| text[..at].matches('(').count() - text[..at].matches(')').count();
        if let Some((at, _)) = text.rmatch_indices(op).find(|(at, _)| depth(*at) == 0) {
            let (a, b) = (value(&text[..at], values)?, value(&text[at + 1..], values)?);
            return match op {
                '+' => Some(a + b),
                '-' => a.checked_sub(b),
                _ => Some(a * b),
            };
        }
    }
    match text.strip_prefix("log2(").and_then(|t| t.strip_suffix(')')) {
        Some(inner) => value(inner, values).map(|v| u64::from(v.next_power_of_two().trailing_zeros())),
        None => number(text).or_else(|| values(text)),
    }
}

fn is_word(text: &str) -> bool {
    let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(rest)
}

impl Legal {
    /// Reads a text.
    pub fn read(text: &str, values: Values) -> Legal {
        let mut legal = Legal::default();
        let (text, more) = text.split_once(';').unwrap_or((text, ""));
        legal.open = !more.is_empty();
        let mut plain = text.replace(" or ", ", ");
        while let Some(at) = plain.find(" (") {
            let end = plain[at..].find(')').map_or(plain.len(), |n| at + n + 1);
            plain.replace_range(at..end, "");
            legal.open = true;
        }
        for item in plain.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            legal.item(item, values);
        }
        legal
    }

    fn item(&mut self, item: &str, values: Values) {
        if item.ends_with("power of two") {
            self.power = true;
        } else if let Some(unit) = item.strip_suffix("2^k") {
            let unit = unit.trim().trim_end_matches('*').trim();
            let (unit, odd) = match unit.strip_suffix('c') {
                Some(rest) => (rest.trim().trim_end_matches('*').trim(), 15),
                None => (unit, 1),
            };
            let unit = if unit.is_empty() { Some(1) } else { value(unit, values) };
            self.steps = unit.map(|unit| Steps { unit, k: None, odd });
            self.open |= unit.is_none();
        } else if let (Some(range), Some(steps)) = (item.strip_prefix("k in "), &mut self.steps) {
            steps.k = range.split_once("..").and_then(|(a, b)| Some((number(a)?, number(b)?)));
        } else if let (Some(end), Some(last)) = (item.strip_prefix(".."), self.listed.last().copied()) {
            let end = value(end, values).unwrap_or(last);
            self.listed.extend((1..).map(|k| last << k).take_while(|v| *v <= end));
        } else if let Some((lo, hi)) = item.split_once("..") {
            match (value(lo, values), value(hi, values)) {
                (Some(lo), Some(hi)) => self.range = Some((lo, hi)),
                _ => self.open = true,
            }
        } else if let Some(listed) = number(item) {
            self.listed.push(listed);
        } else if is_word(item) {
            self.words.push(item.into());
        } else {
            self.open = true;
        }
    }

    /// The text is one of words, not of numbers.
    pub fn is_enumeration(&self) -> bool {
        !self.words.is_empty()
    }

    /// The ends of what is legal, or all of it where it is listed. Each of them builds, if the other
    /// parameters let it.
    pub fn ends(&self) -> Vec<u64> {
        let mut ends = self.listed.clone();
        let (lo, hi) = self.range.unwrap_or((1, 0));
        match self.steps {
            Some(Steps { unit, k: Some((first, last)), .. }) => ends.extend([unit << first, unit << last]),
            _ if lo > hi => {}
            _ if self.power => ends.extend([lo.next_power_of_two(), (hi + 1).next_power_of_two() / 2]),
            _ => ends.extend([lo, hi]),
        }
        ends
    }

    /// Numbers just beside the legal ones.
    pub fn beside(&self) -> Vec<u64> {
        let mut beside: Vec<u64> = self.listed.iter().flat_map(|v| [v.saturating_sub(1), v + 1]).collect();
        if let Some((lo, hi)) = self.range {
            beside.extend([lo.saturating_sub(1), hi + 1, 3 * lo]);
        }
        if let Some(Steps { unit, k, .. }) = self.steps {
            let (first, last) = k.unwrap_or((0, 20));
            beside.extend([(unit << first) / 2, unit << (last + 1), 3 * (unit << first), 17 * unit]);
        }
        // What a register of 32 bits would take for a legal value.
        beside.extend(self.ends().iter().map(|end| end + (1 << 32)));
        beside
    }

    /// The text leaves no doubt that this value is not legal.
    pub fn refuses(&self, text: &str) -> bool {
        if self.is_enumeration() {
            return !self.words.iter().any(|w| w == text);
        }
        let Some(v) = number(text) else { return true };
        if self.listed.contains(&v) {
            return false;
        }
        let outside = self.range.map(|(lo, hi)| !(lo..=hi).contains(&v));
        let stepless = self.steps.map(|s| !s.reaches(v));
        let told = outside.is_some() || stepless.is_some() || !self.listed.is_empty();
        let unlisted = outside.is_none() && stepless.is_none() && !self.listed.is_empty();
        (self.power && !v.is_power_of_two())
            || (told && (unlisted || outside == Some(true) || stepless == Some(true)))
    }
}

impl Steps {
    fn reaches(self, v: u64) -> bool {
        let Steps { unit, k, odd } = self;
        let (factor, rest) = (v / unit.max(1), v % unit.max(1));
        let k_of = u64::from(factor.trailing_zeros());
        let within = k.is_none_or(|(first, last)| (first..=last).contains(&k_of));
        rest == 0 && factor > 0 && factor >> k_of <= odd && within
    }
}
