//! One server of a cluster: its lease, its rooms, and everything that it decides about them.
//!
//! | file | contents |
//! | --- | --- |
//! | `io.rs` | what the node asks for, and what it is told |
//! | `life.rs` | the server's entry in the directory, and the reads of the others' entries |
//! | `take.rs` | a room that this server takes |
//! | `entry_change.rs` | a change of a room's entry: release, target, owner |
//! | `locate.rs` | the server for a client |
//! | `departure.rs` | a room that moves away, and drains |
//! | `arrival.rs` | a room that comes here |

mod arrival;
mod departure;
mod entry_change;
mod io;
mod life;
mod locate;
mod take;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::config::Config;
use crate::control::ControlRequest;
use crate::entry::{Load, ServerEntry, ServerPhase};
use crate::leases::Leases;
use crate::name::{Epoch, Name, Revision, Sequence, ServerId};
use crate::placement;
use crate::time::Time;
use arrival::{Arrival, Arriving, Watch};
use departure::{Departing, Drain, Move};
use entry_change::{EntryChange, Goal};
pub use io::{Action, Answer, Claimed, Departure, Event, Outcome, Report, RoomLease, TakeError, Turn};
use io::{Input, Signal};
use life::Life;
use locate::Locate;
use take::Take;

/// One server of a cluster.
///
/// # Order of calls
/// Call [`handle_timeout`](Node::handle_timeout) when [`poll_timeout`](Node::poll_timeout) is due. After each call that takes a
/// time, poll actions and events until there are none. Carry out each action, and pass its answer back exactly once, within some
/// seconds.
#[derive(Debug)]
pub struct Node {
    config: Config,
    life: Life,
    leases: Leases,
    /// The time of the next read of all servers' entries; `None` while one is under way, or before the server is a member.
    look_at: Option<Time>,
    /// The rooms that this server owns, with their epochs.
    owned: BTreeMap<Name, Epoch>,
    /// The revisions of this server's last updates of rooms' entries.
    entries: BTreeMap<Name, Revision>,
    departures: BTreeMap<Name, Departing>,
    arrivals: BTreeMap<Name, Arrival>,
    tasks: BTreeMap<u64, (Task, Work)>,
    inbox: VecDeque<(u64, Input)>,
    last_number: u64,
    purposes: BTreeMap<u64, Purpose>,
    actions: VecDeque<(u64, Action)>,
    events: VecDeque<Event>,
}

/// Something that takes several steps. It has at most one action under way.
#[derive(Debug)]
struct Task {
    id: u64,
    /// The task that gets the outcome.
    parent: Option<u64>,
    wake_at: Option<Time>,
    /// The action whose answer continues the task.
    awaits: Option<u64>,
}

#[derive(Debug)]
enum Work {
    Take(Take),
    Change(EntryChange),
    Locate(Locate),
    Move(Box<Move>),
    Drain(Drain),
    Arrive(Arriving),
    Watch(Watch),
}

/// The receiver of an answer.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    Life,
    Look { began: Time },
    Task(u64),
}

impl Node {
    /// Begins to join the cluster.
    #[must_use]
    pub fn new(now: Time, config: Config) -> Node {
        Node {
            life: Life::new(now, config.name),
            leases: Leases::new(config.clone(), now),
            config,
            look_at: None,
            owned: BTreeMap::new(),
            entries: BTreeMap::new(),
            departures: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            tasks: BTreeMap::new(),
            inbox: VecDeque::new(),
            last_number: 0,
            purposes: BTreeMap::new(),
            actions: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The ID of this start. If another server ended this start's life, the server joins again with a new ID. Before the server
    /// has joined, the number of the start is 0.
    #[must_use]
    pub fn id(&self) -> ServerId {
        self.life.id
    }

    /// Whether the lease covers a moment.
    #[must_use]
    pub fn has_lease(&self, now: Time) -> bool {
        self.leases.covers(now)
    }

    /// Whether this server may step a room now. `has_journal` says whether the journal has refused no append of this server.
    #[must_use]
    pub fn lease(&self, now: Time, room: Name, has_journal: bool) -> RoomLease {
        if !has_journal || !self.owned.contains_key(&room) {
            RoomLease::Lost
        } else if !self.has_lease(now) {
            RoomLease::Waiting
        } else if self.departure(room).is_some() {
            RoomLease::Leaving
        } else {
            RoomLease::Held
        }
    }

    /// The rooms that this server owns.
    pub fn owned(&self) -> impl Iterator<Item = Name> + '_ {
        self.owned.keys().copied()
    }

    /// The epoch in which this server owns a room.
    #[must_use]
    pub fn epoch(&self, room: Name) -> Option<Epoch> {
        self.owned.get(&room).copied()
    }

    /// The addresses of the other servers that may be alive, for clients whose server does not answer.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.leases.living().filter(|entry| entry.id != self.id()).map(|entry| &*entry.client_address)
    }

    /// The addresses of all other servers in the directory, including those that have ended.
    pub fn known_addresses(&self) -> impl Iterator<Item = &str> {
        let others = self.leases.servers().filter(|entry| entry.id.name != self.config.name);
        others.map(|entry| &*entry.client_address)
    }

    /// Sets the load that the next renewal writes into the directory.
    pub fn set_load(&mut self, load: Load) {
        self.life.load = load;
    }

    /// Chooses a living server for a room: the less loaded of two candidates. All servers choose the same server while they see
    /// the same loads.
    fn choose(&self, room: Name) -> Option<&ServerEntry> {
        // This server's entry shows the phase only after the next renewal.
        let takes_none = self.life.phase_to_show() != ServerPhase::Serving;
        let living = || self.leases.living().filter(|entry| !(takes_none && entry.id == self.id()));
        let chosen =
            placement::choose(living(), &self.config.required_tags(room), placement::number_of(room))?;
        living().find(|entry| entry.id == chosen)
    }

    /// Returns the next action, with the number under which its answer is passed back.
    pub fn poll_action(&mut self) -> Option<(u64, Action)> {
        self.actions.pop_front()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The time at which [`handle_timeout`](Node::handle_timeout) must be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let tasks = self.tasks.values().filter_map(|(task, _)| task.wake_at);
        tasks.chain(self.life.next_at).chain(self.look_at).min()
    }

    /// Does everything that is due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.continue_life(now);
        if self.look_at.is_some_and(|at| at <= now) {
            self.look_at = None;
            self.act(Purpose::Look { began: now }, Action::ReadServers);
        }
        let due = self.tasks.values_mut().filter(|(task, _)| task.wake_at.is_some_and(|at| at <= now));
        for (task, _) in due {
            task.wake_at = None;
            self.inbox.push_back((task.id, Input::Timeout));
        }
        self.advance(now);
    }

    /// Handles the answer to an action.
    pub fn handle_answer(&mut self, now: Time, action: u64, answer: Answer) {
        match self.purposes.remove(&action) {
            Some(Purpose::Life) => self.handle_own(now, answer),
            Some(Purpose::Look { began }) => self.handle_look(now, began, answer),
            Some(Purpose::Task(id)) => {
                // A task that went on without the answer does not need it any more.
                let awaits = self.tasks.get_mut(&id).map(|(task, _)| &mut task.awaits);
                if awaits.is_some_and(|awaits| awaits.take_if(|awaited| *awaited == action).is_some()) {
                    self.inbox.push_back((id, Input::Answer(answer)));
                }
            }
            None => {}
        }
        self.advance(now);
    }

    /// Begins to take a room. The outcome is [`Outcome::Taken`].
    pub fn take(&mut self, now: Time, room: Name) -> u64 {
        let until = now + self.config.times.take;
        self.begin_and_advance(now, Work::Take(Take::new(room, until)))
    }

    /// Gives up a room that has ended or stopped, and whose world is stored. If it moves, the target gets it: `last` is the last
    /// sequence of its journal. Otherwise any server may take it at once. Returns the task whose end shows that in the directory.
    pub fn release(&mut self, now: Time, room: Name, last: Option<Sequence>) -> Option<u64> {
        let is_moving = self.departure(room).is_some();
        if is_moving && let Some(last) = last.filter(|_| self.may_stop(room)) {
            self.signal(now, room, Signal::Left(last));
            return None;
        }
        let released = self.give_back(room);
        self.forget_arrival(room);
        if is_moving {
            self.signal(now, room, Signal::Ended);
        }
        self.advance(now);
        released
    }

    /// Ends the ownership of a room, and begins to show that in the directory.
    fn give_back(&mut self, room: Name) -> Option<u64> {
        let epoch = self.owned.remove(&room)?;
        Some(self.begin(None, Work::Change(EntryChange::new(room, Goal::Release(epoch)))))
    }

    /// Looks for the server of a room. The outcome is [`Outcome::Located`].
    pub fn locate(&mut self, now: Time, room: Name) -> u64 {
        self.begin_and_advance(now, Work::Locate(Locate { room }))
    }

    /// Carries out a request by another server or the operator. The outcome is [`Outcome::Answered`].
    pub fn request(&mut self, now: Time, request: ControlRequest) -> u64 {
        let work = match request {
            ControlRequest::Move { room, target } => Work::Move(Box::new(Move::new(room, target))),
            ControlRequest::Drain => Work::Drain(Drain::default()),
            other => Work::Arrive(Arriving::new(other)),
        };
        self.begin_and_advance(now, work)
    }

    /// Ends this server's life, so that others may take its rooms at once. The outcome is [`Outcome::Left`].
    pub fn leave(&mut self, now: Time) -> u64 {
        self.last_number += 1;
        self.end_life(now, self.last_number);
        self.last_number
    }

    fn begin_and_advance(&mut self, now: Time, work: Work) -> u64 {
        let id = self.begin(None, work);
        self.advance(now);
        id
    }

    /// Begins a task.
    fn begin(&mut self, parent: Option<u64>, work: Work) -> u64 {
        self.last_number += 1;
        let task = Task { id: self.last_number, parent, wake_at: None, awaits: None };
        self.inbox.push_back((task.id, Input::Begin));
        self.tasks.insert(task.id, (task, work));
        self.last_number
    }

    fn act(&mut self, purpose: Purpose, action: Action) -> u64 {
        self.last_number += 1;
        self.purposes.insert(self.last_number, purpose);
        self.actions.push_back((self.last_number, action));
        self.last_number
    }

    /// Sends an action whose answer continues a task.
    fn act_for(&mut self, task: &mut Task, action: Action) {
        task.awaits = Some(self.act(Purpose::Task(task.id), action));
    }

    /// Continues all tasks that have something to do.
    fn advance(&mut self, now: Time) {
        while let Some((id, input)) = self.inbox.pop_front() {
            let Some((mut task, mut work)) = self.tasks.remove(&id) else { continue };
            let outcome = match &mut work {
                Work::Take(take) => self.step_take(now, &mut task, take, input),
                Work::Change(change) => self.step_change(now, &mut task, change, input),
                Work::Locate(locate) => self.step_locate(now, &mut task, locate, input),
                Work::Move(moving) => self.step_move(now, &mut task, moving, input),
                Work::Drain(drain) => self.step_drain(now, &mut task, drain, input),
                Work::Arrive(arriving) => self.step_arriving(now, &mut task, arriving, input),
                Work::Watch(watch) => self.step_watch(now, &mut task, watch, input),
            };
            match (outcome, task.parent) {
                (None, _) => drop(self.tasks.insert(id, (task, work))),
                (Some(outcome), Some(parent)) => self.inbox.push_back((parent, Input::Child(outcome))),
                (Some(outcome), None) => self.events.push_back(Event::Finished(id, outcome)),
            }
        }
    }
}

/// Pause between two looks at something that changes without a message.
const LOOK: Duration = Duration::from_millis(100);
