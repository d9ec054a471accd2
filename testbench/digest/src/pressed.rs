//! Hardware under pressure: caches of a few sets, tables of a few entries, queues of a few places, so that a short program evicts, waits and fills what
//! it cannot fill at the sizes of the fabrics.

use super::{DigestError, Variant};

/// Keys of each small fabric, under all of its protocols.
const KEYS: [(&str, &str); 10] = [
    ("flat-gpu-small", DEVICES),
    ("hlrc-128cu-small", SCOPED),
    ("hmg-4gpu-small", DIRECTORY),
    ("hmg-tsm-4gpu-small", DIRECTORY),
    (
        "rdma-4gpu-small",
        "l1_size=1K l1_ways=2 l1_mshrs=3 l1_pool=4 l2_size=2K l2_ways=2 l2_mshrs=4 l2_pool=6",
    ),
    ("rec-4gpu-small", DIRECTORY),
    ("spandex-4gpu-small", DEVICES),
    ("spandex-soc-small", DEVICES),
    ("srsp-64cu-small", SCOPED),
    ("tsm-4gpu-small", SHARED_MEMORY),
];

const DIRECTORY: &str = "entries=8 ways=4 range=256 evb_depth=2 l1_size=1K l1_ways=2 l1_mshrs=4 l1_targets=2 \
                         l1_stores=6 l2_size=4K l2_ways=4 l2_mshrs=6 l2_pool=12 link_credits=20";

const SHARED_MEMORY: &str = "ts=8 cts=16 trk=4 l1_size=1K l1_ways=2 l1_mshrs=3 l1_pool=4 \
                             l2_size=2K l2_ways=2 l2_mshrs=4 l2_pool=6";

const SCOPED: &str = "l1_sfifo=4 l2_sfifo=8 pa_entries=2 aff_entries=8 sync_queue=2 locks=2 revokes=2 \
                      l1_size=1K l1_ways=2 l1_mshrs=3 l1_targets=3 l1_wbt=3 \
                      l2_size=4K l2_ways=2 l2_mshrs=3 l2_targets=2 l2_writes=3";

const DEVICES: &str = "l1_size=512 l1_ways=2 l1_mshrs=3 l1_targets=2 l1_sb=4 l1_wbb=2 l1_releases=2 \
                       llc_size=4K llc_ways=2 llc_tbes=3 llc_stalls=8 gpu_l2_size=4K gpu_l2_ways=2";

/// The same fabric under the same protocol with its keys of pressure, which stand behind its own.
///
/// # Errors
/// A fabric that has none, or keys that it refuses.
pub(crate) fn of(variant: &Variant) -> Result<Variant, DigestError> {
    let name = &variant.config.name;
    let Some((_, keys)) = KEYS.iter().find(|(fabric, _)| fabric == name) else {
        return Err(DigestError::Unpressed { name: name.clone() });
    };
    let mut config = variant.config.clone();
    let set = keys.split(' ').try_for_each(|key| config.set(key)).and_then(|()| config.validate());
    set.map_err(|cause| DigestError::Config {
        what: format!("{name} {} {keys}", variant.keys),
        cause: Box::new(cause),
    })?;
    let keys = format!("{} {keys}", variant.keys).trim_start().to_string();
    Ok(Variant { config, keys })
}
