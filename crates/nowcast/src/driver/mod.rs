//! The task that runs one session over its carrier. Only this task moves packets.
//!
//! A turn has these steps, in this order: receive packets, wake the tasks that read, handle time, let the application's source
//! put new messages, fill packets as long as the carrier accepts them, deliver events, sleep. The application puts and takes
//! messages under the same lock and wakes the driver. Packets are filled only in the driver's turn, when the carrier is ready, so
//! they hold the newest values (late binding). The application's source writes straight into the packet, and only the source is
//! called without the lock (`source_calls.rs`).

mod core;
mod feed;
mod link;
mod source_calls;

use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use nowcast_session::{CloseCode, PacketStep, Source, Time};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};

use crate::carrier::{self, Ended, Ending, retire};
use crate::channel::{Closing, PutBatch};
use crate::clock;
use core::{Core, Lingers};
use feed::{feed, feed_at};
use source_calls::SourceCalls;

pub(crate) use core::Shared;
pub(crate) use link::SessionLink;

/// Maximum number of packets received in one turn, so that a flood on one session does not block others.
const RECEIVE_MAX: u32 = 64;
/// Maximum number of packets sent in one turn.
const SEND_MAX: u32 = 64;
/// Pause after which timers are checked again while the carrier is full, because nothing can leave before.
const BLOCKED_PAUSE: Duration = Duration::from_millis(10);
/// The timer's resolution. The session's pacing allows bursts of twice this time, so a sleep of this length does not reduce the
/// rate.
const TICK: Duration = Duration::from_millis(1);

/// Runs a session until it is closed.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    sleep: Pin<Box<Sleep>>,
    packet: Vec<u8>,
    sourced: SourceCalls,
    /// The close of the last carrier, after the session is closed.
    retiring: Option<JoinHandle<()>>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            packet: Vec::new(),
            sourced: SourceCalls::default(),
            retiring: None,
        }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Driver { shared, sleep, packet, sourced, retiring } = self.get_mut();
        let shared: &Shared = shared;
        let mut core = shared.lock();
        if retiring.is_none() {
            core.driver_looks(context.waker());
            let mut turn = Turn { shared, sourced, packet, now: clock::now() };
            let is_again;
            (core, is_again) = turn.take(core, context);
            // Sending a CLOSE needs a carrier.
            let is_over = core.session.is_over() || (core.session.is_closed() && core.carrier.is_none());
            if !is_over {
                rest(&core, sleep.as_mut(), is_again, context);
                return Poll::Pending;
            }
            let ending = core.ending;
            *retiring = core.carrier.take().and_then(|carrier| carrier::retiring(carrier, ending));
        }
        if let Some(retiring) = retiring {
            // The result does not matter, because no more packets leave.
            let _ = ready!(Pin::new(retiring).poll(context));
        }
        core.has_left();
        let source = core.next_source.take();
        drop(core);
        source_calls::discard(source);
        Poll::Ready(())
    }
}

/// Registers all events that must wake the driver.
fn rest(core: &Core, mut sleep: Pin<&mut Sleep>, is_again: bool, context: &mut Context<'_>) {
    if is_again {
        context.waker().wake_by_ref();
    } else if let Some(at) = core.armed {
        let deadline = Instant::from_std(clock::instant(at));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        if sleep.poll(context).is_ready() {
            context.waker().wake_by_ref();
        }
    }
}

/// One turn of a driver. The channel is locked, except while its source is called. Each step after such a call therefore reads
/// the time and the carrier again.
struct Turn<'a> {
    shared: &'a Shared,
    sourced: &'a mut SourceCalls,
    packet: &'a mut Vec<u8>,
    now: Time,
}

impl<'a> Turn<'a> {
    /// Runs all steps. Returns whether there is more work to do at once.
    fn take(
        &mut self,
        mut core: MutexGuard<'a, Core>,
        context: &mut Context<'_>,
    ) -> (MutexGuard<'a, Core>, bool) {
        if let Some(source) = core.next_source.take() {
            let before = self.sourced.replace(source);
            core = self.unlocked(core, |_| source_calls::discard(before));
        }
        core.looked_at = self.now;
        let received = receive(&mut core, self.now, context);
        if received > 0 {
            // Before anything is sent: the application can read while the source writes.
            core.wake_waiting();
        }
        linger(&mut core, self.now);
        core.session.handle_timeout(self.now);
        core = self.feed_from_source(core);
        let sent;
        (core, sent) = self.send(core, context);
        core.take_news();
        let now = self.now;
        let fed = feed_at(&mut core, now, context);
        core.armed = core.session.poll_timeout(now).into_iter().chain(fed).min().map(|at| match sent {
            Sent::All => at.max(now + TICK),
            Sent::Blocked => at.max(now + BLOCKED_PAUSE),
            Sent::Many => at,
        });
        let is_again = received >= RECEIVE_MAX || matches!(sent, Sent::Many);
        (core, is_again)
    }

    fn send(
        &mut self,
        mut core: MutexGuard<'a, Core>,
        context: &mut Context<'_>,
    ) -> (MutexGuard<'a, Core>, Sent) {
        for _ in 0..SEND_MAX {
            if core.open_batches > 0 {
                // The end of the last batch wakes the driver.
                return (core, Sent::All);
            }
            let Core { session, carrier: Some(carrier), .. } = &mut *core else {
                feed(&mut core, self.now);
                return (core, Sent::All);
            };
            let Poll::Ready(ready) = carrier.poll_ready(context) else {
                if carrier.is_shallow() {
                    session.carrier_is_full(self.now);
                }
                return (core, Sent::Blocked);
            };
            let sent;
            (core, sent) = match ready {
                Ok(()) => self.send_packet(core),
                Err(ended) => (core, Err(ended)),
            };
            match sent {
                Ok(true) => {}
                Ok(false) => return (core, Sent::All),
                Err(ended) => {
                    lose(&mut core, self.now, &ended);
                    return (core, Sent::All);
                }
            }
        }
        (core, Sent::Many)
    }

    /// Sends one packet over a carrier that accepts it. Returns whether there was a packet.
    fn send_packet(&mut self, mut core: MutexGuard<'a, Core>) -> (MutexGuard<'a, Core>, Result<bool, Ended>) {
        feed(&mut core, self.now);
        self.packet.clear();
        let mut step = core.session.begin_packet(self.now, self.packet);
        while let PacketStep::Space(space) = step {
            core = self.call_source(core, |source, _, packet| space.fill(source, packet));
            // The messages of a batch leave together.
            let adds_more = core.open_batches == 0;
            step = core.session.finish_packet(self.now, adds_more, self.packet);
        }
        let sent = match &mut core.carrier {
            Some(carrier) if step == PacketStep::Packet => carrier.send(self.packet).map(|()| true),
            _ => Ok(false),
        };
        (core, sent)
    }

    /// Passes outcomes to the source, and lets it put new messages if it was called for. The source collects them while the
    /// channel is not locked. Afterwards all of them are put at once.
    fn feed_from_source(&mut self, mut core: MutexGuard<'a, Core>) -> MutexGuard<'a, Core> {
        let has_outcomes = self.sourced.collect_outcomes(&mut core.session);
        let is_called = self.shared.driver.take_call();
        if core.session.is_closed() || !is_called && !has_outcomes {
            return core;
        }
        core = self.call_source(core, |source, batch, _| {
            if is_called {
                source.feed(batch);
            }
        });
        if !is_called || core.session.is_closed() {
            return core;
        }
        if !self.sourced.fed.put_into(&mut core.session, self.now) {
            self.shared.driver.call_source();
        }
        match self.sourced.fed.take_closing() {
            Some(Closing { code, reason, delivers: true }) => core.linger(self.now, CloseCode(code), &reason),
            Some(Closing { code, reason, .. }) => core.close(self.now, CloseCode(code), &reason),
            None => {}
        }
        core
    }

    /// Calls the source while the channel is not locked. The session then knows on which lanes the source has more.
    fn call_source(
        &mut self,
        core: MutexGuard<'a, Core>,
        run: impl FnOnce(&mut dyn Source<PutBatch>, &mut PutBatch, &mut Vec<u8>),
    ) -> MutexGuard<'a, Core> {
        let lanes = core.session.source_lanes();
        let mut called = Ok(0);
        let mut core = self.unlocked(core, |turn| {
            called = turn.sourced.call(lanes, |source, batch| run(source, batch, turn.packet));
        });
        match called {
            Ok(waiting) => core.session.set_waiting_sources(waiting),
            Err(reason) => core.session.close(self.now, CloseCode::APPLICATION, reason),
        }
        core
    }

    fn unlocked(&mut self, core: MutexGuard<'a, Core>, run: impl FnOnce(&mut Self)) -> MutexGuard<'a, Core> {
        drop(core);
        run(self);
        let mut core = self.shared.lock();
        // Another thread may have called the session meanwhile, with a later time than that of this turn.
        self.now = clock::now();
        core.looked_at = self.now;
        core
    }
}

/// Passes arrived packets to the session.
fn receive(core: &mut Core, now: Time, context: &mut Context<'_>) -> u32 {
    let mut count = 0;
    while count < RECEIVE_MAX {
        let Some(carrier) = &mut core.carrier else { break };
        match carrier.poll_receive(context) {
            Poll::Pending => break,
            Poll::Ready(Ok(packet)) => {
                core.session.handle_packet(now, &packet);
                count += 1;
            }
            Poll::Ready(Err(ended)) => {
                lose(core, now, &ended);
                break;
            }
        }
    }
    count
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

/// Handles a carrier that ended by itself.
fn lose(core: &mut Core, now: Time, ended: &Ended) {
    tracing::debug!(%ended, "a session lost its carrier");
    if matches!(ended, Ended::Violation(_))
        && let Some(carrier) = core.carrier.take()
    {
        retire(carrier, Ending::Violation);
    }
    core.detach(now);
}

/// Ends a session that lingers when all messages are delivered, or at its deadline.
fn linger(core: &mut Core, now: Time) {
    let Core { session, lingers, .. } = core;
    if let Some(Lingers { until, code, reason }) = lingers
        && (now >= *until || session.is_drained())
    {
        session.close(now, *code, reason);
    }
}
