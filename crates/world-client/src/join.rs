//! The first event of a client.

use nowcast::{Channel, Error};
use nowcast_wire::encode_to_vec;
use nowcast_world_protocol::session::{PROTOCOL, ToWorld};

/// The first event of a client: its name, and its role.
///
/// ```
/// use nowcast_world_client::Join;
/// use nowcast_world_protocol::session::{PROTOCOL, ToWorld};
///
/// let join = Join::new("tracker").program().network_hz(5);
/// let expected =
///     ToWorld::JoinProgram { protocol: PROTOCOL, name: "tracker".into(), network_hz: 5, key: Vec::new() };
/// assert_eq!(join.into_event(), expected);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    name: String,
    network_hz: u32,
    key: Vec<u8>,
    is_program: bool,
}

impl Join {
    /// Joins as a human player with this name. The server chooses the number of movement rounds.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), network_hz: 0, key: Vec::new(), is_program: false }
    }

    /// Requests this number of movement rounds a second; with 0 the server chooses the number.
    #[must_use]
    pub fn network_hz(self, network_hz: u32) -> Self {
        Self { network_hz, ..self }
    }

    /// Sets the client's secret, 16 random bytes, with which it continues as the same player in a later session.
    #[must_use]
    pub fn key(self, key: [u8; 16]) -> Self {
        Self { key: key.to_vec(), ..self }
    }

    /// Joins as a program. The rules of a world can tell programs from human players.
    #[must_use]
    pub fn program(self) -> Self {
        Self { is_program: true, ..self }
    }

    /// Returns the event.
    pub fn into_event(self) -> ToWorld {
        let Self { name, network_hz, key, is_program } = self;
        if is_program {
            ToWorld::JoinProgram { protocol: PROTOCOL, name, network_hz, key }
        } else {
            ToWorld::Join { protocol: PROTOCOL, name, network_hz, key }
        }
    }

    /// Sends the event, for a client that reads messages from the channel directly. Other clients call
    /// [`WorldClient::join`](crate::WorldClient::join).
    ///
    /// # Errors
    /// Fails if the channel is closed or takes no event.
    pub fn send(self, channel: &Channel) -> Result<(), Error> {
        channel.try_event(&encode_to_vec(&self.into_event()))
    }
}
