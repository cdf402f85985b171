//! Acknowledgements, and the record of received packet numbers (`spec/SESSION.md`, sections 5 and 6).

use super::reader::{Reader, put_varint};
use crate::error::Malformed;

/// Number of the latest packet numbers that a receiver records.
pub const REMEMBERED: u64 = 1_024;
/// Maximum number of ranges in one acknowledgement, including the first.
pub const RANGES_MAX: usize = 32;

/// An acknowledgement in its packet form. Its ranges are decoded on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The largest packet number received, modulo 2^16.
    pub largest_low: u16,
    /// Time between the arrival of that packet and the departure of this one, in units of 16 µs.
    pub delay: u64,
    /// Number of received packets directly below the largest.
    pub first: u64,
    /// Number of further ranges.
    pub ranges: usize,
    range_bytes: &'a [u8],
}

impl<'a> Ack<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>, has_ranges: bool) -> Result<Self, Malformed> {
        let largest_low = reader.u16("ack largest")?;
        let delay = reader.varint("ack delay")?;
        let first = reader.varint("ack first")?;
        let at_count = *reader;
        let ranges =
            if has_ranges { reader.varint_max(RANGES_MAX as u64 - 1, "ack count")? as usize } else { 0 };
        if has_ranges && ranges == 0 {
            return Err(at_count.malformed("ack count"));
        }
        let rest = reader.rest();
        for _ in 0..ranges {
            reader.varint("ack gap")?;
            reader.varint("ack length")?;
        }
        let range_bytes = &rest[..rest.len() - reader.rest().len()];
        Ok(Self { largest_low, delay, first, ranges, range_bytes })
    }

    /// Returns the further ranges as pairs of gap and length, in the order of the packet.
    pub fn gaps(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        let mut reader = Reader::new(self.range_bytes);
        std::iter::from_fn(move || {
            let gap = reader.varint("ack gap").ok()?;
            let length = reader.varint("ack length").ok()?;
            Some((gap, length))
        })
    }

    /// Returns the acknowledged packet numbers as inclusive ranges (lowest, highest), newest first, given the largest number
    /// sent. Returns `None` if an acknowledged number was never sent.
    pub fn resolve(&self, largest_sent: Option<u64>) -> Option<Ranges> {
        let sent = largest_sent?;
        let behind = u64::from((sent as u16).wrapping_sub(self.largest_low));
        let mut high = sent.checked_sub(behind)?;
        let mut low = high.checked_sub(self.first)?;
        let mut ranges = Ranges { ranges: [(0, 0); RANGES_MAX], count: 1 };
        ranges.ranges[0] = (low, high);
        for (gap, length) in self.gaps() {
            high = low.checked_sub(gap.checked_add(2)?)?;
            low = high.checked_sub(length)?;
            ranges.ranges[ranges.count] = (low, high);
            ranges.count += 1;
        }
        Some(ranges)
    }
}

/// Inclusive ranges of packet numbers, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges {
    ranges: [(u64, u64); RANGES_MAX],
    count: usize,
}

impl std::ops::Deref for Ranges {
    type Target = [(u64, u64)];

    fn deref(&self) -> &Self::Target {
        &self.ranges[..self.count]
    }
}

/// Returns the full number of a received packet whose low 16 bits are `low`. It is the number nearest to the next expected one.
pub fn unfold_number(low: u16, largest_received: Option<u64>) -> u64 {
    let expected = largest_received.map_or(0, |largest| largest + 1);
    let ahead = low.wrapping_sub(expected as u16);
    if ahead <= 1 << 15 {
        return expected + u64::from(ahead);
    }
    let behind = u64::from(ahead.wrapping_neg());
    expected.checked_sub(behind).unwrap_or(expected + u64::from(ahead))
}

/// Records which of the latest packet numbers were received. It is a ring of bits, so no peer can make it grow.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    bits: [u64; (REMEMBERED / 64) as usize],
    largest: Option<u64>,
}

/// Classification of a packet number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The number was not received before.
    New,
    /// The number was received already.
    Duplicate,
    /// The number is too old to decide.
    Ancient,
}

impl Received {
    pub(crate) fn new() -> Self {
        Self { bits: [0; (REMEMBERED / 64) as usize], largest: None }
    }

    pub(crate) fn largest(&self) -> Option<u64> {
        self.largest
    }

    pub(crate) fn classify(&self, number: u64) -> Arrival {
        match self.largest {
            Some(largest) if number + REMEMBERED <= largest => Arrival::Ancient,
            Some(largest) if number <= largest && self.contains(number) => Arrival::Duplicate,
            _ => Arrival::New,
        }
    }

    /// Records a new number. Returns whether there is a new gap before it.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        let next = self.largest.map_or(0, |largest| largest + 1);
        if number < next {
            self.set(number, true);
            return false;
        }
        for skipped in next.max((number + 1).saturating_sub(REMEMBERED))..number {
            self.set(skipped, false);
        }
        self.set(number, true);
        self.largest = Some(number);
        number > next
    }

    /// Appends an acknowledgement of all recorded numbers. Returns whether it has further ranges. Must be called only after a
    /// packet was received.
    pub(crate) fn write(&self, delay: u64, out: &mut Vec<u8>) -> bool {
        let largest = self.largest.expect("an acknowledgement needs a received packet");
        let floor = (largest + 1).saturating_sub(REMEMBERED);
        let mut ranges = [(0u64, 0u64); RANGES_MAX - 1];
        let mut count = 0;
        let first = self.run(largest, floor, true) - 1;
        let mut at = largest - first;
        while at > floor && count < ranges.len() {
            let gap = self.run(at - 1, floor, false);
            if at - gap == floor {
                break;
            }
            let length = self.run(at - gap - 1, floor, true);
            ranges[count] = (gap - 1, length - 1);
            count += 1;
            at -= gap + length;
        }
        out.extend_from_slice(&(largest as u16).to_le_bytes());
        put_varint(out, delay);
        put_varint(out, first);
        if count > 0 {
            put_varint(out, count as u64);
        }
        for (gap, length) in &ranges[..count] {
            put_varint(out, *gap);
            put_varint(out, *length);
        }
        count > 0
    }

    /// Counts consecutive numbers that are all received, or all not received, from `number` downwards to `floor`. The function
    /// processes one word of bits at a time.
    fn run(&self, number: u64, floor: u64, received: bool) -> u64 {
        let count_max = number + 1 - floor;
        let mut count = 0;
        while count < count_max {
            let at = (number - count) % REMEMBERED;
            let word = self.bits[(at / 64) as usize];
            let others = if received { !word } else { word };
            let below = at % 64 + 1;
            let alike = u64::from((others << (64 - below)).leading_zeros()).min(below);
            count += alike;
            if alike < below {
                break;
            }
        }
        count.min(count_max)
    }

    fn contains(&self, number: u64) -> bool {
        let at = number % REMEMBERED;
        self.bits[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    fn set(&mut self, number: u64, received: bool) {
        let at = number % REMEMBERED;
        let bit = 1 << (at % 64);
        let word = &mut self.bits[(at / 64) as usize];
        *word = if received { *word | bit } else { *word & !bit };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledged(received: &Received, sent: u64) -> Vec<(u64, u64)> {
        let mut bytes = Vec::new();
        let has_ranges = received.write(7, &mut bytes);
        let mut reader = Reader::new(&bytes);
        let ack = Ack::read(&mut reader, has_ranges).expect("an encoded acknowledgement can be decoded");
        assert!(reader.is_empty());
        ack.resolve(Some(sent)).expect("only received packets are acknowledged").to_vec()
    }

    #[test]
    fn gaps_are_acknowledged_as_ranges() {
        let mut received = Received::new();
        let gaps: Vec<bool> = [0, 1, 2, 5, 6, 9].iter().map(|&number| received.insert(number)).collect();
        assert_eq!(gaps, [false, false, false, true, false, true]);
        assert_eq!(acknowledged(&received, 20), [(9, 9), (5, 6), (0, 2)]);
        assert!(!received.insert(7), "filling a gap makes none");
        assert_eq!(acknowledged(&received, 20), [(9, 9), (5, 7), (0, 2)]);
    }

    #[test]
    fn numbers_older_than_the_ring_are_ancient() {
        let mut received = Received::new();
        received.insert(3);
        received.insert(3 + REMEMBERED);
        assert_eq!(received.classify(3), Arrival::Ancient);
        assert_eq!(received.classify(4), Arrival::New);
        assert_eq!(received.classify(3 + REMEMBERED), Arrival::Duplicate);
        assert_eq!(acknowledged(&received, 5_000), [(3 + REMEMBERED, 3 + REMEMBERED)]);
    }

    #[test]
    fn at_most_thirty_two_ranges_are_sent_newest_first() {
        let mut received = Received::new();
        (0..200).step_by(2).for_each(|number| {
            received.insert(number);
        });
        let ranges = acknowledged(&received, 300);
        assert_eq!(ranges.len(), RANGES_MAX);
        assert_eq!(ranges[0], (198, 198));
        assert_eq!(ranges[31], (136, 136));
    }

    #[test]
    fn an_acknowledgement_of_a_number_never_sent_is_refused() {
        let bytes = [9, 0, 0, 0];
        let ack = Ack::read(&mut Reader::new(&bytes), false).unwrap();
        assert_eq!(ack.resolve(None), None);
        assert_eq!(ack.resolve(Some(8)), None);
        assert_eq!(ack.resolve(Some(9)).unwrap()[..], [(9, 9)]);
        let too_deep = [9, 0, 0, 10];
        let ack = Ack::read(&mut Reader::new(&too_deep), false).unwrap();
        assert_eq!(ack.resolve(Some(9)), None);
    }

    #[test]
    fn truncated_numbers_unfold_to_the_nearest_full_number() {
        assert_eq!(unfold_number(0, None), 0);
        assert_eq!(unfold_number(65_535, None), 65_535);
        assert_eq!(unfold_number(65_535, Some(65_540)), 65_535);
        assert_eq!(unfold_number(3, Some(65_530)), 65_539);
        assert_eq!(unfold_number(0x8000, Some(0xFFFF)), 0x1_8000);
        assert_eq!(unfold_number(0x8001, Some(0xFFFF)), 0x8001);
    }
}
