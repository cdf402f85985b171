//! Rooms on their way between two servers.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nowcast_cluster::{Epoch, Name};
use nowcast_room::{Departure, Turn};
use tokio::sync::oneshot;

/// Maximum time for which a room waits for its turn. The clients that wait are then sent to its owner.
const TURN_WITHIN: Duration = Duration::from_secs(20);

/// The moves that this server carries out, with their targets. A room has one at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves(Arc<Mutex<BTreeMap<String, Name>>>);

/// A move, until the value is dropped.
#[derive(Debug)]
pub(super) struct Move {
    moves: Moves,
    room: String,
}

impl Moves {
    /// Begins a move. Fails with the reason if the room moves already.
    pub(super) fn begin(&self, room: &str, target: Name) -> Result<Move, String> {
        let mut moves = self.lock();
        if let Some(before) = moves.get(room) {
            return Err(format!("room {room} is moving to {before} already. Wait until that move has ended"));
        }
        moves.insert(room.to_owned(), target);
        Ok(Move { moves: self.clone(), room: room.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Name>> {
        // Each statement leaves the map valid, so poisoning is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Move {
    fn drop(&mut self) {
        self.moves.lock().remove(&self.room);
    }
}

/// A room that has stopped and whose world is stored.
pub(super) struct Left {
    pub(super) stopped_at: Instant,
    /// The epoch of the new owner.
    pub(super) epoch: Epoch,
    /// The sequence number of the last message in the journal, by which the new owner takes the room.
    pub(super) last: u64,
}

/// The rooms that go to other servers.
#[derive(Default)]
pub(super) struct Departures(Mutex<BTreeMap<String, Departing>>);

/// A room that moves to another server.
pub(super) struct Departing {
    pub(super) target: Name,
    /// The epoch of the target, if the directory names it.
    pub(super) epoch: Option<Epoch>,
    departure: Departure,
    announced: Option<oneshot::Sender<usize>>,
    stored: Option<oneshot::Sender<()>>,
    /// The time at which the room stopped.
    stopped_at: Option<Instant>,
    left: oneshot::Sender<Result<Left, String>>,
}

/// The answers of a room that moves to another server.
pub(super) struct Answers {
    /// The number of clients that were told.
    pub(super) announced: oneshot::Receiver<usize>,
    /// The snapshot before the stop was stored, or cannot be stored.
    pub(super) stored: oneshot::Receiver<()>,
    /// The end of the departure.
    pub(super) left: oneshot::Receiver<Result<Left, String>>,
}

impl Departing {
    /// Reports the end of the departure: the epoch of the new owner, and the last message of the journal. Returns false if the
    /// sender of the request has given up.
    pub(super) fn end(self, moved: Result<(Epoch, u64), String>) -> bool {
        let stopped_at = self.stopped_at.unwrap_or_else(Instant::now);
        self.left.send(moved.map(|(epoch, last)| Left { stopped_at, epoch, last })).is_ok()
    }
}

impl Departures {
    /// Requests that an open room moves to a server. The clients receive the address of that server. An earlier request for
    /// the room is dropped, and its sender reports that.
    pub(super) fn begin(&self, room: &str, target: Name, address: String) -> Answers {
        let ((announced, is_announced), (left, has_left)) = (oneshot::channel(), oneshot::channel());
        let (stored, is_stored) = oneshot::channel();
        let departing = Departing {
            target,
            epoch: None,
            departure: Departure { address, may_store: false, may_stop: false },
            announced: Some(announced),
            stored: Some(stored),
            stopped_at: None,
            left,
        };
        self.lock().insert(room.to_owned(), departing);
        Answers { announced: is_announced, stored: is_stored, left: has_left }
    }

    pub(super) fn contains(&self, room: &str) -> bool {
        self.lock().contains_key(room)
    }

    pub(super) fn departure(&self, room: &str) -> Option<Departure> {
        self.lock().get(room).map(|departing| departing.departure.clone())
    }

    pub(super) fn announced(&self, room: &str, clients: usize) {
        let announced = self.lock().get_mut(room).and_then(|departing| departing.announced.take());
        if let Some(announced) = announced {
            // The sender of the request may have given up.
            let _ = announced.send(clients);
        }
    }

    /// Lets a room store the snapshot before its stop.
    pub(super) fn allow_store(&self, room: &str) {
        if let Some(departing) = self.lock().get_mut(room) {
            departing.departure.may_store = true;
        }
    }

    pub(super) fn stored_ahead(&self, room: &str) {
        let stored = self.lock().get_mut(room).and_then(|departing| departing.stored.take());
        if let Some(stored) = stored {
            // The sender of the request may have given up.
            let _ = stored.send(());
        }
    }

    /// Lets a room stop as soon as the snapshot is stored. The epoch is that of the target in the directory.
    pub(super) fn allow_stop(&self, room: &str, epoch: Epoch) {
        if let Some(departing) = self.lock().get_mut(room) {
            departing.epoch = Some(epoch);
            departing.departure.may_stop = true;
        }
    }

    pub(super) fn stopped(&self, room: &str) {
        if let Some(departing) = self.lock().get_mut(room) {
            departing.stopped_at = Some(Instant::now());
        }
    }

    /// Removes a request.
    pub(super) fn take(&self, room: &str) -> Option<Departing> {
        self.lock().remove(room)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Departing>> {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rooms that come from other servers.
#[derive(Default)]
pub(super) struct Arrivals {
    rooms: Mutex<BTreeMap<String, Arrival>>,
    changed: Condvar,
}

/// A room that comes from another server.
struct Arrival {
    /// The time until which the room waits.
    until: Instant,
    /// The end of the room at the previous owner, if that has given the room to this server.
    stop: Option<Stop>,
    /// The request to follow the stored world, until it is reported that this was done. The room's thread takes it on.
    follow: Option<Follow>,
    /// The request to report that the room runs.
    opened: Option<oneshot::Sender<()>>,
}

/// The end of a room at its owner.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    /// The time of the stop.
    pub(super) at: Instant,
    /// The sequence number of the last message in the journal.
    pub(super) last: u64,
}

struct Follow {
    is_begun: bool,
    done: oneshot::Sender<()>,
}

impl Arrivals {
    /// Expects a room. Its thread waits until the room is given to this server.
    pub(super) fn expect(&self, room: &str) {
        let until = Instant::now() + TURN_WITHIN;
        let arrival = Arrival { until, stop: None, follow: None, opened: None };
        self.lock().insert(room.to_owned(), arrival);
    }

    /// Lets an expected room follow its stored world. The receiver reports that this was done. Returns `None` if the room is not
    /// expected.
    pub(super) fn follow(&self, room: &str) -> Option<oneshot::Receiver<()>> {
        let (done, is_done) = oneshot::channel();
        let mut rooms = self.lock();
        let arrival = rooms.get_mut(room).filter(|arrival| arrival.stop.is_none())?;
        arrival.follow = Some(Follow { is_begun: false, done });
        drop(rooms);
        self.changed.notify_all();
        Some(is_done)
    }

    /// Reports that a room has followed its stored world.
    pub(super) fn followed(&self, room: &str) {
        let follow =
            self.lock().get_mut(room).and_then(|arrival| arrival.follow.take_if(|follow| follow.is_begun));
        if let Some(follow) = follow {
            // The sender of the request may have given up.
            let _ = follow.done.send(());
        }
    }

    /// Whether an expected room waits for its turn.
    pub(super) fn is_waiting(&self, room: &str) -> bool {
        self.lock().get(room).is_some_and(|arrival| arrival.stop.is_none())
    }

    /// Lets an expected room begin although it was not given to this server, because its previous owner has died.
    pub(super) fn begin_alone(&self, room: &str) {
        let mut rooms = self.lock();
        if let Some(arrival) = rooms.get_mut(room).filter(|arrival| arrival.stop.is_none()) {
            (arrival.until, arrival.follow) = (Instant::now(), None);
        }
        drop(rooms);
        self.changed.notify_all();
    }

    pub(super) fn is_expected(&self, room: &str) -> bool {
        self.lock().get(room).is_some_and(|arrival| arrival.stop.is_some() || Instant::now() < arrival.until)
    }

    /// Lets a room begin, because its previous owner stopped it for this server. The receiver reports that the room runs.
    pub(super) fn give(&self, room: &str, stop: Stop) -> oneshot::Receiver<()> {
        let (opened, is_open) = oneshot::channel();
        let mut rooms = self.lock();
        let until = Instant::now() + TURN_WITHIN;
        let arrival = Arrival { until, stop: Some(stop), follow: None, opened: Some(opened) };
        rooms.insert(room.to_owned(), arrival);
        drop(rooms);
        self.changed.notify_all();
        is_open
    }

    /// The last message in the journal of a room that was given to this server.
    pub(super) fn last_message(&self, room: &str) -> Option<u64> {
        self.lock().get(room).and_then(|arrival| arrival.stop).map(|stop| stop.last)
    }

    /// Waits until an expected room has to follow its stored world, was given to this server, or the time is over.
    pub(super) fn wait(&self, room: &str) -> Turn {
        let mut rooms = self.lock();
        loop {
            let Some(arrival) = rooms.get_mut(room).filter(|arrival| arrival.stop.is_none()) else {
                return Turn::Begin;
            };
            if let Some(follow) = arrival.follow.as_mut().filter(|follow| !follow.is_begun) {
                follow.is_begun = true;
                return Turn::Follow;
            }
            let left = arrival.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                rooms.remove(room);
                return Turn::Begin;
            }
            rooms = self.changed.wait_timeout(rooms, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Records that a room runs. Returns the time since its stop at the previous owner; zero if there was none.
    pub(super) fn opened(&self, room: &str) -> Duration {
        let Some(arrival) = self.lock().remove(room) else { return Duration::ZERO };
        if let Some(opened) = arrival.opened {
            // The sender of the request may have given up.
            let _ = opened.send(());
        }
        arrival.stop.map_or(Duration::ZERO, |stop| stop.at.elapsed())
    }

    /// Forgets a room that this server could not take. Its previous owner is answered that it does not run.
    pub(super) fn forget(&self, room: &str) {
        self.lock().remove(room);
    }

    /// Ends all waiting, because the server ends.
    pub(super) fn end(&self) {
        self.lock().clear();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arrival>> {
        // No code panics while it holds the lock.
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expected_room_follows_and_begins_when_it_is_given_and_reports_both() {
        let arrivals = Arc::new(Arrivals::default());
        assert_eq!(arrivals.wait("yard"), Turn::Begin);
        arrivals.expect("yard");
        assert!(arrivals.is_expected("yard") && !arrivals.is_expected("plaza"));
        let room = {
            let arrivals = Arc::clone(&arrivals);
            std::thread::spawn(move || {
                assert_eq!(arrivals.wait("yard"), Turn::Follow);
                arrivals.followed("yard");
                assert_eq!(arrivals.wait("yard"), Turn::Begin);
                assert_eq!(arrivals.last_message("yard"), Some(3));
                assert!(arrivals.opened("yard") >= Duration::from_secs(1));
            })
        };
        arrivals.follow("yard").expect("the room is expected").blocking_recv().expect("the room follows");
        assert!(arrivals.follow("plaza").is_none());
        let at = Instant::now().checked_sub(Duration::from_secs(1)).expect("the machine runs longer");
        arrivals.give("yard", Stop { at, last: 3 }).blocking_recv().expect("the room runs");
        room.join().expect("the thread ends");
        assert!(!arrivals.is_expected("yard"));
    }

    #[test]
    fn an_expected_room_begins_when_its_owner_has_died() {
        let arrivals = Arc::new(Arrivals::default());
        arrivals.expect("yard");
        arrivals.lock().get_mut("yard").expect("the room is expected").until += Duration::from_secs(3_600);
        let (turn, next) = std::sync::mpsc::channel();
        let room = {
            let arrivals = Arc::clone(&arrivals);
            std::thread::spawn(move || turn.send(arrivals.wait("yard")).expect("the test waits"))
        };
        assert!(arrivals.is_waiting("yard"));
        arrivals.begin_alone("plaza");
        assert!(arrivals.is_waiting("yard"), "another room begins");
        arrivals.begin_alone("yard");
        assert_eq!(next.recv_timeout(Duration::from_secs(60)), Ok(Turn::Begin));
        room.join().expect("the thread ends");
        assert!(!arrivals.is_waiting("yard") && arrivals.last_message("yard").is_none());
        // A room that was given begins by the gift alone.
        drop(arrivals.give("yard", Stop { at: Instant::now(), last: 3 }));
        arrivals.begin_alone("yard");
        assert!(arrivals.is_expected("yard"));
    }

    #[test]
    fn a_second_move_of_a_room_is_refused_with_the_target_of_the_first() {
        let (moves, south) = (Moves::default(), Name::new("south").expect("the name is valid"));
        let first = moves.begin("yard", south).expect("the room stays");
        let refused = moves.begin("yard", Name::new("west").expect("the name is valid")).map(drop);
        assert!(refused.is_err_and(|cause| cause.contains("moving to south already")));
        moves.begin("plaza", south).map(drop).expect("another room stays");
        drop(first);
        moves.begin("yard", south).map(drop).expect("the first move has ended");
    }

    #[test]
    fn a_departing_room_reports_its_clients_and_its_end() {
        let departures = Departures::default();
        let target = Name::new("south").expect("the name is valid");
        let answers = departures.begin("yard", target, "http://south".to_owned());
        departures.announced("yard", 3);
        departures.announced("yard", 4);
        assert_eq!(answers.announced.blocking_recv(), Ok(3));
        assert_eq!(departures.departure("yard").map(|departure| departure.may_stop), Some(false));
        departures.allow_store("yard");
        departures.stored_ahead("yard");
        assert_eq!(answers.stored.blocking_recv(), Ok(()));
        departures.allow_stop("yard", Epoch(7));
        assert_eq!(departures.departure("yard").map(|departure| departure.may_stop), Some(true));
        departures.stopped("yard");
        let departing = departures.take("yard").expect("the room departs");
        assert_eq!(departing.epoch, Some(Epoch(7)));
        assert!(departing.end(Ok((Epoch(7), 12))));
        let left = answers.left.blocking_recv().expect("the end is reported");
        assert_eq!(left.map(|left| (left.epoch, left.last)), Ok((Epoch(7), 12)));
        assert!(!departures.contains("yard"));
    }

    #[test]
    fn the_end_of_a_departure_whose_request_was_given_up_is_not_reported() {
        let departures = Departures::default();
        let target = Name::new("south").expect("the name is valid");
        drop(departures.begin("yard", target, String::new()));
        let departing = departures.take("yard").expect("the room departs");
        assert!(!departing.end(Ok((Epoch(7), 12))));
    }
}
