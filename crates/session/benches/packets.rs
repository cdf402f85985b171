//! Measures how many small packets a second one core can pass through the state machine alone.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use nowcast_session::{Carrier, Config, Entropy, NoReplication, Session, Time};

/// Two open sessions without a link between them.
struct Joined {
    ends: [Session; 2],
    now: Time,
    packet: Vec<u8>,
    payload: Vec<u8>,
}

impl Joined {
    fn new() -> Self {
        let now = Time::from_millis(1);
        let ends = [
            Session::connect(now, Config::default(), Carrier::DATAGRAMS, Entropy([1; 48])),
            Session::accept(now, Config::default(), Carrier::DATAGRAMS, Entropy([2; 48])),
        ];
        let mut joined = Self { ends, now, packet: Vec::new(), payload: Vec::new() };
        while !joined.ends.iter().all(Session::is_open) {
            joined.step();
        }
        joined
    }

    /// Advances both ends by one millisecond. Returns the number of packets that passed.
    fn step(&mut self) -> u64 {
        self.now += Duration::from_millis(1);
        let mut packets = 0;
        for from in [0, 1] {
            self.ends[from].handle_timeout(self.now);
            while self.ends[from].poll_packet(self.now, &mut NoReplication, &mut self.packet) {
                self.ends[1 - from].handle_packet(self.now, &self.packet);
                self.packet.clear();
                packets += 1;
            }
            black_box(self.ends[from].poll_timeout(self.now));
        }
        packets
    }

    /// Sends one value each way.
    fn exchange(&mut self) -> u64 {
        for end in &mut self.ends {
            end.put_state(self.now, 0, 7, &[42; 16]).expect("there is room");
        }
        let packets = self.step();
        for end in &mut self.ends {
            while end.poll_message(self.now, &mut self.payload).is_some() {}
        }
        packets
    }
}

fn small_packets(criterion: &mut Criterion) {
    let mut joined = Joined::new();
    let mut warm = || (0..1_000).map(|_| joined.exchange()).sum::<u64>();
    let packets = warm() / 1_000;
    let mut group = criterion.benchmark_group("session");
    group.throughput(Throughput::Elements(packets));
    group.bench_function("a value each way: put, send, receive, read", |bencher| {
        bencher.iter(|| joined.exchange());
    });
    group.finish();
}

fn large_packets(criterion: &mut Criterion) {
    let mut joined = Joined::new();
    let mut group = criterion.benchmark_group("session");
    group.throughput(Throughput::Elements(100));
    group.bench_function("100 values of 64 bytes", |bencher| {
        bencher.iter(|| {
            for key in 1..=100 {
                joined.ends[0].put_state(joined.now, 0, key, &[42; 64]).expect("there is room");
            }
            let packets = joined.step();
            while joined.ends[1].poll_message(joined.now, &mut joined.payload).is_some() {}
            packets
        });
    });
    group.finish();
}

criterion_group!(benches, small_packets, large_packets);
criterion_main!(benches);
