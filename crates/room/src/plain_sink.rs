//! The sink through which a room sends to a client of the plain protocol.

use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nowcast_world::{EntityId, EntityRef, PlayerId, STEP_HZ, Value};
use nowcast_world_protocol::plain::{
    Action, Declared, Encoding, Entity, Fields, Kind, PROTOCOL, ServerMessage,
};
use nowcast_world_protocol::session::Player;

use crate::client_sink::{ClientEvent, ClientFigures, ClientSink, Greeting, RoomView, StepChanges};
use crate::closing::Closing;
use crate::dictionary::{attributes_of, field_types};
use crate::metrics::Metrics;
use crate::room::replicated_state::ScreenValue;
use crate::room::world_events::{Audience, WorldEvent};
use crate::rule_report::RuleReport;
use crate::send_queue::{self, SendQueue};
use crate::shared_frame::SharedFrame;
use crate::snapshot::{Snapshot, rounded};

/// Number of snapshots whose encodings are kept for clients that need them late.
const SHARED_SNAPSHOTS_MAX: usize = 6;

/// Maximum entities whose attributes are sent in separate messages in a step. If more entities change, one message describes
/// all of them again. Many small messages would fill the send queue even of a client that reads fast enough.
const ATTRIBUTES_ONE_BY_ONE_MAX: usize = 64;

/// The sink for a client of the plain protocol. Messages wait in the queue until the client's task sends them.
pub struct PlainSink {
    /// The encoding that the client chose.
    pub encoding: Encoding,
    /// The messages that wait for the client's socket.
    pub queue: SendQueue,
    metrics: Arc<Metrics>,
    /// Snapshots that a newer snapshot replaced before they were sent.
    superseded: AtomicU64,
}

impl PlainSink {
    /// Creates the sink of a client with this encoding.
    pub fn new(encoding: Encoding, metrics: Arc<Metrics>) -> Self {
        Self { encoding, queue: SendQueue::default(), metrics, superseded: AtomicU64::new(0) }
    }

    /// Queues a message for this client.
    pub fn push(&self, message: &ServerMessage) {
        self.queue.push_event(self.encode(message));
    }

    fn encode(&self, message: &ServerMessage) -> SharedFrame {
        SharedFrame::from(message.encode(self.encoding))
    }
}

impl ClientSink for PlainSink {
    fn figures(&self) -> ClientFigures {
        let (queued, queued_bytes) = self.queue.load();
        ClientFigures {
            carrier: "plain",
            queued: Some(queued),
            queued_bytes: Some(queued_bytes),
            superseded: Some(self.superseded.load(Ordering::Relaxed)),
            ..ClientFigures::default()
        }
    }

    fn greet(&self, view: &RoomView<'_>, greeting: &Greeting) {
        let description = view.of_step.get_or_init(|| Description::of(view));
        let welcome = ServerMessage::Welcome {
            protocol: PROTOCOL,
            player: greeting.player.0,
            room: view.room.to_owned(),
            world: view.world_name.to_owned(),
            step_hz: STEP_HZ,
            network_hz: greeting.network_hz,
            tick: view.tick,
            resumed: greeting.is_resumed,
        };
        let messages = std::iter::once(self.encode(&welcome))
            .chain(description.0.iter().map(|message| message.for_encoding(self.encoding)))
            .chain(view.replicated.screens_of(greeting.player).map(|shown| self.encode(&screen(shown))))
            .collect();
        self.queue.greet(send_queue::Greeting { messages, baseline: snapshot(view) });
    }

    fn update(&self, view: &RoomView<'_>, step: &StepChanges<'_>, player: PlayerId) {
        let updates = view.of_step.get_or_init(|| Updates::of(view, step));
        for (_, message) in updates.0.iter().filter(|(audience, _)| audience.has(player)) {
            let encoded = message.for_encoding(self.encoding);
            if matches!(message.message, ServerMessage::Chat { .. }) {
                self.metrics.lines_missed.inc_by(self.queue.push_line(encoded));
            } else {
                self.queue.push_event(encoded);
            }
        }
    }

    /// Queues the snapshot of this step if the client is due, or if an older snapshot still waits in its queue.
    fn publish(&self, view: &RoomView<'_>, is_due: bool) {
        if (is_due || self.queue.has_snapshot()) && self.queue.put_snapshot(snapshot(view)) {
            self.metrics.snapshots_superseded.inc();
            self.superseded.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn send(&self, event: ClientEvent<'_>) {
        self.push(&plain_message(event));
    }

    fn close(&self, closing: Closing) {
        self.queue.close(closing);
    }
}

fn plain_message(event: ClientEvent<'_>) -> ServerMessage {
    match event {
        ClientEvent::Notice { text } => ServerMessage::Notice { text: text.to_owned() },
        ClientEvent::ActionRefused { action, reason, number } => {
            ServerMessage::Refused { action: action.to_owned(), reason: reason.to_owned(), number }
        }
        ClientEvent::LineRefused { text, reason } => {
            ServerMessage::Unsaid { text: text.to_owned(), reason: reason.to_owned() }
        }
        ClientEvent::ActionDone { number } => ServerMessage::Done { number },
        ClientEvent::Granted { entity, number } => ServerMessage::Granted { entity: entity.0, number },
        ClientEvent::Denied { request, entity, number, reason } => ServerMessage::Denied {
            request: request.word().to_owned(),
            entity: entity.map_or(0, |entity| entity.0),
            number,
            reason: reason.to_owned(),
        },
        ClientEvent::Emitted { name, payload } => {
            ServerMessage::Event { name: name.to_owned(), payload: payload.clone() }
        }
        ClientEvent::Report(RuleReport { outcome, version, text }) => {
            ServerMessage::Report { outcome: *outcome, version: *version, text: text.clone() }
        }
    }
}

/// The newest snapshots of a room, whose encodings are still shared. The newest snapshot is last.
#[derive(Default)]
struct Snapshots(RefCell<VecDeque<Arc<Snapshot>>>);

/// Returns the snapshot of this step, which is created once for all clients.
fn snapshot(view: &RoomView<'_>) -> Arc<Snapshot> {
    let snapshots = view.of_room.get_or_init(Snapshots::default);
    let mut newest = snapshots.0.borrow_mut();
    if let Some(snapshot) = newest.back().filter(|snapshot| snapshot.tick() == view.tick) {
        return Arc::clone(snapshot);
    }
    let rounded = newest.iter().rev().find(|snapshot| snapshot.is_rounded());
    let snapshot = Arc::new(Snapshot::new(view.tick, view.world, rounded.cloned()));
    newest.push_back(Arc::clone(&snapshot));
    while newest.len() > SHARED_SNAPSHOTS_MAX {
        newest.pop_front().expect("the list is longer than the limit").retire();
    }
    snapshot
}

/// Creates the messages that describe a world to newcomers.
struct Description(Vec<Encoded>);

impl Description {
    fn of(view: &RoomView<'_>) -> Self {
        let players = view.replicated.players().map(|(id, known)| player(id, known));
        let entities = view.replicated.entities().iter().filter_map(|known| entity(view, known.id)).collect();
        let messages = std::iter::once(definition(view))
            .chain(players)
            .chain([ServerMessage::Spawn { entities }])
            .map(Encoded::new);
        Self(messages.collect())
    }
}

/// The messages of a step with their audiences, in the order in which they are sent.
struct Updates(Vec<(Audience, Encoded)>);

impl Updates {
    /// Orders the messages: first the definition, then states, then events.
    fn of(view: &RoomView<'_>, step: &StepChanges<'_>) -> Self {
        let changes = step.changes;
        let mut states = Vec::new();
        if step.is_redefined {
            states.push(definition(view));
        }
        states.extend(changes.left.iter().map(|id| ServerMessage::Left { id: id.0 }));
        if !changes.gone.is_empty() {
            states.push(ServerMessage::Despawn { ids: changes.gone.iter().map(|id| id.0).collect() });
        }
        let is_much = changes.attributes.len() > ATTRIBUTES_ONE_BY_ONE_MAX;
        let (anew, one_by_one) =
            if is_much { (&changes.attributes[..], &[][..]) } else { (&[][..], &changes.attributes[..]) };
        let mut described = [&changes.described, anew].concat();
        described.sort_unstable();
        if !described.is_empty() {
            let entities = described.iter().filter_map(|id| entity(view, *id)).collect();
            states.push(ServerMessage::Spawn { entities });
        }
        states.extend(one_by_one.iter().filter_map(|id| {
            let entity = view.world.entity(*id)?;
            if view.dictionary.is_private(entity.kind) {
                return None;
            }
            Some(ServerMessage::Attributes { id: id.0, set: attributes(view, &entity) })
        }));
        states
            .extend(changes.players.iter().filter_map(|id| Some(player(*id, view.replicated.player(*id)?))));
        let states = states.into_iter().map(|message| (Audience::All, message));
        let screens = changes.screens.iter().cloned().map(|shown| {
            let audience = shown.player.map_or(Audience::All, |player| Audience::These([player].into()));
            (audience, screen(shown))
        });
        let events = step.world_events.iter().cloned().map(|event| match event {
            WorldEvent::Said { player, name, text } => {
                (Audience::All, ServerMessage::Chat { from: player.0, name, text })
            }
            WorldEvent::Emitted { audience, name, payload, .. } => {
                (audience, ServerMessage::Event { name, payload })
            }
        });
        let messages = states.chain(screens).chain(events);
        Self(messages.map(|(audience, message)| (audience, Encoded::new(message))).collect())
    }
}

/// A message that is encoded at most once for each encoding.
struct Encoded {
    message: ServerMessage,
    json: OnceCell<SharedFrame>,
    msgpack: OnceCell<SharedFrame>,
}

impl Encoded {
    fn new(message: ServerMessage) -> Self {
        Self { message, json: OnceCell::new(), msgpack: OnceCell::new() }
    }

    fn for_encoding(&self, encoding: Encoding) -> SharedFrame {
        let cell = if encoding == Encoding::MsgPack { &self.msgpack } else { &self.json };
        cell.get_or_init(|| SharedFrame::from(self.message.encode(encoding))).clone()
    }
}

fn definition(view: &RoomView<'_>) -> ServerMessage {
    let definition = view.world.scene().definition();
    let described = &view.dictionary.message;
    let kinds = definition.kinds.iter().zip(&described.kinds).map(|(kind, described)| Kind {
        name: described.name.clone(),
        body: described.body.clone(),
        walker: described.walker.clone(),
        look: described.look.clone(),
        attributes: field_types(&kind.attributes).collect::<Fields>(),
        owner: described.owner.clone(),
    });
    let actions = definition.actions.iter().map(|action| Action {
        name: action.name.clone(),
        arguments: field_types(&action.arguments).collect(),
        hint: action.hint.clone(),
        durable: action.durable,
    });
    let events = definition
        .events
        .iter()
        .map(|event| Declared { name: event.name.clone(), payload: field_types(&event.payload).collect() });
    ServerMessage::Define {
        version: described.version,
        kinds: kinds.collect(),
        actions: actions.collect(),
        events: events.collect(),
        assets: described.assets.clone(),
    }
}

/// Describes an entity. Returns `None` for an entity that the plain protocol does not replicate.
fn entity(view: &RoomView<'_>, id: EntityId) -> Option<Entity> {
    let entity = view.world.entity(id).filter(|entity| !view.dictionary.is_private(entity.kind))?;
    let (p, r) = rounded(&entity.pose);
    Some(Entity {
        id: id.0,
        kind: view.world.scene().kind_of(entity.kind).name.clone(),
        scale: (entity.scale != [1.0; 3]).then(|| entity.scale.map(round_scale)),
        parent: entity.parent.map(|id| id.0),
        p,
        r,
        attributes: attributes(view, &entity),
        owner: entity.owner.map(|owner| owner.0),
    })
}

fn attributes(view: &RoomView<'_>, entity: &EntityRef<'_>) -> Value {
    attributes_of(&view.world.scene().kind_of(entity.kind).attributes, entity)
}

fn player(id: PlayerId, Player { name, avatar, program }: &Player) -> ServerMessage {
    ServerMessage::Player { id: id.0, name: name.clone(), avatar: *avatar, program: *program }
}

fn screen(ScreenValue { player, place, value, .. }: ScreenValue) -> ServerMessage {
    ServerMessage::Screen { place, personal: player.is_some(), value }
}

/// Rounds to a ten-thousandth, because scales are short decimal numbers that an `f32` cannot hold exactly.
fn round_scale(value: f32) -> f64 {
    (f64::from(value) * 10_000.0).round() / 10_000.0
}
