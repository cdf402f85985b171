//! A client on a session, with all received state.

use std::net::SocketAddr;
use std::time::Duration;

use nowcast::{CarrierKind, Channel, ConnectError, Connector, Error, MessageKind};
use nowcast_server::replication::Replica;
use nowcast_wire::{Value, decode, encode_to_vec};
use nowcast_world_protocol::session::{
    CHAT_LANE, CONTROLS_KEY, Controls, EntityState, FromWorld, Line, OWNED_KEYS, Owned, PROTOCOL, Said,
    StateKey, ToWorld, WORLD_LANE,
};
use tokio::time::timeout;

use super::view::View;
use super::{PATIENCE, TestServer};

/// A client on a session, with all received state.
pub struct Guest {
    pub channel: Channel,
    pub id: u32,
    pub view: View,
    replica: Replica,
    /// Whether the client requested all movement again and has not received it yet.
    is_forgetful: bool,
}

impl Guest {
    pub async fn open(
        server: &TestServer,
        room: &str,
        carrier: CarrierKind,
    ) -> Result<Channel, ConnectError> {
        let url = format!("nowcast://{}/{room}", server.address);
        Connector::new().carriers([carrier]).connect(&url).await
    }

    /// Joins, and waits until the client's own avatar has a position.
    pub async fn join(server: &TestServer, room: &str, name: &str, carrier: CarrierKind) -> Self {
        Self::join_at(server.address, room, name, carrier).await
    }

    pub async fn join_at(address: SocketAddr, room: &str, name: &str, carrier: CarrierKind) -> Self {
        let url = format!("nowcast://{address}/{room}");
        let channel = Connector::new().carriers([carrier]).connect(&url).await.expect("there is room");
        Self::join_by(channel, name).await
    }

    /// Joins with the secret that identifies the client when it reconnects.
    pub async fn join_with(address: SocketAddr, room: &str, name: &str, key: [u8; 16]) -> Self {
        let url = format!("nowcast://{address}/{room}");
        let carriers = [CarrierKind::WebSocket];
        let channel = Connector::new().carriers(carriers).connect(&url).await.expect("there is room");
        Self::join_as(channel, name, key.into()).await
    }

    /// Joins by a channel that is open.
    pub async fn join_by(channel: Channel, name: &str) -> Self {
        Self::join_as(channel, name, Vec::new()).await
    }

    /// Sends the join message and waits for nothing.
    pub fn introduce(channel: Channel, name: &str, key: Vec<u8>) -> Self {
        let join = ToWorld::Join { protocol: PROTOCOL, name: name.into(), network_hz: 60, key };
        channel.try_event(&encode_to_vec(&join)).expect("the lane is empty");
        Self { channel, id: 0, view: View::default(), replica: Replica::default(), is_forgetful: false }
    }

    async fn join_as(channel: Channel, name: &str, key: Vec<u8>) -> Self {
        let mut guest = Self::introduce(channel, name, key);
        guest.until("its avatar", |guest| guest.avatar().is_some_and(|id| guest.place(id).is_some())).await;
        guest
    }

    /// Joins as a program, and waits for the world's definition.
    pub async fn join_as_program(server: &TestServer, room: &str, name: &str) -> Self {
        let channel = Self::open(server, room, CarrierKind::WebSocket).await.expect("there is room");
        let join =
            ToWorld::JoinProgram { protocol: PROTOCOL, name: name.into(), network_hz: 60, key: Vec::new() };
        channel.try_event(&encode_to_vec(&join)).expect("the lane is empty");
        let mut guest =
            Self { channel, id: 0, view: View::default(), replica: Replica::default(), is_forgetful: false };
        guest.until("the definition", |guest| !guest.view.kinds.is_empty()).await;
        guest
    }

    /// Sets the target position of an entity.
    pub fn bring(&self, entity: u32, position: [f32; 3]) {
        let owned = Owned { position, rotation: [0.0, 0.0, 0.0, 1.0], velocity: None };
        let lane = self.channel.lane(WORLD_LANE);
        lane.try_state(OWNED_KEYS + u64::from(entity), &encode_to_vec(&owned)).expect("a state is taken");
    }

    /// Handles messages until a condition holds.
    pub async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !holds(self) {
                let message = self.channel.receive().await.expect("the session continues");
                self.take(&message);
            }
        };
        let in_time = timeout(PATIENCE, waiting).await;
        assert!(in_time.is_ok(), "{what} did not come: {}", self.view.beginning());
    }

    /// Handles the messages that arrive in this time.
    pub async fn take_for(&mut self, time: Duration) {
        let taking = async {
            while let Ok(message) = self.channel.receive().await {
                self.take(&message);
            }
        };
        let _ = timeout(time, taking).await;
    }

    pub fn take(&mut self, message: &nowcast::Message) {
        match (message.kind, message.lane.number()) {
            (MessageKind::Replication { .. }, _) => {
                let is_missing = self.replica.apply(&message.bytes).expect("it is well-formed").missing > 0;
                // A client that reads rarely may have dropped a baseline that it acknowledged.
                if is_missing && !self.is_forgetful {
                    self.tell(&ToWorld::Forget);
                }
                self.is_forgetful = is_missing;
                // On other carriers, packets overtake one another.
                if self.channel.status().carrier == Some(CarrierKind::WebSocket) {
                    let (tick, _) = message.bytes.split_first_chunk().expect("it has a head");
                    self.view.take_tick(u32::from_le_bytes(*tick).into());
                }
            }
            (MessageKind::State { key }, WORLD_LANE) => self.take_state(key.raw(), &message.bytes),
            (MessageKind::Event, WORLD_LANE) => {
                let event = decode(&message.bytes).expect("it is an event");
                if let FromWorld::Welcome { player, .. } = &event {
                    self.id = *player;
                }
                assert_ne!(self.id, 0, "the first event is the welcome, not {event:?}");
                self.view.take_event(event);
            }
            (MessageKind::Event, CHAT_LANE) => {
                let Said { from, name, text } = decode(&message.bytes).expect("it is a line");
                self.view.said.push((from, name, text));
            }
            other => panic!("a message of an expected kind, not {other:?}"),
        }
    }

    fn take_state(&mut self, key: u64, bytes: &[u8]) {
        let is_there = !bytes.is_empty();
        match StateKey::of(key).expect("the key is one of the specification") {
            StateKey::Entity(id) => {
                let entity = match EntityState::read(bytes).expect("it is an entity") {
                    EntityState::InSight(entity) => Some(entity),
                    EntityState::OutOfSight(tick) => {
                        self.replica.hide(id.0, tick);
                        None
                    }
                    EntityState::Gone => None,
                };
                self.view.take_entity(id.0, entity);
            }
            StateKey::Player(id) => {
                let player = is_there.then(|| decode(bytes).expect("it is a player"));
                self.view.take_player(id.0, player);
            }
            StateKey::Screen(_) => {
                self.view.take_screen(key, decode(bytes).expect("it is a screen slot"));
            }
        }
    }

    /// Sends an action that the world declares.
    pub fn act(&self, action: &str, arguments: &[(&str, Value)]) {
        let arguments = super::map(arguments);
        let act = ToWorld::Act { action: action.into(), arguments, number: None, step: None, shown: None };
        self.channel.try_event(&encode_to_vec(&act)).expect("the action lane has space");
    }

    /// Sends a numbered action, which happens exactly once.
    pub fn act_once(&self, number: u32, action: &str, arguments: &[(&str, Value)]) {
        let (action, arguments) = (action.into(), super::map(arguments));
        self.tell(&ToWorld::Act { action, arguments, number: Some(number), step: None, shown: None });
    }

    /// Sends the world an event.
    pub fn tell(&self, event: &ToWorld) {
        self.channel.try_event(&encode_to_vec(event)).expect("the event lane has space");
    }

    /// Sends a chat line to the room.
    pub fn say(&self, text: &str) {
        let line = encode_to_vec(&Line { text: text.into() });
        self.channel.lane(CHAT_LANE).try_event(&line).expect("the chat lane has space");
    }

    pub fn steer(&self, controls: &Controls) {
        self.channel.try_state(CONTROLS_KEY, &encode_to_vec(controls)).expect("a state always fits");
    }

    /// The entity that it moves.
    pub fn avatar(&self) -> Option<u32> {
        self.view.avatar(self.id)
    }

    /// The position of an entity.
    pub fn place(&self, id: u32) -> Option<[f32; 3]> {
        self.replica.transform(id).map(|transform| transform.position)
    }

    /// Waits for the end of the session, and returns its reason.
    pub async fn end(&mut self) -> nowcast::session::Closed {
        let ending = async {
            loop {
                match self.channel.receive().await {
                    Ok(_) => {}
                    Err(Error::Closed(closed)) => return closed,
                    Err(other) => panic!("{other}"),
                }
            }
        };
        timeout(PATIENCE, ending).await.expect("the session ends")
    }
}
