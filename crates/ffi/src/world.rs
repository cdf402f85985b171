//! A client of a world with a handle.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nowcast::Message;
use nowcast_wire::Value;
use nowcast_world::{EntityId, Input};
use nowcast_world_client::{Join, MessageError, Predictor, Update, WorldClient, WorldView};
use nowcast_world_protocol::session::FromWorld;

use crate::channel::{BEGIN, ChannelObject, Wait};
use crate::describe::{content, json};
use crate::failure::{Failure, Status};

/// The kind of an update.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// The client has joined. `id` is its player.
    Welcome = 0,
    /// Other kinds, actions or events apply.
    Defined = 1,
    /// Entity `id` entered the client's sight, or its description or attributes changed.
    Entity = 2,
    /// Entity `id` left the client's sight.
    Hidden = 3,
    /// Entity `id` was removed from the world.
    Gone = 4,
    /// Player `id` joined, or its name or avatar changed.
    Player = 5,
    /// Player `id` left.
    Left = 6,
    /// The value at screen `id` changed.
    Screen = 7,
    /// Entities moved. `id` is the step of the world.
    Moved = 8,
    /// The rules emitted an event: JSON with `event` and `payload`.
    Event = 9,
    /// An action of this client was refused: JSON with `action`, `reason` and `number`.
    ActionRefused = 10,
    /// Durable action `id` was carried out.
    Done = 11,
    /// A sentence for people: JSON with `text`.
    Notice = 12,
    /// The client owns entity `id` now.
    Granted = 13,
    /// A request as an owner was denied: JSON with `request`, `entity`, `number` and `reason`.
    Denied = 14,
    /// A line of chat: JSON with `from`, `name` and `text`.
    Chat = 15,
    /// Anything else, which a client may ignore.
    Other = 16,
}

/// A client of a world, and the prediction of its avatar if it predicts.
pub struct World {
    /// The channel.
    pub channel: Arc<ChannelObject>,
    state: Mutex<State>,
}

/// The state of a client.
pub struct State {
    /// The client.
    pub client: WorldClient,
    /// The prediction, if the client predicts.
    pub predictor: Option<Predictor>,
    newest: Update,
}

impl World {
    /// Joins the world at the other end of a channel.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn join(channel: Arc<ChannelObject>, join: Join, predicts: bool) -> Result<Self, Failure> {
        let client = WorldClient::join(channel.channel().clone(), join)?;
        let predictor = predicts.then(Predictor::default);
        let state = State { client, predictor, newest: Update::Unknown };
        Ok(Self { channel, state: Mutex::new(state) })
    }

    /// Locks the state for one call.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the next message. The lock is not held while the call waits.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn update(&self, wait: Wait) -> Result<(UpdateKind, u32), Failure> {
        let message = self.channel.receive_message(wait)?;
        self.lock().handle(&message).map_err(|error| Failure::new(Status::InvalidData, error.to_string()))
    }
}

fn not_found(noun: &str, number: u32) -> Failure {
    Failure::new(Status::NotFound, format!("this client knows no {noun} {number}"))
}

impl State {
    fn handle(&mut self, message: &Message) -> Result<(UpdateKind, u32), MessageError> {
        let Self { client, predictor, newest } = self;
        *newest = client.handle(message)?;
        if let Some(predictor) = predictor {
            predictor.handle(newest, client.view());
        }
        Ok(match newest {
            Update::Welcome => {
                (UpdateKind::Welcome, client.view().welcome().map_or(0, |welcome| welcome.player.0))
            }
            Update::Defined => (UpdateKind::Defined, 0),
            Update::Entity(id) => (UpdateKind::Entity, id.0),
            Update::Hidden(id) => (UpdateKind::Hidden, id.0),
            Update::Gone(id) => (UpdateKind::Gone, id.0),
            Update::Player(id) => (UpdateKind::Player, id.0),
            Update::Left(id) => (UpdateKind::Left, id.0),
            Update::Screen(number) => (UpdateKind::Screen, *number),
            Update::Moved(applied) => (UpdateKind::Moved, applied.tick),
            Update::Line(said) => (UpdateKind::Chat, said.from),
            Update::Event(event) => kind_of(event),
            Update::Missed(_) | Update::Unknown => (UpdateKind::Other, 0),
        })
    }

    /// The part of the world that the client knows.
    pub fn view(&self) -> &WorldView {
        self.client.view()
    }

    /// The content of the newest update; nil for updates without one.
    pub fn newest_content(&self) -> Value {
        content(&self.newest)
    }

    /// The content of the newest update as JSON.
    pub fn newest(&self) -> String {
        json(content(&self.newest))
    }

    /// The attributes of an entity as JSON.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn attributes(&self, entity: u32) -> Result<String, Failure> {
        let entity = self.view().entity(EntityId(entity)).ok_or_else(|| not_found("entity", entity))?;
        Ok(json(entity.attributes.clone()))
    }

    /// The name of a kind.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn kind_name(&self, kind: u32) -> Result<&str, Failure> {
        Ok(&self.view().kind(kind).ok_or_else(|| not_found("kind", kind))?.name)
    }

    /// A screen as JSON: `place`, `personal` and `value`.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn screen(&self, number: u32) -> Result<String, Failure> {
        let screen = self.view().screen(number).ok_or_else(|| not_found("screen", number))?;
        Ok(json(Value::Map(vec![
            ("place".into(), screen.place.clone().into()),
            ("personal".into(), screen.personal.into()),
            ("value".into(), screen.value.clone()),
        ])))
    }

    /// Sets the input of the avatar.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn input(&mut self, input: Input) -> Result<(), Failure> {
        let input = input.validate().map_err(|error| Failure::argument(error.to_string()))?;
        match &mut self.predictor {
            Some(predictor) => {
                predictor.set_input(input).map_err(|error| Failure::argument(error.to_string()))
            }
            None => Ok(self.client.set_input(&input)?),
        }
    }

    /// Takes the predicted steps that are due, and sends the input of the newest steps.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn advance(&mut self) -> Result<&Predictor, Failure> {
        let Self { client, predictor, .. } = self;
        let predictor =
            predictor.as_mut().ok_or_else(|| Failure::argument("the client joined without prediction"))?;
        let now = BEGIN.elapsed();
        predictor.advance(now, client.view());
        if let Some(steps) = predictor.poll_steps(now) {
            client.send_steps(&steps)?;
        }
        Ok(predictor)
    }
}

fn kind_of(event: &FromWorld) -> (UpdateKind, u32) {
    match event {
        FromWorld::Happened { .. } => (UpdateKind::Event, 0),
        FromWorld::Refused { number, .. } => (UpdateKind::ActionRefused, number.unwrap_or(0)),
        FromWorld::Done { number } => (UpdateKind::Done, *number),
        FromWorld::Notice { .. } => (UpdateKind::Notice, 0),
        FromWorld::Granted { entity, .. } => (UpdateKind::Granted, *entity),
        FromWorld::Denied { entity, .. } => (UpdateKind::Denied, *entity),
        _ => (UpdateKind::Other, 0),
    }
}
