//! One client, from the end of the handshake to the end of the connection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use nowcast::admission::Verdict;
use nowcast_world::{EntityId, Input, PlayerId, Pose, Velocity};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tracing::{debug, info};

use crate::client_handle::{Command, Given, Numbered, OwnerCommand, Plain, Player};
use crate::closing::Closing;
use crate::config::{MESSAGE_BYTES_MAX, Timeouts, WRITE_BATCH_BYTES};
use crate::connection::{Connection, Unfinished};
use crate::metrics::Metrics;
use crate::plain::{ClientMessage, DecodeError, FrameRef, ServerMessage};
use crate::rate::{MessageKind, Quiet, Rates};
use crate::rooms::Seat;
use crate::send_queue::Outgoing;
use crate::snapshot::{Snapshot, into_message};

/// The code of a client's close frame that says it comes back at once.
const COMES_BACK: u16 = 3_000;

/// A client that is joined to a room.
pub(crate) struct Client {
    pub(crate) seat: Seat,
    pub(crate) player: Arc<Player>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) timeouts: Timeouts,
    /// When the newest message of the client arrived. Never held over an await.
    pub(crate) heard_at: Mutex<Instant>,
}

type Socket = WebSocketStream<Connection>;

impl Client {
    /// Lives until the connection ends. `received` are the bytes that came with the handshake's last packet.
    pub(crate) async fn run(self, mut connection: Connection, received: Vec<u8>) {
        let address = connection.peer().address;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX))
            .read_buffer_size(MESSAGE_BYTES_MAX)
            .write_buffer_size(WRITE_BATCH_BYTES);
        let unfinished = connection.expect_messages();
        let socket =
            WebSocketStream::from_partially_read(connection, received, Role::Server, Some(config)).await;
        let (mut sink, mut stream) = socket.split();
        self.seat.enter(Arc::clone(&self.player));
        debug!(room = self.seat.room(), %address, encoding = %self.plain().encoding, "client joined");

        let closing = tokio::select! {
            closing = self.listen(&mut stream, &unfinished) => closing,
            closing = self.tell(&mut sink) => closing,
        };
        if closing.holds_seat() {
            self.player.lose(self.heard() + self.timeouts.seat_held);
        } else {
            self.player.leave();
        }
        self.metrics.close_client(closing.code(), closing.label());
        info!(room = self.seat.room(), %address, code = closing.code(), reason = closing.reason(), "client left");

        let socket = sink.reunite(stream).expect("both are halves of one socket");
        close(socket, &closing, self.timeouts.closing).await;
    }

    fn plain(&self) -> &Plain {
        self.player.plain().expect("a WebSocket of the plain protocol makes such a player")
    }

    fn heard(&self) -> Instant {
        *self.heard_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_heard(&self, now: Instant) {
        *self.heard_at.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Handles the client's messages until the connection ends. Returns why it ended.
    async fn listen(&self, stream: &mut SplitStream<Socket>, unfinished: &Unfinished) -> Closing {
        let mut rates = Rates::new(Instant::now());
        let mut quiet = Quiet::default();
        loop {
            // Until then what follows stays in the socket, whose window holds the client back.
            self.player.until_commands_fit().await;
            let message = match timeout(self.timeouts.idle, stream.next()).await {
                Err(_) => return Closing::Idle,
                Ok(None) => return Closing::Bye,
                Ok(Some(Err(_))) if unfinished.is_too_much() => return Closing::Endless,
                Ok(Some(Err(error))) => return error.into(),
                Ok(Some(Ok(message))) => message,
            };
            unfinished.reset();
            let now = Instant::now();
            quiet.note(now - self.heard(), now, &mut rates);
            self.note_heard(now);
            quiet.note(Duration::ZERO, now, &mut rates);
            let handled = match &message {
                Message::Text(text) => self.handle(FrameRef::Text(text.as_str()), &mut rates),
                Message::Binary(bytes) => self.handle(FrameRef::Binary(bytes), &mut rates),
                Message::Ping(_) | Message::Pong(_) => self.admit(MessageKind::Ping, &mut rates).map(|_| ()),
                Message::Close(Some(frame)) if u16::from(frame.code) == COMES_BACK => Err(Closing::Vanished),
                Message::Close(_) => Err(Closing::Bye),
                Message::Frame(_) => unreachable!("reading never returns a raw frame"),
            };
            if let Err(closing) = handled {
                return closing;
            }
        }
    }

    /// Handles one message: decodes it, checks its bounds and its rate, and passes it on to the room.
    fn handle(&self, frame: FrameRef<'_>, rates: &mut Rates) -> Result<(), Closing> {
        self.metrics.messages_received.inc();
        let message = ClientMessage::decode(self.plain().encoding, frame).map_err(Closing::Malformed)?;
        message.check().map_err(Closing::OutOfBounds)?;
        let is_numbered = matches!(message, ClientMessage::Act { number: Some(_), .. });
        if is_numbered && self.player.key.is_none() {
            let what = "an action with a number, and no key in the address";
            return Err(Closing::Malformed(DecodeError::Syntax(what.into())));
        }
        let kind = MessageKind::of(&message);
        let is_over_rate = !self.admit(kind, rates)?;
        // The newest controls and poses always count: a lost last one would leave the avatar running forever. Only the room knows
        // whether a numbered action was done before.
        let is_state = matches!(message, ClientMessage::Input(_) | ClientMessage::Move { .. });
        match message {
            ClientMessage::Rate { .. } | ClientMessage::Ping { .. } if is_over_rate => {}
            ClientMessage::Rate { hz } => {
                self.player.set_network_hz(hz);
                self.answer(&ServerMessage::Rate { hz });
            }
            ClientMessage::Ping { time } => self.answer(&ServerMessage::Pong { time }),
            message => {
                let command = command_of(message, is_over_rate).expect("all others are for the world");
                if is_over_rate && !is_state && !is_numbered {
                    self.player.refuse_command(command, kind);
                } else if !self.player.command(command) {
                    self.metrics.drop_message("backlog");
                }
            }
        }
        Ok(())
    }

    /// Returns whether a message is within its rate. A message that is not is counted.
    fn admit(&self, kind: MessageKind, rates: &mut Rates) -> Result<bool, Closing> {
        match rates.judge(kind, Instant::now()) {
            Verdict::Pass => Ok(true),
            Verdict::Drop if matches!(kind, MessageKind::Input | MessageKind::Move) => Ok(false),
            Verdict::Drop => {
                self.metrics.drop_message("rate");
                Ok(false)
            }
            Verdict::Close => Err(Closing::TooMany(kind.limit())),
        }
    }

    fn answer(&self, message: &ServerMessage) {
        self.plain().queue.push_event(into_message(message.encode(self.plain().encoding)));
    }

    /// Sends the waiting messages. Each is chosen at the moment the kernel would send it at once (a flush of this
    /// connection waits for that), so that a slow client receives the newest state and no backlog.
    async fn tell(&self, sink: &mut SplitSink<Socket, Message>) -> Closing {
        let mut known: Option<Arc<Snapshot>> = None;
        let mut pinged = Instant::now();
        loop {
            let mut next = timeout(self.timeouts.ping, self.plain().queue.next()).await.ok();
            let mut batch_bytes = 0;
            while let Some(outgoing) = next {
                let messages = match outgoing {
                    Outgoing::Close(closing) => return closing,
                    outgoing => self.phrase(outgoing, &mut known),
                };
                for message in messages {
                    batch_bytes += message.len();
                    self.metrics.messages_sent.inc();
                    if let Err(error) = sink.feed(message).await {
                        return error.into();
                    }
                }
                next = if batch_bytes < WRITE_BATCH_BYTES { self.plain().queue.take() } else { None };
            }
            if pinged.elapsed() >= self.timeouts.ping {
                pinged = Instant::now();
                if let Err(error) = sink.feed(Message::Ping(Bytes::new())).await {
                    return error.into();
                }
            }
            match timeout(self.timeouts.stalled, sink.flush()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return error.into(),
                Err(_) => return Closing::TooSlow,
            }
        }
    }

    /// Puts into messages what the client is to be told, given the snapshot it knows.
    fn phrase(&self, outgoing: Outgoing, known: &mut Option<Arc<Snapshot>>) -> Vec<Message> {
        match outgoing {
            Outgoing::Close(_) => Vec::new(),
            Outgoing::Event(message) => vec![message],
            Outgoing::Missed(lines) => {
                vec![into_message(ServerMessage::Missed { lines }.encode(self.plain().encoding))]
            }
            Outgoing::Greeting(greeting) => {
                *known = Some(greeting.baseline);
                greeting.messages
            }
            Outgoing::Snapshot(snapshot) => {
                let baseline = known.as_ref().expect("a room greets before it tells of movement");
                let message = snapshot.since(baseline, self.plain().encoding, &self.metrics);
                *known = Some(snapshot);
                vec![message]
            }
        }
    }
}

/// Returns the command of a validated message; `None` for a message that is no command.
fn command_of(message: ClientMessage, is_over_rate: bool) -> Option<Command> {
    Some(match message {
        ClientMessage::Input(input) => {
            let input = Input {
                forward: input.forward as f32,
                right: input.right as f32,
                // Reduced while it still has all its digits.
                yaw: input.yaw.rem_euclid(std::f64::consts::TAU) as f32,
                run: input.run,
                jump: input.jump,
            };
            Command::Input { input, number: 0 }
        }
        ClientMessage::Act { action, arguments, number } => {
            let number = number.map(|number| Numbered { number, is_over_rate });
            Command::Act { action, arguments: arguments.0, number, given: Given::now() }
        }
        ClientMessage::Chat { text } => Command::Say { text },
        ClientMessage::Name { name } => Command::Rename { name },
        ClientMessage::Own { entity, number } => {
            Command::Owner(OwnerCommand::Own { entity: EntityId(entity), number })
        }
        ClientMessage::Release { entity, to } => {
            Command::Owner(OwnerCommand::Release { entity: EntityId(entity), to: to.map(PlayerId) })
        }
        ClientMessage::Move { entity, position, rotation, velocity, spin } => {
            let narrow = |parts: Option<[f64; 3]>| parts.unwrap_or_default().map(|part| part as f32);
            let moves = velocity.is_some() || spin.is_some();
            let velocity = moves.then(|| Velocity { linear: narrow(velocity), angular: narrow(spin) });
            Command::Move { entity: EntityId(entity), pose: pose_of(position, rotation), velocity }
        }
        ClientMessage::Set { entity, attributes } => {
            Command::Owner(OwnerCommand::Set { entity: EntityId(entity), attributes: attributes.0 })
        }
        ClientMessage::Spawn { number, kind, position, rotation, attributes } => {
            let (pose, attributes) = (pose_of(position, rotation), attributes.0);
            Command::Owner(OwnerCommand::Spawn { number, kind, pose, attributes })
        }
        ClientMessage::Despawn { entity } => {
            Command::Owner(OwnerCommand::Despawn { entity: EntityId(entity) })
        }
        ClientMessage::Rate { .. } | ClientMessage::Ping { .. } => return None,
    })
}

/// A pose that was held against its bounds before.
fn pose_of(position: [f64; 3], rotation: [f64; 4]) -> Pose {
    let length = rotation.iter().map(|part| part * part).sum::<f64>().sqrt();
    Pose { position: position.map(|part| part as f32), rotation: rotation.map(|part| (part / length) as f32) }
}

/// Tells the client why, and waits for it to have read that.
async fn close(mut socket: Socket, closing: &Closing, patience: Duration) {
    socket.get_mut().expect_end();
    let told = match closing.frame() {
        Some(frame) => timeout(patience, socket.close(Some(frame))).await.is_ok_and(|result| result.is_ok()),
        // The library has answered the client's close frame, or there is nobody to tell.
        None => timeout(patience, socket.flush()).await.is_ok(),
    };
    let connection = socket.into_inner();
    if told {
        connection.linger(patience).await;
    } else {
        connection.abort();
    }
}
