//! What clients of the plain protocol are told.

use std::cell::OnceCell;
use std::sync::Arc;

use nowcast_world::STEP_HZ;
use tokio_tungstenite::tungstenite::Message;

use super::{PHASES, Room, SeatedPlayer, is_due};
use crate::plain::{Encoding, Entity, EntityKind, PROTOCOL, ServerMessage};
use crate::playground::{EntityRef, Event, Kind};
use crate::send_queue::Greeting;
use crate::snapshot::{Snapshot, into_message, rounded};

/// Snapshots whose encodings are kept for clients that get to them a little late.
const SHARED_SNAPSHOTS_MAX: usize = PHASES as usize;

impl Room {
    pub(super) fn tell_plain_clients(&self, events: &[Event]) {
        let mut news: Vec<ServerMessage> = Vec::new();
        for event in events.iter().cloned() {
            match (event, news.last_mut()) {
                (Event::Spawned(id), last) => {
                    let Some(entity) = self.world.entity(id).map(describe) else { continue };
                    match last {
                        Some(ServerMessage::Spawn { entities }) => entities.push(entity),
                        _ => news.push(ServerMessage::Spawn { entities: vec![entity] }),
                    }
                }
                (Event::Despawned(id), Some(ServerMessage::Despawn { ids })) => ids.push(id.0),
                (Event::Despawned(id), _) => news.push(ServerMessage::Despawn { ids: vec![id.0] }),
                (Event::Held { avatar, block }, _) => {
                    news.push(ServerMessage::Hold { avatar: avatar.0, block: block.map(|id| id.0) });
                }
                (Event::Renamed { id, name }, _) => news.push(ServerMessage::Rename { id: id.0, name }),
                (Event::Chat { from, name, text }, _) => {
                    news.push(ServerMessage::Chat { from: from.0, name, text });
                }
                // Its pose jumps with the next `move`; the plain protocol has no word for it.
                (Event::Returned(_), _) => {}
            }
        }
        for message in &news {
            let encoded = Encoded::new(message);
            for plain in self.players.iter().filter_map(|seated| seated.player.plain()) {
                let encoded = encoded.for_encoding(plain.encoding);
                if matches!(message, ServerMessage::Chat { .. }) {
                    self.count_missed(plain.queue.push_line(encoded));
                } else {
                    plain.queue.push_event(encoded);
                }
            }
        }
    }

    pub(super) fn greet_plain_clients(&self, newcomers: &[SeatedPlayer]) {
        if newcomers.iter().all(|newcomer| newcomer.player.plain().is_none()) {
            return;
        }
        let baseline = self.snapshot();
        let mut picture =
            vec![ServerMessage::Spawn { entities: self.world.entities().map(describe).collect() }];
        picture.extend(self.world.entities().filter(|entity| entity.kind == Kind::Avatar).filter_map(
            |avatar| {
                let block = avatar.held?;
                Some(ServerMessage::Hold { avatar: avatar.id.0, block: Some(block.0) })
            },
        ));
        let picture: Vec<Encoded<'_>> = picture.iter().map(Encoded::new).collect();
        for SeatedPlayer { player, avatar } in newcomers {
            let Some(plain) = player.plain() else { continue };
            let welcome = ServerMessage::Welcome {
                protocol: PROTOCOL,
                id: avatar.0,
                room: self.name.clone(),
                step_hz: STEP_HZ,
                network_hz: player.network_hz(),
                tick: self.world.tick(),
            };
            let welcome = Encoded::new(&welcome);
            let messages = std::iter::once(&welcome).chain(&picture);
            let messages = messages.map(|message| message.for_encoding(plain.encoding)).collect();
            plain.queue.greet(Greeting { messages, baseline: Arc::clone(&baseline) });
        }
    }

    /// Puts the state of now into the send queue of everybody who is due for it, or who still has an older one there.
    pub(super) fn publish_snapshot(&mut self) {
        let tick = self.world.tick();
        let mut fresh: Option<Arc<Snapshot>> = None;
        for SeatedPlayer { player, avatar } in &self.players {
            let Some(plain) = player.plain() else { continue };
            let due = is_due(tick + u64::from(avatar.0) % PHASES, player.network_hz());
            if !due && !plain.queue.has_snapshot() {
                continue;
            }
            let snapshot = fresh.get_or_insert_with(|| self.snapshot());
            if plain.queue.put_snapshot(Arc::clone(snapshot)) {
                self.rooms.metrics.snapshots_superseded.inc();
            }
        }
        self.shared.extend(fresh);
        while self.shared.len() > SHARED_SNAPSHOTS_MAX {
            self.shared.pop_front().expect("there are some").retire();
        }
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(Snapshot::new(&self.world, self.shared.back().map(Arc::as_ref)))
    }
}

/// A message, encoded at most once for each encoding.
struct Encoded<'m> {
    message: &'m ServerMessage,
    json: OnceCell<Message>,
    msgpack: OnceCell<Message>,
}

impl<'m> Encoded<'m> {
    fn new(message: &'m ServerMessage) -> Self {
        Self { message, json: OnceCell::new(), msgpack: OnceCell::new() }
    }

    fn for_encoding(&self, encoding: Encoding) -> Message {
        let encoding = encoding.of_events();
        let cell = if encoding == Encoding::MsgPack { &self.msgpack } else { &self.json };
        cell.get_or_init(|| into_message(self.message.encode(encoding))).clone()
    }
}

fn describe(entity: EntityRef<'_>) -> Entity {
    let kind = match entity.kind {
        Kind::Static => EntityKind::Static,
        Kind::Block => EntityKind::Block,
        Kind::Avatar => EntityKind::Avatar,
    };
    let (p, r) = rounded(&entity.pose);
    Entity {
        id: entity.id.0,
        kind,
        name: entity.name.map(str::to_owned),
        // Sizes are round decimals as f32; going through text keeps them round as f64.
        size: (kind != EntityKind::Avatar).then(|| entity.size.map(round_size)),
        color: entity.color,
        p,
        r,
    }
}

/// Rounds to 0.1 mm: sizes are round numbers that an `f32` cannot hold exactly.
fn round_size(value: f32) -> f64 {
    (f64::from(value) * 10_000.0).round() / 10_000.0
}
