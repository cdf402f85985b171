//! One client of the plain protocol, from the end of the handshake to the end of the connection.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use nowcast_room::plain::{Outgoing, PlainSink, SharedFrame, Snapshot};
use nowcast_room::{ClientHandle, Closing, CommandIntake, MessageKind, PlayerCommand, Quiet, Rates, Seat};
use nowcast_world_protocol::plain::{ClientMessage, FrameRef, ServerMessage};
use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};
use tracing::{debug, info};

use crate::closing;
use crate::config::{MESSAGE_BYTES_MAX, Timeouts, WRITE_BATCH_BYTES};
use crate::connection::{Connection, Unfinished};
use crate::metrics::Metrics;

/// The code of a client's close frame by which the client says that it will reconnect at once.
const COMES_BACK: u16 = 3_000;

/// A client that joined a room.
pub(crate) struct Client {
    pub(crate) seat: Seat,
    pub(crate) handle: Arc<ClientHandle>,
    pub(crate) sink: Arc<PlainSink>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) timeouts: Timeouts,
    /// The time at which the client's newest message arrived. The lock is never held across an `await`.
    pub(crate) received_at: Mutex<Instant>,
}

type Socket = WebSocketStream<Connection>;

impl Client {
    /// Runs the client until the connection ends. `received` has the bytes that arrived together with the handshake.
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
        self.seat.enter(Arc::clone(&self.handle));
        debug!(room = self.seat.room(), %address, encoding = %self.sink.encoding, "client joined");

        let closing = tokio::select! {
            closing = self.listen(&mut stream, &unfinished) => closing,
            closing = self.send_waiting(&mut sink) => closing,
        };
        if closing.holds_seat() {
            self.handle.lose(self.received() + self.timeouts.seat_held);
        } else {
            self.handle.leave();
        }
        self.metrics.close_client(closing.code(), closing.label());
        info!(room = self.seat.room(), %address, code = closing.code(), reason = closing.reason(), "client left");

        let socket = sink.reunite(stream).expect("both are halves of one socket");
        close(socket, &closing, self.timeouts.closing).await;
    }

    fn received(&self) -> Instant {
        *self.received_at.lock()
    }

    fn record_received(&self, now: Instant) {
        *self.received_at.lock() = now;
    }

    /// Handles the client's messages until the connection ends. Returns why it ended.
    async fn listen(&self, stream: &mut SplitStream<Socket>, unfinished: &Unfinished) -> Closing {
        let intake = CommandIntake::new(Arc::clone(&self.handle), Arc::clone(&self.metrics.rooms));
        let rates = &self.handle.rates;
        let mut quiet = Quiet::default();
        loop {
            // Until the queue has space, further messages stay in the socket, so TCP flow control slows the client.
            poll_fn(|context| self.handle.poll_commands_fit(context)).await;
            let message = match timeout(self.timeouts.idle, stream.next()).await {
                Err(_) => return Closing::Idle,
                Ok(None) => return Closing::Bye,
                Ok(Some(Err(_))) if unfinished.is_too_much() => return Closing::Endless,
                Ok(Some(Err(error))) => return closing::of_error(error),
                Ok(Some(Ok(message))) => message,
            };
            unfinished.reset();
            let now = Instant::now();
            quiet.note(now - self.received(), now, &mut rates.lock());
            self.record_received(now);
            quiet.note(Duration::ZERO, now, &mut rates.lock());
            let handled = match &message {
                Message::Text(text) => self.handle(FrameRef::Text(text.as_str()), &intake, &mut rates.lock()),
                Message::Binary(bytes) => self.handle(FrameRef::Binary(bytes), &intake, &mut rates.lock()),
                Message::Ping(_) | Message::Pong(_) => {
                    intake.admit(MessageKind::Ping, &mut rates.lock()).map(|_| ())
                }
                Message::Close(Some(frame)) if u16::from(frame.code) == COMES_BACK => Err(Closing::Vanished),
                Message::Close(_) => Err(Closing::Bye),
                Message::Frame(_) => unreachable!("reading never returns a raw frame"),
            };
            if let Err(closing) = handled {
                return closing;
            }
        }
    }

    /// Handles one message: decodes it, checks its bounds, and submits its command.
    fn handle(&self, frame: FrameRef<'_>, intake: &CommandIntake, rates: &mut Rates) -> Result<(), Closing> {
        self.metrics.messages_received.inc();
        let message = ClientMessage::decode(self.sink.encoding, frame).map_err(Closing::Malformed)?;
        message.check().map_err(Closing::OutOfBounds)?;
        match message {
            ClientMessage::Rate { hz } => {
                if intake.admit(MessageKind::Rate, rates)? {
                    self.handle.set_network_hz(hz);
                    self.sink.push(&ServerMessage::Rate { hz });
                }
            }
            ClientMessage::Ping { time } => {
                if intake.admit(MessageKind::Ping, rates)? {
                    self.sink.push(&ServerMessage::Pong { time });
                }
            }
            message => {
                let command = PlayerCommand::of_plain(message).expect("all other messages are commands");
                intake.submit(command, rates)?;
            }
        }
        Ok(())
    }

    /// Sends the waiting messages. A flush of this connection waits until the kernel can send further bytes at once, and
    /// only then the next message is chosen. A slow client therefore receives the newest state instead of a backlog.
    async fn send_waiting(&self, socket: &mut SplitSink<Socket, Message>) -> Closing {
        let mut known: Option<Arc<Snapshot>> = None;
        let mut pinged = Instant::now();
        loop {
            let mut next = timeout(self.timeouts.ping, self.sink.queue.next()).await.ok();
            let mut batch_bytes = 0;
            while let Some(outgoing) = next {
                let messages = match outgoing {
                    Outgoing::Close(closing) => return closing,
                    outgoing => self.phrase(outgoing, &mut known),
                };
                for message in messages {
                    batch_bytes += message.len();
                    self.metrics.messages_sent.inc();
                    if let Err(error) = socket.feed(into_message(message)).await {
                        return closing::of_error(error);
                    }
                }
                next = if batch_bytes < WRITE_BATCH_BYTES { self.sink.queue.take() } else { None };
            }
            if pinged.elapsed() >= self.timeouts.ping {
                pinged = Instant::now();
                if let Err(error) = socket.feed(Message::Ping(Bytes::new())).await {
                    return closing::of_error(error);
                }
            }
            match timeout(self.timeouts.stalled, socket.flush()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return closing::of_error(error),
                Err(_) => return Closing::TooSlow,
            }
        }
    }

    /// Encodes the next message, relative to the snapshot that the client has.
    fn phrase(&self, outgoing: Outgoing, known: &mut Option<Arc<Snapshot>>) -> Vec<SharedFrame> {
        match outgoing {
            Outgoing::Close(_) => Vec::new(),
            Outgoing::Event(message) => vec![message],
            Outgoing::Missed(lines) => {
                vec![ServerMessage::Missed { lines }.encode(self.sink.encoding).into()]
            }
            Outgoing::Greeting(greeting) => {
                *known = Some(greeting.baseline);
                greeting.messages
            }
            Outgoing::Snapshot(snapshot) => {
                let baseline = known.as_ref().expect("a room greets before it publishes poses");
                let message = snapshot.since(baseline, self.sink.encoding, &self.metrics.rooms);
                *known = Some(snapshot);
                vec![message]
            }
        }
    }
}

/// Converts a message to the type of the WebSocket library. The bytes stay shared.
fn into_message(frame: SharedFrame) -> Message {
    match frame {
        SharedFrame::Text(text) => Message::Text(Utf8Bytes::try_from(text).expect("a text frame is UTF-8")),
        SharedFrame::Binary(bytes) => Message::Binary(bytes),
    }
}

/// Sends the client the reason, and waits until the client has read it.
async fn close(mut socket: Socket, closing: &Closing, patience: Duration) {
    socket.get_mut().expect_end();
    let is_sent = match closing::frame(closing) {
        Some(frame) => timeout(patience, socket.close(Some(frame))).await.is_ok_and(|result| result.is_ok()),
        // The library has answered the client's close frame, or the connection is broken.
        None => timeout(patience, socket.flush()).await.is_ok(),
    };
    let connection = socket.into_inner();
    if is_sent {
        connection.linger(patience).await;
    } else {
        connection.abort();
    }
}
