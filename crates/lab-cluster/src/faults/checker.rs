//! The promises, checked against all answers that clients receive, in the order of real time.
//!
//! An answer is compared with everything that was known **before its request was sent**. So an answer that was slow is never
//! taken for an answer of an old owner.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Knowledge about one room.
#[derive(Clone, Debug, Default)]
struct Room {
    /// The newest epoch in an answer.
    epoch: u64,
    /// The owner of each epoch.
    owners: BTreeMap<u64, String>,
    /// The largest confirmed count of each client.
    confirmed: BTreeMap<u8, u64>,
    /// The number of the newest action that each client sent.
    sent: BTreeMap<u8, u64>,
}

/// An answer of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    /// The process of the server, such as `s0#3`.
    pub(super) owner: String,
    pub(super) epoch: u64,
    /// The number of durable actions of the client in the room.
    pub(super) count: u64,
}

/// Knowledge at the time at which a request is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    epoch: u64,
    confirmed: u64,
    at: Instant,
}

#[derive(Debug, Default)]
struct State {
    rooms: BTreeMap<u8, Room>,
    violation: Option<String>,
    confirmed: u64,
    read: u64,
    /// Times from the first request of an action to its confirmation.
    waits: Vec<Duration>,
}

/// Compares the answers of servers with the promises.
#[derive(Debug, Default)]
pub(super) struct Checker {
    state: Mutex<State>,
}

/// Counts of a life.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) confirmed: u64,
    pub(super) read: u64,
    pub(super) owners: u64,
    pub(super) waits: Vec<Duration>,
}

impl Checker {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client is about to send the action `number`, or to read its count if `number` is `None`.
    pub(super) fn begins(&self, room: u8, client: u8, number: Option<u64>) -> Before {
        let mut state = self.lock();
        let room = state.rooms.entry(room).or_default();
        if let Some(number) = number {
            let sent = room.sent.entry(client).or_default();
            *sent = (*sent).max(number);
        }
        let confirmed = room.confirmed.get(&client).copied().unwrap_or(0);
        Before { epoch: room.epoch, confirmed, at: Instant::now() }
    }

    /// An action is confirmed. `first_sent` is the time of its first request.
    pub(super) fn confirms(
        &self,
        room: u8,
        client: u8,
        number: u64,
        before: Before,
        answer: &Answer,
        first_sent: Instant,
    ) {
        self.check(room, client, before, answer);
        let mut state = self.lock();
        state.confirmed += 1;
        state.waits.push(first_sent.elapsed());
        if answer.count != number {
            let Answer { owner, epoch, count } = answer;
            let what = format!(
                "room {room}: {owner} in epoch {epoch} confirms action {number} of client {client}, and its count is {count}"
            );
            state.violation.get_or_insert(what);
        }
        let known = state.rooms.entry(room).or_default().confirmed.entry(client).or_default();
        *known = (*known).max(number);
    }

    /// A server shows the confirmed count of a client.
    pub(super) fn shows(&self, room: u8, client: u8, before: Before, answer: &Answer) {
        self.check(room, client, before, answer);
        let mut state = self.lock();
        state.read += 1;
        let known = state.rooms.entry(room).or_default().confirmed.entry(client).or_default();
        *known = (*known).max(answer.count);
    }

    fn check(&self, room_number: u8, client: u8, before: Before, answer: &Answer) {
        let Answer { owner, epoch, count } = answer;
        let mut state = self.lock();
        let room = state.rooms.entry(room_number).or_default();
        let mut problems = Vec::new();
        let known = room.owners.entry(*epoch).or_insert_with(|| owner.clone());
        if known != owner {
            problems.push(format!("epoch {epoch} has two owners: {known} and {owner}"));
        }
        if *epoch < before.epoch {
            problems.push(format!(
                "{owner} answers in epoch {epoch}, and epoch {} had answered {} ms before",
                before.epoch,
                before.at.elapsed().as_millis()
            ));
        }
        if *count < before.confirmed {
            problems.push(format!(
                "the count of client {client} fell from {} to {count} in epoch {epoch} of {owner}",
                before.confirmed
            ));
        }
        let sent = room.sent.get(&client).copied().unwrap_or(0);
        if *count > sent {
            problems.push(format!("the count of client {client} is {count}, and it sent {sent} actions"));
        }
        room.epoch = room.epoch.max(*epoch);
        for problem in problems {
            state.violation.get_or_insert(format!("room {room_number}: {problem}"));
        }
    }

    /// Records a violation that a server or the final check found.
    pub(super) fn fail(&self, what: String) {
        self.lock().violation.get_or_insert(what);
    }

    /// The first violation.
    pub(super) fn violation(&self) -> Option<String> {
        self.lock().violation.clone()
    }

    /// The number of confirmed actions of each client in a room.
    pub(super) fn confirmed(&self, room: u8) -> BTreeMap<u8, u64> {
        self.lock().rooms.get(&room).map(|room| room.confirmed.clone()).unwrap_or_default()
    }

    /// The number of the newest action that a client sent.
    pub(super) fn sent(&self, room: u8, client: u8) -> u64 {
        self.lock().rooms.get(&room).and_then(|room| room.sent.get(&client).copied()).unwrap_or(0)
    }

    pub(super) fn counts(&self) -> Counts {
        let state = self.lock();
        let owners = state.rooms.values().map(|room| room.owners.len() as u64).sum();
        Counts { confirmed: state.confirmed, read: state.read, owners, waits: state.waits.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(owner: &str, epoch: u64, count: u64) -> Answer {
        Answer { owner: owner.to_owned(), epoch, count }
    }

    fn counted(checker: &Checker, number: u64, given: &Answer) {
        let before = checker.begins(0, 1, Some(number));
        checker.confirms(0, 1, number, before, given, Instant::now());
    }

    #[test]
    fn answers_that_keep_the_promises_are_accepted() {
        let checker = Checker::default();
        counted(&checker, 1, &answer("a#1", 1, 1));
        let slow = checker.begins(0, 1, None);
        counted(&checker, 2, &answer("b#1", 2, 2));
        // The request of this answer was sent before the second epoch answered.
        checker.shows(0, 1, slow, &answer("a#1", 1, 1));
        assert_eq!((checker.violation(), checker.confirmed(0)[&1]), (None, 2));
    }

    #[test]
    fn lost_doubled_and_stale_answers_and_two_owners_are_found() {
        for (given, text) in [
            (answer("a#1", 2, 1), "fell from 2 to 1"),
            (answer("a#1", 2, 4), "its count is 4"),
            (answer("a#1", 1, 3), "epoch 2 had answered"),
            (answer("b#1", 2, 3), "two owners"),
        ] {
            let checker = Checker::default();
            counted(&checker, 1, &answer("a#1", 1, 1));
            counted(&checker, 2, &answer("a#1", 2, 2));
            assert_eq!(checker.violation(), None);
            counted(&checker, 3, &given);
            let found = checker.violation().unwrap_or_default();
            assert!(found.contains(text) || text == "its count is 4" && found.contains("is 4"), "{found}");
        }
    }
}
