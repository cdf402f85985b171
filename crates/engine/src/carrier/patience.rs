//! Delays QUIC's timers, so that its acknowledgements share packets with data.
//!
//! QUIC acknowledges within 25 ms, in a separate packet if no data packet leaves earlier. The library cannot raise this limit on paths
//! with short round trips. If two ends both send every 50 ms, one of them always waits longer than 25 ms for its next data
//! packet. Sessions have their own acknowledgements and do not need QUIC's. Therefore QUIC's timers fire a little later, so that
//! its acknowledgements leave in the next data packet. If there is no data packet, they still leave in a separate packet.

use std::time::{Duration, Instant};

/// Timers that are due within this time run on time, because a delay could hold packets back.
const SOON: Duration = Duration::from_millis(10);

/// Delay of all later timers. An acknowledgement then waits for 65 ms in total. This time is longer than the 50 ms between two
/// packets of most sessions.
const PATIENCE: Duration = Duration::from_millis(40);

/// Returns the time at which a timer fires if QUIC has set it for `at`.
pub(crate) fn patient(now: Instant, at: Instant) -> Instant {
    if at.saturating_duration_since(now) < SOON { at } else { at + PATIENCE }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::sync::Arc;

    use bytes::{Bytes, BytesMut};
    use quinn_proto::{ClientConfig, Connection, DatagramEvent, Endpoint, EndpointConfig, ServerConfig};
    use rustls::RootCertStore;
    use rustls::pki_types::PrivatePkcs8KeyDer;

    use super::*;
    use crate::carrier::transport_config;

    const MS: Duration = Duration::from_millis(1);
    /// Interval of each end's packets, and the duration of the test.
    const INTERVAL_MS: u64 = 50;
    const TIME_MS: u64 = 20_000;

    /// One end of a connection, without sockets or clocks: time is an argument.
    struct End {
        endpoint: Endpoint,
        connection: Option<(quinn_proto::ConnectionHandle, Connection)>,
        peer: SocketAddr,
        goes_off: fn(Instant, Instant) -> Instant,
        /// The deadline of the timer, and the time at which it fires.
        timer: Option<(Instant, Instant)>,
        packets: usize,
    }

    impl End {
        fn take(&mut self, now: Instant, packet: BytesMut) {
            let mut answer = Vec::new();
            match self.endpoint.handle(now, self.peer, None, None, packet, &mut answer) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                    self.connection = Some(accepted.expect("this is the first connection"));
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    self.connection.as_mut().expect("the connection is accepted").1.handle_event(event);
                }
                Some(DatagramEvent::Response(_)) | None => {}
            }
        }

        /// Acts as a driver does when it runs: sends packets, and checks the timer.
        fn drive(&mut self, now: Instant, is_woken: bool) -> Vec<BytesMut> {
            let Self { connection: Some((handle, connection)), endpoint, .. } = self else {
                return Vec::new();
            };
            let mut sent = Vec::new();
            let has_gone_off = self.timer.is_some_and(|(_, goes_off)| goes_off <= now);
            if !is_woken && !has_gone_off {
                return sent;
            }
            loop {
                let mut packet = Vec::new();
                while connection.poll_transmit(now, 1, &mut packet).is_some() {
                    sent.push(BytesMut::from(&packet[..]));
                    packet.clear();
                }
                while let Some(event) = connection.poll_endpoint_events() {
                    if let Some(event) = endpoint.handle_event(*handle, event) {
                        connection.handle_event(event);
                    }
                }
                while connection.poll().is_some() {}
                while connection.datagrams().recv().is_some() {}
                match connection.poll_timeout() {
                    Some(at) if at <= now => connection.handle_timeout(now),
                    at => {
                        let is_set = |(set, _): &(Instant, Instant)| Some(*set) == at;
                        let goes_off = self.goes_off;
                        self.timer = self.timer.filter(is_set).or(at.map(|at| (at, goes_off(now, at))));
                        break;
                    }
                }
            }
            self.packets += sent.len();
            sent
        }
    }

    /// Returns the number of packets that two ends send, if each sends every 50 ms and their offset is `later_ms`.
    fn packets(goes_off: fn(Instant, Instant) -> Instant, later_ms: u64) -> usize {
        let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
        let mut server =
            ServerConfig::with_single_cert(vec![certified.cert.der().clone()], key.into()).unwrap();
        server.transport_config(transport_config());
        let mut roots = RootCertStore::empty();
        roots.add(certified.cert.der().clone()).unwrap();
        let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
        client.transport_config(transport_config());
        let end = |server: Option<ServerConfig>| End {
            endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), server.map(Arc::new), false, None),
            connection: None,
            peer: SocketAddr::from((Ipv4Addr::LOCALHOST, 4_000)),
            goes_off,
            timer: None,
            packets: 0,
        };
        let mut ends = [end(Some(server)), end(None)];
        let began = Instant::now();
        let connecting = ends[1].endpoint.connect(began, client, ends[1].peer, "localhost");
        ends[1].connection = Some(connecting.unwrap());
        let mut under_way = [Vec::new(), Vec::new()];
        let mut before = 0;
        for ms in 0..TIME_MS {
            let now = began + MS * ms as u32;
            if ms == TIME_MS / 2 {
                before = ends[0].packets + ends[1].packets;
            }
            for at in 0..2 {
                let arrived: Vec<BytesMut> = std::mem::take(&mut under_way[at]);
                let mut is_woken = ms == 0 || !arrived.is_empty();
                arrived.into_iter().for_each(|packet| ends[at].take(now, packet));
                let speaks = ms % INTERVAL_MS == [0, later_ms][at] && ms > 500;
                if let (true, Some((_, connection))) = (speaks, &mut ends[at].connection) {
                    connection.datagrams().send(Bytes::from_static(&[7; 700]), true).unwrap();
                    is_woken = true;
                }
                let sent = ends[at].drive(now, is_woken);
                under_way[1 - at].extend(sent);
            }
        }
        ends[0].packets + ends[1].packets - before
    }

    #[test]
    fn acknowledgements_ride_in_the_packets_of_two_ends_that_send_20_times_a_second() {
        let needed = (TIME_MS / INTERVAL_MS) as usize;
        for later_ms in (1..INTERVAL_MS).step_by(6) {
            let (in_time, patiently) = (packets(|_, at| at, later_ms), packets(patient, later_ms));
            let found = format!("{later_ms} ms apart: {patiently} packets; {in_time} without patience");
            assert!(patiently <= in_time && patiently <= needed + needed / 20, "{found}");
        }
    }
}
