//! Events of rooms for programs outside of them (`docs/how-to/back-end.md`, `docs/how-to/cluster.md`).

use std::sync::Arc;

use nowcast_world::{PlayerId, Value};
use serde::Serialize;

use crate::room::world_events::{Audience, WorldEvent};

/// Takes the events of rooms. Rooms call it from their threads.
pub trait EventSink: Send + Sync {
    /// Takes an event of a room. Never waits.
    fn take(&self, room: &str, event: &Arc<PublicEvent>);
}

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
        /// The account of the player; `None` for a guest.
        account: Option<String>,
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
    /// The room ended. The players that did not leave before have left the room, too.
    Dispose,
}

#[derive(Serialize)]
struct Record<'e, Head> {
    #[serde(flatten)]
    head: &'e Head,
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
        #[serde(skip_serializing_if = "Option::is_none")]
        account: Option<&'e str>,
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
    Dispose {},
}

impl PublicEvent {
    /// The name of the event's kind.
    pub fn topic(&self) -> &'static str {
        match self.kind {
            PublicKind::Join { .. } => "join",
            PublicKind::Leave { .. } => "leave",
            PublicKind::Chat { .. } => "chat",
            PublicKind::Event { .. } => "event",
            PublicKind::Dispose => "dispose",
        }
    }

    /// Returns the event as a JSON object, which begins with the fields of `head`.
    ///
    /// # Panics
    /// Panics if `head` is no struct of numbers and texts.
    pub fn to_json(&self, head: &impl Serialize) -> Vec<u8> {
        let content = match &self.kind {
            PublicKind::Join { player, name, account, is_program } => {
                let account = account.as_deref();
                Content::Join { player: player.0, name, account, program: *is_program }
            }
            PublicKind::Leave { player } => Content::Leave { player: player.0 },
            PublicKind::Chat { player, name, text } => Content::Chat { player: player.0, name, text },
            PublicKind::Event { name, payload, players } => {
                let players = players.as_ref().map(|players| players.iter().map(|player| player.0).collect());
                Content::Event { name, payload, players }
            }
            PublicKind::Dispose => Content::Dispose {},
        };
        let record = Record { head, step: self.step, content };
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

    #[derive(Serialize)]
    struct Head {
        room: &'static str,
    }

    fn json(kind: PublicKind) -> String {
        let event = PublicEvent { step: 600, kind };
        let json = event.to_json(&Head { room: "yard" });
        format!("{} {}", event.topic(), String::from_utf8(json).expect("JSON is text"))
    }

    #[test]
    fn events_have_the_documented_form() {
        let (player, head) = (PlayerId(7), r#"{"room":"yard","step":600"#);
        let name = "Ada".to_owned();
        assert_eq!(
            json(PublicKind::Join { player, name: name.clone(), account: None, is_program: false }),
            format!(r#"join {head},"player":7,"name":"Ada","program":false}}"#)
        );
        let account = Some("token:Ada".to_owned());
        assert_eq!(
            json(PublicKind::Join { player, name: name.clone(), account, is_program: true }),
            format!(r#"join {head},"player":7,"name":"Ada","account":"token:Ada","program":true}}"#)
        );
        assert_eq!(json(PublicKind::Leave { player }), format!(r#"leave {head},"player":7}}"#));
        assert_eq!(json(PublicKind::Dispose), format!("dispose {head}}}"));
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
