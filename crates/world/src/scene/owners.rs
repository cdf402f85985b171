//! Ownership of entities, and their motion toward the owner's target.

use std::sync::Arc;

use nowcast_wire::Value;
use rapier3d::prelude::{Rotation, Vector};

use super::{Scene, SceneError};
use crate::body::Motion;
use crate::entity::Spawn;
use crate::id::{EntityId, PlayerId};
use crate::kind::Kind;
use crate::math::shortened;
use crate::owner::{
    Beyond, GIFTS_MAX, GOAL_SECONDS_MAX, GOAL_STEPS_MAX, Goal, OWNED_MAX, OwnedBy, OwnerClaim, OwnerError,
    OwnerRules,
};
use crate::pose::{Pose, Velocity, rapier_pose};
use crate::{STEP_HZ, STEP_SECONDS};

/// An entity counts as being at its target if it is nearer than this: in metres, and in components of a quaternion.
const REACHED: f32 = 1e-6;

type Asked<T> = Result<T, OwnerError>;

impl Scene {
    /// Gives an entity to a player, or (`None`) to the server. The target of an earlier owner is dropped.
    ///
    /// # Errors
    /// Fails if the entity or the player is unknown.
    pub fn set_owner(&mut self, id: EntityId, owner: Option<PlayerId>) -> Result<(), SceneError> {
        let row = self.row(id)?;
        if let Some(player) = owner {
            self.player(player).ok_or(SceneError::UnknownPlayer(player))?;
        }
        if self.entities.owners[row] != owner {
            self.drop_target(id);
            self.entities.owners[row] = owner;
            self.entities.changed_ticks[row] = self.next_tick();
            let home = self.entities.poses[row].position;
            match owner {
                Some(_) => drop(self.holds.insert(id, OwnerClaim::at(home))),
                None => drop(self.holds.remove(&id)),
            }
        }
        Ok(())
    }

    /// Drops the owner's target. Dynamic bodies keep their motion.
    pub(super) fn drop_target(&mut self, id: EntityId) {
        let Some(hold) = self.holds.get_mut(&id) else { return };
        if hold.goal.take().is_none() {
            return;
        }
        let Some(row) = self.entities.row(id) else { return };
        if self.motion_of(row) != Some(Motion::Dynamic) {
            self.move_at(row, Velocity::default());
        }
    }

    /// Checks whether the kind of an entity allows a player to own it.
    pub(crate) fn check_own(&self, player: PlayerId, id: EntityId) -> Asked<()> {
        let row = self.entities.row(id).ok_or(OwnerError::UnknownEntity)?;
        let kind = self.kind_of(self.entities.kinds[row]);
        self.check_whose(player, kind)?;
        match self.entities.owners[row] {
            Some(owner) if owner != player => return Err(OwnerError::Taken(owner)),
            Some(_) => return Ok(()),
            None => {}
        }
        self.check_room(player)?;
        let place = self.entities.poses[row].position;
        let is_far = match (kind.owner.reach, self.place_of_avatar(player)) {
            (Some(reach), Some(avatar)) => distance(avatar, place) > reach,
            _ => false,
        };
        if is_far { Err(OwnerError::OutOfReach) } else { Ok(()) }
    }

    /// Checks whether a player may pass its entity on to another player.
    pub(crate) fn check_pass(&self, player: PlayerId, id: EntityId, to: PlayerId) -> Asked<()> {
        let kind = self.owned(player, id)?;
        if self.player(to).is_none() {
            return Err(OwnerError::UnknownPlayer(to));
        }
        self.check_whose(to, kind)?;
        if to == player {
            return Ok(());
        }
        // Gifts have their own limit, so that the new owner can still ask for entities.
        if self.owned_count(to, true) >= GIFTS_MAX {
            return Err(OwnerError::TooManyGifts { player: to, max: GIFTS_MAX });
        }
        Ok(())
    }

    /// Records that another player gave an entity to its owner.
    pub(crate) fn note_gift(&mut self, id: EntityId) {
        if let Some(hold) = self.holds.get_mut(&id) {
            hold.is_gift = true;
        }
    }

    /// Checks whether a player owns an entity.
    pub(crate) fn check_owned(&self, player: PlayerId, id: EntityId) -> Asked<()> {
        self.owned(player, id).map(drop)
    }

    /// Checks whether a player may remove its entity.
    pub(crate) fn check_despawn(&self, player: PlayerId, id: EntityId) -> Asked<()> {
        let kind = self.owned(player, id)?;
        if kind.owner.spawns_max == 0 { Err(OwnerError::NotGiven(kind.name.clone())) } else { Ok(()) }
    }

    /// Spawns an entity for an owner.
    pub(crate) fn spawn_owned(
        &mut self,
        player: PlayerId,
        kind: &str,
        pose: Pose,
        attributes: &Value,
    ) -> Asked<EntityId> {
        let id = self.kind(kind).ok_or_else(|| OwnerError::UnknownKind(kind.to_owned()))?;
        let definition = Arc::clone(&self.definition);
        let of = &definition.kinds[usize::from(id.0)];
        self.check_whose(player, of)?;
        let spawns_max = of.owner.spawns_max as usize;
        if spawns_max == 0 {
            return Err(OwnerError::NotGiven(of.name.clone()));
        }
        let has = self.entities.of_kind(id).filter(|entity| {
            let is_gift = self.holds.get(&entity.id).is_some_and(|hold| hold.is_gift);
            entity.owner == Some(player) && !is_gift
        });
        if has.count() >= spawns_max {
            return Err(OwnerError::TooMany { max: spawns_max });
        }
        self.check_room(player)?;
        let home = self.place_of_avatar(player);
        if home.is_some_and(|home| of.owner.reach.is_some_and(|reach| distance(home, pose.position) > reach))
        {
            return Err(OwnerError::OutOfReach);
        }
        if of.owner.area.is_some_and(|area| area.nearest(pose.position) != pose.position) {
            return Err(OwnerError::OutsideArea);
        }
        let attributes = settable(of, attributes)?;
        let spawn = Spawn { pose, owner: Some(player), attributes, ..Spawn::default() };
        self.spawn(id, spawn).map_err(|error| OwnerError::Impossible(error.to_string()))
    }

    /// Sets attributes for an owner, or for the player of an avatar: either all of them, or none.
    pub(crate) fn set_owned(&mut self, player: PlayerId, id: EntityId, attributes: &Value) -> Asked<()> {
        let is_own_avatar = self.player(player).is_some_and(|player| player.avatar == Some(id));
        let kind = match self.entities.row(id) {
            Some(row) if is_own_avatar => self.kind_of(self.entities.kinds[row]),
            _ => self.owned(player, id)?,
        };
        let impossible = |error: String| OwnerError::Impossible(error);
        let given = settable(kind, attributes)?;
        for (name, value) in &given {
            let index = kind.attributes.index(name).ok_or_else(|| OwnerError::Attribute(name.clone()))?;
            kind.attributes.conform(index, value).map_err(|error| impossible(error.to_string()))?;
        }
        for (name, value) in given {
            self.set_attribute(id, &name, value).map_err(|error| impossible(error.to_string()))?;
        }
        Ok(())
    }

    /// Sets an owner's target.
    pub(crate) fn set_goal(
        &mut self,
        player: PlayerId,
        id: EntityId,
        pose: Pose,
        velocity: Option<Velocity>,
    ) -> Asked<()> {
        let kind = self.owned(player, id)?;
        let row = self.entities.row(id).ok_or(OwnerError::UnknownEntity)?;
        if kind.walker.is_some() || matches!(self.motion_of(row), Some(Motion::Fixed | Motion::Sensor)) {
            return Err(OwnerError::Impossible(format!("a {:?} is not moved by its owner", kind.name)));
        }
        if self.entities.parents[row].is_some() {
            return Err(OwnerError::Hangs);
        }
        let Some(hold) = self.holds.get(&id) else { return Err(OwnerError::NotYours) };
        let rules = &kind.owner;
        let allowed = self.allowed(player, rules, hold.home, pose.position);
        let is_beyond = allowed != pose.position;
        if rules.beyond == Beyond::Refuse {
            if rules.area.is_some_and(|area| area.nearest(pose.position) != pose.position) {
                return Err(OwnerError::OutsideArea);
            }
            if is_beyond {
                return Err(OwnerError::OutOfReach);
            }
            if distance(self.entities.poses[row].position, pose.position) > rules.speed * GOAL_SECONDS_MAX {
                return Err(OwnerError::TooFast);
            }
        }
        let pose = Pose { position: allowed, ..pose };
        let goal = Goal { pose, velocity: velocity.unwrap_or_default(), steps: 0 };
        if let Some(hold) = self.holds.get_mut(&id) {
            hold.goal = Some(goal);
        }
        self.stats.moves_clamped += u64::from(is_beyond);
        Ok(())
    }

    /// Moves all owned entities one step toward their targets.
    pub(crate) fn follow_owners(&mut self) {
        let moved: Vec<_> =
            self.holds.iter().filter(|(_, hold)| hold.goal.is_some()).map(|(id, _)| *id).collect();
        for id in moved {
            self.follow_owner(id);
        }
    }

    fn follow_owner(&mut self, id: EntityId) {
        let Some(row) = self.entities.row(id) else { return };
        // An attached entity stays at its pose relative to its parent.
        if self.entities.parents[row].is_some() {
            return;
        }
        let (Some(owner), Some(hold)) = (self.entities.owners[row], self.holds.get(&id)) else { return };
        let OwnerClaim { home, goal: Some(goal), .. } = *hold else { return };
        let definition = Arc::clone(&self.definition);
        let rules = &definition.kinds[usize::from(self.entities.kinds[row].0)].owner;
        let wanted = advanced(&goal);
        let position = self.allowed(owner, rules, home, wanted.position);
        let from = self.entities.poses[row];
        let (to, turn) = toward(&from, &Pose { position, ..wanted }, rules);
        let per_second = STEP_HZ as f32;
        let linear = [0, 1, 2].map(|axis| (to.position[axis] - from.position[axis]) * per_second);
        let velocity = Velocity { linear, angular: (turn * per_second).to_array() };
        self.move_at(row, velocity);
        if self.entities.handles[row].is_none() {
            self.entities.poses[row] = to;
        }
        if let Some(OwnerClaim { goal: Some(goal), .. }) = self.holds.get_mut(&id) {
            goal.steps = goal.steps.saturating_add(1);
        }
    }

    /// Sets the velocity of an entity, unless the entity sleeps and already has this velocity.
    fn move_at(&mut self, row: usize, velocity: Velocity) {
        if let Some(handles) = self.entities.handles[row] {
            let is_held = self.motion_of(row) == Some(Motion::Dynamic);
            if velocity == Velocity::default() && self.entities.velocities[row] == velocity && !is_held {
                return;
            }
            let body = self.physics.get_mut(handles);
            body.set_linvel(Vector::from_array(velocity.linear), true);
            body.set_angvel(Vector::from_array(velocity.angular), true);
        }
        self.entities.velocities[row] = velocity;
    }

    pub(super) fn motion_of(&self, row: usize) -> Option<Motion> {
        self.kind_of(self.entities.kinds[row]).body.as_ref().map(|body| body.motion)
    }

    /// Returns the kind of an entity, if the player owns it.
    fn owned(&self, player: PlayerId, id: EntityId) -> Asked<&Kind> {
        let row = self.entities.row(id).ok_or(OwnerError::UnknownEntity)?;
        if self.entities.owners[row] != Some(player) {
            return Err(OwnerError::NotYours);
        }
        Ok(self.kind_of(self.entities.kinds[row]))
    }

    fn check_whose(&self, player: PlayerId, kind: &Kind) -> Asked<()> {
        let by = kind.owner.by.ok_or_else(|| OwnerError::NotGiven(kind.name.clone()))?;
        let is_program = self.player(player).is_some_and(|player| player.is_program);
        if by.admits(is_program) {
            return Ok(());
        }
        let whom = if by == OwnedBy::Program { "programs" } else { "people" };
        Err(OwnerError::NotForYou { kind: kind.name.clone(), whom })
    }

    fn check_room(&self, player: PlayerId) -> Asked<()> {
        let count = self.owned_count(player, false);
        if count >= OWNED_MAX { Err(OwnerError::TooMany { max: OWNED_MAX }) } else { Ok(()) }
    }

    /// Counts a player's entities: those that other players gave to the player, or all others.
    fn owned_count(&self, player: PlayerId, as_gifts: bool) -> usize {
        let is_of_player = |id: &&EntityId| {
            self.entities.row(**id).is_some_and(|row| self.entities.owners[row] == Some(player))
        };
        let holds = self.holds.iter().filter(|(_, hold)| hold.is_gift == as_gifts);
        holds.map(|(id, _)| id).filter(is_of_player).count()
    }

    fn place_of_avatar(&self, player: PlayerId) -> Option<[f32; 3]> {
        let avatar = self.player(player)?.avatar?;
        Some(self.pose(avatar)?.position)
    }

    /// Returns the allowed position nearest to a target: first limited to the reach, then to the area.
    fn allowed(&self, owner: PlayerId, rules: &OwnerRules, home: [f32; 3], place: [f32; 3]) -> [f32; 3] {
        let mut place = place;
        if let Some(reach) = rules.reach {
            let centre = Vector::from_array(self.place_of_avatar(owner).unwrap_or(home));
            let away = Vector::from_array(place) - centre;
            if away.length() > reach {
                place = (centre + shortened(away, reach)).to_array();
            }
        }
        rules.area.map_or(place, |area| area.nearest(place))
    }
}

/// Returns the attributes of a map, if an owner may set all of them.
fn settable(kind: &Kind, attributes: &Value) -> Asked<Vec<(String, Value)>> {
    let given: &[(Value, Value)] = match attributes {
        Value::Map(pairs) => pairs,
        Value::Nil => &[],
        other => return Err(OwnerError::Impossible(format!("attributes are a map, not {}", other.kind()))),
    };
    let pairs = given.iter().map(|(key, value)| {
        let name = key.as_text().unwrap_or("?");
        if kind.owner.attributes.iter().any(|known| known == name) {
            Ok((name.to_owned(), value.clone()))
        } else {
            Err(OwnerError::Attribute(name.to_owned()))
        }
    });
    pairs.collect()
}

/// Returns the pose of a target after the next step.
fn advanced(goal: &Goal) -> Pose {
    let seconds = goal.steps.saturating_add(1).min(GOAL_STEPS_MAX) as f32 * STEP_SECONDS;
    let Velocity { linear, angular } = goal.velocity;
    let position = std::array::from_fn(|axis| goal.pose.position[axis] + linear[axis] * seconds);
    let rotation = turned(rapier_pose(&goal.pose).rotation, Vector::from_array(angular) * seconds);
    Pose { position, rotation: rotation.to_array() }
}

/// Returns the pose that one step reaches on the way to another pose, and the rotation to that pose as a rotation vector
/// (axis times angle, in radians).
fn toward(from: &Pose, to: &Pose, rules: &OwnerRules) -> (Pose, Vector) {
    let way = Vector::from_array(to.position) - Vector::from_array(from.position);
    let way = if way.length() < REACHED { Vector::ZERO } else { shortened(way, rules.speed * STEP_SECONDS) };
    let position = (Vector::from_array(from.position) + way).to_array();
    let before = rapier_pose(from).rotation;
    let turn = shortened(turn_between(before, rapier_pose(to).rotation), rules.turn * STEP_SECONDS);
    (Pose { position, rotation: turned(before, turn).to_array() }, turn)
}

/// The shorter rotation from one orientation to another, as a rotation vector (axis times angle, in radians).
fn turn_between(from: Rotation, to: Rotation) -> Vector {
    let [x, y, z, w] = (to * from.inverse()).to_array();
    let sign = if w < 0.0 { -1.0 } else { 1.0 };
    let axis = Vector::new(x, y, z) * sign;
    let sine = axis.length();
    if sine < REACHED {
        return Vector::ZERO;
    }
    axis * (2.0 * libm::atan2f(sine, w * sign) / sine)
}

/// Rotates by a rotation vector (axis times angle, in radians).
fn turned(rotation: Rotation, turn: Vector) -> Rotation {
    let angle = turn.length();
    if angle < REACHED {
        return rotation;
    }
    let (sine, cosine) = libm::sincosf(angle / 2.0);
    let axis = turn * (sine / angle);
    (Rotation::from_xyzw(axis.x, axis.y, axis.z, cosine) * rotation).normalize()
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (Vector::from_array(a) - Vector::from_array(b)).length()
}
