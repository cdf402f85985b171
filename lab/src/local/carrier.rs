//! All carriers between two processes, behind one pair of traits.

use std::process::ChildStdin;
use std::sync::Arc;

use nowcast_queue::Key;

use super::mailbox::{FutexMailbox, Mailbox};
use super::{Control, Inlet, LocalError, Outlet, Patience, kernel, queue};

/// A way to send messages from one process to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// Only a seqlock in shared memory. This is the lower limit.
    Mailbox,
    /// The seqlock, and a bare futex.
    Futex,
    /// Our queue. Every message is a state with the same key.
    Updates,
    /// Our queue. Every message is an event.
    Events,
    /// A pipe.
    Pipe,
    /// A Unix socket.
    Unix,
    /// TCP over loopback, with TCP_NODELAY.
    Tcp,
}

impl Carrier {
    const ALL: [Carrier; 7] = [
        Carrier::Mailbox,
        Carrier::Futex,
        Carrier::Updates,
        Carrier::Events,
        Carrier::Pipe,
        Carrier::Unix,
        Carrier::Tcp,
    ];

    /// Returns the name of the carrier in reports.
    pub fn name(self) -> &'static str {
        match self {
            Carrier::Mailbox => "raw seqlock mailbox",
            Carrier::Futex => "bare futex",
            Carrier::Updates => "Nowcast queue, updates",
            Carrier::Events => "Nowcast queue, events",
            Carrier::Pipe => "pipe",
            Carrier::Unix => "Unix socket",
            Carrier::Tcp => "TCP",
        }
    }

    /// Returns the name of the carrier for the child process.
    pub fn word(self) -> String {
        format!("{self:?}")
    }

    /// Returns the carrier for a name that [`Carrier::word`] returned.
    pub fn from_word(word: &str) -> Option<Carrier> {
        Carrier::ALL.into_iter().find(|carrier| carrier.word().eq_ignore_ascii_case(word))
    }

    /// Whether only the newest message counts. A message that was not read in time is then never read.
    pub fn replaces(self) -> bool {
        matches!(self, Carrier::Mailbox | Carrier::Updates)
    }
}

/// The part of a carrier that the sender prepares before the receiver starts.
pub struct Meeting {
    /// The address that the receiver needs.
    pub address: String,
    door: Prepared,
}

enum Prepared {
    Ready(Box<dyn Outlet>),
    Queue(nowcast_shm::Listener, Key),
    Stream(kernel::Door),
    Pipe,
}

impl Meeting {
    /// Prepares the sender's side under a unique name.
    ///
    /// # Errors
    /// Fails if the system refuses the segment, socket or pipe.
    pub fn prepare(carrier: Carrier, name: &str, control: &Arc<Control>) -> Result<Meeting, LocalError> {
        let named = |door| Ok(Meeting { address: name.to_owned(), door });
        match carrier {
            Carrier::Mailbox => named(Prepared::Ready(Box::new(Mailbox::new(control.clone())))),
            Carrier::Futex => named(Prepared::Ready(Box::new(FutexMailbox(Mailbox::new(control.clone()))))),
            Carrier::Updates => named(Prepared::Queue(queue::listen(name)?, Key::state(1))),
            Carrier::Events => named(Prepared::Queue(queue::listen(name)?, Key::EVENT)),
            Carrier::Pipe => named(Prepared::Pipe),
            Carrier::Unix => {
                let (door, address) = kernel::unix_door(name)?;
                Ok(Meeting { address, door: Prepared::Stream(door) })
            }
            Carrier::Tcp => {
                let (door, address) = kernel::tcp_door()?;
                Ok(Meeting { address, door: Prepared::Stream(door) })
            }
        }
    }

    /// Whether the child's standard input is the carrier.
    pub fn is_pipe(&self) -> bool {
        matches!(self.door, Prepared::Pipe)
    }

    /// Connects to the receiver, which must have been started.
    ///
    /// # Errors
    /// Fails if the receiver does not connect in time, or if the system refuses a connection.
    pub fn connect(self, input: Option<ChildStdin>) -> Result<Box<dyn Outlet>, LocalError> {
        match self.door {
            Prepared::Ready(outlet) => Ok(outlet),
            Prepared::Queue(listener, key) => Ok(Box::new(queue::Queue::accept(listener, key)?)),
            Prepared::Stream(door) => door.accept(),
            Prepared::Pipe => input
                .map(kernel::pipe_to)
                .ok_or_else(|| LocalError::carrier("pipe", "the child has no input")),
        }
    }
}

impl Carrier {
    /// Opens the receiver's side. Streams take at most `batch` messages from the kernel at once.
    ///
    /// # Errors
    /// Fails if the sender does not exist, or if the system refuses a connection.
    pub fn receive_at(
        self,
        address: &str,
        control: &Arc<Control>,
        patience: Patience,
        batch: usize,
    ) -> Result<Box<dyn Inlet>, LocalError> {
        match self {
            Carrier::Mailbox => Ok(Box::new(Mailbox::new(control.clone()))),
            Carrier::Futex => Ok(Box::new(FutexMailbox(Mailbox::new(control.clone())))),
            Carrier::Updates => Ok(Box::new(queue::Queue::connect(address, Key::state(1))?)),
            Carrier::Events => Ok(Box::new(queue::Queue::connect(address, Key::EVENT)?)),
            Carrier::Pipe => kernel::standard_input(patience, batch),
            Carrier::Unix => kernel::connect_unix(address, patience, batch),
            Carrier::Tcp => kernel::connect_tcp(address, patience, batch),
        }
    }
}
