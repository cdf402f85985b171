//! Commands that wait for replies.

use std::collections::HashMap;
use std::task::{Poll, Waker};

use super::{CommandId, Error};

/// The results of this side's commands. Each reply wakes only its own task.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    commands: HashMap<CommandId, Awaited>,
}

#[derive(Debug)]
enum Awaited {
    Open(Option<Waker>),
    Done(Result<Vec<u8>, Error>),
}

impl Replies {
    /// Registers a command. The caller then calls [`poll`](Self::poll) until it is ready, or [`forget`](Self::forget).
    pub(crate) fn expect(&mut self, command: CommandId) {
        self.commands.insert(command, Awaited::Open(None));
    }

    /// Whether no command waits for a reply.
    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Sets the reply or its error. Returns false if no caller waits for it.
    pub(crate) fn settle(&mut self, command: CommandId, reply: Result<Vec<u8>, Error>) -> bool {
        let Some(awaited) = self.commands.get_mut(&command) else { return false };
        if let Awaited::Open(waker) = std::mem::replace(awaited, Awaited::Done(reply)) {
            waker.into_iter().for_each(Waker::wake);
        }
        true
    }

    /// Fails all waiting commands.
    pub(crate) fn settle_all(&mut self, error: &Error) {
        for awaited in self.commands.values_mut() {
            if let Awaited::Open(waker) = awaited {
                waker.take().into_iter().for_each(Waker::wake);
                *awaited = Awaited::Done(Err(error.clone()));
            }
        }
    }

    /// Returns the reply to a command; `None` if the command is unknown.
    pub(crate) fn poll(&mut self, command: CommandId, waker: &Waker) -> Option<Poll<Result<Vec<u8>, Error>>> {
        match self.commands.remove(&command)? {
            Awaited::Done(reply) => Some(Poll::Ready(reply)),
            Awaited::Open(_) => {
                self.commands.insert(command, Awaited::Open(Some(waker.clone())));
                Some(Poll::Pending)
            }
        }
    }

    /// Abandons the reply.
    pub(crate) fn forget(&mut self, command: CommandId) {
        self.commands.remove(&command);
    }
}
