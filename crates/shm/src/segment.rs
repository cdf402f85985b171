//! One direction of a channel in shared memory: a sealed, anonymous file. The writer makes it and chooses its size.
//!
//! The file has no name, so nothing must be cleaned up: the kernel frees the file when both processes have ended. It is sealed
//! against changes of its length, because reading beyond the end of a shortened file would end the reading process.

use crate::OpenError;
use crate::layout::{self, Checksum, HEADER_WORDS, LANES_MAX, LaneLayout, MAGIC, SEGMENT_BYTES_MAX, VERSION};
use crate::map::Map;
use crate::memory::Memory;
use nowcast_queue::Bounds;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, SealFlags};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A mapped segment and the positions of its lanes.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) map: Arc<Map>,
    pub(crate) lanes: Vec<LaneLayout>,
}

/// The seals that make a segment safe to map: its length cannot change, and the seals cannot be removed.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

impl Segment {
    /// Makes a segment with one lane for each element of `bounds`. Also returns the file to send to the reader.
    pub(crate) fn create(bounds: &[Bounds]) -> Result<(Segment, OwnedFd), OpenError> {
        let (lanes, words) = layout::lanes(bounds).ok_or(OpenError::Bounds)?;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("nowcast", flags)?;
        rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        rustix::fs::ftruncate(&file, (words * 8) as u64)?;
        rustix::fs::fcntl_add_seals(&file, SEALS)?;
        let map = Arc::new(Map::new(&file, words)?);
        let header = header(bounds, words);
        for (word, number) in map.words().iter().zip(header) {
            word.store(number, Relaxed);
        }
        Ok((Segment { map, lanes }, file))
    }

    /// Checks the segment that a peer made, and maps it.
    pub(crate) fn open(file: impl AsFd) -> Result<Segment, OpenError> {
        let stat = rustix::fs::fstat(&file)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(OpenError::Owner { user: stat.st_uid });
        }
        if stat.st_mode & 0o077 != 0 {
            return Err(OpenError::Permissions { mode: stat.st_mode & 0o777 });
        }
        // Reading the seals fails for files that cannot have any, such as files with a name.
        let seals = rustix::fs::fcntl_get_seals(&file).unwrap_or(SealFlags::empty());
        if !seals.contains(SEALS) {
            return Err(OpenError::NotSealed);
        }
        let bytes = usize::try_from(stat.st_size).unwrap_or(0);
        if bytes < HEADER_WORDS * 8 {
            return Err(OpenError::TooShort { bytes, needed: HEADER_WORDS * 8 });
        }
        if bytes > SEGMENT_BYTES_MAX {
            return Err(OpenError::TooLong { bytes });
        }
        let map = Arc::new(Map::new(&file, bytes / 8)?);
        let header: [u64; HEADER_WORDS] = std::array::from_fn(|index| map.words()[index].load(Relaxed));
        let bounds = bounds_of(&header)?;
        let (lanes, words) = layout::lanes(&bounds).ok_or(OpenError::Bounds)?;
        if words * 8 != bytes {
            return Err(OpenError::TooShort { bytes, needed: words * 8 });
        }
        Ok(Segment { map, lanes })
    }
}

fn header(bounds: &[Bounds], words: usize) -> [u64; HEADER_WORDS] {
    let mut header = [0; HEADER_WORDS];
    header[..4].copy_from_slice(&[MAGIC, VERSION, words as u64, bounds.len() as u64]);
    for (lane, bounds) in header[4..].chunks_exact_mut(2).zip(bounds) {
        lane.copy_from_slice(&[bounds.entries_max as u64, bounds.bytes_max as u64]);
    }
    header[HEADER_WORDS - 1] = checksum(&header);
    header
}

/// The bounds in a header, copied from the segment before they are used.
fn bounds_of(header: &[u64; HEADER_WORDS]) -> Result<Vec<Bounds>, OpenError> {
    if header[0] != MAGIC {
        return Err(OpenError::NotASegment);
    }
    if header[1] != VERSION {
        return Err(OpenError::Version { theirs: header[1], ours: VERSION });
    }
    if header[HEADER_WORDS - 1] != checksum(header) {
        return Err(OpenError::Header);
    }
    let lanes = usize::try_from(header[3]).unwrap_or(usize::MAX);
    if lanes > LANES_MAX {
        return Err(OpenError::Bounds);
    }
    let number = |word: u64| usize::try_from(word).map_err(|_| OpenError::Bounds);
    let lane = |lane: &[u64]| Ok(Bounds { entries_max: number(lane[0])?, bytes_max: number(lane[1])? });
    header[4..].chunks_exact(2).take(lanes).map(lane).collect()
}

fn checksum(header: &[u64; HEADER_WORDS]) -> u64 {
    let mut sum = Checksum::new(VERSION);
    header[..HEADER_WORDS - 1].iter().for_each(|&word| sum.add(word));
    u64::from(sum.finish(0))
}
