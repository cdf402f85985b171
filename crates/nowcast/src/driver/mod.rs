//! The task that runs one session over its carrier: the only place where packets are moved.
//!
//! Its turn, in order: take what arrived, let time pass, let the application's source put what is news, fill packets as long
//! as the carrier takes them, hand out news, sleep until something happens. The application puts and takes under the same lock and wakes the driver; packets are
//! filled only in its turn, when the carrier is ready, so they hold the newest values (late binding).

mod core;
mod feed;
mod link;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use nowcast_session::{CloseCode, NoReplication, Replication, Time};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};

use crate::carrier::{self, Ended, Ending, retire};
use crate::clock;
use core::{Core, Guarded};
use feed::{feed, feed_at};

pub(crate) use core::Shared;
pub(crate) use link::SessionLink;

/// Packets taken in one turn, so that a flood on one session leaves room for others.
const RECEIVE_MAX: u32 = 64;
/// Packets sent in one turn.
const SEND_MAX: u32 = 64;
/// While the carrier is full nothing can leave; time is looked at again after this.
const BLOCKED_PAUSE: Duration = Duration::from_millis(10);
/// The timer's resolution. The session's pacing allows bursts of twice that, so it loses no rate by sleeping so long.
const TICK: Duration = Duration::from_millis(1);

/// Runs a session until it is over.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    sleep: Pin<Box<Sleep>>,
    packet: Vec<u8>,
    /// The session is over, and its carrier is being ended.
    retiring: Option<JoinHandle<()>>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            packet: Vec::new(),
            retiring: None,
        }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Driver { shared, sleep, packet, retiring } = self.get_mut();
        // Before it looks, so that a call during its turn brings another one.
        shared.hear_calls(context.waker());
        let mut core = shared.lock();
        if retiring.is_none() {
            core.driver_looks(context.waker());
            let is_again = turn(&mut core, packet, context);
            // A farewell needs a carrier.
            let is_over = core.session.is_over() || (core.session.is_closed() && core.carrier.is_none());
            if !is_over {
                rest(&core, sleep.as_mut(), is_again, context);
                return Poll::Pending;
            }
            let ending = core.ending;
            *retiring = core.carrier.take().and_then(|carrier| carrier::retiring(carrier, ending));
        }
        if let Some(retiring) = retiring {
            // Whether it was cut short makes no difference: nothing more leaves.
            let _ = ready!(Pin::new(retiring).poll(context));
        }
        core.has_left();
        Poll::Ready(())
    }
}

/// Sees that the driver is woken when there is something to do.
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

/// Does what there is to do; returns whether there is more at once.
fn turn(core: &mut Core, packet: &mut Vec<u8>, context: &mut Context<'_>) -> bool {
    let now = clock::now();
    core.looked_at = now;
    let received = receive(core, now, context);
    linger(core, now);
    core.session.handle_timeout(now);
    core.feed_source(now);
    let mut sent = send(core, now, packet, context);
    core.take_news();
    if core.session.is_closed() {
        // A source that panicked ended it just now. Its farewell leaves before time passes: on a fast path little is left for it.
        sent = send(core, now, packet, context);
    }
    if received > 0 {
        core.wake_waiting();
    }
    let fed = feed_at(core, now, context);
    core.armed = core.session.poll_timeout(now).into_iter().chain(fed).min().map(|at| match sent {
        Sent::All => at.max(now + TICK),
        Sent::Blocked => at.max(now + BLOCKED_PAUSE),
        Sent::Many => at,
    });
    received >= RECEIVE_MAX || matches!(sent, Sent::Many)
}

/// Gives the session what arrived.
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

/// How far sending came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// Nothing is left that may leave now.
    All,
    /// The carrier takes no more.
    Blocked,
    /// There is more, but others shall have their turn.
    Many,
}

fn send(core: &mut Core, now: Time, packet: &mut Vec<u8>, context: &mut Context<'_>) -> Sent {
    if core.open_batches > 0 {
        // The end of the last batch wakes the driver.
        return Sent::All;
    }
    for _ in 0..SEND_MAX {
        let ready = match carrier_is_ready(core, now, context) {
            Poll::Pending => return Sent::Blocked,
            Poll::Ready(ready) => ready,
        };
        if ready.is_ok() {
            feed(core, now);
        }
        let Core { session, carrier: Some(open), source, is_source_broken, .. } = core else {
            return Sent::All;
        };
        let mut none = NoReplication;
        let mut guarded = source.as_mut().map(|source| Guarded::new(source.as_mut(), is_source_broken));
        let source: &mut dyn Replication = match &mut guarded {
            Some(source) => source,
            None => &mut none,
        };
        packet.clear();
        let sent = ready.and_then(|()| {
            let has_packet = session.poll_packet(now, source, packet);
            if has_packet { open.send(packet).map(|()| true) } else { Ok(false) }
        });
        match sent {
            Ok(true) => {}
            Ok(false) => return Sent::All,
            Err(ended) => {
                lose(core, now, &ended);
                return Sent::All;
            }
        }
    }
    Sent::Many
}

/// Whether the carrier takes a packet at once. A missing one is ready to be found missing.
fn carrier_is_ready(core: &mut Core, now: Time, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
    let Core { session, carrier: Some(carrier), source, is_source_broken, .. } = core else {
        return Poll::Ready(Ok(()));
    };
    let ready = carrier.poll_ready(context);
    if ready.is_pending() && carrier.is_shallow() {
        match source.as_mut().map(|source| Guarded::new(source.as_mut(), is_source_broken)) {
            Some(source) => session.carrier_is_full(now, &source),
            None => session.carrier_is_full(now, &NoReplication),
        }
    }
    ready
}

/// The carrier ended by itself.
fn lose(core: &mut Core, now: Time, ended: &Ended) {
    tracing::debug!(%ended, "a session lost its carrier");
    if matches!(ended, Ended::Violation(_))
        && let Some(carrier) = core.carrier.take()
    {
        retire(carrier, Ending::Violation);
    }
    core.detach(now);
}

/// The application has left: the session ends when all was delivered, or when its time is over.
fn linger(core: &mut Core, now: Time) {
    if core.lingers_until.is_some_and(|until| now >= until || core.session.is_drained()) {
        core.session.close(now, CloseCode::DONE, "");
    }
}
