//! What clients on sessions are told.

use std::time::Instant;

use nowcast_replication::{Look, Moving, SectionId, Transform};
use nowcast_world::{PlayerId, Pose, STEP_HZ};

use super::happenings::Happening;
use super::told::Changes;
use super::{Newcomer, PHASES, Room, is_due};
use crate::player::Player;
use crate::session::{self, FromWorld, News, states_of_look};

/// Entities that come into sight in one round; more come with the next ones, the nearest first. A description has about 40
/// bytes.
const ENTITIES_PER_ROUND_MAX: usize = 400;

/// Entities that a newcomer is told of at once.
const ENTITIES_AT_ONCE_MAX: usize = 1_000;

impl Room {
    pub(super) fn tell_sessions(&self, changes: &Changes, happenings: &[Happening], is_redefined: bool) {
        let on_sessions =
            || self.players.iter().filter_map(|seated| Some((seated, seated.player.session_writer()?)));
        if on_sessions().next().is_none() {
            return;
        }
        let at = (self.tick as u32, &self.atlas);
        let news = News::of(changes, &self.told, at, happenings, is_redefined.then_some(&self.dictionary));
        for (seated, writer) in on_sessions() {
            let entities: Vec<_> = news.entities_for(&seated.sight).collect();
            self.count_missed(writer.news(&news, seated.id, &entities));
        }
    }

    /// Lets clients see the sections that are new, so that nobody who walks on into one of them disappears for a moment.
    pub(super) fn follow_with_eyes(&mut self) {
        for seated in &mut self.players {
            if seated.player.session_writer().is_some() {
                seated.sight.follow(&self.atlas);
            }
        }
    }

    /// Lets those clients look about that are due for a round, and tells them what came into sight and what is out of it.
    pub(super) fn look_about(&mut self) {
        for index in 0..self.players.len() {
            let seated = &self.players[index];
            if seated.player.session_writer().is_none() || !self.is_due(seated.id, &seated.player) {
                continue;
            }
            let eye = self.eye(seated.id);
            let look = self.players[index].sight.look(&self.atlas, eye, ENTITIES_PER_ROUND_MAX);
            let states = states_of_look(&look, &self.told, (self.tick as u32, &self.atlas));
            self.count_sight(&look);
            if let Some(writer) = self.players[index].player.session_writer() {
                writer.states(&states);
            }
        }
    }

    /// Entities that clients on sessions see, each client's counted.
    pub(super) fn count_in_sight(&self) -> usize {
        let on_sessions = self.players.iter().filter(|seated| seated.player.session_writer().is_some());
        let sections = on_sessions.flat_map(|seated| seated.sight.sections());
        sections.map(|section| self.atlas.members(*section).len()).sum()
    }

    fn count_sight(&self, look: &Look) {
        let count = |sections: &[SectionId]| {
            sections.iter().map(|section| self.atlas.members(*section).len() as u64).sum::<u64>()
        };
        self.rooms.metrics.sight_entered.inc_by(count(&look.entered));
        self.rooms.metrics.sight_left.inc_by(count(&look.left));
    }

    /// From where a player sees: its avatar.
    fn eye(&self, player: PlayerId) -> Option<[f32; 3]> {
        let avatar = self.world.world().entity(self.avatar(player)?)?;
        Some(avatar.pose.position)
    }

    fn is_due(&self, id: PlayerId, player: &Player) -> bool {
        is_due(self.tick + u64::from(id.0) % PHASES, player.network_hz())
    }

    pub(super) fn greet_sessions(&self, newcomers: &mut [Newcomer]) {
        let mut all = None;
        for Newcomer { player, id, is_resumed, sight, .. } in newcomers {
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
            let look = sight.look(&self.atlas, self.eye(*id), ENTITIES_AT_ONCE_MAX);
            let seen = states_of_look(&look, &self.told, (self.tick as u32, &self.atlas));
            let screens = self.told.screens_of(*id);
            writer.welcome(&welcome, all, &seen, screens, *id, (&self.history, &self.metrics));
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
        let mut history = self.history.write().expect("only this thread writes, and it ends when it panics");
        history.publish(self.tick as u32, self.moving());
        drop(history);
        self.rooms.metrics.observe_encode(started.elapsed());
        for seated in &self.players {
            if let Some(writer) = seated.player.session_writer()
                && self.is_due(seated.id, &seated.player)
            {
                let far_metres = self.dictionary.far_metres();
                writer.round(&self.history, self.avatar(seated.id), &seated.sight, far_metres);
            }
        }
    }

    /// Everything that can move and is told to anybody, ordered by id.
    fn moving(&self) -> impl Iterator<Item = Moving> {
        let mut placed = self.atlas.entities().peekable();
        self.world.world().poses().filter_map(move |(id, pose)| {
            while placed.next_if(|(placed, _)| placed.id < id.0).is_some() {}
            let (placed, section) = placed.next_if(|(placed, _)| placed.id == id.0)?;
            Some(Moving { id: id.0, transform: transform_of(pose), section: section?, size: placed.size })
        })
    }
}

fn transform_of(pose: Pose) -> Transform {
    Transform { position: pose.position, rotation: pose.rotation }
}
