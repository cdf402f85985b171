//! HTTP/3 and WebTransport at either end of a QUIC connection: settings, one request, its answer, and the end of its session.
//!
//! Only the peer's control stream and the stream of the request are read into memory, each up to a limit. All other bytes of
//! streams are dropped as they arrive.

use quinn_proto::{Connection, Dir, ReadError, Side, StreamEvent, StreamId};
use web_transport_proto::http::StatusCode;
use web_transport_proto::{
    Capsule, CapsuleError, ConnectError, ConnectRequest, ConnectResponse, Frame, Settings, SettingsError,
    StreamUni, VarInt,
};

/// Maximum size of the peer's settings, and of a request or its answer.
const MESSAGE_BYTES_MAX: usize = 20 * 1_024;
/// Maximum size of the frames that the peer sends on the stream of the session.
const FRAME_BYTES_MAX: usize = 16 * 1_024;

/// The state of HTTP/3 on one connection.
#[derive(Default)]
pub(super) struct Http {
    /// Unidirectional streams whose type is not known yet, with their first bytes.
    untyped: Vec<(StreamId, Vec<u8>)>,
    control: Option<(StreamId, Vec<u8>)>,
    has_settings: bool,
    /// The stream of the request, with the peer's bytes that are not consumed yet.
    request: Option<(StreamId, Vec<u8>)>,
    /// The request that waits for the peer's settings: one to answer at a server, one to send at a client.
    waiting: Option<ConnectRequest>,
    /// Whether the peer's request or answer is complete.
    has_head: bool,
    capsules: Vec<u8>,
}

/// An event for the endpoint.
pub(super) enum Happening {
    /// The client asks for a session.
    Requested(ConnectRequest),
    /// The peer has ended the session.
    Ended { code: u32, reason: String },
    /// The peer does not speak WebTransport, or refuses the session.
    Broken(String),
}

/// The error if the peer's flow control does not even allow the first bytes of a stream.
#[derive(Debug)]
pub(super) struct NoRoom;

impl Http {
    /// The client's end of a connection, for this request.
    pub(super) fn asking(request: ConnectRequest) -> Self {
        Self { waiting: Some(request), ..Self::default() }
    }

    /// Whether the server has admitted this client.
    pub(super) fn is_admitted(&self) -> bool {
        self.has_head
    }

    /// Begins HTTP/3: sends the settings.
    pub(super) fn open(&mut self, quic: &mut Connection) -> Result<(), NoRoom> {
        let mut settings = Settings::default();
        settings.enable_webtransport(1);
        let mut bytes = Vec::new();
        settings.encode(&mut bytes);
        let stream = quic.streams().open(Dir::Uni).ok_or(NoRoom)?;
        write(quic, stream, &bytes)
    }

    /// Sends the request.
    fn ask(&mut self, quic: &mut Connection, request: &ConnectRequest) -> Result<(), NoRoom> {
        let mut bytes = Vec::new();
        request.encode(&mut bytes).map_err(|_| NoRoom)?;
        let stream = quic.streams().open(Dir::Bi).ok_or(NoRoom)?;
        self.request = Some((stream, Vec::new()));
        write(quic, stream, &bytes)
    }

    /// Answers the request. The stream stays open, because clients treat its end as the end of the session.
    pub(super) fn answer(&mut self, quic: &mut Connection, status: StatusCode) -> Result<(), NoRoom> {
        let mut bytes = Vec::new();
        ConnectResponse::from(status).encode(&mut bytes).map_err(|_| NoRoom)?;
        write(quic, self.request.as_ref().ok_or(NoRoom)?.0, &bytes)
    }

    /// Tells the peer that the session ends.
    pub(super) fn close(&mut self, quic: &mut Connection, code: u32, reason: &str) -> Result<(), NoRoom> {
        let stream = self.request.as_ref().ok_or(NoRoom)?.0;
        let mut capsule = Vec::new();
        Capsule::CloseWebTransportSession { code, reason: reason.to_owned() }.encode(&mut capsule);
        let mut bytes = Vec::new();
        Frame::DATA.encode(&mut bytes);
        VarInt::try_from(capsule.len()).map_err(|_| NoRoom)?.encode(&mut bytes);
        bytes.extend_from_slice(&capsule);
        write(quic, stream, &bytes)?;
        quic.send_stream(stream).finish().map_err(|_| NoRoom)
    }

    /// Handles an event of a stream.
    pub(super) fn handle(&mut self, quic: &mut Connection, event: &StreamEvent) -> Option<Happening> {
        match event {
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(stream) = quic.streams().accept(Dir::Uni) {
                    self.untyped.push((stream, Vec::new()));
                    if let Some(happening) = self.read(quic, stream) {
                        return Some(happening);
                    }
                }
                None
            }
            StreamEvent::Opened { dir: Dir::Bi } => {
                while let Some(stream) = quic.streams().accept(Dir::Bi) {
                    if self.request.is_none() && quic.side().is_server() {
                        self.request = Some((stream, Vec::new()));
                    }
                    if let Some(happening) = self.read(quic, stream) {
                        return Some(happening);
                    }
                }
                None
            }
            StreamEvent::Readable { id } => self.read(quic, *id),
            _ => None,
        }
    }

    fn read(&mut self, quic: &mut Connection, stream: StreamId) -> Option<Happening> {
        if let Some((id, bytes)) = &mut self.request
            && *id == stream
        {
            let end = read(quic, stream, |chunk| bytes.extend_from_slice(chunk));
            return self.read_head(quic.side(), end.is_some());
        }
        if let Some((id, bytes)) = &mut self.control
            && *id == stream
        {
            let has_settings = self.has_settings;
            let end = read(quic, stream, |chunk| {
                if !has_settings {
                    bytes.extend_from_slice(chunk);
                }
            });
            return match end {
                Some(()) => Some(Happening::Broken("the control stream has ended".into())),
                None => self.read_settings(quic),
            };
        }
        let Some(place) = self.untyped.iter().position(|(id, _)| *id == stream) else {
            read(quic, stream, |_| {});
            return None;
        };
        let bytes = &mut self.untyped[place].1;
        let end = read(quic, stream, |chunk| bytes.extend_from_slice(chunk));
        let Ok(kind) = StreamUni::decode(&mut bytes.as_slice()) else {
            if end.is_some() {
                self.untyped.swap_remove(place);
            }
            return None;
        };
        let (_, bytes) = self.untyped.swap_remove(place);
        if kind != StreamUni::CONTROL {
            return None;
        }
        if self.control.is_some() {
            return Some(Happening::Broken("a second control stream".into()));
        }
        self.control = Some((stream, bytes));
        self.read_settings(quic)
    }

    fn read_settings(&mut self, quic: &mut Connection) -> Option<Happening> {
        if self.has_settings {
            return None;
        }
        let (_, bytes) = self.control.as_mut()?;
        match Settings::decode(&mut bytes.as_slice()) {
            Ok(settings) if settings.supports_webtransport() == 0 => {
                Some(Happening::Broken("WebTransport is not supported".into()))
            }
            Ok(_) => {
                self.has_settings = true;
                *bytes = Vec::new();
                let request = self.waiting.take()?;
                match quic.side() {
                    Side::Server => Some(Happening::Requested(request)),
                    Side::Client => {
                        let asked = self.ask(quic, &request);
                        asked.err().map(|NoRoom| Happening::Broken("no room for the request".into()))
                    }
                }
            }
            Err(SettingsError::UnexpectedEnd) if bytes.len() <= MESSAGE_BYTES_MAX => None,
            Err(error) => Some(Happening::Broken(error.to_string())),
        }
    }

    /// Reads the request or its answer, and then what follows.
    fn read_head(&mut self, side: Side, is_ended: bool) -> Option<Happening> {
        let (_, bytes) = self.request.as_mut()?;
        if self.has_head {
            return self.read_capsules(is_ended);
        }
        let mut rest = bytes.as_slice();
        let head = match side {
            Side::Server => ConnectRequest::decode(&mut rest).map(Some),
            Side::Client => ConnectResponse::decode(&mut rest).map(|_| None),
        };
        match head {
            Ok(request) => {
                self.has_head = true;
                let consumed = bytes.len() - rest.len();
                *bytes = bytes.split_off(consumed);
                match request {
                    Some(request) if self.has_settings => Some(Happening::Requested(request)),
                    Some(request) => {
                        self.waiting = Some(request);
                        None
                    }
                    // A server may end the session in the packet that admits the client.
                    None => self.read_capsules(is_ended),
                }
            }
            Err(ConnectError::UnexpectedEnd) if !is_ended && bytes.len() <= MESSAGE_BYTES_MAX => None,
            Err(error) => Some(Happening::Broken(error.to_string())),
        }
    }

    /// Reads the peer's bytes on the stream of the session: DATA frames that hold capsules.
    fn read_capsules(&mut self, is_ended: bool) -> Option<Happening> {
        let over = |code, reason| Some(Happening::Ended { code, reason });
        let (_, bytes) = self.request.as_mut()?;
        while let Some((kind, payload, consumed)) = frame(bytes) {
            if kind == Frame::DATA {
                self.capsules.extend_from_slice(payload);
            }
            bytes.drain(..consumed);
            loop {
                let mut rest = self.capsules.as_slice();
                match Capsule::decode(&mut rest) {
                    Ok(Capsule::CloseWebTransportSession { code, reason }) => return over(code, reason),
                    Ok(_) => {
                        let consumed = self.capsules.len() - rest.len();
                        self.capsules.drain(..consumed);
                    }
                    Err(CapsuleError::UnexpectedEnd | CapsuleError::VarInt(_)) => break,
                    Err(_) => return over(0, String::new()),
                }
            }
        }
        // A peer that leaves without a word ends the stream, too.
        let is_too_long = bytes.len() > FRAME_BYTES_MAX || self.capsules.len() > FRAME_BYTES_MAX;
        if is_ended || is_too_long { over(0, String::new()) } else { None }
    }
}

/// Returns the first complete frame: its type, its payload, and its size in all.
fn frame(bytes: &[u8]) -> Option<(Frame, &[u8], usize)> {
    let mut rest = bytes;
    let kind = Frame::decode(&mut rest).ok()?;
    let length = usize::try_from(VarInt::decode(&mut rest).ok()?.into_inner()).ok()?;
    let payload = rest.get(..length)?;
    Some((kind, payload, bytes.len() - rest.len() + length))
}

/// Passes on all bytes that have arrived on a stream. Returns whether the stream has ended.
fn read(quic: &mut Connection, stream: StreamId, mut take: impl FnMut(&[u8])) -> Option<()> {
    let mut stream = quic.recv_stream(stream);
    let Ok(mut chunks) = stream.read(true) else { return Some(()) };
    let end = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => take(&chunk.bytes),
            Ok(None) | Err(ReadError::Reset(_)) => break Some(()),
            Err(ReadError::Blocked) => break None,
        }
    };
    // The connection sends its packets after each event.
    let _ = chunks.finalize();
    end
}

fn write(quic: &mut Connection, stream: StreamId, bytes: &[u8]) -> Result<(), NoRoom> {
    match quic.send_stream(stream).write(bytes) {
        Ok(written) if written == bytes.len() => Ok(()),
        _ => Err(NoRoom),
    }
}
