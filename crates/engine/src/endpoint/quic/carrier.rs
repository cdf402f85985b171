//! A session's carrier, at either end: one packet is one QUIC datagram (`spec/CARRIERS.md`, section 3).

use std::sync::{Arc, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use quinn_proto::SendDatagramError;

use super::connection::{Connection, error_code};
use super::core::{Core, Reference};
use super::shared::Serving;
use crate::carrier::{
    CLOSED_VIOLATION, Carrier, CarrierKind, DATAGRAM_BYTES_MAX, Ended, Ending, QUARTER_STREAM_ID, copied,
    too_small,
};

/// An open WebTransport session. The endpoint's loop and the carrier share the connection.
pub(super) struct QuicCarrier {
    endpoint: Arc<Serving>,
    connection: Reference,
    ended: Arc<OnceLock<Ended>>,
}

impl QuicCarrier {
    /// Returns `None` if the connection is over already.
    pub(super) fn new(endpoint: &Arc<Serving>, connection: Reference) -> Option<Self> {
        let ended = Arc::clone(&endpoint.lock().connection(connection)?.ended);
        Some(Self { endpoint: Arc::clone(endpoint), connection, ended })
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.endpoint.lock()
    }

    /// The endpoint's loop sends what the connection has.
    fn wake_endpoint(&self, mut core: MutexGuard<'_, Core>) {
        let was_dirty = core.is_dirty();
        core.touch(self.connection);
        drop(core);
        if !was_dirty {
            self.endpoint.wake();
        }
    }

    /// Ready when the server has admitted this client.
    pub(super) fn poll_admitted(&self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        let mut core = self.lock();
        let connection = self.open(&mut core)?;
        if !connection.http.is_admitted() {
            wait(&mut connection.reader, context);
            return Poll::Pending;
        }
        let allowed = connection.quic.datagrams().max_size().unwrap_or(0);
        if allowed >= DATAGRAM_BYTES_MAX {
            return Poll::Ready(Ok(()));
        }
        connection.say_goodbye(Instant::now(), CLOSED_VIOLATION, &too_small(allowed));
        self.wake_endpoint(core);
        Poll::Ready(Err(Ended::Broken(format!("only {allowed} bytes fit into a datagram"))))
    }

    /// Returns the connection while the session is open.
    fn open<'a>(&self, core: &'a mut Core) -> Result<&'a mut Connection, Ended> {
        match core.connection(self.connection) {
            Some(connection) if connection.ended.get().is_none() => Ok(connection),
            _ => Err(self.end()),
        }
    }

    fn end(&self) -> Ended {
        self.ended.get().cloned().unwrap_or(Ended::Closed)
    }
}

impl Carrier for QuicCarrier {
    fn kind(&self) -> CarrierKind {
        CarrierKind::WebTransport
    }

    fn properties(&self) -> nowcast_session::Carrier {
        nowcast_session::Carrier::DATAGRAMS
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        let mut core = self.lock();
        let connection = self.open(&mut core)?;
        if connection.quic.datagrams().send_buffer_space() >= DATAGRAM_BYTES_MAX {
            return Poll::Ready(Ok(()));
        }
        wait(&mut connection.writer, context);
        Poll::Pending
    }

    fn send(&mut self, packet: &[u8]) -> Result<(), Ended> {
        let datagram = copied(&[&[QUARTER_STREAM_ID], packet]);
        let mut core = self.lock();
        let connection = self.open(&mut core)?;
        match connection.quic.datagrams().send(datagram, false) {
            // The buffer is full only if nobody has asked whether it has space. Networks lose packets, too.
            Ok(()) | Err(SendDatagramError::Blocked(_)) => {}
            Err(error) => return Err(Ended::Broken(error.to_string())),
        }
        self.wake_endpoint(core);
        Ok(())
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Ended>> {
        let mut core = self.lock();
        let Some(connection) = core.connection(self.connection) else {
            return Poll::Ready(Err(self.end()));
        };
        while let Some(mut datagram) = connection.quic.datagrams().recv() {
            // Datagrams for other streams are ignored.
            if datagram.first() == Some(&QUARTER_STREAM_ID) {
                return Poll::Ready(Ok(datagram.split_off(1)));
            }
        }
        if let Some(ended) = connection.ended.get() {
            return Poll::Ready(Err(ended.clone()));
        }
        wait(&mut connection.reader, context);
        Poll::Pending
    }

    fn poll_close(&mut self, context: &mut Context<'_>, ending: Ending) -> Poll<()> {
        let mut core = self.lock();
        let Some(connection) = core.connection(self.connection) else { return Poll::Ready(()) };
        let (code, reason) = match ending {
            Ending::Done => (0, "done"),
            Ending::GoingAway => (1, "going away"),
            Ending::Violation => (CLOSED_VIOLATION, "violation"),
        };
        connection.say_goodbye(Instant::now(), code, reason);
        if connection.ended.get().is_some() {
            return Poll::Ready(());
        }
        wait(&mut connection.reader, context);
        self.wake_endpoint(core);
        Poll::Pending
    }
}

impl Drop for QuicCarrier {
    fn drop(&mut self) {
        let mut core = self.lock();
        let Some(connection) = core.connection(self.connection) else { return };
        // A connection that waits for its peer's goodbye has a deadline.
        if connection.deadline.is_none() && connection.ended.get().is_none() {
            connection.close(Instant::now(), error_code(0), "");
        }
        self.wake_endpoint(core);
    }
}

fn wait(waiting: &mut Option<Waker>, context: &Context<'_>) {
    if !waiting.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
        *waiting = Some(context.waker().clone());
    }
}
