//! The lower limit: a message in memory behind a sequence number, without and with a futex.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use rustix::thread::futex;

use super::message::{MESSAGE_BYTES, Message};
use super::{Control, Inlet, LocalError, Outlet, Word};

const WORDS: usize = MESSAGE_BYTES / 8;

/// A seqlock with one message (Lameter 2005; Boehm 2012). The writer never waits. The reader repeats a read if the sequence
/// number changed during the read.
pub(super) struct Mailbox {
    control: Arc<Control>,
    last: u64,
}

impl Mailbox {
    pub(super) fn new(control: Arc<Control>) -> Mailbox {
        Mailbox { control, last: 0 }
    }

    fn parts(&self) -> (&AtomicU64, &[AtomicU64]) {
        let words = self.control.mailbox();
        (&words[0], &words[1..=WORDS])
    }
}

impl Outlet for Mailbox {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), LocalError> {
        let (sequence, content) = self.parts();
        let number = sequence.load(Ordering::Relaxed);
        sequence.store(number + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        for (word, bytes) in content.iter().zip(message.0.chunks_exact(8)) {
            word.store(u64::from_le_bytes(std::array::from_fn(|at| bytes[at])), Ordering::Relaxed);
        }
        sequence.store(number + 2, Ordering::Release);
        Ok(())
    }
}

impl Inlet for Mailbox {
    #[inline]
    fn try_receive(&mut self) -> Result<Option<Message>, LocalError> {
        let (sequence, content) = self.parts();
        let before = sequence.load(Ordering::Acquire);
        if before == self.last || before % 2 == 1 {
            return Ok(None);
        }
        let mut bytes = [0; MESSAGE_BYTES];
        for (word, bytes) in content.iter().zip(bytes.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        fence(Ordering::Acquire);
        if sequence.load(Ordering::Relaxed) != before {
            return Ok(None);
        }
        self.last = before;
        Ok(Some(Message(bytes)))
    }
}

/// The mailbox with the simplest way to sleep: one futex, which is woken for every message.
pub(super) struct FutexMailbox(pub(super) Mailbox);

impl Outlet for FutexMailbox {
    fn send(&mut self, message: &Message) -> Result<(), LocalError> {
        self.0.send(message)?;
        let word = self.0.control.futex();
        word.fetch_add(1, Ordering::SeqCst);
        // The flags leave out PRIVATE, because the sleeping reader is another process.
        let _ = futex::wake(word, futex::Flags::empty(), 1);
        Ok(())
    }
}

impl Inlet for FutexMailbox {
    fn try_receive(&mut self) -> Result<Option<Message>, LocalError> {
        self.0.try_receive()
    }

    fn receive(&mut self) -> Result<Option<Message>, LocalError> {
        let control = Arc::clone(&self.0.control);
        let word = control.futex();
        loop {
            let seen = word.load(Ordering::SeqCst);
            if let Some(message) = self.0.try_receive()? {
                return Ok(Some(message));
            }
            if control.word(Word::Stop).load(Ordering::Acquire) > 0 {
                return Ok(None);
            }
            let timeout = futex::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            // Every outcome requires the same: to check again.
            let _ = futex::wait(word, futex::Flags::empty(), seen, Some(&timeout));
        }
    }
}
