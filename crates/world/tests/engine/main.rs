//! Scenarios for the guarantees of the engine.

mod bodies;
mod chains;
mod commands;
mod crowds;
mod flat_ground;
mod garden;
mod layers;
mod memory;
mod moves;
mod owners;
mod rewinding;
mod snapshots;
mod walkers;

use nowcast_world::{
    Behaviour, Body, ColliderShape, Definition, EntityId, Event, Kind, PlayerId, Scene, Spawn, Value, World,
};

/// Ground of 100 m, its surface at 0, and cubes of a metre that fall on it.
fn ground_and_cubes() -> Definition {
    let ground = Body { friction: 1.0, ..Body::fixed(ColliderShape::Box { size: [100.0, 2.0, 100.0] }) };
    let cube = Body { friction: 0.8, ..Body::dynamic(ColliderShape::cube(1.0)) };
    Definition {
        kinds: vec![Kind::new("ground").with_body(ground), Kind::new("cube").with_body(cube)],
        ..Definition::default()
    }
}

/// A behaviour made of closures.
#[derive(Default)]
struct Told<S, T> {
    start: S,
    step: T,
}

impl<S: FnMut(&mut Scene), T: FnMut(&mut Scene)> Behaviour for Told<S, T> {
    fn start(&mut self, scene: &mut Scene) {
        (self.start)(scene);
    }

    fn step(&mut self, scene: &mut Scene) {
        (self.step)(scene);
    }
}

fn world_with(
    definition: Definition,
    start: impl FnMut(&mut Scene) + 'static,
    step: impl FnMut(&mut Scene) + 'static,
) -> World {
    World::new(definition, 1, Box::new(Told { start, step })).expect("the definition is good")
}

fn spawn(scene: &mut Scene, kind: &str, position: [f32; 3]) -> EntityId {
    let kind = scene.kind(kind).expect("the definition has it");
    scene.spawn(kind, Spawn::at(position)).expect("the world has space for the entity")
}

fn steps(world: &mut World, count: usize) {
    (0..count).for_each(|_| world.step());
}

fn position(world: &World, id: EntityId) -> [f32; 3] {
    world.entity(id).expect("the entity is in the world").pose.position
}

fn drain(world: &mut World) -> Vec<Event> {
    std::iter::from_fn(|| world.poll_event()).collect()
}

fn nothing(_: &mut Scene) {}

fn map(pairs: &[(&str, Value)]) -> Value {
    Value::Map(pairs.iter().map(|(key, value)| (Value::from(*key), value.clone())).collect())
}

const ADA: PlayerId = PlayerId(7);
