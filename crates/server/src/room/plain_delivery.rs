//! Messages for clients of the plain protocol.

use std::cell::OnceCell;
use std::sync::Arc;

use nowcast_world::{EntityId, EntityRef, PlayerId, STEP_HZ};
use tokio_tungstenite::tungstenite::Message;

use super::replicated_state::{Changes, Shown, ToldPlayer};
use super::world_events::{Audience, WorldEvent};
use super::{Newcomer, PHASES, Room, is_due};
use crate::client_handle::Player;
use crate::dictionary::{attributes_of, field_types};
use crate::plain::{Action, Any, Asset, Declared, Encoding, Entity, Fields, Kind, PROTOCOL, ServerMessage};
use crate::send_queue::Greeting;
use crate::session;
use crate::snapshot::{Snapshot, into_message, rounded};

/// Snapshots whose encodings are kept for clients that get to them a little late.
const SHARED_SNAPSHOTS_MAX: usize = PHASES as usize;

/// Entities whose attributes are told one by one in a step. Where more changed, one message describes all of them anew: many
/// small ones would fill the send queue of a client that reads as fast as anybody.
const ATTRIBUTES_ONE_BY_ONE_MAX: usize = 64;

impl Room {
    pub(super) fn send_to_plain_clients(
        &self,
        changes: &Changes,
        world_events: &[WorldEvent],
        is_redefined: bool,
    ) {
        if self.players.iter().all(|seated| seated.player.plain().is_none()) {
            return;
        }
        for (audience, message) in self.plain_updates(changes, world_events, is_redefined) {
            let encoded = Encoded::new(&message);
            for seated in self.players.iter().filter(|seated| audience.has(seated.id)) {
                let Some(plain) = seated.player.plain() else { continue };
                let encoded = encoded.for_encoding(plain.encoding);
                if matches!(message, ServerMessage::Chat { .. }) {
                    self.count_missed(plain.queue.push_line(encoded));
                } else {
                    plain.queue.push_event(encoded);
                }
            }
        }
    }

    /// First what there can be, then what there is, then what happened.
    fn plain_updates(
        &self,
        changes: &Changes,
        world_events: &[WorldEvent],
        is_redefined: bool,
    ) -> Vec<(Audience, ServerMessage)> {
        let mut news = Vec::new();
        if is_redefined {
            news.push(self.definition());
        }
        news.extend(changes.left.iter().map(|id| ServerMessage::Left { id: id.0 }));
        if !changes.gone.is_empty() {
            news.push(ServerMessage::Despawn { ids: changes.gone.iter().map(|id| id.0).collect() });
        }
        let is_much = changes.attributes.len() > ATTRIBUTES_ONE_BY_ONE_MAX;
        let (anew, one_by_one) =
            if is_much { (&changes.attributes[..], &[][..]) } else { (&[][..], &changes.attributes[..]) };
        let mut described = [&changes.described, anew].concat();
        described.sort_unstable();
        if !described.is_empty() {
            let entities = described.iter().filter_map(|id| self.plain_entity(*id)).collect();
            news.push(ServerMessage::Spawn { entities });
        }
        news.extend(one_by_one.iter().filter_map(|id| {
            let entity = self.world.world().entity(*id)?;
            if self.dictionary.is_private(entity.kind) {
                return None;
            }
            Some(ServerMessage::Attributes { id: id.0, set: self.attributes(&entity) })
        }));
        news.extend(changes.players.iter().filter_map(|id| Some(player(*id, self.replicated.player(*id)?))));
        let mut news: Vec<_> = news.into_iter().map(|message| (Audience::All, message)).collect();
        news.extend(changes.shown.iter().cloned().map(|shown| {
            let audience = shown.player.map_or(Audience::All, |player| Audience::These([player].into()));
            (audience, screen(shown))
        }));
        news.extend(world_events.iter().cloned().map(|world_event| match world_event {
            WorldEvent::Said { player, name, text } => {
                (Audience::All, ServerMessage::Chat { from: player.0, name, text })
            }
            WorldEvent::Emitted { audience, name, payload, .. } => {
                (audience, ServerMessage::Event { name, payload: Any(payload) })
            }
        }));
        news
    }

    pub(super) fn greet_plain_clients(&self, newcomers: &[Newcomer]) {
        if newcomers.iter().all(|newcomer| newcomer.player.plain().is_none()) {
            return;
        }
        let baseline = self.snapshot();
        let players = self.replicated.players().map(|(id, replicated)| player(id, replicated));
        let entities = self
            .replicated
            .entities()
            .iter()
            .filter_map(|replicated| self.plain_entity(replicated.id))
            .collect();
        let picture: Vec<ServerMessage> = std::iter::once(self.definition())
            .chain(players)
            .chain([ServerMessage::Spawn { entities }])
            .collect();
        let picture: Vec<Encoded<'_>> = picture.iter().map(Encoded::new).collect();
        for Newcomer { player, id, is_resumed, .. } in newcomers {
            let Some(plain) = player.plain() else { continue };
            let welcome = ServerMessage::Welcome {
                protocol: PROTOCOL,
                player: id.0,
                room: self.name.clone(),
                world: self.offered.name.clone(),
                step_hz: STEP_HZ,
                network_hz: player.network_hz(),
                tick: self.tick,
                resumed: *is_resumed,
            };
            let encode = |message: ServerMessage| into_message(message.encode(plain.encoding.of_events()));
            let messages = std::iter::once(encode(welcome))
                .chain(picture.iter().map(|message| message.for_encoding(plain.encoding)))
                .chain(self.replicated.screens_of(*id).map(|shown| encode(screen(shown))))
                .collect();
            plain.queue.greet(Greeting { messages, baseline: Arc::clone(&baseline) });
        }
    }

    /// Tells a newcomer what the rules tell it alone, whatever it is spoken to by.
    pub(super) fn send_personal_events(&self, player: &Player, id: PlayerId, world_events: &[WorldEvent]) {
        for world_event in world_events {
            if let WorldEvent::Emitted { audience: Audience::These(players), name, payload, .. } = world_event
                && players.contains(&id)
            {
                player.tell(name, payload);
            }
        }
    }

    fn definition(&self) -> ServerMessage {
        let definition = self.world.world().scene().definition();
        let replicated = &self.dictionary.message.kinds;
        let kinds = definition.kinds.iter().zip(replicated).map(|(kind, replicated)| Kind {
            name: replicated.name.clone(),
            body: Any(replicated.body.clone()),
            walker: Any(replicated.walker.clone()),
            look: Any(replicated.look.clone()),
            attributes: field_types(&kind.attributes).collect::<Fields>(),
            owner: Any(replicated.owner.clone()),
        });
        let actions = definition.actions.iter().map(|action| Action {
            name: action.name.clone(),
            arguments: field_types(&action.arguments).collect(),
            hint: Any(action.hint.clone()),
            durable: action.durable,
        });
        let events = definition.events.iter().map(|event| Declared {
            name: event.name.clone(),
            payload: field_types(&event.payload).collect(),
        });
        ServerMessage::Define {
            version: self.dictionary.message.version,
            kinds: kinds.collect(),
            actions: actions.collect(),
            events: events.collect(),
            assets: self.dictionary.message.assets.iter().map(asset).collect(),
        }
    }

    fn plain_entity(&self, id: EntityId) -> Option<Entity> {
        let world = self.world.world();
        let entity = world.entity(id).filter(|entity| !self.dictionary.is_private(entity.kind))?;
        let (p, r) = rounded(&entity.pose);
        Some(Entity {
            id: id.0,
            kind: world.scene().kind_of(entity.kind).name.clone(),
            scale: (entity.scale != [1.0; 3]).then(|| entity.scale.map(round_scale)),
            parent: entity.parent.map(|id| id.0),
            p,
            r,
            attributes: self.attributes(&entity),
            owner: entity.owner.map(|owner| owner.0),
        })
    }

    fn attributes(&self, entity: &EntityRef<'_>) -> Any {
        Any(attributes_of(&self.world.world().scene().kind_of(entity.kind).attributes, entity))
    }

    /// Puts the state of now into the send queue of everybody who is due for it, or who still has an older one there.
    pub(super) fn publish_snapshot(&mut self) {
        let mut fresh: Option<Arc<Snapshot>> = None;
        for seated in &self.players {
            let Some(plain) = seated.player.plain() else { continue };
            let due = is_due(self.tick + u64::from(seated.id.0) % PHASES, seated.player.network_hz());
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
        let rounded = self.shared.iter().rev().find(|snapshot| snapshot.is_rounded());
        Arc::new(Snapshot::new(self.tick, self.world.world(), rounded.cloned()))
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

fn player(id: PlayerId, ToldPlayer { name, avatar }: &ToldPlayer) -> ServerMessage {
    ServerMessage::Player { id: id.0, name: name.clone(), avatar: avatar.map(|id| id.0) }
}

fn screen(Shown { player, place, value, .. }: Shown) -> ServerMessage {
    ServerMessage::Screen { place, personal: player.is_some(), value: Any(value) }
}

fn asset(replicated: &session::Asset) -> Asset {
    let session::Asset { name, hash, bytes, media_type } = replicated.clone();
    Asset { name, hash, bytes, media_type }
}

/// Rounds to a ten thousandth: scales are round numbers that an `f32` cannot hold exactly.
fn round_scale(value: f32) -> f64 {
    (f64::from(value) * 10_000.0).round() / 10_000.0
}
