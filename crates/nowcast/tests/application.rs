//! What an application may do to its own channel.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{House, within};
use nowcast::session::{CloseCode, PacketOutcome, Replication};
use nowcast::{CarrierKind, MessageKind, Source};

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_goes_on_while_a_batch_of_it_is_open() {
    let mut house = House::build().await;
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket, CarrierKind::SharedMemory] {
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
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_a_source_ends_the_channel_and_poisons_nothing() {
    let mut house = House::build_with(|config| {
        config.accept.session.lanes =
            vec![nowcast::session::LaneConfig { has_source: true, ..Default::default() }];
    })
    .await;
    for place in ["has_more", "fill", "settled"] {
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
