//! The outcomes of sent messages: arrived, lost, expired or consumed.

use super::{Retransmission, SendLane};
use crate::error::Broken;
use crate::packet::EventKind;
use crate::sent::Item;
use crate::store::Store;

impl SendLane {
    /// Records that a packet with this value arrived.
    pub(crate) fn state_arrived(&mut self, slot: u32, stamp: u64, part: Option<u32>, store: &mut Store) {
        if part.is_none() {
            self.states.note_arrival(slot, stamp);
        }
        let Some(state) = self.states.wanted_mut(slot, stamp) else { return };
        self.is_stuck = false;
        let is_whole = match (part, &mut state.parts) {
            (Some(index), Some(parts)) => parts.insert(index),
            (Some(_), None) => false,
            (None, _) => true,
        };
        if is_whole {
            self.states.acknowledge(slot, store);
        }
    }

    /// Records that a packet with this value was lost.
    pub(crate) fn state_lost(&mut self, slot: u32, stamp: u64, part: Option<u32>) {
        self.is_stuck = false;
        if part.is_none() {
            self.states.note_loss(slot, stamp, self.interval());
        }
        let Some(state) = self.states.wanted_mut(slot, stamp) else { return };
        let parts = state.parts.as_ref();
        let has_part = part.is_some_and(|part| parts.is_some_and(|parts| parts.has(part)));
        if !has_part {
            self.retransmissions.push_back(Retransmission::State { slot, stamp, part });
        }
    }

    /// Records that a packet with this event arrived.
    pub(crate) fn event_arrived(&mut self, number: u64, part: Option<u32>, store: &mut Store) {
        let Some(event) = self.event_mut(number) else { return };
        if part.is_none() {
            event.in_flight = event.in_flight.saturating_sub(1);
        }
        let is_whole = match (part, &mut event.parts) {
            (Some(index), Some(parts)) => parts.insert(index),
            (Some(_), None) => false,
            (None, _) => true,
        };
        if !is_whole {
            return;
        }
        event.is_acknowledged = true;
        event.parts = None;
        if let Some(payload) = event.payload.take() {
            store.remove(payload);
        }
        while self.events.front().is_some_and(|event| event.is_acknowledged) {
            self.events.pop_front();
            self.events_first += 1;
        }
    }

    /// Records that a packet with this event was lost.
    pub(crate) fn event_lost(&mut self, number: u64, part: Option<u32>) {
        self.is_stuck = false;
        let Some(event) = self.event_mut(number) else { return };
        if event.is_acknowledged {
            return;
        }
        match part {
            Some(part) if event.parts.as_ref().is_none_or(|parts| parts.has(part)) => return,
            Some(_) => {}
            None => {
                event.in_flight = event.in_flight.saturating_sub(1);
                if event.in_flight > 0 || event.is_lost {
                    return;
                }
                event.is_lost = true;
            }
        }
        self.retransmissions.push_back(Retransmission::Event { number, part });
    }

    /// Sends an event or value again for a probe, without recording a loss.
    pub(crate) fn probe(&mut self, item: Item) {
        self.is_stuck = false;
        match item {
            Item::State { slot, stamp, part, .. } => self.state_lost(slot, stamp, part),
            Item::Event { number, part: None, .. } => {
                let event = self.event_mut(number);
                if let Some(event) = event.filter(|event| !event.is_acknowledged && !event.is_lost) {
                    event.is_lost = true;
                    self.retransmissions.push_front(Retransmission::Event { number, part: None });
                }
            }
            Item::Event { number, part, .. } => self.event_lost(number, part),
            Item::Window { .. } | Item::Replication { .. } | Item::Proof => {}
        }
    }

    /// Sends the oldest unacknowledged events and values again, for a probe in a long silence.
    pub(crate) fn probe_oldest(&mut self, count: usize) {
        self.is_stuck = false;
        let open = self.events.iter().enumerate().filter(|(_, event)| !event.is_acknowledged);
        let last = open.map(|(index, _)| index).take(count).last();
        // The loop runs from the newest to the oldest, because each message is placed in front of the messages that already
        // wait to be sent again.
        for index in (0..last.map_or(0, |last| last + 1)).rev() {
            let number = self.events_first + index as u64;
            if self.events[index].parts.is_none() {
                self.probe(Item::Event { lane: self.lane, number, part: None });
            }
        }
        if self.retransmissions.is_empty() {
            let small = self.states.wanted().filter(|(_, state)| state.parts.is_none()).take(count);
            let states =
                small.map(|(slot, state)| Retransmission::State { slot, stamp: state.stamp, part: None });
            self.retransmissions.extend(states);
        }
    }

    /// Withdraws command `id`, whose deadline has passed. A command that still waits is dropped when its turn comes. A command
    /// that was bound has closed its interval with its number, so a placeholder replaces it.
    pub(crate) fn expire(&mut self, id: u64, store: &mut Store) {
        self.is_stuck = false;
        let first = self.events_first;
        let found = self.events.iter_mut().zip(first..).find(|(event, _)| event.id == id);
        let Some((event, number)) = found.filter(|(event, _)| !event.is_acknowledged) else { return };
        event.kind = EventKind::Expired;
        event.length = 0;
        event.parts = None;
        event.is_lost = true;
        if let Some(payload) = event.payload.take() {
            store.remove(payload);
        }
        self.retransmissions.push_back(Retransmission::Event { number, part: None });
    }

    /// Records that the peer's application has consumed the events below `consumed`.
    pub(crate) fn consumed(&mut self, consumed: u64) -> Result<(), Broken> {
        if consumed > self.interval() {
            return Err(Broken::violation("consumed more events than were sent"));
        }
        while self.consumed < consumed {
            self.closed_cost -= self.costs.pop_front().unwrap_or(0);
            self.consumed += 1;
            self.is_stuck = false;
        }
        Ok(())
    }
}
