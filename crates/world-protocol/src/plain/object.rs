//! Messages that are objects with a `type`, in any notation.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::message::{Action, Asset, ClientMessage, Declared, Entity, Kind, Moved, Outcome, ServerMessage};
use super::value::Any;

/// A message that is an object with a `type`. The type is read in a first pass and the fields in a second one, because
/// a tagged enum would copy every field into a buffer of dynamic values before it reads them.
pub(super) trait Object: Sized {
    /// Reads the fields of the type named `tag` with `fields`, or returns `None` when there is no such type.
    fn read<R: ReadFields>(tag: &str, fields: &R) -> Result<Option<Self>, R::Error>;
}

/// A reader that decodes the whole payload as a given type.
pub(super) trait ReadFields {
    type Error;
    fn fields<T: DeserializeOwned>(&self) -> Result<T, Self::Error>;
}

/// The `type` of a message; every other key is skipped.
#[derive(Deserialize)]
pub(super) struct Tag {
    #[serde(rename = "type")]
    pub(super) name: String,
}

/// Declares a plain struct for each variant, reads it, and turns it into the variant.
macro_rules! read_variant {
    ($fields:expr, $variant:path { $($name:ident: $type:ty),+ }) => {{
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields { $($name: $type),+ }
        let Fields { $($name),+ } = $fields.fields()?;
        $variant { $($name),+ }
    }};
}

impl Object for ServerMessage {
    fn read<R: ReadFields>(tag: &str, fields: &R) -> Result<Option<Self>, R::Error> {
        Ok(Some(match tag {
            "welcome" => read_variant!(
                fields,
                Self::Welcome {
                    protocol: u32,
                    player: u32,
                    room: String,
                    world: String,
                    step_hz: u32,
                    network_hz: u32,
                    tick: u64,
                    resumed: bool
                }
            ),
            "define" => {
                #[derive(Deserialize)]
                struct Define {
                    version: u64,
                    kinds: Vec<Kind>,
                    actions: Vec<Action>,
                    events: Vec<Declared>,
                    #[serde(default)]
                    assets: Vec<Asset>,
                }
                let Define { version, kinds, actions, events, assets } = fields.fields()?;
                Self::Define { version, kinds, actions, events, assets }
            }
            "spawn" => read_variant!(fields, Self::Spawn { entities: Vec<Entity> }),
            "attributes" => read_variant!(fields, Self::Attributes { id: u32, set: Any }),
            "player" => read_variant!(fields, Self::Player { id: u32, name: String, avatar: Option<u32> }),
            "left" => read_variant!(fields, Self::Left { id: u32 }),
            "screen" => {
                read_variant!(fields, Self::Screen { place: String, personal: bool, value: Any })
            }
            "event" => read_variant!(fields, Self::Event { name: String, payload: Any }),
            "refused" => {
                read_variant!(fields, Self::Refused { action: String, reason: String, number: Option<u32> })
            }
            "done" => read_variant!(fields, Self::Done { number: u32 }),
            "granted" => read_variant!(fields, Self::Granted { entity: u32, number: u32 }),
            "denied" => read_variant!(
                fields,
                Self::Denied { request: String, entity: u32, number: u32, reason: String }
            ),
            "report" => {
                read_variant!(fields, Self::Report { outcome: Outcome, version: u64, text: String })
            }
            "despawn" => read_variant!(fields, Self::Despawn { ids: Vec<u32> }),
            "move" => read_variant!(fields, Self::Move { tick: u64, entities: Vec<Moved> }),
            "chat" => read_variant!(fields, Self::Chat { from: u32, name: String, text: String }),
            "unsaid" => read_variant!(fields, Self::Unsaid { text: String, reason: String }),
            "pong" => read_variant!(fields, Self::Pong { time: f64 }),
            "rate" => read_variant!(fields, Self::Rate { hz: u32 }),
            "notice" => read_variant!(fields, Self::Notice { text: String }),
            "missed" => read_variant!(fields, Self::Missed { lines: u64 }),
            _ => return Ok(None),
        }))
    }
}

impl Object for ClientMessage {
    fn read<R: ReadFields>(tag: &str, fields: &R) -> Result<Option<Self>, R::Error> {
        Ok(Some(match tag {
            "input" => Self::Input(fields.fields()?),
            "act" => {
                #[derive(Deserialize)]
                struct Act {
                    action: String,
                    #[serde(default)]
                    arguments: Any,
                    #[serde(default)]
                    number: Option<u32>,
                }
                let Act { action, arguments, number } = fields.fields()?;
                Self::Act { action, arguments, number }
            }
            "chat" => read_variant!(fields, Self::Chat { text: String }),
            "name" => read_variant!(fields, Self::Name { name: String }),
            "rate" => read_variant!(fields, Self::Rate { hz: u32 }),
            "ping" => read_variant!(fields, Self::Ping { time: f64 }),
            "own" => read_variant!(fields, Self::Own { entity: u32, number: u32 }),
            "release" => read_variant!(fields, Self::Release { entity: u32, to: Option<u32> }),
            "move" => read_variant!(
                fields,
                Self::Move {
                    entity: u32,
                    position: [f64; 3],
                    rotation: [f64; 4],
                    velocity: Option<[f64; 3]>,
                    spin: Option<[f64; 3]>
                }
            ),
            "set" => read_variant!(fields, Self::Set { entity: u32, attributes: Any }),
            "spawn" => {
                #[derive(Deserialize)]
                struct Spawn {
                    number: u32,
                    kind: String,
                    position: [f64; 3],
                    rotation: [f64; 4],
                    #[serde(default)]
                    attributes: Any,
                }
                let Spawn { number, kind, position, rotation, attributes } = fields.fields()?;
                Self::Spawn { number, kind, position, rotation, attributes }
            }
            "despawn" => read_variant!(fields, Self::Despawn { entity: u32 }),
            _ => return Ok(None),
        }))
    }
}
