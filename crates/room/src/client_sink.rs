//! The trait through which a room sends to its clients over either protocol.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use nowcast_replication::InterestGrid;
use nowcast_world::{EntityId, OwnerRequest, PlayerId, Value, World};
use serde::Serialize;

use crate::closing::Closing;
use crate::dictionary::Dictionary;
use crate::metrics::Metrics;
use crate::room::replicated_state::{Changes, ReplicatedState};
use crate::room::world_events::WorldEvent;
use crate::room_metrics::RoomMetrics;
use crate::rule_report::RuleReport;

/// The sending side of one client. No call waits for a socket or for the client.
///
/// The room's thread calls [`greet`](Self::greet) once. In every later step it calls [`update`](Self::update), then
/// [`publish`](Self::publish). Any thread may call [`send`](Self::send) and [`close`](Self::close).
pub trait ClientSink: Send + Sync {
    /// Sends a newcomer its player number and the whole state of the world.
    fn greet(&self, view: &RoomView<'_>, greeting: &Greeting);

    /// Sends the changes and events of a step that concern this player.
    fn update(&self, view: &RoomView<'_>, step: &StepChanges<'_>, player: PlayerId);

    /// Offers the poses of a step. `is_due` says whether the client is due for a snapshot at its rate.
    fn publish(&self, view: &RoomView<'_>, is_due: bool);

    /// Whether the client has begun the round that [`publish`](Self::publish) last requested. `None` if the client does not share
    /// encodings with other clients, so its rounds never wait for theirs.
    fn has_begun_round(&self) -> Option<bool> {
        None
    }

    /// Sends an event that concerns this client alone.
    fn send(&self, event: ClientEvent<'_>);

    /// Ends the connection for this reason. Later calls do not replace the first reason.
    fn close(&self, closing: Closing);

    /// Returns the measurements of the connection that are known.
    fn figures(&self) -> ClientFigures {
        ClientFigures::default()
    }

    /// Returns the measurements that take longer to collect. The first call begins to count the bytes of entities.
    fn details(&self) -> ClientDetails {
        ClientDetails::default()
    }
}

/// Measurements of a client's connection. Values that the carrier does not measure are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientFigures {
    /// The carrier: `webtransport`, `websocket` or `local` for a session, `plain` for the plain protocol.
    pub carrier: &'static str,
    /// Times that the session continued over another carrier.
    pub resumed: Option<u64>,
    /// Smoothed round-trip time, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// Variation of the round-trip time, in milliseconds.
    pub jitter_ms: Option<f64>,
    /// Lost packets of the last thousand.
    pub loss_per_mille: Option<f64>,
    /// Delay of the standing queue on the path, in milliseconds.
    pub queueing_ms: Option<f64>,
    /// Rate limit of the sender, in bytes a second.
    pub rate_bytes: Option<u64>,
    /// Messages that wait for the client.
    pub queued: Option<usize>,
    /// Bytes that wait for the client.
    pub queued_bytes: Option<usize>,
    /// Values that were replaced before they were sent.
    pub superseded: Option<u64>,
    /// Values and events that were sent again after a loss.
    pub resent: Option<u64>,
    /// Bytes of all packets to the client.
    pub sent_bytes: Option<u64>,
    /// Bytes of all packets from the client.
    pub received_bytes: Option<u64>,
    /// Payload bytes to the client.
    pub bytes: Option<ClassBytes>,
    /// Ages of the oldest movement that the client sees.
    pub ages_ms: Option<Ages>,
    /// Entities that the client sees.
    pub visible: Option<u64>,
}

/// Payload bytes by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassBytes {
    /// Definitions, entities, players, screens.
    pub description: u64,
    /// Events, answers, chat.
    pub event: u64,
    /// Positions of entities.
    pub movement: u64,
}

/// Ages by distance from the client's avatar, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ages {
    /// Within a quarter of the far distance.
    pub near: f64,
    /// Within the far distance.
    pub middle: f64,
    /// Beyond.
    pub far: f64,
}

/// Measurements that take longer to collect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientDetails {
    /// The age of the client's values at their arrival: upper bounds in milliseconds, with counts.
    pub ages: Vec<(f64, u32)>,
    /// The messages that wait for the client, the oldest first, [`WAITING_LISTED_MAX`] at most.
    pub waiting: Vec<WaitingMessage>,
    /// Bytes of movement by entity.
    pub entities: Vec<(u32, f64)>,
    /// The time in which the bytes of entities were counted, in seconds.
    pub measured_s: f64,
}

/// Maximum waiting messages in [`ClientDetails`].
pub const WAITING_LISTED_MAX: usize = 256;

/// A message that waits for a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingMessage {
    /// The lane.
    pub lane: u8,
    /// `state` or `event`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The key of a state, as a decimal number.
    pub key: Option<String>,
    /// Bytes of the payload.
    pub bytes: u32,
    /// Time since the message was put, in milliseconds.
    pub age_ms: f64,
}

/// An event for one client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClientEvent<'a> {
    /// A text for the person who uses the client.
    Notice {
        /// The text.
        text: &'a str,
    },
    /// An action was rejected.
    ActionRefused {
        /// The name of the action.
        action: &'a str,
        /// The reason.
        reason: &'a str,
        /// The number that the client gave its request.
        number: Option<u32>,
    },
    /// A line of chat was dropped.
    LineRefused {
        /// The text.
        text: &'a str,
        /// The reason.
        reason: &'a str,
    },
    /// A numbered action was applied and stored.
    ActionDone {
        /// The number that the client gave its request.
        number: u32,
    },
    /// The client now owns an entity that it requested or spawned.
    Granted {
        /// The entity.
        entity: EntityId,
        /// The number that the client gave its request.
        number: u32,
    },
    /// An ownership request was rejected.
    Denied {
        /// The kind of request.
        request: OwnerRequest,
        /// The entity.
        entity: Option<EntityId>,
        /// The number that the client gave its request.
        number: u32,
        /// The reason.
        reason: &'a str,
    },
    /// An event that the rules emitted for this player.
    Emitted {
        /// The name of the event.
        name: &'a str,
        /// The payload of the event.
        payload: &'a Value,
    },
    /// A report on a version of the rules.
    Report(&'a RuleReport),
}

/// The facts that a newcomer's first message states.
#[derive(Clone, Copy, Debug)]
pub struct Greeting {
    /// The number of the client's player.
    pub player: PlayerId,
    /// Whether the client resumed its earlier player.
    pub is_resumed: bool,
    /// Snapshots a second for the client.
    pub network_hz: u32,
}

/// The changes of one step.
#[derive(Clone, Copy)]
pub struct StepChanges<'r> {
    /// The changed states.
    pub changes: &'r Changes,
    /// The events, in order.
    pub world_events: &'r [WorldEvent],
    /// Whether the definition changed.
    pub is_redefined: bool,
}

/// A room after a step, as sinks encode it.
#[derive(Clone, Copy)]
pub struct RoomView<'r> {
    /// The room's name.
    pub room: &'r str,
    /// The name of the world in the room.
    pub world_name: &'r str,
    /// Steps since the room opened.
    pub tick: u64,
    /// The world after the step.
    pub world: &'r World,
    /// The encoding of the world's definition.
    pub dictionary: &'r Dictionary,
    /// The state that clients have after this step.
    pub replicated: &'r ReplicatedState,
    /// The sections of space, with their entities.
    pub interest_grid: &'r InterestGrid,
    /// The players and the numbers of their inputs in force, ordered by player.
    pub inputs: &'r [(PlayerId, u16)],
    /// The counters of all rooms.
    pub metrics: &'r Metrics,
    /// The counters of this room.
    pub room_metrics: &'r Arc<RoomMetrics>,
    /// Encodings that stay valid while the room exists.
    pub of_room: &'r SharedEncodings,
    /// Encodings of this step.
    pub of_step: &'r SharedEncodings,
}

impl RoomView<'_> {
    /// The position of a player's avatar, in metres.
    pub fn eye(&self, player: PlayerId) -> Option<[f32; 3]> {
        let avatar = self.replicated.player(player)?.avatar?;
        Some(self.world.entity(EntityId(avatar))?.pose.position)
    }
}

/// Values that the sinks of one protocol share, one value for each type. The first sink that needs a value creates it.
#[derive(Default)]
pub struct SharedEncodings(RefCell<Vec<Rc<dyn Any>>>);

impl SharedEncodings {
    /// Returns the value of this type. Creates it with `init` if there is none.
    pub fn get_or_init<T: Any>(&self, init: impl FnOnce() -> T) -> Rc<T> {
        let known = self.0.borrow().iter().find_map(|value| Rc::clone(value).downcast::<T>().ok());
        known.unwrap_or_else(|| {
            let made = Rc::new(init());
            let value: Rc<dyn Any> = Rc::<T>::clone(&made);
            self.0.borrow_mut().push(value);
            made
        })
    }

    /// Drops all values.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_encoding_is_made_once_for_each_type_until_it_is_cleared() {
        let shared = SharedEncodings::default();
        assert_eq!(*shared.get_or_init(|| 1_u8), 1);
        assert_eq!(*shared.get_or_init(|| 2_u8), 1);
        assert_eq!(*shared.get_or_init(|| "two"), "two");
        shared.clear();
        assert_eq!(*shared.get_or_init(|| 3_u8), 3);
    }
}
