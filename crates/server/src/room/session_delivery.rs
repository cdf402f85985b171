//! What clients on sessions are told.

use std::time::Instant;

use nowcast_replication::Transform;
use nowcast_world::{Pose, STEP_HZ};

use super::happenings::Happening;
use super::told::Changes;
use super::{Newcomer, PHASES, Room, is_due};
use crate::session::{self, FromWorld, News};

impl Room {
    pub(super) fn tell_sessions(&self, changes: &Changes, happenings: &[Happening], is_redefined: bool) {
        let mut writers =
            self.players.iter().filter_map(|seated| Some((seated.id, seated.player.session_writer()?)));
        let Some(first) = writers.next() else { return };
        let news = News::of(changes, &self.told, happenings, is_redefined.then_some(&self.dictionary));
        for (id, writer) in std::iter::once(first).chain(writers) {
            self.count_missed(writer.news(&news, id));
        }
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
            let all = all.get_or_insert_with(|| News::all(&self.told, &self.dictionary));
            writer.welcome(&welcome, all, self.told.screens_of(*id), *id, &self.history);
        }
    }

    /// Records the world for sessions, which read it when their packets leave, and wakes those that are due.
    pub(super) fn publish_history(&mut self) {
        if self.players.iter().all(|seated| seated.player.session_writer().is_none()) {
            return;
        }
        let started = Instant::now();
        for seated in &self.players {
            if let Some(writer) = seated.player.session_writer() {
                writer.controls(self.tick as u32, seated.controls);
            }
        }
        self.history.write().expect("only this thread writes, and it ends when it panics").publish(
            self.tick as u32,
            self.world.world().poses().map(|(id, pose)| (id.0, transform_of(pose))),
        );
        self.rooms.metrics.observe_encode(started.elapsed());
        for seated in &self.players {
            if let Some(writer) = seated.player.session_writer()
                && is_due(self.tick + u64::from(seated.id.0) % PHASES, seated.player.network_hz())
            {
                writer.round(&self.history, self.avatar(seated.id));
            }
        }
    }
}

fn transform_of(pose: Pose) -> Transform {
    Transform { position: pose.position, rotation: pose.rotation }
}
