//! Commands whose replies are awaited.

use std::collections::HashMap;
use std::task::{Poll, Waker};

use super::{CommandId, Error};

/// The outcomes of this side's commands. Each reply wakes only the task that asked.
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
    /// A command was put. Its caller asks with [`poll`](Self::poll) until it is ready, or calls [`forget`](Self::forget).
    pub(crate) fn expect(&mut self, command: CommandId) {
        self.commands.insert(command, Awaited::Open(None));
    }

    /// Whether no reply is awaited.
    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// The reply came, or will not come. False where nobody waits for it.
    pub(crate) fn settle(&mut self, command: CommandId, reply: Result<Vec<u8>, Error>) -> bool {
        let Some(awaited) = self.commands.get_mut(&command) else { return false };
        if let Awaited::Open(waker) = std::mem::replace(awaited, Awaited::Done(reply)) {
            waker.into_iter().for_each(Waker::wake);
        }
        true
    }

    /// None of the replies that are awaited will come.
    pub(crate) fn settle_all(&mut self, error: &Error) {
        for awaited in self.commands.values_mut() {
            if let Awaited::Open(waker) = awaited {
                waker.take().into_iter().for_each(Waker::wake);
                *awaited = Awaited::Done(Err(error.clone()));
            }
        }
    }

    /// The reply to a command. `None` where the command is not known.
    pub(crate) fn poll(&mut self, command: CommandId, waker: &Waker) -> Option<Poll<Result<Vec<u8>, Error>>> {
        match self.commands.remove(&command)? {
            Awaited::Done(reply) => Some(Poll::Ready(reply)),
            Awaited::Open(_) => {
                self.commands.insert(command, Awaited::Open(Some(waker.clone())));
                Some(Poll::Pending)
            }
        }
    }

    /// Nobody waits for this reply any longer.
    pub(crate) fn forget(&mut self, command: CommandId) {
        self.commands.remove(&command);
    }
}
