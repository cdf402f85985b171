//! Tests a session in the situations for which it was made.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use nowcast_session::packet::{HELLO_BYTES_MIN, Hello, Packet, Resume};
use nowcast_session::{
    Carrier, CloseCode, ClosedBy, Config, Entropy, Limits, MessageKind, NoSource, Notice, PacketOutcome,
    Session, Source, Time,
};
use nowcast_sim::link::{Jitter, LinkConfig, Loss};
use nowcast_sim::pair::{End, Pair};

const MS: Duration = Duration::from_millis(1);

fn pair(link: LinkConfig, carrier: Carrier) -> Pair {
    Pair::new(7, [Config::default(), Config::default()], carrier, [link.clone(), link])
}

fn open_pair(link: LinkConfig) -> Pair {
    let mut pair = pair(link, Carrier::DATAGRAMS);
    run(&mut pair, 1_000 * MS);
    pair
}

fn delayed(millis: u32) -> LinkConfig {
    LinkConfig { delay: millis * MS, ..LinkConfig::default() }
}

fn run(pair: &mut Pair, time: Duration) {
    pair.run_until(pair.now() + time);
}

fn received(pair: &mut Pair, end: End) -> Vec<(MessageKind, Vec<u8>)> {
    let mut all = Vec::new();
    let mut payload = Vec::new();
    while let Some(message) = pair.with(end, |session, now| session.poll_message(now, &mut payload)) {
        all.push((message.kind, payload.clone()));
    }
    all
}

fn notices(pair: &mut Pair, end: End) -> Vec<Notice> {
    std::iter::from_fn(|| pair.with(end, |session, _| session.poll_notice())).collect()
}

fn hello(version: u64, resume: Option<Resume>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let hello = Hello {
        version_min: version,
        version_max: version,
        nonce: [5; 8],
        clock: 1,
        limits: Limits::default(),
        resume,
    };
    hello.write(&mut bytes);
    bytes
}

#[test]
fn without_a_common_version_a_session_is_refused_by_name_in_fewer_bytes_than_received() {
    let now = Time::from_millis(1);
    let mut session = Session::accept(now, Config::default(), Carrier::DATAGRAMS, Entropy([1; 48]));
    session.handle_packet(now, &hello(2, None));
    let mut reply = Vec::new();
    assert!(session.poll_packet(now, &mut NoSource, &mut reply));
    assert!(reply.len() <= HELLO_BYTES_MIN);
    let Ok(Packet::Refuse(refuse)) = Packet::read(&reply) else { panic!("a refusal") };
    assert_eq!((refuse.code, refuse.version_min, refuse.version_max), (CloseCode::VERSION, 1, 1));
    assert!(session.is_closed());
}

#[test]
fn a_peer_without_a_proof_whose_carrier_ended_is_given_up_after_the_handshake_timeout() {
    let config = Config::default();
    let now = Time::from_millis(1);
    let give_up = now + config.handshake_timeout;
    assert!(config.handshake_timeout < config.limits.resume_timeout);
    let mut session = Session::accept(now, config, Carrier::DATAGRAMS, Entropy([1; 48]));
    session.handle_packet(now, &hello(1, None));
    session.detach(now);
    session.handle_timeout(give_up - MS);
    assert!(!session.is_closed(), "a peer that has WELCOME may return");
    assert_eq!(session.poll_timeout(give_up - MS), Some(give_up));
    session.handle_timeout(give_up);
    assert!(session.is_over());
}

#[test]
fn a_lost_update_is_not_sent_again_after_a_newer_one() {
    let mut pair = open_pair(delayed(25));
    let link = LinkConfig { loss: Loss::Random(1.0), ..delayed(25) };
    pair.link(End::Initiator).reconfigure(link);
    pair.with(End::Initiator, |session, now| session.put_state(now, 0, 1, b"old")).unwrap();
    run(&mut pair, 10 * MS);
    pair.link(End::Initiator).reconfigure(delayed(25));
    pair.with(End::Initiator, |session, now| session.put_state(now, 0, 1, b"new")).unwrap();
    run(&mut pair, 500 * MS);
    assert_eq!(received(&mut pair, End::Acceptor), [(MessageKind::State { key: 1 }, b"new".to_vec())]);
    assert_eq!(pair.session(End::Initiator).stats().states_resent, 0);
    assert!(pair.session(End::Initiator).is_drained());
}

#[test]
fn the_last_value_arrives_after_the_loss_of_all_its_first_packets() {
    let mut pair = open_pair(delayed(25));
    pair.link(End::Initiator).reconfigure(LinkConfig { loss: Loss::Random(1.0), ..delayed(25) });
    pair.with(End::Initiator, |session, now| session.put_state(now, 0, 1, b"last")).unwrap();
    run(&mut pair, 700 * MS);
    pair.link(End::Initiator).reconfigure(delayed(25));
    run(&mut pair, 2_100 * MS);
    assert_eq!(received(&mut pair, End::Acceptor), [(MessageKind::State { key: 1 }, b"last".to_vec())]);
}

#[test]
fn a_session_continues_over_a_new_carrier_and_events_arrive_once() {
    let mut pair = open_pair(delayed(25));
    for number in 0..20u8 {
        pair.with(End::Initiator, |session, now| session.put_event(now, 0, &[number])).unwrap();
        run(&mut pair, MS);
    }
    pair.kill_carrier([true, false]);
    pair.with(End::Initiator, |session, now| session.put_event(now, 0, &[20])).unwrap();
    run(&mut pair, 200 * MS);
    pair.attach(Carrier::STREAM);
    run(&mut pair, 1_000 * MS);
    let numbers: Vec<u8> = received(&mut pair, End::Acceptor).iter().map(|(_, payload)| payload[0]).collect();
    assert_eq!(numbers, (0..=20).collect::<Vec<_>>());
    let expected = [Notice::Opened { resumed: false }, Notice::Detached, Notice::Opened { resumed: true }];
    assert_eq!(notices(&mut pair, End::Initiator), expected);
}

#[test]
fn a_wrong_token_is_refused_and_the_session_continues() {
    let pair = open_pair(delayed(5));
    let session = pair.session(End::Acceptor);
    let identity = *session.identity().expect("an open session has an identity");
    let next = Resume { epoch: identity.epoch + 1, ..identity };
    assert_eq!(session.check_resume(&next), Ok(()));
    assert_eq!(session.check_resume(&Resume { token: [0; 16], ..next }), Err(CloseCode::WRONG_TOKEN));
    assert_eq!(session.check_resume(&identity), Err(CloseCode::WRONG_TOKEN), "an epoch is used once");
    assert_eq!(session.check_resume(&Resume { session: [0; 8], ..next }), Err(CloseCode::UNKNOWN_SESSION));
    assert!(session.is_open());
}

#[test]
fn an_expired_command_is_not_delivered_and_delays_no_event() {
    let mut pair = open_pair(delayed(25));
    pair.link(End::Initiator).reconfigure(LinkConfig { loss: Loss::Random(1.0), ..delayed(25) });
    let ask = |session: &mut Session, now| session.put_command(now, 0, b"expiring", 100 * MS);
    let command = pair.with(End::Initiator, ask).unwrap();
    pair.with(End::Initiator, |session, now| session.put_event(now, 0, b"lasting")).unwrap();
    run(&mut pair, 200 * MS);
    assert!(notices(&mut pair, End::Initiator).contains(&Notice::CommandTimedOut { lane: 0, command }));
    pair.link(End::Initiator).reconfigure(delayed(25));
    run(&mut pair, 1_000 * MS);
    assert_eq!(received(&mut pair, End::Acceptor), [(MessageKind::Event, b"lasting".to_vec())]);
}

#[test]
fn a_command_is_answered_or_its_deadline_is_reported() {
    let mut pair = open_pair(delayed(25));
    let ask = |session: &mut Session, now| session.put_command(now, 0, b"?", 300 * MS);
    let answered = pair.with(End::Initiator, ask).unwrap();
    run(&mut pair, 50 * MS);
    let (kind, _) = received(&mut pair, End::Acceptor).remove(0);
    let MessageKind::Command { command } = kind else { panic!("{kind:?}") };
    pair.with(End::Acceptor, |session, now| session.put_reply(now, 0, command, b"!")).unwrap();
    run(&mut pair, 50 * MS);
    assert_eq!(
        received(&mut pair, End::Initiator),
        [(MessageKind::Reply { command: answered }, b"!".to_vec())]
    );
    let unanswered = pair.with(End::Initiator, ask).unwrap();
    run(&mut pair, 400 * MS);
    let told = Notice::CommandTimedOut { lane: 0, command: unanswered };
    assert!(notices(&mut pair, End::Initiator).contains(&told));
}

#[test]
fn a_silent_carrier_is_detected_and_without_another_the_session_gives_up() {
    let mut pair = open_pair(delayed(25));
    for end in End::BOTH {
        pair.link(end).reconfigure(LinkConfig { loss: Loss::Random(1.0), ..delayed(25) });
    }
    run(&mut pair, Duration::from_secs(11));
    assert!(pair.session(End::Initiator).is_detached() && pair.session(End::Acceptor).is_detached());
    run(&mut pair, Duration::from_secs(61));
    let Some(Notice::Closed(closed)) = notices(&mut pair, End::Acceptor).pop() else { panic!("closed") };
    assert_eq!((closed.code, closed.by), (CloseCode::GAVE_UP, ClosedBy::Silence));
}

#[test]
fn a_carrier_detached_for_its_silence_is_used_again_when_a_packet_arrives() {
    let mut pair = open_pair(delayed(25));
    pair.link(End::Initiator).reconfigure(LinkConfig { loss: Loss::Random(1.0), ..delayed(25) });
    pair.with(End::Initiator, |session, now| session.put_event(now, 0, b"late")).unwrap();
    run(&mut pair, Duration::from_secs(11));
    assert!(pair.session(End::Acceptor).is_detached() && pair.session(End::Initiator).is_open());
    pair.link(End::Initiator).reconfigure(delayed(25));
    run(&mut pair, Duration::from_secs(3));
    assert_eq!(received(&mut pair, End::Acceptor), [(MessageKind::Event, b"late".to_vec())]);
    let expected = [Notice::Opened { resumed: false }, Notice::Detached, Notice::Opened { resumed: true }];
    assert_eq!(notices(&mut pair, End::Acceptor), expected);
}

#[test]
fn a_close_arrives_with_its_code_and_reason() {
    let mut pair = open_pair(delayed(25));
    pair.with(End::Acceptor, |session, now| session.close(now, CloseCode(77), "the game is over"));
    run(&mut pair, 100 * MS);
    let Some(Notice::Closed(closed)) = notices(&mut pair, End::Initiator).pop() else { panic!("closed") };
    assert_eq!((closed.code, closed.reason.as_str()), (CloseCode(77), "the game is over"));
    assert_eq!(closed.by, ClosedBy::Peer);
}

#[test]
fn nothing_is_sent_twice_over_a_reliable_carrier() {
    let mut pair = pair(delayed(80), Carrier::STREAM);
    for number in 0..300u32 {
        let value = number.to_le_bytes();
        pair.with(End::Initiator, |session, now| {
            session.put_state(now, 0, 1 + u64::from(number % 9), &value)
        })
        .unwrap();
        pair.with(End::Initiator, |session, now| session.put_event(now, 1, &value)).unwrap();
        run(&mut pair, 5 * MS);
    }
    run(&mut pair, 1_000 * MS);
    let stats = pair.session(End::Initiator).stats();
    assert_eq!(
        (stats.states_resent, stats.events_resent, stats.events_repeated, stats.probes_sent),
        (0, 0, 0, 0)
    );
    assert!(pair.session(End::Initiator).is_drained());
}

#[test]
fn the_age_of_a_shown_value_is_known_with_different_clocks() {
    let mut pair = open_pair(LinkConfig { jitter: Jitter::Uniform(3 * MS), ..delayed(40) });
    let mut worst = 0.0f64;
    for _ in 0..100 {
        let produced = pair.now();
        pair.with(End::Initiator, |session, now| session.put_state(now, 0, 1, b"now")).unwrap();
        pair.with(End::Acceptor, |session, now| session.put_state(now, 0, 1, b"and back")).unwrap();
        run(&mut pair, 60 * MS);
        let mut payload = Vec::new();
        while let Some(message) =
            pair.with(End::Acceptor, |session, now| session.poll_message(now, &mut payload))
        {
            let shown = pair.at(End::Acceptor, message.produced_at);
            worst = worst.max((shown.as_secs_f64() - produced.as_secs_f64()).abs() * 1e3);
        }
        received(&mut pair, End::Initiator);
    }
    assert!(worst < 4.0, "wrong by {worst} ms");
}

/// Writes 40 packet numbers, and records the outcomes.
#[derive(Clone, Default)]
struct Counter {
    filled: u8,
    outcomes: Rc<RefCell<Vec<PacketOutcome>>>,
}

impl Source for Counter {
    fn has_more(&self, lane: u8) -> bool {
        lane == 2 && self.filled < 40
    }

    fn fill(&mut self, _lane: u8, number: u64, room: usize, packet: &mut Vec<u8>) {
        assert!(room >= 8);
        self.filled += 1;
        packet.extend_from_slice(&number.to_le_bytes());
    }

    fn on_outcome(&mut self, outcome: PacketOutcome) {
        self.outcomes.borrow_mut().push(outcome);
    }
}

#[test]
fn a_source_learns_the_fate_of_every_packet_that_it_filled() {
    let mut config = Config::default();
    config.lanes[2].has_source = true;
    let link = LinkConfig { loss: Loss::Random(0.3), ..delayed(20) };
    let mut pair = Pair::new(3, [config.clone(), config], Carrier::DATAGRAMS, [link.clone(), link]);
    let counter = Counter::default();
    pair.set_source(End::Initiator, Box::new(counter.clone()));
    let mut arrived = Vec::new();
    for _ in 0..200 {
        // A source has no timer, so its driver polls at every tick.
        pair.with(End::Initiator, |_, _| ());
        run(&mut pair, 20 * MS);
        arrived.extend(received(&mut pair, End::Acceptor));
    }
    let outcomes = counter.outcomes.borrow();
    assert_eq!(outcomes.len(), 40);
    for (kind, payload) in arrived {
        let MessageKind::Replication { packet } = kind else { panic!("{kind:?}") };
        assert_eq!(payload, packet.to_le_bytes());
        assert!(outcomes.iter().any(|outcome| outcome.number == packet && outcome.lane == 2));
    }
    let arrived = outcomes.iter().filter(|outcome| outcome.arrived).count();
    assert!((10..40).contains(&arrived), "{arrived}");
}
