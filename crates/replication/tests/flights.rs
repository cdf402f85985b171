//! Motion rows: bodies that fly, steer and tumble are within the precision of their kind, at a small cost in bytes.

use std::collections::VecDeque;

use nowcast_replication::{Flight, History, Moving, Quantization, Replica, Transform, Viewer};
use nowcast_world::{
    Behaviour, Body, ColliderShape, Definition, EntityId, FreeMotion, Kind, Pose, Scene, Spawn, Velocity,
    World,
};

const BODIES: u32 = 250;
const SECONDS: u32 = 20;
/// Thirty rounds a second.
const ROUND_STEPS: u32 = 2;
/// Steps until the sender learns the outcome of a packet, with a round trip of 50 ms.
const ACK_STEPS: u32 = 4;

/// The rocks of `worlds/asteroids`, in Rust.
struct Rocks {
    speeds: [f32; 2],
    spin_max: f32,
    eagerness: f32,
    seed: u32,
    wanted: Vec<(EntityId, [f32; 3])>,
}

impl Rocks {
    fn ours() -> Self {
        Self { speeds: [2.0, 8.0], spin_max: 2.0, eagerness: 1.5, seed: 1, wanted: Vec::new() }
    }

    fn random(&mut self) -> f32 {
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.seed >> 8) as f32 / 16_777_216.0
    }

    fn direction(&mut self) -> [f32; 3] {
        let up = self.random() * 2.0 - 1.0;
        let turn = self.random() * std::f32::consts::TAU;
        let flat = (1.0 - up * up).sqrt();
        [flat * turn.cos(), up, flat * turn.sin()]
    }

    fn wish(&mut self, toward: [f32; 3]) -> [f32; 3] {
        let speed = self.speeds[0] + (self.speeds[1] - self.speeds[0]) * self.random();
        toward.map(|part| part * speed)
    }

    fn somewhere(&mut self) -> [f32; 3] {
        let metres = 13.0 + 25.0 * self.random();
        self.direction().map(|part| part * metres)
    }
}

fn length(v: [f32; 3]) -> f32 {
    (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt()
}

impl Behaviour for Rocks {
    fn start(&mut self, scene: &mut Scene) {
        let planetoid = scene.kind("planetoid").expect("the definition has it");
        let rock = scene.kind("rock").expect("the definition has it");
        scene.spawn(planetoid, Spawn::at([0.0; 3])).expect("the world is empty");
        for _ in 0..BODIES {
            let at = self.somewhere();
            let spin = self.spin_max * self.random();
            let angular = self.direction().map(|part| part * spin);
            let velocity = Velocity { linear: [0.0; 3], angular };
            let size = 0.6 + self.random();
            let spawned = Spawn { velocity, scale: Some([size; 3]), ..Spawn::at(at) };
            let id = scene.spawn(rock, spawned).expect("the world has space for the entity");
            let toward = self.direction();
            let wish = self.wish(toward);
            self.wanted.push((id, wish));
        }
    }

    fn step(&mut self, scene: &mut Scene) {
        for at in 0..self.wanted.len() {
            let (id, mut wish) = self.wanted[at];
            let position = scene.entities().get(id).expect("nothing is removed").pose.position;
            let outward: f32 = (0..3).map(|axis| position[axis] * wish[axis]).sum();
            if length(position) > 40.0 && outward > 0.0 {
                let goal = self.somewhere();
                let away: [f32; 3] = std::array::from_fn(|axis| goal[axis] - position[axis]);
                let metres = length(away);
                wish = self.wish(away.map(|part| part / metres));
                self.wanted[at].1 = wish;
            }
            let mut velocity = scene.velocity(id).expect("nothing is removed");
            for (now, wanted) in velocity.linear.iter_mut().zip(wish) {
                *now += (wanted - *now) * f32::min(1.0, self.eagerness / 60.0);
            }
            scene.set_velocity(id, velocity).expect("the body moves");
        }
    }
}

#[derive(Default, Debug)]
struct Measured {
    bytes: usize,
    records: u64,
    whole: u64,
    payloads: u64,
    /// The largest distance between the replicated and the real position of a rock, in metres.
    away: f32,
    /// The largest error of a component of a quaternion.
    turned: f32,
    in_flight: usize,
}

fn play(rules: Rocks, lost: Option<u64>) -> Measured {
    let quantization = Quantization::within(Some(0.01), Some(0.001));
    let rock = Body::dynamic(ColliderShape::Box { size: [1.4, 1.0, 1.2] });
    let rock = Body { restitution: 0.6, friction: 0.3, ..rock };
    let planetoid = Body { restitution: 0.6, ..Body::fixed(ColliderShape::Sphere { radius: 9.0 }) };
    let kinds = vec![Kind::new("planetoid").with_body(planetoid), Kind::new("rock").with_body(rock)];
    let definition = Definition { kinds, gravity: [0.0; 3], ..Definition::default() };
    let mut world = World::new(definition, 0, Box::new(rules)).expect("the definition is good");
    let (mut history, mut viewer, mut replica) = (History::default(), Viewer::default(), Replica::default());
    let mut fates: VecDeque<(u32, u64, bool)> = VecDeque::new();
    let mut told = Measured::default();
    let mut packet = 0;
    for tick in 0..(SECONDS + 5) * 60 {
        world.step();
        let here: Vec<(EntityId, Pose)> = world.poses().collect();
        let transform = |pose: &Pose| Transform { position: pose.position, rotation: pose.rotation };
        let moving = world.movements().map(|(id, pose, flight)| {
            let flight =
                flight.map(|FreeMotion { velocity, spin, inertia }| Flight { velocity, spin, inertia });
            Moving { quantization, flight, ..Moving::from((id.0, transform(&pose))) }
        });
        history.publish(tick, moving);
        while let Some((_, number, arrived)) = fates.pop_front_if(|(at, ..)| *at <= tick) {
            viewer.on_outcome(number, arrived);
        }
        if tick == 5 * 60 {
            viewer.stats = Default::default();
            told = Measured::default();
        }
        if !tick.is_multiple_of(ROUND_STEPS) {
            continue;
        }
        viewer.begin_round(history.frames(), None);
        let mut arrived = true;
        while viewer.has_more() {
            packet += 1;
            let mut payload = Vec::new();
            viewer.fill(history.frames(), packet, 1_100, &mut payload);
            told.bytes += payload.len();
            let arrives = lost.is_none_or(|lost| !packet.is_multiple_of(lost));
            if arrives {
                assert_eq!(replica.apply(&payload).expect("the bytes are a payload").missing, 0);
            }
            arrived &= arrives;
            fates.push_back((tick + ACK_STEPS, packet, arrives));
        }
        if arrived && lost.is_none() {
            for (id, pose) in &here {
                let shown = replica.transform(id.0).expect("the entity is replicated");
                assert_eq!(Some(shown), history.transform(id.0), "entity {id:?} at tick {tick}");
                told.compare(pose, &shown);
            }
        }
    }
    // Nothing is lost at the end, so the replica has the newest rows of all entities.
    for (_, number, arrived) in fates {
        viewer.on_outcome(number, arrived);
    }
    viewer.begin_round(history.frames(), None);
    while viewer.has_more() {
        let mut payload = Vec::new();
        viewer.fill(history.frames(), packet + 1, 1_100, &mut payload);
        assert_eq!(replica.apply(&payload).expect("the bytes are a payload").missing, 0);
    }
    for (id, pose) in world.poses() {
        let shown = replica.transform(id.0).expect("the entity is replicated");
        assert_eq!(Some(shown), history.transform(id.0), "entity {id:?}");
        told.compare(&pose, &shown);
    }
    told.in_flight =
        replica.transforms().filter(|(id, _)| replica.quantization(*id).unwrap().is_motion()).count();
    told.records = viewer.stats.records;
    told.whole = viewer.stats.whole;
    told.payloads = viewer.stats.payloads;
    told
}

impl Measured {
    fn compare(&mut self, there: &Pose, shown: &Transform) {
        let metres: f32 = (0..3).map(|axis| (there.position[axis] - shown.position[axis]).powi(2)).sum();
        self.away = self.away.max(metres.sqrt());
        let dot: f32 = (0..4).map(|at| there.rotation[at] * shown.rotation[at]).sum();
        let parts = (0..4).filter(|at| shown.rotation[*at].abs() < 0.5);
        let off = parts.map(|at| (there.rotation[at] * dot.signum() - shown.rotation[at]).abs());
        self.turned = off.fold(self.turned, f32::max);
    }
}

#[test]
fn flying_bodies_cost_few_bytes_and_are_as_precise_as_their_kind() {
    let mild = Rocks { speeds: [1.0, 4.0], spin_max: 0.785, ..Rocks::ours() };
    for (name, rules, bytes_max) in [("ours", Rocks::ours(), 5_000), ("mild", mild, 4_000)] {
        let measured = play(rules, None);
        let bytes = measured.bytes as u32 / SECONDS;
        let records = measured.records / u64::from(SECONDS);
        println!("{name}: {bytes} B/s, {records} records/s, {measured:?}");
        assert!(measured.away <= 0.01 && measured.turned <= 0.001, "{measured:?}");
        assert!(measured.in_flight > BODIES as usize * 8 / 10, "{measured:?}");
        assert!(bytes < bytes_max, "{bytes} B/s");
    }
}

#[test]
fn flying_bodies_are_sent_again_after_losses() {
    let measured = play(Rocks::ours(), Some(7));
    assert!(measured.away > 0.001 && measured.away <= 0.01 && measured.turned <= 0.001, "{measured:?}");
}

/// A body that falls, bounces and tumbles, in operations that all machines round in the same way.
struct Ball {
    id: u32,
    position: [f64; 3],
    velocity: [f64; 3],
    rotation: [f64; 4],
    spin: [f64; 3],
    rests_at: u32,
}

impl Ball {
    fn new(id: u32) -> Self {
        let x = f64::from(id);
        let spin = [x / 8.0 - 0.5, 0.75, 1.0 - x / 4.0];
        let velocity = [0.5 - x / 16.0, x / 4.0, 0.25];
        let rests_at = if id.is_multiple_of(3) { 60 + 3 * id } else { u32::MAX };
        Self {
            id,
            position: [x, 1.0 + x / 2.0, -x],
            velocity,
            rotation: [0.0, 0.6, 0.0, 0.8],
            spin,
            rests_at,
        }
    }

    fn step(&mut self, step: u32) -> Moving {
        if step >= self.rests_at {
            (self.velocity, self.spin) = ([0.0; 3], [0.0; 3]);
        } else {
            self.velocity[1] -= 9.81 / 60.0;
            for axis in 0..3 {
                self.position[axis] += self.velocity[axis] / 60.0;
            }
        }
        if self.position[1] < 0.0 && self.velocity[1] < 0.0 {
            self.velocity[1] *= -0.875;
            self.spin = [self.spin[1], -self.spin[2], self.spin[0]];
        }
        let [x, y, z, w] = self.rotation;
        let [a, b, c] = self.spin.map(|spin| spin / 120.0);
        let turned = [
            x + a * w + b * z - c * y,
            y + b * w + c * x - a * z,
            z + c * w + a * y - b * x,
            w - a * x - b * y - c * z,
        ];
        let length = turned.iter().map(|part| part * part).sum::<f64>().sqrt();
        self.rotation = turned.map(|part| part / length);
        let single = |vector: [f64; 3]| vector.map(|part| part as f32);
        let transform =
            Transform { position: single(self.position), rotation: self.rotation.map(|part| part as f32) };
        let flight = (step < self.rests_at).then_some(Flight {
            velocity: single(self.velocity),
            spin: single(self.spin),
            inertia: [1.0, 1.0],
        });
        let quantization = Quantization::within(Some(0.01), Some(0.001));
        Moving { quantization, flight, ..Moving::from((self.id, transform)) }
    }
}

/// `spec/vectors/world/motion-payloads.json`: payloads with motion rows, some lost and some late, and the poses after them.
#[test]
fn vectors_of_payloads_with_motion_rows() {
    let (mut history, mut viewer, mut replica) = (History::default(), Viewer::default(), Replica::default());
    let mut balls: Vec<Ball> = (1..=16).map(Ball::new).collect();
    let mut steps = Vec::new();
    let mut late: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut number = 0;
    let mut flown = 0;
    for step in 0..149u32 {
        let tick = (u32::MAX - 70).wrapping_add(step);
        history.publish(tick, balls.iter_mut().map(|ball| ball.step(step)));
        if !step.is_multiple_of(2) {
            continue;
        }
        viewer.begin_round(history.frames(), None);
        while viewer.has_more() {
            let mut payload = Vec::new();
            viewer.fill(history.frames(), number, 1_100, &mut payload);
            // Everything arrives at the end, so the replica has the newest rows.
            let fate = match number % 13 {
                3 | 4 if step < 140 => "lost",
                8 if step < 140 => "late",
                _ => "arrives",
            };
            match fate {
                "arrives" => {
                    for (number, payload) in [(number, payload.clone())].into_iter().chain(late.drain(..)) {
                        assert_eq!(replica.apply(&payload).unwrap().missing, 0);
                        viewer.on_outcome(number, true);
                    }
                }
                "late" => late.push((number, payload.clone())),
                _ => viewer.on_outcome(number, false),
            }
            number += 1;
            let bytes: String = payload.iter().map(|byte| format!("{byte:02x}")).collect();
            steps.push(serde_json::json!({ "fate": fate, "bytes": bytes }));
        }
        let rows = replica.rows().map(|(id, _)| replica.quantization(id).unwrap());
        flown += rows.filter(|quantization| quantization.is_motion()).count();
    }
    assert!(flown > 16 * 75 / 3, "{flown} motion rows");
    for ball in &balls {
        assert_eq!(replica.transform(ball.id), history.transform(ball.id), "ball {}", ball.id);
    }
    let poses = replica.transforms().map(|(id, Transform { position, rotation })| {
        let bits = |part: &f32| format!("{:08x}", part.to_bits());
        let pose: Vec<String> = position.iter().chain(&rotation).map(bits).collect();
        let is_motion = replica.quantization(id).unwrap().is_motion();
        serde_json::json!({ "id": id, "is_motion": is_motion, "pose": pose })
    });
    let vector = serde_json::json!({
        "about": "Payloads in the order sent: lost ones never arrive, late ones after the next that does. Then these poses are known, as the bits of binary32 numbers.",
        "steps": steps,
        "poses": poses.collect::<Vec<_>>(),
    });
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../spec/vectors/world/motion-payloads.json");
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        std::fs::write(&path, format!("{vector}\n")).unwrap();
    }
    let kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept, vector);
}
