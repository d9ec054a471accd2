//! Files that are packed, read as they are unpacked.

use super::TraceError;
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

/// A file, unpacked if its name says so. Errors of packed bytes come as the file is read.
pub fn open(path: &Path) -> std::result::Result<Box<dyn Read>, TraceError> {
    let file = File::open(path)
        .map_err(|e| TraceError::File { file: path.display().to_string(), problem: e.to_string() })?;
    Ok(match path.extension().and_then(|e| e.to_str()) {
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(file)),
        Some("xz") => Box::new(xz2::read::XzDecoder::new_multi_decoder(file)),
        Some("zst") => Box::new(Zstd::new(BufReader::new(file))),
        _ => Box::new(file),
    })
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

    fn unpack(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        Zstd::new(bytes).read_to_end(&mut out).map(|_| out)
    }

    #[test]
    fn frames_follow_each_other_and_some_are_skipped() {
        let text: Vec<u8> = (0..300_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let frame = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let file = [frame(&text[..1000]), skipped.clone(), frame(&[]), frame(&text[1000..])].concat();
        assert_eq!(unpack(&file).expect("whole"), text);
        for (cut, of) in [(1, &file), (file.len() / 2, &file), (2, &skipped)] {
            assert!(unpack(&of[..of.len() - cut]).is_err(), "without its last {cut} bytes");
        }
        let mut changed = file.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        assert!(unpack(&changed).map_or(true, |found| found != text), "a changed byte shows");
    }
}
