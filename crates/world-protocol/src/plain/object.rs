//! The messages of clients: objects with a `type`, in any notation.

use nowcast_wire::Value;
use nowcast_world::is_shallow;
use nowcast_world::limits::VALUE_DEPTH_MAX;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::DecodeError;
use super::message::ClientMessage;

/// A reader that decodes the whole payload as a given type.
pub(super) trait ReadFields {
    fn fields<T: DeserializeOwned>(&self) -> Result<T, DecodeError>;
}

/// The `type` of a message; every other key is skipped.
#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    name: String,
}

/// Declares a plain struct for each variant, reads it, and turns it into the variant.
macro_rules! read_variant {
    ($fields:expr, $variant:path { $($(#[$attribute:meta])? $name:ident: $type:ty),+ }) => {{
        #[derive(Deserialize)]
        struct Fields { $($(#[$attribute])? $name: $type),+ }
        let Fields { $($name),+ } = $fields.fields()?;
        $variant { $($name),+ }
    }};
}

/// Reads a value that a world may accept.
fn shallow<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match is_shallow(&value, VALUE_DEPTH_MAX) {
        true => Ok(value),
        false => Err(D::Error::custom(format_args!("a value is more than {VALUE_DEPTH_MAX} deep"))),
    }
}

impl ClientMessage {
    /// Reads the type in a first pass and the fields in a second one. A tagged enum would copy every field into a buffer of
    /// dynamic values before it reads them, and its errors would not have the position of the field.
    pub(super) fn read(fields: &impl ReadFields) -> Result<Self, DecodeError> {
        let Tag { name } = fields.fields()?;
        Ok(match name.as_str() {
            "input" => Self::Input(fields.fields()?),
            "act" => read_variant!(
                fields,
                Self::Act { action: String, #[serde(default, deserialize_with = "shallow")] arguments: Value, number: Option<u32> }
            ),
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
            "set" => read_variant!(
                fields,
                Self::Set {
                    entity: u32,
                    #[serde(deserialize_with = "shallow")]
                    attributes: Value
                }
            ),
            "spawn" => read_variant!(
                fields,
                Self::Spawn {
                    number: u32,
                    kind: String,
                    position: [f64; 3],
                    rotation: [f64; 4],
                    #[serde(default, deserialize_with = "shallow")]
                    attributes: Value
                }
            ),
            "despawn" => read_variant!(fields, Self::Despawn { entity: u32 }),
            _ => return Err(DecodeError::UnknownType(name)),
        })
    }
}
