//! Messages for clients on sessions: the room publishes the events and the snapshot of a step, and their drivers do the
//! rest (`session/client_replicator.rs`).

use std::sync::Arc;
use std::time::Instant;

use nowcast_replication::{InterestGrid, Moving, Placed, Transform};
use nowcast_world::{PlayerId, Pose, STEP_HZ, World};

use super::replicated_state::Changes;
use super::world_events::WorldEvent;
use super::{Newcomer, PHASES, Room, SeatedPlayer, is_due};
use crate::session::writer::SessionWriter;
use crate::session::{self, FromWorld, RoomSnapshot, SeenPlayer, StepUpdate, Welcome};

impl Room {
    /// The players on sessions.
    fn on_sessions(&self) -> impl Iterator<Item = (&SeatedPlayer, &SessionWriter)> {
        self.players.iter().filter_map(|seated| Some((seated, seated.player.session_writer()?)))
    }

    pub(super) fn send_to_sessions(
        &self,
        changes: &Changes,
        world_events: &[WorldEvent],
        is_redefined: bool,
    ) {
        if self.on_sessions().next().is_none() {
            return;
        }
        let at = (self.tick, &self.interest_grid);
        let update = StepUpdate::of(
            changes,
            &self.replicated,
            at,
            world_events,
            is_redefined.then_some(&self.dictionary),
        );
        let update = Arc::new(update);
        for (_, writer) in self.on_sessions() {
            writer.update(&update);
        }
    }

    /// From where a player sees: its avatar.
    fn eye(&self, player: PlayerId) -> Option<[f32; 3]> {
        let avatar = self.world.world().entity(self.avatar(player)?)?;
        Some(avatar.pose.position)
    }

    pub(super) fn greet_sessions(&self, newcomers: &[Newcomer]) {
        let mut all = None;
        for Newcomer { player, id, is_resumed, .. } in newcomers {
            let Some(writer) = player.session_writer() else { continue };
            let welcome = FromWorld::Welcome {
                protocol: session::PROTOCOL,
                player: id.0,
                room: self.name.clone(),
                world: self.offered.name.clone(),
                step_hz: STEP_HZ,
                network_hz: player.network_hz(),
                tick: self.tick,
                resumed: *is_resumed,
            };
            let all =
                all.get_or_insert_with(|| Arc::new(StepUpdate::all(&self.replicated, &self.dictionary)));
            writer.welcome(Welcome {
                player: *id,
                tick: self.tick,
                event: nowcast_wire::encode_to_vec(&welcome),
                all: Arc::clone(all),
                screens: self.replicated.screens_of(*id).collect(),
                latest_snapshot: Arc::clone(&self.latest_snapshot),
                metrics: Arc::clone(&self.metrics),
                bytes_per_round_max: writer.bytes_per_round_max(),
            });
        }
    }

    /// Puts on the board what the room looks like now, and wakes the drivers that are due for a round or have mail of this step.
    pub(super) fn publish_room_snapshot(&mut self) {
        if self.on_sessions().next().is_none() {
            return;
        }
        let started = Instant::now();
        let Self { history, world, interest_grid, tick, .. } = self;
        history.publish(*tick as u32, moving(world.world(), interest_grid));
        let mut players: Vec<_> = self
            .on_sessions()
            .map(|(seated, _)| SeenPlayer {
                id: seated.id,
                eye: self.eye(seated.id),
                controls: seated.controls,
            })
            .collect();
        players.sort_unstable_by_key(|player| player.id);
        self.latest_snapshot.put(RoomSnapshot {
            tick: self.tick,
            grid_snapshot: Arc::clone(self.interest_grid.grid_snapshot()),
            frames: Arc::clone(self.history.frames()),
            descriptions: Arc::clone(self.replicated.descriptions()),
            players,
            far_metres: self.dictionary.far_metres(),
        });
        self.rooms.metrics.observe_encode(started.elapsed());
        for (seated, writer) in self.on_sessions() {
            let phase = u64::from(seated.id.0) % PHASES;
            writer.step_is_out(is_due(self.tick + phase, seated.player.network_hz()));
        }
    }
}

/// Everything that can move and is told to anybody, ordered by id.
fn moving(world: &World, interest_grid: &InterestGrid) -> impl Iterator<Item = Moving> {
    let mut placed = interest_grid.entities().peekable();
    world.poses().filter_map(move |(id, pose)| {
        while placed.next_if(|(placed, _)| placed.id < id.0).is_some() {}
        let (placed, section) = placed.next_if(|(placed, _)| placed.id == id.0)?;
        let Placed { size, quantization, .. } = *placed;
        Some(Moving { id: id.0, transform: transform_of(pose), section: section?, size, quantization })
    })
}

fn transform_of(pose: Pose) -> Transform {
    Transform { position: pose.position, rotation: pose.rotation }
}
