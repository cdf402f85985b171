//! The four verbs.

use super::Error;
use super::backend::Queues;
use super::message::{Command, Envelope, Message, open, reply_of};
use crate::pack::{Pack, Packer, Unpacker};
use futures_util::Stream;
use nowcast_queue::{Counters, Key, Refusal, UpdatableQueue};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// A two-way connection to another task of this machine.
///
/// ```
/// use nowcast::local::{self, Message};
/// use std::time::{Duration, Instant};
///
/// # let name = &format!("doc-channel-{}", std::process::id());
/// let mut service = local::advertise(name)?;
/// let doubler = std::thread::spawn({
///     # let name = name.clone();
///     move || {
///         let mut channel = local::connect(&name)?;
///         while let Ok(message) = channel.receive_wait(None) {
///             if let Message::Command(command) = message {
///                 let number: u32 = command.unpack()?;
///                 channel.reply(command, &(2 * number))?;
///             }
///         }
///         Ok::<_, local::Error>(())
///     }
/// });
/// let mut channel = service.accept(None)?;
/// let answer: u32 = channel.command(&21_u32, Instant::now() + Duration::from_secs(1))?;
/// assert_eq!(answer, 42);
/// drop(channel); // closes it, which ends the other side's loop
/// doubler.join().unwrap()?;
/// # Ok::<_, local::Error>(())
/// ```
#[derive(Debug)]
pub struct Channel {
    queues: Queues,
    packer: Packer,
    /// Messages that arrived while a reply was awaited. It obeys the same laws as the queue they came from.
    kept: UpdatableQueue<Vec<u8>>,
    /// A message that did not fit in there.
    held: Option<(Key, Vec<u8>)>,
    commands: u64,
    late_replies: u64,
}

/// What a channel has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// The messages that this side put.
    pub sent: Counters,
    /// Replies that came after their command's deadline, and were dropped.
    pub late_replies: u64,
}

impl Channel {
    pub(super) fn new(queues: Queues) -> Channel {
        let bounds = queues.receiver.bounds().first().copied().unwrap_or_default();
        Channel {
            queues,
            packer: Packer::default(),
            kept: UpdatableQueue::new(bounds),
            held: None,
            commands: 0,
            late_replies: 0,
        }
    }

    /// Puts a state: the newest value of a key wins. Never waits.
    ///
    /// # Errors
    /// [`Refusal::Full`] when the key is new to a queue that is full, and whatever ended the channel.
    ///
    /// # Panics
    /// When `key` is 0, which marks events.
    pub fn state(&mut self, key: u64, value: &impl Pack) -> Result<(), Error> {
        self.packer.clear();
        value.pack(&mut self.packer);
        self.queues.sender.try_put_on(0, Key::state(key), self.packer.bytes())?;
        Ok(())
    }

    /// Puts an event, which is delivered exactly once and in order. Waits while the queue is full; use
    /// [`try_event`](Self::try_event) where that may not be.
    ///
    /// # Errors
    /// Whatever ended the channel.
    pub fn event(&mut self, value: &impl Pack) -> Result<(), Error> {
        Envelope::Event.seal(value, &mut self.packer);
        self.queues.sender.put_on(0, Key::EVENT, self.packer.bytes(), None)?;
        Ok(())
    }

    /// As [`event`](Self::event), but never waits.
    ///
    /// # Errors
    /// [`Refusal::Full`], and whatever ended the channel.
    pub fn try_event(&mut self, value: &impl Pack) -> Result<(), Error> {
        Envelope::Event.seal(value, &mut self.packer);
        self.queues.sender.try_put_on(0, Key::EVENT, self.packer.bytes())?;
        Ok(())
    }

    /// Puts a command and waits for its reply. What else arrives meanwhile is received afterwards.
    ///
    /// # Errors
    /// [`Refusal::TimedOut`] at the deadline, [`Error::Behind`] when more arrives than the queue's bounds let this side
    /// keep, and whatever ended the channel. A reply that comes later is dropped and counted.
    pub fn command<R: Pack>(&mut self, value: &impl Pack, deadline: Instant) -> Result<R, Error> {
        let id = self.next_command(value);
        self.queues.sender.put_on(0, Key::EVENT, self.packer.bytes(), Some(deadline))?;
        loop {
            self.check_room()?;
            let mut bytes = Vec::new();
            let (_, key) = self.queues.receiver.get_any(&mut bytes, Some(deadline))?;
            if let Some(reply) = self.sort(key, bytes, id)? {
                return Ok(Unpacker::message(&reply)?);
            }
        }
    }

    /// As [`command`](Self::command), for async tasks: dropping the future gives up on the reply.
    ///
    /// # Errors
    /// As [`command`](Self::command), without a deadline of its own.
    pub async fn command_async<R: Pack>(&mut self, value: &impl Pack) -> Result<R, Error> {
        let id = self.next_command(value);
        let queues = &mut self.queues;
        let packer = &self.packer;
        poll_fn(|context| queues.sender.poll_put_on(context, 0, Key::EVENT, packer.bytes())).await?;
        loop {
            self.check_room()?;
            let mut bytes = Vec::new();
            let receiver = &mut self.queues.receiver;
            let (_, key) = poll_fn(|context| receiver.poll_get_any(context, &mut bytes)).await?;
            if let Some(reply) = self.sort(key, bytes, id)? {
                return Ok(Unpacker::message(&reply)?);
            }
        }
    }

    /// Answers a command, waiting while the queue is full.
    ///
    /// # Errors
    /// Whatever ended the channel.
    pub fn reply(&mut self, command: Command, value: &impl Pack) -> Result<(), Error> {
        Envelope::Reply(command.id).seal(value, &mut self.packer);
        self.queues.sender.put_on(0, Key::EVENT, self.packer.bytes(), None)?;
        Ok(())
    }

    /// Receives the next message, if there is one.
    ///
    /// # Errors
    /// Whatever ended the channel, once everything put before has been received.
    pub fn receive(&mut self) -> Result<Option<Message>, Error> {
        loop {
            if let Some(message) = self.receive_kept()? {
                return Ok(Some(message));
            }
            let mut bytes = Vec::new();
            match self.queues.receiver.try_get_any(&mut bytes)? {
                None => return Ok(None),
                Some((_, key)) => self.held = Some((key, bytes)),
            }
        }
    }

    /// Receives the next message, waiting for one until the deadline.
    ///
    /// # Errors
    /// [`Refusal::TimedOut`], and whatever ended the channel.
    pub fn receive_wait(&mut self, deadline: Option<Instant>) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.receive_kept()? {
                return Ok(message);
            }
            let mut bytes = Vec::new();
            let (_, key) = self.queues.receiver.get_any(&mut bytes, deadline)?;
            self.held = Some((key, bytes));
        }
    }

    /// Receives the next message, for async tasks.
    ///
    /// # Errors
    /// Whatever ended the channel.
    pub async fn next(&mut self) -> Result<Message, Error> {
        poll_fn(|context| self.poll_receive(context)).await
    }

    /// Receives the next message, or arranges for the task to be woken when there is one.
    ///
    /// # Errors
    /// Whatever ended the channel.
    pub fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Message, Error>> {
        loop {
            if let Some(message) = self.receive_kept()? {
                return Poll::Ready(Ok(message));
            }
            let mut bytes = Vec::new();
            let (_, key) = ready!(self.queues.receiver.poll_get_any(context, &mut bytes))?;
            self.held = Some((key, bytes));
        }
    }

    /// The messages as a stream, which ends when the peer closes.
    pub fn messages(&mut self) -> Messages<'_> {
        Messages { channel: self }
    }

    /// What has happened so far.
    #[must_use]
    pub fn counted(&self) -> Counted {
        Counted { sent: self.queues.sender.counters(), late_replies: self.late_replies }
    }

    /// The process at the other end.
    #[must_use]
    pub fn peer_pid(&self) -> u32 {
        self.queues.receiver.peer_pid()
    }

    fn next_command(&mut self, value: &impl Pack) -> u64 {
        self.commands += 1;
        Envelope::Command(self.commands).seal(value, &mut self.packer);
        self.commands
    }

    /// The next message that arrived earlier. A reply that nobody waits for any longer ends here.
    fn receive_kept(&mut self) -> Result<Option<Message>, Error> {
        while let Some((key, bytes)) = self.kept.pop().or_else(|| self.held.take()) {
            match open(key, bytes)? {
                Some(message) => return Ok(Some(message)),
                None => self.late_replies += 1,
            }
        }
        Ok(None)
    }

    /// Whether one more message can be kept.
    fn check_room(&self) -> Result<(), Error> {
        if self.held.is_some() { Err(Error::Behind) } else { Ok(()) }
    }

    /// Returns the awaited reply, and keeps everything else in the order of the queue.
    fn sort(&mut self, key: Key, bytes: Vec<u8>, awaited: u64) -> Result<Option<Vec<u8>>, Error> {
        if let Some((id, reply)) = reply_of(key, &bytes) {
            if id == awaited {
                return Ok(Some(reply.to_vec()));
            }
            self.late_replies += 1;
            return Ok(None);
        }
        if let Err(refused) = self.kept.put(key, bytes) {
            self.held = Some((key, refused.value));
        }
        Ok(None)
    }
}

/// The messages of a channel; see [`Channel::messages`].
#[derive(Debug)]
pub struct Messages<'a> {
    channel: &'a mut Channel,
}

impl Stream for Messages<'_> {
    type Item = Result<Message, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match ready!(self.channel.poll_receive(context)) {
            Err(Error::Queue(Refusal::Closed)) => Poll::Ready(None),
            other => Poll::Ready(Some(other)),
        }
    }
}
