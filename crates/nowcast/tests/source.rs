//! An application's source may call its own channel, take a long time, or panic. Only the packets of that channel wait for the
//! source.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::common::{House, until, within};
use nowcast::session::{CloseCode, LaneConfig, PacketOutcome, Refused};
use nowcast::{Bounds, CarrierKind, Channel, MessageKind, PutBatch, RefusedPut, Source};

/// More than the packet of any carrier holds.
const OVERSIZED_BYTES: usize = 20_000;
const CARRIERS: [CarrierKind; 2] = [CarrierKind::WebTransport, CarrierKind::WebSocket];

/// Makes a house whose accepting side has a source on lane 0.
async fn sourced_house() -> House {
    House::build_with(|config| {
        config.accept.session.lanes = vec![LaneConfig { has_source: true, ..LaneConfig::default() }];
    })
    .await
}

/// Calls all methods of its channel, and writes one word.
struct Talkative {
    channel: Channel,
    was_filled: bool,
}

impl Source<PutBatch> for Talkative {
    fn has_more(&self, _lane: u8) -> bool {
        let _ = self.channel.status();
        !self.was_filled
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, packet: &mut Vec<u8>) {
        self.was_filled = true;
        self.channel.try_event(b"said while it was filled").expect("there is room");
        self.channel.source_has_more();
        packet.extend_from_slice(b"filled");
    }

    fn on_outcome(&mut self, outcome: PacketOutcome) {
        self.was_filled = outcome.arrived;
        self.channel.set_bytes_per_second_max(None);
        self.channel.try_event(b"said when it had arrived").expect("there is room");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_source_may_call_its_own_channel() {
    let mut house = sourced_house().await;
    for carrier in CARRIERS {
        let (ours, theirs) = house.join(&[carrier]).await;
        theirs.set_source(Box::new(Talkative { channel: theirs.clone(), was_filled: false }));
        let (mut filled, mut said) = (false, false);
        within(20, async {
            while !(filled && said) {
                let message = ours.receive().await.expect("the channel is open");
                match message.kind {
                    MessageKind::Replication { .. } => filled = message.bytes == b"filled",
                    _ => said |= message.bytes == b"said when it had arrived",
                }
            }
        })
        .await;
        theirs.close(0, "");
    }
}

/// Blocks in its calls until it is released.
struct Slow {
    is_asked: Arc<AtomicBool>,
    let_go: Mutex<mpsc::Receiver<()>>,
}

impl Source<PutBatch> for Slow {
    fn has_more(&self, _lane: u8) -> bool {
        self.is_asked.store(true, Ordering::Relaxed);
        // The other end is dropped no later than the end of the test.
        let _ = self.let_go.lock().expect("nobody panics").recv();
        false
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, _packet: &mut Vec<u8>) {}

    fn on_outcome(&mut self, _outcome: PacketOutcome) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_slow_source_does_not_block_the_channel() {
    let mut house = sourced_house().await;
    let (ours, theirs) = house.join(&[CarrierKind::WebSocket]).await;
    let (_other_ours, other_theirs) = house.join(&[CarrierKind::WebSocket]).await;
    theirs.try_event(b"before").expect("there is room");
    assert_eq!(within(20, ours.receive()).await.expect("the channel is open").bytes, b"before");
    let (let_go, wait) = mpsc::channel();
    let is_asked = Arc::new(AtomicBool::new(false));
    theirs.set_source(Box::new(Slow { is_asked: Arc::clone(&is_asked), let_go: Mutex::new(wait) }));
    until("the source is asked", || is_asked.load(Ordering::Relaxed)).await;
    // If the source held the channel, each of these calls would wait for it.
    let handle = theirs.clone();
    let calling = tokio::task::spawn_blocking(move || {
        handle.try_event(b"meanwhile").expect("there is room");
        handle.batch().try_state(0, 1, b"in a batch").expect("there is room");
        handle.source_has_more();
        (handle.status().is_open, handle.try_receive())
    });
    assert_eq!(within(20, calling).await.expect("no panic"), (true, Ok(None)));
    other_theirs.try_event(b"beside it").expect("there is room");
    drop(let_go);
    assert_eq!(within(20, ours.receive()).await.expect("the channel is open").bytes, b"meanwhile");
}

/// The bytes that a source wrote, and their outcomes.
#[derive(Default)]
struct Diary {
    /// The last value written for each packet.
    written: HashMap<u64, u32>,
    fills: u32,
    outcomes: u32,
}

/// Writes rising numbers. Each time it fills the room that it is offered, up to 700 bytes.
struct Counting {
    diary: Arc<Mutex<Diary>>,
    is_done: Arc<AtomicBool>,
}

impl Source<PutBatch> for Counting {
    fn has_more(&self, _lane: u8) -> bool {
        !self.is_done.load(Ordering::Relaxed)
    }

    fn fill(&mut self, _lane: u8, number: u64, room: usize, packet: &mut Vec<u8>) {
        if room < 4 {
            return;
        }
        let mut diary = self.diary.lock().expect("nobody panics");
        diary.fills += 1;
        let value = diary.fills;
        diary.written.insert(number, value);
        let end = packet.len() + room.min(700);
        packet.extend_from_slice(&value.to_le_bytes());
        packet.resize(end, 0);
    }

    fn on_outcome(&mut self, _outcome: PacketOutcome) {
        self.diary.lock().expect("nobody panics").outcomes += 1;
    }
}

/// The application also puts events of all sizes. These events use some of the room that the source was offered.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_source_learns_the_outcome_of_all_its_bytes_once_and_the_newest_arrives() {
    const EVENTS: usize = 300;
    let mut house = sourced_house().await;
    for carrier in CARRIERS {
        let (ours, theirs) = house.join(&[carrier]).await;
        let (diary, is_done) = (Arc::<Mutex<Diary>>::default(), Arc::<AtomicBool>::default());
        theirs.set_source(Box::new(Counting { diary: Arc::clone(&diary), is_done: Arc::clone(&is_done) }));
        let putting = async {
            for number in 0..EVENTS {
                theirs
                    .event(&vec![number as u8; 1 + number * 37 % 2_000])
                    .await
                    .expect("the channel is open");
            }
        };
        let receiving = async {
            let (mut events, mut sourced, mut newest) = (0, 0, 0);
            while events < EVENTS || sourced < 50 {
                let message = ours.receive().await.expect("the channel is open");
                let MessageKind::Replication { packet } = message.kind else {
                    assert_eq!(message.bytes, vec![events as u8; 1 + events * 37 % 2_000]);
                    events += 1;
                    continue;
                };
                let value = u32::from_le_bytes(message.bytes[..4].try_into().expect("the value is a number"));
                let written = diary.lock().expect("nobody panics").written[&packet];
                assert_eq!(value, written, "{carrier}: the bytes of another packet");
                (sourced, newest) = (sourced + 1, newest.max(value));
            }
        };
        within(60, async { tokio::join!(putting, receiving) }).await;
        is_done.store(true, Ordering::Relaxed);
        theirs.source_has_more();
        until("the source learns all outcomes", || {
            // Acknowledgements arrive together with the peer's messages.
            let _ = ours.try_event(b"");
            theirs.source_has_more();
            let diary = diary.lock().expect("nobody panics");
            diary.outcomes == diary.fills
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_source_is_served_although_another_lane_always_has_messages() {
    let mut house = sourced_house().await;
    for carriers in [&[CarrierKind::WebTransport][..], &[CarrierKind::WebSocket], &CARRIERS] {
        let (ours, theirs) = house.join(carriers).await;
        let putting = tokio::spawn({
            let theirs = theirs.clone();
            async move { while theirs.event(&[7; 1_000]).await.is_ok() {} }
        });
        let diary = Arc::<Mutex<Diary>>::default();
        theirs.set_source(Box::new(Counting { diary, is_done: Arc::default() }));
        within(60, async {
            let mut sourced = 0;
            while sourced < 40 {
                let message = ours.receive().await.expect("the channel is open");
                sourced += u32::from(matches!(message.kind, MessageKind::Replication { .. }));
                if carriers.len() > 1 && sourced == 20 {
                    // From now on, packets have another size.
                    house.gate.lose_udp(100);
                }
            }
        })
        .await;
        house.gate.lose_udp(0);
        theirs.close(0, "");
        putting.await.expect("no panic");
    }
}

/// Puts the given messages when it is called, and writes nothing into packets.
struct Speaker {
    words: Mutex<mpsc::Receiver<&'static str>>,
}

impl Source<PutBatch> for Speaker {
    fn has_more(&self, _lane: u8) -> bool {
        false
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, _packet: &mut Vec<u8>) {}

    fn on_outcome(&mut self, _outcome: PacketOutcome) {}

    fn feed(&mut self, feed: &mut PutBatch) {
        for word in self.words.lock().expect("nobody panics").try_iter() {
            if word == "enough" {
                feed.close(70, "said all");
            } else {
                feed.state(1, 1, word.as_bytes(), Instant::now());
                feed.event(1, word.as_bytes());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_puts_messages_when_it_is_called_and_may_end_the_channel() {
    let mut house = House::build().await;
    for carrier in CARRIERS {
        let (ours, theirs) = house.join(&[carrier]).await;
        within(20, async {
            let (say, words) = mpsc::channel();
            theirs.set_source(Box::new(Speaker { words: words.into() }));
            for word in ["one", "two"] {
                say.send(word).expect("the source is there");
                theirs.source_has_more();
                let state = ours.receive().await.expect("the channel is open");
                let event = ours.receive().await.expect("the channel is open");
                assert_eq!(
                    (state.kind, &state.bytes[..]),
                    (MessageKind::State { key: 1.into() }, word.as_bytes())
                );
                assert_eq!((event.kind, &event.bytes[..]), (MessageKind::Event, word.as_bytes()));
            }
            say.send("enough").expect("the source is there");
            theirs.source_has_more();
            let closed = ours.closed().await;
            assert_eq!((closed.code.0, closed.reason.as_ref()), (70, "said all"));
        })
        .await;
    }
}

/// Puts events until one is refused, and records the refused one.
struct Insistent {
    puts: usize,
    refused: Arc<Mutex<Vec<RefusedPut>>>,
}

impl Source<PutBatch> for Insistent {
    fn has_more(&self, _lane: u8) -> bool {
        false
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, _packet: &mut Vec<u8>) {}

    fn on_outcome(&mut self, _outcome: PacketOutcome) {}

    fn feed(&mut self, feed: &mut PutBatch) {
        self.refused.lock().expect("nobody panics").extend(feed.take_refused());
        for number in 0..std::mem::take(&mut self.puts) {
            feed.event(1, &[number as u8; 100]);
        }
        feed.event(2, b"of another lane");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_learns_which_put_was_refused_and_nothing_overtakes_it_on_its_lane() {
    const ENTRIES_MAX: usize = 20;
    let mut house = House::build_with(|config| {
        let bounds = Bounds { entries_max: ENTRIES_MAX, bytes_max: 64 * 1_024 };
        config.accept.session.lanes = vec![LaneConfig { bounds, ..LaneConfig::default() }; 3];
    })
    .await;
    let (ours, theirs) = house.join(&[CarrierKind::WebSocket]).await;
    let refused = Arc::<Mutex<Vec<RefusedPut>>>::default();
    // All messages of one turn are put before a packet leaves. Therefore no more messages than the bound are accepted.
    theirs.set_source(Box::new(Insistent { puts: ENTRIES_MAX + 5, refused: Arc::clone(&refused) }));
    within(20, async {
        let (mut events, mut others) = (Vec::new(), 0);
        while events.len() < ENTRIES_MAX || others == 0 {
            let message = ours.receive().await.expect("the channel is open");
            match message.lane.number() {
                1 => events.push(message.bytes[0]),
                _ => others += 1,
            }
        }
        assert_eq!(events, (0..ENTRIES_MAX as u8).collect::<Vec<_>>());
    })
    .await;
    until("the source learns of the refusals without another call", || {
        refused.lock().expect("nobody panics").len() == 5
    })
    .await;
    let of_lane_1 = RefusedPut { lane: 1.into(), key: None, why: Refused::Full };
    assert_eq!(*refused.lock().expect("nobody panics"), vec![of_lane_1; 5]);
}

/// Panics in one of its calls, or when it is dropped.
struct Broken {
    place: &'static str,
    was_filled: Arc<AtomicBool>,
}

impl Source<PutBatch> for Broken {
    fn has_more(&self, _lane: u8) -> bool {
        assert_ne!(self.place, "has_more", "the application's mistake");
        !self.was_filled.load(Ordering::Relaxed)
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, packet: &mut Vec<u8>) {
        packet.extend_from_slice(b"half of");
        assert_ne!(self.place, "fill", "the application's mistake");
        if self.place == "room" {
            packet.resize(OVERSIZED_BYTES, 0);
        }
        self.was_filled.store(true, Ordering::Relaxed);
    }

    fn on_outcome(&mut self, _outcome: PacketOutcome) {
        assert_ne!(self.place, "settled", "the application's mistake");
    }

    fn feed(&mut self, _feed: &mut PutBatch) {
        assert_ne!(self.place, "feed", "the application's mistake");
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        assert_ne!(self.place, "drop", "the application's mistake");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_panics_ends_its_channel_and_affects_no_other() {
    const PANICKED: &str = "the source panicked";
    let mut house = sourced_house().await;
    for (place, reason) in [
        ("has_more", PANICKED),
        ("fill", PANICKED),
        ("settled", PANICKED),
        ("feed", PANICKED),
        ("room", "the source wrote more than there was room for"),
    ] {
        let (ours, theirs) = house.join(&[CarrierKind::WebSocket]).await;
        within(20, async {
            theirs.set_source(Box::new(Broken { place, was_filled: Arc::default() }));
            theirs.source_has_more();
            let closed = theirs.closed().await;
            assert_eq!((closed.code, closed.reason.as_ref()), (CloseCode::APPLICATION, reason), "{place}");
            assert_eq!(ours.closed().await.code, CloseCode::APPLICATION, "{place}");
            assert!(theirs.try_receive().is_err(), "{place}: calls still return");
        })
        .await;
    }
    // A replaced source that panics no longer affects the channel.
    let (ours, theirs) = house.join(&[CarrierKind::WebSocket]).await;
    for place in ["drop", "nowhere"] {
        theirs.set_source(Box::new(Broken { place, was_filled: Arc::default() }));
        let message = within(20, ours.receive()).await.expect("the channel is open");
        assert_eq!(message.bytes, b"half of");
    }
    // The endpoint still serves other clients.
    let (ours, theirs) = house.join(&[CarrierKind::WebSocket]).await;
    let answering = async {
        let message = theirs.receive().await.expect("the channel is open");
        let MessageKind::Command(id) = message.kind else { panic!("the message is a command") };
        theirs.try_reply(id, b"yes").expect("there is room");
    };
    let (reply, ()) = tokio::join!(ours.command(b"well?", Duration::from_secs(20)), answering);
    assert_eq!(reply.expect("the reply arrives"), b"yes");
}
