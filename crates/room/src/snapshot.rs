//! A room at one step, and its encodings. Each encoding is computed once, and all recipients of the same bytes share it.

use std::f64::consts::{PI, TAU};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use nowcast_world::{EntityId, Interest, Kind, Pose, World};
use nowcast_world_protocol::plain::{Encoding, Moved, ServerMessage};
use parking_lot::Mutex;

use crate::metrics::Metrics;
use crate::shared_frame::SharedFrame;

/// Positions are rounded to this fraction of a metre, so that resting bodies compare equal.
const STEPS_PER_METRE: f64 = 10_000.0;

/// Angles are rounded to this fraction of a turn.
const STEPS_PER_TURN: f64 = 65_536.0;

/// The poses of all movable entities at one step.
///
/// A client that received the difference between two snapshots has the complete second one. So one tick identifies a
/// client's state, and clients with the same state receive the same bytes. A client that missed any number of snapshots
/// receives one difference instead of the missed snapshots.
pub struct Snapshot {
    tick: u64,
    /// Ordered by id.
    exact: Vec<(EntityId, Pose)>,
    /// The rounded poses. They are computed when a client needs them.
    rounded: OnceLock<Vec<RoundedPose>>,
    /// An earlier snapshot of the same world with rounded poses. It is dropped when the poses of this snapshot are rounded.
    earlier: Mutex<Option<Arc<Self>>>,
    moves: Mutex<Moves>,
}

/// The `move` messages encoded so far, by the baseline of their recipients.
#[derive(Default)]
struct Moves {
    made: Vec<(Key, Arc<OnceLock<SharedFrame>>)>,
    /// Whether newer snapshots exist. Then only a late client still receives this snapshot, so its encodings are not kept.
    retired: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    encoding: Encoding,
    baseline_tick: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RoundedPose {
    id: u32,
    position: [i32; 3],
    euler: [u16; 3],
}

impl Snapshot {
    /// Records the poses of a world. Angles are expensive, so they are computed when a client needs them. Most bodies
    /// rest, so a body with the same pose in an `earlier` snapshot of the same world is copied from there. Pass a
    /// snapshot that [is rounded](Self::is_rounded).
    pub(crate) fn new(tick: u64, world: &World, earlier: Option<Arc<Self>>) -> Self {
        let definition = world.scene().definition();
        let is_private =
            |kind: &Kind| matches!(definition.interest_of(kind), Interest::Never | Interest::Owner);
        let has_private = definition.kinds.iter().any(is_private);
        let is_replicated = |id: &EntityId| {
            let kind = || world.entity(*id).map(|entity| world.scene().kind_of(entity.kind));
            !has_private || !kind().is_some_and(is_private)
        };
        let exact = world.poses().filter(|(id, _)| is_replicated(id)).collect();
        let (rounded, moves) = Default::default();
        Self { tick, exact, rounded, earlier: Mutex::new(earlier), moves }
    }

    /// The room's count of steps.
    pub(crate) fn tick(&self) -> u64 {
        self.tick
    }

    /// Whether the poses of this snapshot are already rounded.
    pub(crate) fn is_rounded(&self) -> bool {
        self.rounded.get().is_some()
    }

    /// Returns the rounded poses. The first caller computes them, and other callers wait for it.
    fn poses(&self) -> &[RoundedPose] {
        self.rounded.get_or_init(|| {
            let earlier = self.earlier.lock().take();
            let known = earlier.as_ref().map(|earlier| earlier.poses().iter().zip(&earlier.exact));
            let mut known = known.into_iter().flatten().peekable();
            let mut poses = Vec::with_capacity(self.exact.len());
            for (id, pose) in &self.exact {
                while known.next_if(|(rounded, _)| rounded.id < id.0).is_some() {}
                let rested = known.next_if(|(rounded, (_, exact))| rounded.id == id.0 && exact == pose);
                poses.push(rested.map_or_else(|| RoundedPose::new(id.0, pose), |(rounded, _)| *rounded));
            }
            poses
        })
    }

    /// Returns the `move` message for a client that has `baseline`.
    pub fn since(&self, baseline: &Self, encoding: Encoding, metrics: &Metrics) -> SharedFrame {
        let key = Key { encoding, baseline_tick: baseline.tick };
        // The lock is held to find the slot, and is released before the slot is filled. Callers with the same key wait until
        // one of them has encoded. Callers with another key do not wait.
        let slot = self.slot(key);
        slot.get_or_init(|| {
            let started = Instant::now();
            let message = ServerMessage::Move { tick: self.tick, entities: self.moved_since(baseline) };
            let message = SharedFrame::from(message.encode(encoding));
            metrics.observe_encode(started.elapsed());
            message
        })
        .clone()
    }

    /// Drops the encodings, because newer snapshots exist.
    pub(crate) fn retire(&self) {
        let mut moves = self.moves.lock();
        moves.retired = true;
        moves.made = Vec::new();
    }

    fn slot(&self, key: Key) -> Arc<OnceLock<SharedFrame>> {
        let mut moves = self.moves.lock();
        if let Some((_, slot)) = moves.made.iter().find(|(made, _)| *made == key) {
            return Arc::clone(slot);
        }
        let slot = Arc::default();
        if !moves.retired {
            moves.made.push((key, Arc::clone(&slot)));
        }
        slot
    }

    /// The entities that are not at their pose in `baseline`. Both lists are ordered by id, so one pass suffices.
    fn moved_since(&self, baseline: &Self) -> Vec<Moved> {
        let mut known = baseline.poses().iter().peekable();
        let mut moved = Vec::new();
        for pose in self.poses() {
            while known.next_if(|known| known.id < pose.id).is_some() {}
            if known.peek() != Some(&pose) {
                moved.push(pose.to_moved());
            }
        }
        moved
    }
}

impl RoundedPose {
    fn new(id: u32, pose: &Pose) -> Self {
        let position = pose.position.map(|metres| (f64::from(metres) * STEPS_PER_METRE).round() as i32);
        // The result is a whole number below 2¹⁶. An angle that is not finite becomes 0.
        let euler = pose
            .euler_xyz()
            .map(|angle| (f64::from(angle) / TAU * STEPS_PER_TURN).round().rem_euclid(STEPS_PER_TURN) as u16);
        Self { id, position, euler }
    }

    fn to_moved(self) -> Moved {
        let [position_x, position_y, position_z] = self.position();
        let [euler_x, euler_y, euler_z] = self.euler();
        Moved { id: self.id, position_x, position_y, position_z, euler_x, euler_y, euler_z }
    }

    fn position(self) -> [f64; 3] {
        self.position.map(|steps| f64::from(steps) / STEPS_PER_METRE)
    }

    /// Angles from −π to π, rounded to 0.0001 rad, so that they are short in JSON.
    fn euler(self) -> [f64; 3] {
        self.euler.map(|steps| {
            let angle = f64::from(steps) * TAU / STEPS_PER_TURN;
            let angle = if angle > PI { angle - TAU } else { angle };
            // Adding 0 turns a negative zero into a positive one.
            (angle * 10_000.0).round() / 10_000.0 + 0.0
        })
    }
}

/// Returns the position and the Euler angles of a pose for `spawn`, rounded like all poses.
pub(crate) fn rounded(pose: &Pose) -> ([f64; 3], [f64; 3]) {
    let pose = RoundedPose::new(0, pose);
    (pose.position(), pose.euler())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nowcast_script::{Limits, Live, Sources};
    use nowcast_world::{Command, Input, PlayerId};

    const ADA: PlayerId = PlayerId(1);

    const CUBES: &str = r#"
        local world = require("@nowcast/world")
        local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(40, 1, 40) } })
        local Cube = world.kind("cube", { body = { shape = "box", size = vector.one } })
        local Person = world.kind("person", { walker = {} })
        world.on("start", function()
            Floor:spawn { at = vector.create(0, -0.5, 0) }
            for x = 1, 5 do Cube:spawn { at = vector.create(2 * x, 0.5, -8) } end
        end)
        world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 0.92, 0) }) end)
    "#;

    fn text(message: &SharedFrame) -> &str {
        message.text()
    }

    /// A world that has come to rest.
    fn resting() -> Live {
        let mut live = Live::new(Sources::of_main(CUBES), 1, Limits::DEFAULT).expect("the script loads");
        (0..240).for_each(|_| live.step());
        live
    }

    fn snapshot(live: &Live, earlier: Option<&Arc<Snapshot>>) -> Arc<Snapshot> {
        Arc::new(Snapshot::new(live.world().tick(), live.world(), earlier.cloned()))
    }

    /// Joins Ada to the world, and returns her avatar.
    fn join(live: &mut Live) -> EntityId {
        live.apply(Command::join(ADA, "Ada")).expect("the world accepts the command");
        live.step();
        live.world().scene().player(ADA).and_then(|ada| ada.avatar).expect("Ada has an avatar")
    }

    #[test]
    fn a_move_has_only_entities_that_moved_or_are_new() {
        let mut live = resting();
        let metrics = Metrics::unregistered();
        let before = snapshot(&live, None);
        live.step();
        let still = snapshot(&live, None).since(&before, Encoding::Json, &metrics);
        assert!(text(&still).ends_with(r#""entities":[]}"#), "{still:?}");

        let avatar = join(&mut live);
        let joined = snapshot(&live, None).since(&before, Encoding::Json, &metrics);
        assert!(text(&joined).contains(&format!(r#"[{{"id":{},"#, avatar.0)), "{joined:?}");
        assert_eq!(text(&joined).matches("positionX").count(), 1);

        live.apply(Command::Leave { player: ADA }).expect("leaving is always accepted");
        live.step();
        let left = snapshot(&live, None).since(&before, Encoding::Json, &metrics);
        assert!(text(&left).ends_with(r#""entities":[]}"#), "an event reports the player who left: {left:?}");
    }

    #[test]
    fn a_missed_snapshot_changes_nothing_in_the_resulting_state() {
        let mut live = resting();
        let avatar = join(&mut live);
        let input = Input { forward: 1.0, run: true, ..Input::default() };
        live.apply(Command::Input { player: ADA, input }).expect("the world accepts the command");
        let snapshots = [0; 3].map(|_| {
            (0..6).for_each(|_| live.step());
            snapshot(&live, None)
        });
        snapshots[1].poses();
        let reused = snapshot(&live, Some(&snapshots[1]));
        assert_eq!(reused.poses(), snapshots[2].poses(), "parts of an earlier snapshot are shared");
        let ids = |moved: Vec<Moved>| moved.into_iter().map(|moved| moved.id).collect::<Vec<_>>();
        let mut every = ids(snapshots[1].moved_since(&snapshots[0]));
        every.extend(ids(snapshots[2].moved_since(&snapshots[1])));
        every.sort_unstable();
        every.dedup();
        let once = ids(snapshots[2].moved_since(&snapshots[0]));
        assert!(once.contains(&avatar.0) && once.iter().all(|id| every.contains(id)), "{once:?} {every:?}");
    }

    #[test]
    fn clients_with_the_same_baseline_share_the_bytes_until_newer_snapshots_exist() {
        let live = resting();
        let metrics = Metrics::unregistered();
        let [baseline, snapshot] = [snapshot(&live, None), snapshot(&live, None)];
        let bytes = || match snapshot.since(&baseline, Encoding::MsgPack, &metrics) {
            SharedFrame::Binary(bytes) => bytes.as_ptr(),
            other => panic!("{other:?}"),
        };
        let first = bytes();
        assert_eq!(first, bytes());
        snapshot.retire();
        assert!(snapshot.moves.lock().made.is_empty());
        bytes();
        assert!(snapshot.moves.lock().made.is_empty(), "latecomers keep nothing");
    }
}
