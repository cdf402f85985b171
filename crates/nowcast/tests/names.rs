//! A name server on real sockets: normal use, and attacks by strangers.

use nowcast::names::{
    Advertisement, AdvertisementStatus, NameServer, NameServerConfig, NameServerHandle, NamesError, Refused,
    find, list,
};
use nowcast::{CarrierKind, ConnectError, Connector, ListenConfig, Listener};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

const DEADLINE: Duration = Duration::from_secs(20);

async fn serve(config: NameServerConfig) -> (SocketAddr, NameServerHandle) {
    let hosts = vec![IpAddr::from(Ipv4Addr::LOCALHOST)];
    let server = NameServer::bind(NameServerConfig { hosts, port: 0, ..config }).await.unwrap();
    let (address, handle) = (server.addresses()[0], server.handle());
    tokio::spawn(server.run(std::future::pending()));
    (address, handle)
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begin = Instant::now();
    while !is_so().await {
        assert!(begin.elapsed() < DEADLINE, "not within {DEADLINE:?}: {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

async fn connect(server: SocketAddr) -> TcpStream {
    TcpStream::connect(server).await.unwrap()
}

/// Sends bytes, and returns everything that arrives until the server closes.
async fn rest(stream: &mut TcpStream, bytes: &[u8]) -> String {
    // The server may close before everything is sent.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(DEADLINE, stream.read_to_end(&mut answer)).await.expect("the server closes");
    String::from_utf8(answer).unwrap()
}

fn refused(found: Result<nowcast::names::Service, NamesError>) -> Refused {
    match found {
        Err(NamesError::Refused(refused)) => refused,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_name_exists_as_long_as_its_service() {
    let (server, handle) = serve(NameServerConfig::default()).await;
    let mut tracker = Advertisement::start(server, "tracker", 7777);
    tracker.registered().await.unwrap();
    let found = find(server, "tracker").await.unwrap();
    assert_eq!((found.name.as_str(), found.port, found.host), ("tracker", 7777, None));
    let mut renderer = Advertisement::start(server, "renderer", 7780);
    renderer.registered().await.unwrap();
    let names: Vec<_> = list(server).await.unwrap().into_iter().map(|service| service.name).collect();
    assert_eq!(names, ["renderer", "tracker"]);
    drop(tracker);
    until("the name is gone", async || handle.stats().names == 1).await;
    assert_eq!(refused(find(server, "tracker").await), Refused::NoSuchName);
}

#[tokio::test]
async fn when_a_service_crashes_its_name_is_given_to_the_next_one() {
    let (server, handle) = serve(NameServerConfig::default()).await;
    let mut crashing = connect(server).await;
    crashing.write_all(b"{\"advertise\":\"tracker\",\"port\":1}\n").await.unwrap();
    until("the name is advertised", async || handle.stats().names == 1).await;
    let mut next = Advertisement::start(server, "tracker", 2);
    assert_eq!(next.registered().await, Err(Refused::NameTaken));
    assert_eq!(find(server, "tracker").await.unwrap().port, 1);
    // The kernel resets the connections of a killed process, so the server receives no farewell.
    socket2::SockRef::from(&crashing).set_linger(Some(Duration::ZERO)).unwrap();
    drop(crashing);
    until("the next has the name", async || next.status() == AdvertisementStatus::Registered).await;
    assert_eq!(find(server, "tracker").await.unwrap().port, 2);
}

#[tokio::test]
async fn a_service_registers_again_when_the_name_server_returns() {
    let hosts = vec![IpAddr::from(Ipv4Addr::LOCALHOST)];
    let config = NameServerConfig { hosts, port: 0, ..NameServerConfig::default() };
    let first = NameServer::bind(config.clone()).await.unwrap();
    let address = first.addresses()[0];
    let running = tokio::spawn(first.run(std::future::pending()));
    let mut tracker = Advertisement::start(address, "tracker", 7777);
    tracker.registered().await.unwrap();
    running.abort();
    until("the end is noticed", async || tracker.status() == AdvertisementStatus::NoServer).await;
    assert!(matches!(find(address, "tracker").await, Err(NamesError::NoServer { .. })));
    let second = NameServer::bind(NameServerConfig { port: address.port(), ..config }).await.unwrap();
    tokio::spawn(second.run(std::future::pending()));
    until("the name is registered again", async || find(address, "tracker").await.is_ok()).await;
}

#[tokio::test]
async fn garbage_is_refused_by_name_and_affects_no_other_client() {
    let (server, handle) = serve(NameServerConfig::default()).await;
    let mut tracker = Advertisement::start(server, "tracker", 7777);
    tracker.registered().await.unwrap();
    let bad_request = "{\"error\":\"bad_request\"}\n";
    for garbage in [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".as_slice(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
        b"{\"find\":\"tracker\"\n",
        b"\xff\xfe\x00\n",
        b"[[[[[[[[[[[[[[[[[[\n",
    ] {
        assert_eq!(rest(&mut connect(server).await, garbage).await, bad_request);
    }
    let mut endless = connect(server).await;
    assert_eq!(rest(&mut endless, &vec![b'x'; 1_000_000]).await, "{\"error\":\"too_long\"}\n");
    let mut oversized = connect(server).await;
    let name = "n".repeat(65);
    oversized.write_all(format!("{{\"find\":\"{name}\"}}\n").as_bytes()).await.unwrap();
    let mut answer = [0; 64];
    let length = oversized.read(&mut answer).await.unwrap();
    assert_eq!(&answer[..length], b"{\"error\":\"bad_name\"}\n");
    assert_eq!(find(server, "tracker").await.unwrap().port, 7777);
    assert_eq!(handle.stats().names, 1);
}

#[tokio::test]
async fn ten_thousand_idle_connections_block_no_client() {
    const IDLE: usize = 10_000;
    let (server, handle) =
        serve(NameServerConfig { connections_max: 256, ..NameServerConfig::default() }).await;
    let mut tracker = Advertisement::start(server, "tracker", 7777);
    tracker.registered().await.unwrap();
    // Opens ten thousand connections in total, and at any time as many as this process may have.
    let mut idle = Vec::new();
    for index in 0..IDLE {
        idle.push(connect(server).await);
        if idle.len() == 400 {
            idle.drain(..200);
        }
        if index % 1_000 == 0 {
            assert_eq!(find(server, "tracker").await.unwrap().port, 7777);
        }
    }
    until("all have been accepted", async || handle.stats().accepted > IDLE as u64).await;
    let stats = handle.stats();
    assert!(stats.connections <= 256, "{stats:?}");
    assert_eq!((stats.names, stats.refused), (1, 0), "an advertised name is not evicted");
    assert_eq!(tracker.status(), AdvertisementStatus::Registered);
    assert_eq!(find(server, "tracker").await.unwrap().port, 7777);
}

#[tokio::test]
async fn a_slow_loris_loses_its_place() {
    let (server, handle) = serve(NameServerConfig::default()).await;
    let mut slow = connect(server).await;
    until("the connection is accepted", async || handle.stats().connections == 1).await;
    let begin = Instant::now();
    let dripping = async {
        while slow.write_all(b" ").await.is_ok() {
            assert!(begin.elapsed() < DEADLINE, "single bytes keep the place");
            sleep(Duration::from_millis(100)).await;
        }
    };
    dripping.await;
    until("its place is free", async || handle.stats().connections == 0).await;
}

#[tokio::test]
async fn a_reader_that_stops_reading_costs_little() {
    let (server, handle) = serve(NameServerConfig::default()).await;
    // One connection may hold a quarter of the names.
    let mut services = Vec::new();
    for _ in 0..4 {
        services.push(connect(server).await);
    }
    for index in 0..1_000 {
        let names = &mut services[index % 4];
        let line = format!("{{\"advertise\":\"a-service-with-a-long-name-{index}\",\"port\":7777}}\n");
        names.write_all(line.as_bytes()).await.unwrap();
        // If the client did not read the answers, the server would stop reading.
        let mut answer = [0; 256];
        assert!(names.read(&mut answer).await.unwrap() > 0);
    }
    assert_eq!(handle.stats().names, 1_000);
    let mut deaf = connect(server).await;
    let asked = timeout(Duration::from_secs(2), async {
        while deaf.write_all(b"{\"list\":true}\n").await.is_ok() {}
    });
    // Either the server closes the connection, or it stops reading, and the requests fill the client's own kernel buffer.
    let _ = asked.await;
    assert_eq!(list(server).await.unwrap().len(), 1_000);
    until("the connection is closed", async || handle.stats().connections <= services.len()).await;
}

#[tokio::test]
async fn a_service_is_found_by_its_name_alone() {
    let (server, handle) = serve(NameServerConfig::default()).await;
    let mut config = ListenConfig::on([Ipv4Addr::LOCALHOST.into()], 0);
    config.name_server = Some(server);
    let listener = Listener::bind(config).await.unwrap();
    let mut service = listener.advertise("tracker").await.unwrap();
    until("the name is advertised", async || handle.stats().names == 1).await;
    let carriers = [CarrierKind::WebTransport, CarrierKind::WebSocket];
    let connector = Connector::new().carriers(carriers).name_server_port(server.port());
    let (ours, theirs) = tokio::join!(connector.connect("nowcast://127.0.0.1/tracker"), service.accept());
    theirs.unwrap().try_event(b"found").unwrap();
    assert_eq!(ours.unwrap().receive().await.unwrap().bytes, b"found");
    drop(service);
    until("the name ends with the service", async || handle.stats().names == 0).await;
    let unknown = connector.connect("nowcast://127.0.0.1/tracker").await.unwrap_err();
    assert!(matches!(unknown, ConnectError::NoSuchName { .. }), "{unknown}");
}
