//! The driver of one session over its carrier. Only the driver moves packets.
//!
//! A turn ([`DrivenSession::turn`]) lists its steps. Packets are filled only when the carrier is ready, so they hold the newest values
//! (late binding). The [`Application`] runs within the turn, on the same thread: it takes the messages that have just arrived, puts
//! new ones, and writes straight into packets.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use nowcast_session::{
    CloseCode, Closed, Config, Limits, Message, NoSource, Notice, Refused, Session, Source, Time,
};
use tokio::task::JoinHandle;
use tokio::time::{Sleep, sleep};

use crate::carrier::{Carrier, CarrierKind, Ended, Ending, retire, retiring};
use crate::{clock, random};

/// Maximum number of packets received in one turn, so that a flood on one session does not block others.
const RECEIVE_MAX: u32 = 64;
/// Maximum number of packets sent in one turn.
const SEND_MAX: u32 = 64;
/// Pause after which timers are checked again while the carrier is full, because nothing can leave before.
const BLOCKED_PAUSE: Duration = Duration::from_millis(10);
/// The timer's resolution. The session's pacing allows bursts of twice this time, so a sleep of this length does not reduce the
/// rate.
const TICK: Duration = Duration::from_millis(1);

/// One end of a session, which the session's driver calls within its turns; see [`Acceptor::new`](crate::Acceptor::new).
///
/// No call may wait, because the other sessions of the thread wait meanwhile. A panic ends only this session, with the code
/// `APPLICATION`, and the application is not called again. The lanes that are configured to have a source are filled by the
/// methods of [`Source`].
pub trait Application: Source + Send {
    /// Takes the messages that have arrived, and puts new messages. Called in each turn: after packets have arrived, before
    /// packets leave, and after the waker of `context` was woken. The first calls may come before the session is
    /// [open](DrivenSession::is_open), and the last ones after it was [closed](DrivenSession::closed).
    fn turn(&mut self, session: &mut DrivenSession, context: &mut Context<'_>);

    /// Returns the time of the next turn if nothing happens before.
    fn wake_at(&mut self, _session: &mut DrivenSession, _context: &mut Context<'_>) -> Option<Instant> {
        None
    }

    /// Puts messages at the last moment, before a packet is filled. Returns false to hold all packets back.
    fn before_packet(&mut self, _session: &mut DrivenSession) -> bool {
        true
    }

    /// Receives a notice of the session, before the next call of [`turn`](Self::turn).
    fn on_notice(&mut self, _session: &DrivenSession, _notice: &Notice) {}
}

/// An application that takes and puts nothing.
impl Application for NoSource {
    fn turn(&mut self, _session: &mut DrivenSession, _context: &mut Context<'_>) {}
}

/// Owns a session and its application, and lends both to the driver for each turn.
///
/// A session that no other thread uses is owned without a lock, as a pair of both.
pub trait SessionOwner: Send {
    /// Calls `turn` with the session and its application.
    fn lend(&mut self, turn: &mut dyn FnMut(&mut DrivenSession, &mut dyn Application));
}

impl SessionOwner for (DrivenSession, Box<dyn Application>) {
    fn lend(&mut self, turn: &mut dyn FnMut(&mut DrivenSession, &mut dyn Application)) {
        turn(&mut self.0, &mut *self.1);
    }
}

/// Drives a session until it is closed and its last carrier has ended. Must run within a tokio runtime.
pub async fn drive(mut owner: impl SessionOwner) {
    poll_fn(|context| {
        let mut done = Poll::Pending;
        owner.lend(&mut |session, application| done = session.poll(application, context));
        done
    })
    .await;
}

/// Maximum time for which a session stays open to deliver its last messages.
const LINGER: Duration = Duration::from_secs(5);

/// The phase of a session, and of its channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not opened yet.
    Connecting,
    /// Packets flow.
    Open,
    /// The carrier is lost, and messages wait. The session continues over the next carrier, or is closed after the resume
    /// timeout.
    Interrupted,
    /// Closed.
    Closed(Closed),
}

/// A client at either end: a session with its carrier. In a turn of its driver, its [`Application`] takes and puts messages by these
/// methods, and by those of the state machine.
pub struct DrivenSession {
    /// The state machine. Its times are those of [`now`](Self::now).
    pub protocol: Session,
    carrier: Option<Box<dyn Carrier>>,
    /// The session's last carrier.
    latest_kind: CarrierKind,
    phase: Phase,
    resumed: u64,
    /// The time at which the driver last read the clock.
    looked_at: Time,
    /// The time of the driver's timer.
    armed: Option<Time>,
    sleep: Pin<Box<Sleep>>,
    /// The packet that is being filled.
    packet: Vec<u8>,
    /// Whether the application has panicked.
    is_broken: bool,
    /// Set when the application has put its last message. The session ends when all messages are delivered, or when the
    /// time is over.
    lingers: Option<Lingers>,
    /// The reason to close the carrier.
    ending: Ending,
    /// The close of the last carrier, after the session is closed.
    retiring: Option<JoinHandle<()>>,
}

/// The close of a session whose last messages are on their way.
struct Lingers {
    until: Time,
    code: CloseCode,
    reason: String,
}

impl DrivenSession {
    /// Begins a session with the peer at the other end of the carrier. Must be called within a tokio runtime, and then [driven](drive).
    #[must_use]
    pub fn connect(config: &Config, carrier: Box<dyn Carrier>) -> Self {
        Self::new(Session::connect, config, carrier)
    }

    /// Accepts a session, which begins with the HELLO in `packet`.
    pub(crate) fn accept(config: &Config, carrier: Box<dyn Carrier>, packet: &[u8]) -> Self {
        let mut session = Self::new(Session::accept, config, carrier);
        session.protocol.handle_packet(session.looked_at, packet);
        session
    }

    fn new(
        begin: fn(Time, Config, nowcast_session::Carrier, nowcast_session::Entropy) -> Session,
        config: &Config,
        carrier: Box<dyn Carrier>,
    ) -> Self {
        let now = clock::now();
        // The session may move to any other carrier later, so it accepts the packet sizes of all carriers.
        let packet_bytes_max = nowcast_session::Carrier::STREAM.packet_bytes_max;
        let config = Config { limits: Limits { packet_bytes_max, ..config.limits }, ..config.clone() };
        Self {
            protocol: begin(now, config, carrier.properties(), random::entropy()),
            latest_kind: carrier.kind(),
            carrier: Some(carrier),
            phase: Phase::Connecting,
            resumed: 0,
            looked_at: now,
            armed: None,
            sleep: Box::pin(sleep(Duration::ZERO)),
            packet: Vec::new(),
            is_broken: false,
            lingers: None,
            ending: Ending::Done,
            retiring: None,
        }
    }

    /// Takes the next message into `bytes`, replacing its content. Returns `None` if there is none. A message stays in the
    /// session until it is taken, and the peer can then send no more than the window allows.
    pub fn receive_into(&mut self, bytes: &mut Vec<u8>) -> Option<Message> {
        // This time only limits when consumption is reported, so an older time suffices. Reading a clock for each message would
        // cost more.
        self.protocol.poll_message(self.looked_at, bytes)
    }

    /// Puts a state that was produced at `at`.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane has no entry for a new key. A value of a known key is always accepted while there are enough
    /// bytes.
    pub fn put_state(&mut self, lane: u8, key: u64, value: &[u8], at: Instant) -> Result<(), Refused> {
        self.protocol.put_state(clock::at(at).min(self.looked_at), lane, key, value)
    }

    /// Puts an event.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane is full.
    pub fn put_event(&mut self, lane: u8, payload: &[u8]) -> Result<(), Refused> {
        self.protocol.put_event(self.looked_at, lane, payload)
    }

    /// Closes the session at once, with a code of 0, or 64 and above, and a reason for the peer.
    pub fn close(&mut self, code: u32, reason: &str) {
        if code == CloseCode::GOING_AWAY.0 {
            self.ending = Ending::GoingAway;
        }
        // The application may have taken long, and the peer has a limited time for its answer.
        let now = self.look();
        self.protocol.close(now, CloseCode(code), reason);
    }

    /// Closes the session when all messages have arrived at the peer, or after 5 s. The first call counts.
    pub fn close_after_delivery(&mut self, code: u32, reason: &str) {
        let until = self.looked_at + LINGER;
        self.lingers.get_or_insert_with(|| Lingers {
            until,
            code: CloseCode(code),
            reason: reason.to_owned(),
        });
    }

    /// The phase of the session, as of the last notice.
    #[must_use]
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The end of the session, if it is closed.
    #[must_use]
    pub fn closed(&self) -> Option<&Closed> {
        match &self.phase {
            Phase::Closed(closed) => Some(closed),
            _ => None,
        }
    }

    /// Whether packets can flow.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// The kind of the current carrier; `None` while there is none.
    #[must_use]
    pub fn carrier_kind(&self) -> Option<CarrierKind> {
        self.carrier.as_ref().map(|carrier| carrier.kind())
    }

    /// The kind of the current carrier, or of the last one.
    #[must_use]
    pub fn latest_kind(&self) -> CarrierKind {
        self.latest_kind
    }

    /// The time since which packets need an answer and nothing has arrived; zero if no answer is expected.
    #[must_use]
    pub fn silence(&self) -> Duration {
        self.protocol.unanswered_since().map_or(Duration::ZERO, |since| self.looked_at.since(since))
    }

    /// Time since the newest packet of the peer arrived, also after the end of the session.
    #[must_use]
    pub fn since_heard(&self) -> Duration {
        self.looked_at.since(self.protocol.last_heard())
    }

    /// Number of times that the session continued over a new carrier.
    #[must_use]
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// The time at which the driver last read the clock.
    #[must_use]
    pub fn now(&self) -> Time {
        self.looked_at
    }

    /// The time of the next turn if nothing happens before.
    #[must_use]
    pub fn armed(&self) -> Option<Time> {
        self.armed
    }

    /// Reads the clock.
    pub fn look(&mut self) -> Time {
        self.looked_at = clock::now();
        self.looked_at
    }

    /// Continues on another carrier, and closes the previous one.
    pub fn attach(&mut self, carrier: Box<dyn Carrier>) {
        let now = self.look();
        self.protocol.attach(now, carrier.properties(), random::entropy());
        self.latest_kind = carrier.kind();
        if let Some(old) = self.carrier.replace(carrier) {
            retire(old, Ending::Done);
        }
    }

    /// Passes the notices of the session to the application. The driver does the same in each turn.
    pub fn pass_notices(&mut self, application: &mut (impl Application + ?Sized)) {
        while let Some(notice) = self.protocol.poll_notice() {
            match &notice {
                Notice::Opened { resumed } => {
                    self.resumed += u64::from(*resumed);
                    self.phase = Phase::Open;
                }
                Notice::Detached => self.phase = Phase::Interrupted,
                Notice::Closed(closed) => self.phase = Phase::Closed(closed.clone()),
                Notice::CommandTimedOut { .. } => {}
            }
            application.on_notice(self, &notice);
        }
    }
}

/// The turns of the driver.
impl DrivenSession {
    /// Runs a turn. If the application panics, closes the session. Ready when the session is over and its last carrier has ended.
    pub(crate) fn poll(&mut self, application: &mut dyn Application, context: &mut Context<'_>) -> Poll<()> {
        if self.retiring.is_none() {
            let is_again = match self.is_broken {
                true => self.turn(&mut NoSource, context),
                // The process's panic hook prints the cause.
                false => {
                    catch_unwind(AssertUnwindSafe(|| self.turn(application, context))).unwrap_or_else(|_| {
                        self.is_broken = true;
                        self.close(CloseCode::APPLICATION.0, "the application panicked");
                        self.turn(&mut NoSource, context)
                    })
                }
            };
            if !self.is_over() {
                self.rest(is_again, context);
                return Poll::Pending;
            }
            let ending = self.ending;
            self.retiring = self.carrier.take().and_then(|carrier| retiring(carrier, ending));
        }
        match &mut self.retiring {
            // The result does not matter, because no more packets leave.
            Some(retiring) => Pin::new(retiring).poll(context).map(drop),
            None => Poll::Ready(()),
        }
    }

    /// Registers all events that must cause another turn.
    fn rest(&mut self, is_again: bool, context: &mut Context<'_>) {
        if is_again {
            context.waker().wake_by_ref();
        } else if let Some(at) = self.armed {
            let deadline = clock::instant(at).into();
            if self.sleep.deadline() != deadline {
                self.sleep.as_mut().reset(deadline);
            }
            if self.sleep.as_mut().poll(context).is_ready() {
                context.waker().wake_by_ref();
            }
        }
    }

    /// Runs all steps of a turn. Returns whether there is more work to do at once.
    fn turn(&mut self, application: &mut dyn Application, context: &mut Context<'_>) -> bool {
        let received = self.receive(context);
        self.handle_time();
        self.pass_notices(application);
        while let Some(outcome) = self.protocol.poll_outcome() {
            application.on_outcome(outcome);
        }
        application.turn(self, context);
        let lanes = self.protocol.source_lanes();
        self.protocol.set_waiting_sources(application.waiting(lanes));
        // The application may have taken some time.
        let now = self.look();
        let sent = self.send(application, context, now);
        self.pass_notices(application);
        let woken = application.wake_at(self, context).map(clock::at);
        let due = self.turn_at().into_iter().chain(woken).min();
        self.armed = due.map(|at| match sent {
            Sent::All => at.max(now + TICK),
            Sent::Blocked => at.max(now + BLOCKED_PAUSE),
            Sent::Many => at,
        });
        received >= RECEIVE_MAX || sent == Sent::Many
    }

    fn send(&mut self, application: &mut dyn Application, context: &mut Context<'_>, now: Time) -> Sent {
        for _ in 0..SEND_MAX {
            let ready = match &mut self.carrier {
                Some(carrier) => carrier.poll_ready(context),
                None => {
                    application.before_packet(self);
                    return Sent::All;
                }
            };
            let sent = match ready {
                Poll::Pending => {
                    self.carrier_is_full(now);
                    return Sent::Blocked;
                }
                Poll::Ready(Err(ended)) => Err(ended),
                Poll::Ready(Ok(())) => {
                    self.packet.clear();
                    if !application.before_packet(self)
                        || !self.protocol.poll_packet(now, application, &mut self.packet)
                    {
                        return Sent::All;
                    }
                    self.carrier.as_mut().map_or(Ok(()), |carrier| carrier.send(&self.packet))
                }
            };
            if let Err(ended) = sent {
                self.lose(&ended);
                return Sent::All;
            }
        }
        Sent::Many
    }

    /// Passes arrived packets to the session. Returns their number.
    fn receive(&mut self, context: &mut Context<'_>) -> u32 {
        let now = self.look();
        let mut count = 0;
        while count < RECEIVE_MAX {
            let Some(carrier) = &mut self.carrier else { break };
            match carrier.poll_receive(context) {
                Poll::Pending => break,
                Poll::Ready(Ok(packet)) => {
                    self.protocol.handle_packet(now, &packet);
                    count += 1;
                }
                Poll::Ready(Err(ended)) => {
                    self.lose(&ended);
                    break;
                }
            }
        }
        count
    }

    /// Handles timers. Ends a session that lingers when all messages are delivered, or at its deadline.
    fn handle_time(&mut self) {
        let now = self.looked_at;
        if let Some(Lingers { until, code, reason }) = &self.lingers
            && (now >= *until || self.protocol.is_drained())
        {
            self.protocol.close(now, *code, reason);
        }
        self.protocol.handle_timeout(now);
    }

    /// Returns the time at which the driver must have its next turn.
    fn turn_at(&mut self) -> Option<Time> {
        let now = self.looked_at;
        let lingers = self.lingers.as_ref().filter(|_| !self.protocol.is_closed());
        let end = lingers.map(|lingers| if self.protocol.is_drained() { now } else { lingers.until });
        self.protocol.poll_timeout(now).into_iter().chain(end).min()
    }

    /// Reports that the carrier accepts no packet now.
    fn carrier_is_full(&mut self, now: Time) {
        if self.carrier.as_ref().is_some_and(|carrier| carrier.is_shallow()) {
            self.protocol.carrier_is_full(now);
        }
    }

    /// Handles a carrier that ended by itself.
    fn lose(&mut self, ended: &Ended) {
        tracing::debug!(%ended, "a session lost its carrier");
        if let Some(carrier) = self.carrier.take()
            && matches!(ended, Ended::Violation(_))
        {
            retire(carrier, Ending::Violation);
        }
        self.protocol.detach(self.looked_at);
    }

    /// Whether nothing more can leave: the session is over, or is closed without a carrier for its CLOSE.
    fn is_over(&self) -> bool {
        self.protocol.is_over() || self.protocol.is_closed() && self.carrier.is_none()
    }
}

/// The result of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// No further packet may leave now.
    All,
    /// The carrier is full.
    Blocked,
    /// More packets may leave, but other sessions go first.
    Many,
}

impl std::fmt::Debug for DrivenSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DrivenSession").field("phase", &self.phase).finish_non_exhaustive()
    }
}
