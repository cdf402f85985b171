//! Messages for clients on sessions: the room publishes the events and the snapshot of a step, and their drivers do the
//! rest (`session/delivery.rs`).

use std::sync::Arc;
use std::time::Instant;

use nowcast_replication::{Atlas, Moving, Placed, Transform};
use nowcast_world::{PlayerId, Pose, STEP_HZ, World};

use super::happenings::Happening;
use super::told::Changes;
use super::{Newcomer, PHASES, Room, SeatedPlayer, is_due};
use crate::session::writer::SessionWriter;
use crate::session::{self, FromWorld, News, Picture, SeenPlayer, Welcome};

impl Room {
    /// The players on sessions.
    fn on_sessions(&self) -> impl Iterator<Item = (&SeatedPlayer, &SessionWriter)> {
        self.players.iter().filter_map(|seated| Some((seated, seated.player.session_writer()?)))
    }

    pub(super) fn tell_sessions(&self, changes: &Changes, happenings: &[Happening], is_redefined: bool) {
        if self.on_sessions().next().is_none() {
            return;
        }
        let at = (self.tick, &self.atlas);
        let news = News::of(changes, &self.told, at, happenings, is_redefined.then_some(&self.dictionary));
        let news = Arc::new(news);
        for (_, writer) in self.on_sessions() {
            writer.news(&news);
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
            let all = all.get_or_insert_with(|| Arc::new(News::all(&self.told, &self.dictionary)));
            writer.welcome(Welcome {
                player: *id,
                tick: self.tick,
                event: nowcast_wire::encode_to_vec(&welcome),
                all: Arc::clone(all),
                screens: self.told.screens_of(*id).collect(),
                board: Arc::clone(&self.board),
                metrics: Arc::clone(&self.metrics),
                bytes_per_round_max: writer.bytes_per_round_max(),
            });
        }
    }

    /// Puts on the board what the room looks like now, and wakes the drivers that are due for a round or have mail of this step.
    pub(super) fn publish_picture(&mut self) {
        if self.on_sessions().next().is_none() {
            return;
        }
        let started = Instant::now();
        let Self { history, world, atlas, tick, .. } = self;
        history.publish(*tick as u32, moving(world.world(), atlas));
        let mut players: Vec<_> = self
            .on_sessions()
            .map(|(seated, _)| SeenPlayer {
                id: seated.id,
                eye: self.eye(seated.id),
                controls: seated.controls,
            })
            .collect();
        players.sort_unstable_by_key(|player| player.id);
        self.board.put(Picture {
            tick: self.tick,
            chart: Arc::clone(self.atlas.chart()),
            frames: Arc::clone(self.history.frames()),
            descriptions: Arc::clone(self.told.descriptions()),
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
fn moving(world: &World, atlas: &Atlas) -> impl Iterator<Item = Moving> {
    let mut placed = atlas.entities().peekable();
    world.poses().filter_map(move |(id, pose)| {
        while placed.next_if(|(placed, _)| placed.id < id.0).is_some() {}
        let (placed, section) = placed.next_if(|(placed, _)| placed.id == id.0)?;
        let Placed { size, grain, .. } = *placed;
        Some(Moving { id: id.0, transform: transform_of(pose), section: section?, size, grain })
    })
}

fn transform_of(pose: Pose) -> Transform {
    Transform { position: pose.position, rotation: pose.rotation }
}
