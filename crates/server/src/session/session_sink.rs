//! The sink through which a room sends to a client on a session.
//!
//! A step takes this way from the world to the client. The first three parts run on the room's thread:
//!
//! 1. `collect_changes` of `crates/room/src/room/publishing.rs` compares the world with the state that was sent.
//! 2. `update` encodes the changes once for all sessions, and puts them into each client's outbox.
//! 3. `publish` builds the frames of the groups that moved, once for all sessions, and publishes the snapshot of the step. It wakes the
//!    drivers of the clients that are due.
//! 4. In the driver's turn, on its I/O thread, `ClientReplicator` begins a round: the interest set, and the groups that changed in it.
//! 5. When a packet leaves, `Session::poll_packet` offers the free space, and `ClientReplicator::fill` writes the most urgent groups of
//!    the newest snapshot into it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use nowcast_replication::{Flight, History, InterestGrid, Moving, Placed, Transform};
use nowcast_room::session::{
    Delivery, DeliverySender, LatestSnapshot, RoomSnapshot, SeenPlayer, StepUpdate, Welcome, outbox,
};
use nowcast_room::sink::{
    ClientDetails, ClientEvent, ClientFigures, ClientSink, Greeting, RoomView, StepChanges,
};
use nowcast_room::{Closing, Metrics, RuleReport};
use nowcast_world::{FreeMotion, PlayerId, Pose, STEP_HZ, World};
use nowcast_world_protocol::session::{FromWorld, PROTOCOL};

use super::client_replicator::ClientReplicator;
use super::replication_figures::ReplicationFigures;

/// Maximum bytes of movement a second for one client. If more is needed, far entities are sent less often.
const BYTES_PER_SECOND_MAX: usize = 256 * 1024;

/// The [`ClientSink`] of a client on a session; clients of the plain protocol have another. No call waits for the session.
/// Deliveries wait in an outbox, and the client's replicator puts them into the session.
pub(crate) struct SessionSink {
    sender: DeliverySender,
    pub(super) figures: Arc<ReplicationFigures>,
    network_hz: u32,
    /// Whether a delivery of this step must be sent when the step's snapshot is published, instead of with the next round.
    is_urgent: AtomicBool,
}

impl SessionSink {
    /// Creates the sink, and the replicator that reads its deliveries.
    pub(super) fn new(
        network_hz: u32,
        metrics: &Arc<Metrics>,
        unread_bytes_max: usize,
    ) -> (Self, ClientReplicator) {
        let (sender, receiver) = outbox();
        let figures = Arc::new(ReplicationFigures::default());
        let replicator =
            ClientReplicator::new(receiver, Arc::clone(metrics), Arc::clone(&figures), unread_bytes_max);
        (Self { sender, figures, network_hz, is_urgent: AtomicBool::new(false) }, replicator)
    }

    /// Maximum bytes of movement in one round.
    fn bytes_per_round_max(&self) -> usize {
        BYTES_PER_SECOND_MAX / self.network_hz.max(1) as usize
    }

    /// Steps that two movement rounds take.
    fn two_rounds_steps(&self) -> u32 {
        (2 * STEP_HZ).div_ceil(self.network_hz.max(1))
    }

    /// Sends an event to this client alone.
    pub(crate) fn event(&self, event: &FromWorld) {
        self.sender.send(Delivery::Event(nowcast_wire::encode_to_vec(event)));
        // An earlier update may wait for its snapshot, and the event waits behind it.
        self.is_urgent.store(true, Ordering::Relaxed);
        self.sender.wake();
    }

    /// Discards the acknowledgements of movement, because the client lost its state.
    pub(crate) fn forget(&self) {
        self.sender.send(Delivery::Forget);
        self.sender.wake();
    }
}

impl ClientSink for SessionSink {
    fn figures(&self) -> ClientFigures {
        self.figures.read()
    }

    fn details(&self) -> ClientDetails {
        let details = self.figures.read_details();
        // The session's part is then read again.
        self.sender.wake();
        details
    }

    /// Sends the welcome. The driver reads it when the snapshot of this step is published.
    fn greet(&self, view: &RoomView<'_>, greeting: &Greeting) {
        let welcome = FromWorld::Welcome {
            protocol: PROTOCOL,
            player: greeting.player.0,
            room: view.room.to_owned(),
            world: view.world_name.to_owned(),
            step_hz: STEP_HZ,
            network_hz: greeting.network_hz,
            tick: view.tick,
            resumed: greeting.is_resumed,
        };
        let all = view.of_step.get_or_init(|| StateOfAll::of(view));
        let publication = view.of_room.get_or_init(Publication::default);
        self.sender.send(Delivery::Welcome(Box::new(Welcome {
            player: greeting.player,
            tick: view.tick,
            event: nowcast_wire::encode_to_vec(&welcome),
            all: Arc::clone(&all.0),
            screens: view.replicated.screens_of(greeting.player).collect(),
            latest_snapshot: Arc::clone(&publication.latest_snapshot),
            metrics: Arc::clone(view.room_metrics),
            bytes_per_round_max: self.bytes_per_round_max(),
            two_rounds_steps: self.two_rounds_steps(),
        })));
        self.is_urgent.store(true, Ordering::Relaxed);
    }

    /// Sends the update of a step, which is encoded once for all sessions. The driver reads it when the snapshot of this step
    /// is published, and selects the part that the player sees.
    fn update(&self, view: &RoomView<'_>, step: &StepChanges<'_>, _player: PlayerId) {
        let update = view.of_step.get_or_init(|| UpdateOfAll::of(view, step));
        self.sender.send(Delivery::StepUpdate(Arc::clone(&update.0)));
        if !update.0.can_wait() {
            self.is_urgent.store(true, Ordering::Relaxed);
        }
    }

    /// Publishes the snapshot of this step, once for all sessions, if a round is due or a delivery of this step is urgent. Then
    /// wakes the driver.
    fn publish(&self, view: &RoomView<'_>, is_due: bool) {
        let is_urgent = self.is_urgent.swap(false, Ordering::Relaxed);
        let publication = view.of_room.get_or_init(Publication::default);
        if is_due || is_urgent || publication.follows_each_step() {
            publication.publish(view);
        }
        if is_due {
            self.sender.ask_for_round();
        }
        if is_urgent || is_due {
            self.sender.wake();
        }
    }

    fn has_begun_round(&self) -> Option<bool> {
        Some(self.sender.has_begun_round())
    }

    fn send(&self, event: ClientEvent<'_>) {
        self.event(&message_of(event));
    }

    /// Ends the session. The driver closes it in its next turn.
    fn close(&self, closing: Closing) {
        self.sender.close(closing);
        self.sender.wake();
    }
}

fn message_of(event: ClientEvent<'_>) -> FromWorld {
    match event {
        ClientEvent::Notice { text } => FromWorld::Notice { text: text.to_owned() },
        ClientEvent::ActionRefused { action, reason, number } => {
            FromWorld::Refused { action: action.to_owned(), reason: reason.to_owned(), number }
        }
        ClientEvent::LineRefused { text, reason } => {
            FromWorld::Unsaid { text: text.to_owned(), reason: reason.to_owned() }
        }
        ClientEvent::ActionDone { number } => FromWorld::Done { number },
        ClientEvent::Granted { entity, number } => FromWorld::Granted { entity: entity.0, number },
        ClientEvent::Denied { request, entity, number, reason } => FromWorld::Denied {
            request: request.word().to_owned(),
            entity: entity.map_or(0, |entity| entity.0),
            number,
            reason: reason.to_owned(),
        },
        ClientEvent::Emitted { name, payload } => {
            FromWorld::Happened { event: name.to_owned(), payload: payload.clone() }
        }
        ClientEvent::Report(RuleReport { outcome, version, text }) => {
            FromWorld::Report { outcome: *outcome, version: *version, text: text.clone() }
        }
    }
}

/// The encoded state that all clients have, for newcomers.
struct StateOfAll(Arc<StepUpdate>);

impl StateOfAll {
    fn of(view: &RoomView<'_>) -> Self {
        Self(Arc::new(StepUpdate::all(view.replicated, view.dictionary)))
    }
}

/// The encoded update of a step, for all sessions.
struct UpdateOfAll(Arc<StepUpdate>);

impl UpdateOfAll {
    fn of(view: &RoomView<'_>, step: &StepChanges<'_>) -> Self {
        let dictionary = step.is_redefined.then_some(view.dictionary);
        let at = (view.tick, view.interest_grid);
        Self(Arc::new(StepUpdate::of(step.changes, view.replicated, at, step.world_events, dictionary)))
    }
}

/// A room's movement, and the snapshots by which the drivers of its sessions read it.
#[derive(Default)]
struct Publication {
    history: RefCell<History>,
    latest_snapshot: Arc<LatestSnapshot>,
    /// The step of the newest snapshot.
    tick: Cell<Option<u64>>,
}

impl Publication {
    /// Whether the history needs each step. Otherwise only the steps of rounds are published: no client receives the others, and
    /// a packet that leaves late gets the same frames as the other packets of its round.
    fn follows_each_step(&self) -> bool {
        self.history.borrow().has_flights()
    }

    /// Publishes the snapshot of this step, unless another session has done so.
    fn publish(&self, view: &RoomView<'_>) {
        if self.tick.replace(Some(view.tick)) == Some(view.tick) {
            return;
        }
        let started = Instant::now();
        let mut history = self.history.borrow_mut();
        let frames = history.publish(view.tick as u32, moving(view.world, view.interest_grid));
        let players = view.inputs.iter().map(|(id, input)| SeenPlayer {
            id: *id,
            eye: view.eye(*id),
            controls: *input,
        });
        self.latest_snapshot.put(RoomSnapshot {
            tick: view.tick,
            grid_snapshot: Arc::clone(view.interest_grid.grid_snapshot()),
            frames: Arc::clone(frames),
            descriptions: Arc::clone(view.replicated.descriptions()),
            players: players.collect(),
            rates: Arc::clone(view.dictionary.rates()),
        });
        view.metrics.observe_encode(started.elapsed());
    }
}

/// Returns the entities that can move and are replicated to at least one client, ordered by id.
fn moving(world: &World, interest_grid: &InterestGrid) -> impl Iterator<Item = Moving> {
    let mut placed = interest_grid.entities().peekable();
    world.movements().filter_map(move |(id, pose, flight)| {
        while placed.next_if(|(placed, _)| placed.id < id.0).is_some() {}
        let (placed, section) = placed.next_if(|(placed, _)| placed.id == id.0)?;
        let Placed { size, quantization, rates, .. } = *placed;
        let jump = world.scene().jump(id);
        let quantization = quantization.jumped(jump);
        // Rows of an entity that jumped are not motion rows, whose quantization has no jump.
        let flight = flight.filter(|_| jump == 0);
        let flight = flight.map(|FreeMotion { velocity, spin, inertia }| Flight { velocity, spin, inertia });
        let transform = transform_of(pose);
        Some(Moving { id: id.0, transform, section: section?, size, quantization, rates, flight })
    })
}

fn transform_of(pose: Pose) -> Transform {
    Transform { position: pose.position, rotation: pose.rotation }
}

#[cfg(test)]
mod tests;
