//! Events of a room for programs outside of it (`docs/how-to/cluster.md`, "Events").

use nowcast_world::{PlayerId, Value};
use serde::Serialize;

use crate::room::world_events::{Audience, WorldEvent};

/// The version of the schema.
const VERSION: u32 = 1;

/// An event of a room.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicEvent {
    /// The step of the world after which the event is sent.
    pub step: u64,
    /// The content.
    pub kind: PublicKind,
}

/// The content of a [`PublicEvent`].
#[derive(Clone, Debug, PartialEq)]
pub enum PublicKind {
    /// A player or a program joined the world.
    Join {
        /// The player.
        player: PlayerId,
        /// The name of the player.
        name: String,
        /// Whether it is a program.
        is_program: bool,
    },
    /// A player left the world.
    Leave {
        /// The player.
        player: PlayerId,
    },
    /// A line of chat.
    Chat {
        /// The speaker.
        player: PlayerId,
        /// The name of the speaker.
        name: String,
        /// The line.
        text: String,
    },
    /// An event that the rules emitted.
    Event {
        /// The name of the event.
        name: String,
        /// The payload of the event.
        payload: Value,
        /// The players that received the event; `None` if all players did.
        players: Option<Vec<PlayerId>>,
    },
}

#[derive(Serialize)]
struct Record<'e> {
    version: u32,
    room: &'e str,
    epoch: u64,
    step: u64,
    #[serde(flatten)]
    content: Content<'e>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'e> {
    Join {
        player: u32,
        name: &'e str,
        program: bool,
    },
    Leave {
        player: u32,
    },
    Chat {
        player: u32,
        name: &'e str,
        text: &'e str,
    },
    Event {
        name: &'e str,
        payload: &'e Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        players: Option<Vec<u32>>,
    },
}

impl PublicEvent {
    /// The last part of the event's subject.
    pub fn topic(&self) -> &'static str {
        match self.kind {
            PublicKind::Join { .. } => "join",
            PublicKind::Leave { .. } => "leave",
            PublicKind::Chat { .. } => "chat",
            PublicKind::Event { .. } => "event",
        }
    }

    /// Returns the event as JSON. `epoch` is the epoch of the room's owner.
    pub fn to_json(&self, room: &str, epoch: u64) -> Vec<u8> {
        let content = match &self.kind {
            PublicKind::Join { player, name, is_program } => {
                Content::Join { player: player.0, name, program: *is_program }
            }
            PublicKind::Leave { player } => Content::Leave { player: player.0 },
            PublicKind::Chat { player, name, text } => Content::Chat { player: player.0, name, text },
            PublicKind::Event { name, payload, players } => {
                let players = players.as_ref().map(|players| players.iter().map(|player| player.0).collect());
                Content::Event { name, payload, players }
            }
        };
        let record = Record { version: VERSION, room, epoch, step: self.step, content };
        serde_json::to_vec(&record).expect("keys are text, and the values are numbers, texts and lists")
    }

    pub(crate) fn of(step: u64, event: &WorldEvent) -> Self {
        let kind = match event.clone() {
            WorldEvent::Said { player, name, text } => PublicKind::Chat { player, name, text },
            WorldEvent::Emitted { audience, name, payload, .. } => {
                let players = match audience {
                    Audience::All => None,
                    Audience::These(players) => Some(players.to_vec()),
                };
                PublicKind::Event { name, payload, players }
            }
        };
        Self { step, kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(kind: PublicKind) -> String {
        let event = PublicEvent { step: 600, kind };
        format!("{} {}", event.topic(), String::from_utf8(event.to_json("yard", 3)).expect("JSON is text"))
    }

    #[test]
    fn events_have_the_documented_form() {
        let (player, head) = (PlayerId(7), r#"{"version":1,"room":"yard","epoch":3,"step":600"#);
        let name = "Ada".to_owned();
        assert_eq!(
            json(PublicKind::Join { player, name: name.clone(), is_program: false }),
            format!(r#"join {head},"player":7,"name":"Ada","program":false}}"#)
        );
        assert_eq!(json(PublicKind::Leave { player }), format!(r#"leave {head},"player":7}}"#));
        assert_eq!(
            json(PublicKind::Chat { player, name, text: "hello".into() }),
            format!(r#"chat {head},"player":7,"name":"Ada","text":"hello"}}"#)
        );
        let payload = Value::Map(vec![("points".into(), 2_i64.into())]);
        let event = |players| PublicKind::Event { name: "goal".into(), payload: payload.clone(), players };
        assert_eq!(json(event(None)), format!(r#"event {head},"name":"goal","payload":{{"points":2}}}}"#));
        assert_eq!(
            json(event(Some(vec![player]))),
            format!(r#"event {head},"name":"goal","payload":{{"points":2}},"players":[7]}}"#)
        );
    }
}
