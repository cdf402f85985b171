//! One bot on its WebSocket, and its measurements.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use nowcast_wire::shape::Field;
use nowcast_world::{Attributes, DefinitionError};
use nowcast_world_protocol::plain::{
    Action, Any, ClientMessage, Encoding, Entity, Fields, Frame, FrameRef, Kind, ServerMessage,
};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::abilities::{Abilities, ActionOffer, KindOffer};
use super::brain::{Brain, THOUGHTS_HZ};
use super::{Address, Plan};
use crate::report::Samples;

/// Measurements of one bot or of many.
#[derive(Default)]
pub(super) struct Measurements {
    /// Times from the first packet to `welcome`, in milliseconds.
    pub(super) connect_ms: Samples,
    /// Times between two `move` messages, or between two rounds of movement, in milliseconds.
    pub(super) interval_ms: Samples,
    /// Times from `ping` to `pong`, or the round trips that the session measured, in milliseconds.
    pub(super) ping_ms: Samples,
    /// Bytes of received payload.
    pub(super) received_bytes: u64,
    /// Number of messages received.
    pub(super) received: u64,
    /// Number of messages sent.
    pub(super) sent: u64,
    /// Time that bots spent in the world, summed over all bots.
    pub(super) played: Duration,
    /// Reasons of early ends, each with its count.
    pub(super) ends: BTreeMap<String, usize>,
}

impl Measurements {
    pub(super) fn add(&mut self, one: Measurements) {
        self.connect_ms.merge(one.connect_ms);
        self.interval_ms.merge(one.interval_ms);
        self.ping_ms.merge(one.ping_ms);
        self.received_bytes += one.received_bytes;
        self.received += one.received;
        self.sent += one.sent;
        self.played += one.played;
        for (reason, count) in one.ends {
            *self.ends.entry(reason).or_default() += count;
        }
    }

    pub(super) fn joined(&self) -> usize {
        self.connect_ms.len()
    }

    pub(super) fn first_refusal(&self) -> String {
        self.ends.keys().next().cloned().unwrap_or_else(|| "nothing".into())
    }

    pub(super) fn end(&mut self, reason: impl ToString) {
        *self.ends.entry(reason.to_string()).or_default() += 1;
    }
}

type Socket = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

/// Joins, plays until `end`, and leaves.
pub(super) async fn play(
    plan: &Plan,
    encoding: Encoding,
    address: &Address,
    index: usize,
    end: Instant,
) -> Measurements {
    let mut measurements = Measurements::default();
    let url = format!(
        "ws://{}{}?encoding={}&hz={}&name=bot-{index}",
        address.host, address.path, encoding, plan.hz
    );
    let begin = Instant::now();
    let no_delay = true;
    let mut socket = match connect_async_with_config(url, None, no_delay).await {
        Ok((socket, _)) => socket,
        Err(error) => {
            measurements.end(explain(&error));
            return measurements;
        }
    };
    let mut session = Session {
        encoding,
        brain: Brain::new(plan.seed ^ (index as u64 + 1) << 20),
        begin,
        joined: None,
        last_move: None,
        measurements,
    };
    session.run(&mut socket, end).await;
    session.measurements.played = session.joined.map_or(Duration::ZERO, |joined| joined.elapsed());
    // The server's answer to the close no longer affects the measurement.
    let _ = tokio::time::timeout(Duration::from_secs(2), socket.close(None)).await;
    session.measurements
}

struct Session {
    encoding: Encoding,
    brain: Brain,
    begin: Instant,
    joined: Option<Instant>,
    last_move: Option<Instant>,
    measurements: Measurements,
}

impl Session {
    async fn run(&mut self, socket: &mut Socket, end: Instant) {
        let mut thoughts = tokio::time::interval(Duration::from_secs(1) / THOUGHTS_HZ);
        thoughts.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut count = 0u32;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(end) => return,
                message = socket.next() => match message {
                    Some(Ok(message)) => if !self.receive(message) { return },
                    Some(Err(error)) => return self.measurements.end(explain(&error)),
                    None => return self.measurements.end("closed without a reason"),
                },
                _ = thoughts.tick() => {
                    let mut says = self.brain.think();
                    count += 1;
                    if count.is_multiple_of(THOUGHTS_HZ) {
                        says.push(ClientMessage::Ping { time: self.begin.elapsed().as_secs_f64() * 1e3 });
                    }
                    for said in says {
                        if let Err(error) = self.send(socket, &said).await {
                            return self.measurements.end(explain(&error));
                        }
                    }
                }
            }
        }
    }

    async fn send(&mut self, socket: &mut Socket, message: &ClientMessage) -> Result<(), WsError> {
        self.measurements.sent += 1;
        let frame = match message.encode(self.encoding) {
            Frame::Text(text) => Message::text(text),
            Frame::Binary(bytes) => Message::binary(bytes),
        };
        socket.send(frame).await
    }

    /// Handles one message. Returns false if the message ends the connection.
    fn receive(&mut self, message: Message) -> bool {
        let now = Instant::now();
        let decoded = match &message {
            Message::Text(text) => ServerMessage::decode(self.encoding, FrameRef::Text(text)),
            Message::Binary(bytes) => ServerMessage::decode(self.encoding, FrameRef::Binary(bytes)),
            Message::Close(frame) => {
                let reason = frame.as_ref().map_or_else(
                    || "closed without a reason".to_owned(),
                    |frame| format!("{} {}", u16::from(frame.code), frame.reason),
                );
                self.measurements.end(reason);
                return false;
            }
            _ => return true,
        };
        self.measurements.received += 1;
        self.measurements.received_bytes += message.len() as u64;
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(error) => {
                self.measurements.end(format!("the server sent nonsense: {error}"));
                return false;
            }
        };
        match &decoded {
            ServerMessage::Welcome { .. } => {
                self.joined = Some(now);
                self.measurements.connect_ms.push((now - self.begin).as_secs_f64() * 1e3);
            }
            ServerMessage::Move { .. } => {
                if let Some(last) = self.last_move.replace(now) {
                    self.measurements.interval_ms.push((now - last).as_secs_f64() * 1e3);
                }
            }
            ServerMessage::Pong { time } => {
                self.measurements.ping_ms.push((now - self.begin).as_secs_f64() * 1e3 - time);
            }
            _ => {}
        }
        if let Err(error) = self.see(decoded) {
            self.measurements.end(format!("the server sent nonsense: {error}"));
            return false;
        }
        true
    }

    /// Passes a server's message about its world to the bot.
    fn see(&mut self, message: ServerMessage) -> Result<(), DefinitionError> {
        let brain = &mut self.brain;
        match message {
            ServerMessage::Welcome { player, .. } => brain.welcomed(player),
            ServerMessage::Define { kinds, actions, .. } => brain.offered(abilities(kinds, actions)?),
            ServerMessage::Spawn { entities } => {
                for Entity { id, kind, scale, p, attributes, .. } in entities {
                    brain.record_entity(id, &kind, scale.unwrap_or([1.0; 3]), Some(p), &attributes.0);
                }
            }
            ServerMessage::Attributes { id, set: Any(attributes) } => brain.notice(id, &attributes),
            ServerMessage::Despawn { ids } => ids.into_iter().for_each(|id| brain.lose(id)),
            ServerMessage::Player { id, avatar, .. } => brain.moves(id, avatar),
            ServerMessage::Move { entities, .. } => {
                for moved in entities {
                    brain.moved(moved.id, [moved.position_x, moved.position_y, moved.position_z]);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn abilities(kinds: Vec<Kind>, actions: Vec<Action>) -> Result<Abilities, DefinitionError> {
    let kinds = kinds.into_iter().map(|kind| {
        let Kind { name, body: Any(body), walker: Any(walker), attributes, .. } = kind;
        Ok(KindOffer { name, body, walker, attributes: fields(&attributes)? })
    });
    let actions = actions.into_iter().map(|Action { name, arguments, hint: Any(hint), .. }| {
        Ok(ActionOffer { name, arguments: fields(&arguments)?, hint })
    });
    let kinds = kinds.collect::<Result<_, _>>()?;
    Ok(Abilities::new(kinds, &actions.collect::<Result<Vec<_>, _>>()?))
}

/// Converts the names and types of a definition to fields of a shape.
fn fields(told: &Fields) -> Result<Vec<Field>, DefinitionError> {
    let schema: String = told.iter().map(|(name, ty)| format!("{name}: {ty}, ")).collect();
    Ok(Attributes::parse(&schema)?.fields().to_vec())
}

fn explain(error: &WsError) -> String {
    match error {
        WsError::Http(response) => {
            let body = response.body().as_deref().map(String::from_utf8_lossy).unwrap_or_default();
            format!("HTTP {} {}", response.status().as_u16(), body.trim())
        }
        other => other.to_string(),
    }
}
