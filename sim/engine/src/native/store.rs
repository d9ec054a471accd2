//! Machine code on disk, so that the processes that clock the same hardware, one after the other or at once,
//! compile it once.
//!
//! Code is found by a digest of everything that a compilation reads: the netlist, the engine's own source text,
//! the compiler's version, the target and its settings. A change of the hardware, of the engine or of the
//! compiler is therefore another file, and nothing in the store is ever out of date. Only code that refers to
//! nothing outside itself is kept.
//!
//! A store holds a gigabyte; what was not used for longest makes room.

use crate::layout::Needs;
use cranelift_codegen::isa::TargetIsa;
use etcetera::base_strategy::{BaseStrategy as _, choose_base_strategy};
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::SystemTime;
use weft_rtl::netlist::{NetPort, Netlist};

/// The environment variable that names the store's folder; if it is empty, nothing is kept.
const FOLDER: &str = "WEFT_CODE_CACHE";

/// Bytes of the digest in front of what is kept.
const HEAD: usize = 16;

/// Bytes above which a store is cleared, and those that then stay.
const LIMITS: (u64, u64) = (1 << 30, 3 << 28);

/// Machine code that can lie at any address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// What the state has to have room for.
    pub needs: Needs,
    /// Required alignment in bytes.
    pub alignment: u64,
    /// The instructions and the constants behind them.
    pub code: Vec<u8>,
}

/// A folder with one file per compiled function.
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store that the environment asks for: by default one in the user's folder for caches.
    pub fn of_environment() -> Option<Store> {
        let folder = match std::env::var_os(FOLDER) {
            Some(folder) => PathBuf::from(folder),
            None => choose_base_strategy().ok()?.cache_dir().join("weft/code"),
        };
        (!folder.as_os_str().is_empty()).then_some(Store { folder })
    }

    /// What is under a key; nothing if it was never kept or its file is damaged, which the next
    /// [`Store::keep`] mends.
    pub fn find(&self, key: u128) -> Option<Kept> {
        let path = self.file(key);
        let file = fs::read(&path).ok()?;
        let (head, bytes) = file.split_at_checked(HEAD)?;
        let whole = head == digest(bytes).to_le_bytes();
        let kept = whole.then(|| postcard::from_bytes(bytes).ok()).flatten()?;
        // The time of the last use, by which room is made. Without it code is compiled once more some day.
        let _ = File::options().append(true).open(&path).and_then(|f| f.set_modified(SystemTime::now()));
        Some(kept)
    }

    /// Keeps code. A store that cannot be written costs time, not results, so failures are silent.
    pub fn keep(&self, key: u128, kept: &Kept) {
        static CLEARED: Once = Once::new();
        let bytes = postcard::to_stdvec(kept).expect("plain data serialises");
        if fs::create_dir_all(&self.folder).is_ok() {
            CLEARED.call_once(|| clear(&self.folder, LIMITS));
            // Another process or thread sees all of a file or nothing.
            let _ =
                weft_output::write(&self.file(key), &[&digest(&bytes).to_le_bytes(), &bytes[..]].concat());
        }
    }

    fn file(&self, key: u128) -> PathBuf {
        self.folder.join(format!("{key:032x}"))
    }
}

/// Removes the files that were not used for longest, if the folder holds more than `limits.0` bytes, until
/// `limits.1` are left. Another process may do the same at once.
fn clear(folder: &Path, limits: (u64, u64)) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let known = entries.filter_map(|entry| {
        let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((about.modified().ok()?, about.len(), entry.path()))
    });
    let mut files: Vec<_> = known.collect();
    let mut held: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    if held <= limits.0 {
        return;
    }
    files.sort();
    for (_, bytes, path) in files {
        if held <= limits.1 {
            break;
        }
        let _ = fs::remove_file(path);
        held -= bytes;
    }
}

fn digest(bytes: &[u8]) -> u128 {
    let mut hasher = SipHasher24::new();
    hasher.write(bytes);
    hasher.finish128().as_u128()
}

/// The key of the code that this engine makes of a netlist, whose registers have these flags, for a target.
pub fn key(netlist: &Netlist, flags: &[u32], isa: &dyn TargetIsa) -> u128 {
    let mut hasher = SipHasher24::new();
    env!("WEFT_ENGINE_DIGEST").hash(&mut hasher);
    cranelift_codegen::VERSION.hash(&mut hasher);
    isa.name().hash(&mut hasher);
    isa.triple().hash(&mut hasher);
    isa.flags().hash(&mut hasher);
    isa.isa_flags_hash_key().hash(&mut hasher);
    netlist.nodes.hash(&mut hasher);
    flags.hash(&mut hasher);
    let port = |port: &NetPort| (port.name.clone(), port.width, port.node);
    netlist.inputs.iter().map(port).collect::<Vec<_>>().hash(&mut hasher);
    netlist.outputs.iter().map(port).collect::<Vec<_>>().hash(&mut hasher);
    netlist.regs.len().hash(&mut hasher);
    netlist.regs.iter().for_each(|reg| (reg.width, reg.next).hash(&mut hasher));
    netlist.mems.len().hash(&mut hasher);
    for mem in &netlist.mems {
        (mem.kind, mem.rows, mem.lanes, mem.lane_width, &mem.writes).hash(&mut hasher);
    }
    netlist.probes.iter().for_each(|probe| (probe.kind, probe.cond, probe.amount).hash(&mut hasher));
    hasher.finish128().as_u128()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store { folder: folder.path().join("code") };
        (folder, store)
    }

    fn code(fill: u8) -> Kept {
        let needs = Needs { buffered: vec![1, 2], scratch: 3, words: 1, inputs: vec![u64::MAX] };
        Kept { needs, alignment: 16, code: (0..1000).map(|n| (n as u8).wrapping_mul(fill)).collect() }
    }

    #[test]
    fn what_is_kept_is_found_under_its_key_only() {
        let (_folder, store) = store();
        assert_eq!(store.find(1), None);
        store.keep(1, &code(3));
        store.keep(2, &code(5));
        assert_eq!(store.find(1), Some(code(3)));
        assert_eq!(store.find(2), Some(code(5)));
        assert_eq!(store.find(3), None);
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 2, "nothing is left beside");
    }

    #[test]
    fn a_damaged_file_is_not_found_and_is_mended() {
        let (_folder, store) = store();
        store.keep(7, &code(3));
        let whole = fs::read(store.file(7)).unwrap();
        for length in [0, 1, HEAD - 1, HEAD, whole.len() - 1] {
            fs::write(store.file(7), &whole[..length]).unwrap();
            assert_eq!(store.find(7), None, "cut to {length} bytes");
        }
        for at in [0, 16, HEAD, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(store.file(7), bytes).unwrap();
            assert_eq!(store.find(7), None, "byte {at} changed");
        }
        store.keep(7, &code(3));
        assert_eq!(store.find(7), Some(code(3)));
    }

    #[test]
    fn a_store_that_cannot_be_written_keeps_nothing() {
        let (folder, store) = store();
        fs::write(folder.path().join("code"), "a file where the folder would be").unwrap();
        store.keep(1, &code(3));
        assert_eq!(store.find(1), None);
    }

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let (_folder, store) = store();
        for key in 0..10 {
            store.keep(key, &code(3));
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 + key as u64);
            File::options().append(true).open(store.file(key)).unwrap().set_modified(at).unwrap();
        }
        let size = fs::metadata(store.file(0)).unwrap().len();
        clear(&store.folder, (10 * size, size));
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 10, "not above the limit");
        assert!(store.find(0).is_some(), "and used just now");
        clear(&store.folder, (9 * size, 4 * size));
        let left: Vec<u128> = (0..10).filter(|key| store.file(*key).exists()).collect();
        assert_eq!(left, [0, 7, 8, 9]);
    }
}
