//! The saved form of a world in the wire format, and its conversion to and from the engine's types.

use nowcast_wire::{Value, Wire};

use crate::id::{EntityId, PlayerId};
use crate::input::Input;
use crate::joint::{Joint, JointId, JointKind, Motor};
use crate::limits::VELOCITY_MAX;
use crate::owner::{Goal, OwnerClaim};
use crate::past::PastStep;
use crate::planned_move::{Easing, PlannedMove, PlannedPath, length_of};
use crate::player::Player;
use crate::pose::{Pose, Velocity};
use crate::scene::PATH_PLACES_MAX;
use crate::walker::WalkerState;

#[derive(Wire, Default)]
pub(super) struct Saved {
    pub(super) tick: u64,
    pub(super) random: u64,
    pub(super) next_entity: u32,
    pub(super) next_joint: u32,
    pub(super) next_player: u32,
    pub(super) next_timer: u64,
    pub(super) kinds: Vec<SavedKind>,
    pub(super) entities: Vec<SavedEntity>,
    pub(super) walkers: Vec<SavedWalker>,
    pub(super) joints: Vec<SavedJoint>,
    pub(super) players: Vec<SavedPlayer>,
    pub(super) timers: Vec<SavedTimer>,
    pub(super) state: Vec<SavedState>,
    pub(super) screens: Vec<SavedScreen>,
    pub(super) touching: Vec<SavedPair>,
    /// Contacts that ended because an entity was removed, and that are not reported yet.
    pub(super) ended: Vec<SavedPair>,
    pub(super) holds: Vec<SavedHold>,
}

/// The saved form of a world that records the past.
#[derive(Wire)]
pub(super) struct SavedWithPast {
    pub(super) now: Saved,
    pub(super) past: SavedPast,
}

/// The saved form of a world with repeating timers or planned moves.
#[derive(Wire)]
pub(super) struct SavedWithPlans {
    pub(super) now: Saved,
    pub(super) past: Option<SavedPast>,
    pub(super) plans: SavedPlans,
}

/// The saved form of a world with entities that players gave to other players.
#[derive(Wire)]
pub(super) struct SavedWithGifts {
    pub(super) now: Saved,
    pub(super) past: Option<SavedPast>,
    pub(super) plans: SavedPlans,
    /// The ids of the entities that players gave to others, ascending.
    pub(super) gifts: Vec<u32>,
}

/// The saved form of a world with walkers on ground that moves.
#[derive(Wire)]
pub(super) struct SavedWithRides {
    pub(super) now: Saved,
    pub(super) past: Option<SavedPast>,
    pub(super) plans: SavedPlans,
    pub(super) gifts: Vec<u32>,
    /// Ascending by their ids.
    pub(super) rides: Vec<SavedRide>,
}

/// The saved form of a world with players that have accounts or saved data.
#[derive(Wire)]
pub(super) struct SavedWithAccounts {
    pub(super) now: Saved,
    pub(super) past: Option<SavedPast>,
    pub(super) plans: SavedPlans,
    pub(super) gifts: Vec<u32>,
    pub(super) rides: Vec<SavedRide>,
    pub(super) accounts: SavedAccounts,
}

/// The saved form of a world with entities that follow paths.
#[derive(Wire)]
pub(super) struct SavedWithPaths {
    pub(super) now: Saved,
    pub(super) past: Option<SavedPast>,
    pub(super) plans: SavedPlans,
    pub(super) gifts: Vec<u32>,
    pub(super) rides: Vec<SavedRide>,
    pub(super) accounts: SavedAccounts,
    /// Ascending by their ids.
    pub(super) paths: Vec<SavedPath>,
}

#[derive(Wire, Default)]
pub(super) struct SavedAccounts {
    /// Ascending by player.
    pub(super) of_players: Vec<SavedAccountOf>,
    /// Ascending by key.
    pub(super) data: Vec<SavedAccount>,
}

impl SavedAccounts {
    pub(super) fn is_empty(&self) -> bool {
        self.of_players.is_empty() && self.data.is_empty()
    }
}

#[derive(Wire)]
pub(super) struct SavedAccountOf {
    pub(super) player: u32,
    pub(super) account: String,
}

/// The data of an account; of a guest, if the key is `#` and the number of a player.
#[derive(Wire)]
pub(super) struct SavedAccount {
    pub(super) key: String,
    pub(super) version: u32,
    pub(super) revision: u64,
    pub(super) value: Value,
}

/// The velocities of the grounds of a walker, one for each ground.
#[derive(Wire)]
pub(super) struct SavedRide {
    pub(super) id: u32,
    pub(super) velocities: Vec<[f32; 3]>,
}

#[derive(Wire, Default)]
pub(super) struct SavedPlans {
    pub(super) repeats: Vec<SavedRepeat>,
    pub(super) moves: Vec<SavedMove>,
}

#[derive(Wire)]
pub(super) struct SavedRepeat {
    pub(super) timer: u64,
    pub(super) steps: u64,
}

#[derive(Wire)]
pub(super) struct SavedMove {
    pub(super) id: u32,
    pub(super) from_position: [f32; 3],
    pub(super) from_rotation: [f32; 4],
    pub(super) to_position: [f32; 3],
    pub(super) to_rotation: [f32; 4],
    pub(super) easing: SavedEasing,
    pub(super) steps: u32,
    pub(super) done: u32,
}

#[derive(Wire)]
pub(super) struct SavedPath {
    pub(super) id: u32,
    pub(super) places: Vec<[f32; 3]>,
    pub(super) easing: SavedEasing,
    pub(super) loops: bool,
    pub(super) faces: bool,
    pub(super) steps: u32,
    pub(super) done: u32,
}

#[derive(Wire)]
pub(super) enum SavedEasing {
    InOut,
    Linear,
    In,
    Out,
}

#[derive(Wire, Default)]
pub(super) struct SavedPast {
    pub(super) steps: Vec<SavedPastStep>,
    pub(super) views: Vec<SavedView>,
}

/// The entities that moved in a step, and their poses before it.
#[derive(Wire)]
pub(super) struct SavedPastStep {
    pub(super) tick: u64,
    pub(super) places: Vec<SavedPlace>,
}

#[derive(Wire)]
pub(super) struct SavedPlace {
    pub(super) id: u32,
    pub(super) position: [f32; 3],
    pub(super) rotation: [f32; 4],
}

/// The age of the world that a player sees.
#[derive(Wire)]
pub(super) struct SavedView {
    pub(super) player: u32,
    pub(super) behind_ms: u16,
}

/// A kind in use with the names of its attributes: the meaning of the numbers in entities.
#[derive(Wire)]
pub(super) struct SavedKind {
    pub(super) name: String,
    pub(super) attributes: Vec<String>,
}

#[derive(Wire)]
pub(super) struct SavedEntity {
    pub(super) id: u32,
    /// An index into the list of kinds.
    pub(super) kind: u32,
    pub(super) position: [f32; 3],
    pub(super) rotation: [f32; 4],
    pub(super) scale: [f32; 3],
    pub(super) linear: [f32; 3],
    pub(super) angular: [f32; 3],
    pub(super) force: [f32; 3],
    pub(super) torque: [f32; 3],
    pub(super) is_asleep: bool,
    pub(super) still_seconds: f32,
    pub(super) gravity_scale: f32,
    pub(super) passes: Option<u32>,
    pub(super) parent: Option<SavedParent>,
    pub(super) owner: Option<u32>,
    pub(super) tags: Vec<String>,
    pub(super) attributes: Vec<Value>,
    pub(super) private: Value,
    pub(super) changed_tick: u64,
}

#[derive(Wire)]
pub(super) struct SavedParent {
    pub(super) id: u32,
    pub(super) position: [f32; 3],
    pub(super) rotation: [f32; 4],
}

#[derive(Wire)]
pub(super) struct SavedWalker {
    pub(super) id: u32,
    pub(super) input: SavedInput,
    /// Always 1. A world's hash covers these bytes, so the field stays until snapshots have another version.
    pub(super) ahead: f32,
    pub(super) steps_since_ground: u32,
    pub(super) steps_since_jump: u32,
    pub(super) grounds: Vec<[f32; 3]>,
}

#[derive(Wire)]
pub(super) struct SavedInput {
    pub(super) forward: f32,
    pub(super) right: f32,
    pub(super) yaw: f32,
    pub(super) run: bool,
    pub(super) jump: bool,
}

#[derive(Wire)]
pub(super) struct SavedJoint {
    pub(super) id: u32,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) anchor_a: [f32; 3],
    pub(super) anchor_b: [f32; 3],
    pub(super) collides: bool,
    pub(super) kind: SavedJointKind,
}

#[derive(Wire)]
pub(super) enum SavedJointKind {
    Fixed,
    Ball,
    Hinge { axis: [f32; 3], limits: Option<[f32; 2]>, motor: Option<[f32; 2]> },
    Slider { axis: [f32; 3], limits: Option<[f32; 2]>, motor: Option<[f32; 2]> },
    Spring { length: f32, stiffness: f32, damping: f32 },
    Rope { length: f32 },
}

#[derive(Wire)]
pub(super) struct SavedPlayer {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) avatar: Option<u32>,
    pub(super) input: SavedInput,
    pub(super) tags: Vec<String>,
    pub(super) private: Value,
    pub(super) is_program: bool,
}

/// An entity with an owner's claim.
#[derive(Wire)]
pub(super) struct SavedHold {
    pub(super) id: u32,
    pub(super) home: [f32; 3],
    pub(super) goal: Option<SavedGoal>,
}

#[derive(Wire)]
pub(super) struct SavedGoal {
    pub(super) position: [f32; 3],
    pub(super) rotation: [f32; 4],
    pub(super) linear: [f32; 3],
    pub(super) angular: [f32; 3],
    pub(super) steps: u32,
}

#[derive(Wire)]
pub(super) struct SavedTimer {
    pub(super) due_tick: u64,
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) data: Value,
}

#[derive(Wire)]
pub(super) struct SavedState {
    pub(super) key: String,
    pub(super) value: Value,
}

#[derive(Wire)]
pub(super) struct SavedScreen {
    pub(super) player: Option<u32>,
    pub(super) place: String,
    pub(super) value: Value,
}

#[derive(Wire)]
pub(super) struct SavedPair {
    pub(super) a: u32,
    pub(super) b: u32,
}

fn save_input(input: &Input) -> SavedInput {
    let Input { forward, right, yaw, run, jump } = *input;
    SavedInput { forward, right, yaw, run, jump }
}

fn load_input(saved: SavedInput) -> Option<Input> {
    let SavedInput { forward, right, yaw, run, jump } = saved;
    Input { forward, right, yaw, run, jump }.validate().ok()
}

pub(super) fn save_player(player: &Player) -> SavedPlayer {
    SavedPlayer {
        id: player.id.0,
        name: player.name.clone(),
        avatar: player.avatar.map(|avatar| avatar.0),
        input: save_input(&player.input),
        tags: player.tags.clone(),
        private: player.private.clone(),
        is_program: player.is_program,
    }
}

pub(super) fn load_player(saved: SavedPlayer) -> Option<Player> {
    Some(Player {
        id: PlayerId(saved.id),
        name: saved.name,
        avatar: saved.avatar.map(EntityId),
        input: load_input(saved.input)?,
        tags: saved.tags,
        private: saved.private,
        is_program: saved.is_program,
        account: None,
        behind_ms: 0,
    })
}

pub(super) fn save_past_step(step: &PastStep) -> SavedPastStep {
    let places = step.before.iter().map(|(id, Pose { position, rotation })| SavedPlace {
        id: id.0,
        position: *position,
        rotation: *rotation,
    });
    SavedPastStep { tick: step.tick, places: places.collect() }
}

pub(super) fn load_past_step(saved: SavedPastStep) -> Option<PastStep> {
    saved.places.is_sorted_by(|a, b| a.id < b.id).then_some(())?;
    let before = saved.places.into_iter().map(|SavedPlace { id, position, rotation }| {
        let pose = Pose { position, rotation };
        (pose.checked() == Some(pose)).then_some((EntityId(id), pose))
    });
    Some(PastStep { tick: saved.tick, before: before.collect::<Option<_>>()? })
}

pub(super) fn save_claim(id: EntityId, hold: &OwnerClaim) -> SavedHold {
    let goal = hold.goal.map(|Goal { pose, velocity, steps }| SavedGoal {
        position: pose.position,
        rotation: pose.rotation,
        linear: velocity.linear,
        angular: velocity.angular,
        steps,
    });
    SavedHold { id: id.0, home: hold.home, goal }
}

pub(super) fn load_claim(saved: SavedHold) -> Option<(EntityId, OwnerClaim)> {
    let goal = match saved.goal {
        None => None,
        Some(SavedGoal { position, rotation, linear, angular, steps }) => {
            let pose = Pose { position, rotation };
            let is_whole = pose.checked() == Some(pose);
            let are_numbers = linear.iter().chain(&angular).all(|v| v.is_finite() && v.abs() <= VELOCITY_MAX);
            (is_whole && are_numbers).then_some(())?;
            Some(Goal { pose, velocity: Velocity { linear, angular }, steps })
        }
    };
    saved.home.iter().all(|v| v.is_finite()).then_some(())?;
    Some((EntityId(saved.id), OwnerClaim { goal, ..OwnerClaim::at(saved.home) }))
}

pub(super) fn save_walker(id: EntityId, walker: &WalkerState) -> SavedWalker {
    SavedWalker {
        id: id.0,
        input: save_input(&walker.input),
        ahead: 1.0,
        steps_since_ground: walker.steps_since_ground,
        steps_since_jump: walker.steps_since_jump,
        grounds: walker.grounds.clone(),
    }
}

pub(super) fn load_walker(saved: SavedWalker) -> Option<WalkerState> {
    let SavedWalker { input, steps_since_ground, steps_since_jump, grounds, .. } = saved;
    WalkerState::resume(load_input(input)?, steps_since_ground, steps_since_jump, grounds)
}

pub(super) fn save_joint(id: JointId, joint: &Joint) -> SavedJoint {
    let motor = |motor: Option<Motor>| motor.map(|motor| [motor.velocity, motor.force_max]);
    SavedJoint {
        id: id.0,
        a: joint.a.0,
        b: joint.b.0,
        anchor_a: joint.anchor_a,
        anchor_b: joint.anchor_b,
        collides: joint.collides,
        kind: match joint.kind {
            JointKind::Fixed => SavedJointKind::Fixed,
            JointKind::Ball => SavedJointKind::Ball,
            JointKind::Hinge { axis, limits, motor: drive } => {
                SavedJointKind::Hinge { axis, limits, motor: motor(drive) }
            }
            JointKind::Slider { axis, limits, motor: drive } => {
                SavedJointKind::Slider { axis, limits, motor: motor(drive) }
            }
            JointKind::Rope { length } => SavedJointKind::Rope { length },
            JointKind::Spring { length, stiffness, damping } => {
                SavedJointKind::Spring { length, stiffness, damping }
            }
        },
    }
}

pub(super) fn load_joint(saved: SavedJoint) -> (JointId, Joint) {
    let motor = |motor: Option<[f32; 2]>| motor.map(|[velocity, force_max]| Motor { velocity, force_max });
    let joint = Joint {
        a: EntityId(saved.a),
        b: EntityId(saved.b),
        anchor_a: saved.anchor_a,
        anchor_b: saved.anchor_b,
        collides: saved.collides,
        kind: match saved.kind {
            SavedJointKind::Fixed => JointKind::Fixed,
            SavedJointKind::Ball => JointKind::Ball,
            SavedJointKind::Hinge { axis, limits, motor: drive } => {
                JointKind::Hinge { axis, limits, motor: motor(drive) }
            }
            SavedJointKind::Slider { axis, limits, motor: drive } => {
                JointKind::Slider { axis, limits, motor: motor(drive) }
            }
            SavedJointKind::Rope { length } => JointKind::Rope { length },
            SavedJointKind::Spring { length, stiffness, damping } => {
                JointKind::Spring { length, stiffness, damping }
            }
        },
    };
    (JointId(saved.id), joint)
}

fn save_easing(easing: Easing) -> SavedEasing {
    match easing {
        Easing::InOut => SavedEasing::InOut,
        Easing::Linear => SavedEasing::Linear,
        Easing::In => SavedEasing::In,
        Easing::Out => SavedEasing::Out,
    }
}

fn load_easing(saved: SavedEasing) -> Easing {
    match saved {
        SavedEasing::InOut => Easing::InOut,
        SavedEasing::Linear => Easing::Linear,
        SavedEasing::In => Easing::In,
        SavedEasing::Out => Easing::Out,
    }
}

pub(super) fn save_move(id: EntityId, plan: &PlannedMove) -> SavedMove {
    SavedMove {
        id: id.0,
        from_position: plan.from.position,
        from_rotation: plan.from.rotation,
        to_position: plan.to.position,
        to_rotation: plan.to.rotation,
        easing: save_easing(plan.easing),
        steps: plan.steps,
        done: plan.done,
    }
}

pub(super) fn load_move(saved: SavedMove) -> Option<(EntityId, PlannedMove)> {
    let plan = PlannedMove {
        from: Pose { position: saved.from_position, rotation: saved.from_rotation }.checked()?,
        to: Pose { position: saved.to_position, rotation: saved.to_rotation }.checked()?,
        easing: load_easing(saved.easing),
        steps: saved.steps,
        done: saved.done,
    };
    (plan.steps > 0 && plan.done <= plan.steps).then_some((EntityId(saved.id), plan))
}

pub(super) fn save_path(id: EntityId, path: &PlannedPath) -> SavedPath {
    SavedPath {
        id: id.0,
        places: path.places.clone(),
        easing: save_easing(path.easing),
        loops: path.loops,
        faces: path.faces,
        steps: path.steps,
        done: path.done,
    }
}

pub(super) fn load_path(saved: SavedPath) -> Option<(EntityId, PlannedPath)> {
    let SavedPath { id, places, easing, loops, faces, steps, done } = saved;
    // A path has the place where it began, and, if it loops, that place again at its end.
    let are_places = (2..=PATH_PLACES_MAX + 2).contains(&places.len())
        && places.iter().all(|place| Pose { position: *place, ..Pose::IDENTITY }.checked().is_some());
    let path = PlannedPath { places, easing: load_easing(easing), loops, faces, steps, done };
    let is_valid = are_places && steps > 0 && done <= steps && length_of(&path.places) > 0.0;
    is_valid.then_some((EntityId(id), path))
}
