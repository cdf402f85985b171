//! A client on a session, with its view of the world.

use std::net::SocketAddr;
use std::time::Duration;

use nowcast::{CarrierKind, Channel, ConnectError, Connector, Error};
use nowcast_server::world::{EntityId, Input, Value};
use nowcast_world_client::{Identity, Join, Update, WorldClient};
use nowcast_world_protocol::session::{Owned, Said, ToWorld};
use tokio::time::timeout;

use super::view::View;
use super::{PATIENCE, TestServer};

/// A client on a session, with its view of the world.
pub struct Guest {
    pub channel: Channel,
    pub id: u32,
    pub view: View,
    client: WorldClient,
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
        let channel = Connector::new().carriers([carrier]).connect(&url).await.expect("the room has space");
        Self::join_by(channel, name).await
    }

    /// Joins with the secret that identifies the client when it reconnects.
    pub async fn join_with(address: SocketAddr, room: &str, name: &str, key: [u8; 16]) -> Self {
        let url = format!("nowcast://{address}/{room}");
        let carriers = [CarrierKind::WebSocket];
        let channel = Connector::new().carriers(carriers).connect(&url).await.expect("the room has space");
        Self::join_as(channel, Join::new(name).key(key)).await
    }

    /// Joins with an identity, by which the server recognises the client on every visit.
    pub async fn join_with_identity(
        address: SocketAddr,
        room: &str,
        name: &str,
        identity: &Identity,
    ) -> Self {
        let url = format!("nowcast://{address}/{room}");
        let carriers = [CarrierKind::WebSocket];
        let channel = Connector::new().carriers(carriers).connect(&url).await.expect("the room has space");
        identity.present(&channel).expect("the session has a number");
        Self::join_by(channel, name).await
    }

    /// Joins on an open channel.
    pub async fn join_by(channel: Channel, name: &str) -> Self {
        Self::join_as(channel, Join::new(name)).await
    }

    /// Sends the join message without waiting for an answer.
    pub fn introduce(channel: Channel, join: Join) -> Self {
        let join = join.network_hz(60);
        let client = WorldClient::join(channel.clone(), join).expect("the lane is empty");
        Self { channel, id: 0, view: View::default(), client }
    }

    async fn join_as(channel: Channel, join: Join) -> Self {
        let mut guest = Self::introduce(channel, join);
        guest.until("its avatar", |guest| guest.avatar().is_some_and(|id| guest.place(id).is_some())).await;
        guest
    }

    /// Joins as a program, and waits for the world's definition.
    pub async fn join_as_program(server: &TestServer, room: &str, name: &str) -> Self {
        let channel = Self::open(server, room, CarrierKind::WebSocket).await.expect("the room has space");
        let mut guest = Self::introduce(channel, Join::new(name).program());
        guest.until("the definition", |guest| !guest.view.kinds.is_empty()).await;
        guest
    }

    /// Sets the target position of an entity.
    pub fn bring(&self, entity: u32, position: [f32; 3]) {
        let owned = Owned { position, rotation: [0.0, 0.0, 0.0, 1.0], velocity: None };
        self.client.move_owned(EntityId(entity), &owned).expect("a state is taken");
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
        let update = self.client.handle(message).expect("the server follows the specification");
        let known = self.client.view();
        let is_first = self.id == 0;
        assert!(
            !is_first || matches!(update, Update::Welcome | Update::Moved(_)),
            "{update:?} before the welcome"
        );
        match update {
            Update::Moved(applied) => {
                // Only on this carrier packets arrive in order.
                if self.channel.status().carrier == Some(CarrierKind::WebSocket) {
                    self.view.take_tick(applied.tick.into());
                }
            }
            Update::Welcome => {
                let welcome = known.welcome().expect("the client is welcome");
                self.id = welcome.player.0;
                self.view.take_welcome(welcome);
            }
            Update::Defined => {
                self.view.take_definition(known.definition().expect("the definition was received"))
            }
            Update::Event(event) => self.view.take_event(event),
            Update::Entity(id) => {
                let seen = known.entity(id).expect("the entity is in the interest set");
                let kind = known.kind(seen.entity.kind).expect("its kind is defined before");
                self.view.take_entity(id.0, &kind.name, seen);
            }
            Update::Hidden(id) | Update::Gone(id) => drop(self.view.entities.remove(&id.0)),
            Update::Player(id) => self.view.take_player(id.0, known.player(id).expect("the player exists")),
            Update::Left(id) => drop(self.view.players.remove(&id.0)),
            Update::Screen(number) => {
                self.view.take_screen(number, known.screen(number).expect("the slot has a value"));
            }
            Update::Line(Said { from, name, text }) => self.view.said.push((from, name, text)),
            other @ (Update::Missed(_) | Update::Unknown) => {
                panic!("a message of an expected kind, not {other:?} of {:?}", message.kind)
            }
        }
    }

    /// Sends an action that the world declares.
    pub fn act(&self, action: &str, arguments: &[(&str, Value)]) {
        self.client.act(action, super::map(arguments)).expect("the action lane has space");
    }

    /// Sends a numbered action, which happens exactly once.
    pub fn act_once(&self, number: u32, action: &str, arguments: &[(&str, Value)]) {
        self.client.act_once(number, action, super::map(arguments)).expect("the action lane has space");
    }

    /// Sends the world an event.
    pub fn tell(&self, event: &ToWorld) {
        self.client.send(event).expect("the event lane has space");
    }

    /// Sends a chat line to the room.
    pub fn say(&self, text: &str) {
        self.client.say(text).expect("the chat lane has space");
    }

    pub fn steer(&mut self, input: &Input) {
        self.client.set_input(input).expect("a state always fits");
    }

    /// Returns the entity that the client moves.
    pub fn avatar(&self) -> Option<u32> {
        self.view.avatar(self.id)
    }

    /// Returns the position of an entity.
    pub fn place(&self, id: u32) -> Option<[f32; 3]> {
        self.client.view().transform(EntityId(id)).map(|transform| transform.position)
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
