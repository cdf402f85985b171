//! Tests a session at its limits, and with packets that should not have arrived.

use std::time::Duration;

use nowcast_session::packet::{Hello, Packet, Refuse, Resume};
use nowcast_session::{
    Carrier, CloseCode, Config, Entropy, Limits, MessageKind, NoSource, Notice, PacketOutcome, PacketStep,
    Session, Source, Space, Time,
};
use nowcast_sim::link::{LinkConfig, Loss};
use nowcast_sim::pair::{End, Pair};

const MS: Duration = Duration::from_millis(1);
const CARRIERS: [Carrier; 2] = [Carrier::DATAGRAMS, Carrier::STREAM];
/// As stated in `spec/SESSION.md`, section 7.
const PAYLOADS_UNREAD_MAX: usize = 64;

fn open_pair(carrier: Carrier) -> Pair {
    let link = LinkConfig { delay: 20 * MS, ..LinkConfig::default() };
    let mut pair = Pair::new(3, [Config::default(), Config::default()], carrier, [link.clone(), link]);
    run(&mut pair, 500 * MS);
    pair
}

fn run(pair: &mut Pair, time: Duration) {
    pair.run_until(pair.now() + time);
}

fn received(pair: &mut Pair, end: End) -> Vec<MessageKind> {
    let mut payload = Vec::new();
    std::iter::from_fn(|| pair.with(end, |session, now| session.poll_message(now, &mut payload)))
        .map(|message| message.kind)
        .collect()
}

fn notices(session: &mut Session) -> Vec<Notice> {
    std::iter::from_fn(|| session.poll_notice()).collect()
}

/// A source that always has something to send.
struct Talker;

impl Source for Talker {
    fn has_more(&self, lane: u8) -> bool {
        lane == 1
    }

    fn fill(&mut self, _lane: u8, number: u64, _room: usize, packet: &mut Vec<u8>) {
        packet.extend_from_slice(&number.to_le_bytes());
    }

    fn on_outcome(&mut self, _outcome: PacketOutcome) {}
}

fn pair_with_talker(carrier: Carrier) -> Pair {
    let mut config = Config::default();
    config.lanes[1].has_source = true;
    config.bytes_per_second_max = Some(100_000);
    let link = LinkConfig { delay: 20 * MS, ..LinkConfig::default() };
    let mut pair = Pair::new(3, [config, Config::default()], carrier, [link.clone(), link]);
    pair.set_source(End::Initiator, Box::new(Talker));
    pair
}

#[test]
fn an_event_arrives_though_payloads_of_a_source_are_not_read() {
    for carrier in CARRIERS {
        let mut pair = pair_with_talker(carrier);
        run(&mut pair, 3_000 * MS);
        pair.with(End::Initiator, |session, now| session.put_event(now, 0, b"!")).unwrap();
        run(&mut pair, 500 * MS);
        assert!(pair.session(End::Initiator).is_drained(), "the event is acknowledged, over {carrier:?}");
        assert!(pair.session(End::Acceptor).stats().dropped.unread > 0);
        let kinds = received(&mut pair, End::Acceptor);
        assert!(kinds.contains(&MessageKind::Event), "over {carrier:?}");
        let packets: Vec<u64> = kinds
            .iter()
            .filter_map(
                |kind| if let MessageKind::Replication { packet } = kind { Some(*packet) } else { None },
            )
            .collect();
        assert_eq!(packets.len(), PAYLOADS_UNREAD_MAX);
        assert!(packets.is_sorted() && packets[0] > 100, "the packets are the newest: {packets:?}");
    }
}

/// Returns two sessions without a link. The first one has a source on lane 1.
fn sourced_ends(now: Time, carrier: Carrier) -> [Session; 2] {
    let mut config = Config::default();
    config.lanes[1].has_source = true;
    [
        Session::connect(now, config, carrier, Entropy([1; 48])),
        Session::accept(now, Config::default(), carrier, Entropy([2; 48])),
    ]
}

/// Moves the packets of both ends, `rounds` times. Returns how often the source of `ours` got space.
fn count_spaces(ends: &mut [Session; 2], now: &mut Time, rounds: u32) -> usize {
    let (mut packet, mut spaces) = (Vec::new(), 0);
    let [ours, theirs] = ends;
    for _ in 0..rounds {
        *now += 10 * MS;
        ours.handle_timeout(*now);
        theirs.handle_timeout(*now);
        ours.set_waiting_sources(Source::waiting(&Talker, ours.source_lanes()));
        packet.clear();
        let mut step = ours.begin_packet(*now, &mut packet);
        while let PacketStep::Space(space) = step {
            spaces += 1;
            space.fill(&mut Talker, &mut packet);
            step = ours.finish_packet(*now, true, &mut packet);
        }
        if step == PacketStep::Packet {
            theirs.handle_packet(*now, &packet);
        }
        packet.clear();
        while theirs.poll_packet(*now, &mut NoSource, &mut packet) {
            ours.handle_packet(*now, &packet);
            packet.clear();
        }
    }
    spaces
}

#[test]
fn while_its_outcomes_are_unread_a_source_gets_no_space() {
    let mut now = Time::from_millis(1);
    let mut ends = sourced_ends(now, Carrier::DATAGRAMS);
    let spaces = count_spaces(&mut ends, &mut now, 10_000);
    assert!((4_096..5_000).contains(&spaces), "the source got space {spaces} times");
    assert_eq!(count_spaces(&mut ends, &mut now, 100), 0);
    let outcomes = std::iter::from_fn(|| ends[0].poll_outcome()).count();
    assert_eq!(outcomes, spaces);
    assert!(count_spaces(&mut ends, &mut now, 100) > 50, "the source then gets space again");
}

/// Begins a packet with a space for a source between two open sessions.
fn begin_with_space(ours: &mut Session, now: Time, packet: &mut Vec<u8>) -> Space {
    packet.clear();
    ours.set_waiting_sources(1 << 1);
    match ours.begin_packet(now, packet) {
        PacketStep::Space(space) => space,
        other => panic!("the source has no space: {other:?}"),
    }
}

#[test]
fn a_packet_that_its_session_outlives_does_not_leave_and_its_source_learns_the_loss() {
    let mut now = Time::from_millis(1);
    let mut ends = sourced_ends(now, Carrier::STREAM);
    count_spaces(&mut ends, &mut now, 10);
    let ours = &mut ends[0];
    while ours.poll_outcome().is_some() {}
    let mut packet = Vec::new();
    let space = begin_with_space(ours, now, &mut packet);
    ours.attach(now, Carrier::STREAM, Entropy([3; 48]));
    space.fill(&mut Talker, &mut packet);
    assert_eq!(ours.finish_packet(now, true, &mut packet), PacketStep::Nothing);
    let outcomes: Vec<_> = std::iter::from_fn(|| ours.poll_outcome()).collect();
    let lost = outcomes.last().expect("the source learns the outcome");
    assert!(!lost.arrived && packet.ends_with(&lost.number.to_le_bytes()), "{outcomes:?}");
}

#[test]
fn a_source_that_writes_more_than_its_space_ends_the_session() {
    let mut now = Time::from_millis(1);
    let mut ends = sourced_ends(now, Carrier::STREAM);
    count_spaces(&mut ends, &mut now, 10);
    let ours = &mut ends[0];
    let mut packet = Vec::new();
    begin_with_space(ours, now, &mut packet);
    packet.resize(20_000, 0);
    assert_eq!(ours.finish_packet(now, true, &mut packet), PacketStep::Nothing);
    assert!(ours.is_closed());
}

#[test]
fn an_empty_packet_is_dropped_and_counted_on_every_carrier() {
    for carrier in CARRIERS {
        let mut pair = open_pair(carrier);
        for end in End::BOTH {
            pair.inject(end, &[]);
            assert!(pair.session(end).is_open(), "over {carrier:?}");
            assert_eq!(pair.session(end).stats().dropped.empty, 1, "over {carrier:?}");
        }
    }
}

fn hello(limits: Limits, resume: Option<Resume>) -> Vec<u8> {
    let mut bytes = Vec::new();
    Hello { version_min: 1, version_max: 1, nonce: [5; 8], clock: 1, limits, resume }.write(&mut bytes);
    bytes
}

/// Returns the refusal that an acceptor over `carrier` sends after these packets, if there is one.
fn refusal_of(carrier: Carrier, packets: &[&[u8]]) -> Option<Refuse> {
    let now = Time::from_millis(1);
    let mut session = Session::accept(now, Config::default(), carrier, Entropy([1; 48]));
    let mut answer = Vec::new();
    for packet in packets {
        answer.clear();
        session.handle_packet(now, packet);
        session.poll_packet(now, &mut NoSource, &mut answer);
    }
    match Packet::read(&answer) {
        Ok(Packet::Refuse(refuse)) => {
            assert!(session.is_closed());
            Some(refuse)
        }
        _ => None,
    }
}

#[test]
fn unreadable_packets_before_the_proof_are_refused_by_field_over_a_stream() {
    let good = hello(Limits::default(), None);
    let bad_limits = hello(Limits { lanes_max: 0, ..Limits::default() }, None);
    let data = [0u8, 0, 0, 0, 0, 0, 0x7F];
    /// The packets that arrive, the nonce of the answer, and the text of the answer.
    type Case<'a> = (&'a [&'a [u8]], [u8; 8], &'a str);
    let cases: [Case<'_>; 4] = [
        (&[&bad_limits], [5; 8], "malformed lanes_max at byte 23"),
        (&[b"GET / HTTP/1.1"], [0; 8], "malformed flags at byte 0"),
        (&[&good[..100]], [5; 8], "malformed padding"),
        (&[&good, &data], [5; 8], "malformed frame type at byte 6"),
    ];
    for (packets, nonce, text) in cases {
        assert_eq!(refusal_of(Carrier::DATAGRAMS, packets), None, "datagrams may come from anybody");
        let refuse = refusal_of(Carrier::STREAM, packets).expect("on a stream, the peer is informed");
        assert_eq!((refuse.code, refuse.nonce), (CloseCode::MALFORMED, nonce));
        assert!(refuse.text.starts_with(text), "{}", refuse.text);
    }
}

#[test]
fn an_initiator_learns_that_its_packets_cannot_be_read_until_its_proof_is_acknowledged() {
    let now = Time::from_millis(1);
    for (is_answered, nonce) in [(false, [1; 8]), (false, [0; 8]), (true, [1; 8])] {
        let mut asking = Session::connect(now, Config::default(), Carrier::STREAM, Entropy([1; 48]));
        let mut answering = Session::accept(now, Config::default(), Carrier::STREAM, Entropy([2; 48]));
        let mut packet = Vec::new();
        assert!(asking.poll_packet(now, &mut NoSource, &mut packet));
        answering.handle_packet(now, &packet);
        packet.clear();
        assert!(answering.poll_packet(now, &mut NoSource, &mut packet));
        if is_answered {
            asking.handle_packet(now, &packet);
            assert!(asking.is_open());
        }
        let mut refusal = Vec::new();
        Refuse::new(nonce, CloseCode::MALFORMED, "malformed proof").write(&mut refusal);
        asking.handle_packet(now, &refusal);
        let Some(Notice::Closed(closed)) = notices(&mut asking).pop() else {
            panic!("the session is closed")
        };
        assert_eq!((closed.code, closed.reason.as_str()), (CloseCode::MALFORMED, "malformed proof"));
    }
}

#[test]
fn limits_of_a_peer_may_not_shrink_on_resuming_but_packets_and_times_may() {
    let least = Limits {
        packet_bytes_max: 1_200,
        idle_timeout: 5_000 * MS,
        resume_timeout: 1_000 * MS,
        ..Limits::default()
    };
    let cases = [
        (least, true),
        (Limits { lanes_max: 7, ..Limits::default() }, false),
        (Limits { window_bytes: 1_048_572, message_bytes_max: 262_143, ..Limits::default() }, false),
        (Limits { message_bytes_max: 262_143, ..Limits::default() }, false),
    ];
    for (limits, is_allowed) in cases {
        let mut pair = open_pair(Carrier::STREAM);
        let identity = *pair.session(End::Acceptor).identity().expect("an open session has an identity");
        let resume = Resume { epoch: identity.epoch + 1, ..identity };
        let answer = pair.with(End::Acceptor, |session, now| {
            session.attach(now, Carrier::STREAM, Entropy([9; 48]));
            session.handle_packet(now, &hello(limits, Some(resume)));
            let mut answer = Vec::new();
            session.poll_packet(now, &mut NoSource, &mut answer);
            answer
        });
        match Packet::read(&answer) {
            Ok(Packet::Welcome(_)) => assert!(is_allowed),
            Ok(Packet::Refuse(refuse)) => {
                assert!(!is_allowed);
                assert_eq!(refuse.code, CloseCode::VIOLATION);
                let session = pair.session(End::Acceptor);
                assert!(session.is_detached(), "another carrier may continue the session");
                assert_eq!(session.check_resume(&resume), Ok(()), "with the same epoch, which was not used");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_oldest_of_too_many_unread_notices_are_dropped() {
    let mut pair = open_pair(Carrier::DATAGRAMS);
    for end in End::BOTH {
        pair.link(end).reconfigure(LinkConfig { loss: Loss::Random(1.0), ..LinkConfig::default() });
    }
    // Each command times out with a notice.
    for round in 0..5 {
        for _ in 0..1_000 {
            let ask = |session: &mut Session, now| session.put_command(now, 0, b"", MS);
            pair.with_quietly(End::Initiator, ask).unwrap();
        }
        pair.with(End::Initiator, |_, _| ());
        run(&mut pair, 100 * MS);
        assert_eq!(pair.session(End::Initiator).stats().commands_timed_out, 1_000 * (round + 1));
    }
    // The oldest dropped notice states that the session opened.
    assert_eq!(pair.session(End::Initiator).stats().dropped.notices, 5_001 - 4_096);
    let all = pair.with_quietly(End::Initiator, |session, _| notices(session));
    assert_eq!(all.len(), 4_096);
    assert_eq!(all.last(), Some(&Notice::CommandTimedOut { lane: 0, command: 4_999 }));
}
