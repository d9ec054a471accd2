//! Sweeps that come with the program: those of rec.md sections 12 and 13, hmg.md sections 13 and 14, mgcc.md
//! section 16, srsp.md section 12, spandex.md section 12, cu-and-consistency.md sections 10 and 11, and one of
//! seconds. Most are of tier middle, and have the others beside it.

use weft_fabric::config::File;
use weft_lists::Further;

/// Sweeps of others.
static FURTHER: Further<File> = Further::new();

/// Installs sweeps from outside this crate; before any is asked for, and once.
pub fn install(sweeps: Vec<File>) {
    FURTHER.install(sweeps);
}

/// Name and text of every sweep that needs no path.
pub fn sweeps() -> impl Iterator<Item = &'static File> {
    BUILT_IN.iter().chain(FURTHER.all())
}

/// Name and text of each that is built in.
pub const BUILT_IN: &[File] = &[
    ("rec-smoke", include_str!("../../../fabrics/sweeps/rec-smoke.toml")),
    ("rec-protocols", include_str!("../../../fabrics/sweeps/rec-protocols.toml")),
    ("rec-range", include_str!("../../../fabrics/sweeps/rec-range.toml")),
    ("rec-entries", include_str!("../../../fabrics/sweeps/rec-entries.toml")),
    ("rec-directory", include_str!("../../../fabrics/sweeps/rec-directory.toml")),
    ("rec-policy", include_str!("../../../fabrics/sweeps/rec-policy.toml")),
    ("rec-l2", include_str!("../../../fabrics/sweeps/rec-l2.toml")),
    ("rec-bandwidth", include_str!("../../../fabrics/sweeps/rec-bandwidth.toml")),
    ("rec-cus", include_str!("../../../fabrics/sweeps/rec-cus.toml")),
    ("rec-gpus", include_str!("../../../fabrics/sweeps/rec-gpus.toml")),
    ("rec-nvidia", include_str!("../../../fabrics/sweeps/rec-nvidia.toml")),
    ("rec-dnn", include_str!("../../../fabrics/sweeps/rec-dnn.toml")),
    ("hmg-protocols", include_str!("../../../fabrics/sweeps/hmg-protocols.toml")),
    ("hmg-acquire", include_str!("../../../fabrics/sweeps/hmg-acquire.toml")),
    ("hmg-bandwidth", include_str!("../../../fabrics/sweeps/hmg-bandwidth.toml")),
    ("hmg-l2", include_str!("../../../fabrics/sweeps/hmg-l2.toml")),
    ("hmg-entries", include_str!("../../../fabrics/sweeps/hmg-entries.toml")),
    ("hmg-group", include_str!("../../../fabrics/sweeps/hmg-group.toml")),
    ("hmg-gpus", include_str!("../../../fabrics/sweeps/hmg-gpus.toml")),
    ("hmg-gpms", include_str!("../../../fabrics/sweeps/hmg-gpms.toml")),
    ("hmg-stores", include_str!("../../../fabrics/sweeps/hmg-stores.toml")),
    ("hmg-downgrade", include_str!("../../../fabrics/sweeps/hmg-downgrade.toml")),
    ("traces", include_str!("../../../fabrics/sweeps/traces.toml")),
    ("tsm-bandwidth", include_str!("../../../fabrics/sweeps/tsm-bandwidth.toml")),
    ("tsm-gpus", include_str!("../../../fabrics/sweeps/tsm-gpus.toml")),
    ("tsm-xtreme", include_str!("../../../fabrics/sweeps/tsm-xtreme.toml")),
    ("tsm-leases", include_str!("../../../fabrics/sweeps/tsm-leases.toml")),
    ("tsm-options", include_str!("../../../fabrics/sweeps/tsm-options.toml")),
    ("tsm-gtsc", include_str!("../../../fabrics/sweeps/tsm-gtsc.toml")),
    ("tsm-pages", include_str!("../../../fabrics/sweeps/tsm-pages.toml")),
    ("tsm-protocols", include_str!("../../../fabrics/sweeps/tsm-protocols.toml")),
    ("tsm-sums", include_str!("../../../fabrics/sweeps/tsm-sums.toml")),
    ("srsp-protocols", include_str!("../../../fabrics/sweeps/srsp-protocols.toml")),
    ("srsp-tasks", include_str!("../../../fabrics/sweeps/srsp-tasks.toml")),
    ("srsp-closes", include_str!("../../../fabrics/sweeps/srsp-closes.toml")),
    ("srsp-cus", include_str!("../../../fabrics/sweeps/srsp-cus.toml")),
    ("srsp-choices", include_str!("../../../fabrics/sweeps/srsp-choices.toml")),
    ("srsp-lock", include_str!("../../../fabrics/sweeps/srsp-lock.toml")),
    ("hlrc-choices", include_str!("../../../fabrics/sweeps/hlrc-choices.toml")),
    ("hlrc-victims", include_str!("../../../fabrics/sweeps/hlrc-victims.toml")),
    ("hlrc-protocols", include_str!("../../../fabrics/sweeps/hlrc-protocols.toml")),
    ("spandex-protocols", include_str!("../../../fabrics/sweeps/spandex-protocols.toml")),
    ("spandex-hierarchy", include_str!("../../../fabrics/sweeps/spandex-hierarchy.toml")),
    ("spandex-flex", include_str!("../../../fabrics/sweeps/spandex-flex.toml")),
    ("spandex-sizes", include_str!("../../../fabrics/sweeps/spandex-sizes.toml")),
    ("spandex-choices", include_str!("../../../fabrics/sweeps/spandex-choices.toml")),
    ("spandex-buffers", include_str!("../../../fabrics/sweeps/spandex-buffers.toml")),
    ("implicit", include_str!("../../../fabrics/sweeps/implicit.toml")),
    ("spandex-hops", include_str!("../../../fabrics/sweeps/spandex-hops.toml")),
    ("spandex-atomics", include_str!("../../../fabrics/sweeps/spandex-atomics.toml")),
    ("spandex-gpus", include_str!("../../../fabrics/sweeps/spandex-gpus.toml")),
    ("flat-configs", include_str!("../../../fabrics/sweeps/flat-configs.toml")),
    ("flat-apps", include_str!("../../../fabrics/sweeps/flat-apps.toml")),
    ("flat-relaxed", include_str!("../../../fabrics/sweeps/flat-relaxed.toml")),
    ("flat-blocks", include_str!("../../../fabrics/sweeps/flat-blocks.toml")),
    ("flat-iterations", include_str!("../../../fabrics/sweeps/flat-iterations.toml")),
    ("flat-accesses", include_str!("../../../fabrics/sweeps/flat-accesses.toml")),
    ("flat-backoff", include_str!("../../../fabrics/sweeps/flat-backoff.toml")),
    ("flat-atomics", include_str!("../../../fabrics/sweeps/flat-atomics.toml")),
    ("flat-issue", include_str!("../../../fabrics/sweeps/flat-issue.toml")),
    ("flat-buffers", include_str!("../../../fabrics/sweeps/flat-buffers.toml")),
    ("flat-l1", include_str!("../../../fabrics/sweeps/flat-l1.toml")),
    ("flat-cus", include_str!("../../../fabrics/sweeps/flat-cus.toml")),
    ("sync-gpus", include_str!("../../../fabrics/sweeps/sync-gpus.toml")),
    ("dnn-step", include_str!("../../../fabrics/sweeps/dnn-step.toml")),
    ("dnn-calls", include_str!("../../../fabrics/sweeps/dnn-calls.toml")),
    ("dnn-links", include_str!("../../../fabrics/sweeps/dnn-links.toml")),
    ("dnn-remote", include_str!("../../../fabrics/sweeps/dnn-remote.toml")),
];

#[cfg(test)]
mod tests {
    use super::BUILT_IN;
    use crate::sweep::columns::columns;
    use crate::sweep::file::SweepFile;
    use crate::sweep::plan::runs;
    use crate::sweep::summary::Summary;
    use crate::sweep::tier::Tier;
    use std::collections::BTreeMap;
    use weft_fabric::config::FabricConfig;
    use weft_fabric::run::Survey;

    #[test]
    fn every_sweep_can_be_run_and_summed_up() {
        let mut counters: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let whole = BUILT_IN.iter().map(|(name, _)| {
            let sweep = SweepFile::load(name).unwrap_or_else(|e| panic!("{e:#}"));
            assert_eq!(&sweep.name, name, "results are named after the sweep");

            sweep
        });
        let whole: Vec<SweepFile> = whole.collect();
        // Programs of the published size take gigabytes; their tables are read with the sweep.
        let small = whole.iter().filter(|sweep| sweep.tiers().contains(&Tier::Small));
        let small =
            small.map(|sweep| sweep.clone().into_tier(Tier::Small).unwrap_or_else(|e| panic!("{e:#}")));
        let small: Vec<SweepFile> = small.collect();
        assert!(small.len() > 50, "nearly all have one");
        for sweep in whole.into_iter().chain(small) {
            let name = &sweep.name;
            let runs = runs(&sweep).unwrap_or_else(|e| panic!("{e:#}"));
            // What the fabric's own protocol counts; elaborating every configuration takes minutes.
            let fabric = &runs[0].config.name;
            let counted = counters.entry(fabric.clone()).or_insert_with(|| {
                let config = FabricConfig::load(fabric).unwrap_or_else(|e| panic!("{e}"));
                Survey::new(&config).unwrap_or_else(|e| panic!("{e}")).counters
            });
            let all = columns(&sweep, &[&runs[0].config], counted);
            let summaries = Summary::all(&sweep, &all).unwrap_or_else(|e| panic!("{e:#}"));
            assert!(!summaries.is_empty(), "{name}");
        }
    }
}
