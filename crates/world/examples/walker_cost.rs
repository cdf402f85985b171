//! Counts the work of walkers in a step of a world, in one process and with a fixed seed.
//!
//! Walkers go to random directions on level ground, below a roof with crates at rest. Run it alone for the time of a step, or
//! below callgrind for instructions, of which those of the measured steps are in `measured_steps`:
//!
//! ```sh
//! cargo build --release -p nowcast-world --example walker_cost
//! valgrind --tool=callgrind --toggle-collect='*measured_steps*' target/release/examples/walker_cost 1000 9000 60
//! ```
//!
//! Arguments: walkers, crates, measured steps.

use std::env;
use std::time::Instant;

use nowcast_world::{
    Behaviour, Body, ColliderShape, Definition, EntityId, Input, Kind, Scene, Spawn, Walker, World,
};

const WARM_STEPS: u32 = 120;
const WALKER_SQUARE_METRES: f32 = 44.0;
const CRATE_PITCH_METRES: f32 = 2.1;
/// Each walker turns once in this number of steps.
const TURN_STEPS: u64 = 60;

struct Crowd {
    walkers: usize,
    crates: usize,
    ids: Vec<EntityId>,
}

impl Behaviour for Crowd {
    fn start(&mut self, scene: &mut Scene) {
        let [ground, thing, walker] =
            ["ground", "crate", "walker"].map(|name| scene.kind(name).expect("the definition has it"));
        for height in [-0.5, 2.5] {
            scene.spawn(ground, Spawn::at([0.0, height, 0.0])).expect("the world is empty");
        }
        let row = (self.crates as f32).sqrt().ceil();
        for index in 0..self.crates {
            let (x, z) = (index as f32 % row - row / 2.0, (index as f32 / row).floor() - row / 2.0);
            let at = [x * CRATE_PITCH_METRES, 3.25, z * CRATE_PITCH_METRES];
            scene.spawn(thing, Spawn::at(at)).expect("there is room");
        }
        let half = (self.walkers as f32 * WALKER_SQUARE_METRES).sqrt() / 2.0;
        for _ in 0..self.walkers {
            let mut place = || (scene.random() as f32 * 2.0 - 1.0) * half;
            let at = [place(), 1.0, place()];
            self.ids.push(scene.spawn(walker, Spawn::at(at)).expect("there is room"));
        }
    }

    fn step(&mut self, scene: &mut Scene) {
        let due = (scene.tick() % TURN_STEPS) as usize;
        for id in self.ids.iter().skip(due).step_by(TURN_STEPS as usize) {
            let yaw = (scene.random() as f32 - 0.5) * std::f32::consts::TAU;
            let input = Input::new(1.0, 0.0, yaw, false, false).expect("all numbers are finite");
            scene.set_input(*id, input).expect("the walker exists");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "an instrument reads a clock; the crate does not")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> = env::args().skip(1).map(|number| number.parse()).collect::<Result<_, _>>()?;
    let [walkers, crates, steps] = numbers[..] else { return Err("walkers, crates, measured steps".into()) };
    let size =
        (crates as f32).sqrt() * CRATE_PITCH_METRES + (walkers as f32 * WALKER_SQUARE_METRES).sqrt() + 40.0;
    let definition = Definition {
        kinds: vec![
            Kind::new("ground").with_body(Body::fixed(ColliderShape::Box { size: [size, 1.0, size] })),
            Kind::new("crate").with_body(Body::dynamic(ColliderShape::cube(0.5))),
            Kind::walker("walker", Walker::default()),
        ],
        ..Definition::default()
    };
    let mut world = World::new(definition, 7, Box::new(Crowd { walkers, crates, ids: Vec::new() }))?;
    run(&mut world, WARM_STEPS);
    let start = Instant::now();
    measured_steps(&mut world, steps as u32);
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.3} ms a step, hash {:?}", seconds * 1e3 / steps as f64, world.hash());
    Ok(())
}

#[inline(never)]
fn measured_steps(world: &mut World, steps: u32) {
    run(world, steps);
}

fn run(world: &mut World, steps: u32) {
    for _ in 0..steps {
        world.step();
        while world.poll_event().is_some() {}
    }
}
