//! Snapshots of a world, and world files.

use nowcast_wire::save::{Chunk, FileReader, FileWriter, Options, SaveError};
use nowcast_wire::shape::{DefinitionKind, Type};
use nowcast_wire::{Limits as WireLimits, Shape, Value, Wire};

use crate::batch::{BATCH_BYTES_MAX, Batch, BatchError, Span, TICK_MAX, may_follow};
use crate::once::{Numbers, Once};

/// Maximum bytes of a world in a snapshot.
pub const WORLD_BYTES_MAX: usize = 256 << 20;

/// Maximum bytes of the host's data in a snapshot.
pub const HOST_BYTES_MAX: usize = 16 << 20;

/// Maximum bytes in a file's batches together.
pub const FILE_BATCHES_BYTES_MAX: usize = 1 << 30;

/// The type in the header of the file.
const WHAT: &str = "nowcast world";

/// The version of the content.
const VERSION: i64 = 1;

/// Maximum bytes of a world in one chunk. Each chunk has its own checksum.
const PIECE_BYTES: usize = 256 << 10;

/// Maximum size of the header at the beginning of a file.
pub(crate) const HEAD_BYTES: usize = 4 << 10;

/// A batch is one row, and all rows of a chunk are in memory at the same time.
const CHUNK_BYTES_MAX: usize = BATCH_BYTES_MAX + (1 << 20);

const _: () = assert!(PIECE_BYTES < CHUNK_BYTES_MAX && CHUNK_BYTES_MAX < WORLD_BYTES_MAX);

const LIMITS: WireLimits =
    WireLimits { memory_bytes_max: 256 << 20, chunk_bytes_max: CHUNK_BYTES_MAX, ..WireLimits::FILE };

/// The origin of a world: the data from which, together with the commands, the world can be rebuilt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// A hash of the world's definition.
    pub definition: [u8; 32],
    /// A hash of the world's rule sources.
    pub sources: [u8; 32],
    /// The seed of the world.
    pub seed: u64,
}

/// A world at one tick, between two steps.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Snapshot {
    /// The present origin of the world.
    pub origin: Origin,
    /// Number of steps that the world had taken.
    pub tick: u64,
    /// [`nowcast_world::World::hash`] right after [`nowcast_world::World::snapshot`].
    pub hash: u64,
    /// The time at which the snapshot was taken, in milliseconds since 1970.
    pub time_ms: u64,
    /// The bytes of [`nowcast_world::World::snapshot`].
    pub world: Vec<u8>,
    /// The durable actions that were done.
    pub once: Once,
    /// The host's data, such as its sessions. The store does not read it.
    pub host: Vec<u8>,
}

/// The reason why a file is not a world.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The save file is damaged, or the file is not a save file.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// The file is a save file with other content.
    #[error("the file is a save file, but not of a world")]
    Foreign,
    /// A newer program wrote the file.
    #[error("the file has version {found}, and this program reads versions up to {VERSION}")]
    Newer {
        /// The version of the file.
        found: i64,
    },
    /// A batch in the file is damaged.
    #[error("batch {index}: {error}")]
    Batch {
        /// The index of the batch in the file, from 0.
        index: usize,
        /// The fault.
        error: BatchError,
    },
    /// The parts of the file contradict each other.
    #[error("the file is damaged: {0}")]
    Invalid(&'static str),
}

/// Writes a world as one save file, which `nowcast save inspect` can read: a snapshot, and the batches after it.
///
/// A row of the store holds such a file without batches; an export is such a file with batches.
///
/// # Errors
/// Returns the errors of [`FileWriter`]. Writing to memory causes none.
pub fn write_file(name: &str, snapshot: &Snapshot, batches: &[Batch]) -> Result<Vec<u8>, FileError> {
    let mut writer = FileWriter::new(Vec::new(), Options::default())?;
    let Origin { definition, sources, seed } = snapshot.origin;
    let about = [
        ("what", Value::from(WHAT)),
        ("version", Value::from(VERSION)),
        ("name", Value::from(name)),
        ("tick", Value::from(snapshot.tick)),
    ];
    writer.about(&Value::Map(about.map(|(key, value)| (key.into(), value)).into()))?;
    let Snapshot { tick, hash, time_ms, .. } = *snapshot;
    writer.write(&[WorldHead { name: name.to_owned(), tick, hash, time_ms, definition, sources, seed }])?;
    for bytes in snapshot.world.chunks(PIECE_BYTES) {
        writer.write(&[WorldPiece { bytes: bytes.to_vec() }])?;
    }
    for bytes in snapshot.host.chunks(PIECE_BYTES) {
        writer.write(&[HostPiece { bytes: bytes.to_vec() }])?;
    }
    let actions: Vec<WorldActions> = snapshot.once.rows().map(WorldActions::of).collect();
    for rows in actions.chunks(1_024) {
        writer.write(rows)?;
    }
    for batch in batches {
        let Span { from_tick, through_tick, time_ms } = batch.span();
        writer.write(&[WorldBatch { from_tick, through_tick, time_ms, bytes: batch.to_bytes() }])?;
    }
    Ok(writer.finish()?)
}

/// Reads the output of [`write_file`]: the world's name, the snapshot, the batches. The bytes are untrusted.
///
/// # Errors
/// Fails if the bytes are not a save file of a world, or are damaged.
pub fn read_file(bytes: &[u8]) -> Result<(String, Snapshot, Vec<Batch>), FileError> {
    let mut reader = FileReader::new(bytes, LIMITS)?;
    let mut parts = Parts::default();
    while let Some(chunk) = reader.next_chunk()? {
        let taken = parts.take(&chunk);
        // Unknown parts of a newer file are reported as a newer version, not as damage.
        check_about(reader.about())?;
        taken?;
    }
    let head = parts.head.ok_or(FileError::Foreign)?;
    let WorldHead { name, tick, hash, time_ms, definition, sources, seed } = head;
    if tick > TICK_MAX || time_ms > TICK_MAX {
        return Err(FileError::Invalid("its tick or its time does not fit into 63 bits"));
    }
    let origin = Origin { definition, sources, seed };
    let Parts { world, host, once, batches, .. } = parts;
    Ok((name, Snapshot { origin, tick, hash, time_ms, world, once, host }, batches))
}

/// Reads the origin of a world from the first [`HEAD_BYTES`] of its file.
pub(crate) fn read_origin(beginning: &[u8]) -> Result<Origin, FileError> {
    let mut reader = FileReader::new(beginning, LIMITS)?;
    let mut parts = Parts::default();
    if let Some(chunk) = reader.next_chunk()? {
        parts.take(&chunk)?;
    }
    let WorldHead { definition, sources, seed, .. } = parts.head.ok_or(FileError::Foreign)?;
    Ok(Origin { definition, sources, seed })
}

fn check_about(about: Option<&Value>) -> Result<(), FileError> {
    let about = about.ok_or(FileError::Foreign)?;
    if about.get("what").and_then(Value::as_text) != Some(WHAT) {
        return Err(FileError::Foreign);
    }
    match about.get("version") {
        Some(Value::Int(version)) if (1..=VERSION).contains(version) => Ok(()),
        Some(Value::Int(version)) => Err(FileError::Newer { found: *version }),
        _ => Err(FileError::Invalid("it has no version")),
    }
}

/// The parts of a file read so far.
#[derive(Default)]
struct Parts {
    head: Option<WorldHead>,
    world: Vec<u8>,
    host: Vec<u8>,
    once: Once,
    batches: Vec<Batch>,
    batches_bytes: usize,
}

impl Parts {
    fn take(&mut self, chunk: &Chunk<'_>) -> Result<(), FileError> {
        match row_name(chunk.shape()) {
            "WorldHead" => {
                for head in chunk.decode::<WorldHead>()? {
                    if self.head.replace(head).is_some() {
                        return Err(FileError::Invalid("it has two heads"));
                    }
                }
            }
            "WorldPiece" => {
                for piece in chunk.decode::<WorldPiece>()? {
                    extend(&mut self.world, &piece.bytes, WORLD_BYTES_MAX)?;
                }
            }
            "HostPiece" => {
                for piece in chunk.decode::<HostPiece>()? {
                    extend(&mut self.host, &piece.bytes, HOST_BYTES_MAX)?;
                }
            }
            "WorldActions" => {
                for row in chunk.decode::<WorldActions>()? {
                    let (client, numbers) = row.load();
                    if !self.once.restore(client, numbers) {
                        return Err(FileError::Invalid("its durable actions contradict each other"));
                    }
                }
            }
            "WorldBatch" => {
                for row in chunk.decode::<WorldBatch>()? {
                    self.take_batch(row)?;
                }
            }
            _ => return Err(FileError::Foreign),
        }
        Ok(())
    }

    fn take_batch(&mut self, row: WorldBatch) -> Result<(), FileError> {
        self.batches_bytes += row.bytes.len();
        if self.batches_bytes > FILE_BATCHES_BYTES_MAX {
            return Err(FileError::Invalid("its batches are larger than a file may hold"));
        }
        let span = Span { from_tick: row.from_tick, through_tick: row.through_tick, time_ms: row.time_ms };
        let index = self.batches.len();
        let batch = Batch::from_bytes(span, &row.bytes).map_err(|error| FileError::Batch { index, error })?;
        let before = self.batches.last().map(|before| before.through_tick);
        let before = before.or(self.head.as_ref().map(|head| head.tick));
        if !before.is_some_and(|before| may_follow(before, batch.from_tick)) {
            return Err(FileError::Batch { index, error: BatchError::Ticks });
        }
        self.batches.push(batch);
        Ok(())
    }
}

fn extend(to: &mut Vec<u8>, bytes: &[u8], max: usize) -> Result<(), FileError> {
    if to.len() + bytes.len() > max {
        return Err(FileError::Invalid("a part of it is larger than it may be"));
    }
    to.extend_from_slice(bytes);
    Ok(())
}

fn row_name(shape: &Shape) -> &str {
    match shape.root {
        Type::Ref(index) => match shape.definition(index) {
            definition if matches!(definition.kind, DefinitionKind::Struct(_)) => &definition.name,
            _ => "",
        },
        _ => "",
    }
}

#[derive(Wire)]
struct WorldHead {
    name: String,
    tick: u64,
    hash: u64,
    time_ms: u64,
    definition: [u8; 32],
    sources: [u8; 32],
    seed: u64,
}

#[derive(Wire)]
struct WorldPiece {
    bytes: Vec<u8>,
}

#[derive(Wire)]
struct HostPiece {
    bytes: Vec<u8>,
}

#[derive(Wire)]
struct WorldActions {
    client: [u8; 16],
    floor: u64,
    above: Vec<u64>,
    tick: u64,
}

impl WorldActions {
    fn of((client, numbers): ([u8; 16], &Numbers)) -> WorldActions {
        let above = numbers.above.iter().copied().collect();
        WorldActions { client, floor: numbers.floor, above, tick: numbers.tick }
    }

    fn load(self) -> ([u8; 16], Numbers) {
        (self.client, Numbers { floor: self.floor, above: self.above.into_iter().collect(), tick: self.tick })
    }
}

#[derive(Wire)]
struct WorldBatch {
    from_tick: u64,
    through_tick: u64,
    time_ms: u64,
    bytes: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::once::ActionId;
    use nowcast_world::journal::{Entry, Record};
    use proptest::prelude::*;

    fn snapshot() -> Snapshot {
        let mut once = Once::default();
        for number in [1, 2, 3, 7, 9] {
            once.insert(ActionId { client: [number as u8 % 2; 16], number }, number);
        }
        Snapshot {
            origin: Origin { definition: [1; 32], sources: [2; 32], seed: 3 },
            tick: 500,
            hash: 0xfeed,
            time_ms: 1_700_000_000_000,
            world: (0..600_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect(),
            once,
            host: b"sessions".to_vec(),
        }
    }

    fn batches() -> Vec<Batch> {
        let batch = |tick| Batch {
            from_tick: tick,
            through_tick: tick + 3,
            time_ms: 1_700_000_000_000 + tick,
            entries: vec![Entry { tick, record: Record::Settled }],
            ..Batch::default()
        };
        vec![batch(500), batch(503), batch(506)]
    }

    #[test]
    fn the_specification_states_the_structs_of_a_world_file() {
        let page = include_str!("../../../spec/STORE.md").split_whitespace().collect::<Vec<_>>().join(" ");
        for shape in [
            nowcast_wire::Shape::of::<WorldHead>(),
            nowcast_wire::Shape::of::<WorldPiece>(),
            nowcast_wire::Shape::of::<HostPiece>(),
            nowcast_wire::Shape::of::<WorldActions>(),
            nowcast_wire::Shape::of::<WorldBatch>(),
        ] {
            assert!(page.contains(&format!("struct {shape}")), "{shape}");
        }
    }

    #[test]
    fn a_world_is_read_from_its_file_as_it_was_written() {
        let (snapshot, batches) = (snapshot(), batches());
        let bytes = write_file("plaza", &snapshot, &batches).unwrap();
        assert_eq!(read_file(&bytes).unwrap(), ("plaza".to_owned(), snapshot, batches));
        let longest = "\u{1f40c}".repeat(16);
        let long =
            write_file(&longest, &Snapshot { world: vec![1; 9_000], ..self::snapshot() }, &[]).unwrap();
        assert_eq!(read_origin(&long[..HEAD_BYTES.min(long.len())]).unwrap(), self::snapshot().origin);
        let empty = write_file("plaza", &Snapshot::default(), &[]).unwrap();
        assert_eq!(read_file(&empty).unwrap().1, Snapshot::default());
    }

    #[test]
    fn every_torn_file_and_every_wrong_bit_is_an_error() {
        let snapshot = Snapshot { world: vec![5; 300], ..snapshot() };
        let bytes = write_file("plaza", &snapshot, &batches()).unwrap();
        for cut in 0..bytes.len() {
            assert!(read_file(&bytes[..cut]).is_err(), "cut off after {cut} bytes");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << (place % 8);
            assert!(read_file(&damaged).is_err(), "byte {place}");
        }
    }

    #[test]
    fn a_save_file_of_something_else_and_one_of_a_newer_release_are_told_apart() {
        let other = nowcast_wire::save::to_vec(&WorldPiece { bytes: vec![1] }, Options::default()).unwrap();
        assert!(matches!(read_file(&other), Err(FileError::Foreign)));
        assert!(matches!(read_file(b"SQLite format 3\0"), Err(FileError::Save(_))));
        let mut newer = FileWriter::new(Vec::new(), Options::default()).unwrap();
        let about = vec![("what".into(), WHAT.into()), ("version".into(), 9.into())];
        newer.about(&Value::Map(about)).unwrap();
        newer.write(&[7u32]).unwrap();
        assert!(matches!(read_file(&newer.finish().unwrap()), Err(FileError::Newer { found: 9 })));
    }

    proptest! {
        #[test]
        fn batches_out_of_order_are_refused(from in 0u64..600) {
            let mut wrong = batches();
            wrong[1].entries.clear();
            (wrong[1].from_tick, wrong[1].through_tick) = (from, from + 1);
            let bytes = write_file("plaza", &Snapshot { tick: 500, ..Snapshot::default() }, &wrong).unwrap();
            prop_assert_eq!(read_file(&bytes).is_ok(), (503..=505).contains(&from));
        }
    }
}
