//! Planned moves of kinematic bodies, and timers that repeat.

use nowcast_world::{Easing, PATH_PLACES_MAX, PATHS_MAX, PathOptions, Pose, SceneError, Timer, To, Velocity};

use super::*;

const HALF_TURN: [f32; 4] = [0.0, 1.0, 0.0, 0.0];
const GOAL: Pose = Pose { position: [6.0, 2.0, -1.0], rotation: HALF_TURN };

fn with_lift(start: impl Fn(&mut Scene, EntityId) + 'static) -> (World, EntityId) {
    let mut definition = ground_and_cubes();
    let lift = Body::kinematic(ColliderShape::Box { size: [1.0, 1.0, 1.0] });
    definition.kinds.push(Kind::new("lift").with_body(lift));
    let world = world_with(
        definition,
        move |scene| {
            let lift = spawn(scene, "lift", [0.0; 3]);
            start(scene, lift);
        },
        nothing,
    );
    let id = world.entities().ids()[0];
    (world, id)
}

fn distance_to_goal(world: &World, id: EntityId) -> f32 {
    let at = position(world, id);
    (0..3).map(|axis| (at[axis] - GOAL.position[axis]).powi(2)).sum::<f32>().sqrt()
}

#[test]
fn a_planned_move_arrives_on_time_and_stops() {
    for easing in [Easing::InOut, Easing::Linear, Easing::In, Easing::Out] {
        let (mut world, lift) = with_lift(move |scene, lift| {
            scene.start_move(lift, GOAL, 1.0, easing).expect("the entity can move")
        });
        let whole = distance_to_goal(&world, lift);
        steps(&mut world, 30);
        let half = distance_to_goal(&world, lift) / whole;
        let expected = match easing {
            Easing::InOut | Easing::Linear => 0.5,
            Easing::In => 0.75,
            Easing::Out => 0.25,
        };
        assert!(
            (half - expected).abs() < 0.01,
            "{easing:?}: {half} of the way is left after half of the time"
        );
        steps(&mut world, 30);
        assert!(distance_to_goal(&world, lift) < 1e-3, "{easing:?}: {:?}", position(&world, lift));
        steps(&mut world, 60);
        let entity = world.entity(lift).expect("the entity is in the world");
        assert!(distance_to_goal(&world, lift) < 1e-3, "{easing:?}: it stays");
        assert_eq!(entity.velocity, Velocity::default(), "{easing:?}");
        let cosine: f32 = (0..4).map(|at| entity.pose.rotation[at] * HALF_TURN[at]).sum();
        assert!(cosine.abs() > 0.9999, "{easing:?}: {:?}", entity.pose.rotation);
    }
}

#[test]
fn setting_a_velocity_or_a_pose_ends_a_planned_move() {
    let (mut world, lift) = with_lift(|scene, lift| {
        scene.start_move(lift, GOAL, 1.0, Easing::Linear).expect("the entity can move");
        scene.set_velocity(lift, Velocity::default()).expect("the lift has a body");
    });
    steps(&mut world, 60);
    assert_eq!(position(&world, lift), [0.0; 3]);
    let (mut world, lift) = with_lift(|scene, lift| {
        scene.start_move(lift, GOAL, 1.0, Easing::Linear).expect("the entity can move");
        scene.set_pose(lift, Pose::IDENTITY).expect("the lift exists");
    });
    steps(&mut world, 60);
    assert_eq!(position(&world, lift), [0.0; 3]);
}

#[test]
fn a_planned_move_is_refused_for_bodies_that_cannot_follow_it() {
    let (_, _) = with_lift(|scene, lift| {
        let cube = spawn(scene, "cube", [3.0, 3.0, 3.0]);
        let refused = Err(SceneError::NoPlannedMove(cube));
        assert_eq!(scene.start_move(cube, GOAL, 1.0, Easing::Linear), refused);
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                scene.start_move(lift, GOAL, seconds, Easing::Linear),
                Err(SceneError::BadNumber("seconds"))
            );
        }
        let far = Pose { position: [5_000.0, 0.0, 0.0], ..Pose::IDENTITY };
        let too_fast = Err(SceneError::BadNumber("the speed of the move"));
        assert_eq!(scene.start_move(lift, far, 1.0, Easing::Linear), too_fast);
        let parent = spawn(scene, "ground", [0.0, -9.0, 0.0]);
        scene.set_parent(lift, Some(parent)).expect("a lift can hang");
        assert_eq!(scene.start_move(lift, GOAL, 1.0, Easing::Linear), Err(SceneError::NoPlannedMove(lift)));
    });
}

/// Ticks by a timer that repeats, and cancels it at the third tick.
struct Metronome;

impl Behaviour for Metronome {
    fn start(&mut self, scene: &mut Scene) {
        scene.every(0.1, "tick", Value::Int(3)).expect("the world has space for a timer");
    }

    fn timer(&mut self, scene: &mut Scene, timer: &Timer) {
        let count = scene.state("count").and_then(Value::as_f64).unwrap_or(0.0) as i64 + 1;
        scene.set_state("count", count).expect("the value is within its limit");
        scene.emit("tick", To::All, timer.data.clone()).expect("the value is within its limit");
        if timer.data == Value::Int(count) {
            assert!(scene.cancel(timer.id), "it waits for its next call");
        }
    }
}

#[test]
fn a_repeating_timer_is_called_until_it_is_cancelled_and_survives_a_snapshot() {
    let mut world =
        World::new(Definition::default(), 0, Box::new(Metronome)).expect("the definition is good");
    let mut ticks = Vec::new();
    for _ in 0..40 {
        let bytes = world.snapshot();
        world = World::restore(Definition::default(), Box::new(Metronome), &bytes)
            .expect("the snapshot is intact");
        world.step();
        let count = drain(&mut world).len();
        ticks.extend(std::iter::repeat_n(world.tick(), count));
    }
    assert_eq!(ticks, [7, 13, 19]);
    assert_eq!(world.scene().timers_waiting(), 0);
}

#[test]
fn a_restored_world_continues_a_path_and_ends_it_alike() {
    let options = PathOptions { seconds: 1.5, easing: Easing::InOut, loops: false, faces: true };
    let places = [[3.0, 0.0, 0.0], [3.0, 2.0, -3.0]];
    let (mut world, lift) = with_lift(move |scene, lift| {
        scene.follow(lift, &places, options).expect("the entity can follow a path");
    });
    steps(&mut world, 40);
    let bytes = world.snapshot();
    let behaviour = Box::new(Told { start: nothing, step: nothing });
    let mut restored = World::restore(world.scene().definition().clone(), behaviour, &bytes)
        .expect("the snapshot is intact");
    for _ in 0..80 {
        world.step();
        restored.step();
        assert_eq!(world.hash(), restored.hash());
    }
    let entity = world.entity(lift).expect("the entity is in the world");
    assert!((0..3).all(|axis| (entity.pose.position[axis] - places[1][axis]).abs() < 1e-3), "{entity:?}");
    assert_eq!(entity.velocity, Velocity::default());
}

#[test]
fn a_path_of_too_many_places_or_too_many_paths_are_refused() {
    let (world, lift) = with_lift(|scene, lift| {
        let options = PathOptions { seconds: 1.0, ..PathOptions::default() };
        let error = scene.follow(lift, &[], options).unwrap_err();
        assert_eq!(error, SceneError::BadNumber("the number of places"));
        let error = scene.follow(lift, &[[1.0, 0.0, 0.0]; PATH_PLACES_MAX + 1], options).unwrap_err();
        assert_eq!(error, SceneError::BadNumber("the number of places"));
        let error = scene.follow(lift, &[[0.0; 3]], options).unwrap_err();
        assert_eq!(error, SceneError::BadNumber("the length of the path"));
        let error = scene.follow(lift, &[[5_000.0, 0.0, 0.0]], options).unwrap_err();
        assert_eq!(error, SceneError::BadNumber("the speed of the move"));
        let error = scene.follow(lift, &[[f32::NAN; 3]], options).unwrap_err();
        assert_eq!(error, SceneError::BadNumber("place"));
        for index in 0..PATHS_MAX {
            let x = index as f32 * 2.0;
            let other = spawn(scene, "lift", [x, 9.0, 0.0]);
            scene.follow(other, &[[x, 8.0, 0.0]], options).expect("there is space for the path");
        }
        let error = scene.follow(lift, &[[1.0, 0.0, 0.0]], options).unwrap_err();
        assert_eq!(error, SceneError::Full { of: "paths", max: PATHS_MAX });
    });
    assert!(world.entity(lift).is_some());
}

#[test]
fn slow_kinematic_bodies_go_as_far_at_every_distance_from_the_origin() {
    for from in [0.0, 500.0, 2_000.0, 10_000.0, 50_000.0, 99_000.0_f32] {
        for speed in [0.1, -0.01, 3.0] {
            let place = Pose { position: [from, 30.0, -from], ..Pose::IDENTITY };
            let (mut world, lift) = with_lift(move |scene, lift| {
                scene.set_pose(lift, place).expect("the place is in bounds");
                let velocity = Velocity { linear: [speed, 0.0, -2.0 * speed], ..Velocity::default() };
                scene.set_velocity(lift, velocity).expect("the body can move");
            });
            let before = position(&world, lift);
            steps(&mut world, 3_600);
            let way = [0, 1, 2].map(|axis| position(&world, lift)[axis] - before[axis]);
            // The largest error of a position that is rounded, and of its start.
            let most = 2e-3 + 2.0 * f32::EPSILON * from;
            for (way, expected) in way.into_iter().zip([60.0 * speed, 0.0, -120.0 * speed]) {
                assert!((way - expected).abs() <= most, "{speed} m/s from {from}: {way} for {expected}");
            }
        }
    }
}
