//! Rocks that fly and tumble all the time, to test the precision of replicated transforms and its cost in bytes.

use std::collections::VecDeque;

use nowcast_replication::{History, Moving, Quantization, Replica, Transform, Viewer};
use nowcast_world::{
    Behaviour, Body, ColliderShape, Definition, EntityId, Kind, Pose, Scene, Spawn, Velocity, World,
};

const ROCKS: u32 = 100;
const STEPS: u32 = 600;
/// Thirty rounds a second.
const ROUND_STEPS: u32 = 2;
/// Steps until the sender learns the outcome of a packet, with a round trip of 50 ms.
const ACK_STEPS: u32 = 4;

/// A cloud without gravity. Rocks move straight until they hit something.
struct Cloud;

impl Behaviour for Cloud {
    fn start(&mut self, scene: &mut Scene) {
        let rock = scene.kind("rock").expect("the definition has it");
        for number in 0..ROCKS {
            let [x, y, z] = [number % 5, number / 5 % 5, number / 25].map(|at| at as f32 * 4.0 - 8.0);
            let along = |factor: u32, most: f32| ((number * factor % 17) as f32 / 8.0 - 1.0) * most;
            let velocity = Velocity {
                linear: [along(3, 3.0), along(5, 3.0), along(7, 3.0)],
                angular: [along(11, 1.0), along(13, 1.0), along(2, 1.0)],
            };
            scene
                .spawn(rock, Spawn { velocity, ..Spawn::at([x, y, z]) })
                .expect("the world has space for the entity");
        }
    }
}

struct Measured {
    bytes: usize,
    /// The largest distance between the replicated and the real position of a rock, in metres.
    away: f32,
    /// The largest error of a smaller component of a quaternion.
    turned: f32,
}

/// Replicates the cloud to one viewer. One of every `lost` packets does not arrive.
fn play(quantization: Quantization, lost: Option<u64>) -> Measured {
    let body = Body::dynamic(ColliderShape::Box { size: [1.4, 1.0, 1.2] });
    let kinds = vec![Kind::new("rock").with_body(Body { restitution: 0.6, ..body })];
    let definition = Definition { kinds, gravity: [0.0; 3], ..Definition::default() };
    let mut world = World::new(definition, 0, Box::new(Cloud)).expect("the definition is good");
    let (mut history, mut viewer, mut replica) = (History::default(), Viewer::default(), Replica::default());
    let mut fates: VecDeque<(u32, u64, bool)> = VecDeque::new();
    let mut told = Measured { bytes: 0, away: 0.0, turned: 0.0 };
    let mut packet = 0;
    for tick in 0..STEPS {
        world.step();
        let here: Vec<(EntityId, Pose)> = world.poses().collect();
        let transform = |pose: &Pose| Transform { position: pose.position, rotation: pose.rotation };
        let moving =
            here.iter().map(|(id, pose)| Moving { quantization, ..Moving::from((id.0, transform(pose))) });
        history.publish(tick, moving);
        while let Some((_, number, arrived)) = fates.pop_front_if(|(at, ..)| *at <= tick) {
            viewer.on_outcome(number, arrived);
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
        if arrived {
            here.iter().for_each(|(id, pose)| {
                told.compare(pose, &replica.transform(id.0).expect("the entity is replicated"))
            });
        }
    }
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
fn rocks_are_as_precise_as_their_kind_and_cost_less_with_less_precision() {
    let coarse = Quantization::within(Some(0.01), Some(0.001));
    for lost in [None, Some(20)] {
        let [fine, coarse] = [Quantization::default(), coarse].map(|quantization| play(quantization, lost));
        println!("fine {} bytes, coarse {} bytes, {lost:?} lost", fine.bytes, coarse.bytes);
        assert!(fine.away <= 0.001 && fine.turned <= 0.000_2, "{} m, {}", fine.away, fine.turned);
        assert!(coarse.away <= 0.01 && coarse.turned <= 0.001, "{} m, {}", coarse.away, coarse.turned);
        assert!(coarse.away > 0.003 && coarse.turned > 0.000_4, "{} m, {}", coarse.away, coarse.turned);
        assert!(coarse.bytes * 10 < fine.bytes * 9, "{} and {} bytes", coarse.bytes, fine.bytes);
        // The bound allows six numbers of 2.5 bits, and the bits that select the codes.
        let bits_per_rock = coarse.bytes as f64 * 8.0 / f64::from(ROCKS * STEPS / ROUND_STEPS);
        assert!(bits_per_rock < 25.0, "{bits_per_rock} bits");
    }
}
