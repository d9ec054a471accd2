//! Kernel boundaries: what memory holds from then on, and whether atomics form chains.

use super::Values;
use super::amo;
use super::page::{History, Map, PAGE, Write};
use super::report::{self, Read};
use super::rule::{Old, Writes};

impl Values {
    /// All compute units have completed their releases: from now on every load sees what was written until now.
    pub fn kernel_boundary(&mut self, now: u64) {
        let mut doubts: Vec<(u64, Vec<Read>)> = std::mem::take(&mut self.doubts).into_iter().collect();
        doubts.sort_unstable_by_key(|(line, _)| *line);
        doubts.iter().flat_map(|(_, reads)| reads).for_each(|read| self.unexplained(read));
        self.flying.clear();
        let ends = self.end_chains(now);
        let mut dirty = std::mem::take(&mut self.dirty);
        for page in dirty.drain(..) {
            let page = page as usize;
            for (in_page, History { writes, uniform }) in self.page_mut(page).settle() {
                let word = self.pages[page].number * (PAGE / 4) + in_page as u64;
                let cu_of = |by: u32| self.writers[by as usize].unit();
                let old = match ends.get(&word) {
                    Some(end) => end.clone(),
                    None => {
                        let all = Writes { list: &writes, uniform, cu_of: &cu_of, syncs: &self.syncs };
                        all.last(&self.old_of(page, word))
                    }
                };
                self.open.remove(&word);
                self.keep(page, in_page, old);
            }
        }
        self.dirty = dirty;
        self.forget_overwritten();
        self.writers.clear();
        self.writer_numbers.clear();
        self.syncs.clear();
        self.since = now;
    }

    /// Words that were open before the kernel and written whole in it are so no longer.
    fn forget_overwritten(&mut self) {
        let pages = &self.pages;
        let index = &self.index;
        self.open.retain(|word, _| {
            let page = index[&(word / (PAGE / 4))] as usize;
            pages[page].special((word % (PAGE / 4)) as usize, 1) != 0
        });
    }

    /// Checks the chains of atomics; returns what words hold at the end that only atomics of one size wrote.
    fn end_chains(&mut self, now: u64) -> Map<u64, Old> {
        let mut ends = Map::default();
        let mut chains: Vec<_> = std::mem::take(&mut self.chains).into_iter().collect();
        chains.sort_unstable_by_key(|(key, _)| *key);
        for ((addr, size), steps) in chains {
            let words: Vec<u64> = (0..u64::from(size / 4)).map(|half| addr / 4 + half).collect();
            let page = self.page_of(addr);
            let old: Vec<Old> = words.iter().map(|word| self.old_of(page, *word)).collect();
            let first = |value: u64| amo::first_of(&old, value);
            let lists: Vec<&[Write]> = words
                .iter()
                .map(|word| {
                    self.pages[page].history((word % (PAGE / 4)) as usize).map_or(&[][..], |h| &h.writes)
                })
                .collect();
            let result = if lists.iter().all(|l| l.len() == steps.len()) {
                amo::chain(&steps, &first).map(Some)
            } else {
                match plain_writes(&lists, steps.len()) {
                    Some(puts) => amo::mixed(&steps, &puts, &first).map(|()| None),
                    None => Ok(None),
                }
            };
            match result {
                Ok(Some(last)) => {
                    let half = |i| Old::of_words(last.iter().map(|end| (end >> (32 * i)) as u32).collect());
                    ends.extend(words.iter().enumerate().map(|(i, word)| (*word, half(i))));
                }
                Ok(None) => {}
                Err(broken) => {
                    let violation = report::broken_chain(addr, &steps, broken, (self.since, now));
                    self.violated(violation);
                }
            }
        }
        ends
    }

    /// Words whose memory differs from the scoreboard, for the end of a run when all dirty lines are written back. `read` fills bytes of a physical
    /// address.
    pub fn compare_memory(&mut self, now: u64, read: &dyn Fn(u64, &mut [u8])) {
        let mut bytes = vec![0; PAGE as usize];
        let mut wrong = Vec::new();
        for page in 0..self.pages.len() {
            let base = self.pages[page].number * PAGE;
            read(base, &mut bytes);
            for (in_page, four) in bytes.as_chunks::<4>().0.iter().enumerate() {
                let word = base / 4 + in_page as u64;
                let (value, old) = (u32::from_le_bytes(*four), self.old_of(page, word));
                if !old.allows(0xf, value) {
                    wrong.push(report::memory_differs(4 * word, value, &old, (self.since, now)));
                }
            }
        }
        wrong.into_iter().for_each(|violation| self.violated(violation));
    }
}

/// Values of the plain writes to an atomic's word, if each covers the whole word and no other kind of access does; `None` if they do not.
fn plain_writes(lists: &[&[Write]], atomics: usize) -> Option<Vec<u64>> {
    let plain = |list: &&[Write]| -> Option<Vec<Write>> {
        let stores: Vec<Write> = list.iter().filter(|w| !w.amo).copied().collect();
        let whole = stores.iter().all(|w| w.bytes == 0xf) && list.len() - stores.len() == atomics;
        whole.then_some(stores)
    };
    let stores: Vec<Vec<Write>> = lists.iter().map(plain).collect::<Option<_>>()?;
    let same = |w: &Write, v: &Write| (w.by, w.at) == (v.by, v.at);
    let (low, rest) = stores.split_first()?;
    let Some(high) = rest.first() else { return Some(low.iter().map(|w| u64::from(w.value)).collect()) };
    if low.len() != high.len() || !low.iter().zip(high).all(|(w, v)| same(w, v)) {
        return None;
    }
    Some(low.iter().zip(high).map(|(w, v)| u64::from(w.value) | u64::from(v.value) << 32).collect())
}
