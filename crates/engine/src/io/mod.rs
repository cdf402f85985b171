//! I/O threads. Each owns the sockets and connections of its clients, and runs all of their jobs in one loop.
//!
//! A job is a future that belongs to a connection, such as the driver of a session together with its application. The
//! loop that serves all QUIC connections of a socket is one job, too (`endpoint/quic/serving.rs`). All jobs of a thread are one
//! task of the thread's own runtime ([`crew`]). So a wake-up within the thread costs one entry in a list, and many wake-ups
//! from another thread, such as a room that has published a step, wake the thread once. The loop has a turn after at most 64
//! other jobs. So UDP datagrams of a turn leave together (`udp.rs`), and arriving datagrams do not wait for the turns of a
//! whole crowd. A busy thread collects events instead of waking for each of them ([`pace`]).
//!
//! Programs without I/O threads run the same jobs as tasks of their own runtime.

mod crew;
mod pace;
mod sources;
mod udp;

use std::cell::RefCell;
use std::io;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::task::unconstrained;

use crew::{Crew, Inbox, Rank};

pub(crate) use pace::Pace;
pub(crate) use udp::{Batch, DatagramSocket};

/// A future that belongs to a connection.
pub(crate) type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Number of turns of jobs after which a thread without a pause looks for events.
const EVENT_INTERVAL: u32 = 4;
/// Mean interval between the wake-ups of a busy thread. The session's pacing allows bursts of this length, so a pause does not reduce
/// the rate.
const WAKE_INTERVAL: Duration = Duration::from_millis(2);
/// Number of wake-ups that may follow each other without a pause.
const WAKE_BURST: u32 = 32;

thread_local! {
    /// The I/O thread that runs this code.
    static HERE: RefCell<Option<IoThread>> = const { RefCell::new(None) };
}

/// Threads that run the connections of a server. Dropping them ends each thread when its connections have ended, or after 3 s.
///
/// ```
/// use nowcast_engine::IoThreads;
///
/// let threads = IoThreads::start(std::num::NonZeroUsize::MIN)?;
/// let (done, ran) = std::sync::mpsc::channel();
/// threads.next().spawn(async move { done.send("on an I/O thread").expect("the test waits") });
/// assert_eq!(ran.recv(), Ok("on an I/O thread"));
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct IoThreads {
    threads: Vec<IoThread>,
    next: AtomicUsize,
}

/// A handle to one I/O thread; cheap to clone.
#[derive(Clone)]
pub struct IoThread {
    inbox: Arc<Inbox>,
}

impl IoThreads {
    /// Starts this number of threads.
    ///
    /// # Errors
    /// The system's error for a thread or for its event queue.
    pub fn start(count: NonZeroUsize) -> io::Result<Self> {
        let threads = (0..count.get()).map(IoThread::start).collect::<io::Result<_>>()?;
        Ok(Self { threads, next: AtomicUsize::new(0) })
    }

    /// Returns the threads in turn, so that each gets as many connections as the others.
    pub fn next(&self) -> &IoThread {
        &self.threads[self.next.fetch_add(1, Ordering::Relaxed) % self.threads.len()]
    }

    /// All threads.
    #[must_use]
    pub fn all(&self) -> &[IoThread] {
        &self.threads
    }
}

impl Drop for IoThreads {
    fn drop(&mut self) {
        self.threads.iter().for_each(|thread| thread.inbox.stop());
    }
}

impl IoThread {
    fn start(number: usize) -> io::Result<Self> {
        let inbox = Arc::<Inbox>::default();
        let thread = Self { inbox: Arc::clone(&inbox) };
        let here = thread.clone();
        let pace = Mutex::new(Pace::new(Instant::now(), WAKE_INTERVAL, WAKE_BURST));
        let runtime = Builder::new_current_thread()
            .enable_all()
            .event_interval(EVENT_INTERVAL)
            .on_thread_park(move || {
                let pause = pace.lock().unwrap_or_else(PoisonError::into_inner).pause(Instant::now());
                if !pause.is_zero() {
                    thread::sleep(pause);
                }
            })
            .build()?;
        thread::Builder::new().name(format!("io {number}")).spawn(move || {
            HERE.set(Some(here));
            // The jobs are one task. A task's budget of operations is meant for one connection, so it does not apply.
            let crew = runtime.block_on(async { tokio::spawn(unconstrained(Crew::new(inbox))).await });
            if let Err(error) = crew {
                tracing::error!(%error, "an I/O thread failed");
            }
            runtime.shutdown_background();
        })?;
        Ok(thread)
    }

    /// The I/O thread that runs the caller, if it is one.
    #[must_use]
    pub fn current() -> Option<Self> {
        HERE.with_borrow(Clone::clone)
    }

    /// Runs a future on the thread. A panic ends only this future.
    pub fn spawn(&self, job: impl Future<Output = ()> + Send + 'static) {
        self.inbox.add(Rank::Connection, Box::pin(job));
    }

    /// Runs a function on the thread, and waits for its result. Must not be called by a job of the thread.
    ///
    /// # Errors
    /// Fails if the thread has ended.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let (done, result) = mpsc::channel();
        // The receiver waits below.
        self.spawn(async move { _ = done.send(work()) });
        result.recv().map_err(|_| io::Error::other("the I/O thread has ended"))
    }
}

impl std::fmt::Debug for IoThread {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("IoThread").finish_non_exhaustive()
    }
}

/// Runs a job on this I/O thread, or else as a task of the current runtime.
pub(crate) fn spawn(job: impl Future<Output = ()> + Send + 'static) {
    match IoThread::current() {
        Some(thread) => thread.spawn(job),
        None => drop(tokio::spawn(job)),
    }
}

/// Runs the loop of a socket that many connections share, on this I/O thread or as a task of the current runtime. On an I/O thread it
/// has a turn after those of a few connections.
pub(crate) fn spawn_loop(job: impl Future<Output = ()> + Send + 'static) {
    match IoThread::current() {
        Some(thread) => thread.inbox.add(Rank::Loop, Box::pin(job)),
        None => drop(tokio::spawn(job)),
    }
}
