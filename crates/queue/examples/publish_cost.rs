//! Measures the cost of a put for one subscriber and for a thousand: `cargo run --release -p nowcast-queue --example
//! publish_cost`.
//!
//! The two cases alternate after each batch of puts. The subscribers read between the batches, outside of the measured time.

use nowcast_queue::{Key, PublicationBounds, Receiver, in_process};
use std::sync::Arc;
use std::time::Instant;

const BATCHES: usize = 300;
const PUTS: u64 = 1_000;
const KEYS: u64 = 64;
const SUBSCRIBERS: usize = 1_000;

/// The behaviour of subscribers between batches.
#[derive(Debug, Clone, Copy)]
enum Reading {
    /// All subscribers read everything.
    All,
    /// Every tenth subscriber reads everything; the others stall.
    OneInTen,
}

fn main() {
    for (events_in_hundred, reading) in [(0, Reading::All), (0, Reading::OneInTen), (2, Reading::All)] {
        let mut sides =
            [1, SUBSCRIBERS].map(|subscribers| Side::new(subscribers, reading, events_in_hundred));
        for _ in 0..BATCHES {
            sides.iter_mut().for_each(Side::batch);
        }
        let [one, thousand] = sides.map(Side::median);
        println!(
            "{KEYS} keys of 48 bytes, {events_in_hundred} % events, reading: {reading:?}: {one:.1} ns a put to 1 subscriber, \
             {thousand:.1} ns to {SUBSCRIBERS}, ratio {:.2} (medians of {BATCHES} batches of {PUTS} puts each)",
            thousand / one
        );
    }
}

struct Side {
    publisher: in_process::Publisher<Arc<[u8]>>,
    subscribers: Vec<in_process::Subscriber<Arc<[u8]>>>,
    reading: Reading,
    events_in_hundred: u64,
    samples: Vec<f64>,
}

impl Side {
    fn new(subscribers: usize, reading: Reading, events_in_hundred: u64) -> Side {
        let publisher = in_process::publisher(PublicationBounds::default());
        let subscribers = (0..subscribers).map(|_| publisher.subscribe()).collect();
        Side { publisher, subscribers, reading, events_in_hundred, samples: Vec::new() }
    }

    fn batch(&mut self) {
        let begin = Instant::now();
        for put in 0..PUTS {
            let key =
                if put % 100 < self.events_in_hundred { Key::EVENT } else { Key::state(1 + put % KEYS) };
            self.publisher.put(key, Arc::from([put as u8; 48])).expect("the bounds allow it");
        }
        self.samples.push(begin.elapsed().as_nanos() as f64 / PUTS as f64);
        self.read();
    }

    fn read(&mut self) {
        let step = if matches!(self.reading, Reading::All) { 1 } else { 10 };
        let mut value = Vec::new();
        for subscriber in self.subscribers.iter_mut().step_by(step) {
            while let Ok(Some(_)) = subscriber.try_get(&mut value) {}
        }
    }

    fn median(mut self) -> f64 {
        self.samples.sort_by(f64::total_cmp);
        self.samples[self.samples.len() / 2]
    }
}
