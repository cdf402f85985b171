//! A client on a WebSocket that reads bytes and decodes nothing. It uses the plain protocol, or that of Colyseus.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval};

use super::frames::{Frame, Frames, Opcode, put_frame};
use super::{ControlsSent, Shared};
use crate::local::now_ns;

/// The first bytes of frames: a complete message of bytes, and the answer to a ping.
const BYTES: u8 = 0x82;
const PONG: u8 = 0x8A;

/// Maximum length of the answer to the opening request, in bytes.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// The protocol on the stream.
#[derive(Clone, Debug)]
pub(super) enum Dialect {
    /// The protocol of `spec/PLAIN.md`, in MessagePack.
    Plain {
        /// The room and the parameters, as in the URL.
        path: String,
    },
    /// The protocol of Colyseus 0.18. The state of the room begins with the time of its newest step.
    Colyseus {
        /// The name of the room.
        room: String,
    },
}

/// The messages of Colyseus that a reader must recognise.
mod colyseus {
    /// The room accepts the client. The client answers with the same byte and then receives the state.
    pub(super) const JOIN_ROOM: u8 = 10;
    /// A message of the program.
    pub(super) const ROOM_DATA: u8 = 13;
    /// The whole state of the room.
    pub(super) const ROOM_STATE: u8 = 14;
    /// A patch of the room's state.
    pub(super) const ROOM_STATE_PATCH: u8 = 15;
    /// In a patch: the first field of the state is replaced, or is new.
    pub(super) const FIRST_FIELD: [u8; 2] = [0, 128];
}

/// Joins, and counts itself in `shared.joined`. Then reads until the server ends the connection or the task is dropped.
pub(super) async fn read(address: SocketAddr, dialect: &Dialect, shared: &Shared) -> io::Result<Infallible> {
    let path = match dialect {
        Dialect::Plain { path } => path.clone(),
        Dialect::Colyseus { room } => reserve_seat(address, room).await?,
    };
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: bm93Y2FzdC1sb2FkLWJvdA==\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await?;
    let rest = upgraded(&mut socket).await?;
    let mut client = Client { dialect, shared, frames: Frames::default(), out: Vec::new(), before_ns: None };
    client.take(&rest)?;
    client.run(&mut socket).await
}

struct Client<'a> {
    dialect: &'a Dialect,
    shared: &'a Shared,
    frames: Frames,
    /// Bytes that wait to be sent.
    out: Vec<u8>,
    /// The time at which the previous update arrived.
    before_ns: Option<u64>,
}

impl Client<'_> {
    async fn run(&mut self, socket: &mut TcpStream) -> io::Result<Infallible> {
        let mut bytes = vec![0; 64 * 1024];
        let mut sent = ControlsSent::default();
        let mut controls = self.shared.orders.controls_interval().map(interval);
        if let Some(controls) = &mut controls {
            controls.set_missed_tick_behavior(MissedTickBehavior::Skip);
        }
        loop {
            if !self.out.is_empty() {
                socket.write_all(&self.out).await?;
                self.out.clear();
            }
            let due = async {
                match &mut controls {
                    Some(controls) => drop(controls.tick().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                read = socket.read(&mut bytes) => match read? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    length => self.take(&bytes[..length])?,
                },
                () = due => self.steer(sent.next_yaw()),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let now_ns = now_ns();
        let Self { dialect, shared, frames, out, before_ns } = self;
        let mut closed = false;
        let mut on_frame = |frame: Frame<'_>| match frame.opcode {
            Opcode::Data => {
                shared.measurements().payload_bytes += frame.payload_bytes;
                if let Some(answer) = answer_to(dialect, &frame) {
                    put_frame(BYTES, answer, out);
                    shared.join();
                }
                if matches!(dialect, Dialect::Plain { .. }) {
                    shared.join_once(before_ns.is_none() && tick_of_move(&frame).is_some());
                }
                if let Some(stamp_ns) = stamp_of(dialect, &frame) {
                    shared.measurements().update(*before_ns, now_ns, stamp_ns);
                    *before_ns = Some(now_ns);
                }
            }
            Opcode::Ping => put_frame(PONG, frame.head, out),
            Opcode::Pong => {}
            Opcode::Close => closed = true,
        };
        frames.push(bytes, &mut on_frame).map_err(io::Error::other)?;
        if closed { Err(io::Error::other("the server closed the connection")) } else { Ok(()) }
    }

    fn steer(&mut self, yaw: f32) {
        match self.dialect {
            Dialect::Plain { .. } => put_frame(BYTES, &plain_input(yaw), &mut self.out),
            Dialect::Colyseus { .. } => put_frame(BYTES, &colyseus_input(yaw), &mut self.out),
        }
    }
}

/// Returns the message `input` of the plain protocol.
fn plain_input(yaw: f32) -> Vec<u8> {
    let input = serde_json::json!({
        "type": "input", "forward": 1, "right": 0, "yaw": yaw, "run": false, "jump": false
    });
    rmp_serde::to_vec(&input).expect("an object has an encoding")
}

/// Returns the message `client.send("input", [1, 0, yaw])` as the SDK of Colyseus writes it: the name as a short text of
/// MessagePack, then a list.
fn colyseus_input(yaw: f32) -> Vec<u8> {
    let mut message = vec![colyseus::ROOM_DATA, 0xA5];
    message.extend_from_slice(b"input");
    message.extend_from_slice(&[0x93, 1, 0, 0xCA]);
    message.extend_from_slice(&yaw.to_be_bytes());
    message
}

/// Returns the message that must be sent before the next one arrives.
fn answer_to(dialect: &Dialect, frame: &Frame<'_>) -> Option<&'static [u8]> {
    let is_entry =
        matches!(dialect, Dialect::Colyseus { .. }) && frame.head.first() == Some(&colyseus::JOIN_ROOM);
    is_entry.then_some(&[colyseus::JOIN_ROOM])
}

/// Returns the time of an update's step; `None` if the frame is not an update.
fn stamp_of(dialect: &Dialect, frame: &Frame<'_>) -> Option<u64> {
    match dialect {
        Dialect::Plain { .. } => Some(super::ns_of_tick(tick_of_move(frame)?)),
        Dialect::Colyseus { .. } => match frame.head {
            [colyseus::ROOM_STATE_PATCH, field, time @ ..] if colyseus::FIRST_FIELD.contains(field) => {
                let time = time.get(..8)?.try_into().ok()?;
                Some(f64::from_le_bytes(time) as u64)
            }
            [colyseus::ROOM_STATE, ..] => None,
            _ => None,
        },
    }
}

/// Returns the step of a `move`: a map of three keys, of which the first two are `type` and `tick`.
fn tick_of_move(frame: &Frame<'_>) -> Option<u32> {
    match frame.head.strip_prefix(b"\x83\xa4type\xa4move\xa4tick")? {
        [tick @ 0..=0x7F, ..] | [0xCC, tick, ..] => Some((*tick).into()),
        [0xCD, high, low, ..] => Some(u16::from_be_bytes([*high, *low]).into()),
        [0xCE, tick @ ..] => Some(u32::from_be_bytes(*tick.first_chunk()?)),
        _ => None,
    }
}

/// Requests a seat in a room of Colyseus, and creates the room if needed. Returns the path of its WebSocket.
async fn reserve_seat(address: SocketAddr, room: &str) -> io::Result<String> {
    let mut socket = TcpStream::connect(address).await?;
    let request = format!(
        "POST /matchmake/joinOrCreate/{room} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
    );
    socket.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    socket.take(ANSWER_BYTES_MAX as u64).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let path = path_of_seat(&answer);
    path.ok_or_else(|| io::Error::other(format!("no seat: {}", answer.lines().last().unwrap_or_default())))
}

/// Returns the path in the answer to a request for a seat.
fn path_of_seat(answer: &str) -> Option<String> {
    let seat: serde_json::Value =
        serde_json::from_str(answer.get(answer.find('{')?..=answer.rfind('}')?)?).ok()?;
    let room = seat.get("room").unwrap_or(&seat);
    let text = |of: &serde_json::Value, name: &str| Some(of.get(name)?.as_str()?.to_owned());
    let (process, room_id) = (text(room, "processId")?, text(room, "roomId")?);
    Some(format!("/{process}/{room_id}?sessionId={}", text(&seat, "sessionId")?))
}

/// Reads the answer to the upgrade, and returns the bytes after it.
async fn upgraded(socket: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    loop {
        if let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = answer.split_off(end + 4);
            let head = String::from_utf8_lossy(&answer);
            let status = head.lines().next().unwrap_or_default();
            let is_upgraded = status.split(' ').nth(1) == Some("101");
            return if is_upgraded { Ok(rest) } else { Err(io::Error::other(status.to_owned())) };
        }
        if answer.len() > ANSWER_BYTES_MAX {
            return Err(io::Error::other("the answer to the upgrade has no end"));
        }
        if socket.read_buf(&mut answer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(head: &[u8]) -> Frame<'_> {
        Frame { opcode: Opcode::Data, head, payload_bytes: head.len() as u64 }
    }

    #[test]
    fn the_step_of_an_update_is_read_from_its_head() {
        let plain = Dialect::Plain { path: String::new() };
        assert_eq!(
            stamp_of(&plain, &data(b"\x83\xa4type\xa4move\xa4tick\x78\xa8entities\x90")),
            Some(2_000_000_000)
        );
        assert_eq!(
            stamp_of(&plain, &data(b"\x83\xa4type\xa4move\xa4tick\xcd\x01\x2c\xa8")),
            Some(5_000_000_000)
        );
        assert_eq!(stamp_of(&plain, &data(b"\x82\xa4type\xa4left\xa2id\x07")), None);
        let theirs = Dialect::Colyseus { room: String::new() };
        let mut patch = vec![15, 0];
        patch.extend(1e9_f64.to_le_bytes());
        assert_eq!(stamp_of(&theirs, &data(&patch)), Some(1_000_000_000));
        patch[0] = 14;
        assert_eq!(stamp_of(&theirs, &data(&patch)), None, "a whole state is not an update");
        assert_eq!(stamp_of(&theirs, &data(&[15, 255, 3])), None);
    }

    #[test]
    fn a_room_of_colyseus_needs_an_answer_to_its_join_message() {
        let theirs = Dialect::Colyseus { room: String::new() };
        assert_eq!(answer_to(&theirs, &data(&[10, 9])), Some(&[10][..]));
        assert_eq!(answer_to(&theirs, &data(&[14])), None);
        assert_eq!(answer_to(&Dialect::Plain { path: String::new() }, &data(&[10])), None);
    }

    #[test]
    fn a_seat_is_parsed_from_answers_of_newer_and_older_versions() {
        let newer = "HTTP/1.1 200 OK\r\n\r\n{\"name\":\"load\",\"sessionId\":\"s\",\"roomId\":\"r\",\"processId\":\"p\"}";
        let older = "HTTP/1.1 200 OK\r\n\r\n{\"sessionId\":\"s\",\"room\":{\"roomId\":\"r\",\"processId\":\"p\"}}\r\n";
        for answer in [newer, older] {
            assert_eq!(path_of_seat(answer).as_deref(), Some("/p/r?sessionId=s"));
        }
        assert_eq!(path_of_seat("HTTP/1.1 500\r\n\r\n{\"code\":520}"), None);
    }

    #[test]
    fn an_input_of_the_plain_protocol_is_a_map_of_messagepack() {
        let input: serde_json::Value = rmp_serde::from_slice(&plain_input(0.5)).unwrap();
        assert_eq!((&input["type"], input["yaw"].as_f64()), (&"input".into(), Some(0.5)));
    }

    #[test]
    fn inputs_are_sent_as_a_message_of_the_program() {
        assert_eq!(colyseus_input(1.0), b"\x0d\xa5input\x93\x01\x00\xca\x3f\x80\x00\x00");
    }
}
