//! A client from the beginning of its session until it has its seat.

use std::mem;
use std::sync::Arc;
use std::time::Instant;

use nowcast::{Entry, Key};
use nowcast_engine::DrivenSession;
use nowcast_engine::session::MessageKind as Received;
use nowcast_room::{ClientHandle, ClientKey, Closing, Name, SECRET_BYTES};
use nowcast_world_protocol::plain::OutOfBounds;
use nowcast_world_protocol::session::{
    CHAT_LANE, CONTROLS_KEY, ClientMessage, PROTOCOL, STEPS_KEY, ToWorld, VIEW_KEY, WORLD_LANE,
};

use super::malformed;
use super::player::{EarlyMessage, Player};
use super::session_sink::SessionSink;
use crate::account;
use crate::entrance::{may_be_program, may_edit, opener_of, roles_of};
use crate::shared::Shared;
use crate::used_tokens::hold_token;

/// Maximum size of a name in bytes. The world shortens the name to 24 characters.
const NAME_BYTES_MAX: usize = 512;

/// Maximum messages that may arrive before the first event of a client.
const EARLY_MESSAGES_MAX: usize = 16;

/// A client that has not sent its `Join` yet. The order of messages is not guaranteed between lanes, or between a state and an
/// event. So other messages wait until the client has joined.
pub(super) struct Entering {
    /// The public key and the signature of an identity.
    proof: Option<(Vec<u8>, Vec<u8>)>,
    early: Vec<EarlyMessage>,
    pub(super) deadline: Instant,
}

/// The events with which a client begins.
pub(super) struct FirstEvents {
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
    pub(super) fn new(deadline: Instant) -> Self {
        Self { proof: None, early: Vec::new(), deadline }
    }

    pub(super) fn check_deadline(&self) -> Result<(), Closing> {
        if Instant::now() < self.deadline { Ok(()) } else { Err(Closing::Idle) }
    }

    /// Takes messages until the client's `Join`, which may follow a proof of its identity.
    pub(super) fn take_first(
        &mut self,
        session: &mut DrivenSession,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<FirstEvents>, Closing> {
        while let Some(received) = session.receive_into(bytes) {
            if received.kind != Received::Event || received.lane != WORLD_LANE {
                self.keep(EarlyMessage {
                    kind: received.kind,
                    lane: received.lane,
                    bytes: mem::take(bytes),
                })?;
                continue;
            }
            let join = match ClientMessage::read(WORLD_LANE, None, bytes) {
                Ok(ClientMessage::Event(ToWorld::Identify { key, signature })) if self.proof.is_none() => {
                    self.proof = Some((key, signature));
                    continue;
                }
                Ok(ClientMessage::Event(ToWorld::Join { protocol, name, network_hz, key })) => {
                    Join { protocol, name, network_hz, key, is_program: false }
                }
                Ok(ClientMessage::Event(ToWorld::JoinProgram { protocol, name, network_hz, key })) => {
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
        match (message.kind, message.lane) {
            (Received::State { key }, WORLD_LANE)
                if matches!(Key::from(key), CONTROLS_KEY | STEPS_KEY | VIEW_KEY) =>
            {
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
pub(super) async fn admit(
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
    OutOfBounds::check_network_hz("network_hz", network_hz).map_err(Closing::OutOfBounds)?;
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
    let account = entry.name.as_deref().map(account::of_token).or(by_key);
    let rates_key = account::rates_key(account.as_deref(), key, is_program);
    let account = match account.filter(|_| seat.shows_present()) {
        Some(account) => Some(account::join(&seat, &account).await?),
        None => None,
    };
    let (sink, replicator) =
        SessionSink::new(network_hz, &shared.metrics.rooms, shared.config.limits.unread_bytes_max);
    let sink = Arc::new(sink);
    let may_edit = may_edit(&entry, &shared.config.entry);
    let handle = ClientHandle::new(name, Arc::<SessionSink>::clone(&sink), network_hz, may_edit, is_program);
    let handle = handle.with_roles(roles_of(&entry, &shared.config.entry)).with_account(account);
    let (rates, are_new) = shared.rooms.rates_of(rates_key);
    let handle = Arc::new(handle.with_key(key).with_address(address).with_rates(rates));
    Ok(Player::new(shared, seat, handle, (sink, replicator), early, !are_new))
}
