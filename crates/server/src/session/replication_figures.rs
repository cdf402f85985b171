//! Figures of the replication to one client, which the thread of the session's driver writes and a room's studio reads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nowcast_replication::Frames;
use nowcast_room::Class;
use nowcast_room::sink::{Ages, ClassBytes};
use nowcast_world::STEP_HZ;
use parking_lot::Mutex;

/// Time after the last read in which the bytes of entities are counted.
const MEASURED_AFTER_READ: Duration = Duration::from_secs(10);

/// Maximum entities whose bytes are counted for one client. The bytes of further entities are not counted.
const ENTITIES_MAX: usize = 16_384;

/// Figures of the replication to one client.
#[derive(Default)]
pub(super) struct ReplicationFigures {
    bytes: [AtomicU64; 3],
    oldest_steps: [AtomicU32; 3],
    visible: AtomicU64,
    /// Whether [`Self::entities`] is present, so that a client that nobody inspects takes no lock.
    is_measured: AtomicBool,
    entities: Mutex<Option<EntityBytes>>,
}

struct EntityBytes {
    since: Instant,
    read_at: Instant,
    /// Bytes by entity. The bytes of a group are divided between its entities.
    bytes: BTreeMap<u32, f64>,
}

impl ReplicationFigures {
    pub(super) fn count(&self, class: Class, bytes: usize) {
        self.bytes[class as usize].fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Records the ages of the oldest movement at the beginning of a round.
    pub(super) fn note_ages(&self, oldest_steps: [u32; 3]) {
        for (age, steps) in self.oldest_steps.iter().zip(oldest_steps) {
            age.store(steps, Ordering::Relaxed);
        }
    }

    pub(super) fn set_visible(&self, entities: u64) {
        self.visible.store(entities, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> ClassBytes {
        let bytes = |class: Class| self.bytes[class as usize].load(Ordering::Relaxed);
        ClassBytes {
            description: bytes(Class::Description),
            event: bytes(Class::Event),
            movement: bytes(Class::Movement),
        }
    }

    pub(super) fn ages(&self) -> Ages {
        let ms = |band: usize| {
            f64::from(self.oldest_steps[band].load(Ordering::Relaxed)) * 1_000.0 / f64::from(STEP_HZ)
        };
        Ages { near: ms(0), middle: ms(1), far: ms(2) }
    }

    pub(super) fn visible(&self) -> u64 {
        self.visible.load(Ordering::Relaxed)
    }

    /// Adds a payload of movement to the bytes of its entities, while a studio reads them.
    pub(super) fn note_payload(&self, frames: &Frames, payload: &[u8]) {
        if payload.is_empty() || !self.is_measured.load(Ordering::Relaxed) {
            return;
        }
        let mut entities = self.entities.lock();
        let Some(EntityBytes { bytes, read_at, .. }) = &mut *entities else { return };
        if read_at.elapsed() >= MEASURED_AFTER_READ {
            *entities = None;
            return self.is_measured.store(false, Ordering::Relaxed);
        }
        // A payload that this server wrote can be read.
        let _ = frames.groups_in(payload, |ids, length| {
            let share = length as f64 / ids.len().max(1) as f64;
            for id in ids {
                if bytes.len() < ENTITIES_MAX || bytes.contains_key(id) {
                    *bytes.entry(*id).or_default() += share;
                }
            }
        });
    }

    /// Returns the bytes by entity, and the time in which they were counted. The first call begins to count.
    pub(super) fn read_entities(&self) -> (Vec<(u32, f64)>, Duration) {
        let now = Instant::now();
        let mut entities = self.entities.lock();
        let known = entities.take().filter(|known| known.read_at.elapsed() < MEASURED_AFTER_READ);
        let known = known.unwrap_or_else(|| EntityBytes { since: now, read_at: now, bytes: BTreeMap::new() });
        let read = known.bytes.iter().map(|(id, bytes)| (*id, *bytes)).collect();
        let since = known.since.elapsed();
        *entities = Some(EntityBytes { read_at: now, ..known });
        self.is_measured.store(true, Ordering::Relaxed);
        (read, since)
    }
}
