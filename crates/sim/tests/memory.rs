//! Measures the memory of an idle session, as Linux reports it.

#![cfg(target_os = "linux")]

use nowcast_session::{Carrier, Config, Entropy, NoSource, Session, Time};

/// Returns the resident memory of this process in bytes.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux describes this process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("the line of resident memory");
    let kilobytes = line.split_whitespace().nth(1).expect("a number").parse::<usize>();
    kilobytes.expect("a number") * 1_024
}

fn pass(now: Time, from: &mut Session, to: &mut Session, packet: &mut Vec<u8>) {
    from.handle_timeout(now);
    while from.poll_packet(now, &mut NoSource, packet) {
        to.handle_packet(now, packet);
        packet.clear();
    }
}

fn join(ours: &mut Session, theirs: &mut Session) {
    let mut packet = Vec::new();
    for millis in 2..200 {
        let now = Time::from_millis(millis);
        pass(now, ours, theirs, &mut packet);
        pass(now, theirs, ours, &mut packet);
    }
}

#[test]
fn a_thousand_idle_sessions_cost_less_than_ten_megabytes() {
    let before = resident_bytes();
    let mut sessions = Vec::new();
    for number in 0..500u16 {
        let now = Time::from_millis(1);
        let mut entropy = [number as u8; 48];
        entropy[0] = (number >> 8) as u8;
        let mut ours = Session::connect(now, Config::default(), Carrier::DATAGRAMS, Entropy(entropy));
        let mut theirs = Session::accept(now, Config::default(), Carrier::DATAGRAMS, Entropy(entropy));
        ours.put_state(now, 0, 7, b"a value").expect("there is room");
        theirs.put_event(now, 1, b"an event").expect("there is room");
        join(&mut ours, &mut theirs);
        assert!(ours.is_open() && theirs.is_open() && ours.is_drained() && theirs.is_drained());
        sessions.push((ours, theirs));
    }
    let used = resident_bytes().saturating_sub(before);
    eprintln!("{} bytes a session", used / 1_000);
    assert!(used > 0, "the sessions take memory");
    assert!(used < 10_000_000, "1,000 sessions take {used} bytes");
}
