//! The order in which messages go into a packet: repeated ones, parts of large ones, and then new ones.

use nowcast_queue::Key;

use super::{FRAME_BYTES_MAX, Large, Retransmission, SendContext, SendLane, WAITING_BYTES, Waiting};

impl SendLane {
    /// Puts as many messages into the packet as fit.
    pub(crate) fn fill(&mut self, context: &mut SendContext<'_, '_>) {
        let before = context.builder.room();
        self.fill_retransmissions(context);
        self.fill_jobs(context);
        self.fill_deferred(context);
        if self.fill_overdue(context) {
            self.fill_in_order(context);
        }
        self.forget_idle(context);
        let used = before - context.builder.room();
        // A packet with room for any whole message got none: the lane waits for credit or an arrival, not for room.
        self.is_stuck = used == 0 && before >= context.whole_max + FRAME_BYTES_MAX;
        self.bucket.spend(used);
        self.turn += used as u64 * 256 / u64::from(self.config.weight.max(1));
    }

    fn fill_retransmissions(&mut self, context: &mut SendContext<'_, '_>) {
        for _ in 0..self.retransmissions.len() {
            let Some(lost) = self.retransmissions.pop_front() else { break };
            let has_room = match lost {
                Retransmission::Event { number, part } => self.write_event(number, part, context, true),
                Retransmission::State { slot, stamp, part } => {
                    self.retransmit_state(slot, stamp, part, context)
                }
            };
            if !has_room {
                self.retransmissions.push_front(lost);
                break;
            }
        }
    }

    pub(super) fn fill_jobs(&mut self, context: &mut SendContext<'_, '_>) {
        while let Some(mut job) = self.jobs.pop_front() {
            while job.next < job.count {
                let has_room = match job.what {
                    Large::Event(number) => self.write_event(number, Some(job.next), context, false),
                    Large::State { slot, stamp } => {
                        self.states.wanted_mut(slot, stamp).is_none()
                            || self.write_state_part(slot, job.next, context)
                    }
                };
                if !has_room {
                    self.jobs.push_front(job);
                    return;
                }
                job.next += 1;
            }
        }
    }

    /// Binds the newer values whose large predecessors have arrived.
    fn fill_deferred(&mut self, context: &mut SendContext<'_, '_>) {
        let mut index = 0;
        while index < self.deferred.len() {
            let slot = self.deferred[index];
            let Some((state, &waiting)) = self.states.deferred(slot) else {
                self.deferred.remove(index);
                continue;
            };
            let key = state.key;
            if !state.is_acknowledged() {
                index += 1;
            } else if !self.jobs.is_empty()
                // A full packet or a used window refuses the later ones, too.
                || !self.bind_state(key, self.states.newest(key), &waiting, context)
            {
                return;
            } else {
                self.deferred.remove(index);
            }
        }
    }

    /// Binds the waiting values of overdue keys ahead of their turn, so that no pattern of loss always hits the same keys. A key goes
    /// ahead once in a round, so the other keys get their turns, too. Returns `false` if there is no room or no credit.
    fn fill_overdue(&mut self, context: &mut SendContext<'_, '_>) -> bool {
        let places = self.queue.places();
        if places.start >= self.round_end {
            (self.round, self.round_end) = (self.next_stamp, places.end);
        }
        let mut index = 0;
        while self.events_waiting == 0
            && let Some(state) = self.states.overdue(index)
        {
            index += 1;
            let (key, is_next) = (state.key, state.stamp < self.round);
            if is_next && let Some(&waiting) = self.queue.newest(Key::from_raw(key)) {
                if !self.take_state(key, &waiting, context) {
                    return false;
                }
                self.queue.take(Key::from_raw(key));
            }
        }
        true
    }

    /// Forgets the lane's keys if no state has been sent for a while. A barrier closes their interval.
    fn forget_idle(&mut self, context: &mut SendContext<'_, '_>) {
        let is_due = std::mem::take(&mut self.is_idle) && self.can_forget_idle();
        if is_due && self.bind_event(None, context) {
            self.states.forget_arrived();
        }
    }

    fn fill_in_order(&mut self, context: &mut SendContext<'_, '_>) {
        while let Some((key, &waiting)) = self.queue.peek() {
            if key.is_event() {
                if !self.take_event(&waiting, context) {
                    break;
                }
                continue;
            }
            if !self.take_state(key.raw(), &waiting, context) {
                break;
            }
            self.queue.pop();
        }
    }

    /// Binds or defers a waiting value. Returns `false` if there is no room or no credit.
    fn take_state(&mut self, key: u64, waiting: &Waiting, context: &mut SendContext<'_, '_>) -> bool {
        let newest = self.states.newest(key);
        self.defer(newest, waiting, context) || self.bind_state(key, newest, waiting, context)
    }

    fn take_event(&mut self, waiting: &Waiting, context: &mut SendContext<'_, '_>) -> bool {
        if waiting.expires.is_some_and(|expires| expires <= context.now) {
            // The command never got a number, so the values around it belong to one interval.
            self.pop_event();
            context.store.remove(waiting.payload);
            return true;
        }
        if !self.bind_all_deferred(context) || !self.bind_event(Some(waiting), context) {
            return false;
        }
        self.pop_event();
        true
    }

    fn pop_event(&mut self) {
        let length = self.queue.pop().map_or(0, |(_, waiting)| waiting.length as usize);
        self.events_waiting -= 1;
        self.events_cost -= self.event_cost(length);
        self.event_bytes -= length + WAITING_BYTES;
    }

    /// Defers a value if a large earlier value of the same interval, in slot `newest`, has not arrived. Returns `false` if there
    /// is not such a value.
    fn defer(&mut self, newest: Option<u32>, waiting: &Waiting, context: &mut SendContext<'_, '_>) -> bool {
        let interval = self.interval();
        let Some(slot) = newest else { return false };
        let Some(state) = self.states.get_mut(slot) else { return false };
        let is_in_parts = state.parts.is_some() && !state.is_acknowledged();
        if state.deferred.is_none() && !(is_in_parts && state.interval == interval) {
            return false;
        }
        match state.deferred.replace(Box::new(*waiting)) {
            Some(old) => {
                context.store.remove(old.payload);
                context.stats.superseded += 1;
            }
            None => self.deferred.push(slot),
        }
        true
    }

    /// Binds the deferred values before their interval closes, even if a large earlier value is still in flight.
    fn bind_all_deferred(&mut self, context: &mut SendContext<'_, '_>) -> bool {
        while let Some(&slot) = self.deferred.first() {
            if let Some((state, &waiting)) = self.states.deferred(slot) {
                let key = state.key;
                if !self.bind_state(key, self.states.newest(key), &waiting, context) {
                    return false;
                }
            }
            self.deferred.remove(0);
        }
        true
    }
}
