//! What an application may do to its own channel.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use common::{House, until, within};
use nowcast::session::{CloseCode, PacketOutcome, Refused, Replication};
use nowcast::{CarrierKind, Error, Feed, MessageKind, Source};

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_goes_on_while_a_batch_of_it_is_open() {
    let mut house = House::build().await;
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket, nowcast::local::CARRIER] {
        let (ours, theirs) = house.join(&[carrier]).await;
        within(20, async {
            theirs.try_event(b"before").expect("it is open");
            let mut batch = ours.batch();
            batch.try_state(0, 1, b"in the batch").expect("there is room");
            // All of these would wait for ever if the batch held the channel.
            ours.try_event(b"beside it").expect("there is room");
            assert_eq!(ours.receive().await.expect("it is open").bytes, b"before");
            assert!(ours.status().carrier.is_some());
            batch.try_event(0, b"after it").expect("there is room");
            drop(batch);
            let mut received = Vec::new();
            while received.len() < 3 {
                received.push(theirs.receive().await.expect("it is open").bytes);
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
        // What the other side says is taken in all the time.
        for number in 0..20_u8 {
            theirs.try_event(&[number]).expect("there is room");
            assert_eq!(ours.receive().await.expect("it is open").bytes, [number]);
        }
        assert!(theirs.try_receive().expect("it is open").is_none());
        batch.try_event(0, b"second").expect("there is room");
        drop(batch);
        assert_eq!(theirs.receive().await.expect("it is open").bytes, b"first");
        assert_eq!(theirs.receive().await.expect("it is open").bytes, b"second");
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
                ours.event(&[number]).await.expect("it is open");
                assert_eq!(theirs.receive().await.expect("it is open").bytes, [number]);
            }
            ours.drained().await.expect("it is open");
            assert_eq!(wakes.0.load(Ordering::Relaxed), 0, "{carrier}");
            theirs.event(b"now").await.expect("it is open");
            until("it is woken", || wakes.0.load(Ordering::Relaxed) == 1).await;
            assert_eq!(ours.receive().await.expect("it is open").bytes, b"now");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_is_over_gives_the_same_reason_to_every_call() {
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
async fn a_bound_that_a_call_breaks_is_named() {
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
async fn a_lane_of_a_type_moves_into_a_task_and_keeps_the_channel_open() {
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
            let message = theirs.receive().await.expect("it is open");
            assert_eq!((message.lane.number(), message.decode::<&str>()), (2, Ok("hello")));
            let asked = theirs.receive().await.expect("it is open");
            let MessageKind::Command(id) = asked.kind else { panic!("it is a command") };
            theirs.lane(0).typed::<u32>().reply(id, &3).await.expect("it is open");
            assert_eq!(speaking.await.expect("no panic"), Ok(3), "{carrier}");
            let Err(Error::Invalid(what)) = asked.decode::<bool>() else { panic!("it is a text") };
            assert!(!what.is_empty());
        })
        .await;
    }
}

/// Panics in one of the three things that it is asked.
struct Broken {
    place: &'static str,
    was_filled: Arc<AtomicBool>,
}

impl Replication for Broken {
    fn has_more(&self, _lane: u8) -> bool {
        assert_ne!(self.place, "has_more", "the application's mistake");
        !self.was_filled.load(Ordering::Relaxed)
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(b"half of");
        assert_ne!(self.place, "fill", "the application's mistake");
        self.was_filled.store(true, Ordering::Relaxed);
    }
}

impl Source for Broken {
    fn settled(&mut self, _outcome: PacketOutcome) {
        assert_ne!(self.place, "settled", "the application's mistake");
    }

    fn feed(&mut self, _feed: &mut Feed<'_>) {
        assert_ne!(self.place, "feed", "the application's mistake");
    }
}

/// Says what it is asked to say when the driver asks it, and nothing by packets.
struct Speaker {
    words: std::sync::mpsc::Receiver<&'static str>,
}

impl Replication for Speaker {
    fn has_more(&self, _lane: u8) -> bool {
        false
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, _out: &mut Vec<u8>) {}
}

impl Source for Speaker {
    fn settled(&mut self, _outcome: PacketOutcome) {}

    fn feed(&mut self, feed: &mut Feed<'_>) {
        for word in self.words.try_iter() {
            if word == "enough" {
                feed.close(70, "said all");
            } else {
                feed.try_state(0, 1, word.as_bytes(), std::time::Instant::now()).unwrap();
                feed.try_event(0, word.as_bytes()).unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_puts_what_is_news_when_it_is_called_and_may_end_the_channel() {
    let mut house = House::build().await;
    for kind in [CarrierKind::WebSocket, CarrierKind::WebTransport] {
        let (ours, theirs) = house.join(&[kind]).await;
        within(20, async {
            let (say, words) = std::sync::mpsc::channel();
            theirs.set_source(Box::new(Speaker { words }));
            for word in ["one", "two"] {
                say.send(word).unwrap();
                theirs.source_has_more();
                let state = ours.receive().await.unwrap();
                let event = ours.receive().await.unwrap();
                assert_eq!(
                    (state.kind, &state.bytes[..]),
                    (MessageKind::State { key: 1.into() }, word.as_bytes())
                );
                assert_eq!((event.kind, &event.bytes[..]), (MessageKind::Event, word.as_bytes()));
            }
            say.send("enough").unwrap();
            theirs.source_has_more();
            let closed = ours.closed().await;
            assert_eq!((closed.code.0, closed.reason.as_ref()), (70, "said all"));
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_a_source_ends_the_channel_and_poisons_nothing() {
    let mut house = House::build_with(|config| {
        config.accept.session.lanes =
            vec![nowcast::session::LaneConfig { has_source: true, ..Default::default() }];
    })
    .await;
    for place in ["has_more", "fill", "settled", "feed"] {
        let (ours, theirs) = house.join(&[CarrierKind::WebSocket]).await;
        within(20, async {
            theirs.set_source(Box::new(Broken { place, was_filled: Arc::default() }));
            theirs.source_has_more();
            let closed = theirs.closed().await;
            assert_eq!(
                (closed.code, closed.reason.as_ref()),
                (CloseCode::APPLICATION, "the source panicked"),
                "{place}"
            );
            assert_eq!(ours.closed().await.code, CloseCode::APPLICATION, "{place}");
            assert!(
                theirs.status().carrier.is_some() || theirs.try_receive().is_err(),
                "it can still be asked"
            );
        })
        .await;
    }
    // The endpoint serves others as before.
    let (ours, theirs) = house.join(&[CarrierKind::WebSocket]).await;
    let answering = async {
        let message = theirs.receive().await.expect("it is open");
        let MessageKind::Command(id) = message.kind else { panic!("it is a command") };
        theirs.try_reply(id, b"yes").expect("there is room");
    };
    let (reply, ()) = tokio::join!(ours.command(b"well?", Duration::from_secs(20)), answering);
    assert_eq!(reply.expect("it is answered"), b"yes");
}
