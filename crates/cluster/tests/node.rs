//! Nodes with a directory that answers at once. Faults are in the simulation (`crates/sim/tests/cluster.rs`).

use std::collections::{BTreeMap, BTreeSet};

use nowcast_cluster::{
    Action, Answer, Claimed, Config, ControlAnswer, ControlRequest, Epoch, Event, Name, Node, Outcome,
    Report, Revision, RoomEntry, RoomLease, Sequence, ServerEntry, ServerPhase, Stored, TakeError, Time,
    Turn,
};

const NORTH: usize = 0;
const SOUTH: usize = 1;

#[derive(Default)]
struct Cluster {
    now: Time,
    nodes: Vec<Node>,
    servers: BTreeMap<Name, (Revision, ServerEntry)>,
    rooms: BTreeMap<Name, (Revision, RoomEntry)>,
    writes: u64,
    /// Whether updates of rooms' entries get no answer.
    is_rooms_down: bool,
    /// The rooms whose threads run or wait.
    open: BTreeSet<(usize, Name)>,
    /// The requests of other servers: the task, and the action that waits for its answer.
    asked: BTreeMap<(usize, u64), (usize, u64)>,
    outcomes: BTreeMap<(usize, u64), Outcome>,
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn yard() -> Name {
    name("yard")
}

impl Cluster {
    fn start() -> Cluster {
        let mut cluster = Cluster { now: Time::from_millis(5), ..Cluster::default() };
        for text in ["north", "south"] {
            let config =
                Config { client_address: format!("http://{text}").into(), ..Config::new(name(text)) };
            cluster.nodes.push(Node::new(cluster.now, config));
        }
        cluster.pass(1_000);
        cluster
    }

    fn write<T>(
        bucket: &mut BTreeMap<Name, (Revision, T)>,
        writes: &mut u64,
        (key, value, replaces): (Name, T, Revision),
    ) -> Stored<Revision> {
        if bucket.get(&key).map_or(Revision(0), |(revision, _)| *revision) != replaces {
            return Stored::Refused;
        }
        *writes += 1;
        bucket.insert(key, (Revision(*writes), value));
        Stored::Yes(Revision(*writes))
    }

    fn carry_out(&mut self, index: usize, number: u64, action: Action) {
        let answer = match action {
            Action::ReadServers => Answer::Servers(Ok(self.servers.values().cloned().collect())),
            Action::ReadServer(key) => Answer::Server(Ok(self.servers.get(&key).cloned())),
            Action::WriteServer(entry, replaces) => {
                let key = entry.id.name;
                Answer::Stored(Self::write(&mut self.servers, &mut self.writes, (key, entry, replaces)))
            }
            Action::ReadRoom(room) => Answer::Room(Ok(self.rooms.get(&room).cloned())),
            Action::WriteRoom(..) if self.is_rooms_down => {
                Answer::Stored(Stored::Unknown("no answer".to_owned()))
            }
            Action::WriteRoom(room, entry, replaces) => {
                Answer::Stored(Self::write(&mut self.rooms, &mut self.writes, (room, entry, replaces)))
            }
            Action::ClaimJournal { .. } => Answer::Claimed(Claimed::Owned),
            Action::LookAtRoom(room) => {
                Answer::RoomState { is_open: self.open.contains(&(index, room)), waiting: 0 }
            }
            Action::OpenRoom(room) => {
                self.open.insert((index, room));
                Answer::Done(Ok(()))
            }
            Action::Prefetch(_) => Answer::Done(Ok(())),
            Action::Ask { server, request, .. } => {
                let other = self.nodes.iter().position(|node| node.config().name == server).unwrap();
                let task = self.nodes[other].request(self.now, request);
                self.asked.insert((other, task), (index, number));
                return;
            }
        };
        self.nodes[index].handle_answer(self.now, number, answer);
    }

    /// Carries out everything that the nodes want now.
    fn run(&mut self) {
        let indices = 0..self.nodes.len();
        loop {
            if let Some((index, event)) =
                indices.clone().find_map(|index| Some((index, self.nodes[index].poll_event()?)))
            {
                self.handle_event(index, event);
            } else if let Some((index, (number, action))) =
                indices.clone().find_map(|index| Some((index, self.nodes[index].poll_action()?)))
            {
                self.carry_out(index, number, action);
            } else {
                return;
            }
        }
    }

    fn handle_event(&mut self, index: usize, event: Event) {
        let Event::Finished(task, outcome) = event else {
            return;
        };
        match (self.asked.remove(&(index, task)), outcome) {
            (Some((source, number)), Outcome::Answered(answer)) => {
                self.nodes[source].handle_answer(self.now, number, Answer::Told(Ok(answer)));
            }
            (_, outcome) => drop(self.outcomes.insert((index, task), outcome)),
        }
    }

    fn pass(&mut self, ms: u64) {
        for _ in 0..ms / 10 {
            self.now = self.now + std::time::Duration::from_millis(10);
            (0..self.nodes.len()).for_each(|index| self.nodes[index].handle_timeout(self.now));
            self.run();
        }
    }

    fn take(&mut self, index: usize) -> Epoch {
        self.try_take(index).unwrap()
    }

    fn try_take(&mut self, index: usize) -> Result<Epoch, TakeError> {
        let task = self.nodes[index].take(self.now, yard());
        self.run();
        let Some(Outcome::Taken(taken)) = self.outcomes.remove(&(index, task)) else { panic!() };
        self.open.insert((index, yard()));
        self.nodes[index].opened(self.now, yard());
        self.run();
        taken
    }

    fn request(&mut self, index: usize, request: ControlRequest) -> u64 {
        let task = self.nodes[index].request(self.now, request);
        self.run();
        task
    }

    fn answer(&self, index: usize, task: u64) -> Option<Result<String, String>> {
        match self.outcomes.get(&(index, task)) {
            Some(Outcome::Answered(answer)) => Some(ControlAnswer::clone(answer).into_result()),
            _ => None,
        }
    }

    /// Moves the room from north to south, until the source may stop it.
    fn move_until_stop(&mut self) -> u64 {
        let task = self.request(NORTH, ControlRequest::Move { room: yard(), target: name("south") });
        assert_eq!(self.nodes[NORTH].lease(self.now, yard(), true), RoomLease::Leaving);
        self.nodes[NORTH].report(self.now, yard(), Report::Announced(0));
        self.nodes[NORTH].report(self.now, yard(), Report::StoredAhead);
        self.run();
        assert_eq!(self.nodes[SOUTH].turn(self.now, yard()), Turn::Follow);
        self.nodes[SOUTH].report(self.now, yard(), Report::Followed);
        self.run();
        assert!(self.nodes[NORTH].departure(yard()).is_some_and(|departure| departure.may_stop));
        task
    }

    fn stop(&mut self) {
        self.nodes[NORTH].report(self.now, yard(), Report::Stopped);
        assert_eq!(self.nodes[NORTH].release(self.now, yard(), Some(Sequence(7))), None);
        self.open.remove(&(NORTH, yard()));
        self.run();
    }

    fn entry(&self) -> &RoomEntry {
        &self.rooms[&yard()].1
    }
}

#[test]
fn a_room_that_stopped_goes_to_its_target_and_the_directory_follows() {
    let mut cluster = Cluster::start();
    assert_eq!(cluster.take(NORTH), Epoch(1));
    let task = cluster.move_until_stop();
    assert_eq!(
        (cluster.entry().owner.name, cluster.entry().target.unwrap().epoch),
        (name("north"), Epoch(2))
    );
    cluster.stop();
    assert_eq!(cluster.nodes[SOUTH].turn(cluster.now, yard()), Turn::Begin);
    assert_eq!(cluster.take(SOUTH), Epoch(2));
    let text = cluster.answer(NORTH, task).unwrap().unwrap();
    assert!(text.contains("moved from north to south"), "{text}");
    assert_eq!((cluster.entry().owner.name, cluster.entry().target), (name("south"), None));
    assert_eq!(cluster.nodes[NORTH].lease(cluster.now, yard(), true), RoomLease::Lost);
}

#[test]
fn a_second_move_of_a_room_is_refused_with_the_target_of_the_first() {
    let mut cluster = Cluster::start();
    cluster.take(NORTH);
    let first = cluster.move_until_stop();
    let second = cluster.request(NORTH, ControlRequest::Move { room: yard(), target: name("south") });
    let cause = cluster.answer(NORTH, second).unwrap().unwrap_err();
    assert!(cause.contains("moving to south already") && cluster.answer(NORTH, first).is_none(), "{cause}");
}

#[test]
fn a_drain_waits_for_a_room_that_is_moving_already() {
    let mut cluster = Cluster::start();
    cluster.take(NORTH);
    let _ = cluster.move_until_stop();
    let drain = cluster.request(NORTH, ControlRequest::Drain);
    cluster.pass(500);
    assert_eq!(cluster.answer(NORTH, drain), None);
    cluster.stop();
    cluster.take(SOUTH);
    cluster.pass(200);
    let text = cluster.answer(NORTH, drain).unwrap().unwrap();
    assert!(text.contains("north is drained"), "{text}");
}

#[test]
fn a_source_that_gives_up_keeps_the_room_and_the_target_waits_no_longer() {
    let mut cluster = Cluster::start();
    cluster.take(NORTH);
    let task = cluster.move_until_stop();
    assert!(matches!(cluster.nodes[SOUTH].turn(cluster.now, yard()), Turn::Wait(_)));
    cluster.nodes[NORTH].report(cluster.now, yard(), Report::Stays);
    cluster.run();
    assert!(cluster.answer(NORTH, task).unwrap().unwrap_err().contains("so it stays"));
    assert_eq!(cluster.nodes[SOUTH].turn(cluster.now, yard()), Turn::Begin);
    assert_eq!((cluster.entry().owner.name, cluster.entry().target), (name("north"), None));
    assert_eq!(cluster.nodes[NORTH].lease(cluster.now, yard(), true), RoomLease::Held);
}

#[test]
fn a_late_correction_of_a_move_spares_the_target_of_the_next_move() {
    let mut cluster = Cluster::start();
    cluster.take(NORTH);
    cluster.is_rooms_down = true;
    let first = cluster.request(NORTH, ControlRequest::Move { room: yard(), target: name("south") });
    cluster.nodes[NORTH].report(cluster.now, yard(), Report::Announced(0));
    cluster.nodes[NORTH].report(cluster.now, yard(), Report::StoredAhead);
    cluster.pass(3_000);
    assert!(cluster.answer(NORTH, first).unwrap().unwrap_err().contains("cannot name the target"));
    cluster.is_rooms_down = false;
    let second = cluster.move_until_stop();
    // The correction of the first move is due.
    cluster.pass(3_000);
    assert!(cluster.entry().target.is_some(), "{:?}", cluster.entry());
    cluster.stop();
    cluster.take(SOUTH);
    assert!(cluster.answer(NORTH, second).unwrap().is_ok());
    cluster.pass(3_000);
    assert_eq!((cluster.entry().owner.name, cluster.entry().target), (name("south"), None));
}

/// The process of the target was stopped for longer than its lease, and another server ended its life.
#[test]
fn the_next_life_of_a_target_does_not_use_the_epoch_of_the_former() {
    let mut cluster = Cluster::start();
    cluster.take(NORTH);
    cluster.move_until_stop();
    let (revision, entry) = cluster.servers[&name("south")].clone();
    let dead = ServerEntry { phase: ServerPhase::Dead, ..entry };
    Cluster::write(&mut cluster.servers, &mut cluster.writes, (name("south"), dead, revision));
    cluster.stop();
    cluster.pass(1_000);
    let north = cluster.nodes[NORTH].id();
    assert_eq!(cluster.nodes[SOUTH].id().incarnation, 2);
    assert_eq!(cluster.try_take(SOUTH), Err(TakeError::Elsewhere(north)));
    // The source knows now that the room does not run, and has corrected the directory.
    assert_eq!(cluster.take(SOUTH), Epoch(3));
}

/// The process of the source was stopped for longer than its lease, and another server ended its life.
#[test]
fn a_move_ends_when_its_server_has_lost_the_room_and_takes_it_again() {
    let mut cluster = Cluster::start();
    cluster.take(NORTH);
    let task = cluster.move_until_stop();
    let (revision, entry) = cluster.servers[&name("north")].clone();
    let dead = ServerEntry { phase: ServerPhase::Dead, ..entry };
    Cluster::write(&mut cluster.servers, &mut cluster.writes, (name("north"), dead, revision));
    cluster.pass(1_000);
    assert_eq!(cluster.nodes[NORTH].lease(cluster.now, yard(), true), RoomLease::Lost);
    // The owner died, so the target may not wait for it.
    cluster.nodes[SOUTH].expect_no_rooms();
    assert_eq!(cluster.take(SOUTH), Epoch(3));
    cluster.nodes[SOUTH].release(cluster.now, yard(), None);
    cluster.run();
    assert_eq!(cluster.take(NORTH), Epoch(4));
    assert_eq!(cluster.nodes[NORTH].lease(cluster.now, yard(), true), RoomLease::Held);
    cluster.pass(200);
    assert!(cluster.answer(NORTH, task).unwrap().is_err());
}

#[test]
fn a_room_is_released_when_the_directory_answers_again() {
    let mut cluster = Cluster::start();
    cluster.take(NORTH);
    cluster.is_rooms_down = true;
    let released = cluster.nodes[NORTH].release(cluster.now, yard(), None).unwrap();
    cluster.run();
    // The end of the room does not wait longer.
    assert!(matches!(cluster.outcomes[&(NORTH, released)], Outcome::Changed(Err(_))));
    cluster.is_rooms_down = false;
    assert!(!cluster.entry().is_released);
    cluster.pass(1_000);
    assert!(cluster.entry().is_released);
}

#[test]
fn a_target_may_release_its_room_and_a_late_release_spares_the_next_epoch() {
    let mut cluster = Cluster::start();
    cluster.take(NORTH);
    cluster.move_until_stop();
    cluster.stop();
    cluster.take(SOUTH);
    // The room begins again on the same server before the directory shows its release.
    cluster.nodes[SOUTH].release(cluster.now, yard(), None);
    let retaken = cluster.nodes[SOUTH].take(cluster.now, yard());
    cluster.run();
    assert_eq!(cluster.outcomes[&(SOUTH, retaken)], Outcome::Taken(Ok(Epoch(3))));
    assert!(!cluster.entry().is_released, "{:?}", cluster.entry());
    cluster.nodes[SOUTH].release(cluster.now, yard(), None);
    cluster.run();
    assert!(cluster.entry().is_released);
}
