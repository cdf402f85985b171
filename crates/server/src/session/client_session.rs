//! One client on a session, from the session's beginning to its end.
//!
//! An input takes this way from the packet to the world:
//!
//! 1. The driver of the session (`crates/nowcast/src/driver/`) passes the packet to `Session::handle_packet`, which stores the newest
//!    value of each key. It wakes this client's job before it sends anything.
//! 2. `stay` takes the message from the channel, and `handle` decodes it. `nowcast_world::Input::new` checks its bounds.
//! 3. `CommandIntake` counts the message. A client that sends far too many is closed. Input above the rate is still used, because
//!    newer input replaces older input.
//! 4. Input with step numbers waits in the client's `InputBuffer`, and other input in its `CommandQueue`.
//! 5. The room's thread takes it in its next tick (`take_commands` of `crates/room/src/room/commands.rs`), and `RecordedWorld::apply`
//!    passes it to the world and records it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nowcast::session::{CloseCode, Closed, ClosedBy};
use nowcast::{Channel, Error, Message, MessageKind as Received, Phase, Status};
use nowcast_room::session::{Change, InputBuffer};
use nowcast_room::{
    ClientHandle, ClientKey, Closing, CommandIntake, MessageKind, Name, PlayerCommand, Quiet,
    REFUSED_ACTIONS, Rates, SECRET_BYTES, Seat,
};
use nowcast_wire::ReadOwned;
use nowcast_world::{EntityId, Input, InputError};
use nowcast_world_protocol::plain::{DecodeError, NETWORK_HZ, OutOfBounds};
use nowcast_world_protocol::session::{
    CHAT_LANE, CLIENT_MESSAGE, CONTROLS_KEY, Controls, FromWorld, Line, OWNED_KEYS, PROTOCOL, STEPS_KEY,
    STEPS_MAX, Step, Steps, ToWorld, VIEW_DELAY_MS_MAX, VIEW_KEY, View, WORLD_LANE,
};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{debug, info};

use super::input_watchdog::{InputWatchdog, LOOK, SILENCE_MAX};
use super::session_sink::SessionSink;
use crate::account;
use crate::entrance::{may_be_program, may_edit, opener_of, roles_of};
use crate::shared::Shared;
use crate::used_tokens::hold_token;

/// Maximum size of a name in bytes. The world shortens the name to 24 characters.
const NAME_BYTES_MAX: usize = 512;

/// Maximum messages that may arrive before the first event of a client.
const EARLY_MESSAGES_MAX: usize = 16;

/// Serves a channel that was opened to a room.
pub(crate) async fn receive(channel: Arc<Channel>, shared: Arc<Shared>) {
    let closing = match enter(&channel, &shared).await {
        Ok(Joined { seat, handle, sink, early }) => {
            let session = ClientSession {
                channel: Arc::clone(&channel),
                seat,
                intake: CommandIntake::new(Arc::clone(&handle), Arc::clone(&shared.metrics.rooms)),
                handle,
                sink,
                watchdog: InputWatchdog::default(),
                quiet: Quiet::default(),
                shared: Arc::clone(&shared),
            };
            session.stay(early).await
        }
        Err(closing) => closing,
    };
    shared.metrics.close_client(closing.session_code().try_into().unwrap_or(u16::MAX), closing.label());
    let entry = channel.entry();
    info!(room = entry.room, address = ?entry.address, reason = closing.reason(), "session ended");
    channel.close(closing.session_code(), &closing.reason());
}

/// Messages of a client that arrived before its `Join`. The order is not guaranteed between lanes, or between a state and an
/// event. So these messages wait until the client has joined.
#[derive(Default)]
struct Early {
    messages: Vec<Message>,
    /// Whether the client has allowances from an earlier connection.
    is_returning: bool,
}

impl Early {
    /// Takes the messages that wait behind the first event. Those of other lanes may have arrived before it.
    fn take_waiting(&mut self, channel: &Channel) {
        // The end of a channel is returned again after the join.
        while self.messages.len() < EARLY_MESSAGES_MAX
            && let Ok(Some(message)) = channel.try_receive()
        {
            self.messages.push(message);
        }
    }

    /// Keeps a message until the client has joined.
    fn keep(&mut self, message: Message) -> Result<(), Closing> {
        match (message.kind, message.lane.number()) {
            (Received::State { key: CONTROLS_KEY | STEPS_KEY | VIEW_KEY }, WORLD_LANE) => {
                self.messages.retain(|kept| kept.kind != message.kind || kept.lane != message.lane);
            }
            (Received::Event, CHAT_LANE) => {}
            _ => return Err(malformed("nothing is expected on this lane or key")),
        }
        if self.messages.len() >= EARLY_MESSAGES_MAX {
            return Err(malformed("too many messages before Join"));
        }
        self.messages.push(message);
        Ok(())
    }
}

/// Waits for the next event of the lane of the world. Other messages wait in `early`.
async fn next_event(channel: &Channel, early: &mut Early) -> Result<Message, Closing> {
    loop {
        let message = channel.receive().await.map_err(closed)?;
        if message.kind == Received::Event && message.lane.number() == WORLD_LANE {
            return Ok(message);
        }
        early.keep(message)?;
    }
}

/// The events with which a client begins.
struct FirstEvents {
    /// The public key and the signature of an identity.
    proof: Option<(Vec<u8>, Vec<u8>)>,
    join: Message,
    early: Early,
}

/// Waits for the client's `Join`, which may follow a proof of its identity.
async fn first_events(channel: &Channel) -> Result<FirstEvents, Closing> {
    let mut early = Early::default();
    let first = next_event(channel, &mut early).await?;
    let (proof, join) = match read(&first) {
        Ok(ToWorld::Identify { key, signature }) => {
            (Some((key, signature)), next_event(channel, &mut early).await?)
        }
        _ => (None, first),
    };
    early.take_waiting(channel);
    Ok(FirstEvents { proof, join, early })
}

/// A client that has a seat, and its messages that arrived before its first event.
struct Joined {
    seat: Seat,
    handle: Arc<ClientHandle>,
    sink: Arc<SessionSink>,
    early: Early,
}

/// Waits for the client's `Join`, and reserves its seat.
async fn enter(channel: &Arc<Channel>, shared: &Arc<Shared>) -> Result<Joined, Closing> {
    let first = timeout(shared.config.timeouts.handshake, first_events(channel)).await;
    let FirstEvents { proof, join: message, mut early } = first.map_err(|_| Closing::Idle)??;
    let (protocol, name, network_hz, key, is_program) = match read(&message) {
        Ok(ToWorld::Join { protocol, name, network_hz, key }) => (protocol, name, network_hz, key, false),
        Ok(ToWorld::JoinProgram { protocol, name, network_hz, key }) => {
            (protocol, name, network_hz, key, true)
        }
        _ => return Err(malformed("this is a world, and the first event is not its Join (spec/WORLD.md)")),
    };
    if protocol != PROTOCOL {
        return Err(Closing::Version(protocol));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(malformed("the name is too long"));
    }
    let secret: Option<[u8; SECRET_BYTES]> = match key.len() {
        0 => None,
        _ => Some(key.try_into().map_err(|_| malformed("the key has neither 16 bytes nor none"))?),
    };
    let network_hz = if network_hz == 0 { shared.config.network_hz } else { network_hz };
    if !NETWORK_HZ.contains(&network_hz) {
        return Err(Closing::OutOfBounds(rate_out_of_bounds(network_hz)));
    }
    let entry = channel.entry();
    if is_program && !may_be_program(entry, &shared.config.entry) {
        return Err(Closing::NoProgram);
    }
    let by_key =
        proof.map(|(key, signature)| account::of_key(&key, &signature, channel.session_id())).transpose();
    let by_key = by_key?;
    let address = entry.address.map(|address| address.ip());
    let seat = shared.rooms.reserve(&entry.room, opener_of(entry)).map_err(|refusal| {
        shared.metrics.refuse(refusal.label());
        Closing::Refused(refusal)
    })?;
    // The operator assigns a name in a token. The client chooses any other name.
    let name = entry.name.clone().map_or(Name::Asked(name), Name::Verified);
    let key = secret.map(|secret| ClientKey::of(&secret, &name, is_program));
    if let Some(token) = &entry.single_use {
        // No client is welcomed before the use of its token is stored. Otherwise the token could be used again if the
        // process were killed right afterwards.
        hold_token(token, key).map_err(|_| Closing::TokenUsed)?.wait().await;
    }
    // Viewers of history are not players.
    let account = entry.name.as_deref().map(account::of_token).or(by_key).filter(|_| seat.shows_present());
    let account = match account {
        Some(account) => Some(account::join(&seat, &account).await?),
        None => None,
    };
    let sink = Arc::new(SessionSink::new(Arc::clone(channel), network_hz, &shared.metrics.rooms));
    let may_edit = may_edit(entry, &shared.config.entry);
    let handle = ClientHandle::new(name, Arc::<SessionSink>::clone(&sink), network_hz, may_edit, is_program);
    let handle = handle.with_roles(roles_of(entry, &shared.config.entry)).with_account(account);
    let (rates, are_new) = shared.rooms.rates_of(key);
    early.is_returning = !are_new;
    let handle = handle.with_key(key).with_address(address).with_rates(rates);
    Ok(Joined { seat, handle: Arc::new(handle), sink, early })
}

/// A client with a seat.
struct ClientSession {
    channel: Arc<Channel>,
    seat: Seat,
    handle: Arc<ClientHandle>,
    sink: Arc<SessionSink>,
    intake: CommandIntake,
    watchdog: InputWatchdog,
    quiet: Quiet,
    shared: Arc<Shared>,
}

impl ClientSession {
    /// Handles the client's messages until its session ends. Returns why it ended.
    async fn stay(mut self, early: Early) -> Closing {
        self.seat.enter(Arc::clone(&self.handle));
        debug!(room = self.seat.room(), "session joined");
        let rates = Arc::clone(&self.handle.rates);
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut waited = Rates::of_waiting(self.shared.config.limits.actions_hz, Instant::now());
        // A client that has just reconnected does not get the allowance of waiting messages again.
        let mut handled = early.messages.iter().try_for_each(|message| match early.is_returning {
            true => self.handle(message, &mut rates.lock()),
            false => self.handle(message, &mut waited),
        });
        let closing = loop {
            if let Err(closing) = handled {
                break closing;
            }
            handled = tokio::select! {
                received = self.receive() => match received {
                    Ok(message) => {
                        if self.quiet.lasts() {
                            self.note_silence(&mut rates.lock());
                        }
                        self.handle(&message, &mut rates.lock())
                    }
                    Err(error) => Err(closed(error)),
                },
                _ = look.tick() => {
                    self.note_silence(&mut rates.lock());
                    self.check_input_timeout();
                    Ok(())
                }
            };
        };
        if closing.holds_seat() {
            let patience = self.shared.config.timeouts.seat_held;
            self.handle.lose(Instant::now() + patience.saturating_sub(self.channel.status().since_heard));
        } else {
            self.handle.leave();
        }
        closing
    }

    /// Receives the next message. While the room has not taken enough of the earlier commands, messages stay in the channel,
    /// whose window then stops the client.
    async fn receive(&self) -> Result<Message, Error> {
        self.handle.until_commands_fit().await;
        self.channel.receive().await
    }

    fn note_silence(&mut self, rates: &mut Rates) {
        self.quiet.note(self.channel.status().since_heard, Instant::now(), rates);
    }

    /// Handles one message: decodes it, checks its bounds, and submits its command.
    fn handle(&mut self, message: &Message, rates: &mut Rates) -> Result<(), Closing> {
        self.shared.metrics.messages_received.inc();
        let command = match (message.kind, message.lane.number()) {
            (Received::State { key: CONTROLS_KEY }, WORLD_LANE) => return self.steer(message, rates),
            (Received::State { key: STEPS_KEY }, WORLD_LANE) => return self.steer_by_steps(message, rates),
            (Received::State { key: VIEW_KEY }, WORLD_LANE) => return self.view(message, rates),
            (Received::State { key }, WORLD_LANE) => {
                let id = key.raw().checked_sub(OWNED_KEYS).and_then(|id| u32::try_from(id).ok());
                let entity = id.ok_or_else(|| malformed("nothing is expected on this lane or key"))?;
                PlayerCommand::of_owned(EntityId(entity), read(message)?)?
            }
            (Received::Event, CHAT_LANE) => PlayerCommand::Say { text: read::<Line>(message)?.text },
            (Received::Event, WORLD_LANE) => match read::<ToWorld>(message)? {
                ToWorld::Forget => return self.forget(rates),
                ToWorld::Rate { network_hz } => return self.set_rate(network_hz, rates),
                event => PlayerCommand::of_session(event, self.view_age())?,
            },
            _ => return Err(malformed("nothing is expected on this lane or key")),
        };
        self.intake.submit(command, rates)
    }

    /// Returns the age of the client's view, if the server can measure it.
    fn view_age(&self) -> Option<Duration> {
        self.channel.status().rtt.map(|rtt| rtt + self.handle.view_delay())
    }

    fn set_rate(&self, network_hz: u32, rates: &mut Rates) -> Result<(), Closing> {
        if !NETWORK_HZ.contains(&network_hz) {
            return Err(Closing::OutOfBounds(rate_out_of_bounds(network_hz)));
        }
        if self.intake.admit(MessageKind::Rate, rates)? {
            self.handle.set_network_hz(network_hz);
            self.sink.event(&FromWorld::Rate { network_hz });
        }
        Ok(())
    }

    /// Applies the controls of a client that counts no steps.
    fn steer(&mut self, message: &Message, rates: &mut Rates) -> Result<(), Closing> {
        let Controls { number, forward, right, yaw, run, jump } = read(message)?;
        let input = Input::new(forward, right, yaw, run, jump).map_err(out_of_bounds)?;
        *self.handle.input() = InputBuffer::default();
        self.watchdog.steer(input);
        self.intake.submit(PlayerCommand::Input { input, number }, rates)
    }

    /// Applies the input of a client that counts its steps. Each change takes effect at its step.
    fn steer_by_steps(&mut self, message: &Message, rates: &mut Rates) -> Result<(), Closing> {
        let Steps { number, steps } = read(message)?;
        if steps.is_empty() || steps.len() > STEPS_MAX {
            return Err(malformed("steps are 1 to 64 changes of the controls"));
        }
        let mut changes = Vec::with_capacity(steps.len());
        for &Step { ago, forward, right, yaw, run, jump } in steps.iter().rev() {
            let input = Input::new(forward, right, yaw, run, jump).map_err(out_of_bounds)?;
            changes.push(Change { step: number.wrapping_sub(ago), input });
        }
        self.intake.admit(MessageKind::Input, rates)?;
        let heard = self.handle.input().receive(number, changes.into_iter());
        if heard.is_late {
            self.shared.metrics.rooms.drop_message("late_steps");
        }
        if heard.is_elsewhere {
            self.shared.metrics.rooms.drop_message("steps_elsewhere");
        }
        Ok(())
    }

    /// Records the client's view delay: the age of the state that the client shows, without the time on the network.
    fn view(&self, message: &Message, rates: &mut Rates) -> Result<(), Closing> {
        let View { delay_ms } = read(message)?;
        if delay_ms > VIEW_DELAY_MS_MAX {
            let (value, high) = (delay_ms.into(), VIEW_DELAY_MS_MAX.into());
            return Err(Closing::OutOfBounds(OutOfBounds::Range {
                field: "delay_ms",
                value,
                low: 0.0,
                high,
            }));
        }
        self.intake.admit(MessageKind::Rate, rates)?;
        self.handle.set_view_delay_ms(delay_ms);
        Ok(())
    }

    /// Stops the avatar of a client that left or whose connection is interrupted.
    fn check_input_timeout(&mut self) {
        if self.handle.input().counts() {
            // The walker of a client that counts steps waits for the steps, and then stands still.
            return;
        }
        let Status { phase, silence, rtt, .. } = self.channel.status();
        let is_heard = phase != Phase::Interrupted && silence < SILENCE_MAX + rtt.unwrap_or_default();
        if let Some(input) = self.watchdog.hear(is_heard) {
            let number = self.handle.controls();
            self.intake.queue(PlayerCommand::Input { input, number });
        }
    }

    fn forget(&self, rates: &mut Rates) -> Result<(), Closing> {
        if self.intake.admit(MessageKind::Rate, rates)? {
            self.sink.forget();
        }
        Ok(())
    }
}

fn read<T: ReadOwned>(message: &Message) -> Result<T, Closing> {
    nowcast_wire::decode_with(&message.bytes, &CLIENT_MESSAGE)
        .map_err(|error| malformed(&format!("not a message of a world (spec/WORLD.md): {error}")))
}

fn out_of_bounds(error: InputError) -> Closing {
    Closing::OutOfBounds(OutOfBounds::from(error))
}

fn rate_out_of_bounds(network_hz: u32) -> OutOfBounds {
    let (low, high) = (f64::from(*NETWORK_HZ.start()), f64::from(*NETWORK_HZ.end()));
    OutOfBounds::Range { field: "network_hz", value: network_hz.into(), low, high }
}

fn malformed(what: &str) -> Closing {
    Closing::Malformed(DecodeError::Syntax(what.to_owned()))
}

/// Returns the reason why a channel ended.
fn closed(error: Error) -> Closing {
    match error {
        Error::Closed(Closed { code: CloseCode::DONE, by: ClosedBy::Peer, .. }) => Closing::Bye,
        Error::Closed(Closed { code: CloseCode::GOING_AWAY, .. }) => Closing::ShuttingDown,
        Error::Closed(Closed { code, reason, by: ClosedBy::Us })
            if code.0 < 64 && code != CloseCode::GAVE_UP =>
        {
            Closing::Protocol(reason)
        }
        Error::Closed(Closed { code, reason, by: ClosedBy::Us }) => closed_by_room(code, reason),
        _ => Closing::Vanished,
    }
}

/// Returns the reason for which the room closed a session, from the code that was sent.
fn closed_by_room(code: CloseCode, reason: String) -> Closing {
    let known = [
        Closing::TooSlow,
        Closing::TooMany(REFUSED_ACTIONS.into()),
        Closing::Replaced,
        Closing::RoomGone,
        Closing::Banned(reason.clone()),
        Closing::Kicked(reason.clone()),
        Closing::Protocol(reason),
    ];
    known.into_iter().find(|closing| closing.session_code() == code.0).unwrap_or(Closing::Vanished)
}
