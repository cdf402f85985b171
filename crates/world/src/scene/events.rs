//! The events that the rules of a world send, to players and to the host.

use nowcast_wire::Value;

use super::{Scene, SceneError};
use crate::conform;
use crate::event::{Event, To};
use crate::id::PlayerId;
use crate::limits::{BAN_SECONDS_MAX, CARRIED_BYTES_MAX};
use crate::problem::is_name;

/// Maximum length, in characters, of the reason that a removed player receives.
const KICK_REASON_CHARS_MAX: usize = 100;

/// Maximum length of the name of a room.
const ROOM_BYTES_MAX: usize = 32;

impl Scene {
    /// Sends an event to players, once. The payload of a declared event must fit; missing fields have their defaults.
    ///
    /// # Errors
    /// Fails if the name is invalid, if the payload does not fit or is too large, if the player is unknown or the place
    /// has a number that is not finite, or if too many bytes of events wait.
    pub fn emit(&mut self, name: &str, to: To, payload: Value) -> Result<(), SceneError> {
        if !is_name(name) {
            return Err(SceneError::BadName(name.to_owned()));
        }
        let payload = match self.definition.event(name) {
            Some(declared) => declared.payload.conform_map(&payload)?,
            None => payload,
        };
        conform::bounded(&payload, self.definition.limits.value_bytes_max)?;
        match to {
            To::Player(player) if self.player(player).is_none() => {
                return Err(SceneError::UnknownPlayer(player));
            }
            To::Near { position, radius } if !position.iter().chain([&radius]).all(|v| v.is_finite()) => {
                return Err(SceneError::BadNumber("place"));
            }
            _ => {}
        }
        let durable = self.acts_durably;
        self.emit_bounded(Event::Emitted { name: name.to_owned(), to, payload, durable })
    }

    /// Asks the host to remove a player, which then receives the reason. The player stays in the world until the host
    /// applies [`crate::Command::Leave`].
    ///
    /// # Errors
    /// Fails if the player is not in the world.
    pub fn kick(&mut self, player: PlayerId, reason: &str) -> Result<(), SceneError> {
        if self.player(player).is_none() {
            return Err(SceneError::UnknownPlayer(player));
        }
        let reason = crate::text::sanitize(reason, KICK_REASON_CHARS_MAX);
        self.emit_bounded(Event::Kicked { player, reason })
    }

    /// Asks the host to ban a player from this room, or from all rooms of this world (`of_world`), for a time.
    ///
    /// # Errors
    /// Fails if the player is not in the world, or if the time is not from 1 second to [`BAN_SECONDS_MAX`](crate::limits::BAN_SECONDS_MAX).
    pub fn ban(
        &mut self,
        player: PlayerId,
        seconds: f64,
        of_world: bool,
        reason: &str,
    ) -> Result<(), SceneError> {
        if self.player(player).is_none() {
            return Err(SceneError::UnknownPlayer(player));
        }
        if !(1.0..=BAN_SECONDS_MAX).contains(&seconds) {
            return Err(SceneError::BadNumber("the duration of the ban"));
        }
        let reason = crate::text::sanitize(reason, KICK_REASON_CHARS_MAX);
        self.emit_bounded(Event::Banned { player, seconds: seconds as u32, of_world, reason })
    }

    /// Asks the host to send a player to another room, whose rules receive the data. The player stays until it leaves.
    ///
    /// # Errors
    /// Fails if the player is not in the world, if the name is no room name, or if the data has more than
    /// [`CARRIED_BYTES_MAX`](crate::limits::CARRIED_BYTES_MAX) bytes.
    pub fn send_to(&mut self, player: PlayerId, room: &str, data: Value) -> Result<(), SceneError> {
        if self.player(player).is_none() {
            return Err(SceneError::UnknownPlayer(player));
        }
        let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        if !(1..=ROOM_BYTES_MAX).contains(&room.len()) || !room.bytes().all(is_letter) {
            return Err(SceneError::BadRoom(room.to_owned()));
        }
        conform::bounded(&data, CARRIED_BYTES_MAX)?;
        self.emit_bounded(Event::SentTo { player, room: room.to_owned(), data })
    }
}
