//! The channels of programs that connect, in a queue.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use nowcast_engine::{AcceptConfig, Acceptor, Application, DrivenSession, Serve, SessionOwner};
use nowcast_session::{CloseCode, Closed, ClosedBy};
use tokio::sync::mpsc;

use crate::channel::{Channel, Entry, Error};
use crate::session_link::{SessionLink, Shared, SharedOwner};

/// Maximum number of channels that the application has not accepted yet. Above it, new sessions are refused as busy. A session
/// counts only after its peer's proof, so clients that begin slowly keep out nobody.
const BACKLOG_MAX: usize = 1_024;

/// Receiver of the accepted channels.
pub struct Accepted {
    ready: mpsc::Receiver<Channel>,
}

impl Accepted {
    /// Makes an acceptor, and the receiver of its channels. Your own endpoint passes upgraded WebSockets to the acceptor:
    ///
    /// ```no_run
    /// # async fn upgraded() -> Result<tokio::net::TcpStream, std::io::Error> { unimplemented!() }
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use nowcast::{AcceptConfig, Accepted, Entry};
    /// use nowcast_engine::carrier::WebSocket;
    ///
    /// let (acceptor, mut service) = Accepted::open(AcceptConfig::default());
    /// tokio::spawn(async move {
    ///     let stream = upgraded().await?; // by your HTTP server, with the subprotocol "nowcast.1"
    ///     let entry = Entry { room: "tracker".into(), ..Entry::default() };
    ///     acceptor.hand_over(Box::new(WebSocket::accepted(stream, Vec::new()).await), entry);
    ///     Ok::<_, std::io::Error>(())
    /// });
    /// let channel = service.accept().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn open(config: AcceptConfig) -> (Acceptor, Accepted) {
        let (queue, accepted) = Self::queue();
        (Acceptor::new(config, queue), accepted)
    }

    /// Makes a queue of channels.
    pub(crate) fn queue() -> (Queue, Accepted) {
        let (queue, ready) = mpsc::channel(BACKLOG_MAX);
        (Queue(queue), Accepted { ready })
    }

    /// Waits for the next channel. Returns `None` once every acceptor has been dropped.
    pub async fn next(&mut self) -> Option<Channel> {
        self.ready.recv().await
    }

    /// Like [`next`](Self::next). An error means that no further channel can arrive.
    ///
    /// # Errors
    /// [`Error::Closed`] with `going_away`.
    pub async fn accept(&mut self) -> Result<Channel, Error> {
        self.next().await.ok_or_else(is_gone)
    }

    /// Like [`accept`](Self::accept), but never waits. Returns `None` if no program has connected.
    ///
    /// # Errors
    /// Like [`accept`](Self::accept).
    pub fn try_accept(&mut self) -> Result<Option<Channel>, Error> {
        match self.ready.try_recv() {
            Ok(channel) => Ok(Some(channel)),
            Err(mpsc::error::TryRecvError::Empty) => Ok(None),
            Err(mpsc::error::TryRecvError::Disconnected) => Err(is_gone()),
        }
    }
}

fn is_gone() -> Error {
    Error::Closed(Closed {
        code: CloseCode::GOING_AWAY,
        reason: "the endpoint is gone".into(),
        by: ClosedBy::Us,
    })
}

impl std::fmt::Debug for Accepted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Accepted").finish_non_exhaustive()
    }
}

/// The sending end of [`Accepted`], which acceptors and programs of this machine share.
#[derive(Clone)]
pub(crate) struct Queue(mpsc::Sender<Channel>);

impl Queue {
    /// Waits for room, and adds a channel. Returns false if the receiver is gone.
    pub(crate) async fn add(&self, channel: Channel) -> bool {
        self.0.send(channel).await.is_ok()
    }
}

impl Serve for Queue {
    fn is_busy(&self) -> bool {
        self.0.capacity() == 0 || self.0.is_closed()
    }

    fn begin(&self, entry: Entry, session: DrivenSession) -> Box<dyn SessionOwner> {
        let owner = SharedOwner(Shared::new(session));
        Box::new(Opening { owner, entry: Some(entry), queue: self.0.clone() })
    }
}

/// A session whose channel is passed on when the session opens; then there is no entry any more.
struct Opening {
    owner: SharedOwner,
    entry: Option<Entry>,
    queue: mpsc::Sender<Channel>,
}

impl SessionOwner for Opening {
    fn lend(&mut self, turn: &mut dyn FnMut(&mut DrivenSession, &mut dyn Application)) {
        self.owner.lend(turn);
        let Self { owner: SharedOwner(shared), entry, queue } = self;
        // The carrier may end between our answer and the peer's proof. The session then opens on a later carrier.
        if entry.is_none() || !shared.lock().driven.is_open() {
            return;
        }
        let Some(entry) = entry.take() else { return };
        match queue.try_reserve() {
            Ok(slot) => slot.send(Channel::new(Arc::new(SessionLink::new(Arc::clone(shared), entry)))),
            Err(_) => shared.lock().close(CloseCode::BUSY.0, "the service does not accept now"),
        }
    }
}
