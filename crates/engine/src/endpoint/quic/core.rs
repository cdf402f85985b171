//! A QUIC endpoint without sockets or clocks: datagrams and the time come in; datagrams, deadlines and admitted clients go out.
//!
//! An endpoint serves (`mod.rs`), or it connects to one server (`client.rs`).
//!
//! The loop of an endpoint (`serving.rs`) and its carriers (`carrier.rs`) share one value of this type. Each call
//! that may leave packets to send puts its connection on a list, and [`Core::transmit`] sends for all connections on the list. So
//! a round for many clients leaves as one batch.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, ConnectError, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig,
    Event, Incoming, ServerConfig, Transmit, VarInt,
};
use url::Position;
use web_transport_proto::ConnectRequest as WebTransportRequest;
use web_transport_proto::http::StatusCode;

use super::super::{ConnectRequest, Directory, name_in, no_such_name};
use super::connection::{Connection, Entering, error_code, lost};
use super::handshakes::{Handshakes, Reception};
use super::http::{Happening, Http, NoRoom};
use super::unproven::Unproven;
use crate::acceptor::Acceptor;
use crate::carrier::{CLOSED_VIOLATION, DATAGRAM_BYTES_MAX, Ended, too_small};
use crate::io::Pace;
use nowcast_admission::{Entry, Page, Peer, Permit, origin_of};

/// Maximum time from the first packet of a client until its request is answered.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a refused client to close its connection.
const REFUSED_TIMEOUT: Duration = Duration::from_secs(2);
/// Closes without an error (RFC 9114, section 8.1).
const H3_NO_ERROR: VarInt = VarInt::from_u32(0x100);
/// Mean interval between two handshakes of an endpoint. In a crowd of newcomers, further ones wait in a list, so that the
/// sessions that are open keep their pace. A thousand clients are in after five seconds.
const HANDSHAKE_INTERVAL: Duration = Duration::from_millis(5);
/// Number of handshakes that may begin at once.
const HANDSHAKE_BURST: u32 = 32;

/// Receives the datagrams that an endpoint sends.
pub(super) trait Outlet {
    /// Maximum number of datagrams of one size in one call.
    fn train_max(&self) -> usize;

    fn send(&mut self, transmit: &Transmit, bytes: &[u8]);
}

/// A client that the directory has admitted, on an open session.
pub(super) struct Admitted {
    pub(super) acceptor: Acceptor,
    pub(super) entry: Entry,
    pub(super) connection: Reference,
}

/// Names a connection, for its carrier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    handle: usize,
    serial: u64,
}

/// The server's part of an endpoint.
pub(super) struct Host {
    pub(super) config: Arc<ServerConfig>,
    pub(super) directory: Arc<dyn Directory>,
    /// The handshakes of all endpoints of a port.
    pub(super) handshakes: Arc<Handshakes>,
    /// Number of endpoints of the port.
    pub(super) shards: u32,
}

/// The state of an endpoint.
pub(super) struct Core {
    endpoint: Endpoint,
    /// `None` at a client, which accepts no connections.
    directory: Option<Arc<dyn Directory>>,
    handshakes: Arc<Handshakes>,
    unproven: Unproven,
    pace: Pace,
    /// Clients that wait for their handshake.
    waiting: VecDeque<Incoming>,
    /// The next client, whose handshake begins at this time.
    next: Option<(Incoming, Option<Permit>, Instant)>,
    connections: Vec<Option<Box<Connection>>>,
    serial: u64,
    dirty: Vec<usize>,
    timers: BinaryHeap<Reverse<(Instant, usize, u64)>>,
    admitted: Vec<Admitted>,
    packet: Vec<u8>,
    is_closing: bool,
}

impl Core {
    /// A client has no host.
    pub(super) fn new(config: Arc<EndpointConfig>, host: Option<Host>, now: Instant) -> Self {
        let shards = host.as_ref().map_or(1, |host| host.shards);
        let server = host.as_ref().map(|host| Arc::clone(&host.config));
        Self {
            endpoint: Endpoint::new(config, server, false, None),
            handshakes: host.as_ref().map_or_else(Arc::default, |host| Arc::clone(&host.handshakes)),
            directory: host.map(|host| host.directory),
            unproven: Unproven::default(),
            pace: Pace::new(now, HANDSHAKE_INTERVAL * shards, HANDSHAKE_BURST.div_ceil(shards)),
            waiting: VecDeque::new(),
            next: None,
            connections: Vec::new(),
            serial: 0,
            dirty: Vec::new(),
            timers: BinaryHeap::new(),
            admitted: Vec::new(),
            packet: Vec::new(),
            is_closing: false,
        }
    }

    /// Begins a connection to a server that has a certificate for `host`, and asks for a session.
    pub(super) fn connect(
        &mut self,
        now: Instant,
        config: ClientConfig,
        server: SocketAddr,
        host: &str,
        request: WebTransportRequest,
    ) -> Result<Reference, ConnectError> {
        let (handle, quic) = self.endpoint.connect(now, config, server, host)?;
        Ok(self.insert(handle, quic, Http::asking(request), None))
    }

    fn insert(
        &mut self,
        ConnectionHandle(handle): ConnectionHandle,
        quic: quinn_proto::Connection,
        http: Http,
        entering: Option<(Entering, Instant)>,
    ) -> Reference {
        self.serial += 1;
        if self.connections.len() <= handle {
            self.connections.resize_with(handle + 1, || None);
        }
        let connection = Connection::new(self.serial, quic, http, entering);
        let connection = self.connections[handle].insert(Box::new(connection));
        mark(&mut self.dirty, handle, connection);
        Reference { handle, serial: self.serial }
    }

    /// Handles a datagram from a peer. `to` is the address of this machine that received it.
    pub(super) fn handle(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to: Option<IpAddr>,
        ecn: Option<EcnCodepoint>,
        datagram: BytesMut,
        outlet: &mut impl Outlet,
    ) {
        self.unproven.received(from, datagram.len());
        self.packet.clear();
        match self.endpoint.handle(now, from, to, ecn, datagram, &mut self.packet) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.waiting.push_back(incoming);
                self.receive_waiting(now, outlet);
            }
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(handle), event)) => {
                if let Some(Some(connection)) = self.connections.get_mut(handle) {
                    connection.quic.handle_event(event);
                    mark(&mut self.dirty, handle, connection);
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.respond(&transmit, outlet),
            None => {}
        }
    }

    /// Handles the timers that are due.
    pub(super) fn handle_timeout(&mut self, now: Instant, outlet: &mut impl Outlet) {
        self.receive_waiting(now, outlet);
        while let Some(&Reverse((at, handle, serial))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            let Some(connection) = self.connections.get_mut(handle).and_then(Option::as_mut) else {
                continue;
            };
            if connection.serial != serial || connection.queued_at != Some(at) {
                continue;
            }
            connection.queued_at = None;
            connection.handle_timeout(now);
            mark(&mut self.dirty, handle, connection);
        }
    }

    /// The time of the next timer.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let handshake = self.next.as_ref().map(|(_, _, at)| *at);
        let timer = self.timers.peek().map(|Reverse((at, _, _))| *at);
        handshake.into_iter().chain(timer).min()
    }

    /// Whether [`transmit`](Self::transmit) has work to do.
    pub(super) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Sends the packets of all connections that have some, and handles their events.
    pub(super) fn transmit(&mut self, now: Instant, outlet: &mut impl Outlet) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for handle in dirty.drain(..) {
            let Some(mut connection) = self.connections.get_mut(handle).and_then(Option::take) else {
                continue;
            };
            connection.is_dirty = false;
            if !self.drive(now, handle, &mut connection, outlet) {
                self.connections[handle] = Some(connection);
            }
        }
        if self.dirty.is_empty() {
            self.dirty = dirty;
        }
    }

    /// Handles one connection until it has nothing more to do. Returns whether it is over.
    fn drive(
        &mut self,
        now: Instant,
        handle: usize,
        connection: &mut Connection,
        outlet: &mut impl Outlet,
    ) -> bool {
        let mut is_over = false;
        loop {
            while let Some(event) = connection.quic.poll_endpoint_events() {
                is_over |= event.is_drained();
                if let Some(event) = self.endpoint.handle_event(ConnectionHandle(handle), event) {
                    connection.quic.handle_event(event);
                }
            }
            while let Some(event) = connection.quic.poll() {
                self.note(now, handle, connection, event);
            }
            loop {
                self.packet.clear();
                let transmit = connection.quic.poll_transmit(now, outlet.train_max(), &mut self.packet);
                let Some(transmit) = transmit else { break };
                send(&mut self.unproven, &transmit, &self.packet[..transmit.size], outlet);
            }
            match connection.arm(now) {
                Some(at) if at <= now && !is_over => connection.handle_timeout(now),
                _ => break,
            }
        }
        if is_over {
            connection.end(Ended::Broken("the connection is over".into()));
            self.leave(now, connection);
            return true;
        }
        if connection.writer.is_some()
            && connection.quic.datagrams().send_buffer_space() >= DATAGRAM_BYTES_MAX
        {
            connection.writer.take().into_iter().for_each(Waker::wake);
        }
        if let Some(at) = connection.due_at()
            && connection.queued_at.is_none_or(|queued| at < queued)
        {
            connection.queued_at = Some(at);
            self.timers.push(Reverse((at, handle, connection.serial)));
        }
        false
    }

    fn note(&mut self, now: Instant, handle: usize, connection: &mut Connection, event: Event) {
        let happening = match event {
            Event::Connected => {
                if let Some(entering) = &mut connection.entering
                    && std::mem::take(&mut entering.is_watched)
                {
                    self.unproven.prove(connection.quic.remote_address());
                }
                let opened = connection.http.open(&mut connection.quic);
                opened.err().map(|NoRoom| Happening::Broken("no room for the settings".into()))
            }
            Event::Stream(event) => {
                let happening = connection.http.handle(&mut connection.quic, &event);
                // A client's task waits here for the server's answer, too.
                connection.reader.take().into_iter().for_each(Waker::wake);
                happening
            }
            Event::DatagramReceived => {
                connection.reader.take().into_iter().for_each(Waker::wake);
                None
            }
            Event::ConnectionLost { reason } => {
                if connection.entering.is_some() {
                    let address = connection.quic.remote_address();
                    tracing::debug!(%address, error = %reason, "a client left before its session");
                }
                connection.deadline = None;
                connection.end(lost(&reason));
                self.leave(now, connection);
                None
            }
            Event::HandshakeDataReady | Event::DatagramsUnblocked => None,
        };
        match happening {
            Some(Happening::Requested(request)) => self.answer(now, handle, connection, &request),
            Some(Happening::Ended { code, reason }) => connection.close(now, error_code(code), &reason),
            Some(Happening::Broken(error)) => {
                let address = connection.quic.remote_address();
                tracing::debug!(%address, error, "not a WebTransport session");
                connection.end(Ended::Broken(error));
                connection.close(now, error_code(0), "");
                self.leave(now, connection);
            }
            None => {}
        }
    }

    /// Answers a client's request.
    fn answer(
        &mut self,
        now: Instant,
        handle: usize,
        connection: &mut Connection,
        request: &WebTransportRequest,
    ) {
        let Some(directory) = &self.directory else { return };
        let address = connection.quic.remote_address();
        let origin = origin_of(&request.headers);
        let host = &request.url[Position::BeforeHost..Position::AfterPort];
        let admitted = name_in(request.url.path()).ok_or_else(no_such_name).and_then(|name| {
            directory.admit(ConnectRequest {
                name,
                query: request.url.query(),
                page: Page { host: Some(host), origin: origin.as_deref() },
                peer: Peer::behind(&[], Peer::connected(address, true), Some(host), &request.headers),
                is_joining: true,
            })
        });
        let status = match &admitted {
            Ok(_) => StatusCode::OK,
            Err(refusal) => StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST),
        };
        if connection.http.answer(&mut connection.quic, status).is_err() {
            connection.close(now, error_code(0), "");
            return self.leave(now, connection);
        }
        match admitted {
            Ok((acceptor, entry)) => {
                connection.deadline = None;
                self.leave(now, connection);
                let allowed = connection.quic.datagrams().max_size().unwrap_or(0);
                if allowed < DATAGRAM_BYTES_MAX {
                    tracing::debug!(%address, bytes = allowed, "the peer's datagrams are too small");
                    return connection.say_goodbye(now, CLOSED_VIOLATION, &too_small(allowed));
                }
                let connection = Reference { handle, serial: connection.serial };
                self.admitted.push(Admitted { acceptor, entry, connection });
            }
            // The client closes the connection when it has read the status. Until then it holds its slot.
            Err(_) => connection.deadline = Some((now + REFUSED_TIMEOUT, H3_NO_ERROR)),
        }
    }

    /// Ends the handshake of a connection: it is answered, or it failed.
    fn leave(&mut self, now: Instant, connection: &mut Connection) {
        if connection.entering.take().is_some_and(|entering| entering.is_watched) {
            self.unproven.fail(connection.quic.remote_address(), now);
        }
    }

    /// The clients whose sessions are open, each once.
    pub(super) fn take_admitted(&mut self) -> Vec<Admitted> {
        std::mem::take(&mut self.admitted)
    }

    /// The connection that a carrier names, unless it is over.
    pub(super) fn connection(&mut self, reference: Reference) -> Option<&mut Connection> {
        let connection = self.connections.get_mut(reference.handle)?.as_mut()?;
        (connection.serial == reference.serial).then_some(connection)
    }

    /// Records that a connection may have packets to send.
    pub(super) fn touch(&mut self, reference: Reference) {
        if let Some(Some(connection)) = self.connections.get_mut(reference.handle)
            && connection.serial == reference.serial
        {
            mark(&mut self.dirty, reference.handle, connection);
        }
    }

    /// Closes all connections, and refuses new ones.
    pub(super) fn close_all(&mut self, now: Instant, code: VarInt, reason: &str) {
        if std::mem::replace(&mut self.is_closing, true) {
            return;
        }
        for (handle, connection) in self.connections.iter_mut().enumerate() {
            let Some(connection) = connection else { continue };
            if !connection.quic.is_closed() {
                connection.close(now, code, reason);
            }
            mark(&mut self.dirty, handle, connection);
        }
    }

    /// Whether all connections are over, and no other can begin.
    pub(super) fn is_over(&self) -> bool {
        (self.is_closing || self.directory.is_none()) && self.is_empty()
    }

    /// Whether all connections are over.
    pub(super) fn is_empty(&self) -> bool {
        self.connections.iter().all(Option::is_none)
    }

    /// Begins the handshakes of waiting clients.
    fn receive_waiting(&mut self, now: Instant, outlet: &mut impl Outlet) {
        loop {
            match self.next.take() {
                Some((incoming, place, at)) if at <= now => {
                    self.begin(now, incoming, place, outlet);
                    continue;
                }
                next @ Some(_) => {
                    self.next = next;
                    return;
                }
                None => {}
            }
            let (Some(incoming), Some(directory)) = (self.waiting.pop_front(), &self.directory) else {
                return;
            };
            let address = incoming.remote_address().ip();
            let reception = match self.is_closing {
                true => Reception::Refuse,
                false => self.handshakes.judge(address, incoming.remote_address_validated()),
            };
            match reception {
                Reception::Welcome => match directory.arrive(address) {
                    Ok(place) => self.next = Some((incoming, place, now + self.pace.pause(now))),
                    Err(_) => self.refuse(incoming, outlet),
                },
                Reception::Prove => self.retry(incoming, outlet),
                Reception::Ignore => self.endpoint.ignore(incoming),
                Reception::Refuse => self.refuse(incoming, outlet),
            }
        }
    }

    fn begin(&mut self, now: Instant, incoming: Incoming, place: Option<Permit>, outlet: &mut impl Outlet) {
        let address = incoming.remote_address();
        let is_watched = !incoming.remote_address_validated();
        if is_watched && !self.unproven.begin(address, now) {
            return self.retry(incoming, outlet);
        }
        let handshake = self.handshakes.begin(address.ip());
        self.packet.clear();
        match self.endpoint.accept(incoming, now, &mut self.packet, None) {
            Ok((handle, quic)) => {
                let entering = Entering { _handshake: handshake, _place: place, is_watched };
                self.insert(handle, quic, Http::default(), Some((entering, now + HANDSHAKE_TIMEOUT)));
            }
            Err(error) => {
                tracing::debug!(%address, error = %error.cause, "a QUIC handshake failed");
                if let Some(transmit) = error.response {
                    self.respond(&transmit, outlet);
                }
                if is_watched {
                    self.unproven.fail(address, now);
                }
            }
        }
    }

    fn retry(&mut self, incoming: Incoming, outlet: &mut impl Outlet) {
        self.packet.clear();
        match self.endpoint.retry(incoming, &mut self.packet) {
            Ok(transmit) => self.respond(&transmit, outlet),
            // Retry fails only for a validated address, and such an address is not asked to retry.
            Err(error) => self.endpoint.ignore(error.into_incoming()),
        }
    }

    fn refuse(&mut self, incoming: Incoming, outlet: &mut impl Outlet) {
        self.packet.clear();
        let transmit = self.endpoint.refuse(incoming, &mut self.packet);
        self.respond(&transmit, outlet);
    }

    /// Sends an answer that belongs to no connection.
    fn respond(&mut self, transmit: &Transmit, outlet: &mut impl Outlet) {
        send(&mut self.unproven, transmit, &self.packet[..transmit.size], outlet);
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let next = self.next.take().map(|(incoming, _, _)| incoming);
        for incoming in next.into_iter().chain(self.waiting.drain(..)) {
            self.endpoint.ignore(incoming);
        }
    }
}

/// Sends a packet, or as much of it as an unvalidated address may receive.
fn send(unproven: &mut Unproven, transmit: &Transmit, bytes: &[u8], outlet: &mut impl Outlet) {
    let datagram_bytes = transmit.segment_size.unwrap_or(bytes.len());
    let allowed = unproven.take(transmit.destination, bytes.len(), datagram_bytes);
    if allowed > 0 {
        outlet.send(transmit, &bytes[..allowed]);
    }
}

fn mark(dirty: &mut Vec<usize>, handle: usize, connection: &mut Connection) {
    if !std::mem::replace(&mut connection.is_dirty, true) {
        dirty.push(handle);
    }
}
