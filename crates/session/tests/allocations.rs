//! In a steady state packets cost no allocation, because buffers, tables and queues are reused.

use std::collections::VecDeque;
use std::time::Duration;

use allocation_counter::measure;
use nowcast_session::{Carrier, Config, Entropy, NoSource, Session, Time};

/// Time that a packet spends on the link.
const DELAY: Duration = Duration::from_millis(10);
/// Maximum number of packets under way at the same time, each way.
const UNDER_WAY_MAX: usize = 256;

/// Two sessions, a link with reused buffers, and a clock that advances by milliseconds.
struct Joined {
    ends: [Session; 2],
    links: [VecDeque<(Time, Vec<u8>)>; 2],
    spare: Vec<Vec<u8>>,
    /// One packet in this number is lost; 0 for no loss.
    loses_one_in: u64,
    packets: u64,
    messages: u64,
    now: Time,
    payload: Vec<u8>,
}

impl Joined {
    fn new(carrier: Carrier, loses_one_in: u64) -> Self {
        let now = Time::from_millis(1);
        let buffer = || Vec::with_capacity(carrier.packet_bytes_max.into());
        Self {
            ends: [
                Session::connect(now, Config::default(), carrier, Entropy([1; 48])),
                Session::accept(now, Config::default(), carrier, Entropy([2; 48])),
            ],
            links: [(); 2].map(|()| VecDeque::with_capacity(UNDER_WAY_MAX)),
            spare: (0..2 * UNDER_WAY_MAX).map(|_| buffer()).collect(),
            loses_one_in,
            packets: 0,
            messages: 0,
            now,
            payload: Vec::with_capacity(1_200),
        }
    }

    fn step(&mut self) {
        self.now += Duration::from_millis(1);
        for to in [0, 1] {
            while let Some((_, mut packet)) = self.links[1 - to].pop_front_if(|(due, _)| *due <= self.now) {
                self.ends[to].handle_packet(self.now, &packet);
                packet.clear();
                self.spare.push(packet);
            }
            while self.ends[to].poll_message(self.now, &mut self.payload).is_some() {
                self.messages += 1;
            }
        }
        for from in [0, 1] {
            self.ends[from].handle_timeout(self.now);
            self.send(from);
            self.ends[from].poll_timeout(self.now);
        }
    }

    fn send(&mut self, from: usize) {
        loop {
            let mut packet = self.spare.pop().expect("fewer packets are under way");
            if !self.ends[from].poll_packet(self.now, &mut NoSource, &mut packet) {
                self.spare.push(packet);
                return;
            }
            self.packets += 1;
            if self.loses_one_in > 0 && self.packets.is_multiple_of(self.loses_one_in) {
                packet.clear();
                self.spare.push(packet);
            } else {
                self.links[from].push_back((self.now + DELAY, packet));
            }
        }
    }

    /// Runs a tenth of a second in both directions: 20 keys at 50 Hz and an event on one lane, and an event on another lane.
    fn live(&mut self) {
        for millis in 0..100 {
            for end in &mut self.ends {
                if millis % 20 == 0 {
                    for key in 1..=20 {
                        end.put_state(self.now, 1, key, &[42; 40]).expect("there is room");
                    }
                }
                if millis == 30 {
                    end.put_event(self.now, 1, &[1; 40]).expect("there is room");
                    end.put_event(self.now, 0, &[2; 40]).expect("there is room");
                }
            }
            self.step();
        }
    }
}

fn allocations_of_a_minute(carrier: Carrier, loses_one_in: u64) -> u64 {
    let mut joined = Joined::new(carrier, loses_one_in);
    (0..300).for_each(|_| joined.live());
    let (packets, messages) = (joined.packets, joined.messages);
    let allocations = measure(|| (0..600).for_each(|_| joined.live())).count_total;
    assert!(joined.packets - packets > 6_000, "{} packets", joined.packets - packets);
    assert!(joined.messages - messages > 60_000, "{} messages", joined.messages - messages);
    allocations
}

#[test]
fn a_minute_without_loss_allocates_nothing() {
    assert_eq!(allocations_of_a_minute(Carrier::DATAGRAMS, 0), 0);
}

#[test]
fn a_minute_with_loss_allocates_nothing() {
    assert_eq!(allocations_of_a_minute(Carrier::DATAGRAMS, 23), 0);
}

#[test]
fn a_minute_on_a_stream_allocates_nothing() {
    assert_eq!(allocations_of_a_minute(Carrier::STREAM, 0), 0);
}

/// Puts a state of each of these keys at one end, and runs a tenth of a second.
fn put_and_run(joined: &mut Joined, keys: std::ops::Range<u64>) {
    for key in keys {
        joined.ends[1].put_state(joined.now, 1, key, &[42; 40]).expect("there is room");
    }
    (0..100).for_each(|_| joined.step());
}

#[test]
fn keys_that_have_arrived_keep_no_memory_although_no_event_follows() {
    for loses_one_in in [0, 23] {
        let mut joined = Joined::new(Carrier::DATAGRAMS, loses_one_in);
        let mut keys = (1..).step_by(20).map(|key| key..key + 20);
        let mut next = || keys.next().expect("there are many");
        (0..100).for_each(|_| put_and_run(&mut joined, next()));
        let more = measure(|| (0..200).for_each(|_| put_and_run(&mut joined, next())));
        assert_eq!(joined.messages, 6_000);
        assert!(
            joined.ends[1].stats().barriers_made > 20,
            "{} barriers",
            joined.ends[1].stats().barriers_made
        );
        assert!(more.bytes_current < 32 * 1_024, "{} bytes for 4,000 keys", more.bytes_current);
    }
}

#[test]
fn keys_keep_no_memory_when_no_state_follows() {
    let speak = |joined: &mut Joined| {
        joined.ends[0].put_state(joined.now, 1, 1, &[7]).expect("there is room");
        (0..50).for_each(|_| joined.step());
    };
    for loses_one_in in [0, 23] {
        let mut joined = Joined::new(Carrier::DATAGRAMS, loses_one_in);
        (0..100).for_each(|_| speak(&mut joined));
        put_and_run(&mut joined, 1..20);
        let more = measure(|| {
            put_and_run(&mut joined, 20..420);
            (0..400).for_each(|_| speak(&mut joined));
        });
        assert_eq!(joined.ends[1].stats().barriers_made, 1, "further barriers would be useless");
        assert!(more.bytes_current < 24 * 1_024, "{} bytes for 400 keys", more.bytes_current);
    }
}

#[test]
fn many_keys_that_stay_the_same_are_not_forgotten() {
    let mut joined = Joined::new(Carrier::DATAGRAMS, 0);
    (0..100).for_each(|_| put_and_run(&mut joined, 1..200));
    assert_eq!(joined.ends[1].stats().barriers_made, 0, "each barrier would use credit");
}
