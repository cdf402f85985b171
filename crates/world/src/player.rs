//! The players of a world.

use nowcast_wire::{Value, Wire};

use crate::id::{EntityId, PlayerId};
use crate::input::Input;

/// The first letter of the tags that are roles.
pub(crate) const ROLE: char = '@';

/// A participant: a person or a program.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct Player {
    /// The number of the player.
    pub id: PlayerId,
    /// The sanitised name.
    pub name: String,
    /// Whether the player joined as a program ([`crate::JoinRequest::is_program`]).
    pub is_program: bool,
    /// The entity that the player's input moves, if any.
    pub avatar: Option<EntityId>,
    /// The newest input. A walker follows it automatically; the behaviour of a vehicle reads it here.
    pub input: Input,
    /// Tags by which the behaviour finds the player, such as a team; sorted. Tags that begin with `@` are its roles.
    pub tags: Vec<String>,
    /// Data of the behaviour that clients never receive.
    pub private: Value,
    /// The name of the account that the player has on every visit ([`crate::JoinRequest::account`]); `None` for a guest.
    pub account: Option<String>,
    /// Age of the world that the player sees, in milliseconds ([`crate::Command::SetViewDelay`]).
    pub behind_ms: u16,
}

impl Player {
    /// Returns the roles with which the player joined ([`crate::JoinRequest::roles`]), sorted.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().filter_map(|tag| tag.strip_prefix(ROLE))
    }

    /// Returns the key of the player's saved data: the account, or for a guest `#` and its number.
    pub fn saved_key(&self) -> String {
        self.account.clone().unwrap_or_else(|| format!("#{}", self.id.0))
    }

    /// Returns the tags that the behaviour has set, sorted.
    pub fn own_tags(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().map(String::as_str).filter(|tag| !tag.starts_with(ROLE))
    }
}
