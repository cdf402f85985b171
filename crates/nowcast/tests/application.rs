//! An application uses and misuses its own channel.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use crate::common::{House, until, within};
use nowcast::session::Refused;
use nowcast::{CarrierKind, Error, MessageKind};

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_continues_while_a_batch_of_it_is_open() {
    let mut house = House::build().await;
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket, nowcast::local::CARRIER] {
        let (ours, theirs) = house.join(&[carrier]).await;
        within(20, async {
            theirs.try_event(b"before").expect("the channel is open");
            let mut batch = ours.batch();
            batch.try_state(0, 1, b"in the batch").expect("there is room");
            // If the batch locked the channel, each of these calls would wait for ever.
            ours.try_event(b"beside it").expect("there is room");
            assert_eq!(ours.receive().await.expect("the channel is open").bytes, b"before");
            assert!(ours.status().carrier.is_some());
            batch.try_event(0, b"after it").expect("there is room");
            drop(batch);
            let mut received = Vec::new();
            while received.len() < 3 {
                received.push(theirs.receive().await.expect("the channel is open").bytes);
            }
            assert_eq!(received, [b"in the batch".as_slice(), b"beside it", b"after it"], "{carrier}");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_leaves_while_a_batch_is_open() {
    let mut house = House::build().await;
    let (ours, theirs) = house.join(&[CarrierKind::WebSocket]).await;
    within(20, async {
        let mut batch = ours.batch();
        batch.try_event(0, b"first").expect("there is room");
        // The other side receives messages during the whole test.
        for number in 0..20_u8 {
            theirs.try_event(&[number]).expect("there is room");
            assert_eq!(ours.receive().await.expect("the channel is open").bytes, [number]);
        }
        assert!(theirs.try_receive().expect("the channel is open").is_none());
        batch.try_event(0, b"second").expect("there is room");
        drop(batch);
        assert_eq!(theirs.receive().await.expect("the channel is open").bytes, b"first");
        assert_eq!(theirs.receive().await.expect("the channel is open").bytes, b"second");
    })
    .await;
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Wakes(AtomicU64);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_receives_sleeps_while_only_acknowledgements_arrive() {
    let mut house = House::build().await;
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
        let (ours, theirs) = house.join(&[carrier]).await;
        within(20, async {
            let wakes = Arc::new(Wakes::default());
            let waker = Waker::from(Arc::clone(&wakes));
            assert!(ours.poll_receive(&mut Context::from_waker(&waker)).is_pending());
            for number in 0..50_u8 {
                ours.event(&[number]).await.expect("the channel is open");
                assert_eq!(theirs.receive().await.expect("the channel is open").bytes, [number]);
            }
            ours.drained().await.expect("the channel is open");
            assert_eq!(wakes.0.load(Ordering::Relaxed), 0, "{carrier}");
            theirs.event(b"now").await.expect("the channel is open");
            until("the task is woken", || wakes.0.load(Ordering::Relaxed) == 1).await;
            assert_eq!(ours.receive().await.expect("the channel is open").bytes, b"now");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_on_a_closed_channel_returns_the_same_reason() {
    let mut house = House::build().await;
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
        let (ours, theirs) = house.join(&[carrier]).await;
        within(20, async {
            ours.close(70, "enough");
            let closed = theirs.closed().await;
            assert_eq!((closed.code.0, closed.reason.as_str()), (70, "enough"), "{carrier}");
            let over = Err(Error::Closed(closed.clone()));
            let lane = theirs.lane(1);
            assert_eq!([lane.event(b"x").await, lane.try_state(1, b"x")], [over.clone(), over.clone()]);
            let soon = Duration::from_secs(20);
            assert_eq!(theirs.command(b"x", soon).await, Err(Error::Closed(closed.clone())));
            assert_eq!(theirs.receive().await, Err(Error::Closed(closed)));
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_names_the_bound_that_a_call_exceeds() {
    let mut house = House::build().await;
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket, nowcast::local::CARRIER] {
        let (ours, _theirs) = house.join(&[carrier]).await;
        let refused = Err(Error::Refused(Refused::KeyZero));
        assert_eq!([ours.state(0, b"x").await, ours.try_state(0, b"x")], [refused.clone(), refused]);
        let lanes = Err(Error::Refused(Refused::NoLane { lane: 8, lanes: 8 }));
        assert_eq!(ours.lane(8).event(b"x").await, lanes, "{carrier}");
        let large = vec![0; 64 << 20];
        let Err(Error::Refused(Refused::TooLarge { bytes, bytes_max })) = ours.event(&large).await else {
            panic!("{carrier}: 64 MiB are refused")
        };
        assert!(bytes >= large.len() && bytes_max < large.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_lane_moves_into_a_task_and_keeps_the_channel_open() {
    let mut house = House::build().await;
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket, nowcast::local::CARRIER] {
        let (ours, theirs) = house.join(&[carrier]).await;
        within(20, async {
            let words = ours.lane(2).typed::<String>();
            drop(ours);
            let speaking = tokio::spawn(async move {
                words.event(&"hello".to_owned()).await?;
                words.call::<u32>(&"how many?".to_owned(), Duration::from_secs(20)).await
            });
            let message = theirs.receive().await.expect("the channel is open");
            assert_eq!((message.lane.number(), message.decode::<&str>()), (2, Ok("hello")));
            let asked = theirs.receive().await.expect("the channel is open");
            let MessageKind::Command(id) = asked.kind else { panic!("the message is a command") };
            theirs.lane(0).typed::<u32>().reply(id, &3).await.expect("the channel is open");
            assert_eq!(speaking.await.expect("no panic"), Ok(3), "{carrier}");
            let Err(Error::Invalid(what)) = asked.decode::<bool>() else { panic!("the value is a text") };
            assert!(!what.is_empty());
        })
        .await;
    }
}
