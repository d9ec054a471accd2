//! What scaling a fabric down keeps of the published one: the ratios between its sizes, rates and times.

use super::FabricConfig;
use crate::family::directory::DirectoryKeys;
use crate::family::tsm::TsmKeys;
use std::fmt::Write;

/// A ratio of two sizes, rates or times of a fabric.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// What over what.
    pub name: &'static str,
    /// None in a fabric where one of both is nothing.
    pub value: Option<f64>,
}

/// A ratio is kept if it differs by less than a tenth.
const KEPT: f64 = 0.1;

impl FabricConfig {
    /// The ratios that decide how a fabric behaves, of a GPU, or of a module where GPUs are made of modules; in an order that is the same for
    /// all fabrics. Those that a family has nothing for are left out.
    pub fn ratios(&self) -> Vec<Ratio> {
        let key = |name: &str| self.number(name);
        let (cus, line) = (key("cus"), key("line"));
        let banks = key("banks");
        let cache = key("llc_size").or(key("l2_size"));
        let over = |a: Option<f64>, b: Option<f64>| Some(a? / b.filter(|b| *b > 0.0)?);
        let times = |a: Option<f64>, b: Option<f64>| Some(a? * b?);
        let dram = times(key("dram_bandwidth"), banks);
        let link = self.bytes_between_gpus();
        let modules = key("gpms").filter(|modules| *modules > 1.0);
        let gpm_link = modules.and(key("gpm_link_bytes"));
        // What is under way of what fills a way there and back.
        let filled = |mshrs: Option<f64>, rate: Option<f64>, time: Option<f64>| {
            over(times(mshrs, line), times(rate, time))
        };
        let all = [
            ("bytes of L1s, to those of the L2", over(times(cus, key("l1_size")), cache)),
            ("bytes that a directory reaches, to those of the L2", over(self.reach(), cache)),
            ("bytes of a page, to those of the L2", over(key("page"), cache)),
            ("lookups of L2 banks, a CU and cycle", over(banks, cus)),
            ("bytes of links between GPUs, a CU and cycle", over(link, times(cus, modules.or(Some(1.0))))),
            ("bytes of links between GPMs, a CU and cycle", over(gpm_link, cus)),
            ("bytes of DRAM, a CU and cycle", over(dram, cus)),
            ("misses of L1s, to what fills links between GPUs", {
                let misses = times(times(cus, key("l1_mshrs")), modules.or(Some(1.0)));
                filled(misses, link, times(Some(2.0), key("link_latency")))
            }),
            ("misses of the L2, to what fills DRAM", {
                filled(times(banks, key("l2_mshrs")), dram, key("dram_latency"))
            }),
            ("cycles of a line on a link between GPUs, to those of its way", {
                over(over(line, self.bytes_of_a_link()), key("link_latency"))
            }),
        ];
        all.into_iter().map(|(name, value)| Ratio { name, value }).collect()
    }

    /// The value of a key that is a number; none if there is no such key.
    fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.as_f64()
    }

    /// Bytes of all L2s, or of the last-level cache; none in a fabric without.
    pub fn cache_bytes(&self) -> Option<f64> {
        let key = |name: &str| self.number(name);
        let of_one = key("llc_size").or(key("l2_size"))?;
        Some(of_one * f64::from(self.common.gpus) * key("gpms").unwrap_or(1.0))
    }

    /// Bytes per cycle and direction between a GPU and the others, or one memory.
    fn bytes_between_gpus(&self) -> Option<f64> {
        let key = |name: &str| self.number(name);
        let many = self.common.gpus > 1;
        let links = match self.of.keys::<TsmKeys>() {
            Some(_) => key("banks"),
            None => key("links").or(Some(1.0)),
        };
        many.then(|| Some(key("link_bytes")? * links?)).flatten()
    }

    /// Bytes per cycle and direction of one link between GPUs.
    fn bytes_of_a_link(&self) -> Option<f64> {
        let bytes = self.number("link_bytes")?;
        (self.common.gpus > 1).then_some(bytes)
    }

    /// Bytes that the entries of a directory cover together.
    fn reach(&self) -> Option<f64> {
        let keys: &DirectoryKeys = self.of.keys()?;
        let entry = keys.params(&self.common).bytes_of_entry()?;
        Some(f64::from(keys.entries) * f64::from(entry))
    }

    /// The lines at the head of a scaled fabric's file, comments of TOML, that set its ratios beside those of another one.
    pub fn scale_of(&self, published: &FabricConfig) -> String {
        let mut text = format!("# Ratios beside those of {} (generated):\n", published.name);
        for (own, theirs) in self.ratios().iter().zip(published.ratios()) {
            let (Some(a), Some(b)) = (own.value, theirs.value) else { continue };
            let kept = if is_kept(a, b) { "kept".into() } else { format!("times {}", shown(a / b)) };
            let _ = writeln!(text, "#   {:<62}{:>8}{:>8}  {kept}", own.name, shown(a), shown(b));
        }
        text
    }
}

/// Whether a ratio is that of the published fabric.
fn is_kept(own: f64, published: f64) -> bool {
    (own / published - 1.0).abs() < KEPT
}

/// Three digits.
fn shown(value: f64) -> String {
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::BUILT_IN;
    use super::*;

    /// Scaled fabrics with those that they stand for, and their files.
    fn scaled() -> Vec<(FabricConfig, FabricConfig, &'static str)> {
        let load = |name: &str| FabricConfig::load(name).expect("built in");
        let small = |(name, text): &(&str, &'static str)| {
            let published = name.strip_suffix("-small")?;
            Some((load(name), load(published), *text))
        };
        BUILT_IN.iter().filter_map(small).collect()
    }

    /// `WEFT_HEADERS=write` writes them.
    #[test]
    fn headers_of_scaled_fabrics_say_what_is_kept() {
        let mut wrong = Vec::new();
        for (own, published, text) in scaled() {
            let scale = own.scale_of(&published);
            let first = scale.lines().next().expect("a title");
            if text.contains(&format!("\n\n{scale}\n")) {
                continue;
            }
            wrong.push(own.name.clone());
            if std::env::var_os("WEFT_HEADERS").is_some_and(|how| how == "write") {
                let (head, rest) = match text.split_once(first) {
                    Some((head, rest)) => (head, rest.split_once("\n\n").expect("a paragraph").1),
                    None => text
                        .split_once("\nprotocol")
                        .map(|(head, _)| (head, &text[head.len() + 1..]))
                        .expect("a protocol"),
                };
                let path = format!("{}/../fabrics/{}.toml", env!("CARGO_MANIFEST_DIR"), own.name);
                let new = format!("{}\n\n{scale}\n{rest}", head.trim_end());
                std::fs::write(path, new).expect("can be written");
            }
        }
        assert!(wrong.is_empty(), "{wrong:?}: WEFT_HEADERS=write writes them anew; then build again");
    }

    /// What may differ is what has to: an L2 keeps two banks, so that two of them can disagree; a line takes its time on a thin link; a page
    /// is as large as small data can be dealt out.
    #[test]
    fn scaled_fabrics_keep_the_ratios() {
        let free = ["bytes of a page", "lookups of L2 banks", "cycles of a line on a link"];
        let of_several = |own: &FabricConfig| own.common.gpus > 1 && !own.name.starts_with("spandex");
        for (own, published, _) in scaled().into_iter().filter(|(own, ..)| of_several(own)) {
            for (own_ratio, theirs) in own.ratios().iter().zip(published.ratios()) {
                let is_free = free.iter().any(|name| theirs.name.starts_with(name));
                let kept = match (own_ratio.value, theirs.value) {
                    (Some(a), Some(b)) => is_kept(a, b),
                    (None, None) => true,
                    _ => false,
                };
                assert!(kept || is_free, "{}: {own_ratio:?} for {theirs:?}", own.name);
            }
        }
    }

    #[test]
    fn caches_of_all_gpus_and_modules_count() {
        let mb =
            |name: &str| FabricConfig::load(name).expect("built in").cache_bytes().map(|b| b / 1048576.0);
        assert_eq!(mb("rec-4gpu"), Some(8.0));
        assert_eq!(mb("hmg-4gpu"), Some(48.0));
        assert_eq!(mb("spandex-soc"), Some(8.0));
        assert_eq!(mb("srsp-64cu"), Some(0.5));
    }

    #[test]
    fn a_ratio_that_is_lost_is_told() {
        let published = FabricConfig::load("rec-4gpu").expect("built in");
        let mut own = published.clone();
        own.set("l1_size=32K").expect("legal");
        let scale = own.scale_of(&published);
        let lost: Vec<&str> = scale.lines().filter(|line| line.contains(" times ")).collect();
        assert_eq!(lost.len(), 1, "{scale}");
        assert!(lost[0].contains("bytes of L1s") && lost[0].ends_with("1     0.5  times 2"), "{scale}");
        assert_eq!(
            (shown(0.0024), shown(1.333), shown(12.5), shown(2048.0)),
            ("0.0024".into(), "1.33".into(), "12.5".into(), "2048".into())
        );
    }
}
