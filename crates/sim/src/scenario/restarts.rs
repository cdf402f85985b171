//! Processes that are killed during a run, and durable actions that must survive the kills.
//!
//! A session ends with its process. The scenario then acts like the drivers of the engine. The client detects the death of its
//! server when the carrier ends, or when no packet arrives for the time-out. The client tries to resume with the next process.
//! The next process refuses, because it has no such session, and the client begins another session. A client that was killed
//! returns as another client, with a new session. The laws hold within each session up to its end. Over all sessions, each durable action is applied once.

use std::time::Duration;

use nowcast_queue::conformance::Random;
use nowcast_session::{Carrier, CloseCode, MessageKind, Notice, Refused};

use super::Life;
use crate::durable::{Act, Client, DURABLE_LANE, Server};
use crate::endpoint::PolledMessage;
use crate::pair::End;
use crate::record::Direction;

/// The longest commit of the model, in milliseconds.
const COMMIT_MS_MAX: u64 = 60;

/// The durable actions of the two ends.
#[derive(Debug)]
pub(super) struct Engine {
    server: Server,
    client: Client,
    /// Clients that were killed.
    former: Vec<Client>,
    random: Random,
    pub(super) acts: u64,
}

impl Engine {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            server: Server::default(),
            client: Client::new(1),
            former: Vec::new(),
            random: Random::new(seed ^ 0x0D04_AB1E),
            acts: 0,
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.client.is_settled()
    }

    /// Checks the stored actions against the answers of all clients.
    pub(super) fn check(&self) -> Result<(), String> {
        self.former.iter().chain([&self.client]).try_for_each(|client| client.check(&self.server))
    }
}

/// An end whose process was killed, until the next process has a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// The next server process runs, but the client does not know yet that it must begin a new session.
    Server,
    /// The next client process begins at this time.
    Client(Duration),
}

impl Gone {
    fn end(self) -> End {
        match self {
            Gone::Server => End::Acceptor,
            Gone::Client(_) => End::Initiator,
        }
    }
}

impl Life<'_> {
    /// Whether there is no process at this end.
    pub(super) fn is_gone(&self, end: End) -> bool {
        self.gone.is_some_and(|gone| gone.end() == end)
    }

    /// Whether a put may be refused because the session is closed and its application has not read the notice yet.
    pub(super) fn is_closing(&self, refused: &Refused) -> bool {
        *refused == Refused::Closed && self.gone == Some(Gone::Server)
    }

    /// Whether this notice tells a client that its server process is gone.
    pub(super) fn is_refused_anew(&self, end: End, notice: &Notice) -> bool {
        let is_refusal =
            matches!(notice, Notice::Closed(closed) if closed.code == CloseCode::UNKNOWN_SESSION);
        is_refusal && end == End::Initiator && self.gone == Some(Gone::Server)
    }

    pub(super) fn restart(
        &mut self,
        end: End,
        is_reported: bool,
        millis: u64,
        is_commit_kept: bool,
    ) -> Result<(), String> {
        if !self.can_cut() {
            return Ok(());
        }
        self.restarts += 1;
        let mut is_reported = [is_reported; 2];
        is_reported[end as usize] = false;
        self.pair.kill_carrier(is_reported);
        self.stalled_until[end as usize] = Duration::ZERO;
        let carrier = self.pair.carrier();
        let at = self.pair.now() + Duration::from_millis(millis);
        match end {
            End::Initiator => self.gone = Some(Gone::Client(at)),
            End::Acceptor => {
                self.replace(End::Acceptor, carrier);
                self.gone = Some(Gone::Server);
                self.joins_at = Some((at, carrier));
            }
        }
        let Some(engine) = self.engine.as_mut().filter(|_| end == End::Acceptor) else { return Ok(()) };
        engine.server.restart(is_commit_kept);
        engine.check()
    }

    /// Begins another session at both ends, because one of them is a new process. The record of the old session must follow the
    /// laws.
    pub(super) fn begin_anew(&mut self) -> Result<(), String> {
        self.directions.iter().try_for_each(Direction::check_cut_off)?;
        self.directions = [Direction::default(), Direction::default()];
        if let (Some(Gone::Client(_)), Some(engine)) = (self.gone.take(), &mut self.engine) {
            let next = Client::new(engine.client.key() + 1);
            engine.former.push(std::mem::replace(&mut engine.client, next));
            engine.server.begin_session();
        }
        let carrier = self.pair.carrier();
        self.pair.kill_carrier([false, false]);
        for end in [End::Acceptor, End::Initiator] {
            self.replace(end, carrier);
        }
        let link = self.pair.link(End::Initiator).config().clone();
        self.relink(&link);
        self.begin_acts()
    }

    fn replace(&mut self, end: End, carrier: Carrier) {
        let traffic = self.pair.session(end).traffic();
        self.past.packets_sent += traffic.packets_sent;
        self.past.messages_received += traffic.messages_received;
        let cast = self.cast;
        self.pair.replace(end, carrier, |now, entropy| cast.begin(end, now, carrier, entropy));
    }

    /// Sends the first messages of a client: its introduction, and its unanswered actions.
    pub(super) fn begin_acts(&mut self) -> Result<(), String> {
        let acts = self.engine.as_ref().map_or_else(Vec::new, |engine| engine.client.begin_session());
        acts.into_iter().try_for_each(|act| self.put_act(End::Initiator, act))
    }

    /// Sends a new action of the client.
    pub(super) fn act_durably(&mut self) -> Result<(), String> {
        if self.is_gone(End::Initiator) {
            return Ok(());
        }
        let Some(act) = self.engine.as_mut().and_then(|engine| engine.client.act()) else { return Ok(()) };
        self.engine.as_mut().expect("the engine has just acted").acts += 1;
        self.put_act(End::Initiator, act)
    }

    fn put_act(&mut self, end: End, act: Act) -> Result<(), String> {
        let put = self.pair.with(end, |session, now| session.put_event(now, DURABLE_LANE, &act.to_bytes()));
        match put {
            Ok(_) => Ok(()),
            // The action has no answer, so it is sent again in the next session.
            Err(refused) if self.is_closing(&refused) => Ok(()),
            Err(refused) => Err(format!("{act:?} was refused: {refused}")),
        }
    }

    /// Advances commits, and sends their answers.
    pub(super) fn commit(&mut self) -> Result<(), String> {
        let now = self.pair.now();
        let Some(engine) = &mut self.engine else { return Ok(()) };
        let takes = Duration::from_millis(1 + engine.random.below(COMMIT_MS_MAX));
        let answers = engine.server.pass(now, takes);
        if self.gone.is_some() {
            return Ok(());
        }
        answers.into_iter().try_for_each(|act| self.put_act(End::Acceptor, act))
    }

    /// Handles an action or an answer that one end was shown.
    pub(super) fn got_act(&mut self, end: End, message: &PolledMessage) -> Result<(), String> {
        let Some(engine) = self.engine.as_mut().filter(|_| message.kind == MessageKind::Event) else {
            return Err(format!("{:?} on the lane of durable actions", message.kind));
        };
        let act = Act::read(&message.payload)?;
        match end {
            End::Acceptor => engine.server.take(act),
            End::Initiator => engine.client.confirmed(act, &engine.server),
        }
    }
}
