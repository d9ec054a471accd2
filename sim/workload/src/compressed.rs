//! Packed files, read as they are unpacked: gzip, xz and Zstandard, known by their first bytes, and never
//! more than a limit.
//!
//! A packed file of a few megabytes can hold terabytes. Nothing here holds more than a buffer, and what
//! reads from it is stopped behind [`Limit::bytes`] with a sentence that names the limit and the option
//! that sets it.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fs::File;
use std::io::{BufRead, BufReader, Error, Read, Result};
use std::path::Path;

/// Endings of packed files, with the dot.
pub const ENDINGS: [&str; 3] = [".gz", ".xz", ".zst"];

/// A file's name without the ending of a packer.
pub fn plain(name: &str) -> &str {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// How many bytes a file may hold when it is unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes.
    pub bytes: u64,
    /// What a user sets it by, for the sentence that says so: `--graph-limit`.
    pub option: &'static str,
}

/// A file that holds more than it may. It comes as the inner error of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it holds more than {} bytes, the limit; {} sets another", .0.bytes, .0.option)]
pub struct OverLimit(pub Limit);

impl OverLimit {
    /// Whether an error of reading is this one.
    pub fn is(error: &Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<OverLimit>())
    }
}

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// gzip, any number of members.
    Gzip,
    /// xz, any number of streams.
    Xz,
    /// Zstandard, any number of frames.
    Zstandard,
}

impl Packing {
    /// The packing that files with these first bytes have; `None` for a file that is not packed.
    pub fn of(first: &[u8]) -> Option<Packing> {
        match first {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Packing::Zstandard),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Xz => "xz",
            Packing::Zstandard => "Zstandard",
        }
    }
}

/// Memory that the dictionary of an xz file may take: eight times what its highest level uses.
const XZ_MEMORY: u64 = 512 << 20;

/// Bytes read from a file at once.
const BUFFER: usize = 1 << 16;

/// The bytes of a file, unpacked as they are read.
pub struct Unpacked<'a> {
    from: Box<dyn BufRead + 'a>,
    packing: Option<Packing>,
    limit: Limit,
    left: u64,
}

/// Opens a file.
///
/// # Errors
/// A file that cannot be opened or whose first bytes cannot be read. Damage, and more bytes than the limit,
/// show as errors of reading.
pub fn open(path: &Path, limit: Limit) -> Result<Unpacked<'static>> {
    unpack(BufReader::with_capacity(BUFFER, File::open(path)?), limit)
}

/// Unpacks what a reader gives.
///
/// # Errors
/// As [`open`].
pub fn unpack<'a>(mut from: impl BufRead + 'a, limit: Limit) -> Result<Unpacked<'a>> {
    let packing = Packing::of(from.fill_buf()?);
    let from: Box<dyn BufRead + 'a> = match packing {
        None => Box::new(from),
        Some(Packing::Gzip) => buffered(flate2::bufread::MultiGzDecoder::new(from)),
        Some(Packing::Xz) => {
            let stream = xz2::stream::Stream::new_stream_decoder(XZ_MEMORY, xz2::stream::CONCATENATED)?;
            buffered(xz2::bufread::XzDecoder::new_stream(from, stream))
        }
        Some(Packing::Zstandard) => buffered(Zstd::new(from)),
    };
    Ok(Unpacked { from, packing, limit, left: limit.bytes })
}

fn buffered<'a>(from: impl Read + 'a) -> Box<dyn BufRead + 'a> {
    Box::new(BufReader::with_capacity(BUFFER, from))
}

impl Unpacked<'_> {
    /// How the file is packed; `None` if it is not.
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// Bytes that it may hold.
    pub fn limit(&self) -> Limit {
        self.limit
    }
}

impl BufRead for Unpacked<'_> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        let bytes = self.from.fill_buf()?;
        if self.left == 0 && !bytes.is_empty() {
            return Err(Error::other(OverLimit(self.limit)));
        }
        Ok(&bytes[..bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX))])
    }

    fn consume(&mut self, bytes: usize) {
        self.left -= bytes as u64;
        self.from.consume(bytes);
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(out.len());
        out[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// Zstandard: frames one behind the other, as parallel packers write them. A frame that can be skipped is.
struct Zstd<R> {
    from: R,
    frame: FrameDecoder,
    /// Inside a frame.
    open: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(from: R) -> Zstd<R> {
        Zstd { from, frame: FrameDecoder::new(), open: false }
    }

    /// Begins the next frame; false at the end of the file.
    fn begin(&mut self) -> Result<bool> {
        while !self.from.fill_buf()?.is_empty() {
            match self.frame.reset(&mut self.from) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if std::io::copy(&mut (&mut self.from).take(length), &mut std::io::sink())? < length {
                        return Err(Error::other("the file ends inside a frame"));
                    }
                }
                Err(error) => {
                    return Err(Error::other(format!("these bytes are no frame of Zstandard ({error:?})")));
                }
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        loop {
            if !self.open {
                self.open = self.begin()?;
                if !self.open {
                    return Ok(0);
                }
            }
            if self.frame.can_collect() > 0 {
                return self.frame.read(buf);
            }
            if self.frame.is_finished() {
                let sums = (self.frame.get_checksum_from_data(), self.frame.get_calculated_checksum());
                if matches!(sums, (Some(stored), Some(found)) if stored != found) {
                    return Err(Error::other("the checksum of a frame differs"));
                }
                self.open = false;
            } else {
                self.frame
                    .decode_blocks(&mut self.from, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|e| Error::other(format!("a frame of Zstandard is damaged ({e:?})")))?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn frames(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        Zstd::new(bytes).read_to_end(&mut out).map(|_| out)
    }

    #[test]
    fn frames_follow_each_other_and_some_are_skipped() {
        let text: Vec<u8> = (0..300_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let frame = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let file = [frame(&text[..1000]), skipped.clone(), frame(&[]), frame(&text[1000..])].concat();
        assert_eq!(frames(&file).expect("whole"), text);
        for (cut, of) in [(1, &file), (file.len() / 2, &file), (2, &skipped)] {
            assert!(frames(&of[..of.len() - cut]).is_err(), "without its last {cut} bytes");
        }
        let mut changed = file.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        assert!(frames(&changed).map_or(true, |found| found != text), "a changed byte shows");
    }

    const LIMIT: Limit = Limit { bytes: 1000, option: "--limit" };

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut out, bytes).and_then(|()| out.finish()).expect("packed")
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut out = xz2::write::XzEncoder::new(Vec::new(), 6);
        std::io::Write::write_all(&mut out, bytes).and_then(|()| out.finish()).expect("packed")
    }

    #[test]
    fn what_holds_the_limit_is_read_and_what_holds_more_is_not() {
        let pack: [(&str, fn(&[u8]) -> Vec<u8>); 4] = [
            ("none", <[u8]>::to_vec),
            ("gzip", gzip),
            ("xz", xz),
            ("Zstandard", |bytes| compress_to_vec(bytes, CompressionLevel::Fastest)),
        ];
        for (name, pack) in pack {
            let read = |bytes: usize| {
                let (packed, mut out) = (pack(&vec![b'1'; bytes]), Vec::new());
                let mut unpacked = unpack(packed.as_slice(), LIMIT).expect("opened");
                assert_eq!(unpacked.packing().map_or("none", Packing::name), name);
                unpacked.read_to_end(&mut out).map(|_| out.len())
            };
            assert_eq!([0, 1, 1000].map(|bytes| read(bytes).expect("within the limit")), [0, 1, 1000]);
            for bytes in [1001, 1_000_000] {
                let error = read(bytes).expect_err("over the limit");
                assert!(OverLimit::is(&error), "{name}: {error}");
                assert_eq!(
                    error.to_string(),
                    "it holds more than 1000 bytes, the limit; --limit sets another"
                );
            }
        }
    }

    #[test]
    fn members_of_gzip_and_streams_of_xz_follow_each_other() {
        for pack in [gzip, xz] {
            let mut out = String::new();
            let two = [pack(b"one "), pack(b"two")].concat();
            unpack(two.as_slice(), LIMIT).expect("opened").read_to_string(&mut out).expect("whole");
            assert_eq!(out, "one two");
        }
    }
}
