//! The saved form of a world in the wire format, and the checks of its parts.

use nowcast_wire::{Value, Wire};

use crate::account::{SavedData, is_account};
use crate::entity::Parent;
use crate::id::{EntityId, PlayerId};
use crate::joint::{Joint, JointId};
use crate::limits::VELOCITY_MAX;
use crate::owner::OwnerClaim;
use crate::past::PastStep;
use crate::planned_move::{PlannedMove, PlannedPath, length_of};
use crate::player::Player;
use crate::pose::{Pose, Velocity};
use crate::scene::PATH_PLACES_MAX;
use crate::timer::TimerId;
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
    pub(super) walkers: Vec<(EntityId, WalkerState)>,
    pub(super) joints: Vec<(JointId, Joint)>,
    pub(super) players: Vec<Player>,
    /// Account data by account; the key `#` and a player's number means a guest.
    pub(super) accounts: Vec<(String, SavedData)>,
    pub(super) timers: Vec<SavedTimer>,
    pub(super) state: Vec<(String, Value)>,
    pub(super) screens: Vec<(Option<PlayerId>, String, Value)>,
    pub(super) touching: Vec<(EntityId, EntityId)>,
    /// Contacts that ended because an entity was removed, and that are not reported yet.
    pub(super) ended: Vec<(EntityId, EntityId)>,
    pub(super) claims: Vec<(EntityId, OwnerClaim)>,
    pub(super) moves: Vec<(EntityId, PlannedMove)>,
    pub(super) paths: Vec<(EntityId, PlannedPath)>,
    /// The recorded past, if the world records it.
    pub(super) past: Vec<PastStep>,
}

/// A kind in use with the names of its attributes: the meaning of the numbers in entities.
#[derive(Wire)]
pub(super) struct SavedKind {
    pub(super) name: String,
    pub(super) attributes: Vec<String>,
}

#[derive(Wire)]
pub(super) struct SavedEntity {
    pub(super) id: EntityId,
    /// An index into the list of kinds.
    pub(super) kind: u32,
    pub(super) pose: Pose,
    pub(super) scale: [f32; 3],
    pub(super) velocity: Velocity,
    pub(super) force: [f32; 3],
    pub(super) torque: [f32; 3],
    pub(super) is_asleep: bool,
    pub(super) still_seconds: f32,
    pub(super) gravity_scale: f32,
    pub(super) passes: Option<EntityId>,
    pub(super) parent: Option<Parent>,
    pub(super) owner: Option<PlayerId>,
    pub(super) tags: Vec<String>,
    pub(super) attributes: Vec<Value>,
    pub(super) private: Value,
    pub(super) changed_tick: u64,
}

#[derive(Wire)]
pub(super) struct SavedTimer {
    pub(super) due_tick: u64,
    pub(super) id: TimerId,
    pub(super) name: String,
    pub(super) data: Value,
    /// Steps after which the timer fires again.
    pub(super) repeat: Option<u64>,
}

fn is_whole(pose: Pose) -> bool {
    pose.checked() == Some(pose)
}

pub(super) fn checked_player(player: Player) -> Option<Player> {
    let input = player.input.validate().ok()?;
    player.account.as_deref().is_none_or(is_account).then_some(Player { input, ..player })
}

pub(super) fn is_past_step(step: &PastStep) -> bool {
    step.before.is_sorted_by(|(a, _), (b, _)| a < b) && step.before.iter().all(|(_, pose)| is_whole(*pose))
}

pub(super) fn is_claim(claim: &OwnerClaim) -> bool {
    let is_goal = claim.goal.is_none_or(|goal| {
        let numbers = goal.velocity.linear.iter().chain(&goal.velocity.angular).copied();
        is_whole(goal.pose) && numbers.into_iter().all(|v| v.is_finite() && v.abs() <= VELOCITY_MAX)
    });
    is_goal && claim.home.iter().all(|v| v.is_finite())
}

pub(super) fn checked_move(plan: PlannedMove) -> Option<PlannedMove> {
    let plan = PlannedMove { from: plan.from.checked()?, to: plan.to.checked()?, ..plan };
    (plan.steps > 0 && plan.done <= plan.steps).then_some(plan)
}

pub(super) fn is_path(path: &PlannedPath) -> bool {
    // A path has the place where it began, and, if it loops, that place again at its end.
    (2..=PATH_PLACES_MAX + 2).contains(&path.places.len())
        && path.places.iter().all(|place| Pose { position: *place, ..Pose::IDENTITY }.checked().is_some())
        && path.steps > 0
        && path.done <= path.steps
        && length_of(&path.places) > 0.0
}
