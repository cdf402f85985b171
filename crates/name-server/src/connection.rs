//! One connection at a name server. It takes bytes, returns bytes, and has a timeout. It has no socket and no clock.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::protocol::{Answer, Lines, Refused, Request};
use super::registry::{ConnectionId, Registry};

/// Interval at which an advertising client is sent an empty line.
pub(crate) const PING: Duration = Duration::from_secs(10);

/// Maximum silence of an advertising client.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Maximum time between two whole requests, for a connection that advertises nothing.
const REQUEST_MAX: Duration = Duration::from_secs(5);

/// Number of bytes of a list that are written in advance.
const OUTPUT_BYTES: usize = 4 * 1024;

/// The server's end of a connection.
///
/// Call [`handle_bytes`](Self::handle_bytes) with arrived bytes, at most [`room`](Self::room). Then write the bytes that
/// [`poll_output`](Self::poll_output) returns, and report them by [`sent`](Self::sent). Requests are read only while no output
/// waits, so a peer that does not read costs no memory.
#[derive(Debug)]
pub(crate) struct Connection {
    id: ConnectionId,
    /// The peer's host. `None` if the peer is on this machine.
    host: Option<IpAddr>,
    may_advertise: bool,
    lines: Lines,
    output: Vec<u8>,
    /// The list in progress, with its last written name.
    listing: Option<Listing>,
    advertises: bool,
    /// Time of the peer's last activity. For an advertising client, any byte is activity; for others, only a whole request.
    received_at: Instant,
    sent_at: Instant,
    is_ending: bool,
}

#[derive(Debug, Default)]
struct Listing {
    last: Option<String>,
    count: usize,
}

impl Connection {
    /// Makes a connection from `address`. Clients on other machines may advertise only if `allow_remote` is set.
    pub(crate) fn new(id: ConnectionId, address: IpAddr, allow_remote: bool, now: Instant) -> Connection {
        let address = address.to_canonical();
        let host = (!address.is_loopback()).then_some(address);
        Connection {
            id,
            host,
            may_advertise: host.is_none() || allow_remote,
            lines: Lines::default(),
            output: Vec::new(),
            listing: None,
            advertises: false,
            received_at: now,
            sent_at: now,
            is_ending: false,
        }
    }

    /// Returns the number of bytes that the connection accepts now.
    pub(crate) fn room(&self) -> usize {
        if self.is_busy() || self.is_ending { 0 } else { self.lines.room() }
    }

    /// Handles arrived bytes.
    pub(crate) fn handle_bytes(&mut self, now: Instant, bytes: &[u8], registry: &mut Registry) {
        self.lines.push(bytes);
        if self.advertises {
            self.received_at = now;
        }
        self.read(now, registry);
    }

    /// Returns the bytes to write, if any.
    pub(crate) fn poll_output(&mut self, registry: &Registry) -> &[u8] {
        while self.output.len() < OUTPUT_BYTES {
            let Some(listing) = &mut self.listing else { break };
            let answer = match registry.after(listing.last.as_deref()) {
                Some(service) => {
                    listing.last = Some(service.name.clone());
                    listing.count += 1;
                    Answer::Service(service)
                }
                None => {
                    let listed = listing.count;
                    self.listing = None;
                    Answer::Listed { listed }
                }
            };
            self.send(&answer);
        }
        &self.output
    }

    /// Reports written bytes. When all output is written, the next request is read.
    pub(crate) fn sent(&mut self, now: Instant, count: usize, registry: &mut Registry) {
        self.output.drain(..count);
        self.sent_at = now;
        self.read(now, registry);
    }

    /// Returns the time of the next call of [`handle_timeout`](Self::handle_timeout).
    pub(crate) fn poll_timeout(&self) -> Instant {
        if self.advertises && !self.is_busy() {
            (self.received_at + SILENCE_MAX).min(self.sent_at + PING)
        } else {
            self.received_at + self.patience()
        }
    }

    /// Sends an empty line or ends the connection, if that is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if now >= self.received_at + self.patience() {
            // The peer does not read, so it is sent nothing more.
            self.output.clear();
            self.listing = None;
            self.is_ending = true;
        } else if self.advertises && !self.is_busy() && now >= self.sent_at + PING {
            self.output.push(b'\n');
            self.sent_at = now;
        }
    }

    /// Whether the connection ends once its output is written.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending
    }

    pub(crate) fn advertises(&self) -> bool {
        self.advertises
    }

    fn is_busy(&self) -> bool {
        !self.output.is_empty() || self.listing.is_some()
    }

    fn patience(&self) -> Duration {
        if self.advertises { SILENCE_MAX } else { REQUEST_MAX }
    }

    fn read(&mut self, now: Instant, registry: &mut Registry) {
        while !self.is_busy() && !self.is_ending {
            match self.lines.next() {
                Ok(None) => break,
                Ok(Some(line)) if line.is_empty() => {}
                Ok(Some(line)) => {
                    self.received_at = now;
                    let answer = Request::parse(&line).and_then(|request| self.answer(request, registry));
                    match answer {
                        Ok(Some(answer)) => self.send(&answer),
                        Ok(None) => {}
                        Err(error) => {
                            self.send(&Answer::Error { error });
                            // A peer that sends something else is not a client of a name server.
                            self.is_ending = error == Refused::BadRequest;
                        }
                    }
                }
                Err(error) => {
                    self.send(&Answer::Error { error });
                    self.is_ending = true;
                }
            }
        }
    }

    fn answer(&mut self, request: Request, registry: &mut Registry) -> Result<Option<Answer>, Refused> {
        match request {
            Request::Find(name) => {
                registry.find(&name).map(|service| Some(Answer::Service(service))).ok_or(Refused::NoSuchName)
            }
            Request::List => {
                self.listing = Some(Listing::default());
                Ok(None)
            }
            Request::Advertise(_, _) if !self.may_advertise => Err(Refused::NotAllowed),
            Request::Advertise(name, port) => {
                registry.advertise(self.id, &name, port, self.host)?;
                self.advertises = true;
                Ok(Some(Answer::Advertised { advertised: name }))
            }
        }
    }

    fn send(&mut self, answer: &Answer) {
        self.output.extend_from_slice(answer.line().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Server {
        now: Instant,
        registry: Registry,
    }

    impl Server {
        fn new() -> Server {
            Server { now: Instant::now(), registry: Registry::default() }
        }

        fn connect(&self, id: u64, address: &str) -> Connection {
            Connection::new(ConnectionId(id), address.parse().unwrap(), false, self.now)
        }

        /// Sends a text and collects all the answers.
        fn ask(&mut self, connection: &mut Connection, text: &str) -> String {
            let mut rest = text.as_bytes();
            let mut answers = Vec::new();
            loop {
                let room = connection.room().min(rest.len());
                connection.handle_bytes(self.now, &rest[..room], &mut self.registry);
                rest = &rest[room..];
                let output = connection.poll_output(&self.registry).to_vec();
                if output.is_empty() && (rest.is_empty() || connection.is_ending()) {
                    return String::from_utf8(answers).unwrap();
                }
                connection.sent(self.now, output.len(), &mut self.registry);
                answers.extend(output);
            }
        }
    }

    #[test]
    fn a_name_is_found_while_its_connection_holds() {
        let mut server = Server::new();
        let (mut service, mut client) = (server.connect(1, "127.0.0.1"), server.connect(2, "192.0.2.1"));
        let said = server.ask(&mut service, "{\"advertise\":\"tracker\",\"port\":7777}\n");
        assert_eq!(said, "{\"advertised\":\"tracker\"}\n");
        let found = server.ask(&mut client, "{\"find\":\"tracker\"}\n");
        assert_eq!(found, "{\"name\":\"tracker\",\"port\":7777}\n");
        server.registry.release(ConnectionId(1));
        assert_eq!(server.ask(&mut client, "{\"find\":\"tracker\"}\n"), "{\"error\":\"no_such_name\"}\n");
    }

    #[test]
    fn a_name_cannot_be_taken_over() {
        let mut server = Server::new();
        let (mut service, mut thief) = (server.connect(1, "::1"), server.connect(2, "127.0.0.1"));
        let advertise = "{\"advertise\":\"tracker\",\"port\":1}\n";
        server.ask(&mut service, advertise);
        assert_eq!(server.ask(&mut thief, advertise), "{\"error\":\"name_taken\"}\n");
        server.registry.release(ConnectionId(2));
        assert!(
            server.registry.find("tracker").is_some(),
            "the end of the second connection releases no name of the first"
        );
        let moved =
            server.ask(&mut service, "{\"advertise\":\"tracker\",\"port\":2}\n{\"find\":\"tracker\"}\n");
        assert!(moved.ends_with("\"port\":2}\n"), "its holder may change the port: {moved}");
    }

    #[test]
    fn other_machines_may_not_advertise_unless_allowed() {
        let mut server = Server::new();
        let mut stranger = server.connect(1, "192.0.2.1");
        let advertise = "{\"advertise\":\"tracker\",\"port\":1}\n";
        assert_eq!(server.ask(&mut stranger, advertise), "{\"error\":\"not_allowed\"}\n");
        let address = "192.0.2.1".parse().unwrap();
        let mut friend = Connection::new(ConnectionId(2), address, true, server.now);
        server.ask(&mut friend, advertise);
        assert_eq!(server.registry.find("tracker").unwrap().host, Some(address));
    }

    #[test]
    fn a_list_of_thousands_is_written_in_small_pieces() {
        let mut server = Server::new();
        // Connections come from many machines, because one machine may not hold all names.
        for index in 0..4_096 {
            let machine = IpAddr::from([192, 0, 2, (index / 256) as u8]);
            let mut service = Connection::new(ConnectionId(index), machine, true, server.now);
            let line = format!("{{\"advertise\":\"service-{index:04}\",\"port\":7777}}\n");
            assert!(server.ask(&mut service, &line).starts_with("{\"advertised\""));
        }
        let mut service = server.connect(5_000, "127.0.0.1");
        let refused = server.ask(&mut service, "{\"advertise\":\"one-more\",\"port\":7777}\n");
        assert_eq!(refused, "{\"error\":\"full\"}\n");
        let mut client = server.connect(5_001, "127.0.0.1");
        client.handle_bytes(server.now, b"{\"list\":true}\n{\"list\":true}\n", &mut server.registry);
        assert!(client.poll_output(&server.registry).len() < OUTPUT_BYTES + 200);
        assert_eq!(client.room(), 0, "nothing more is read before the list was written");
        let lists = server.ask(&mut client, "");
        assert_eq!(lists.lines().filter(|line| line.contains("service-")).count(), 2 * 4_096);
        assert!(lists.ends_with("{\"listed\":4096}\n"));
    }

    /// Returns the number of names, out of 1,000, that a connection gets.
    fn taken(server: &mut Server, id: u64, address: &str) -> usize {
        let mut connection = Connection::new(ConnectionId(id), address.parse().unwrap(), true, server.now);
        let name = |index| format!("{{\"advertise\":\"from-{id}-{index}\",\"port\":1}}\n");
        let refused = "{\"error\":\"too_many_names\"}\n";
        (0..1_000).filter(|index| server.ask(&mut connection, &name(*index)) != refused).count()
    }

    #[test]
    fn neither_a_connection_nor_a_machine_can_take_all_names() {
        let mut server = Server::new();
        let of_others = [taken(&mut server, 1, "192.0.2.1"), taken(&mut server, 2, "192.0.2.1")];
        assert_eq!(of_others, [256, 0], "another machine may have as many names as one connection");
        let of_own: Vec<usize> = (10..15).map(|id| taken(&mut server, id, "127.0.0.1")).collect();
        assert_eq!(of_own, [256, 256, 256, 256, 0], "programs of this machine have 1,024 together");
        assert_eq!(taken(&mut server, 20, "192.0.2.2"), 256, "other machines still find room");
        assert_eq!(server.registry.refused(), 744 + 1_000 + 4 * 744 + 1_000 + 744);
    }

    #[test]
    fn silent_services_and_idle_connections_are_closed() {
        let mut server = Server::new();
        let (mut service, mut idle) = (server.connect(1, "127.0.0.1"), server.connect(2, "127.0.0.1"));
        server.ask(&mut service, "{\"advertise\":\"tracker\",\"port\":1}\n");
        let begin = server.now;
        // Empty lines keep a service's connection alive, but not that of any other client.
        for second in 1..=25 {
            server.now = begin + Duration::from_secs(second);
            for connection in [&mut service, &mut idle] {
                if !connection.is_ending() {
                    server.ask(connection, "\n");
                    connection.handle_timeout(server.now);
                }
            }
            assert_eq!(idle.is_ending(), second >= 5);
        }
        assert!(!service.is_ending());
        assert!(service.poll_timeout() <= server.now + PING, "the next empty line");
        server.now += SILENCE_MAX;
        service.handle_timeout(server.now);
        assert!(service.is_ending());
    }

    #[test]
    fn single_bytes_do_not_keep_a_connection_without_a_request_open() {
        let server = &mut Server::new();
        let mut slow = server.connect(1, "127.0.0.1");
        for _ in 0..5 {
            server.now += Duration::from_millis(1_100);
            slow.handle_bytes(server.now, b"{", &mut server.registry);
            slow.handle_timeout(server.now);
        }
        assert!(slow.is_ending());
    }

    #[test]
    fn a_line_that_is_too_long_ends_the_connection() {
        let mut server = Server::new();
        let mut client = server.connect(1, "127.0.0.1");
        assert_eq!(server.ask(&mut client, &"x".repeat(100_000)), "{\"error\":\"too_long\"}\n");
        assert!(client.is_ending());
    }

    proptest! {
        #[test]
        fn any_input_is_answered_within_bounds(
            pieces in proptest::collection::vec(prop_oneof![
                Just("{\"list\":true}\n".to_owned()),
                Just("\n".to_owned()),
                "\\{\"(find|advertise)\":\"[a-z.]{0,3}\"(,\"port\":[0-9]{1,6})?\\}\n",
                "\\PC{0,1500}\n?",
            ], 0..40),
        ) {
            let mut server = Server::new();
            let mut client = server.connect(1, "127.0.0.1");
            for piece in &pieces {
                let said = server.ask(&mut client, piece);
                prop_assert!(said.lines().all(|line| Answer::parse(line.as_bytes()).is_some()), "{said}");
                prop_assert!(client.output.capacity() < 3 * OUTPUT_BYTES);
            }
        }
    }
}
