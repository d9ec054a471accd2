//! Files that the program writes: the one place that every output goes through.
//!
//! | the path is | what is written goes |
//! | --- | --- |
//! | a regular file, or nothing yet | into a file beside it, made exclusively under a random name, which takes its place when it is complete ([`Output::commit`]); mode and owner of a file that was there are kept |
//! | a symbolic link | where it leads: the link stays, what it leads to is replaced; a link to nothing makes that file |
//! | a device, a pipe, an open descriptor (`/dev/stdout`) | into an unnamed file, and from there into the device when it is complete |
//! | a folder, a disk, a socket | nowhere: it is refused |
//!
//! An output that is dropped before its commit leaves nothing behind; [`abandon`] takes away what is under way in a process that ends at once.

mod error;
mod place;
pub mod rows;
mod scratch;

pub use error::OutputError;
pub use scratch::{Scratch, abandon};

use place::{Before, Place};
use scratch::Kept;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// A file that is being written. Bytes are not buffered here.
#[derive(Debug)]
pub struct Output {
    asked: PathBuf,
    to: To,
}

/// Where the bytes are until they are complete.
#[derive(Debug)]
enum To {
    /// In a file beside the target.
    Beside {
        file: NamedTempFile,
        target: PathBuf,
        /// Of the file that is there.
        before: Option<Before>,
        _kept: Kept,
    },
    /// In an unnamed file.
    Stream { gathered: File, device: File },
}

impl Output {
    /// Begins a file that will be at `path`. A pipe is opened, and so waits for its reader.
    ///
    /// # Errors
    /// A path that cannot be written: no such folder, no permission, a folder.
    pub fn create(path: &Path) -> Result<Output, OutputError> {
        let failed = |cause| OutputError::of(path, &cause);
        let to = match Place::find(path)? {
            Place::File { target, before } => {
                let file = beside(&target).map_err(|cause| OutputError::beside(path, &target, &cause))?;
                let _kept = Kept::new(file.path());
                To::Beside { file, target, before, _kept }
            }
            Place::Stream(device) => To::Stream {
                gathered: tempfile::tempfile().map_err(failed)?,
                device: File::options().append(true).open(device).map_err(failed)?,
            },
        };
        Ok(Output { asked: path.to_path_buf(), to })
    }

    /// Sees whether a file can be written there, and writes nothing.
    ///
    /// # Errors
    /// As [`Output::create`].
    pub fn check(path: &Path) -> Result<(), OutputError> {
        match Place::find(path)? {
            Place::File { target, .. } => {
                beside(&target).map(drop).map_err(|cause| OutputError::beside(path, &target, &cause))
            }
            // To open a pipe and to close it again would tell its reader that all has been written.
            Place::Stream(_) => Ok(()),
        }
    }

    /// Whether two paths lead to one file.
    pub fn same(one: &Path, other: &Path) -> bool {
        let target = |path| match Place::find(path) {
            Ok(Place::File { target, .. }) => Some(target),
            _ => None,
        };
        one == other || target(one).is_some_and(|one| target(other) == Some(one))
    }

    /// The path as it was asked for.
    pub fn path(&self) -> &Path {
        &self.asked
    }

    /// The file that holds the bytes until they are complete.
    pub fn file(&self) -> &File {
        match &self.to {
            To::Beside { file, .. } => file.as_file(),
            To::Stream { gathered, .. } => gathered,
        }
    }

    /// What failed while this file was written, as a sentence.
    pub fn failed(&self, cause: &io::Error) -> OutputError {
        OutputError::of(&self.asked, cause)
    }

    /// A complete file that takes its place later, beside others, and needs no open file until then.
    ///
    /// # Errors
    /// None where the file will be a regular one.
    pub fn stage(self) -> Result<Staged, OutputError> {
        let stage = match self.to {
            To::Beside { file, target, before, _kept } => {
                keep(&file, before).map_err(|cause| OutputError::of(&self.asked, &cause))?;
                Stage::Beside { asked: self.asked, file: file.into_temp_path(), target, _kept }
            }
            To::Stream { .. } => Stage::Stream(self),
        };
        Ok(Staged(stage))
    }

    /// Puts the file in its place, and gives it, as it stands there.
    ///
    /// # Errors
    /// A disk that is full or gone; what was there before is still there.
    pub fn commit(self) -> Result<File, OutputError> {
        let asked = self.asked;
        let done = match self.to {
            To::Beside { file, target, before, _kept } => {
                keep(&file, before).and_then(|()| file.persist(&target).map_err(|error| error.error))
            }
            To::Stream { mut gathered, mut device } => gathered
                .seek(SeekFrom::Start(0))
                .and_then(|_| copy(&mut gathered, &mut device))
                .map(|()| device),
        };
        done.map_err(|cause| OutputError::of(&asked, &cause))
    }
}

/// A complete file on its way ([`Output::stage`]).
#[derive(Debug)]
pub struct Staged(Stage);

#[derive(Debug)]
enum Stage {
    Beside { asked: PathBuf, file: TempPath, target: PathBuf, _kept: Kept },
    Stream(Output),
}

impl Staged {
    /// Puts the file in its place.
    ///
    /// # Errors
    /// A disk that is gone.
    pub fn commit(self) -> Result<(), OutputError> {
        match self.0 {
            Stage::Beside { asked, file, target, _kept } => {
                file.persist(&target).map_err(|error| OutputError::of(&asked, &error.error))
            }
            Stage::Stream(output) => output.commit().map(drop),
        }
    }
}

/// Writes a whole file.
///
/// # Errors
/// A file that cannot be written; what was there before is then still there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let mut output = Output::create(path)?;
    output.write_all(bytes).map_err(|cause| output.failed(&cause))?;
    output.commit().map(drop)
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

/// A new file beside another one. Temporary files are private; this one is as open as any other file of the user's.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(target.parent().unwrap_or(Path::new(".")))
}

/// Gives a file the mode, and where that is allowed the owner, of the one that it will replace.
#[cfg(unix)]
fn keep(file: &NamedTempFile, before: Option<Before>) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let Some(Before { mode, owner: (user, group) }) = before else { return Ok(()) };
    let (file, own) = (file.as_file(), file.as_file().metadata()?);
    if (own.uid(), own.gid()) != (user, group) {
        // Only root may give files away; a group may be one's own all the same.
        let _ = fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group)));
    }
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep(_: &NamedTempFile, _: Option<Before>) -> io::Result<()> {
    Ok(())
}

/// As [`io::copy`], which may leave the order of reads and writes to the system: into a device each write counts.
fn copy(from: &mut File, to: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer)? {
            0 => return to.flush(),
            length => to.write_all(&buffer[..length])?,
        }
    }
}
