//! One connection of a QUIC endpoint.

use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_proto::{ConnectionError, VarInt};
use web_transport_proto::error_to_http3;

use super::handshakes::Handshake;
use super::http::Http;
use crate::carrier::{Ended, patient};
use nowcast_admission::Permit;

/// Time for a peer to confirm the end of its session, in round trips, and its minimum.
const GOODBYE_ROUND_TRIPS: u32 = 3;
const GOODBYE_TIME_MIN: Duration = Duration::from_millis(100);

/// A connection, and what the endpoint knows about it.
pub(super) struct Connection {
    /// Distinguishes this connection from earlier ones with the same handle.
    pub(super) serial: u64,
    pub(super) quic: quinn_proto::Connection,
    pub(super) http: Http,
    /// At a server, until the client's request is answered.
    pub(super) entering: Option<Entering>,
    /// The time at which the connection is closed, and its code.
    pub(super) deadline: Option<(Instant, VarInt)>,
    /// QUIC's timer: its time, and the time at which it fires.
    timer: Option<(Instant, Instant)>,
    /// The earliest entry for this connection in the endpoint's list of timers.
    pub(super) queued_at: Option<Instant>,
    /// Whether the connection may have packets to send.
    pub(super) is_dirty: bool,
    /// The task that waits for datagrams.
    pub(super) reader: Option<Waker>,
    /// The task that waits for space.
    pub(super) writer: Option<Waker>,
    pub(super) ended: Arc<OnceLock<Ended>>,
    is_closing: bool,
}

/// A client whose request is not answered.
pub(super) struct Entering {
    pub(super) _handshake: Handshake,
    pub(super) _place: Option<Permit>,
    /// Whether the endpoint watches the client's address, because the address is not validated.
    pub(super) is_watched: bool,
}

impl Connection {
    /// `entering` is a client at a server, and the time by which its request must be answered.
    pub(super) fn new(
        serial: u64,
        quic: quinn_proto::Connection,
        http: Http,
        entering: Option<(Entering, Instant)>,
    ) -> Self {
        let (entering, deadline) = entering.unzip();
        Self {
            serial,
            quic,
            http,
            entering,
            deadline: deadline.map(|at| (at, error_code(0))),
            timer: None,
            queued_at: None,
            is_dirty: false,
            reader: None,
            writer: None,
            ended: Arc::default(),
            is_closing: false,
        }
    }

    /// Ends the session. The peer has a moment to close the connection.
    pub(super) fn say_goodbye(&mut self, now: Instant, code: u32, reason: &str) {
        if self.is_closing || self.quic.is_closed() {
            return;
        }
        self.is_closing = true;
        let wait = (self.quic.rtt() * GOODBYE_ROUND_TRIPS).max(GOODBYE_TIME_MIN);
        match self.http.close(&mut self.quic, code, reason) {
            Ok(()) => self.deadline = Some((now + wait, error_code(code))),
            Err(_) => self.close(now, error_code(code), ""),
        }
    }

    /// Closes the connection at once.
    pub(super) fn close(&mut self, now: Instant, code: VarInt, reason: &str) {
        self.is_closing = true;
        self.deadline = None;
        self.quic.close(now, code, Bytes::copy_from_slice(reason.as_bytes()));
        self.end(Ended::Closed);
    }

    /// Records the end, and wakes the carrier's task.
    pub(super) fn end(&mut self, ended: Ended) {
        // Only the first cause counts.
        let _ = self.ended.set(ended);
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }

    /// Reads QUIC's timer again. Returns the time at which the connection next needs attention.
    pub(super) fn arm(&mut self, now: Instant) -> Option<Instant> {
        let at = self.quic.poll_timeout();
        if self.timer.map(|(at, _)| at) != at {
            self.timer = at.map(|at| (at, patient(now, at)));
        }
        self.due_at()
    }

    /// The time at which the connection next needs attention.
    pub(super) fn due_at(&self) -> Option<Instant> {
        let fires = self.timer.map(|(_, fires)| fires);
        fires.into_iter().chain(self.deadline.map(|(at, _)| at)).min()
    }

    /// Handles the timers that are due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.timer.is_some_and(|(_, fires)| fires <= now) {
            self.timer = None;
            self.quic.handle_timeout(now);
        }
        if let Some((at, code)) = self.deadline
            && at <= now
        {
            self.close(now, code, "");
        }
    }
}

/// The code of QUIC for a code of WebTransport.
pub(super) fn error_code(code: u32) -> VarInt {
    VarInt::from_u64(error_to_http3(code)).unwrap_or(VarInt::MAX)
}

/// The end of a carrier, by QUIC's error.
pub(super) fn lost(error: &ConnectionError) -> Ended {
    match error {
        ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed => Ended::Closed,
        ConnectionError::TransportError(error) => Ended::Violation(error.to_string()),
        other => Ended::Broken(other.to_string()),
    }
}
