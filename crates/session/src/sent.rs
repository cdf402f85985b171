//! The content of each packet until it is acknowledged or lost (RFC 9002, section 6).

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use crate::time::Time;

/// A packet counts as lost if its number is this far below an acknowledged one, unless packets overtake each other on the path.
const REORDERING_MAX: u64 = 3;
/// Maximum number of packets that stay recorded after they were declared lost.
const MISSED_MAX: usize = 16;
/// The path is assumed to reorder packets until this number of further packets was lost, none of which arrived late.
const OVERTAKING_LOSSES: u32 = 64;
/// Memory for twice this number of items is never freed.
const SPARE_ITEMS: usize = 32;
/// Maximum number of tracked packets. If there are more, the oldest is regarded as lost.
const TRACKED_MAX: usize = 8_192;

/// One item in a packet. The owner of the item is notified when the packet is acknowledged or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A value of a key, identified by its slot and stamp. `part` is `None` if the packet had the whole value.
    State { lane: u8, slot: u32, stamp: u64, part: Option<u32> },
    /// An event, or one part of it.
    Event { lane: u8, number: u64, part: Option<u32> },
    /// The consumed count that was reported to the peer.
    Window { lane: u8, consumed: u64 },
    /// Bytes of a replication source.
    Replication { lane: u8 },
    /// The proof of the handshake.
    Proof,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// The packet is eliciting and has not been acknowledged.
    InFlight,
    /// The packet is not eliciting, so no acknowledgement is awaited.
    Quiet,
    Settled,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket {
    pub(crate) at: Time,
    pub(crate) bytes: u32,
    busy_period: u32,
    status: Status,
    items_start: u64,
    items_count: u32,
}

/// The packets that are neither acknowledged nor lost, and the newest one that was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct SentPackets {
    packets: VecDeque<SentPacket>,
    items: VecDeque<Item>,
    /// The largest number of items since the last call of [`shrink`](Self::shrink).
    items_peak: usize,
    first: u64,
    items_first: u64,
    in_flight: u64,
    in_flight_bytes: u64,
    busy_period: u32,
    /// Packets below this number are no longer counted in the bytes in flight.
    counted_from: u64,
    largest_acked: Option<u64>,
    /// Packets declared lost; they may still arrive.
    missed: VecDeque<Missed>,
    /// The longest time that an overtaken packet took: one that arrived after it had been declared lost.
    overtaken: Duration,
    /// Number of further losses until the path counts as ordered again.
    overtaking: u32,
    last_eliciting_at: Option<Time>,
}

/// A packet that was regarded as lost.
#[derive(Clone, Copy, Debug)]
struct Missed {
    number: u64,
    bytes: u32,
    at: Time,
}

/// A packet whose outcome is now known.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    pub(crate) number: u64,
    pub(crate) at: Time,
    pub(crate) bytes: u32,
    pub(crate) eliciting: bool,
    /// Counts the packets that left while nothing else was in flight. Packets with equal values
    /// left without such a pause between them.
    pub(crate) busy_period: u32,
    pub(crate) items: Range<u64>,
}

impl SentPackets {
    /// The number of the next packet.
    pub(crate) fn next_number(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    pub(crate) fn largest_sent(&self) -> Option<u64> {
        self.next_number().checked_sub(1)
    }

    pub(crate) fn unacknowledged_span(&self) -> u64 {
        self.next_number() - self.largest_acked.map_or(0, |largest| largest + 1)
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(crate) fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    pub(crate) fn last_eliciting_at(&self) -> Option<Time> {
        self.last_eliciting_at
    }

    pub(crate) fn is_full(&self) -> bool {
        self.packets.len() >= TRACKED_MAX
    }

    /// Stops counting the packets in flight against the window. Their acknowledgements are still awaited.
    pub(crate) fn write_off_flight(&mut self) {
        self.counted_from = self.next_number();
        self.in_flight_bytes = 0;
    }

    /// Adds an item to the packet that is being filled.
    pub(crate) fn push_item(&mut self, item: Item) {
        self.items.push_back(item);
    }

    /// Frees the memory of items after a burst of messages. Keeps memory for twice the peak since the last call.
    pub(crate) fn shrink(&mut self) {
        let kept = 2 * (std::mem::replace(&mut self.items_peak, self.items.len()) + SPARE_ITEMS);
        if self.items.capacity() > kept {
            self.items.shrink_to(kept);
        }
    }

    /// Records the departure of the filled packet. The items of this packet are those that were pushed since the previous
    /// packet.
    pub(crate) fn push(&mut self, at: Time, bytes: usize, eliciting: bool) {
        self.items_peak = self.items_peak.max(self.items.len());
        let pushed = self.items_first + self.items.len() as u64;
        let items_start = self
            .packets
            .back()
            .map_or(self.items_first, |last| last.items_start + u64::from(last.items_count));
        if eliciting {
            self.busy_period = self.busy_period.wrapping_add(u32::from(self.in_flight == 0));
            self.in_flight += 1;
            self.in_flight_bytes += bytes as u64;
            self.last_eliciting_at = Some(at);
        }
        self.packets.push_back(SentPacket {
            at,
            bytes: bytes as u32,
            busy_period: self.busy_period,
            status: if eliciting { Status::InFlight } else { Status::Quiet },
            items_start,
            items_count: (pushed - items_start) as u32,
        });
        self.forget();
    }

    /// Records the largest number that the peer acknowledged. The packet with this number may no longer be tracked.
    pub(crate) fn note_largest(&mut self, number: u64) {
        self.largest_acked = self.largest_acked.max(Some(number));
    }

    /// Returns the tracked part of a range of numbers. The end of the range is excluded.
    pub(crate) fn tracked(&self, low: u64, high: u64) -> (u64, u64) {
        (low.max(self.first), (high + 1).min(self.next_number()))
    }

    /// Records that the peer received `number`. Returns the settled packet, if its outcome was not known.
    pub(crate) fn acknowledge(&mut self, number: u64) -> Option<Settled> {
        self.settle(number)
    }

    /// Finds the packets in these ranges that were declared lost although they were only overtaken. Returns their total size in
    /// bytes. From then on a packet counts as lost by its age, as in RACK (RFC 8985), and not by the number of later
    /// acknowledgements.
    pub(crate) fn find_missed(&mut self, now: Time, ranges: &[(u64, u64)]) -> u64 {
        let Self { missed, overtaken, overtaking, .. } = self;
        let mut found = 0;
        missed.retain(|packet| {
            if !ranges.iter().any(|(low, high)| (*low..=*high).contains(&packet.number)) {
                return true;
            }
            found += u64::from(packet.bytes);
            *overtaken = (*overtaken).max(now.since(packet.at));
            *overtaking = OVERTAKING_LOSSES;
            false
        });
        found
    }

    /// Drops the missing packets of the old path after a change of the path. They never arrive, or give no information about the
    /// new path.
    pub(crate) fn forget_path(&mut self) {
        self.missed.clear();
        (self.overtaking, self.overtaken) = (0, Duration::ZERO);
    }

    /// The longest recent time of a packet that was overtaken; zero if there was none.
    pub(crate) fn overtaken(&self) -> Duration {
        self.overtaken
    }

    /// Returns the next packet that counts as lost at `now`, if any. Call it until it returns `None`.
    pub(crate) fn lose(&mut self, now: Time, delay: Duration) -> Option<Settled> {
        let largest = self.largest_acked?;
        for number in self.first..largest.min(self.next_number()) {
            let packet = self.packets[(number - self.first) as usize];
            if packet.status != Status::InFlight {
                continue;
            }
            let is_far_below = self.overtaking == 0 && largest - number >= REORDERING_MAX;
            if is_far_below || now >= packet.at + delay {
                self.miss(Missed { number, bytes: packet.bytes, at: packet.at });
                return self.settle(number);
            }
            // Later packets are younger and nearer to `largest`, so none of them counts as lost either.
            return None;
        }
        None
    }

    fn miss(&mut self, packet: Missed) {
        self.overtaking = self.overtaking.saturating_sub(1);
        if self.overtaking == 0 {
            self.overtaken = Duration::ZERO;
        }
        self.missed.truncate(MISSED_MAX - 1);
        self.missed.push_front(packet);
    }

    /// Returns the time at which [`Self::lose`] will find the next lost packet.
    pub(crate) fn loss_at(&self, delay: Duration) -> Option<Time> {
        let largest = self.largest_acked?;
        let (packet, number) = self.oldest_in_flight()?;
        (number < largest).then_some(packet.at + delay)
    }

    /// Settles the oldest packet in flight as lost, at any age. When the carrier is gone, call it until it returns `None`.
    pub(crate) fn lose_oldest(&mut self) -> Option<Settled> {
        let (_, number) = self.oldest_in_flight()?;
        self.settle(number)
    }

    /// Returns the items of the oldest packet in flight.
    pub(crate) fn oldest_items(&self) -> Range<u64> {
        self.oldest_in_flight().map_or(0..0, |(packet, _)| items_of(packet))
    }

    /// Returns the items of one packet.
    pub(crate) fn items(&self, of: Range<u64>) -> impl Iterator<Item = Item> + '_ {
        let [start, end] = [of.start, of.end].map(|index| index.saturating_sub(self.items_first) as usize);
        self.items.range(start..end).copied()
    }

    /// Removes the settled packets at the front. Their items cannot be read afterwards.
    pub(crate) fn forget(&mut self) {
        while let Some(packet) = self.packets.front() {
            if packet.status == Status::InFlight {
                break;
            }
            let items = packet.items_count;
            self.items.drain(..items as usize);
            self.items_first += u64::from(items);
            self.packets.pop_front();
            self.first += 1;
        }
        if self.packets.is_empty() {
            self.items_first += self.items.len() as u64;
            self.items.clear();
        }
    }

    fn oldest_in_flight(&self) -> Option<(&SentPacket, u64)> {
        let index = self.packets.iter().position(|packet| packet.status == Status::InFlight)?;
        Some((&self.packets[index], self.first + index as u64))
    }

    fn settle(&mut self, number: u64) -> Option<Settled> {
        let index = number.checked_sub(self.first)?;
        let packet = self.packets.get_mut(index as usize)?;
        let status = std::mem::replace(&mut packet.status, Status::Settled);
        let eliciting = match status {
            Status::Settled => return None,
            Status::InFlight => true,
            Status::Quiet => false,
        };
        if eliciting {
            self.in_flight -= 1;
            if number >= self.counted_from {
                self.in_flight_bytes -= u64::from(packet.bytes);
            }
        }
        let SentPacket { at, bytes, busy_period, .. } = *packet;
        Some(Settled { number, at, bytes, eliciting, busy_period, items: items_of(packet) })
    }
}

fn items_of(packet: &SentPacket) -> Range<u64> {
    packet.items_start..packet.items_start + u64::from(packet.items_count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(60);

    fn at(millis: u64) -> Time {
        Time::from_micros(millis * 1_000)
    }

    /// Makes ten packets of 100 bytes, one each millisecond. Those from number 4 on have arrived.
    fn sent() -> SentPackets {
        let mut sent = SentPackets::default();
        (0..10).for_each(|number| sent.push(at(number), 100, true));
        acknowledge(&mut sent, 4, 9);
        sent
    }

    fn acknowledge(sent: &mut SentPackets, low: u64, high: u64) {
        sent.note_largest(high);
        for number in low..=high {
            sent.acknowledge(number);
        }
    }

    #[test]
    fn when_a_packet_regarded_as_lost_arrives_losses_are_no_longer_counted_by_later_packets() {
        let mut sent = sent();
        assert_eq!(std::iter::from_fn(|| sent.lose(at(30), DELAY)).count(), 4, "0 to 3 are far below 9");
        assert_eq!(sent.find_missed(at(40), &[(2, 9)]), 200, "2 and 3 were only overtaken");
        assert_eq!(sent.find_missed(at(40), &[(2, 9)]), 0);
        assert_eq!(sent.overtaken(), Duration::from_millis(38));
        (10..20).for_each(|number| sent.push(at(20 + number), 100, true));
        acknowledge(&mut sent, 14, 19);
        assert!(sent.lose(at(50), DELAY).is_none(), "the packets from 10 to 13 may still come");
        assert_eq!(sent.loss_at(DELAY), Some(at(90)));
        assert_eq!(sent.lose(at(90), DELAY).map(|lost| lost.number), Some(10));
    }

    #[test]
    fn on_a_path_that_only_loses_packets_losses_are_counted_by_later_packets_again() {
        let mut sent = sent();
        while sent.lose(at(30), DELAY).is_some() {}
        sent.find_missed(at(40), &[(3, 9)]);
        for turn in 1..=u64::from(OVERTAKING_LOSSES) {
            assert!(sent.overtaken() > Duration::ZERO);
            let number = sent.next_number();
            (0..2).for_each(|_| sent.push(at(100 * turn), 100, true));
            acknowledge(&mut sent, number + 1, number + 1);
            assert_eq!(sent.lose(at(100 * turn + 60), DELAY).map(|lost| lost.number), Some(number));
        }
        assert_eq!(sent.overtaken(), Duration::ZERO);
    }
}
