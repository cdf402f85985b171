//! Runs all jobs of an I/O thread as one task.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::CatchUnwind;
use futures_util::stream::FuturesUnordered;
use futures_util::task::AtomicWaker;
use futures_util::{FutureExt, Stream};
use tokio::time::{Sleep, sleep};

use super::Job;

/// Maximum time for which a stopping thread runs its remaining jobs.
const STOP_TIME_MAX: Duration = Duration::from_secs(3);
/// Maximum number of jobs of connections that have a turn before the loops have one again. In a crowd that needs more than the whole
/// thread, sockets are still read and written after a millisecond or two. So no datagram waits for the turns of the whole crowd.
const TEAM_MAX: usize = 64;

/// The jobs that wait for their first turn.
#[derive(Default)]
pub(super) struct Inbox {
    waiting: Mutex<Vec<(Rank, Job)>>,
    has_waiting: AtomicBool,
    is_stopping: AtomicBool,
    crew: AtomicWaker,
}

/// How often a job has a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rank {
    /// A job of one connection.
    Connection,
    /// A loop that serves all connections of a socket.
    Loop,
}

impl Inbox {
    pub(super) fn add(&self, rank: Rank, job: Job) {
        self.lock().push((rank, job));
        self.has_waiting.store(true, Ordering::Release);
        self.crew.wake();
    }

    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.crew.wake();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Rank, Job)>> {
        // The list is consistent after each statement.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Jobs = FuturesUnordered<CatchUnwind<AssertUnwindSafe<Job>>>;

/// All jobs of a thread. The crew ends after the thread was told to stop.
pub(super) struct Crew {
    inbox: Arc<Inbox>,
    loops: Jobs,
    /// The jobs of connections, in teams of at most [`TEAM_MAX`].
    teams: Vec<Jobs>,
    stop: Option<Pin<Box<Sleep>>>,
}

impl Crew {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        Self { inbox, loops: Jobs::new(), teams: Vec::new(), stop: None }
    }

    fn admit(&mut self) {
        if !self.inbox.has_waiting.swap(false, Ordering::Acquire) {
            return;
        }
        let new = std::mem::take(&mut *self.inbox.lock());
        self.teams.retain(|team| !team.is_empty());
        for (rank, job) in new {
            let jobs = match rank {
                Rank::Loop => &mut self.loops,
                Rank::Connection => {
                    let place = self.teams.iter().position(|team| team.len() < TEAM_MAX);
                    let place = place.unwrap_or_else(|| {
                        self.teams.push(Jobs::new());
                        self.teams.len() - 1
                    });
                    &mut self.teams[place]
                }
            };
            jobs.push(AssertUnwindSafe(job).catch_unwind());
        }
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        if !self.inbox.is_stopping.load(Ordering::Acquire) {
            return false;
        }
        let stop = self.stop.get_or_insert_with(|| Box::pin(sleep(STOP_TIME_MAX)));
        let is_empty = self.loops.is_empty() && self.teams.iter().all(Jobs::is_empty);
        is_empty || stop.as_mut().poll(context).is_ready()
    }
}

/// Gives each job that was woken a turn.
fn run(jobs: &mut Jobs, context: &mut Context<'_>) {
    // The process's panic hook has printed the cause of a panic.
    while let Poll::Ready(Some(_)) = Pin::new(&mut *jobs).poll_next(context) {}
}

impl Future for Crew {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.inbox.crew.register(context.waker());
        loop {
            self.admit();
            let Self { loops, teams, .. } = &mut *self;
            run(loops, context);
            for team in teams {
                run(team, context);
                run(loops, context);
            }
            if !self.inbox.has_waiting.load(Ordering::Acquire) {
                break;
            }
        }
        if self.is_over(context) { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use futures_util::task::noop_waker_ref;

    use super::*;

    #[test]
    fn a_loop_has_turns_between_those_of_a_crowd() {
        const CROWD: usize = 1_000;
        let (inbox, waker) = (Arc::<Inbox>::default(), Arc::new(AtomicWaker::new()));
        let [all, since, longest] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
        let (of_loop, unseen, most) = (Arc::clone(&waker), Arc::clone(&since), Arc::clone(&longest));
        let serve = poll_fn(move |context| {
            of_loop.register(context.waker());
            most.fetch_max(unseen.swap(0, Ordering::Relaxed), Ordering::Relaxed);
            Poll::Pending
        });
        inbox.add(Rank::Loop, Box::pin(serve));
        for _ in 0..CROWD {
            // Each connection has a packet for the loop.
            let (all, since, waker) = (Arc::clone(&all), Arc::clone(&since), Arc::clone(&waker));
            let drive = poll_fn(move |_| {
                all.fetch_add(1, Ordering::Relaxed);
                since.fetch_add(1, Ordering::Relaxed);
                waker.wake();
                Poll::Pending
            });
            inbox.add(Rank::Connection, Box::pin(drive));
        }
        let mut crew = Crew::new(inbox);
        assert!(Pin::new(&mut crew).poll(&mut Context::from_waker(noop_waker_ref())).is_pending());
        assert_eq!(all.load(Ordering::Relaxed), CROWD);
        assert_eq!(since.load(Ordering::Relaxed), 0, "the loop has the last turn");
        assert_eq!(longest.load(Ordering::Relaxed), TEAM_MAX);
    }
}
