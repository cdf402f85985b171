//! Channels over real sockets: both carriers, one endpoint.

use std::io;
use std::time::{Duration, Instant};

use nowcast::{CarrierKind, Channel, Connector, Key, ListenConfig, Listener, MessageKind, Service};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

async fn endpoint() -> (Listener, Service, String) {
    let listener = Listener::bind(ListenConfig::loopback(0)).await.unwrap();
    let service = listener.advertise("room").await.unwrap();
    let url = format!("nowcast://127.0.0.1:{}/room", listener.port());
    (listener, service, url)
}

async fn pair(kind: CarrierKind) -> (Listener, Channel, Channel) {
    let (listener, mut service, url) = endpoint().await;
    let connector = Connector::new().carriers([kind]);
    let (ours, theirs) = tokio::join!(connector.connect(&url), service.accept());
    (listener, ours.unwrap(), theirs.unwrap())
}

async fn within<T>(seconds: u64, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), future).await.expect("the future completes in time")
}

async fn says_all_four_verbs(kind: CarrierKind) {
    let (_listener, ours, theirs) = within(10, pair(kind)).await;
    assert_eq!(ours.status().carrier, Some(kind));
    ours.try_state(7, b"old").unwrap();
    ours.try_state(7, b"new").unwrap();
    ours.try_event(b"after").unwrap();
    let answering = async {
        let mut seen = Vec::new();
        loop {
            let message = theirs.receive().await.unwrap();
            if let MessageKind::Command(id) = message.kind {
                theirs.try_reply(id, b"42").unwrap();
                return seen;
            }
            seen.push((message.key(), message.bytes));
        }
    };
    let asking = ours.command(b"what?", Duration::from_secs(5));
    let (seen, reply) = within(10, async { tokio::join!(answering, asking) }).await;
    assert_eq!(reply.unwrap(), b"42");
    let last = seen.iter().rfind(|(key, _)| *key == Some(Key::state(7))).unwrap();
    assert_eq!(last.1, b"new");
    assert_eq!(seen.last().unwrap(), &(None, b"after".to_vec()));
    ours.close(64, "enough");
    let closed = within(5, theirs.closed()).await;
    assert_eq!((closed.code.0, closed.reason.as_str()), (64, "enough"));
}

#[tokio::test]
async fn the_four_verbs_work_over_webtransport() {
    says_all_four_verbs(CarrierKind::WebTransport).await;
}

#[tokio::test]
async fn the_four_verbs_work_over_websocket() {
    says_all_four_verbs(CarrierKind::WebSocket).await;
}

#[tokio::test]
async fn dropping_a_channel_delivers_its_messages() {
    for kind in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
        let (_listener, ours, theirs) = within(10, pair(kind)).await;
        for number in 0..1_000u32 {
            ours.event(&number.to_le_bytes()).await.unwrap();
        }
        drop(ours);
        for number in 0..1_000u32 {
            let message = within(10, theirs.receive()).await.unwrap();
            assert_eq!(message.bytes, number.to_le_bytes());
        }
        assert!(within(5, theirs.receive()).await.is_err());
    }
}

#[tokio::test]
async fn an_address_without_a_port_connects_without_a_network() {
    let listener = Listener::bind(ListenConfig::loopback(0)).await.unwrap();
    let name = format!("neighbour-{}", std::process::id());
    let mut service = listener.advertise(&name).await.unwrap();
    assert!(service.is_local());
    let other = Listener::bind(ListenConfig::loopback(0)).await.unwrap();
    assert!(!other.advertise(&name).await.unwrap().is_local(), "one name, one service on this machine");
    let url = format!("nowcast://localhost/{name}");
    let (ours, theirs) = within(10, async { tokio::join!(nowcast::connect(&url), service.accept()) }).await;
    let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
    assert_eq!(ours.status().carrier, Some(nowcast::local::CARRIER));
    ours.lane(3).try_state(1, b"old").unwrap();
    ours.lane(3).try_state(1, b"new").unwrap();
    let message = within(5, theirs.receive()).await.unwrap();
    assert_eq!(
        (message.lane.number(), message.key(), message.bytes.as_slice()),
        (3, Some(Key::state(1)), &b"new"[..])
    );
    let answering = async {
        let message = theirs.receive().await.unwrap();
        let MessageKind::Command(id) = message.kind else { panic!("{message:?}") };
        theirs.try_event(b"first").unwrap();
        theirs.try_reply(id, &message.bytes).unwrap();
    };
    let asking = ours.command(b"echo", Duration::from_secs(5));
    let ((), reply) = within(10, async { tokio::join!(answering, asking) }).await;
    assert_eq!(reply.unwrap(), b"echo");
    assert_eq!(within(5, ours.receive()).await.unwrap().bytes, b"first");
    ours.event(b"last").await.unwrap();
    drop(ours);
    assert_eq!(within(5, theirs.receive()).await.unwrap().bytes, b"last");
    assert!(
        matches!(within(5, theirs.receive()).await, Err(nowcast::Error::Closed(closed)) if closed.code.0 == 0)
    );
}

/// Passes a connection on. If the relay is broken, ends the connection after the server's first bytes, and counts accepted
/// WebSockets.
async fn pass(
    mut client: TcpStream,
    port: u16,
    mut is_broken: watch::Receiver<bool>,
    ended: watch::Sender<u32>,
) -> io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
    if !*is_broken.borrow() {
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut server) => {}
            _ = is_broken.changed() => {}
        }
        return Ok(());
    }
    let mut bytes = [0; 4_096];
    let length = client.read(&mut bytes).await?;
    server.write_all(&bytes[..length]).await?;
    let length = server.read(&mut bytes).await?;
    client.write_all(&bytes[..length]).await?;
    if bytes.starts_with(b"HTTP/1.1 101") {
        ended.send_modify(|count| *count += 1);
    }
    Ok(())
}

#[tokio::test]
async fn after_carriers_that_end_at_once_the_next_one_waits_longer_and_longer() {
    let (listener, mut service, _) = endpoint().await;
    let relay = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nowcast://{}/room", relay.local_addr().unwrap());
    let (broken, is_broken) = watch::channel(false);
    let (ended, mut count) = watch::channel(0);
    let port = listener.port();
    tokio::spawn(async move {
        while let Ok((client, _)) = relay.accept().await {
            tokio::spawn(pass(client, port, is_broken.clone(), ended.clone()));
        }
    });
    let connector = Connector::new().carriers([CarrierKind::WebSocket]);
    let (ours, theirs) = within(10, async { tokio::join!(connector.connect(&url), service.accept()) }).await;
    let _channels = (ours.unwrap(), theirs.unwrap());
    let began = Instant::now();
    broken.send_replace(true);
    within(30, count.wait_for(|count| *count == 5)).await.unwrap();
    // Pauses of 100, 200, 400 and 800 ms.
    assert!(began.elapsed() >= Duration::from_millis(1_500), "{:?}", began.elapsed());
}
