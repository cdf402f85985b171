//! One client on a session, from the session's beginning to its end.
//!
//! An input takes this way from the packet to the world:
//!
//! 1. The driver of the session (`crates/nowcast/src/driver/`) passes the packet to `Session::handle_packet`, which stores the newest
//!    value of each key. Then the driver calls this client, in the same turn.
//! 2. `Player::turn` takes the message from the session, and `handle` decodes it. `nowcast_world::Input::new` checks its bounds.
//! 3. `CommandIntake` counts the message. A client that sends far too many is closed. Input above the rate is still used, because
//!    newer input replaces older input.
//! 4. Input with step numbers waits in the client's `InputBuffer`, and other input in its `CommandQueue`.
//! 5. The room's thread takes it in its next tick (`take_commands` of `crates/room/src/room/commands.rs`), and `RecordedWorld::apply`
//!    passes it to the world and records it.
//!
//! Later in the turn, `ClientReplicator` puts what the room has published into the session, and the driver fills packets.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use nowcast::session::{CloseCode, Closed, ClosedBy, PacketOutcome};
use nowcast::{Application, DrivenSession, Entry, LaneId, MessageKind as Received, Source};
use nowcast_room::session::{Change, InputBuffer};
use nowcast_room::{
    ClientHandle, ClientKey, Closing, CommandIntake, MessageKind, Name, PlayerCommand, Quiet, Rates,
    SECRET_BYTES, Seat,
};
use nowcast_wire::ReadOwned;
use nowcast_world::{EntityId, Input, InputError};
use nowcast_world_protocol::plain::{DecodeError, NETWORK_HZ, OutOfBounds};
use nowcast_world_protocol::session::{
    CHAT_LANE, CLIENT_MESSAGE, CONTROLS_KEY, Controls, FromWorld, Line, OWNED_KEYS, PROTOCOL, STEPS_KEY,
    STEPS_MAX, Step, Steps, ToWorld, VIEW_DELAY_MS_MAX, VIEW_KEY, View, WORLD_LANE,
};
use tracing::{debug, info};

use super::client_replicator::ClientReplicator;
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

/// One client on a session. The session's driver calls it.
pub(crate) struct SessionClient {
    entry: Arc<Entry>,
    shared: Arc<Shared>,
    stage: Stage,
    /// The message that is being handled.
    bytes: Vec<u8>,
}

/// How far a client has come.
enum Stage {
    /// The session is not open yet.
    Opening,
    /// The client has not sent its `Join` yet.
    Entering(Entering),
    /// The client waits for its seat.
    Admitting(Admission),
    /// The client has a seat.
    Playing(Box<Player>),
    /// The session is closed.
    Over,
}

/// The work that is left after the first events, which waits for the store.
type Admission = Pin<Box<dyn Future<Output = Result<Player, Closing>> + Send>>;

impl SessionClient {
    pub(crate) fn new(shared: Arc<Shared>, entry: Entry) -> Self {
        Self { entry: Arc::new(entry), shared, stage: Stage::Opening, bytes: Vec::new() }
    }

    /// Advances the client as far as possible.
    fn advance(&mut self, session: &mut DrivenSession, context: &mut Context<'_>) -> Result<(), Closing> {
        loop {
            self.stage = match &mut self.stage {
                Stage::Opening if session.is_open() => {
                    Stage::Entering(Entering::new(Instant::now() + self.shared.config.timeouts.handshake))
                }
                Stage::Entering(entering) => {
                    let Some(first) = entering.take_first(session, &mut self.bytes)? else {
                        return entering.check_deadline();
                    };
                    let (entry, shared) = (Arc::clone(&self.entry), Arc::clone(&self.shared));
                    Stage::Admitting(Box::pin(admit(first, entry, session.session_id(), shared)))
                }
                Stage::Admitting(admission) => {
                    let Poll::Ready(player) = admission.as_mut().poll(context) else { return Ok(()) };
                    let player = player?;
                    player.enter(session);
                    Stage::Playing(Box::new(player))
                }
                Stage::Playing(player) => return player.turn(session, context, &mut self.bytes),
                Stage::Opening | Stage::Over => return Ok(()),
            };
        }
    }

    /// Ends the client and its session.
    fn end(&mut self, session: &mut DrivenSession, closing: &Closing) {
        match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Opening | Stage::Over => return,
            Stage::Entering(_) | Stage::Admitting(_) => {}
            Stage::Playing(player) => player.leave(closing, session.since_heard()),
        }
        self.shared
            .metrics
            .close_client(closing.session_code().try_into().unwrap_or(u16::MAX), closing.label());
        let Entry { room, address, .. } = &*self.entry;
        info!(room, ?address, reason = closing.reason(), "session ended");
        session.close(closing.session_code(), &closing.reason());
    }

    fn player(&self) -> Option<&Player> {
        match &self.stage {
            Stage::Playing(player) => Some(player),
            _ => None,
        }
    }

    fn player_mut(&mut self) -> Option<&mut Player> {
        match &mut self.stage {
            Stage::Playing(player) => Some(player),
            _ => None,
        }
    }
}

impl Application for SessionClient {
    fn turn(&mut self, session: &mut DrivenSession, context: &mut Context<'_>) {
        let closing = match (self.advance(session, context), session.closed()) {
            (Err(closing), _) => closing,
            (Ok(()), Some(closed)) => {
                let asked = self.player_mut().and_then(|player| player.asked_to_leave.take());
                // The room's reason says more than its code.
                let is_ours =
                    |asked: &Closing| closed.by == ClosedBy::Us && asked.session_code() == closed.code.0;
                asked.filter(is_ours).unwrap_or_else(|| closing_of(closed))
            }
            (Ok(()), None) => return,
        };
        self.end(session, &closing);
    }

    fn wake_at(&mut self, _session: &mut DrivenSession, _context: &mut Context<'_>) -> Option<Instant> {
        match &self.stage {
            Stage::Entering(entering) => Some(entering.deadline),
            Stage::Playing(player) => Some(player.look_at),
            Stage::Opening | Stage::Admitting(_) | Stage::Over => None,
        }
    }
}

impl Source for SessionClient {
    fn has_more(&self, lane: u8) -> bool {
        self.player().is_some_and(|player| player.replicator.has_more(lane))
    }

    fn fill(&mut self, lane: u8, number: u64, room: usize, packet: &mut Vec<u8>) {
        if let Some(player) = self.player_mut() {
            player.replicator.fill(lane, number, room, packet);
        }
    }

    fn on_outcome(&mut self, outcome: PacketOutcome) {
        if let Some(player) = self.player_mut() {
            player.replicator.on_outcome(outcome);
        }
    }
}

/// A message of a client that arrived before the client has joined.
struct EarlyMessage {
    kind: Received,
    lane: LaneId,
    bytes: Vec<u8>,
}

/// A client that has not sent its `Join` yet. The order of messages is not guaranteed between lanes, or between a state and an
/// event. So other messages wait until the client has joined.
struct Entering {
    /// The public key and the signature of an identity.
    proof: Option<(Vec<u8>, Vec<u8>)>,
    early: Vec<EarlyMessage>,
    deadline: Instant,
}

/// The events with which a client begins.
struct FirstEvents {
    proof: Option<(Vec<u8>, Vec<u8>)>,
    join: Join,
    early: Vec<EarlyMessage>,
}

/// The content of a client's `Join`, or of a `JoinProgram`.
struct Join {
    protocol: u32,
    name: String,
    network_hz: u32,
    key: Vec<u8>,
    is_program: bool,
}

impl Entering {
    fn new(deadline: Instant) -> Self {
        Self { proof: None, early: Vec::new(), deadline }
    }

    fn check_deadline(&self) -> Result<(), Closing> {
        if Instant::now() < self.deadline { Ok(()) } else { Err(Closing::Idle) }
    }

    /// Takes messages until the client's `Join`, which may follow a proof of its identity.
    fn take_first(
        &mut self,
        session: &mut DrivenSession,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<FirstEvents>, Closing> {
        while let Some(received) = session.receive_into(bytes) {
            if received.kind != Received::Event || received.lane.number() != WORLD_LANE {
                self.keep(EarlyMessage {
                    kind: received.kind,
                    lane: received.lane,
                    bytes: mem::take(bytes),
                })?;
                continue;
            }
            let join = match read(bytes) {
                Ok(ToWorld::Identify { key, signature }) if self.proof.is_none() => {
                    self.proof = Some((key, signature));
                    continue;
                }
                Ok(ToWorld::Join { protocol, name, network_hz, key }) => {
                    Join { protocol, name, network_hz, key, is_program: false }
                }
                Ok(ToWorld::JoinProgram { protocol, name, network_hz, key }) => {
                    Join { protocol, name, network_hz, key, is_program: true }
                }
                _ => {
                    let what = "this is a world, and the first event is not its Join (spec/WORLD.md)";
                    return Err(malformed(what));
                }
            };
            self.take_waiting(session);
            let (proof, early) = (self.proof.take(), mem::take(&mut self.early));
            return Ok(Some(FirstEvents { proof, join, early }));
        }
        Ok(None)
    }

    /// Takes the messages that wait behind the `Join`. Those of other lanes may have arrived before it.
    fn take_waiting(&mut self, session: &mut DrivenSession) {
        while self.early.len() < EARLY_MESSAGES_MAX {
            let mut bytes = Vec::new();
            let Some(received) = session.receive_into(&mut bytes) else { return };
            self.early.push(EarlyMessage { kind: received.kind, lane: received.lane, bytes });
        }
    }

    /// Keeps a message until the client has joined.
    fn keep(&mut self, message: EarlyMessage) -> Result<(), Closing> {
        match (message.kind, message.lane.number()) {
            (Received::State { key: CONTROLS_KEY | STEPS_KEY | VIEW_KEY }, WORLD_LANE) => {
                self.early.retain(|kept| kept.kind != message.kind || kept.lane != message.lane);
            }
            (Received::Event, CHAT_LANE) => {}
            _ => return Err(malformed("nothing is expected on this lane or key")),
        }
        if self.early.len() >= EARLY_MESSAGES_MAX {
            return Err(malformed("too many messages before Join"));
        }
        self.early.push(message);
        Ok(())
    }
}

/// Checks the client's `Join`, and reserves its seat.
async fn admit(
    first: FirstEvents,
    entry: Arc<Entry>,
    session_id: Option<[u8; 8]>,
    shared: Arc<Shared>,
) -> Result<Player, Closing> {
    let FirstEvents { proof, join, early } = first;
    let Join { protocol, name, network_hz, key, is_program } = join;
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
    if is_program && !may_be_program(&entry, &shared.config.entry) {
        return Err(Closing::NoProgram);
    }
    let by_key = proof.map(|(key, signature)| account::of_key(&key, &signature, session_id)).transpose()?;
    let address = entry.address.map(|address| address.ip());
    let seat = shared.rooms.reserve(&entry.room, opener_of(&entry, is_program)).map_err(|refusal| {
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
    let (sink, replicator) = SessionSink::new(network_hz, &shared.metrics.rooms);
    let sink = Arc::new(sink);
    let may_edit = may_edit(&entry, &shared.config.entry);
    let handle = ClientHandle::new(name, Arc::<SessionSink>::clone(&sink), network_hz, may_edit, is_program);
    let handle = handle.with_roles(roles_of(&entry, &shared.config.entry)).with_account(account);
    let (rates, are_new) = shared.rooms.rates_of(key);
    let handle = Arc::new(handle.with_key(key).with_address(address).with_rates(rates));
    Ok(Player {
        seat,
        intake: CommandIntake::new(Arc::clone(&handle), Arc::clone(&shared.metrics.rooms)),
        handle,
        sink,
        replicator,
        watchdog: InputWatchdog::default(),
        quiet: Quiet::default(),
        look_at: Instant::now(),
        early,
        is_returning: !are_new,
        asked_to_leave: None,
        shared,
    })
}

/// A client with a seat.
struct Player {
    seat: Seat,
    handle: Arc<ClientHandle>,
    sink: Arc<SessionSink>,
    replicator: ClientReplicator,
    intake: CommandIntake,
    watchdog: InputWatchdog,
    quiet: Quiet,
    /// The time of the next check whether messages of the client arrive.
    look_at: Instant,
    /// The messages that arrived before the client had its seat.
    early: Vec<EarlyMessage>,
    /// Whether the client has allowances from an earlier connection.
    is_returning: bool,
    /// The reason for which the room ends the session after its last messages.
    asked_to_leave: Option<Closing>,
    shared: Arc<Shared>,
}

impl Player {
    /// Enters the room.
    fn enter(&self, session: &DrivenSession) {
        self.sink.figures.note_session(session);
        self.seat.enter(Arc::clone(&self.handle));
        debug!(room = self.seat.room(), "session joined");
    }

    /// Handles the messages that arrived before the client had its seat.
    fn receive_early(&mut self, session: &DrivenSession) -> Result<(), Closing> {
        let rates = Arc::clone(&self.handle.rates);
        let mut waited = Rates::of_waiting(self.shared.config.limits.actions_hz, Instant::now());
        // A client that has just reconnected does not get the allowance of waiting messages again.
        let mut known = self.is_returning.then(|| rates.lock());
        for EarlyMessage { kind, lane, bytes } in mem::take(&mut self.early) {
            self.handle(session, (kind, lane), &bytes, known.as_deref_mut().unwrap_or(&mut waited))?;
        }
        Ok(())
    }

    /// Handles the client's messages, and puts what the room has published into the session.
    fn turn(
        &mut self,
        session: &mut DrivenSession,
        context: &mut Context<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Closing> {
        if !self.early.is_empty() {
            self.receive_early(session)?;
        }
        self.receive(session, context, bytes)?;
        let now = Instant::now();
        let is_due = now >= self.look_at;
        if is_due {
            self.look_at = now + LOOK;
            self.note_silence(session);
            self.check_input_timeout(session);
        }
        if is_due || self.sink.figures.take_request() {
            self.sink.figures.note_session(session);
        }
        if session.closed().is_none()
            && let Some(closing) = self.replicator.turn(session, context.waker())?
        {
            session.close_after_delivery(closing.session_code(), &closing.reason());
            self.asked_to_leave.get_or_insert(closing);
        }
        Ok(())
    }

    /// Handles the messages that have arrived. While the room has not taken enough of the earlier commands, messages stay in the
    /// session, whose window then stops the client.
    fn receive(
        &mut self,
        session: &mut DrivenSession,
        context: &mut Context<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Closing> {
        if !session.is_readable() {
            return Ok(());
        }
        if self.quiet.lasts() {
            self.note_silence(session);
        }
        let rates = Arc::clone(&self.handle.rates);
        let mut rates = rates.lock();
        while self.handle.poll_commands_fit(context).is_ready() {
            let Some(received) = session.receive_into(bytes) else { break };
            self.handle(session, (received.kind, received.lane), bytes, &mut rates)?;
        }
        Ok(())
    }

    /// Leaves the room.
    fn leave(self: Box<Self>, closing: &Closing, since_heard: Duration) {
        if closing.holds_seat() {
            let patience = self.shared.config.timeouts.seat_held;
            self.handle.lose(Instant::now() + patience.saturating_sub(since_heard));
        }
    }

    fn note_silence(&mut self, session: &DrivenSession) {
        self.quiet.note(session.since_heard(), Instant::now(), &mut self.handle.rates.lock());
    }

    /// Handles one message: decodes it, checks its bounds, and submits its command.
    fn handle(
        &mut self,
        session: &DrivenSession,
        (kind, lane): (Received, LaneId),
        message: &[u8],
        rates: &mut Rates,
    ) -> Result<(), Closing> {
        self.shared.metrics.messages_received.inc();
        let command = match (kind, lane.number()) {
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
                event => PlayerCommand::of_session(event, self.view_age(session))?,
            },
            _ => return Err(malformed("nothing is expected on this lane or key")),
        };
        self.intake.submit(command, rates)
    }

    /// Returns the age of the client's view, if the server can measure it.
    fn view_age(&self, session: &DrivenSession) -> Option<Duration> {
        session.gauges().round_trip.map(|round_trip| round_trip + self.handle.view_delay())
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
    fn steer(&mut self, message: &[u8], rates: &mut Rates) -> Result<(), Closing> {
        let Controls { number, forward, right, yaw, run, jump } = read(message)?;
        let input = Input::new(forward, right, yaw, run, jump).map_err(out_of_bounds)?;
        *self.handle.input() = InputBuffer::default();
        self.watchdog.steer(input);
        self.intake.submit(PlayerCommand::Input { input, number }, rates)
    }

    /// Applies the input of a client that counts its steps. Each change takes effect at its step.
    fn steer_by_steps(&mut self, message: &[u8], rates: &mut Rates) -> Result<(), Closing> {
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
    fn view(&self, message: &[u8], rates: &mut Rates) -> Result<(), Closing> {
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
    fn check_input_timeout(&mut self, session: &DrivenSession) {
        if self.handle.input().counts() {
            // The walker of a client that counts steps waits for the steps, and then stands still.
            return;
        }
        let patience = SILENCE_MAX + session.gauges().round_trip.unwrap_or_default();
        let is_heard = !session.is_interrupted() && session.silence() < patience;
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

/// A client whose code panicked leaves, too.
impl Drop for Player {
    fn drop(&mut self) {
        self.handle.leave();
    }
}

fn read<T: ReadOwned>(message: &[u8]) -> Result<T, Closing> {
    nowcast_wire::decode_with(message, &CLIENT_MESSAGE)
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

/// Returns the reason why a session ended that this client did not end.
fn closing_of(closed: &Closed) -> Closing {
    match closed {
        Closed { code: CloseCode::DONE, by: ClosedBy::Peer, .. } => Closing::Bye,
        Closed { code: CloseCode::GOING_AWAY, .. } => Closing::ShuttingDown,
        Closed { code, reason, by: ClosedBy::Us } if code.0 < 64 && *code != CloseCode::GAVE_UP => {
            Closing::Protocol(reason.clone())
        }
        _ => Closing::Vanished,
    }
}
