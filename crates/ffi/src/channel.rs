//! Receiving into the memory of a caller, with timeouts.

use std::cell::Cell;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use nowcast::blocking::{self, wait_until};
use nowcast::{Channel, Error, Lane, LaneId, Message, Received};

use crate::failure::{Failure, Status};
use crate::notify::Notify;

/// Maximum buffer that a thread keeps after a large message.
const SCRATCH_BYTES_MAX: usize = 256 * 1_024;

/// Lanes whose handles a channel keeps. No channel has more.
const LANES: usize = 16;

/// The moment from which times are counted.
pub(crate) static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// How long a call may wait.
#[derive(Clone, Copy)]
pub enum Wait {
    /// Not at all.
    Never,
    /// Until this time.
    Until(Instant),
    /// Without a limit.
    Forever,
}

impl Wait {
    /// Negative numbers wait without a limit.
    pub fn of_ms(timeout_ms: i64) -> Self {
        match u64::try_from(timeout_ms) {
            Ok(0) => Self::Never,
            // A deadline that the clock cannot represent is never reached.
            Ok(ms) => {
                Instant::now().checked_add(Duration::from_millis(ms)).map_or(Self::Forever, Self::Until)
            }
            Err(_) => Self::Forever,
        }
    }

    /// Returns the time that is left.
    pub fn left(self) -> Duration {
        match self {
            Self::Never => Duration::ZERO,
            Self::Until(deadline) => deadline.saturating_duration_since(Instant::now()),
            Self::Forever => Duration::MAX,
        }
    }

    /// Returns the end of the wait, if it has one.
    fn deadline(self) -> Option<Instant> {
        match self {
            Self::Never => Some(Instant::now()),
            Self::Until(deadline) => Some(deadline),
            Self::Forever => None,
        }
    }

    /// Runs a future in this thread, at most for this wait.
    ///
    /// # Errors
    /// Fails with [`Status::TimedOut`] if the wait ends first, or with the error that the future returns.
    pub fn run<T, E>(self, future: impl Future<Output = Result<T, E>>) -> Result<T, Failure>
    where
        Failure: From<E>,
    {
        Ok(wait_until(self.deadline(), future).ok_or_else(timed_out)??)
    }
}

fn timed_out() -> Failure {
    Failure::from(Error::TimedOut)
}

/// A channel with a handle.
pub struct ChannelObject {
    channel: Channel,
    lanes: [OnceLock<Lane>; LANES],
    /// A message that was larger than the buffer of the caller.
    held: Mutex<Option<(Received, Vec<u8>)>>,
    has_held: AtomicBool,
    notify: OnceLock<Notify>,
}

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl From<Channel> for ChannelObject {
    fn from(channel: Channel) -> Self {
        LazyLock::force(&BEGIN);
        Self {
            channel,
            lanes: Default::default(),
            held: Mutex::default(),
            has_held: AtomicBool::new(false),
            notify: OnceLock::new(),
        }
    }
}

impl ChannelObject {
    /// The channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Returns a lane.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn lane(&self, number: u8) -> Result<&Lane, Failure> {
        let lane = self.lanes.get(usize::from(number));
        let lane = lane.ok_or_else(|| Failure::new(Status::Refused, format!("no lane {number}")))?;
        Ok(lane.get_or_init(|| self.channel.lane(LaneId::new(number))))
    }

    /// Receives the next message, and passes it to `take`. If `take` refuses it, the next call receives the same message again.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn receive<R>(
        &self,
        wait: Wait,
        take: impl FnOnce(&Received, &[u8]) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        if self.has_held.load(Ordering::Acquire) {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((received, bytes)) = &*held {
                let taken = take(received, bytes)?;
                *held = None;
                self.has_held.store(false, Ordering::Release);
                return Ok(taken);
            }
        }
        let mut bytes = SCRATCH.take();
        let taken = self.receive_bytes(&mut bytes, wait).and_then(|received| {
            take(&received, &bytes).inspect_err(|_| {
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                *held = Some((received, std::mem::take(&mut bytes)));
                self.has_held.store(true, Ordering::Release);
                self.notify.get().into_iter().for_each(Notify::set);
            })
        });
        if bytes.capacity() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(bytes);
        }
        taken
    }

    fn receive_bytes(&self, bytes: &mut Vec<u8>, wait: Wait) -> Result<Received, Failure> {
        if let Some(received) = self.channel.try_receive_into(bytes)? {
            return Ok(received);
        }
        match wait {
            Wait::Never => self.armed(|waker| {
                let mut receiving = pin!(self.channel.receive_into(bytes));
                receiving.as_mut().poll(&mut Context::from_waker(waker))
            }),
            _ => Ok(blocking::receive_into(&self.channel, bytes, wait.deadline())?),
        }
    }

    /// Receives the next message as the world client reads it.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn receive_message(&self, wait: Wait) -> Result<Message, Failure> {
        if let Some(message) = self.channel.try_receive()? {
            return Ok(message);
        }
        match wait {
            Wait::Never => self.armed(|waker| self.channel.poll_receive(&mut Context::from_waker(waker))),
            _ => Ok(blocking::receive(&self.channel, wait.deadline())?),
        }
    }

    /// Makes the descriptor unreadable, unless there is a message after all.
    fn armed<T>(&self, mut poll: impl FnMut(&Waker) -> Poll<Result<T, Error>>) -> Result<T, Failure> {
        let Some(notify) = self.notify.get() else { return Err(timed_out()) };
        // A wake between the two polls is not lost: it came before the descriptor was cleared, and the second poll sees its
        // cause.
        for is_cleared in [false, true] {
            if is_cleared {
                notify.clear();
            }
            if let Poll::Ready(received) = poll(notify.waker()) {
                notify.set();
                return Ok(received?);
            }
        }
        Err(timed_out())
    }

    /// Returns the descriptor.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn descriptor(&self) -> Result<i32, Failure> {
        if self.notify.get().is_none() {
            // Another thread may have set it already.
            let _ = self.notify.set(Notify::new()?);
        }
        let notify = self.notify.get().ok_or_else(|| Failure::new(Status::Internal, "no descriptor"))?;
        notify.descriptor()
    }
}
