//! A session outlives its carriers: it falls back, returns, and continues after its carrier is killed.

use std::time::{Duration, Instant};

use crate::common::{House, until, within};
use nowcast::session::ClosedBy;
use nowcast::{CarrierKind, Channel, Connector, Phase};

const BOTH: [CarrierKind; 2] = [CarrierKind::WebTransport, CarrierKind::WebSocket];

/// Puts numbered events, each preceded by a state, until it is stopped.
async fn talk(channel: &Channel, stop: &tokio::sync::Notify) -> u64 {
    let mut number = 0u64;
    let mut beat = tokio::time::interval(Duration::from_millis(5));
    loop {
        tokio::select! {
            () = stop.notified() => return number,
            _ = beat.tick() => {
                channel.try_state(1 + number % 7, &number.to_le_bytes()).unwrap();
                channel.event(&number.to_le_bytes()).await.unwrap();
                number += 1;
            }
        }
    }
}

/// Reads events, and checks that none is lost or duplicated. Returns after `count` events.
async fn listen(channel: &Channel, seen: &std::sync::atomic::AtomicU64) {
    loop {
        let Ok(message) = channel.receive().await else { return };
        if message.key().is_none() {
            let number = u64::from_le_bytes(message.bytes.try_into().unwrap());
            let expected = seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(number, expected, "no event is lost, doubled or out of order");
        }
    }
}

fn count(seen: &std::sync::atomic::AtomicU64) -> u64 {
    seen.load(std::sync::atomic::Ordering::Relaxed)
}

/// Sends messages both ways while `happens` runs, and checks that all of them arrive.
async fn converse(ours: &Channel, theirs: &Channel, happens: impl AsyncFnOnce()) {
    let (stop_ours, stop_theirs) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
    let (seen_ours, seen_theirs) = Default::default();
    let talking = async {
        let during = async {
            happens().await;
            stop_ours.notify_one();
            stop_theirs.notify_one();
        };
        let (from_us, from_them, ()) =
            tokio::join!(talk(ours, &stop_ours), talk(theirs, &stop_theirs), during);
        until("everything arrives", || count(&seen_theirs) == from_us && count(&seen_ours) == from_them)
            .await;
    };
    tokio::select! {
        () = listen(ours, &seen_ours) => panic!("our end closed"),
        () = listen(theirs, &seen_theirs) => panic!("their end closed"),
        () = talking => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_falls_back_to_websocket_when_udp_is_dropped_and_returns() {
    let mut house = House::build().await;
    let (ours, theirs) = house.join(&BOTH).await;
    assert_eq!(ours.status().carrier, Some(CarrierKind::WebTransport));
    converse(&ours, &theirs, async || {
        tokio::time::sleep(Duration::from_millis(100)).await;
        house.gate.close_udp(true);
        let dropped = Instant::now();
        until("the session falls back", || {
            let status = ours.status();
            status.carrier == Some(CarrierKind::WebSocket) && status.is_open && status.resumed == 1
        })
        .await;
        println!("fell back {:?} after UDP was dropped", dropped.elapsed());
        house.gate.close_udp(false);
        until("the session returns", || {
            let status = ours.status();
            status.carrier == Some(CarrierKind::WebTransport) && status.is_open
        })
        .await;
    })
    .await;
    assert_eq!(ours.status().phase, Phase::Open);
    until("the other end has resumed twice", || theirs.status().resumed == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_begins_on_websocket_where_udp_is_dropped() {
    let mut house = House::build().await;
    house.gate.close_udp(true);
    let began = Instant::now();
    let (ours, theirs) = house.join(&BOTH).await;
    println!("joined {:?} after the question", began.elapsed());
    assert_eq!(ours.status().carrier, Some(CarrierKind::WebSocket));
    theirs.try_event(b"here").unwrap();
    assert_eq!(within(5, ours.receive()).await.unwrap().bytes, b"here");
}

/// If a carrier falls silent before the peer has answered, there is no session that could be resumed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_begins_where_its_first_packets_are_lost() {
    let house = House::build().await;
    let url = house.url(&[CarrierKind::WebTransport]);
    house.gate.lose_udp(40);
    let mut channels = tokio::task::JoinSet::new();
    for _ in 0..24 {
        let url = url.clone();
        channels.spawn(async move {
            let connector = Connector::new().carriers([CarrierKind::WebTransport]);
            connector.connect(&url).await
        });
    }
    let mut opened = 0;
    for channel in within(60, channels.join_all()).await {
        // On such a link some clients give up after their timeout, but none is refused.
        match channel {
            Ok(_) => opened += 1,
            Err(nowcast::ConnectError::Closed(closed)) => {
                assert_eq!(closed.by, ClosedBy::Silence, "{closed}");
            }
            Err(_) => {}
        }
    }
    assert!(opened > 0, "no session began");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_continues_after_its_carrier_is_killed() {
    for kind in BOTH {
        let mut house = House::build().await;
        let (ours, theirs) = house.join(&[kind]).await;
        converse(&ours, &theirs, async || {
            for round in 1..=3 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                house.gate.kill();
                until("the session continues", || {
                    theirs.status().resumed == round && theirs.status().is_open
                })
                .await;
            }
        })
        .await;
        assert_eq!(ours.status().carrier, Some(kind));
    }
}

/// An overloaded endpoint would be lost if each of its clients opened another carrier at each late answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_answers_late_gets_few_new_carriers() {
    const LATE_ANSWERS: u64 = 12;
    let mut house = House::build().await;
    let (ours, theirs) = house.join(&[CarrierKind::WebSocket]).await;
    let before = house.gate.tcp_connections();
    converse(&ours, &theirs, async || {
        for _ in 0..LATE_ANSWERS {
            house.gate.stall(true);
            tokio::time::sleep(Duration::from_millis(700)).await;
            house.gate.stall(false);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    let opened = house.gate.tcp_connections() - before;
    assert!(opened <= LATE_ANSWERS / 2, "{opened} connections for {LATE_ANSWERS} late answers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_sees_a_status_and_no_error_until_the_session_gives_up() {
    let mut house = House::build_with(|config| {
        config.accept.session.limits.resume_timeout = Duration::from_secs(1);
    })
    .await;
    let (ours, _theirs) = house.join(&[CarrierKind::WebSocket]).await;
    let mut changes = ours.status_changes();
    assert_eq!(changes.now(), (Phase::Open, Some(CarrierKind::WebSocket)));
    drop(house);
    let mut seen = Vec::new();
    while let Some((phase, _)) = within(20, changes.changed()).await {
        let is_over = matches!(phase, Phase::Closed(_));
        seen.push(phase);
        if is_over {
            break;
        }
        // While the channel is interrupted, puts are still accepted.
        ours.try_state(1, b"kept").unwrap();
    }
    assert!(matches!(seen.last(), Some(Phase::Closed(_))), "{seen:?}");
}
