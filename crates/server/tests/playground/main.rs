//! What people do in the world, told as scenarios.

mod carrying;
mod crowds;
mod determinism;
mod hostile;
mod playground;
mod walking;

use nowcast_server::playground::{Action, Config, Event, Kind, Layout, Playground};
use nowcast_server::world::{EntityId, Input};

/// An empty plain with one person on it, who has landed on both feet.
fn plain_with_ada() -> (Playground, EntityId) {
    let mut world = Playground::new(Config { layout: Layout::Flat, ..Config::default() });
    let ada = world.join("Ada").expect("there is room");
    steps(&mut world, 30);
    (world, ada)
}

/// The playground, with everything asleep and Ada at the spawn point.
fn playground_with_ada() -> (Playground, EntityId) {
    let mut world = Playground::new(Config::default());
    let ada = world.join("Ada").expect("there is room");
    steps(&mut world, 120);
    (world, ada)
}

fn steps(world: &mut Playground, count: usize) {
    for _ in 0..count {
        world.step();
    }
}

fn position(world: &Playground, id: EntityId) -> [f32; 3] {
    world.entity(id).expect("it is in the world").pose.position
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f32>().sqrt()
}

/// The yaw that faces from one place toward another.
fn yaw_toward(from: [f32; 3], to: [f32; 3]) -> f32 {
    (from[0] - to[0]).atan2(from[2] - to[2])
}

fn stand() -> Input {
    Input::default()
}

fn walk(yaw: f32) -> Input {
    Input::new(1.0, 0.0, yaw, false, false).expect("within bounds")
}

fn run(yaw: f32) -> Input {
    Input::new(1.0, 0.0, yaw, true, false).expect("within bounds")
}

/// Runs toward a place until it is reached, or fails after `seconds`.
fn go_to(world: &mut Playground, who: EntityId, place: [f32; 3], near: f32, seconds: usize) {
    for _ in 0..seconds * 60 {
        let here = position(world, who);
        let level = [place[0], here[1], place[2]];
        if distance(here, level) < near {
            let yaw = yaw_toward(here, place);
            world.set_input(who, Input { yaw, ..stand() });
            return;
        }
        world.set_input(who, run(yaw_toward(here, place)));
        world.step();
    }
    panic!("did not reach {place:?}, is at {:?}", position(world, who));
}

fn drain(world: &mut Playground) -> Vec<Event> {
    std::iter::from_fn(|| world.poll_event()).collect()
}

fn blocks(world: &Playground) -> Vec<(EntityId, [f32; 3])> {
    world.entities().filter(|e| e.kind == Kind::Block).map(|e| (e.id, e.pose.position)).collect()
}
