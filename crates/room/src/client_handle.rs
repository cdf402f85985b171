//! The handle of one client, shared by its task and its room.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use nowcast_world::text::sanitize;
use nowcast_world::{CHAT_CHARS_MAX, EntityId, OwnerRequest, SavedData, Value};
use parking_lot::Mutex;

use crate::accounts::HeldAccount;
use crate::client_key::ClientKey;
use crate::client_sink::{ClientEvent, ClientSink};
use crate::closing::Closing;
use crate::command_queue::{CommandReceiver, CommandSender, command_queue};
use crate::names::Name;
use crate::persistence::Known;
use crate::player_command::CommandSubject;
use crate::rate::{ACTIONS_HZ, Rates};

/// The event with the address of the server to which a room moves (`spec/WORLD.md`, section 8).
const MOVE: &str = "@move";

/// The handle of one client, shared by its task and its room. The client's task queues commands. The room's thread takes the
/// commands, and sends through the [`ClientSink`]. The task and the thread share nothing else.
pub struct ClientHandle {
    /// The requested name. The room assigns the name that the client gets.
    pub name: Name,
    sink: Arc<dyn ClientSink>,
    /// Identifies the client when it reconnects, if it has a secret.
    pub key: Option<ClientKey>,
    /// The client's address, if it is known.
    pub address: Option<IpAddr>,
    /// Whether the client has the role `editor`.
    pub may_edit: bool,
    /// Whether the client is a program.
    pub is_program: bool,
    /// The roles that rules can ask for.
    pub roles: Vec<String>,
    /// The client's account and its stored data, until the room takes them.
    account: Mutex<Option<JoiningAccount>>,
    network_hz: AtomicU32,
    pub(crate) commands: CommandSender,
    /// The room's end of the queue, until the room takes it.
    receiver: Mutex<Option<CommandReceiver>>,
    /// The allowances of the client, which it keeps when it reconnects.
    pub rates: Arc<Mutex<Rates>>,
    /// The delay between the arrival of a state at the client and its display, as the client reports it, in milliseconds.
    view_delay_ms: AtomicU32,
    left: AtomicBool,
    /// Time until which the seat of a lost client is reserved.
    held_until: OnceLock<Instant>,
}

/// The account of a client that joins.
#[derive(Debug)]
pub struct JoiningAccount {
    /// The name of the account.
    pub account: String,
    /// The client's room holds the account, if the rules save its data.
    pub held: Option<HeldAccount>,
    /// The stored data; `None` if nothing is stored.
    pub saved: Option<SavedData>,
}

impl ClientHandle {
    /// Creates the handle of a client that receives `network_hz` snapshots a second. `may_edit` states whether the client
    /// has the role `editor`, and `is_program` states whether it is a program.
    pub fn new(
        name: Name,
        sink: Arc<dyn ClientSink>,
        network_hz: u32,
        may_edit: bool,
        is_program: bool,
    ) -> Self {
        let (commands, receiver) = command_queue();
        Self {
            name,
            sink,
            key: None,
            address: None,
            may_edit,
            is_program,
            roles: Vec::new(),
            account: Mutex::default(),
            network_hz: AtomicU32::new(network_hz),
            commands,
            receiver: Mutex::new(Some(receiver)),
            rates: Arc::new(Mutex::new(Rates::new(ACTIONS_HZ, Instant::now()))),
            view_delay_ms: AtomicU32::new(0),
            left: AtomicBool::new(false),
            held_until: OnceLock::new(),
        }
    }

    /// Sets the key that identifies the client when it reconnects.
    pub fn with_key(self, key: Option<ClientKey>) -> Self {
        Self { key, ..self }
    }

    /// Sets the allowances, which the client had before it reconnected.
    pub fn with_rates(self, rates: Arc<Mutex<Rates>>) -> Self {
        Self { rates, ..self }
    }

    /// Sets the roles that rules can ask for.
    pub fn with_roles(self, roles: Vec<String>) -> Self {
        Self { roles, ..self }
    }

    /// Sets the client's account and its stored data.
    pub fn with_account(self, account: Option<JoiningAccount>) -> Self {
        Self { account: Mutex::new(account), ..self }
    }

    /// Takes the client's account, when the client joins the world.
    pub(crate) fn take_account(&self) -> Option<JoiningAccount> {
        self.account.lock().take()
    }

    /// Sets the client's address.
    pub fn with_address(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// The marks by which a ban can match the client.
    pub(crate) fn known(&self) -> Known<'_> {
        let token = match &self.name {
            Name::Verified(name) => Some(name.as_str()),
            Name::Asked(_) => None,
        };
        Known { token, key: self.key, address: self.address }
    }

    /// Ready if the queue has space for a command. Otherwise the task is woken when it has.
    pub fn poll_commands_fit(&self, context: &mut Context<'_>) -> Poll<()> {
        self.commands.poll_space(context)
    }

    /// Takes the room's end of the queue, when the client gets its place. Another call returns an end without messages.
    pub(crate) fn take_receiver(&self) -> CommandReceiver {
        let receiver = self.receiver.lock().take();
        debug_assert!(receiver.is_some(), "a client gets one place");
        receiver.unwrap_or_else(|| command_queue().1)
    }

    /// Records the delay between the arrival of a state at the client and its display, as the client reports it.
    pub fn set_view_delay_ms(&self, delay_ms: u16) {
        self.view_delay_ms.store(delay_ms.into(), Ordering::Relaxed);
    }

    /// Returns the delay between the arrival of a state at the client and its display.
    pub fn view_delay(&self) -> Duration {
        Duration::from_millis(self.view_delay_ms.load(Ordering::Relaxed).into())
    }

    /// Sets the number of snapshots a second that the client receives.
    pub fn set_network_hz(&self, hz: u32) {
        self.network_hz.store(hz, Ordering::Relaxed);
    }

    pub(crate) fn network_hz(&self) -> u32 {
        self.network_hz.load(Ordering::Relaxed)
    }

    /// The sink through which the room sends to the client.
    pub(crate) fn sink(&self) -> &dyn ClientSink {
        &*self.sink
    }

    /// Ends the client's connection for this reason.
    pub fn close(&self, closing: Closing) {
        self.sink.close(closing);
    }

    /// Sends a text to the person who uses the client.
    pub fn notice(&self, text: &str) {
        self.sink.send(ClientEvent::Notice { text });
    }

    /// Answers that an action was rejected.
    pub(crate) fn refuse(&self, action: &str, reason: &str, number: Option<u32>) {
        self.sink.send(ClientEvent::ActionRefused { action, reason, number });
    }

    /// Answers that a line of chat was dropped.
    pub(crate) fn refuse_line(&self, text: &str, reason: &str) {
        self.sink.send(ClientEvent::LineRefused { text, reason });
    }

    /// Answers that a command had no effect.
    pub(crate) fn refuse_command(&self, subject: &CommandSubject, reason: &str) {
        match subject {
            CommandSubject::Action { action, number } => self.refuse(action, reason, *number),
            CommandSubject::Line { text } => self.refuse_line(&sanitize(text, CHAT_CHARS_MAX), reason),
            CommandSubject::Name => self.notice(&format!("Your name was not changed: {reason}.")),
            CommandSubject::Owned { request, entity, number } => {
                self.deny(*request, *entity, *number, reason);
            }
            CommandSubject::State => {}
        }
    }

    /// Answers that an ownership request was rejected.
    pub(crate) fn deny(&self, request: OwnerRequest, entity: Option<EntityId>, number: u32, reason: &str) {
        self.sink.send(ClientEvent::Denied { request, entity, number, reason });
    }

    /// Sends the client the address of the server to which its room moves, so that it connects there in advance.
    pub(crate) fn announce_move(&self, address: &str) {
        let text = |text: &str| Value::Text(text.to_owned());
        let payload = Value::Map(vec![(text("address"), text(address))]);
        self.sink.send(ClientEvent::Emitted { name: MOVE, payload: &payload });
    }

    /// Marks the client as gone. Its avatar is removed with the next step.
    pub fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Marks the client as lost. If the client has a key, its avatar stays until `until`.
    pub fn lose(&self, until: Instant) {
        // A client ends only once; later calls change nothing.
        let _ = self.held_until.set(until);
        self.leave();
    }

    /// The key of a lost client, and the time until which its seat is reserved. `None` if no seat is reserved.
    pub(crate) fn held(&self) -> Option<(ClientKey, Instant)> {
        Some((self.key?, *self.held_until.get()?))
    }

    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }
}
