//! Applications that the drivers of their sessions call.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use crate::common::{House, until, within};
use nowcast::session::{CloseCode, LaneConfig};
use nowcast::{CarrierKind, MessageKind};
use nowcast_engine::session::{PacketOutcome, Source};
use nowcast_engine::{Application, DrivenSession};

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

/// The bytes that an application wrote, and their outcomes.
#[derive(Default)]
struct Diary {
    /// The last value written for each packet.
    written: HashMap<u64, u32>,
    fills: u32,
    outcomes: u32,
    /// The number of events that were put.
    events: usize,
}

/// Puts events of all sizes while there is room, and writes rising numbers into packets. Each time it fills the room that it is
/// offered, up to 700 bytes.
#[derive(Clone)]
struct Counting {
    diary: Arc<Mutex<Diary>>,
    is_done: Arc<AtomicBool>,
    events_max: usize,
}

impl Counting {
    fn new(events_max: usize) -> Self {
        Self { diary: Arc::default(), is_done: Arc::default(), events_max }
    }

    fn event(number: usize) -> Vec<u8> {
        vec![number as u8; 1 + number * 37 % 2_000]
    }
}

impl Application for Counting {
    fn turn(&mut self, session: &mut DrivenSession, _context: &mut Context<'_>) {
        let mut bytes = Vec::new();
        while session.receive_into(&mut bytes).is_some() {}
        let mut diary = self.diary.lock().expect("nobody panics");
        while session.is_open()
            && diary.events < self.events_max
            && session.put_event(0, &Self::event(diary.events)).is_ok()
        {
            diary.events += 1;
        }
    }
}

impl Source for Counting {
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

/// The events use some of the room that the source was offered.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_source_learns_the_outcome_of_all_its_bytes_once_and_the_newest_arrives() {
    const EVENTS: usize = 300;
    let house = sourced_house().await;
    for carrier in CARRIERS {
        let counting = Counting::new(EVENTS);
        let Counting { diary, is_done, .. } = counting.clone();
        let ours = house.connect_to(move || Box::new(counting.clone()), &[carrier]).await;
        within(60, async {
            let (mut events, mut sourced, mut newest) = (0, 0, 0);
            while events < EVENTS || sourced < 50 {
                let message = ours.receive().await.expect("the channel is open");
                let MessageKind::Replication { packet } = message.kind else {
                    assert_eq!(message.bytes, Counting::event(events));
                    events += 1;
                    continue;
                };
                let value = u32::from_le_bytes(message.bytes[..4].try_into().expect("the value is a number"));
                let written = diary.lock().expect("nobody panics").written[&packet];
                assert_eq!(value, written, "{carrier}: the bytes of another packet");
                (sourced, newest) = (sourced + 1, newest.max(value));
            }
        })
        .await;
        is_done.store(true, Ordering::Relaxed);
        until("the source learns all outcomes", || {
            // Acknowledgements arrive together with the peer's messages.
            let _ = ours.try_event(b"");
            let diary = diary.lock().expect("nobody panics");
            diary.outcomes == diary.fills
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_source_is_served_although_another_lane_always_has_messages() {
    let house = sourced_house().await;
    for carriers in [&[CarrierKind::WebTransport][..], &[CarrierKind::WebSocket], &CARRIERS] {
        let ours = house.connect_to(|| Box::new(Counting::new(usize::MAX)), carriers).await;
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
    }
}

/// Puts the given messages when it is woken.
struct Speaker {
    words: mpsc::Receiver<&'static str>,
    waker: Arc<Mutex<Option<Waker>>>,
}

impl Application for Speaker {
    fn turn(&mut self, session: &mut DrivenSession, context: &mut Context<'_>) {
        *self.waker.lock().expect("nobody panics") = Some(context.waker().clone());
        if !session.is_open() {
            return;
        }
        for word in self.words.try_iter() {
            if word == "enough" {
                return session.close(70, "said all");
            }
            session.put_state(1, 1, word.as_bytes(), Instant::now()).expect("there is room");
            session.put_event(1, word.as_bytes()).expect("there is room");
            if word == "last words" {
                session.close_after_delivery(71, "after the last words");
            }
        }
    }
}

/// Writes nothing into packets.
impl Source for Speaker {
    fn has_more(&self, _lane: u8) -> bool {
        false
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, _packet: &mut Vec<u8>) {}

    fn on_outcome(&mut self, _outcome: PacketOutcome) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_puts_messages_when_it_is_woken_and_may_end_the_session() {
    let house = House::build().await;
    for carrier in CARRIERS {
        for (end, code, reason) in [("enough", 70, "said all"), ("last words", 71, "after the last words")] {
            let (say, words) = mpsc::channel();
            let waker = Arc::<Mutex<Option<Waker>>>::default();
            let speaker = Mutex::new(Some(Speaker { words, waker: Arc::clone(&waker) }));
            let take = move || {
                let speaker = speaker.lock().expect("nobody panics").take();
                Box::new(speaker.expect("one client connects")) as Box<dyn Application>
            };
            let ours = house.connect_to(take, &[carrier]).await;
            let speak = |word| {
                say.send(word).expect("the application is there");
                waker.lock().expect("nobody panics").as_ref().expect("it had a turn").wake_by_ref();
            };
            within(20, async {
                let mut words = vec!["one", "two"];
                if end == "last words" {
                    words.push(end);
                }
                for word in words {
                    speak(word);
                    let state = ours.receive().await.expect("the channel is open");
                    let event = ours.receive().await.expect("the channel is open");
                    assert_eq!(
                        (state.kind, &state.bytes[..]),
                        (MessageKind::State { key: 1.into() }, word.as_bytes())
                    );
                    assert_eq!((event.kind, &event.bytes[..]), (MessageKind::Event, word.as_bytes()));
                }
                if end == "enough" {
                    speak(end);
                }
                let closed = ours.closed().await;
                assert_eq!((closed.code.0, closed.reason.as_str()), (code, reason));
            })
            .await;
        }
    }
}

/// Panics in one of its calls, after the client has sent a message.
struct Broken {
    place: &'static str,
    is_asked: bool,
    was_filled: bool,
}

impl Application for Broken {
    fn turn(&mut self, session: &mut DrivenSession, _context: &mut Context<'_>) {
        self.is_asked |= session.receive_into(&mut Vec::new()).is_some();
        assert!(self.place != "turn" || !self.is_asked, "the application's mistake");
    }
}

impl Source for Broken {
    fn has_more(&self, _lane: u8) -> bool {
        assert!(self.place != "has_more" || !self.is_asked, "the application's mistake");
        self.is_asked && !self.was_filled
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, packet: &mut Vec<u8>) {
        packet.extend_from_slice(b"half of");
        assert_ne!(self.place, "fill", "the application's mistake");
        if self.place == "room" {
            packet.resize(OVERSIZED_BYTES, 0);
        }
        self.was_filled = true;
    }

    fn on_outcome(&mut self, _outcome: PacketOutcome) {
        assert_ne!(self.place, "on_outcome", "the application's mistake");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_that_panics_ends_its_session_and_affects_no_other() {
    const PANICKED: &str = "the application panicked";
    let mut house = sourced_house().await;
    for (place, reason) in [
        ("turn", PANICKED),
        ("has_more", PANICKED),
        ("fill", PANICKED),
        ("on_outcome", PANICKED),
        ("room", "the source wrote more than there was room for"),
    ] {
        let broken =
            move || Box::new(Broken { place, is_asked: false, was_filled: false }) as Box<dyn Application>;
        let (acceptor, name) = house.serve(broken);
        let ours = house.connect(&name, &[CarrierKind::WebSocket]).await;
        ours.try_event(b"well?").expect("there is room");
        let closed = within(20, ours.closed()).await;
        assert_eq!((closed.code, closed.reason.as_str()), (CloseCode::APPLICATION, reason), "{place}");
        until("the session has ended", || acceptor.counters().sessions == 0).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_carrier_falls_silent_continues_with_its_application_on_another() {
    let house = House::build().await;
    let counting = Counting::new(usize::MAX);
    counting.is_done.store(true, Ordering::Relaxed);
    let (acceptor, name) = house.serve(move || Box::new(counting.clone()));
    let ours = house.connect(&name, &CARRIERS).await;
    assert_eq!(ours.status().carrier, Some(CarrierKind::WebTransport));
    within(20, async {
        let mut events = 0;
        while ours.status().carrier != Some(CarrierKind::WebSocket) || acceptor.counters().resumed == 0 {
            let message = ours.receive().await.expect("the channel is open");
            assert_eq!(message.bytes, Counting::event(events), "each event arrives once");
            events += 1;
            if events == 20 {
                house.gate.lose_udp(100);
            }
        }
    })
    .await;
    acceptor.close_all();
    let closed = within(20, ours.closed()).await;
    assert_eq!(closed.code, CloseCode::GOING_AWAY);
}
