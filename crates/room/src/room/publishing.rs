//! Transmission of a room's steps to its clients: the state that clients have, and its encodings.

use nowcast_replication::InterestGrid;
use nowcast_script::Assets;
use nowcast_world::{PlayerId, World};

use super::context::RoomContext;
use super::members::{Member, Members, Newcomer};
use super::replicated_state::{Changes, ReplicatedState};
use super::rounds::{Crowd, Rounds, StepRounds};
use super::world_events::{Audience, WorldEvent};
use crate::client_sink::{ClientEvent, Greeting, RoomView, SharedEncodings, StepChanges};
use crate::dictionary::Dictionary;
use crate::recorded_world::RecordedWorld;

/// The state that the clients of a room have, and its encodings.
pub(super) struct Publishing {
    pub(super) dictionary: Dictionary,
    pub(super) replicated: ReplicatedState,
    /// The sections of space with their entities.
    interest_grid: InterestGrid,
    /// Encodings that clients of one protocol share while the room exists.
    of_room: SharedEncodings,
    /// Encodings of this step that clients of one protocol share.
    of_step: SharedEncodings,
    rounds: Rounds,
    /// The rounds of the newest step.
    step_rounds: StepRounds,
}

/// A room after a step.
#[derive(Clone, Copy)]
pub(super) struct SteppedRoom<'r> {
    pub(super) context: &'r RoomContext,
    pub(super) world: &'r World,
    /// Steps since the room opened.
    pub(super) tick: u64,
}

impl Publishing {
    pub(super) fn new(dictionary: Dictionary) -> Self {
        let (replicated, interest_grid, of_room, of_step, rounds, step_rounds) = Default::default();
        Self { dictionary, replicated, interest_grid, of_room, of_step, rounds, step_rounds }
    }

    /// Sends the definition and the assets again.
    pub(super) fn redefine(&mut self, world: &RecordedWorld, assets: &Assets) {
        self.dictionary = Dictionary::new(world.world().scene().definition(), assets, world.version());
    }

    /// Returns the changes of the world since the last call. Reads the positions for the grid of interest only in the steps of
    /// rounds, and if entities came, changed or went: clients look around in rounds.
    pub(super) fn collect_changes(
        &mut self,
        world: &World,
        tick: u64,
        members: &Members,
        has_newcomers: bool,
    ) -> Changes {
        let Self { dictionary, replicated, interest_grid, rounds, step_rounds, .. } = self;
        let changes = replicated.update(world, dictionary);
        *step_rounds = rounds.step(tick, |is_due| Crowd::of(members, is_due));
        let has_grid = |member: &Member| member.client.sink().has_begun_round().is_some();
        let begins_round =
            || members.seated.iter().any(|member| is_due(step_rounds, member) && has_grid(member));
        if changes.are_entities_changed || has_newcomers || begins_round() {
            let placed = world.entities().iter().map(|entity| dictionary.placed(&entity));
            interest_grid.update(tick as u32, placed);
        } else {
            interest_grid.end_step();
        }
        changes
    }

    /// Sends the changes and events of the step to all members. Newcomers are not members yet. Their greeting has the whole
    /// state.
    pub(super) fn send_changes(&self, room: SteppedRoom<'_>, members: &Members, step: &StepChanges<'_>) {
        let is_quiet = *step.changes == Changes::default()
            && self.interest_grid.relocations().is_empty()
            && step.world_events.is_empty()
            && !step.is_redefined;
        if is_quiet {
            return;
        }
        let view = self.view(room, &[]);
        for member in &members.seated {
            member.client.sink().update(&view, step, member.id);
        }
    }

    /// Sends a new client its number, the whole state of the world, and the events that the rules emitted for this client
    /// alone when it joined. A client that resumes its player, in a room that has moved, also gets the events for all: no other
    /// server sends them.
    pub(super) fn greet(&self, room: SteppedRoom<'_>, newcomer: &Newcomer, world_events: &[WorldEvent]) {
        let Newcomer { client, id, is_resumed, .. } = newcomer;
        let greeting = Greeting { player: *id, is_resumed: *is_resumed, network_hz: client.network_hz() };
        client.sink().greet(&self.view(room, &[]), &greeting);
        for world_event in world_events {
            if let WorldEvent::Emitted { audience, name, payload, .. } = world_event
                && audience.has(*id)
                && (*is_resumed || *audience != Audience::All)
            {
                client.sink().send(ClientEvent::Emitted { name, payload });
            }
        }
    }

    /// Offers the poses of the step to all members, and discards the encodings of this step. All clients of one rate are due in
    /// the same steps. Common rounds wait if too many clients have not begun the previous round ([`Rounds`]).
    pub(super) fn publish(&mut self, room: SteppedRoom<'_>, members: &Members) {
        if self.step_rounds.wait() {
            room.context.metrics.rounds_delayed.inc();
        }
        let inputs = members.inputs();
        let view = self.view(room, &inputs);
        for member in &members.seated {
            member.client.sink().publish(&view, is_due(&self.step_rounds, member));
        }
        self.of_step.clear();
    }

    fn view<'r>(&'r self, room: SteppedRoom<'r>, inputs: &'r [(PlayerId, u16)]) -> RoomView<'r> {
        RoomView {
            room: &room.context.name,
            world_name: &room.context.offered.name,
            tick: room.tick,
            world: room.world,
            dictionary: &self.dictionary,
            replicated: &self.replicated,
            interest_grid: &self.interest_grid,
            inputs,
            metrics: &room.context.rooms.metrics,
            room_metrics: &room.context.metrics,
            of_room: &self.of_room,
            of_step: &self.of_step,
        }
    }
}

/// Whether a member gets movement in this step. Only the common rounds of sessions wait.
fn is_due(rounds: &StepRounds, member: &Member) -> bool {
    let hz = member.client.network_hz();
    let (begins, is_due) = (rounds.begins(hz), rounds.is_due(hz));
    // In most steps both are false. Then the sink, whose memory is rarely in a cache, is not read.
    if begins == is_due || member.client.sink().has_begun_round().is_some() { begins } else { is_due }
}
