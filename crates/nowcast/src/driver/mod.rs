//! The driver of one session over its carrier. Only the driver moves packets.
//!
//! A turn has these steps, in this order: receive packets, handle time, run the application, fill packets as long as the carrier
//! accepts them, sleep. Packets are filled only when the carrier is ready, so they hold the newest values (late binding).
//!
//! The [`Application`] runs within the turn, on the same thread and without a lock: it takes the messages that have just arrived,
//! puts new ones, and writes straight into packets. A program that serves many sessions is such an application. The application
//! of a [`Channel`](crate::Channel) is the library's own (`channel.rs`): the handles of the channel put and take messages under a
//! lock, on any thread, and wake the driver.

mod channel;
mod feed;
mod link;
mod session;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use nowcast_session::{CloseCode, NoSource, Notice, Source, Time};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};

use crate::carrier;
use crate::clock;

pub(crate) use channel::{Core, Shared, run};
pub(crate) use link::SessionLink;
pub use session::DrivenSession;

/// Maximum number of packets received in one turn, so that a flood on one session does not block others.
const RECEIVE_MAX: u32 = 64;
/// Maximum number of packets sent in one turn.
const SEND_MAX: u32 = 64;
/// Pause after which timers are checked again while the carrier is full, because nothing can leave before.
const BLOCKED_PAUSE: Duration = Duration::from_millis(10);
/// The timer's resolution. The session's pacing allows bursts of twice this time, so a sleep of this length does not reduce the
/// rate.
const TICK: Duration = Duration::from_millis(1);

/// One end of a session, which the session's driver calls within its turns; see [`Acceptor::serving`](crate::Acceptor::serving).
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
    fn wake_at(
        &mut self,
        _session: &mut DrivenSession,
        _context: &mut Context<'_>,
    ) -> Option<std::time::Instant> {
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

/// Moves the packets of a session until the session is closed.
pub(crate) struct Driver {
    sleep: Pin<Box<Sleep>>,
    packet: Vec<u8>,
    /// Whether the application has panicked.
    is_broken: bool,
    /// The close of the last carrier, after the session is closed.
    retiring: Option<JoinHandle<()>>,
}

impl Driver {
    pub(crate) fn new() -> Self {
        Self {
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            packet: Vec::new(),
            is_broken: false,
            retiring: None,
        }
    }

    /// Runs a turn. Ready when the session is over and its last carrier has ended.
    pub(crate) fn poll(
        &mut self,
        session: &mut DrivenSession,
        application: &mut dyn Application,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        if self.retiring.is_none() {
            let is_again = self.guarded_turn(session, application, context);
            if !session.is_over() {
                self.rest(session, is_again, context);
                return Poll::Pending;
            }
            let ending = session.ending;
            self.retiring = session.carrier.take().and_then(|carrier| carrier::retiring(carrier, ending));
        }
        match &mut self.retiring {
            // The result does not matter, because no more packets leave.
            Some(retiring) => Pin::new(retiring).poll(context).map(drop),
            None => Poll::Ready(()),
        }
    }

    /// Registers all events that must cause another turn.
    fn rest(&mut self, session: &DrivenSession, is_again: bool, context: &mut Context<'_>) {
        if is_again {
            context.waker().wake_by_ref();
        } else if let Some(at) = session.armed {
            let deadline = Instant::from_std(clock::instant(at));
            if self.sleep.deadline() != deadline {
                self.sleep.as_mut().reset(deadline);
            }
            if self.sleep.as_mut().poll(context).is_ready() {
                context.waker().wake_by_ref();
            }
        }
    }

    /// Runs a turn. If the application panics, closes the session.
    fn guarded_turn(
        &mut self,
        session: &mut DrivenSession,
        application: &mut dyn Application,
        context: &mut Context<'_>,
    ) -> bool {
        if !self.is_broken {
            // The process's panic hook prints the cause.
            let turn = catch_unwind(AssertUnwindSafe(|| self.turn(session, application, context)));
            if let Ok(is_again) = turn {
                return is_again;
            }
            self.is_broken = true;
            session.close(CloseCode::APPLICATION.0, "the application panicked");
        }
        self.turn(session, &mut NoSource, context)
    }

    /// Runs all steps of a turn. Returns whether there is more work to do at once.
    fn turn(
        &mut self,
        session: &mut DrivenSession,
        application: &mut dyn Application,
        context: &mut Context<'_>,
    ) -> bool {
        let received = session.receive(context);
        session.handle_time();
        session.pass_notices(application);
        while let Some(outcome) = session.session.poll_outcome() {
            application.on_outcome(outcome);
        }
        application.turn(session, context);
        let lanes = session.session.source_lanes();
        session.session.set_waiting_sources(application.waiting(lanes));
        // The application may have taken some time.
        let now = session.look();
        let sent = self.send(session, application, context, now);
        session.pass_notices(application);
        let woken = application.wake_at(session, context).map(clock::at);
        let due = session.turn_at().into_iter().chain(woken).min();
        session.armed = due.map(|at| match sent {
            Sent::All => at.max(now + TICK),
            Sent::Blocked => at.max(now + BLOCKED_PAUSE),
            Sent::Many => at,
        });
        received >= RECEIVE_MAX || sent == Sent::Many
    }

    fn send(
        &mut self,
        session: &mut DrivenSession,
        application: &mut dyn Application,
        context: &mut Context<'_>,
        now: Time,
    ) -> Sent {
        for _ in 0..SEND_MAX {
            let ready = match &mut session.carrier {
                Some(carrier) => carrier.poll_ready(context),
                None => {
                    application.before_packet(session);
                    return Sent::All;
                }
            };
            let sent = match ready {
                Poll::Pending => {
                    session.carrier_is_full(now);
                    return Sent::Blocked;
                }
                Poll::Ready(Err(ended)) => Err(ended),
                Poll::Ready(Ok(())) => {
                    self.packet.clear();
                    if !application.before_packet(session)
                        || !session.session.poll_packet(now, application, &mut self.packet)
                    {
                        return Sent::All;
                    }
                    session.carrier.as_mut().map_or(Ok(()), |carrier| carrier.send(&self.packet))
                }
            };
            if let Err(ended) = sent {
                session.lose(&ended);
                return Sent::All;
            }
        }
        Sent::Many
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
