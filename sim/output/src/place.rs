//! What a path leads to.

use crate::error::OutputError;
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Links that a path may lead over; as many as Linux follows.
const LINKS: usize = 40;

/// Where bytes are to go.
pub(crate) enum Place {
    /// A regular file, or one that is not there yet.
    File {
        /// The file itself, over all links, in a folder without any.
        target: PathBuf,
        /// Of the file that is there.
        before: Option<Before>,
    },
    /// A device, a pipe or an open descriptor.
    Stream(PathBuf),
}

/// What a file that is replaced leaves to the new one.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) struct Before {
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
}

impl Before {
    #[cfg(unix)]
    fn of(found: &Metadata) -> Before {
        use std::os::unix::fs::MetadataExt;
        Before { mode: found.mode() & 0o777, owner: (found.uid(), found.gid()) }
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Before {
        Before { mode: 0, owner: (0, 0) }
    }
}

impl Place {
    /// Follows the links of a path.
    ///
    /// # Errors
    /// A folder that does not exist, a folder in the place of a file, no permission.
    pub fn find(path: &Path) -> Result<Place, OutputError> {
        let wrong = |cause: String, remedy: &'static str| OutputError::new(path, cause, remedy);
        let mut at = path.to_path_buf();
        for _ in 0..LINKS {
            let Some(name) = at.file_name().filter(|_| !ends_as_folder(&at)) else {
                return Err(wrong("it is a folder".into(), "give a file"));
            };
            let folder = at.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let whole = folder.canonicalize().map_err(|cause| match cause.kind() {
                ErrorKind::NotFound => missing(path, folder),
                ErrorKind::NotADirectory => {
                    wrong(format!("{} is no folder", folder.display()), "give a file in a folder that exists")
                }
                _ => OutputError::of(path, &cause),
            })?;
            if !whole.is_dir() {
                let cause = format!("{} is no folder", folder.display());
                return Err(wrong(cause, "give a file in a folder that exists"));
            }
            // What is under /proc and looks like a link is a door to something open.
            let descriptor = whole.starts_with("/proc");
            let target = whole.join(name);
            let found = match target.symlink_metadata() {
                Ok(found) => found,
                Err(cause) if cause.kind() == ErrorKind::NotFound => {
                    return Ok(Place::File { target, before: None });
                }
                Err(cause) => return Err(OutputError::of(path, &cause)),
            };
            if found.is_symlink() && !descriptor {
                at = whole.join(target.read_link().map_err(|cause| OutputError::of(path, &cause))?);
                continue;
            }
            return Place::of(path, target, found);
        }
        Err(wrong("its symbolic links lead in a circle".into(), "give a file"))
    }

    /// What is there and is no link.
    fn of(path: &Path, target: PathBuf, found: Metadata) -> Result<Place, OutputError> {
        let wrong = |what: &str| Err(OutputError::new(path, what.into(), "give a file"));
        if found.is_dir() {
            return wrong("it is a folder");
        }
        if found.is_file() {
            // A file that may not be written is not replaced either.
            File::options().write(true).open(&target).map_err(|cause| OutputError::of(path, &cause))?;
            return Ok(Place::File { target, before: Some(Before::of(&found)) });
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt;
            let kind = if found.is_symlink() {
                target.metadata().map(|m| m.file_type())
            } else {
                Ok(found.file_type())
            };
            let kind = kind.map_err(|cause| OutputError::of(path, &cause))?;
            if kind.is_dir() {
                return wrong("it is a folder");
            }
            if kind.is_block_device() {
                return wrong("it is a disk");
            }
            if kind.is_socket() {
                return wrong("it is a socket");
            }
        }
        Ok(Place::Stream(target))
    }
}

/// A path that ends with a separator, or with `.`, which [`Path`] leaves out.
fn ends_as_folder(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

/// The outermost folder that is missing.
fn missing(path: &Path, folder: &Path) -> OutputError {
    let lacks = |folder: &&Path| !folder.as_os_str().is_empty() && folder.symlink_metadata().is_err();
    let first = folder.ancestors().take_while(lacks).last().unwrap_or(folder);
    let cause = format!("the folder {} does not exist", first.display());
    OutputError::new(path, cause, "make it, or give a file in a folder that exists")
}
