//! A client of a world on a channel.

use nowcast::{Channel, Error, Message};
use nowcast_replication::Applied;
use nowcast_wire::{Value, encode_to_vec};
use nowcast_world::{EntityId, Input, PlayerId, STEP_HZ};
use nowcast_world_protocol::session::{
    CHAT_LANE, CONTROLS_KEY, Line, OWNED_KEYS, Owned, STEPS_KEY, Steps, ToWorld, VIEW_KEY, View, WORLD_LANE,
};

use crate::{Incoming, InputSender, Join, MessageError, Update, WorldView};

/// Minimum interval between two requests to send all movement again, in steps of the world (`spec/WORLD.md`, section
/// 8).
const FORGET_STEPS: u32 = STEP_HZ;

/// A client of a world on a channel.
///
/// Sending never blocks: events and states wait in the channel until a packet carries them. A thread without
/// a runtime calls [`try_receive`](Self::try_receive).
pub struct WorldClient {
    channel: Channel,
    view: WorldView,
    input: InputSender,
    /// The step of the world at which the client last requested all movement again.
    forgot_tick: Option<u32>,
}

/// The end of a client, or an invalid message.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClientError {
    /// The channel is closed, or it accepts no message.
    #[error(transparent)]
    Channel(#[from] Error),
    /// The server broke the protocol.
    #[error(transparent)]
    Message(#[from] MessageError),
}

impl WorldClient {
    /// Joins the world at the other end of a channel. The server answers with [`Update::Welcome`].
    ///
    /// # Errors
    /// Fails if the channel is closed.
    pub fn join(channel: Channel, join: Join) -> Result<Self, Error> {
        join.send(&channel)?;
        let (view, input) = Default::default();
        Ok(Self { channel, view, input, forgot_tick: None })
    }

    /// The channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The part of the world that the client knows.
    pub fn view(&self) -> &WorldView {
        &self.view
    }

    /// Waits for the next message and handles it. The future may be dropped at any time without losing a message.
    ///
    /// # Errors
    /// Fails if the channel is closed, or the server broke the protocol.
    pub async fn receive(&mut self) -> Result<Update, ClientError> {
        let message = self.channel.receive().await?;
        Ok(self.handle(&message)?)
    }

    /// Handles the next message if there is one.
    ///
    /// # Errors
    /// Like [`receive`](Self::receive).
    pub fn try_receive(&mut self) -> Result<Option<Update>, ClientError> {
        let Some(message) = self.channel.try_receive()? else { return Ok(None) };
        Ok(Some(self.handle(&message)?))
    }

    /// Handles a message that the caller received from the channel. If movement refers to frames that the client does not
    /// have, the client requests all movement again, at most once a second.
    ///
    /// # Errors
    /// Fails if the server broke the protocol.
    pub fn handle(&mut self, message: &Message) -> Result<Update, MessageError> {
        let update = self.view.handle(Incoming::of(message))?;
        if let Update::Moved(Applied { tick, missing: 1.., .. }) = update
            && self.forgot_tick.is_none_or(|forgot| tick.wrapping_sub(forgot) >= FORGET_STEPS)
            // If the lane is full, the request is sent after one of the next payloads.
            && self.send(&ToWorld::Forget).is_ok()
        {
            self.forgot_tick = Some(tick);
        }
        Ok(update)
    }

    /// Sets the input of a client that does not predict. The input applies until the next call.
    ///
    /// # Errors
    /// Fails if the channel is closed.
    pub fn set_input(&mut self, input: &Input) -> Result<(), Error> {
        let controls = self.input.next(input);
        self.channel.lane(WORLD_LANE).try_state(CONTROLS_KEY, &encode_to_vec(&controls))
    }

    /// Sends the input of a client that counts its steps: see [`Predictor::poll_steps`](crate::Predictor::poll_steps).
    ///
    /// # Errors
    /// Fails if the channel is closed.
    pub fn send_steps(&self, steps: &Steps) -> Result<(), Error> {
        self.channel.lane(WORLD_LANE).try_state(STEPS_KEY, &encode_to_vec(steps))
    }

    /// Sends the age at which other entities are displayed, in milliseconds, without the delay of the network.
    ///
    /// # Errors
    /// Fails if the channel is closed.
    pub fn set_view_delay_ms(&self, delay_ms: u16) -> Result<(), Error> {
        self.channel.lane(WORLD_LANE).try_state(VIEW_KEY, &encode_to_vec(&View { delay_ms }))
    }

    /// Carries out an action that the world declares. `arguments` is a map by name, or nil.
    ///
    /// # Errors
    /// Fails if the channel is closed, or its lane is full.
    pub fn act(&self, action: &str, arguments: Value) -> Result<(), Error> {
        self.send(&ToWorld::Act {
            action: action.to_owned(),
            arguments,
            number: None,
            step: None,
            shown: None,
        })
    }

    /// Sends an action with a number, which the server answers by `Done` or `Refused`. A durable action is carried out once, however
    /// often it is sent with this number. For durable actions, the client needs a key, and counts them from 1.
    ///
    /// # Errors
    /// Fails if the channel is closed, or its lane is full.
    pub fn act_once(&self, number: u32, action: &str, arguments: Value) -> Result<(), Error> {
        let (action, number) = (action.to_owned(), Some(number));
        self.send(&ToWorld::Act { action, arguments, number, step: None, shown: None })
    }

    /// Sends a line of chat to all players in the room.
    ///
    /// # Errors
    /// Fails if the channel is closed, or its lane is full.
    pub fn say(&self, text: &str) -> Result<(), Error> {
        self.channel.lane(CHAT_LANE).try_event(&encode_to_vec(&Line { text: text.to_owned() }))
    }

    /// Asks for an entity. The answer is `Granted` or `Denied` with this number.
    ///
    /// # Errors
    /// Fails if the channel is closed, or its lane is full.
    pub fn own(&self, entity: EntityId, number: u32) -> Result<(), Error> {
        self.send(&ToWorld::Own { entity: entity.0, number })
    }

    /// Gives an entity that the player owns back to the server, or passes it to another player.
    ///
    /// # Errors
    /// Fails if the channel is closed, or its lane is full.
    pub fn release(&self, entity: EntityId, to: Option<PlayerId>) -> Result<(), Error> {
        self.send(&ToWorld::Release { entity: entity.0, to: to.map(|player| player.0) })
    }

    /// Sets the target pose of an entity that the player owns. The newest pose of each entity is sent.
    ///
    /// # Errors
    /// Fails if the channel is closed, or if the lane is full and has no earlier pose of this entity.
    pub fn move_owned(&self, entity: EntityId, owned: &Owned) -> Result<(), Error> {
        self.channel.lane(WORLD_LANE).try_state(OWNED_KEYS + u64::from(entity.0), &encode_to_vec(owned))
    }

    /// Sends any other event.
    ///
    /// # Errors
    /// Fails if the channel is closed, or its lane is full.
    pub fn send(&self, event: &ToWorld) -> Result<(), Error> {
        self.channel.lane(WORLD_LANE).try_event(&encode_to_vec(event))
    }
}
