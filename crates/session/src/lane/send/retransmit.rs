//! Sends lost values and parts again, and sends redundant copies of events.

use nowcast_queue::Key;

use super::{Job, Large, Parts, Retransmission, SendContext, SendLane, part_of};
use crate::packet::{StateHead, varint_length, write};
use crate::sent::Item;

impl SendLane {
    /// Sends an unacknowledged event again. Returns the number of bytes that this took.
    pub(crate) fn repeat(&mut self, number: u64, context: &mut SendContext<'_, '_>) -> usize {
        let is_wanted = self.event_mut(number).is_some_and(|event| !event.is_acknowledged && !event.is_lost);
        if !is_wanted {
            return 0;
        }
        let before = context.builder.room();
        self.write_event(number, None, context, false);
        let used = before - context.builder.room();
        context.stats.events_repeated += u64::from(used > 0);
        used
    }

    /// Whether [`Self::repeat`] would send something.
    pub(crate) fn can_repeat(&self, number: u64) -> bool {
        let index = number.checked_sub(self.events_first).map(|index| index as usize);
        index
            .and_then(|index| self.events.get(index))
            .is_some_and(|event| !event.is_acknowledged && !event.is_lost)
    }

    /// Marks values for sending that had given way to newer values. The values must be sent if a barrier closes the open
    /// interval while the newer values still wait. The earlier values are then the last values of the interval, and the peer
    /// cannot continue without them.
    pub(super) fn recall_what_gave_way(&mut self) {
        let interval = self.interval();
        let recalled = self.states.wanted().filter(|(_, state)| state.gave_way && state.interval == interval);
        self.retransmissions.extend(recalled.map(|(slot, state)| Retransmission::State {
            slot,
            stamp: state.stamp,
            part: None,
        }));
    }

    pub(super) fn retransmit_state(
        &mut self,
        slot: u32,
        stamp: u64,
        part: Option<u32>,
        context: &mut SendContext<'_, '_>,
    ) -> bool {
        let interval = self.interval();
        let Some(state) = self.states.wanted_mut(slot, stamp) else { return true };
        let is_open = state.interval == interval && self.events_waiting == 0;
        // A newer value of the same interval waits. The peer needs the lost value only if the interval closes before the newer
        // value leaves (`recall_what_gave_way`).
        if part.is_none() && is_open && self.queue.newest(Key::from_raw(state.key)).is_some() {
            state.gave_way = true;
            return true;
        }
        if part.is_none() && state.length as usize > context.whole_max {
            let parts = state.parts.get_or_insert_with(|| Parts::of(state.length as usize));
            let job = Job { what: Large::State { slot, stamp }, next: 0, count: parts.count() };
            self.jobs.push_back(job);
            return true;
        }
        let has_room = match part {
            Some(index) => self.write_state_part(slot, index, context),
            None => {
                let age_ms = context.now.since(state.at).as_millis() as u64;
                let head = StateHead { key: state.key, stamp, age_ms };
                let payload = state.payload().expect("a wanted value has its payload");
                let interval = state.interval;
                let fits = context.builder.state(self.lane, interval, head, context.store.get(payload));
                if fits {
                    context.sent.push_item(Item::State { lane: self.lane, slot, stamp, part: None });
                }
                fits
            }
        };
        context.stats.states_resent += u64::from(has_room);
        has_room
    }

    /// Writes one part of a wanted value. Returns `false` if there is no room.
    pub(super) fn write_state_part(
        &mut self,
        slot: u32,
        index: u32,
        context: &mut SendContext<'_, '_>,
    ) -> bool {
        let Some(state) = self.states.get(slot) else { return true };
        let Some(payload) =
            state.payload().filter(|_| state.parts.as_ref().is_some_and(|parts| !parts.has(index)))
        else {
            return true;
        };
        let payload = context.store.get(payload);
        let age_ms = context.now.since(state.at).as_millis() as u64;
        let head = StateHead { key: state.key, stamp: state.stamp, age_ms };
        let part = part_of(payload, index);
        let interval = state.interval;
        let begin = 1 + [interval, head.stamp, head.key, age_ms, part.total, part.index]
            .map(varint_length)
            .iter()
            .sum::<usize>();
        if begin + part.bytes.len() > context.builder.room() {
            return false;
        }
        context.builder.frame(|out| write::state_part(out, self.lane, interval, head, part));
        let stamp = head.stamp;
        context.sent.push_item(Item::State { lane: self.lane, slot, stamp, part: Some(index) });
        true
    }
}
