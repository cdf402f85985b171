//! Figures of one client's session and of the replication to the client. The thread of the session's driver writes the figures,
//! and a room's studio reads them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nowcast::CarrierKind;
use nowcast_engine::DrivenSession;
use nowcast_replication::Frames;
use nowcast_room::Class;
use nowcast_room::sink::{
    Ages, ClassBytes, ClientDetails, ClientFigures, WAITING_LISTED_MAX, WaitingMessage,
};
use nowcast_world::STEP_HZ;
use parking_lot::Mutex;

/// Time after the last read in which the bytes of entities are counted.
const MEASURED_AFTER_READ: Duration = Duration::from_secs(10);

/// Maximum entities whose bytes are counted for one client. The bytes of further entities are not counted.
const ENTITIES_MAX: usize = 16_384;

/// Figures of one client.
#[derive(Default)]
pub(super) struct ReplicationFigures {
    bytes: [AtomicU64; 3],
    oldest_steps: [AtomicU32; 3],
    visible: AtomicU64,
    /// Whether [`Self::entities`] is present, so that a client that nobody inspects takes no lock.
    is_measured: AtomicBool,
    entities: Mutex<Option<EntityBytes>>,
    /// Whether the session's figures were read since they were last written.
    is_requested: AtomicBool,
    session: Mutex<SessionFigures>,
}

/// The figures of the session, at the time when the driver last wrote them.
#[derive(Default)]
struct SessionFigures {
    figures: ClientFigures,
    /// Present while a studio reads the details.
    ages: Vec<(f64, u32)>,
    waiting: Vec<WaitingMessage>,
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

    /// Writes the figures of the session. The details are written only while a studio reads them.
    pub(super) fn note_session(&self, session: &DrivenSession) {
        let (gauges, stats) = (session.protocol.gauges(), session.protocol.stats());
        let figures = ClientFigures {
            carrier: match session.latest_kind() {
                CarrierKind::WebTransport => "webtransport",
                CarrierKind::WebSocket => "websocket",
                _ => "local",
            },
            resumed: Some(session.resumed()),
            rtt_ms: gauges.round_trip.map(ms),
            jitter_ms: gauges.round_trip_variation.map(ms),
            loss_per_mille: Some(stats.loss() * 1_000.0),
            queueing_ms: Some(ms(gauges.queueing_delay)),
            rate_bytes: Some(gauges.bytes_per_second),
            queued: Some(gauges.waiting),
            queued_bytes: Some(gauges.waiting_bytes),
            superseded: Some(stats.superseded),
            resent: Some(stats.states_resent + stats.events_resent),
            sent_bytes: Some(stats.bytes_sent),
            received_bytes: Some(stats.bytes_received),
            ..ClientFigures::default()
        };
        let (mut ages, mut waiting) = (Vec::new(), Vec::new());
        if self.is_measured.load(Ordering::Relaxed) {
            ages.extend(stats.freshness.buckets().map(|(bound, count)| (ms(bound), count)));
            let mut messages: Vec<_> = session.protocol.waiting_messages(session.now()).collect();
            messages.sort_by_key(|message| std::cmp::Reverse(message.age));
            waiting.extend(messages.into_iter().take(WAITING_LISTED_MAX).map(|message| WaitingMessage {
                lane: message.lane,
                kind: if message.key.is_some() { "state" } else { "event" },
                key: message.key.map(|key| key.to_string()),
                bytes: message.bytes,
                age_ms: ms(message.age),
            }));
        }
        *self.session.lock() = SessionFigures { figures, ages, waiting };
    }

    /// Whether the details were read since the last call.
    pub(super) fn take_request(&self) -> bool {
        self.is_requested.swap(false, Ordering::Relaxed)
    }

    /// Returns the figures. Those of the session are as old as the last call of [`note_session`](Self::note_session).
    pub(super) fn read(&self) -> ClientFigures {
        ClientFigures {
            bytes: Some(self.bytes()),
            ages_ms: Some(self.ages()),
            visible: Some(self.visible.load(Ordering::Relaxed)),
            ..self.session.lock().figures
        }
    }

    /// Returns the details. The first call begins to measure them.
    pub(super) fn read_details(&self) -> ClientDetails {
        let (entities, measured) = self.read_entities();
        self.is_requested.store(true, Ordering::Relaxed);
        let session = self.session.lock();
        ClientDetails {
            ages: session.ages.clone(),
            waiting: session.waiting.clone(),
            entities,
            measured_s: measured.as_secs_f64(),
        }
    }

    fn bytes(&self) -> ClassBytes {
        let bytes = |class: Class| self.bytes[class as usize].load(Ordering::Relaxed);
        ClassBytes {
            description: bytes(Class::Description),
            event: bytes(Class::Event),
            movement: bytes(Class::Movement),
        }
    }

    fn ages(&self) -> Ages {
        let ms = |band: usize| {
            f64::from(self.oldest_steps[band].load(Ordering::Relaxed)) * 1_000.0 / f64::from(STEP_HZ)
        };
        Ages { near: ms(0), middle: ms(1), far: ms(2) }
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
    fn read_entities(&self) -> (Vec<(u32, f64)>, Duration) {
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

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
