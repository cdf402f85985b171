//! Steps of walkers on ladders and in water: `spec/MOVEMENT.md`, section 5.

use super::movement::{Mover, shortened};
use super::{GROUND_MEMORY_STEPS, JUMP_PAUSE_STEPS, WALKABLE_COSINE, Walker};
use crate::STEP_SECONDS;
use crate::body::BodyRole;
use crate::exact::{add, dot, scale, sub};
use crate::input::Input;
use crate::solid::{Contact, FAR_MARGIN, Solid};

/// A ladder nearer than this can be climbed, in metres.
const CLIMB_DISTANCE: f32 = 0.1;
/// Share of the walker's speed on a ladder and in water.
const SLOWER: f32 = 0.75;
/// Share of the distance to a ladder by which a climber approaches it, for each second.
const PULL_PER_SECOND: f32 = 10.0;
/// Share of the jump speed with which a climber leaves a ladder, both away from the ladder and upward.
const LEAP_SHARE: f32 = 0.5;
/// Share of the ground acceleration in water.
const DRAG_SHARE: f32 = 0.5;
/// Share of the walking speed at which a swimmer without input sinks.
const SINK_SHARE: f32 = 0.15;
/// A swimmer is at the surface if a point above its middle, by this share of its height, is not in water.
const SURFACE_SHARE: f32 = 0.1;

const _: () = assert!(CLIMB_DISTANCE < FAR_MARGIN);

impl Mover {
    /// Changes the velocity and the counts of a walker that climbs or swims in this step. Returns false and changes nothing
    /// for every other walker. `steps_since_jump` already counts this step.
    pub(super) fn enter_medium(
        &mut self,
        walker: &Walker,
        input: &Input,
        wish: [f32; 3],
        has_ground: bool,
        solids: &[Solid],
    ) -> bool {
        // A walker that leapt off a ladder or out of the water is free for a moment, or the medium would catch it at once.
        if self.steps_since_jump < JUMP_PAUSE_STEPS {
            return false;
        }
        let swims = is_in_water(self.position, solids);
        if let Some(Contact { normal, gap }) = self.ladder(walker, solids) {
            let across = (normal[0] * normal[0] + normal[2] * normal[2]).sqrt();
            let away = [normal[0] / across, 0.0, normal[2] / across];
            let into = -dot(wish, away);
            // On the ground and in water, only a walker that moves toward the ladder climbs; it can walk or swim past it.
            if into > 0.0 || !(has_ground || swims) {
                self.climb(walker, input, wish, &Climb { normal, gap, across, away, into });
                return true;
            }
        }
        if swims {
            self.swim(walker, input, wish, solids);
        }
        swims
    }

    /// Whether a ladder or water holds the walker, so that it can rest without ground.
    pub fn is_held(&self, walker: &Walker, solids: &[Solid]) -> bool {
        self.ladder(walker, solids).is_some() || is_in_water(self.position, solids)
    }

    /// The nearest ladder beside the walker.
    fn ladder(&self, walker: &Walker, solids: &[Solid]) -> Option<Contact> {
        let mut best: Option<Contact> = None;
        for solid in solids.iter().filter(|solid| solid.role == BodyRole::Ladder) {
            let contact = solid.contact(self.position, walker.radius, walker.height);
            let is_beside = contact.normal[1] < WALKABLE_COSINE && contact.normal[1] > -WALKABLE_COSINE;
            let least = best.map_or(CLIMB_DISTANCE, |best| best.gap);
            if is_beside && contact.gap < least {
                best = Some(contact);
            }
        }
        best
    }

    fn climb(&mut self, walker: &Walker, input: &Input, wish: [f32; 3], on: &Climb) {
        self.steps_since_ground = GROUND_MEMORY_STEPS;
        if input.jump {
            let leap = walker.jump_speed * LEAP_SHARE;
            self.velocity = [on.away[0] * leap, leap, on.away[2] * leap];
            self.steps_since_jump = 0;
            return;
        }
        // The speed toward the ladder becomes speed along its surface, upward even on a ladder that leans.
        let up = [-on.normal[1] * on.away[0], on.across, -on.normal[1] * on.away[2]];
        let beside = add(wish, scale(on.away, on.into));
        let along = scale(add(beside, scale(up, on.into)), SLOWER);
        let target = sub(along, scale(on.normal, on.gap * PULL_PER_SECOND));
        let change = shortened(sub(target, self.velocity), walker.ground_acceleration * STEP_SECONDS);
        self.velocity = add(self.velocity, change);
    }

    fn swim(&mut self, walker: &Walker, input: &Input, wish: [f32; 3], solids: &[Solid]) {
        self.steps_since_ground = GROUND_MEMORY_STEPS;
        let is_idle = wish == [0.0; 3];
        let rise = match (input.jump, is_idle) {
            (true, _) => walker.walk_speed,
            (false, true) => -(walker.walk_speed * SINK_SHARE),
            (false, false) => 0.0,
        };
        let target = [wish[0] * SLOWER, rise, wish[2] * SLOWER];
        let most = walker.ground_acceleration * DRAG_SHARE * STEP_SECONDS;
        self.velocity = add(self.velocity, shortened(sub(target, self.velocity), most));
        let [x, y, z] = self.position;
        if input.jump && !is_in_water([x, y + walker.height * SURFACE_SHARE, z], solids) {
            self.velocity[1] = walker.jump_speed;
            self.steps_since_jump = 0;
        }
    }
}

/// A ladder beside a walker.
struct Climb {
    normal: [f32; 3],
    gap: f32,
    /// The length of the horizontal part of the normal.
    across: f32,
    /// The horizontal direction away from the ladder.
    away: [f32; 3],
    /// The wished speed toward the ladder.
    into: f32,
}

fn is_in_water(point: [f32; 3], solids: &[Solid]) -> bool {
    solids.iter().any(|solid| solid.role == BodyRole::Water && solid.contains(point))
}
