//! The checker of a life. It knows all confirmations that clients received, in the order of real time.
//!
//! A state is compared with everything that was confirmed **before the client began to connect**. So a state that was slow is
//! never taken for a state of an old owner.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts of a room by client.
pub(super) type CountsOf = BTreeMap<u8, u64>;

/// Knowledge about one room.
#[derive(Clone, Debug, Default)]
struct Room {
    /// The number of the newest confirmed action of each client.
    confirmed: CountsOf,
    /// The number of the newest action that each client sent.
    sent: CountsOf,
}

#[derive(Debug, Default)]
struct State {
    rooms: BTreeMap<u8, Room>,
    violation: Option<String>,
    confirmed: u64,
    shown: u64,
    sessions: u64,
    followed: u64,
    owners: u64,
    /// Times from the first request of an action to its confirmation.
    waits: Vec<Duration>,
}

/// Compares the messages of servers with the promises.
#[derive(Debug, Default)]
pub(super) struct Checker {
    state: Mutex<State>,
}

/// Counts of a life.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) confirmed: u64,
    pub(super) shown: u64,
    pub(super) sessions: u64,
    pub(super) followed: u64,
    pub(super) owners: u64,
    pub(super) waits: Vec<Duration>,
}

impl Checker {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client is about to send the action `number`.
    pub(super) fn sends(&self, room: u8, client: u8, number: u64) {
        let mut state = self.lock();
        let sent = state.rooms.entry(room).or_default().sent.entry(client).or_default();
        *sent = (*sent).max(number);
    }

    /// The number of confirmed actions of each client in a room. A state of a session that begins later shows all of them.
    pub(super) fn confirmed(&self, room: u8) -> CountsOf {
        self.lock().rooms.get(&room).map(|room| room.confirmed.clone()).unwrap_or_default()
    }

    /// A session was welcomed. `has_followed` says whether the client connected before the room moved.
    pub(super) fn begins(&self, has_followed: bool) {
        let mut state = self.lock();
        state.sessions += 1;
        state.followed += u64::from(has_followed);
    }

    /// A server shows the count of a client. `least` is the count that was confirmed before the session began, or shown
    /// earlier in the session.
    pub(super) fn shows(&self, room: u8, client: u8, least: u64, count: u64) {
        let mut state = self.lock();
        state.shown += 1;
        let sent = state.rooms.get(&room).and_then(|room| room.sent.get(&client)).copied().unwrap_or(0);
        let what = if count < least {
            format!("room {room}: the count of client {client} fell from {least} to {count}")
        } else if count > sent {
            format!("room {room}: the count of client {client} is {count}, and it sent {sent} actions")
        } else {
            return;
        };
        state.violation.get_or_insert(what);
    }

    /// An action is confirmed. `shown` is the count that the client sees, and `first_sent` the time of the first request.
    pub(super) fn confirms(&self, room: u8, client: u8, number: u64, shown: u64, first_sent: Instant) {
        let mut state = self.lock();
        state.confirmed += 1;
        state.waits.push(first_sent.elapsed());
        if shown != number {
            let what = format!(
                "room {room}: action {number} of client {client} is confirmed, and its count is {shown}"
            );
            state.violation.get_or_insert(what);
        }
        let known = state.rooms.entry(room).or_default().confirmed.entry(client).or_default();
        *known = (*known).max(number);
    }

    /// The owners in the journal of a room, by their epochs in the order of the journal.
    pub(super) fn owned(&self, room: u8, owners: &[(u64, String)]) {
        for pair in owners.windows(2) {
            if pair[0].0 >= pair[1].0 {
                self.fail(format!(
                    "room {room}: the owner {:?} follows {:?} in the journal",
                    pair[1], pair[0]
                ));
            }
        }
        self.lock().owners += owners.len() as u64;
    }

    /// Records a violation.
    pub(super) fn fail(&self, what: String) {
        self.lock().violation.get_or_insert(what);
    }

    /// The first violation.
    pub(super) fn violation(&self) -> Option<String> {
        self.lock().violation.clone()
    }

    pub(super) fn counts(&self) -> Counts {
        let State { confirmed, shown, sessions, followed, owners, ref waits, .. } = *self.lock();
        Counts { confirmed, shown, sessions, followed, owners, waits: waits.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_confirmations_that_keep_the_promises_are_accepted() {
        let checker = Checker::default();
        checker.sends(0, 1, 1);
        checker.shows(0, 1, 0, 1);
        checker.confirms(0, 1, 1, 1, Instant::now());
        let least = checker.confirmed(0)[&1];
        checker.shows(0, 1, least, 1);
        checker.owned(0, &[(1, "a#1".to_owned()), (3, "a#1".to_owned()), (4, "b#2".to_owned())]);
        assert_eq!((checker.violation(), least), (None, 1));
    }

    /// Reports a broken promise.
    type Break = fn(&Checker);

    #[test]
    fn lost_doubled_and_stale_counts_and_old_owners_are_found() {
        let breaks: [(Break, &str); 4] = [
            (|checker| checker.shows(0, 1, 2, 1), "fell from 2 to 1"),
            (|checker| checker.shows(0, 1, 2, 3), "it sent 2 actions"),
            (|checker| checker.confirms(0, 1, 2, 1, Instant::now()), "its count is 1"),
            (|checker| checker.owned(0, &[(2, "a#1".to_owned()), (2, "b#1".to_owned())]), "follows"),
        ];
        for (break_promise, text) in breaks {
            let checker = Checker::default();
            checker.sends(0, 1, 2);
            break_promise(&checker);
            let found = checker.violation().unwrap_or_default();
            assert!(found.contains(text), "{found}");
        }
    }
}
