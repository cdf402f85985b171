//! Lines of JSON between a name server and its clients.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::is_name;

/// Maximum length of a line in bytes, with its newline.
pub const LINE_BYTES_MAX: usize = 1_024;

/// An advertised service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// The name.
    pub name: String,
    /// The port of the service's endpoint.
    pub port: u16,
    /// The host of the service; `None` if it is the name server's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<IpAddr>,
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Find(String),
    List,
    Advertise(String, u16),
}

/// The reason why a name server refuses a request. The text of each variant is for people. The line contains the variant's name
/// in snake case (`no_such_name`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refused {
    /// No service of this name is advertised.
    #[error("nothing is advertised under this name: check it, or start the service")]
    NoSuchName,
    /// Another open connection holds the name.
    #[error("another service holds the name: choose another one, or end that service")]
    NameTaken,
    /// The name or the port is invalid.
    #[error("a name is 1 to 64 of a-z A-Z 0-9 . _ -, not beginning with a dot, and a port is 1 to 65535")]
    BadName,
    /// Other machines may not advertise here.
    #[error(
        "this name server accepts names only from its own machine: its operator can allow other machines"
    )]
    NotAllowed,
    /// The connection or its machine advertises the maximum number of names.
    #[error(
        "this connection or its machine advertises the maximum number of names: end a service that needs none"
    )]
    TooManyNames,
    /// A limit of the name server is reached.
    #[error("the name server accepts no more names: try again later")]
    Full,
    /// The line is not a request.
    #[error("the line is not a request of spec/CARRIERS.md, section 8")]
    BadRequest,
    /// The line is longer than [`LINE_BYTES_MAX`].
    #[error("the line is longer than {LINE_BYTES_MAX} bytes")]
    TooLong,
}

/// A line from a name server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Answer {
    Error { error: Refused },
    Advertised { advertised: String },
    Listed { listed: usize },
    Service(Service),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum RequestLine {
    Find { find: String },
    List { list: bool },
    Advertise { advertise: String, port: u16 },
}

impl Request {
    /// Parses a line without its newline.
    pub(crate) fn parse(line: &[u8]) -> Result<Request, Refused> {
        let request = match serde_json::from_slice(line).map_err(|_| Refused::BadRequest)? {
            RequestLine::Find { find } => Request::Find(find),
            RequestLine::List { list: true } => Request::List,
            RequestLine::List { list: false } => return Err(Refused::BadRequest),
            RequestLine::Advertise { advertise, port } => Request::Advertise(advertise, port),
        };
        match &request {
            Request::Find(name) if !is_name(name) => Err(Refused::BadName),
            Request::Advertise(name, port) if !is_name(name) || *port == 0 => Err(Refused::BadName),
            _ => Ok(request),
        }
    }

    /// Returns the line, with its newline.
    pub(crate) fn line(self) -> String {
        to_line(&match self {
            Request::Find(find) => RequestLine::Find { find },
            Request::List => RequestLine::List { list: true },
            Request::Advertise(advertise, port) => RequestLine::Advertise { advertise, port },
        })
    }
}

impl Answer {
    /// Parses a line without its newline.
    pub(crate) fn parse(line: &[u8]) -> Option<Answer> {
        serde_json::from_slice(line).ok().filter(|answer| match answer {
            Answer::Service(service) => is_name(&service.name) && service.port != 0,
            _ => true,
        })
    }

    /// Returns the line, with its newline.
    pub(crate) fn line(&self) -> String {
        to_line(self)
    }
}

fn to_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers are always JSON") + "\n"
}

/// Splits arrived bytes into lines. Buffers at most one line.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    /// Returns the number of bytes that can be pushed now.
    pub(crate) fn room(&self) -> usize {
        LINE_BYTES_MAX.saturating_sub(self.bytes.len())
    }

    /// Adds bytes, at most [`room`](Self::room).
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= self.room());
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next line, without its end.
    ///
    /// # Errors
    /// Fails if the input can no longer become a valid line.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, Refused> {
        let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') else {
            return if self.room() == 0 { Err(Refused::TooLong) } else { Ok(None) };
        };
        let mut line: Vec<u8> = self.bytes.drain(..=end).collect();
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_equal_those_of_the_specification() {
        assert_eq!(Request::Find("tracker".into()).line(), "{\"find\":\"tracker\"}\n");
        assert_eq!(Request::List.line(), "{\"list\":true}\n");
        let advertise = Request::Advertise("tracker".into(), 7777);
        assert_eq!(advertise.clone().line(), "{\"advertise\":\"tracker\",\"port\":7777}\n");
        assert_eq!(Request::parse(advertise.clone().line().trim_end().as_bytes()), Ok(advertise));
        let service = Service { name: "tracker".into(), port: 7777, host: Some([192, 0, 2, 7].into()) };
        let answer = Answer::Service(service);
        assert_eq!(answer.line(), "{\"name\":\"tracker\",\"port\":7777,\"host\":\"192.0.2.7\"}\n");
        assert_eq!(Answer::parse(answer.line().trim_end().as_bytes()), Some(answer));
        assert_eq!(Answer::Error { error: Refused::NoSuchName }.line(), "{\"error\":\"no_such_name\"}\n");
    }

    #[test]
    fn malformed_requests_are_refused_by_name() {
        for (line, refused) in [
            ("", Refused::BadRequest),
            ("{}", Refused::BadRequest),
            ("null", Refused::BadRequest),
            (r#"{"list":false}"#, Refused::BadRequest),
            (r#"{"find":"a","list":true}"#, Refused::BadRequest),
            (r#"{"find":7}"#, Refused::BadRequest),
            (r#"{"find":".hidden"}"#, Refused::BadName),
            (r#"{"find":"../etc/passwd"}"#, Refused::BadName),
            (r#"{"advertise":"a","port":0}"#, Refused::BadName),
            (r#"{"advertise":"a","port":65536}"#, Refused::BadRequest),
            (r#"{"advertise":"a"}"#, Refused::BadRequest),
            ("GET / HTTP/1.1", Refused::BadRequest),
        ] {
            assert_eq!(Request::parse(line.as_bytes()), Err(refused), "{line}");
        }
        assert_eq!(Request::parse(&[b'['; LINE_BYTES_MAX]), Err(Refused::BadRequest));
    }

    #[test]
    fn a_line_that_never_ends_is_too_long() {
        let mut lines = Lines::default();
        lines.push(b"a\r\nb\n");
        lines.push(&vec![b'x'; lines.room()]);
        assert_eq!(lines.next(), Ok(Some(b"a".to_vec())));
        assert_eq!(lines.next(), Ok(Some(b"b".to_vec())));
        assert_eq!(lines.next(), Ok(None), "there is room again");
        lines.push(&vec![b'x'; lines.room()]);
        assert_eq!(lines.next(), Err(Refused::TooLong));
    }
}
