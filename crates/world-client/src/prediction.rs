//! The steps of the local avatar, taken before the server takes them (`spec/MOVEMENT.md`, section 7).

use std::collections::VecDeque;
use std::time::Duration;

use nowcast_replication::Applied;
use nowcast_world::movement::Mover;
use nowcast_world::{Adjustment, EntityId, Input, InputError, STEP_HZ, Solid};
use nowcast_world_protocol::WalkerKind;
use nowcast_world_protocol::session::Steps;

use crate::collision_world::{CollisionWorld, distance};
use crate::{StepSender, Update, WorldView};

/// Number of remembered steps: four seconds.
const STEPS_KEPT: u32 = 256;
/// Smaller errors are ignored, because positions from the server are rounded to 1/1,024 m on each axis.
const TOLERANCE_METRES: f32 = 0.003;
/// A larger error of the velocity means that the prediction missed an effect. Then only the reported velocity counts.
const BELIEF_SPEED: f32 = 1.5;
/// Two positions that are farther apart in time are not used to compute a velocity.
const VELOCITY_STEPS_MAX: u32 = 6;
/// If the position of an avatar did not change for this many steps of the world, the avatar is at rest.
const QUIET_STEPS: u32 = 24;
/// Half the height of a platform under an avatar that rests on unknown ground, in metres.
const PLATFORM_HALF_METRES: f32 = 0.5;
/// A platform farther away than this, in metres, is forgotten.
const PLATFORM_REACH_METRES: f32 = 3.0;

/// Predicts the local avatar. The predictor takes the steps of the walker as soon as the input exists. If the server reports
/// another position of the avatar, the predictor corrects the position and takes the newest steps again.
///
/// In each frame, call in this order: [`handle`](Self::handle) for each update of the view, [`set_input`](Self::set_input),
/// [`advance`](Self::advance), [`poll_steps`](Self::poll_steps). `now` is a time since any fixed moment.
///
/// ```
/// use std::time::Duration;
/// use nowcast_world::Input;
/// use nowcast_world_client::{Predictor, WorldClient};
///
/// # fn turn(client: &mut WorldClient, predictor: &mut Predictor, now: Duration) -> Result<(), Box<dyn std::error::Error>> {
/// while let Some(update) = client.try_receive()? {
///     predictor.handle(&update, client.view());
/// }
/// predictor.set_input(Input { forward: 1.0, ..Input::default() })?;
/// predictor.advance(now, client.view());
/// if let Some(steps) = predictor.poll_steps(now) {
///     client.send_steps(&steps)?;
/// }
/// println!("{:?}", predictor.position());
/// # Ok(())
/// # }
/// ```
///
/// Bodies that move are solids at their newest known position. A dynamic body that weighs at most four times as much as the
/// walker is a solid only if it is below the walker's feet. The server corrects steps in which the walker pushes something.
#[derive(Debug, Default)]
pub struct Predictor {
    wanted: Input,
    /// A jump that was requested, and released before the next step.
    is_jump_pending: bool,
    /// The time of step 0.
    begin: Option<Duration>,
    /// The newest step. The count continues when the avatar changes.
    step: u32,
    walking: Option<Walking>,
    collision_world: CollisionWorld,
    corrections: u64,
}

/// A correction of the predicted steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// The client's step after which the server had another position for the avatar.
    pub step: u32,
    /// The error of the predicted position after that step, in metres.
    pub error_metres: f32,
    /// The earlier prediction of the position after the newest step. A client may show the correction gradually, from this
    /// position to `to`.
    pub from: [f32; 3],
    /// The corrected position after the newest step.
    pub to: [f32; 3],
}

/// The avatar that is predicted.
#[derive(Debug)]
struct Walking {
    avatar: EntityId,
    kind: WalkerKind,
    /// The factors by which the rules change the speeds of the avatar.
    adjustment: Adjustment,
    mover: Mover,
    /// The newest steps, oldest first.
    taken: VecDeque<Taken>,
    sender: StepSender,
    acknowledged: Option<Acknowledged>,
    /// The assumed ground below an avatar that rests on the server at a place where this client knows no ground.
    platform: Option<Solid>,
}

/// A completed step: its input, and the walker after it.
#[derive(Clone, Copy, Debug)]
struct Taken {
    step: u32,
    input: Input,
    mover: Mover,
}

/// The newest position to which the server has moved the avatar.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    /// The step of the world.
    tick: u32,
    /// The client's step.
    step: u32,
    position: [f32; 3],
    /// The number of the newest jump (`spec/WORLD.md`, section 4).
    jump: u8,
}

impl Predictor {
    /// Sets the input from the next step on.
    ///
    /// # Errors
    /// Fails if a number is not finite, or `forward` or `right` is out of −1 … 1.
    pub fn set_input(&mut self, input: Input) -> Result<(), InputError> {
        self.wanted = input.validate()?;
        self.is_jump_pending |= input.jump;
        Ok(())
    }

    /// Takes the steps that are due. The first steps of an avatar begin at its newest position. After a pause of more than two
    /// seconds the missed steps are left out.
    pub fn advance(&mut self, now: Duration, view: &WorldView) {
        let begin = *self.begin.get_or_insert(now);
        let steps = now.saturating_sub(begin).as_nanos() * u128::from(STEP_HZ) / 1_000_000_000;
        let target = u32::try_from(steps).unwrap_or(u32::MAX - 1) + 1;
        if !self.follow(view, target) {
            return;
        }
        let Some(walking) = &mut self.walking else { return };
        if target.saturating_sub(self.step) > STEPS_KEPT / 2 {
            self.step = target - 1;
            walking.restart(self.step, self.wanted.yaw);
        }
        if target > self.step {
            walking.gather(&mut self.collision_world, view);
        }
        while self.step < target {
            self.step += 1;
            let input = Input { jump: self.wanted.jump || self.is_jump_pending, ..self.wanted };
            self.is_jump_pending = false;
            walking.take_step(self.step, input, self.collision_world.near());
        }
    }

    /// Returns the message with the input of the newest steps, if one is due.
    pub fn poll_steps(&mut self, now: Duration) -> Option<Steps> {
        self.walking.as_mut()?.sender.poll(now, self.step)
    }

    /// Compares the prediction with the server's position, if the update is movement. Other updates change nothing.
    pub fn handle(&mut self, update: &Update, view: &WorldView) -> Option<Correction> {
        let Update::Moved(applied) = update else { return None };
        let correction =
            self.walking.as_mut()?.compare(self.step, applied, &mut self.collision_world, view)?;
        self.corrections += 1;
        Some(correction)
    }

    /// The position of the avatar after the newest step, in metres; `None` while the avatar is not predicted.
    pub fn position(&self) -> Option<[f32; 3]> {
        self.walking.as_ref().map(|walking| walking.mover.position)
    }

    /// The velocity of the avatar after the newest step, in metres a second.
    pub fn velocity(&self) -> Option<[f32; 3]> {
        self.walking.as_ref().map(|walking| walking.mover.velocity)
    }

    /// The newest step.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Number of corrections so far.
    pub fn corrections(&self) -> u64 {
        self.corrections
    }

    /// Begins with another avatar. Returns whether there is an avatar to predict.
    fn follow(&mut self, view: &WorldView, target: u32) -> bool {
        let walker = view.avatar().and_then(|avatar| {
            let (kind, adjustment) = gait_of(view, avatar)?;
            Some((avatar, kind, adjustment, view.position(avatar)?))
        });
        let Some((avatar, kind, adjustment, position)) = walker else {
            self.walking = None;
            return false;
        };
        match &mut self.walking {
            Some(walking) if walking.avatar == avatar => {}
            _ => {
                self.step = target.max(self.step + 1);
                let mut walking = Walking {
                    avatar,
                    kind,
                    adjustment,
                    mover: Mover::new(position),
                    taken: VecDeque::with_capacity(STEPS_KEPT as usize),
                    sender: StepSender::new(self.step, Input::default()),
                    acknowledged: None,
                    platform: None,
                };
                walking.gather(&mut self.collision_world, view);
                // If the avatar stands, it takes its first step with ground under its feet.
                walking.mover.update_ground(&kind.walker, self.collision_world.near());
                walking.restart(self.step, self.wanted.yaw);
                self.walking = Some(walking);
            }
        }
        true
    }
}

impl Walking {
    /// Begins the prediction after a step in which the avatar stands still. Earlier steps cannot be repeated.
    fn restart(&mut self, step: u32, yaw: f32) {
        let input = Input { yaw, ..Input::default() };
        self.taken.clear();
        self.taken.push_back(Taken { step, input, mover: self.mover });
        self.sender = StepSender::new(step, input);
    }

    fn gather(&mut self, collision_world: &mut CollisionWorld, view: &WorldView) {
        let at = self.mover.position;
        collision_world.gather(view, self.avatar, &self.kind.walker, at);
        self.platform.take_if(|platform| distance(platform.center, at) > PLATFORM_REACH_METRES);
        if let Some(platform) = &self.platform {
            collision_world.add(platform.clone());
        }
    }

    fn take_step(&mut self, step: u32, input: Input, solids: &[Solid]) {
        self.step(&input, solids);
        if self.taken.back().is_none_or(|before| before.input != input) {
            self.sender.change(step, input);
        }
        if self.taken.len() == STEPS_KEPT as usize {
            self.taken.pop_front();
        }
        self.taken.push_back(Taken { step, input, mover: self.mover });
    }

    /// Compares the server's position after a step with the predicted one.
    fn compare(
        &mut self,
        newest: u32,
        applied: &Applied,
        collision_world: &mut CollisionWorld,
        view: &WorldView,
    ) -> Option<Correction> {
        if applied.controls == 0 {
            return None;
        }
        let behind = (newest as u16).wrapping_sub(applied.controls);
        let step = newest.checked_sub(behind.into())?;
        let at = self.find(step)?;
        let (position, jump) = (view.position(self.avatar)?, view.jump(self.avatar));
        let (kind, adjustment) = gait_of(view, self.avatar)?;
        if (kind, adjustment) != (self.kind, self.adjustment) {
            (self.kind, self.adjustment) = (kind, adjustment);
            self.change_gait(at, position, collision_world, view);
        }
        let is_moved = self.acknowledged.is_none_or(|newest| newest.position != position);
        // The group of the avatar may not have been sent since the avatar moved.
        let is_quiet = self
            .acknowledged
            .is_some_and(|newest| applied.tick.wrapping_sub(newest.tick) as i32 >= QUIET_STEPS as i32);
        if !is_moved && !is_quiet {
            return None;
        }
        self.sender.acknowledge(step);
        let predicted = self.taken[at].mover;
        let error_metres = distance(predicted.position, position);
        let from = self.mover.position;
        let is_elsewhere = error_metres > TOLERANCE_METRES;
        if is_elsewhere {
            self.mover = if is_moved { self.corrected(at, position, jump) } else { Mover::new(position) };
            if !is_moved {
                self.rest(collision_world, view);
            }
            self.take_again(at, collision_world, view);
        }
        if is_moved {
            self.acknowledged = Some(Acknowledged { tick: applied.tick, step, position, jump });
        }
        is_elsewhere.then_some(Correction { step, error_metres, from, to: self.mover.position })
    }

    /// Returns the walker after a step whose real position differs from the predicted one.
    fn corrected(&self, at: usize, position: [f32; 3], jump: u8) -> Mover {
        let Taken { step, mover, .. } = self.taken[at];
        let moved = Mover { position, ..mover };
        let Some(before) = self.acknowledged else { return moved };
        if jump != 0 && jump != before.jump {
            return Mover::new(position);
        }
        let passed = step.saturating_sub(before.step);
        let predicted_before = self.find(before.step).map(|at| self.taken[at].mover.position);
        let Some(predicted_before) = predicted_before.filter(|_| (1..=VELOCITY_STEPS_MAX).contains(&passed))
        else {
            return moved;
        };
        let per_second = STEP_HZ as f32 / passed as f32;
        let rate = |to: [f32; 3], from: [f32; 3]| [0, 1, 2].map(|axis| (to[axis] - from[axis]) * per_second);
        let reported = rate(position, before.position);
        let predicted = rate(mover.position, predicted_before);
        let error = [0, 1, 2].map(|axis| reported[axis] - predicted[axis]);
        if distance(error, [0.0; 3]) < BELIEF_SPEED {
            let velocity = [0, 1, 2].map(|axis| mover.velocity[axis] + error[axis]);
            return Mover { velocity, ..moved };
        }
        let moved = Mover { velocity: reported, ..moved };
        if error[1] < BELIEF_SPEED {
            return moved;
        }
        // The rules launched the avatar: on the ground its rise would end at once.
        let steps_since_ground = Mover::new(position).steps_since_ground;
        Mover { steps_since_ground, steps_since_jump: 0, ..moved }
    }

    /// On the server the avatar is at rest here, so there is ground below it, even if this client does not know the
    /// ground.
    fn rest(&mut self, collision_world: &mut CollisionWorld, view: &WorldView) {
        self.platform = None;
        self.gather(collision_world, view);
        self.mover.update_ground(&self.kind.walker, collision_world.near());
        let is_held = self.mover.is_held(&self.kind.walker, collision_world.near());
        if self.mover.ground_count == 0 && !is_held {
            let ([x, y, z], walker) = (self.mover.position, &self.kind.walker);
            let center = [x, y - walker.height / 2.0 - PLATFORM_HALF_METRES, z];
            let half = [walker.radius, PLATFORM_HALF_METRES, walker.radius];
            self.platform = Some(Solid::new(center, [0.0, 0.0, 0.0, 1.0], half, 0.0));
        }
    }

    /// Takes all later steps again, from the walker's state after this step.
    fn take_again(&mut self, at: usize, collision_world: &mut CollisionWorld, view: &WorldView) {
        self.gather(collision_world, view);
        let solids = collision_world.near();
        self.mover.update_ground(&self.kind.walker, solids);
        self.taken[at].mover = self.mover;
        for again in at + 1..self.taken.len() {
            let input = self.taken[again].input;
            self.step(&input, solids);
            self.taken[again].mover = self.mover;
        }
    }

    /// The rules changed the speeds of the avatar at most a few steps before the step of `at`. Takes these steps again,
    /// from the step on after which the result is nearest to the server's position.
    fn change_gait(
        &mut self,
        at: usize,
        position: [f32; 3],
        collision_world: &mut CollisionWorld,
        view: &WorldView,
    ) {
        let first = at.saturating_sub(VELOCITY_STEPS_MAX as usize);
        let (mut best, mut least) = (at, f32::INFINITY);
        for from in (first..at).rev() {
            self.mover = self.taken[from].mover;
            self.gather(collision_world, view);
            self.mover.update_ground(&self.kind.walker, collision_world.near());
            for again in from + 1..=at {
                let input = self.taken[again].input;
                self.step(&input, collision_world.near());
            }
            let error = distance(self.mover.position, position);
            if error < least {
                (best, least) = (from, error);
            }
        }
        self.mover = self.taken[best].mover;
        self.take_again(best, collision_world, view);
    }

    fn step(&mut self, input: &Input, solids: &[Solid]) {
        if self.adjustment.is_frozen {
            return self.mover.freeze();
        }
        self.mover.step(&self.kind.walker, input, self.kind.gravity, solids);
    }

    /// Returns the index of a remembered step. Remembered steps have no gaps.
    fn find(&self, step: u32) -> Option<usize> {
        let first = self.taken.front()?.step;
        let at = step.checked_sub(first)? as usize;
        (at < self.taken.len()).then_some(at)
    }
}

/// Returns the walker of an entity with the factors in its attributes; `None` for an entity that input does not move.
fn gait_of(view: &WorldView, id: EntityId) -> Option<(WalkerKind, Adjustment)> {
    let seen = view.entity(id)?;
    // A seated walker follows the entity on which it sits.
    if seen.entity.parent.is_some() {
        return None;
    }
    let kind = view.kind(seen.entity.kind)?.walker?;
    if !kind.walker.is_adjustable {
        return Some((kind, Adjustment::default()));
    }
    let adjustment = Adjustment::read(|name| seen.attributes.get(name));
    Some((WalkerKind { walker: adjustment.of(&kind.walker), ..kind }, adjustment))
}
