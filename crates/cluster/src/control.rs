//! Requests between the servers of a cluster, and from the operator's commands.

use std::time::Duration;

use crate::bytes::{Reader, RecordError, put_bytes, put_name, put_numbers, put_server, put_u32, put_version};
use crate::name::{Epoch, Name, Sequence, ServerId};

/// The longest text of an answer, in bytes.
const TEXT_BYTES_MAX: usize = 4_096;

/// A request to one server.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        /// The time since the room stopped.
        stood: Duration,
    },
    /// Expect a room no longer, because it stays with its owner.
    Forget {
        /// The room.
        room: Name,
    },
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
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

impl ControlRequest {
    /// Appends the bytes of the request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut begin = |kind, room: Option<&Name>| {
            put_version(out);
            out.push(kind);
            room.into_iter().for_each(|room| put_name(out, *room));
        };
        match self {
            Self::Move { room, target } => {
                begin(0, Some(room));
                put_name(out, *target);
            }
            Self::Drain => begin(1, None),
            Self::Expect { room } => begin(2, Some(room)),
            Self::Gather { room, clients } => {
                begin(3, Some(room));
                put_u32(out, *clients);
            }
            Self::Prepare { room } => begin(4, Some(room)),
            Self::Commit { room, target, epoch, last, stood } => {
                begin(5, Some(room));
                put_server(out, *target);
                put_numbers(out, [epoch.0, last.0, stood.as_micros() as u64]);
            }
            Self::Forget { room } => begin(6, Some(room)),
        }
    }

    /// Reads a request. The bytes are untrusted.
    ///
    /// # Errors
    /// Names the fault, and the field that has it.
    pub fn decode(bytes: &[u8]) -> Result<ControlRequest, RecordError> {
        let mut reader = Reader::new(bytes)?;
        let kind = reader.u8("kind")?;
        if kind == 1 {
            return reader.end().map(|()| Self::Drain);
        }
        let room = reader.name("room")?;
        let request = match kind {
            0 => Self::Move { room, target: reader.name("target")? },
            2 => Self::Expect { room },
            3 => Self::Gather { room, clients: reader.u32("clients")? },
            4 => Self::Prepare { room },
            5 => {
                let (target, epoch) = (reader.server("target")?, reader.epoch()?);
                let last = reader.sequence()?;
                Self::Commit { room, target, epoch, last, stood: Duration::from_micros(reader.u64("stood")?) }
            }
            6 => Self::Forget { room },
            _ => return Err(RecordError::Invalid { field: "kind" }),
        };
        reader.end()?;
        Ok(request)
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

    /// Appends the bytes of the answer.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (kind, text) = match self {
            Self::Done { text } => (0, text),
            Self::Failed { cause } => (1, cause),
            Self::Continues { text } => (2, text),
        };
        put_version(out);
        out.push(kind);
        let end = text.floor_char_boundary(TEXT_BYTES_MAX);
        put_bytes(out, &text.as_bytes()[..end]);
    }

    /// Reads an answer. The bytes are untrusted.
    ///
    /// # Errors
    /// Names the fault, and the field that has it.
    pub fn decode(bytes: &[u8]) -> Result<ControlAnswer, RecordError> {
        let mut reader = Reader::new(bytes)?;
        let kind = reader.u8("kind")?;
        let text = reader.text("text", TEXT_BYTES_MAX)?.to_owned();
        reader.end()?;
        match kind {
            0 => Ok(Self::Done { text }),
            1 => Ok(Self::Failed { cause: text }),
            2 => Ok(Self::Continues { text }),
            _ => Err(RecordError::Invalid { field: "kind" }),
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
                stood: Duration::from_micros(12_345),
            },
            ControlRequest::Forget { room },
        ];
        for request in requests {
            let mut bytes = Vec::new();
            request.encode(&mut bytes);
            assert_eq!(ControlRequest::decode(&bytes), Ok(request.clone()));
            (0..bytes.len()).for_each(|cut| {
                assert!(ControlRequest::decode(&bytes[..cut]).is_err(), "{request:?} {cut}");
            });
        }
        let text = "äöü".repeat(2_000);
        let mut bytes = Vec::new();
        ControlAnswer::Continues { text: text.clone() }.encode(&mut bytes);
        let Ok(ControlAnswer::Continues { text: read }) = ControlAnswer::decode(&bytes) else { panic!() };
        assert!(text.starts_with(&read) && read.len() > TEXT_BYTES_MAX - 2);
        let failed = ControlAnswer::from(Err("why".to_owned()));
        bytes.clear();
        failed.encode(&mut bytes);
        assert_eq!(ControlAnswer::decode(&bytes), Ok(failed));
    }
}
