//! One client on a session, from the session's beginning to its end.

use std::sync::Arc;
use std::time::Instant;

use nowcast::admission::Verdict;
use nowcast::session::{CloseCode, Closed, ClosedBy};
use nowcast::{Channel, Error, Key, Message, MessageKind as Received, Phase, StatusChanges};
use nowcast_wire::{ReadOwned, Value};
use nowcast_world::limits::NAME_BYTES_MAX as WORD_BYTES_MAX;
use nowcast_world::{EntityId, PlayerId, Pose};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{debug, info};

use super::input_buffer::Change;
use super::input_watchdog::{InputWatchdog, LOOK, SILENCE_MAX};
use super::messages::{STEPS_MAX, VIEW_DELAY_MS_MAX};
use super::writer::SessionWriter;
use super::{
    CHAT_LANE, CONTROLS_KEY, Controls, FromWorld, Line, OWNED_KEYS, Owned, PROTOCOL, Place, STEPS_KEY, Steps,
    ToWorld, VIEW_KEY, View, WORLD_LANE,
};
use crate::client_handle::{
    ClientProtocol, Command, Given, Numbered, OwnerCommand, Player, may_be_program, may_edit,
};
use crate::client_key::{ClientKey, SECRET_BYTES};
use crate::closing::{Closing, REFUSED_ACTIONS};
use crate::names::Name;
use crate::persistence::hold_token;
use crate::plain::{DecodeError, NETWORK_HZ, OutOfBounds};
use crate::rate::{MessageKind, Quiet, Rates};
use crate::rooms::{Opener, Seat};
use crate::shared::Shared;

/// The longest name that is looked at; the world shortens it to 24 characters.
const NAME_BYTES_MAX: usize = 512;

/// Messages that may come before the first event of a client.
const EARLY_MESSAGES_MAX: usize = 16;

/// Takes in a channel that was opened to a room.
pub(crate) async fn receive(channel: Channel, shared: Arc<Shared>) {
    let channel = Arc::new(channel);
    let closing = match enter(&channel, &shared).await {
        Ok((seat, player, early)) => {
            let session = ClientSession {
                channel: Arc::clone(&channel),
                seat,
                player,
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

/// Messages of a client before its `Join`. Lanes overtake one another, and input is a state, which may arrive before
/// the event; all of it waits.
#[derive(Default)]
struct Early(Vec<Message>);

impl Early {
    /// Keeps a message until the client has joined.
    fn keep(&mut self, message: Message) -> Result<(), Closing> {
        match (message.kind, message.lane.number()) {
            (Received::State { key: CONTROLS_KEY | STEPS_KEY | VIEW_KEY }, WORLD_LANE) => {
                self.0.retain(|kept| kept.kind != message.kind || kept.lane != message.lane);
            }
            (Received::Event, CHAT_LANE) => {}
            _ => return Err(malformed("nothing is expected on this lane or key")),
        }
        if self.0.len() >= EARLY_MESSAGES_MAX {
            return Err(malformed("too many messages before Join"));
        }
        self.0.push(message);
        Ok(())
    }
}

/// Waits for the first event, which says who the client is.
async fn first_event(channel: &Channel) -> Result<(Message, Early), Closing> {
    let mut early = Early::default();
    loop {
        let message = channel.receive().await.map_err(closed)?;
        if message.kind == Received::Event && message.lane.number() == WORLD_LANE {
            return Ok((message, early));
        }
        early.keep(message)?;
    }
}

/// Waits for the client to say who it is, and reserves its seat.
async fn enter(channel: &Arc<Channel>, shared: &Arc<Shared>) -> Result<(Seat, Arc<Player>, Early), Closing> {
    let first = timeout(shared.config.timeouts.handshake, first_event(channel)).await;
    let (message, early) = first.map_err(|_| Closing::Idle)??;
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
    let address = entry.address.map(|address| address.ip());
    let seat = shared.rooms.reserve(&entry.room, Opener::of(entry)).map_err(|refusal| {
        shared.metrics.refuse(refusal.label());
        Closing::Refused(refusal)
    })?;
    // A name in a token is the operator's word, the other one the client's.
    let name = entry.name.clone().map_or(Name::Asked(name), Name::Verified);
    let key = secret.map(|secret| ClientKey::of(&secret, &name, is_program));
    if let Some(token) = &entry.single_use {
        // Nobody is welcomed before it is kept: a kill right afterwards would make the token good for anybody once more.
        hold_token(token, key).map_err(|_| Closing::TokenUsed)?.wait().await;
    }
    let writer = SessionWriter::new(Arc::clone(channel), network_hz, &shared.metrics);
    let may_edit = may_edit(entry, &shared.config.entry);
    let player = Player::new(name, ClientProtocol::Session(writer), network_hz, may_edit, is_program);
    Ok((seat, Arc::new(player.with_key(key).with_address(address)), early))
}

/// A client with a seat.
struct ClientSession {
    channel: Arc<Channel>,
    seat: Seat,
    player: Arc<Player>,
    watchdog: InputWatchdog,
    quiet: Quiet,
    shared: Arc<Shared>,
}

impl ClientSession {
    /// Handles the client's messages until its session ends. Returns why it ended.
    async fn stay(mut self, early: Early) -> Closing {
        self.seat.enter(Arc::clone(&self.player));
        debug!(room = self.seat.room(), "session joined");
        let mut rates = Rates::new(Instant::now());
        let mut changes = self.channel.status_changes();
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut waited = Rates::of_waiting(Instant::now());
        let mut handled = early.0.iter().try_for_each(|message| self.handle(message, &mut waited));
        let closing = loop {
            if let Err(closing) = handled {
                break closing;
            }
            handled = tokio::select! {
                received = self.receive() => match received {
                    Ok(message) => {
                        if self.quiet.lasts() {
                            self.note_silence(&mut rates);
                        }
                        self.handle(&message, &mut rates)
                    }
                    Err(error) => Err(closed(error)),
                },
                _ = look.tick() => {
                    self.note_silence(&mut rates);
                    self.check_input_timeout(&mut changes);
                    Ok(())
                }
            };
        };
        if closing.holds_seat() {
            let patience = self.shared.config.timeouts.seat_held;
            self.player.lose(Instant::now() + patience.saturating_sub(self.channel.time_since_heard()));
        } else {
            self.player.leave();
        }
        closing
    }

    /// The next message. It stays in the channel, whose window holds the client back, while the room has not taken the
    /// commands before it.
    async fn receive(&self) -> Result<Message, Error> {
        self.player.until_commands_fit().await;
        self.channel.receive().await
    }

    fn note_silence(&mut self, rates: &mut Rates) {
        self.quiet.note(self.channel.time_since_heard(), Instant::now(), rates);
    }

    /// Handles one message: decodes it, checks its bounds and its rate, and passes it on to the room.
    fn handle(&mut self, message: &Message, rates: &mut Rates) -> Result<(), Closing> {
        self.shared.metrics.messages_received.inc();
        let (kind, command) = match (message.kind, message.lane.number()) {
            (Received::State { key: CONTROLS_KEY }, WORLD_LANE) => return self.steer(message, rates),
            (Received::State { key: STEPS_KEY }, WORLD_LANE) => return self.steer_by_steps(message, rates),
            (Received::State { key: VIEW_KEY }, WORLD_LANE) => return self.view(message, rates),
            (Received::State { key }, WORLD_LANE) => return self.move_owned(key, message, rates),
            (Received::Event, CHAT_LANE) => {
                (MessageKind::Chat, Command::Say { text: read::<Line>(message)?.text })
            }
            (Received::Event, WORLD_LANE) => match read::<ToWorld>(message)? {
                ToWorld::Forget => return self.forget(rates),
                ToWorld::Rate { network_hz } => return self.set_rate(network_hz, rates),
                ToWorld::Join { .. } | ToWorld::JoinProgram { .. } => {
                    return Err(malformed("a second Join"));
                }
                ToWorld::Own { entity, number } => {
                    let entity = EntityId(entity);
                    (MessageKind::Own, Command::Owner(OwnerCommand::Own { entity, number }))
                }
                ToWorld::Release { entity, to } => {
                    let (entity, to) = (EntityId(entity), to.map(PlayerId));
                    (MessageKind::Own, Command::Owner(OwnerCommand::Release { entity, to }))
                }
                ToWorld::Set { entity, attributes } => {
                    let entity = EntityId(entity);
                    (MessageKind::Set, Command::Owner(OwnerCommand::Set { entity, attributes }))
                }
                ToWorld::Spawn { kind, .. } if kind.len() > WORD_BYTES_MAX => {
                    return Err(malformed("a kind's name is too long"));
                }
                ToWorld::Spawn { number, kind, place: Place { position, rotation }, attributes } => {
                    let pose = Pose { position, rotation }.checked();
                    let pose = pose.ok_or(Closing::OutOfBounds(no_number("place")))?;
                    let spawn = OwnerCommand::Spawn { number, kind, pose, attributes };
                    (MessageKind::Own, Command::Owner(spawn))
                }
                ToWorld::Despawn { entity } => {
                    let entity = EntityId(entity);
                    (MessageKind::Own, Command::Owner(OwnerCommand::Despawn { entity }))
                }
                ToWorld::Rename { name } => (MessageKind::Name, Command::Rename { name }),
                ToWorld::Act { action, .. } if action.len() > WORD_BYTES_MAX => {
                    return Err(malformed("an action's name is too long"));
                }
                ToWorld::Act { shown: Some(shown), .. } if !shown.is_finite() => {
                    return Err(Closing::OutOfBounds(no_number("shown")));
                }
                ToWorld::Act { action, arguments, number, step, shown } => {
                    let rtt = self.channel.status().rtt;
                    let saw = rtt.map(|rtt| rtt + self.player.view_delay());
                    let given = Given { at: Instant::now(), step, shown, saw };
                    return self.act(action, arguments, number, given, rates);
                }
            },
            _ => return Err(malformed("nothing is expected on this lane or key")),
        };
        if self.admit(kind, rates)? {
            self.command(command);
        } else {
            self.player.refuse_command(command, kind);
        }
        Ok(())
    }

    /// Passes an action on to the room. A numbered action is answered even if it is over the rate.
    fn act(
        &self,
        action: String,
        arguments: Value,
        number: Option<u32>,
        given: Given,
        rates: &mut Rates,
    ) -> Result<(), Closing> {
        if number == Some(0) || (number.is_some() && self.player.key.is_none()) {
            return Err(malformed("an action with the number 0, or with a number and no key in Join"));
        }
        let is_over_rate = !self.admit(MessageKind::Action, rates)?;
        let command = Command::Act {
            action,
            arguments,
            number: number.map(|number| Numbered { number, is_over_rate }),
            given,
        };
        if is_over_rate && number.is_none() {
            self.player.refuse_command(command, MessageKind::Action);
        } else {
            // Only the room knows whether a numbered action was done before.
            self.command(command);
        }
        Ok(())
    }

    fn set_rate(&self, network_hz: u32, rates: &mut Rates) -> Result<(), Closing> {
        if !NETWORK_HZ.contains(&network_hz) {
            return Err(Closing::OutOfBounds(rate_out_of_bounds(network_hz)));
        }
        if self.admit(MessageKind::Rate, rates)? {
            self.player.set_network_hz(network_hz);
            if let ClientProtocol::Session(writer) = &self.player.way {
                writer.event(&FromWorld::Rate { network_hz });
            }
        }
        Ok(())
    }

    /// Controls are state: only the newest counts, and a lost last one would leave the avatar running forever.
    fn steer(&mut self, message: &Message, rates: &mut Rates) -> Result<(), Closing> {
        let controls: Controls = read(message)?;
        let input = controls.to_input().map_err(|error| Closing::OutOfBounds(OutOfBounds::from(error)))?;
        self.admit(MessageKind::Input, rates)?;
        self.player.forget_steps();
        self.watchdog.steer(input);
        self.command(Command::Input { input, number: controls.number });
        Ok(())
    }

    /// The same of a client that counts its steps: each change takes the place in time that it had there.
    fn steer_by_steps(&mut self, message: &Message, rates: &mut Rates) -> Result<(), Closing> {
        let Steps { number, steps } = read(message)?;
        if steps.is_empty() || steps.len() > STEPS_MAX {
            return Err(malformed("steps are 1 to 64 changes of the controls"));
        }
        let mut changes = Vec::with_capacity(steps.len());
        for step in steps.iter().rev() {
            let input = step.to_input().map_err(|error| Closing::OutOfBounds(OutOfBounds::from(error)))?;
            changes.push(Change { step: number.wrapping_sub(step.ago), input });
        }
        self.admit(MessageKind::Input, rates)?;
        let heard = self.player.steps(number, changes.into_iter());
        if heard.is_late {
            self.shared.metrics.drop_message("late_steps");
        }
        if heard.is_elsewhere {
            self.shared.metrics.drop_message("steps_elsewhere");
        }
        Ok(())
    }

    /// How old what the client shows is, beside what the network takes.
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
        self.admit(MessageKind::Rate, rates)?;
        self.player.set_view_delay_ms(delay_ms);
        Ok(())
    }

    /// Where an owner wants its entity to be is state as well.
    fn move_owned(&self, key: Key, message: &Message, rates: &mut Rates) -> Result<(), Closing> {
        let id = key.raw().checked_sub(OWNED_KEYS).and_then(|id| u32::try_from(id).ok());
        let entity = id.map(EntityId).ok_or_else(|| malformed("nothing is expected on this lane or key"))?;
        let owned: Owned = read(message)?;
        let (pose, velocity) = owned.checked().ok_or(Closing::OutOfBounds(no_number("pose or velocity")))?;
        self.admit(MessageKind::Move, rates)?;
        self.command(Command::Move { entity, pose, velocity });
        Ok(())
    }

    /// The controls of a client that is gone, or cut off, hold no longer.
    fn check_input_timeout(&mut self, changes: &mut StatusChanges) {
        if self.player.counts_steps() {
            // Its walker waits for it, and then stands, by what it says of its steps.
            return;
        }
        let is_interrupted = matches!(changes.now(), (Phase::Interrupted, _));
        let silence = self.channel.silence();
        let is_heard = !is_interrupted
            && (silence < SILENCE_MAX
                || silence < SILENCE_MAX + self.channel.status().rtt.unwrap_or_default());
        if let Some(input) = self.watchdog.hear(is_heard) {
            let number = self.player.controls();
            self.command(Command::Input { input, number });
        }
    }

    fn forget(&self, rates: &mut Rates) -> Result<(), Closing> {
        if self.admit(MessageKind::Rate, rates)?
            && let ClientProtocol::Session(writer) = &self.player.way
        {
            writer.forget();
        }
        Ok(())
    }

    /// Queues a command for the room.
    fn command(&self, command: Command) {
        if !self.player.command(command) {
            self.shared.metrics.drop_message("backlog");
        }
    }

    /// Returns whether a message is within its rate. A message that is not is counted.
    fn admit(&self, kind: MessageKind, rates: &mut Rates) -> Result<bool, Closing> {
        match rates.judge(kind, Instant::now()) {
            Verdict::Pass => Ok(true),
            Verdict::Drop => {
                self.shared.metrics.drop_message("rate");
                Ok(false)
            }
            Verdict::Close => Err(Closing::TooMany(kind.limit())),
        }
    }
}

fn read<T: ReadOwned>(message: &Message) -> Result<T, Closing> {
    nowcast_wire::decode(&message.bytes)
        .map_err(|error| malformed(&format!("not a message of a world (spec/WORLD.md): {error}")))
}

fn rate_out_of_bounds(network_hz: u32) -> OutOfBounds {
    let (low, high) = (f64::from(*NETWORK_HZ.start()), f64::from(*NETWORK_HZ.end()));
    OutOfBounds::Range { field: "network_hz", value: network_hz.into(), low, high }
}

/// A place that no world has, or a velocity.
fn no_number(field: &'static str) -> OutOfBounds {
    OutOfBounds::NotFinite { field, value: f64::NAN }
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

/// Why the room closed a session, by the code that the client was told.
fn closed_by_room(code: CloseCode, reason: String) -> Closing {
    let known = [
        Closing::TooSlow,
        Closing::TooMany(REFUSED_ACTIONS),
        Closing::Replaced,
        Closing::RoomGone,
        Closing::Banned(reason.clone()),
        Closing::Kicked(reason.clone()),
        Closing::Protocol(reason),
    ];
    known.into_iter().find(|closing| closing.session_code() == code.0).unwrap_or(Closing::Vanished)
}
