//! Rules of parameters: what is told as legal builds and has a name of its own, what is not is refused in a
//! sentence.

use super::waivers::{APART, COMPANIONS, IN_WORDS, JOINED, NO_PART_OF};
use super::*;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Texts that are no value of some parameter, or of none.
const BATTERY: [&str; 12] = [
    "",
    "x",
    "-1",
    "0",
    "1",
    "1.5",
    "0x10",
    "1 ",
    "4294967296",
    "4294967297",
    "18446744073709551615",
    "18446744073709551616",
];

fn read(param: &ParamInfo, context: &Context) -> Legal {
    Legal::read(param.legal, &|name| context.number(name))
}

#[test]
fn every_legal_value_builds_and_is_in_the_name() {
    let (used, texts) = (RefCell::new(BTreeSet::new()), RefCell::new(BTreeMap::new()));
    every_block(|info, found| {
        if JOINED.iter().any(|(block, _)| *block == info.name) {
            return;
        }
        let mut contexts = contexts(info);
        let has = |words: &str| given(words).keys().all(|key| (info.params)().iter().any(|p| p.name == key));
        let more = COMPANIONS
            .iter()
            .filter(|(block, words, _)| has(words) && (*block == info.name || block.is_empty()));
        contexts.extend(more.map(|(_, words, _)| Context::new(info, words)));
        for param in (info.params)() {
            let mut walk = Walk { info, param, left: None, moved: false, used: &used, texts: &texts, found };
            contexts.iter().for_each(|context| walk.visit(context));
            walk.end();
        }
    });
    for (keys, blocks, _) in NO_PART_OF {
        let all = blocks.iter().flat_map(|block| keys.iter().map(move |key| (*block, *key)));
        let idle: Vec<_> = all.filter(|pair| !used.borrow().contains(pair)).collect();
        assert!(idle.is_empty(), "waived without need: {idle:?}");
    }
}

fn waived(block: &str, key: &str) -> bool {
    NO_PART_OF.iter().any(|(keys, blocks, _)| blocks.contains(&block) && keys.contains(&key))
}

/// A parameter on its way through the contexts.
struct Walk<'a> {
    info: &'a BlockInfo,
    param: ParamInfo,
    /// Ends of what is legal that no context has built yet, by their place in the list, with what was said
    /// of them.
    left: Option<BTreeMap<usize, String>>,
    /// A value other than that of a context has been built.
    moved: bool,
    /// Waivers that were needed.
    used: &'a RefCell<BTreeSet<(&'static str, &'static str)>>,
    /// The text of each module of this run by its name, as a number.
    texts: &'a RefCell<BTreeMap<String, (u64, &'static str)>>,
    found: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn say(&mut self, text: &str) {
        self.found.push(format!("parameter {} (legal: {}): {text}", self.param.name, self.param.legal));
    }

    fn visit(&mut self, context: &Context) {
        let legal = read(&self.param, context);
        let mut values = legal.words.clone();
        values.extend(legal.ends().iter().map(u64::to_string));
        let mut left =
            self.left.take().unwrap_or_else(|| (0..values.len()).map(|i| (i, String::new())).collect());
        let now = context.values[self.param.name].clone();
        let mut built = vec![(now.clone(), context.module.clone())];
        left.retain(|i, said| match values.get(*i).map(|value| self.build(context, value, &mut built)) {
            Some(None) => false,
            Some(Some(error)) => {
                *said = error;
                true
            }
            None => true,
        });
        self.left = Some(left);
        // Where the text tells no numbers, others near the present one are tried.
        let near = number(&now).filter(|_| !self.moved && built.len() == 1);
        for value in near.into_iter().flat_map(|n| [2 * n, n / 2, n + 1]) {
            self.build(context, &value.to_string(), &mut built);
        }
        self.moved |= built.len() > 1;
        self.compare(&built);
    }

    /// Builds a value, unless it is that of the context; what speaks against it.
    fn build(
        &mut self,
        context: &Context,
        value: &str,
        built: &mut Vec<(String, Arc<Module>)>,
    ) -> Option<String> {
        let same = |old: &str| value == old || (number(value).is_some() && number(value) == number(old));
        if built.iter().any(|(old, _)| same(old)) {
            return None;
        }
        match context.with(self.info, self.param.name, value) {
            Ok(module) => {
                if let Err(e) = flatten(&module) {
                    self.say(&format!("{value} with {:?}: {e}", context.given));
                }
                self.register(&module);
                built.push((value.into(), module));
            }
            Err(Refusal::Value(error)) => return Some(error.to_string()),
            Err(Refusal::Slip(text)) => self.say(&format!("{value} with {:?}: {text}", context.given)),
        }
        None
    }

    /// A name is that of one module, also of a part: in one design, whose Verilog would number others, and
    /// in the whole run.
    fn register(&mut self, module: &Arc<Module>) {
        let mut names = BTreeMap::new();
        hierarchy(module, &mut names);
        for file in emit(module) {
            if !file.name.strip_suffix(".v").is_some_and(|name| names.contains_key(name)) {
                self.say(&format!("{}: two parts have one name", file.name));
            }
            let mut hash = DefaultHasher::new();
            file.text.hash(&mut hash);
            let now = (hash.finish(), self.info.name);
            let old = *self.texts.borrow_mut().entry(file.name.clone()).or_insert(now);
            if old.0 != now.0 {
                self.say(&format!("{} is another module in {}", file.name, old.1));
            }
        }
    }

    fn compare(&mut self, built: &[(String, Arc<Module>)]) {
        for (i, (value, module)) in built.iter().enumerate() {
            for (other, twin) in &built[..i] {
                if module.name != twin.name {
                    continue;
                }
                let text = |m: &Arc<Module>| emit(m).into_iter().map(|file| file.text).collect::<Vec<_>>();
                let same = text(module) == text(twin);
                if same && waived(self.info.name, self.param.name) {
                    self.used.borrow_mut().insert((self.info.name, self.param.name));
                    continue;
                }
                let how = if same { "the same hardware, which no waiver tells" } else { "other hardware" };
                self.say(&format!("{other} and {value} have one name, {}: {how}", module.name));
            }
        }
    }

    fn end(mut self) {
        if !self.moved {
            self.say("no other value builds");
        }
        for (_, error) in self.left.take().into_iter().flatten() {
            self.say(&format!("nowhere legal: {error}"));
        }
    }
}

#[test]
fn what_is_not_legal_is_refused_in_a_sentence() {
    every_block(|info, found| {
        let context = Context::new(info, "");
        for param in (info.params)() {
            let legal = read(&param, &context);
            if !legal.is_enumeration() && legal.ends().is_empty() && !IN_WORDS.contains(&param.legal) {
                found.push(format!("parameter {}: not understood: {}", param.name, param.legal));
            }
            let mut values: BTreeSet<String> = BATTERY.iter().map(|v| v.to_string()).collect();
            values.extend(legal.beside().iter().map(u64::to_string));
            for value in values {
                let bad = legal.refuses(&value);
                match context.with(info, param.name, &value) {
                    Ok(module) if bad => found.push(format!(
                        "parameter {} = {value} becomes {}; legal: {}",
                        param.name, module.name, param.legal
                    )),
                    Err(Refusal::Value(error)) if bad => found.extend(untold(info, &param, &value, &error)),
                    Err(Refusal::Slip(text)) => {
                        found.push(format!("parameter {} = {value}: {text}", param.name));
                    }
                    _ => {}
                }
            }
        }
    });
}

/// What a refusal does not tell.
fn untold(info: &BlockInfo, param: &ParamInfo, given: &str, error: &BlockError) -> Option<String> {
    let BlockError::Illegal { block, key, value, problem, legal } = error else { return None };
    let same = value == given || (number(value).is_some() && number(value) == number(given));
    let told = block == info.name && key == param.name && same && !problem.is_empty() && legal == param.legal;
    (!told).then(|| {
        format!("parameter {} = {given} (legal: {}) is refused with: {error}", param.name, param.legal)
    })
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (block, words, key, legal) in APART {
        let error = weft_catalog::build(block, &given(words)).map(|m| m.name.clone()).expect_err(words);
        let text = error.to_string();
        let told = [format!("parameter {key} = "), format!(" of block {block}: "), (*legal).to_string()];
        assert!(told.iter().all(|part| text.contains(part)), "{words}: {text}");
    }
}
