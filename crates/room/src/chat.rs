//! Fair scheduling of chat lines among the speakers in a room.
//!
//! Every chat line is sent to every player, so the cost of a room grows with the square of its players. A room therefore
//! limits its chat to a number of bytes a second. While lines wait because of this limit, the speaker who recently sent the
//! fewest bytes is served first. If too many lines wait, a line of the speaker who recently sent the most bytes is dropped.
//! A speaker with many or long lines therefore waits for the other speakers. The other speakers never wait for that speaker.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use nowcast_limits::Bucket;
use nowcast_world::PlayerId;

/// Chat bytes a second that a room sends to each player: some 160 short lines.
const BYTES_PER_SECOND: usize = 16 * 1024;

/// Maximum bytes that a room sends at once after a time without chat.
const BURST_BYTES: usize = 32 * 1024;

/// Maximum bytes of waiting lines: two seconds of the budget.
const WAITING_BYTES_MAX: usize = 2 * BYTES_PER_SECOND;

/// Half-life of a speaker's recent bytes.
const HALF_LIFE: Duration = Duration::from_secs(10);

/// Bytes charged for a line besides its text: the speaker's name, and the message around it.
const LINE_COST: usize = 64;

/// The waiting lines of a room.
pub(crate) struct Chat {
    budget: Bucket,
    waiting: BTreeMap<Tag, Line>,
    waiting_bytes: usize,
    said: HashMap<PlayerId, Said>,
    number: u64,
}

/// Sort key of a line: first the speaker's recent bytes, which include the line, then the order of arrival.
type Tag = (u64, u64);

/// Recent bytes of a speaker, valid at one moment.
struct Said {
    bytes: f64,
    at: Instant,
}

impl Said {
    /// Reduces the count by its decay until `now`, and adds the new bytes.
    fn add(&mut self, bytes: f64, now: Instant) {
        let half_lives = now.saturating_duration_since(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.bytes = (self.bytes * 0.5_f64.powf(half_lives) + bytes).max(0.0);
        self.at = now;
    }
}

/// One line and its speaker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) speaker: PlayerId,
    pub(crate) text: String,
}

impl Line {
    fn cost(&self) -> usize {
        LINE_COST + self.text.len()
    }
}

impl Chat {
    /// Creates an empty queue.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            budget: Bucket::new(BYTES_PER_SECOND as f64, BURST_BYTES as f64, now),
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            said: HashMap::new(),
            number: 0,
        }
    }

    /// Queues a line. If too many bytes wait, drops lines of the speaker with the most recent bytes, and returns the dropped
    /// lines.
    pub(crate) fn offer(&mut self, line: Line, now: Instant) -> Vec<Line> {
        let said = self.said.entry(line.speaker).or_insert(Said { bytes: 0.0, at: now });
        said.add(line.cost() as f64, now);
        // The lines of one speaker stay in order, although the speaker's count decays.
        let own = self.waiting.iter().rev().find(|(_, waiting)| waiting.speaker == line.speaker);
        let tag = own.map_or(0, |((tag, _), _)| *tag).max(said.bytes as u64);
        self.number += 1;
        self.waiting_bytes += line.cost();
        self.waiting.insert((tag, self.number), line);
        let mut dropped = Vec::new();
        while self.waiting_bytes > WAITING_BYTES_MAX
            && let Some((_, line)) = self.waiting.pop_last()
        {
            self.waiting_bytes -= line.cost();
            if let Some(said) = self.said.get_mut(&line.speaker) {
                said.add(-(line.cost() as f64), now);
            }
            dropped.push(line);
        }
        dropped
    }

    /// Returns the next line, if the budget allows it now.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Line> {
        let first = self.waiting.first_entry()?;
        let cost = first.get().cost();
        if !self.budget.take_many(cost as f64, now) {
            return None;
        }
        self.waiting_bytes -= cost;
        Some(first.remove())
    }

    /// Removes a speaker who left, with the speaker's waiting lines.
    pub(crate) fn forget(&mut self, speaker: PlayerId) {
        self.waiting.retain(|_, line| line.speaker != speaker);
        self.waiting_bytes = self.waiting.values().map(Line::cost).sum();
        self.said.remove(&speaker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(speaker: u32, text: &str) -> Line {
        Line { speaker: PlayerId(speaker), text: text.to_owned() }
    }

    #[test]
    fn within_the_budget_every_line_is_said_at_once_and_in_order() {
        let now = Instant::now();
        let mut chat = Chat::new(now);
        for number in 0..100_u32 {
            assert_eq!(chat.offer(line(number % 7, "hello"), now), []);
            assert_eq!(chat.next(now), Some(line(number % 7, "hello")));
            assert_eq!(chat.next(now), None);
        }
    }

    /// Returns the lines sent for each speaker in ten seconds. Each speaker offers this many lines, of this many bytes,
    /// a second.
    fn said(speakers: &[(u32, usize)]) -> Vec<usize> {
        let start = Instant::now();
        let mut chat = Chat::new(start);
        let mut bytes = vec![0; speakers.len()];
        for tick in 0..600_u64 {
            let now = start + Duration::from_micros(tick * 16_667);
            for (index, (per_second, length)) in (0..).zip(speakers) {
                if tick % u64::from(60 / per_second) == 0 {
                    chat.offer(line(index, &"x".repeat(*length)), now);
                }
            }
            while let Some(line) = chat.next(now) {
                bytes[line.speaker.0 as usize] += line.cost();
            }
            assert!(chat.waiting_bytes <= WAITING_BYTES_MAX && chat.said.len() <= speakers.len());
        }
        bytes
    }

    #[test]
    fn a_crowd_of_talkers_gets_the_budget_and_equal_shares_of_it() {
        let bytes = said(&[(2, 1_200); 120]);
        let sum: usize = bytes.iter().sum();
        assert!(sum <= BURST_BYTES + 10 * BYTES_PER_SECOND + LINE_COST, "{sum}");
        assert!(sum >= 9 * BYTES_PER_SECOND, "{sum}");
        let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        assert!(most - least <= 2 * (1_200 + LINE_COST), "{least} to {most}");
    }

    #[test]
    fn a_quiet_speaker_is_served_beside_loud_ones() {
        let mut speakers = vec![(2, 1_200); 120];
        speakers.push((1, 20));
        let bytes = said(&speakers);
        assert!(bytes[120] >= 9 * (20 + LINE_COST), "{} bytes of ten short lines", bytes[120]);
    }

    #[test]
    fn waiting_lines_of_a_speaker_that_left_are_dropped() {
        let now = Instant::now();
        let mut chat = Chat::new(now);
        chat.offer(line(1, "one"), now);
        chat.offer(line(2, "two"), now);
        chat.forget(PlayerId(1));
        assert_eq!(chat.next(now), Some(line(2, "two")));
        assert_eq!(chat.next(now), None);
        assert_eq!(chat.waiting_bytes, 0);
    }
}
