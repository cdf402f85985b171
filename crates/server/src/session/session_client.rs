//! One client on a session, from the session's beginning to its end.
//!
//! An input takes this way from the packet to the world:
//!
//! 1. The driver of the session (`crates/engine/src/driver.rs`) passes the packet to `Session::handle_packet`, which stores the newest
//!    value of each key. Then the driver calls this client, in the same turn.
//! 2. `Player::turn` (`player.rs`) takes the message from the session, and `ClientMessage::read` decodes it. `SessionIntake`
//!    (`crates/room`) checks its bounds.
//! 3. `CommandIntake` counts the message. A client that sends far too many is closed. Input above the rate is still used, because
//!    newer input replaces older input.
//! 4. `CommandSender` puts it into the client's queue (`crates/room/src/command_queue.rs`).
//! 5. The room's thread takes it in its next tick (`take_commands` of `crates/room/src/room/commands.rs`). Input with step numbers then
//!    waits in the `InputBuffer` for its step. `RecordedWorld::apply` passes it to the world and records it.
//!
//! Later in the turn, `ClientReplicator` puts what the room has published into the session, and the driver fills packets.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use nowcast::Entry;
use nowcast_engine::session::{CloseCode, Closed, ClosedBy, PacketOutcome, Source};
use nowcast_engine::{Application, DrivenSession};
use nowcast_room::Closing;
use tracing::info;

use super::joining::{Entering, admit};
use super::player::Player;
use crate::shared::Shared;

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
                    let id = session.protocol.identity().map(|resume| resume.session);
                    Stage::Admitting(Box::pin(admit(first, entry, id, shared)))
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
