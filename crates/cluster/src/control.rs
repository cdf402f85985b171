//! Requests between the servers of a cluster, and from the operator's commands.

use nowcast_wire::Wire;

use crate::name::{Epoch, Name, Sequence, ServerId};
use crate::record::{Record, require};

/// A request to one server.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub enum ControlRequest {
    /// Move a room to another server.
    Move {
        /// The room.
        room: Name,
        /// The name of the server that gets the room.
        target: Name,
    },
    /// Take no new rooms, and move the next room to another server. The operator's command repeats it until no room is left.
    Drain,
    /// Let clients enter a room that moves to the server, and wait there.
    Expect {
        /// The room.
        room: Name,
    },
    /// Answer when this number of clients wait for a room that moves to the server, or after a limited time.
    Gather {
        /// The room.
        room: Name,
        /// The number of clients.
        clients: u32,
    },
    /// Read the newest snapshot of a room that moves to the server.
    Prepare {
        /// The room.
        room: Name,
    },
    /// Take a room whose owner has stopped it: append the head to its journal, run it, and answer when it runs. The directory
    /// names the server as the target.
    Commit {
        /// The room.
        room: Name,
        /// The server. A later start under its name may not use the epoch.
        target: ServerId,
        /// The epoch of the target in the directory.
        epoch: Epoch,
        /// The last sequence in the journal of the room.
        last: Sequence,
        /// The time since the room stopped, in microseconds.
        stood_us: u64,
    },
    /// Expect a room no longer, because it stays with its owner.
    Forget {
        /// The room.
        room: Name,
    },
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Wire)]
pub enum ControlAnswer {
    /// The request was carried out.
    Done {
        /// The result as a sentence.
        text: String,
    },
    /// The request failed.
    Failed {
        /// The reason and its cure.
        cause: String,
    },
    /// A part of the request was carried out.
    Continues {
        /// The result as a sentence.
        text: String,
    },
}

impl Record for ControlRequest {
    fn check(&self) -> Result<(), &'static str> {
        match self {
            Self::Drain => Ok(()),
            Self::Move { room, target }
            | Self::Commit { room, target: ServerId { name: target, .. }, .. } => {
                require(room.is_valid() && target.is_valid(), "target")
            }
            Self::Expect { room }
            | Self::Gather { room, .. }
            | Self::Prepare { room }
            | Self::Forget { room } => require(room.is_valid(), "room"),
        }
    }
}

impl Record for ControlAnswer {
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

impl ControlAnswer {
    /// Returns the sentence, or the cause of the failure.
    ///
    /// # Errors
    /// The cause, if the request failed.
    pub fn into_result(self) -> Result<String, String> {
        match self {
            Self::Done { text } | Self::Continues { text } => Ok(text),
            Self::Failed { cause } => Err(cause),
        }
    }
}

impl From<Result<String, String>> for ControlAnswer {
    fn from(result: Result<String, String>) -> ControlAnswer {
        match result {
            Ok(text) => Self::Done { text },
            Err(cause) => Self::Failed { cause },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_are_read_back_unchanged_and_damaged_ones_are_refused() {
        let name = |text| Name::new(text).unwrap();
        let room = name("plaza");
        let requests = [
            ControlRequest::Move { room, target: name("south") },
            ControlRequest::Drain,
            ControlRequest::Expect { room },
            ControlRequest::Gather { room, clients: 3 },
            ControlRequest::Prepare { room },
            ControlRequest::Commit {
                room,
                target: ServerId { name: room, incarnation: 2 },
                epoch: Epoch(5),
                last: Sequence(7),
                stood_us: 12_345,
            },
            ControlRequest::Forget { room },
        ];
        for request in requests {
            let bytes = request.to_bytes();
            assert_eq!(ControlRequest::from_bytes(&bytes), Ok(request.clone()));
            (0..bytes.len()).for_each(|cut| {
                assert!(ControlRequest::from_bytes(&bytes[..cut]).is_err(), "{request:?} {cut}");
            });
        }
        for answer in [ControlAnswer::Continues { text: "äöü".to_owned() }, Err("why".to_owned()).into()] {
            assert_eq!(ControlAnswer::from_bytes(&answer.to_bytes()), Ok(answer));
        }
    }
}
