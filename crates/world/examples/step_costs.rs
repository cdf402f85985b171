//! Steps a world of walkers for `cargo xtask costs`: `step_costs WALKERS THINGS STEPS`.
//!
//! The walkers turn at random on level ground, below a roof with things at rest, as in the world of `lab load`. Prints the hash of
//! the world after the last step, so that two builds can be compared.

use nowcast_world::{
    Behaviour, Body, ColliderShape, Definition, EntityId, Input, Kind, Pose, Scene, Spawn, Walker, World,
};

/// Area of the ground for each walker, in square metres.
const SQUARE_METRES: f32 = 44.0;
/// Distance from one thing to the next, in metres.
const PITCH: f32 = 2.1;
/// Height of the roof's middle above the ground, in metres.
const ROOF: f32 = 2.5;
/// Steps from one turn of a walker to the next.
const TURN_STEPS: u64 = 60;

struct Crowd {
    walkers: usize,
    things: usize,
    ids: Vec<EntityId>,
}

impl Crowd {
    /// Half the edge of the ground that the walkers stay on, in metres.
    fn half(&self) -> f32 {
        (self.walkers as f32 * SQUARE_METRES).sqrt() / 2.0
    }

    fn things_in_a_row(&self) -> usize {
        (self.things as f32).sqrt().ceil() as usize
    }
}

impl Behaviour for Crowd {
    fn start(&mut self, scene: &mut Scene) {
        let spawn = |scene: &mut Scene, kind: &str, position: [f32; 3]| {
            let kind = scene.kind(kind).expect("the definition has it");
            scene.spawn(kind, Spawn::at(position)).expect("the world has space")
        };
        spawn(scene, "ground", [0.0, -0.5, 0.0]);
        spawn(scene, "ground", [0.0, ROOF, 0.0]);
        let half = f64::from(self.half());
        for _ in 0..self.walkers {
            let [x, z] = [(); 2].map(|()| ((2.0 * scene.random() - 1.0) * half) as f32);
            self.ids.push(spawn(scene, "walker", [x, 1.0, z]));
        }
        let row = self.things_in_a_row();
        for index in 0..self.things {
            let [x, z] = [index % row, index / row].map(|at| (at as f32 - row as f32 / 2.0) * PITCH);
            spawn(scene, "thing", [x, ROOF + 0.75, z]);
        }
    }

    fn step(&mut self, scene: &mut Scene) {
        let half = self.half();
        for (index, id) in self.ids.iter().enumerate() {
            if !(scene.tick() + index as u64).is_multiple_of(TURN_STEPS) {
                continue;
            }
            let Some(Pose { position: [x, _, z], .. }) = scene.pose(*id) else { continue };
            let is_outside = x.abs().max(z.abs()) > half;
            let random = ((2.0 * scene.random() - 1.0) * std::f64::consts::PI) as f32;
            let yaw = if is_outside { x.atan2(z) } else { random };
            scene.set_input(*id, Input { forward: 1.0, yaw, ..Input::default() }).expect("it is a walker");
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let [walkers, things, steps] = numbers[..] else {
        return Err("the arguments are numbers of walkers, things and steps".into());
    };
    let crowd = Crowd { walkers, things, ids: Vec::new() };
    let edge = (2.0 * crowd.half()).max(crowd.things_in_a_row() as f32 * PITCH) + 40.0;
    let ground = Body::fixed(ColliderShape::Box { size: [edge, 1.0, edge] });
    let kinds = vec![
        Kind::new("ground").with_body(ground),
        Kind::walker("walker", Walker::default()),
        Kind::new("thing").with_body(Body::dynamic(ColliderShape::cube(0.5))),
    ];
    let definition = Definition { kinds, ..Definition::default() };
    let mut world = World::new(definition, 1, Box::new(crowd))?;
    for _ in 0..steps {
        world.step();
        while world.poll_event().is_some() {}
    }
    println!("{:016x}", world.hash());
    Ok(())
}
