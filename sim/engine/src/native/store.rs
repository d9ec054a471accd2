//! Machine code on disk, so that the processes that clock the same hardware, one after the other or at once,
//! compile it once.
//!
//! Code is found by a digest of everything that a compilation reads: the intermediate code, the compiler's
//! version, the target and its settings. A change of the hardware, of the engine or of the compiler is
//! therefore another file, and nothing in the store is ever out of date. Only code that refers to nothing
//! outside itself is kept.

use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::TargetIsa;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;

/// The environment variable that names the store's folder; without it nothing is kept.
const FOLDER: &str = "WEFT_CODE_CACHE";

/// Bytes in front of the code: its digest (16) and its alignment (8).
const HEAD: usize = 24;

/// Machine code that can lie at any address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// Required alignment in bytes.
    pub alignment: u64,
    /// The instructions and the constants behind them.
    pub bytes: Vec<u8>,
}

/// A folder with one file per compiled function.
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store that the environment asks for.
    pub fn of_environment() -> Option<Store> {
        let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty())?;
        Some(Store { folder: folder.into() })
    }

    /// The code under a key; nothing if it was never kept or its file is damaged, which the next
    /// [`Store::keep`] mends.
    pub fn find(&self, key: u128) -> Option<Code> {
        let file = fs::read(self.file(key)).ok()?;
        let (head, bytes) = file.split_at_checked(HEAD)?;
        let (digest, alignment) = head.split_at(16);
        let alignment = u64::from_le_bytes(alignment.try_into().ok()?);
        let code = Code { alignment, bytes: bytes.to_vec() };
        (digest == code.digest().to_le_bytes()).then_some(code)
    }

    /// Keeps code. A store that cannot be written costs time, not results, so failures are silent.
    pub fn keep(&self, key: u128, code: &Code) {
        // Another process or thread sees all of a file or nothing.
        let head = [&code.digest().to_le_bytes()[..], &code.alignment.to_le_bytes()];
        if fs::create_dir_all(&self.folder).is_ok() {
            let _ = weft_output::write(&self.file(key), &[&head.concat()[..], &code.bytes].concat());
        }
    }

    fn file(&self, key: u128) -> PathBuf {
        self.folder.join(format!("{key:032x}"))
    }
}

impl Code {
    fn digest(&self) -> u128 {
        let mut hasher = SipHasher24::new();
        hasher.write(&self.alignment.to_le_bytes());
        hasher.write(&self.bytes);
        hasher.finish128().as_u128()
    }
}

/// The key of a function that a target would compile.
pub fn key(function: &Function, isa: &dyn TargetIsa) -> u128 {
    let mut hasher = SipHasher24::new();
    cranelift_codegen::VERSION.hash(&mut hasher);
    isa.name().hash(&mut hasher);
    isa.triple().hash(&mut hasher);
    isa.flags().hash(&mut hasher);
    isa.isa_flags_hash_key().hash(&mut hasher);
    function.stencil.hash(&mut hasher);
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

    fn code(fill: u8) -> Code {
        Code { alignment: 16, bytes: (0..1000).map(|n| (n as u8).wrapping_mul(fill)).collect() }
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
}
