//! Numbered actions, which are answered. Durable ones happen once, and are answered when the store has committed them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use nowcast_limits::Addresses;
use nowcast_store::{ActionId, Completion, Lost};
use nowcast_world::{ApplyError, Command, PlayerId, Refusal, Value};
use nowcast_world_protocol::plain::DecodeError;

use super::Room;
use super::context::RoomContext;
use super::members::Members;
use super::publishing::SteppedRoom;
use super::replicated_state::Changes;
use super::world_events::WorldEvent;
use crate::client_handle::ClientHandle;
use crate::client_key::ClientKey;
use crate::client_sink::{ClientEvent, StepChanges};
use crate::closing::Closing;
use crate::player_command::Numbered;
use crate::recorded_world::RecordedWorld;

/// The answer to an action in a world that is not recorded.
const NOT_KEPT: &str = "this room's world is not stored, because the store has reached its limit of worlds: it was not carried out";

/// The answer to an action while the store's files are gone.
fn store_is_gone(cause: &str) -> String {
    format!("the server cannot keep it ({cause}): it was not carried out")
}

/// The text for a client whose action was applied but could not be stored.
const LOST: &str =
    "it was carried out, but the server could not keep it: it may be undone when the server ends";

/// The answer to a numbered action over the rate.
const TOO_OFTEN: &str = "too many actions at once: it was not carried out, try again in a moment";

/// The answer to the first durable action of a client when the maximum number of remembered clients acted within the
/// last day.
const TOO_MANY_CLIENTS: &str =
    "too many clients did such actions within a day: it was not carried out, try again later";

/// The answer to the first durable action of a client from an address with many such clients.
const NEWCOMERS: &str =
    "too many new clients of this address do such actions: it was not carried out, try again in a minute";

/// The burst of first durable actions by clients of one address, and their rate per second after the burst. They allow about
/// 3,100 clients a day, so one address cannot fill the memory for 16,384 clients. If an address may have more players in a room,
/// the burst is as large.
const NEWCOMERS_BURST: usize = 256;
const NEWCOMERS_HZ: f64 = 1.0 / 30.0;

/// Half the number of addresses whose new clients are counted.
const ADDRESSES_MAX: usize = 2_048;

/// The answer to an action for which the world had no space in its step.
const BACKLOG: &str = "the world has too much to do: it was not carried out, try again in a moment";

/// Maximum number of events of durable actions that wait for the store. Further events are dropped while a disk is
/// slow.
const UNSENT_MAX: usize = 4_096;

/// Events that wait until the store has committed them.
pub(super) struct Durable {
    committed: Receiver<Committed>,
    completions: Sender<Committed>,
    /// Committed actions behind committed events. The next step sends the events first.
    held: VecDeque<Committed>,
    /// Events of durable actions with the numbers of their commits, oldest first.
    unsent: VecDeque<(u64, WorldEvent)>,
    last: u64,
    /// The rates of clients' first durable actions, by address.
    newcomers: Addresses,
    /// Durable actions of this step.
    acted: Vec<Waiting>,
    /// The numbered actions of this step that no earlier step carried out, in their order. Durable ones have an id.
    firsts: Vec<(PlayerId, String, u32, Option<ActionId>)>,
    /// Actions that the store has committed, or lost, since the last step, and those of this step that are not durable.
    confirmed: Vec<Confirmed>,
}

/// An answer, and whether the store committed it.
type Committed = (Waiting, Result<(), Lost>);

/// An answer that waits for the store.
enum Waiting {
    Action {
        player: PlayerId,
        action: String,
        number: u32,
    },
    /// All events with numbers up to this one.
    Events(u64),
}

/// Creates the rates of clients' first durable actions, by address.
fn newcomers(players_per_address_max: usize) -> Addresses {
    Addresses::new(ADDRESSES_MAX, NEWCOMERS_BURST.max(players_per_address_max), NEWCOMERS_HZ)
}

impl Durable {
    pub(super) fn new(players_per_address_max: usize) -> Self {
        let (completions, committed) = channel();
        Self {
            committed,
            completions,
            held: VecDeque::new(),
            unsent: VecDeque::new(),
            last: 0,
            newcomers: newcomers(players_per_address_max),
            acted: Vec::new(),
            firsts: Vec::new(),
            confirmed: Vec::new(),
        }
    }

    /// Answers an action that is not durable, after the events of this step.
    pub(super) fn carried_out(&mut self, player: PlayerId, action: String, number: u32) {
        self.confirmed.push((player, action, number, Ok(())));
    }

    /// Waits until the next step is due, and answers the actions that the store commits in the meantime.
    pub(super) fn wait_until(&mut self, due: Instant, context: &RoomContext, members: &Members) {
        while let Ok(committed) = self.committed.recv_timeout(due.saturating_duration_since(Instant::now())) {
            match committed {
                (Waiting::Action { player, action, number }, outcome) if self.held.is_empty() => {
                    answer(context, members, (player, action, number, outcome));
                }
                committed => self.held.push_back(committed),
            }
        }
    }

    /// Returns the callback for the store. The callback never waits.
    fn completion(&self, waiting: Waiting) -> Completion {
        let completions = self.completions.clone();
        // The room may have ended.
        Box::new(move |outcome| drop(completions.send((waiting, outcome))))
    }
}

impl Room {
    /// Carries out an action of a client, and answers it by its number.
    pub(super) fn act_numbered(
        &mut self,
        client: &ClientHandle,
        player: PlayerId,
        numbered: Numbered,
        action: String,
        arguments: Value,
    ) {
        let definition = self.world.world().scene().definition();
        let is_durable = definition.action(&action).is_some_and(|declared| declared.durable);
        match client.key {
            Some(key) if is_durable => self.act_once(player, key, numbered, action, arguments),
            None if is_durable => {
                let cause = "a durable action has a number, but the client joined with no key";
                client.close(Closing::Malformed(DecodeError::Syntax(cause.into())));
            }
            _ => self.act(client, player, numbered, action, arguments),
        }
    }

    /// Carries out an action that is not durable.
    fn act(
        &mut self,
        client: &ClientHandle,
        player: PlayerId,
        Numbered { number, is_over_rate }: Numbered,
        action: String,
        arguments: Value,
    ) {
        if is_over_rate {
            return client.refuse(&action, TOO_OFTEN, Some(number));
        }
        if let Err(refusal) = self.world.world().scene().definition().judge(&action, &arguments) {
            return self.members.refuse(&self.context, player, &refusal, Some(number));
        }
        let command = Command::Action { player, name: action.clone(), arguments };
        if self.context.count(self.world.apply(command)) {
            self.durable.firsts.push((player, action.clone(), number, None));
            self.durable.carried_out(player, action, number);
        } else {
            client.refuse(&action, BACKLOG, Some(number));
        }
    }

    /// Carries out a durable action once, however often the client repeats it.
    fn act_once(
        &mut self,
        player: PlayerId,
        key: ClientKey,
        Numbered { number, is_over_rate }: Numbered,
        action: String,
        arguments: Value,
    ) {
        let id = ActionId { client: key.0, number: number.into() };
        let metrics = Arc::clone(&self.context.rooms.metrics);
        if self.world.once().contains(id) {
            metrics.count_durable("again");
        } else if is_over_rate {
            return self.refuse_numbered(player, &action, TOO_OFTEN, number);
        } else {
            let judged = self.may_act(&action, &arguments).and_then(|()| self.may_begin(player, key));
            if let Err(reason) = judged {
                return self.refuse_numbered(player, &action, &reason, number);
            }
            let command = Command::Action { player, name: action.clone(), arguments };
            match self.world.apply_once(id, command) {
                Ok(()) => {
                    metrics.count_durable("first");
                    self.durable.firsts.push((player, action.clone(), number, Some(id)));
                }
                Err(ApplyError::Full { .. } | ApplyError::Input(_) | ApplyError::Pose) => {
                    metrics.drop_message("world_backlog");
                    return self.refuse_numbered(player, &action, BACKLOG, number);
                }
            }
        }
        self.durable.acted.push(Waiting::Action { player, action, number });
    }

    /// Whether the world would accept an action. A refused action is not recorded as done, so the client may retry it.
    fn may_act(&self, action: &str, arguments: &Value) -> Result<(), String> {
        if self.context.rooms.persistence.store().is_some() && !self.world.is_recorded() {
            return Err(NOT_KEPT.into());
        }
        if let Some(cause) = self.context.rooms.persistence.gone() {
            return Err(store_is_gone(&cause));
        }
        self.world
            .world()
            .scene()
            .definition()
            .judge(action, arguments)
            .map_err(|refusal| refusal.to_string())
    }

    /// Whether a client may do its first durable action. The room remembers the client for a day. Without a limit, new
    /// clients would soon displace clients that may still retry an action.
    fn may_begin(&mut self, player: PlayerId, key: ClientKey) -> Result<(), String> {
        let once = self.world.once();
        if once.knows(key.0) {
            return Ok(());
        }
        if !once.has_room(key.0, self.world.world().tick()) {
            return Err(TOO_MANY_CLIENTS.into());
        }
        let address = self.members.find(player).and_then(|member| member.client.address);
        let is_within =
            address.is_none_or(|address| self.durable.newcomers.attempt(address, Instant::now()).is_ok());
        if is_within { Ok(()) } else { Err(NEWCOMERS.into()) }
    }

    /// Refuses the numbered actions of this step for which the rules had no work left. The numbers of durable ones are not stored,
    /// so the clients may retry them. Returns the other refusals.
    pub(super) fn refuse_skipped(&mut self, refused: Vec<(PlayerId, Refusal)>) -> Vec<(PlayerId, Refusal)> {
        let mut firsts = std::mem::take(&mut self.durable.firsts);
        let mut others = Vec::new();
        // Once the work of a step is used up, every later action is skipped. So the newest one of a name is refused first.
        for (player, refusal) in refused.into_iter().rev() {
            let skipped = match &refusal {
                Refusal::NoWorkLeft { action } => {
                    firsts.iter().rposition(|(by, name, ..)| (*by, name) == (player, action))
                }
                _ => None,
            };
            let Some(skipped) = skipped else {
                others.push((player, refusal));
                continue;
            };
            let (_, action, number, id) = firsts.remove(skipped);
            let Some(id) = id else {
                self.durable.confirmed.retain(|(by, _, of, _)| (*by, *of) != (player, number));
                self.members.refuse(&self.context, player, &refusal, Some(number));
                continue;
            };
            self.world.take_back(id);
            // A client repeats an action without an answer, also within a step.
            let is_it = |waiting: &Waiting| {
                matches!(waiting, Waiting::Action { player: by, number, .. }
                    if *by == player && u64::from(*number) == id.number)
            };
            self.durable.acted.retain(|waiting| !is_it(waiting));
            self.refuse_numbered(player, &action, &refusal.to_string(), number);
        }
        others.reverse();
        others
    }

    fn refuse_numbered(&self, player: PlayerId, action: &str, reason: &str, number: u32) {
        self.context.rooms.metrics.count_durable("refused");
        if let Some(member) = self.members.find(player) {
            member.client.refuse(action, reason, Some(number));
        }
    }

    /// Sends the events and the answers of the actions that the store has committed since the last step, because no step follows.
    pub(super) fn confirm_last(&mut self) {
        let world_events = self.hold_back(Vec::new());
        self.publish_events(&world_events);
        let Self { context, world, members, publishing, durable, tick, .. } = self;
        let room = SteppedRoom { context, world: world.world(), tick: *tick };
        let changes = Changes::default();
        let step = StepChanges { changes: &changes, world_events: &world_events, is_redefined: false };
        publishing.send_changes(room, members, &step);
        durable.confirm(context, members);
    }

    /// Holds back the events of durable actions until the store has committed them.
    pub(super) fn hold_back(&mut self, world_events: Vec<WorldEvent>) -> Vec<WorldEvent> {
        let Self { context, world, durable, .. } = self;
        durable.hold_back(context, world, world_events)
    }
}

impl Durable {
    /// Delays durable events until the store has committed them. Returns the other events, together with the events whose
    /// delay is over. Call it before the step is recorded.
    fn hold_back(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        world_events: Vec<WorldEvent>,
    ) -> Vec<WorldEvent> {
        let (durable, mut now): (Vec<_>, Vec<_>) = world_events.into_iter().partition(WorldEvent::is_durable);
        let held = std::mem::take(&mut self.held).into_iter();
        for (waiting, outcome) in held.chain(self.committed.try_iter()) {
            match waiting {
                // Events that cannot be stored are sent too, because they took effect in this room.
                Waiting::Events(last) => {
                    while self.unsent.front().is_some_and(|(number, _)| *number <= last) {
                        now.extend(self.unsent.pop_front().map(|(_, event)| event));
                    }
                }
                Waiting::Action { player, action, number } => {
                    self.confirmed.push((player, action, number, outcome))
                }
            }
        }
        if !durable.is_empty() && world.is_recorded() {
            self.last += 1;
            let number = self.last;
            let room = UNSENT_MAX - self.unsent.len();
            for _ in room..durable.len() {
                context.rooms.metrics.count_durable("untold");
            }
            self.unsent.extend(durable.into_iter().take(room).map(|event| (number, event)));
            world.when_kept(self.completion(Waiting::Events(number)));
        } else {
            now.extend(durable);
        }
        // Registered after the events, so that a client receives the events of an action before its confirmation.
        for waiting in std::mem::take(&mut self.acted) {
            world.when_kept(self.completion(waiting));
        }
        now
    }

    /// Answers the actions that are carried out, committed or lost, after their events.
    pub(super) fn confirm(&mut self, context: &RoomContext, members: &Members) {
        for confirmed in std::mem::take(&mut self.confirmed) {
            answer(context, members, confirmed);
        }
    }
}

/// Answers an action that is committed or lost.
fn answer(context: &RoomContext, members: &Members, (player, action, number, outcome): Confirmed) {
    let Some(member) = members.find(player) else { return };
    match outcome {
        Ok(()) => member.client.sink().send(ClientEvent::ActionDone { number }),
        Err(Lost) => {
            context.rooms.metrics.count_durable("lost");
            member.client.refuse(&action, LOST, Some(number));
        }
    }
}

/// A numbered action of a player, and whether the store committed it.
type Confirmed = (PlayerId, String, u32, Result<(), Lost>);

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use nowcast_store::CLIENTS_MAX;

    use super::*;

    #[test]
    fn newcomers_of_one_address_cannot_fill_the_memory_of_clients_within_a_day() {
        let mut newcomers = newcomers(64);
        let (greedy, other) = (IpAddr::from([203, 0, 113, 1]), IpAddr::from([203, 0, 113, 2]));
        let start = Instant::now();
        let day = (0..24 * 3_600).map(|second| start + Duration::from_secs(second));
        // Ten tries a second, all day long.
        let begun = day.flat_map(|at| [at; 10]).filter(|at| newcomers.attempt(greedy, *at).is_ok()).count();
        assert!((NEWCOMERS_BURST..CLIENTS_MAX / 4).contains(&begun), "{begun}");
        assert!(newcomers.attempt(other, start + Duration::from_secs(24 * 3_600)).is_ok());
    }

    #[test]
    fn all_players_that_one_address_may_have_can_begin_durable_actions_at_once() {
        let (address, start) = (IpAddr::from([203, 0, 113, 1]), Instant::now());
        let mut newcomers = newcomers(1_000);
        assert_eq!((0..2_000).filter(|_| newcomers.attempt(address, start).is_ok()).count(), 1_000);
    }
}
