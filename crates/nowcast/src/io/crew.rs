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

/// The jobs that wait for their first turn.
#[derive(Default)]
pub(super) struct Inbox {
    waiting: Mutex<Vec<Job>>,
    has_waiting: AtomicBool,
    is_stopping: AtomicBool,
    crew: AtomicWaker,
}

impl Inbox {
    pub(super) fn add(&self, job: Job) {
        self.lock().push(job);
        self.has_waiting.store(true, Ordering::Release);
        self.crew.wake();
    }

    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.crew.wake();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Job>> {
        // The list is consistent after each statement.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All jobs of a thread. The crew ends after the thread was told to stop.
pub(super) struct Crew {
    inbox: Arc<Inbox>,
    jobs: FuturesUnordered<CatchUnwind<AssertUnwindSafe<Job>>>,
    stop: Option<Pin<Box<Sleep>>>,
}

impl Crew {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        Self { inbox, jobs: FuturesUnordered::new(), stop: None }
    }

    fn admit(&mut self) {
        if self.inbox.has_waiting.swap(false, Ordering::Acquire) {
            let new = std::mem::take(&mut *self.inbox.lock());
            self.jobs.extend(new.into_iter().map(|job| AssertUnwindSafe(job).catch_unwind()));
        }
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        if !self.inbox.is_stopping.load(Ordering::Acquire) {
            return false;
        }
        let stop = self.stop.get_or_insert_with(|| Box::pin(sleep(STOP_TIME_MAX)));
        self.jobs.is_empty() || stop.as_mut().poll(context).is_ready()
    }
}

impl Future for Crew {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.inbox.crew.register(context.waker());
        loop {
            self.admit();
            // The process's panic hook has printed the cause of a panic.
            while let Poll::Ready(Some(_)) = Pin::new(&mut self.jobs).poll_next(context) {}
            if !self.inbox.has_waiting.load(Ordering::Acquire) {
                break;
            }
        }
        if self.is_over(context) { Poll::Ready(()) } else { Poll::Pending }
    }
}
