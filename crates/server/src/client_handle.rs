//! One client as its room sees it.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use nowcast::Entry;
use nowcast::admission::{Claims, Policy};
use nowcast_world::text::sanitize;
use nowcast_world::{
    CHAT_CHARS_MAX, Command as WorldCommand, EntityId, Input, OwnerRequest, PlayerId, Pose, Value, Velocity,
};

use tokio::sync::Notify;

use crate::client_key::ClientKey;
use crate::closing::Closing;
use crate::config::{COMMANDS_MAX, COMMANDS_PER_STEP_MAX};
use crate::names::Name;
use crate::persistence::Known;
use crate::plain::{Any, Encoding, ServerMessage};
use crate::rate::MessageKind;
use crate::rule_report::RuleReport;
use crate::send_queue::SendQueue;
use crate::session::FromWorld;
use crate::session::input_buffer::{BufferedInput, Change, DueStep, InputBuffer};
use crate::session::writer::SessionWriter;
use crate::snapshot::into_message;

/// One client as its room sees it: the client's task writes commands and reads the send queue, the room's thread does the
/// opposite. Nothing else is shared between the two.
pub(crate) struct Player {
    /// The name that it wants; the room decides what becomes of it.
    pub(crate) name: Name,
    pub(crate) way: ClientProtocol,
    /// By what it is known again, if it can be.
    pub(crate) key: Option<ClientKey>,
    /// Where it comes from, if that is known.
    pub(crate) address: Option<IpAddr>,
    /// Whether it hears what becomes of new rules.
    pub(crate) may_edit: bool,
    /// Whether it takes part as a program.
    pub(crate) is_program: bool,
    network_hz: AtomicU32,
    /// The number of its newest controls.
    controls: AtomicU16,
    commands: Mutex<VecDeque<Command>>,
    /// Notified when a full queue of commands has room again.
    commands_taken: Notify,
    input_buffer: Mutex<InputBuffer>,
    /// How long after it was heard of anything is shown at the client, as the client says, in milliseconds.
    view_delay_ms: AtomicU32,
    left: AtomicBool,
    /// Until when its seat waits for it, if it was lost.
    held_until: OnceLock<Instant>,
}

/// How a client is spoken to.
pub(crate) enum ClientProtocol {
    /// The plain protocol.
    Plain(Plain),
    /// A session.
    Session(SessionWriter),
}

/// A client of the plain protocol.
pub(crate) struct Plain {
    pub(crate) encoding: Encoding,
    pub(crate) queue: SendQueue,
}

impl Plain {
    pub(crate) fn new(encoding: Encoding) -> Self {
        Self { encoding, queue: SendQueue::default() }
    }

    fn event(&self, message: &ServerMessage) {
        self.queue.push_event(into_message(message.encode(self.encoding)));
    }
}

/// The role in a token that lets its bearer see the results of reloads, look back and ban.
const EDITOR: &str = "editor";

/// The role in a token that lets its bearer join as a program.
const PROGRAM: &str = "program";

/// The role in a token that lets its bearer see the operator's pages: `/metrics` and `/lab`.
const OPERATOR: &str = "operator";

/// Whether a client may edit the world: with the role in its token, or as a program on this machine where no tokens are needed.
pub(crate) fn may_edit(entry: &Entry, policy: &Policy) -> bool {
    has_role(entry, policy, EDITOR)
}

/// Whether a client may join as a program, by the same rule.
pub(crate) fn may_be_program(entry: &Entry, policy: &Policy) -> bool {
    has_role(entry, policy, PROGRAM)
}

/// Whether a verified token lets its bearer see the operator's pages.
pub(crate) fn is_operator(claims: &Claims) -> bool {
    names_role(claims.role.as_deref(), OPERATOR)
}

fn has_role(entry: &Entry, policy: &Policy, role: &str) -> bool {
    names_role(entry.role.as_deref(), role) || policy.key.is_none() && entry.is_local
}

/// Whether the roles of a token, which are separated by spaces, contain a role.
fn names_role(roles: Option<&str>, role: &str) -> bool {
    roles.unwrap_or_default().split(' ').any(|known| known == role)
}

/// A command of a client.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    /// State: only the newest between two events counts. Controls have numbers on sessions, and 0 elsewhere.
    Input { input: Input, number: u16 },
    /// Does something that the world declares. With a number it happens once, and is answered.
    Act { action: String, arguments: Value, number: Option<Numbered>, given: Given },
    /// Says something to all.
    Say { text: String },
    /// Takes another name.
    Rename { name: String },
    /// Says where an entity of its own is to be. State: only the newest of each entity counts between two events.
    Move { entity: EntityId, pose: Pose, velocity: Option<Velocity> },
    /// Does something else as an owner.
    Owner(OwnerCommand),
}

/// An owner's command, as an event.
#[derive(Debug, PartialEq)]
pub(crate) enum OwnerCommand {
    Own { entity: EntityId, number: u32 },
    Release { entity: EntityId, to: Option<PlayerId> },
    Set { entity: EntityId, attributes: Value },
    Spawn { number: u32, kind: String, pose: Pose, attributes: Value },
    Despawn { entity: EntityId },
}

impl OwnerCommand {
    /// The request, its entity and its number, as an answer to it names them.
    pub(crate) fn request(&self) -> (OwnerRequest, Option<EntityId>, u32) {
        match self {
            Self::Own { entity, number } => (OwnerRequest::Own, Some(*entity), *number),
            Self::Release { entity, .. } => (OwnerRequest::Release, Some(*entity), 0),
            Self::Set { entity, .. } => (OwnerRequest::Set, Some(*entity), 0),
            Self::Spawn { number, .. } => (OwnerRequest::Spawn, None, *number),
            Self::Despawn { entity } => (OwnerRequest::Despawn, Some(*entity), 0),
        }
    }

    /// As the world takes it.
    pub(crate) fn of(self, player: PlayerId) -> WorldCommand {
        match self {
            Self::Own { entity, number } => WorldCommand::Own { player, entity, number },
            Self::Release { entity, to } => WorldCommand::Release { player, entity, to },
            Self::Set { entity, attributes } => WorldCommand::Set { player, entity, attributes },
            Self::Spawn { number, kind, pose, attributes } => {
                WorldCommand::Spawn { player, kind, pose, attributes, number }
            }
            Self::Despawn { entity } => WorldCommand::Despawn { player, entity },
        }
    }
}

/// When an action was given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Given {
    /// When it arrived.
    pub(crate) at: Instant,
    /// The step at which the client was, if it counts steps.
    pub(crate) step: Option<u16>,
    /// The moment of the world that the client showed of others, in steps of the room, if it said so.
    pub(crate) shown: Option<f64>,
    /// How long before it arrived that was what the client saw, as far as the server can tell; `None` where it cannot.
    pub(crate) saw: Option<Duration>,
}

impl Given {
    /// An action of a client of which nothing of this is known.
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), step: None, shown: None, saw: None }
    }
}

/// An action waits for the step at which it was given, but no longer than this. A walker that was waited for is a second behind at most, as a rule.
const ACTION_WAIT_MAX: Duration = Duration::from_millis(1_500);

/// The number of an action that is to happen exactly once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbered {
    pub(crate) number: u32,
    /// Whether it came so soon after others that only an action is confirmed that was done before.
    pub(crate) is_over_rate: bool,
}

impl Command {
    fn is_state(&self) -> bool {
        matches!(self, Self::Input { .. } | Self::Move { .. })
    }

    /// Whether it does anything to the world, unlike controls that nobody touches.
    pub(crate) fn is_felt(&self) -> bool {
        match self {
            Self::Input { input, .. } => input.forward != 0.0 || input.right != 0.0 || input.jump,
            Self::Rename { .. } => false,
            Self::Act { .. } | Self::Say { .. } | Self::Move { .. } | Self::Owner(_) => true,
        }
    }
}

impl Player {
    pub(crate) fn new(
        name: Name,
        way: ClientProtocol,
        network_hz: u32,
        may_edit: bool,
        is_program: bool,
    ) -> Self {
        Self {
            name,
            way,
            key: None,
            address: None,
            may_edit,
            is_program,
            controls: AtomicU16::new(0),
            network_hz: AtomicU32::new(network_hz),
            commands: Mutex::default(),
            commands_taken: Notify::new(),
            input_buffer: Mutex::default(),
            view_delay_ms: AtomicU32::new(0),
            left: AtomicBool::new(false),
            held_until: OnceLock::new(),
        }
    }

    /// The same with what it is known again by.
    pub(crate) fn with_key(self, key: Option<ClientKey>) -> Self {
        Self { key, ..self }
    }

    /// The same with where it comes from.
    pub(crate) fn with_address(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// By what it can be banned.
    pub(crate) fn known(&self) -> Known<'_> {
        let token = match &self.name {
            Name::Verified(name) => Some(name.as_str()),
            Name::Asked(_) => None,
        };
        Known { token, key: self.key, address: self.address }
    }

    /// Waits until the queue has room for a command.
    pub(crate) async fn until_commands_fit(&self) {
        loop {
            let taken = self.commands_taken.notified();
            if self.commands.lock().expect("nobody panics while holding it").len() < COMMANDS_MAX {
                return;
            }
            taken.await;
        }
    }

    /// Queues a command for the next step. Returns false if the queue is full, which [`Self::until_commands_fit`] prevents.
    pub(crate) fn command(&self, command: Command) -> bool {
        let mut commands = self.commands.lock().expect("nobody panics while holding it");
        if let Command::Input { number, .. } = &command {
            self.controls.store(*number, Ordering::Relaxed);
            let states = commands.iter_mut().rev().take_while(|known| known.is_state());
            if let Some(older) = states.into_iter().find(|known| matches!(known, Command::Input { .. })) {
                *older = command;
                return true;
            }
        }
        if let Command::Move { entity, .. } = &command {
            let states = commands.iter_mut().rev().take_while(|known| known.is_state());
            let older = states
                .into_iter()
                .find(|known| matches!(known, Command::Move { entity: moved, .. } if moved == entity));
            if let Some(older) = older {
                *older = command;
                return true;
            }
        }
        // Controls are there at most once between two events, and a client that falls silent must stand still.
        let room = COMMANDS_MAX + usize::from(matches!(command, Command::Input { .. }));
        let fits = commands.len() < room;
        if fits {
            commands.push_back(command);
        }
        fits
    }

    /// Takes the commands for one step, in order, up to the first action that was given at a step which is still to be taken.
    pub(crate) fn take_commands(&self) -> VecDeque<Command> {
        let mut commands = self.commands.lock().expect("nobody panics while holding it");
        let input_buffer = self.input_buffer.lock().expect("nobody panics while holding it");
        let is_early = |command: &Command| match command {
            Command::Act { given: Given { at, step: Some(step), .. }, .. } => {
                input_buffer.is_ahead(*step) && at.elapsed() < ACTION_WAIT_MAX
            }
            _ => false,
        };
        let due = commands.iter().position(is_early).unwrap_or(commands.len()).min(COMMANDS_PER_STEP_MAX);
        let early = commands.split_off(due);
        let due = std::mem::replace(&mut *commands, early);
        if due.len() + commands.len() >= COMMANDS_MAX && commands.len() < COMMANDS_MAX {
            self.commands_taken.notify_one();
        }
        due
    }

    /// It is at this step of its own, and its controls changed so, oldest first.
    pub(crate) fn steps(&self, now: u16, changes: impl Iterator<Item = Change>) -> BufferedInput {
        self.input_buffer.lock().expect("nobody panics while holding it").receive(now, changes)
    }

    /// It does not count its steps any more.
    pub(crate) fn forget_steps(&self) {
        *self.input_buffer.lock().expect("nobody panics while holding it") = InputBuffer::default();
    }

    /// Notes that the world left out this many steps, which the walker makes up for.
    pub(crate) fn leave_out(&self, steps: u32) {
        self.input_buffer.lock().expect("nobody panics while holding it").leave_out(steps);
    }

    /// Returns the walker's act in the next step of the world; `None` if the client counts no steps.
    pub(crate) fn take_turn(&self, may_stride: bool) -> Option<DueStep> {
        self.input_buffer.lock().expect("nobody panics while holding it").take(may_stride)
    }

    pub(crate) fn set_view_delay_ms(&self, delay_ms: u16) {
        self.view_delay_ms.store(delay_ms.into(), Ordering::Relaxed);
    }

    pub(crate) fn view_delay(&self) -> Duration {
        Duration::from_millis(self.view_delay_ms.load(Ordering::Relaxed).into())
    }

    /// Whether it counts its steps.
    pub(crate) fn counts_steps(&self) -> bool {
        self.input_buffer.lock().expect("nobody panics while holding it").counts()
    }

    /// The number of its newest controls, in force or waiting.
    pub(crate) fn controls(&self) -> u16 {
        self.controls.load(Ordering::Relaxed)
    }

    pub(crate) fn set_network_hz(&self, hz: u32) {
        self.network_hz.store(hz, Ordering::Relaxed);
    }

    pub(crate) fn network_hz(&self) -> u32 {
        self.network_hz.load(Ordering::Relaxed)
    }

    /// Ends the client, for this reason.
    pub(crate) fn close(&self, closing: Closing) {
        match &self.way {
            ClientProtocol::Plain(plain) => plain.queue.close(closing),
            ClientProtocol::Session(writer) => writer.close(closing),
        }
    }

    /// Says something to the person behind the client.
    pub(crate) fn notice(&self, text: &str) {
        let text = text.to_owned();
        match &self.way {
            ClientProtocol::Plain(plain) => plain.event(&ServerMessage::Notice { text }),
            ClientProtocol::Session(writer) => writer.event(&FromWorld::Notice { text }),
        }
    }

    /// Tells the client that what it did was not carried out.
    pub(crate) fn refuse(&self, action: &str, reason: &str, number: Option<u32>) {
        let (action, reason) = (action.to_owned(), reason.to_owned());
        match &self.way {
            ClientProtocol::Plain(plain) => plain.event(&ServerMessage::Refused { action, reason, number }),
            ClientProtocol::Session(writer) => writer.event(&FromWorld::Refused { action, reason, number }),
        }
    }

    /// Tells the client that a line of chat of its was not passed on.
    pub(crate) fn refuse_line(&self, text: &str, reason: &str) {
        let (text, reason) = (text.to_owned(), reason.to_owned());
        match &self.way {
            ClientProtocol::Plain(plain) => plain.event(&ServerMessage::Unsaid { text, reason }),
            ClientProtocol::Session(writer) => writer.event(&FromWorld::Unsaid { text, reason }),
        }
    }

    /// Tells the client that a command was dropped because its kind is over the rate.
    pub(crate) fn refuse_command(&self, command: Command, kind: MessageKind) {
        let reason = format!("over the rate ({}): it had no effect", kind.limit());
        match command {
            Command::Act { action, number, .. } => {
                self.refuse(&action, &reason, number.map(|numbered| numbered.number));
            }
            Command::Say { text } => self.refuse_line(&sanitize(&text, CHAT_CHARS_MAX), &reason),
            Command::Rename { .. } => self.notice(&format!("Your name was not changed: {reason}.")),
            Command::Owner(command) => {
                let (request, entity, number) = command.request();
                self.deny(request, entity, number, &reason);
            }
            // States are never dropped.
            Command::Input { .. } | Command::Move { .. } => {}
        }
    }

    /// Tells the client that a numbered action of it is done and kept.
    pub(crate) fn confirm(&self, number: u32) {
        match &self.way {
            ClientProtocol::Plain(plain) => plain.event(&ServerMessage::Done { number }),
            ClientProtocol::Session(writer) => writer.event(&FromWorld::Done { number }),
        }
    }

    /// Tells the client that it owns an entity that it asked for, or made.
    pub(crate) fn grant(&self, entity: EntityId, number: u32) {
        let entity = entity.0;
        match &self.way {
            ClientProtocol::Plain(plain) => plain.event(&ServerMessage::Granted { entity, number }),
            ClientProtocol::Session(writer) => writer.event(&FromWorld::Granted { entity, number }),
        }
    }

    /// Tells the client that what it asked as an owner was not done.
    pub(crate) fn deny(&self, request: OwnerRequest, entity: Option<EntityId>, number: u32, reason: &str) {
        let (request, reason) = (request.word().to_owned(), reason.to_owned());
        let entity = entity.map_or(0, |entity| entity.0);
        match &self.way {
            ClientProtocol::Plain(plain) => {
                plain.event(&ServerMessage::Denied { request, entity, number, reason })
            }
            ClientProtocol::Session(writer) => {
                writer.event(&FromWorld::Denied { request, entity, number, reason })
            }
        }
    }

    /// Tells the client alone something that the rules tell.
    pub(crate) fn tell(&self, name: &str, payload: &Value) {
        let (name, payload) = (name.to_owned(), payload.clone());
        match &self.way {
            ClientProtocol::Plain(plain) => {
                plain.event(&ServerMessage::Event { name, payload: Any(payload) })
            }
            ClientProtocol::Session(writer) => writer.event(&FromWorld::Happened { event: name, payload }),
        }
    }

    /// Tells the client what became of a version of the rules.
    pub(crate) fn report(&self, RuleReport { outcome, version, text }: &RuleReport) {
        let (outcome, version, text) = (*outcome, *version, text.clone());
        match &self.way {
            ClientProtocol::Plain(plain) => {
                plain.event(&ServerMessage::Report { outcome: outcome.into(), version, text });
            }
            ClientProtocol::Session(writer) => writer.event(&FromWorld::Report { outcome, version, text }),
        }
    }

    /// The client of the plain protocol that it is, if it is one.
    pub(crate) fn plain(&self) -> Option<&Plain> {
        match &self.way {
            ClientProtocol::Plain(plain) => Some(plain),
            ClientProtocol::Session(_) => None,
        }
    }

    /// The session's end that it is, if it is one.
    pub(crate) fn session_writer(&self) -> Option<&SessionWriter> {
        match &self.way {
            ClientProtocol::Plain(_) => None,
            ClientProtocol::Session(writer) => Some(writer),
        }
    }

    /// Makes the room that this player is in panic at its next tick.
    #[cfg(test)]
    pub(crate) fn poison(&self) {
        let poisoning = || {
            let _commands = self.commands.lock();
            panic!("poison");
        };
        std::thread::scope(|scope| drop(scope.spawn(poisoning).join()));
    }

    /// Says that the client is gone; its avatar leaves with the next step.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Says that the client is lost; if it can be known again, its avatar stays until then.
    pub(crate) fn lose(&self, until: Instant) {
        // A client ends once.
        let _ = self.held_until.set(until);
        self.leave();
    }

    /// By what a client that is gone is known again, and until when its seat waits for it; nothing, if it does not.
    pub(crate) fn held(&self) -> Option<(ClientKey, Instant)> {
        Some((self.key?, *self.held_until.get()?))
    }

    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facing(yaw: f32) -> Command {
        Command::Input { input: Input { yaw, ..Input::default() }, number: 0 }
    }

    fn given() -> Given {
        static GIVEN: OnceLock<Given> = OnceLock::new();
        *GIVEN.get_or_init(Given::now)
    }

    fn wave() -> Command {
        Command::Act { action: "wave".into(), arguments: Value::Nil, number: None, given: given() }
    }

    fn ada() -> Player {
        Player::new(
            Name::Asked("Ada".into()),
            ClientProtocol::Plain(Plain::new(Encoding::Json)),
            10,
            false,
            false,
        )
    }

    #[test]
    fn inputs_replace_each_other_up_to_the_next_action() {
        let player = ada();
        for yaw in [0.1, 0.2, 0.3] {
            assert!(player.command(facing(yaw)));
        }
        assert!(player.command(wave()));
        for yaw in [0.4, 0.5] {
            assert!(player.command(facing(yaw)));
        }
        assert_eq!(player.take_commands(), [facing(0.3), wave(), facing(0.5)]);
        assert!(player.take_commands().is_empty());
    }

    #[test]
    fn commands_beyond_the_limit_are_refused() {
        let player = ada();
        for _ in 0..COMMANDS_MAX {
            assert!(player.command(wave()));
        }
        assert!(!player.command(wave()));
    }
}
