//! Rocks that fly and tumble, all the time: how near to where they are they are told, and for how many bytes.

use std::collections::VecDeque;

use nowcast_replication::{History, Moving, Quantization, Replica, Transform, Viewer};
use nowcast_world::{
    Behaviour, Body, ColliderShape, Definition, EntityId, Kind, Pose, Scene, Spawn, Velocity, World,
};

const ROCKS: u32 = 100;
const STEPS: u32 = 600;
/// Thirty rounds a second.
const ROUND_STEPS: u32 = 2;
/// Until the viewer's sender hears what became of a packet, over 50 ms there and back.
const ACK_STEPS: u32 = 4;

/// A cloud without gravity, in which everything goes its way until it bounces off something.
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
            scene.spawn(rock, Spawn { velocity, ..Spawn::at([x, y, z]) }).expect("there is room");
        }
    }
}

struct Told {
    bytes: usize,
    /// The largest distance between where a rock was told to be and where it was, in metres.
    away: f32,
    /// The most that one of the smaller components of a quaternion was off.
    turned: f32,
}

/// Plays the cloud to one viewer, of whose packets one in `lost` does not arrive.
fn play(grain: Quantization, lost: Option<u64>) -> Told {
    let body = Body::dynamic(ColliderShape::Box { size: [1.4, 1.0, 1.2] });
    let kinds = vec![Kind::new("rock").with_body(Body { restitution: 0.6, ..body })];
    let definition = Definition { kinds, gravity: [0.0; 3], ..Definition::default() };
    let mut world = World::new(definition, 0, Box::new(Cloud)).expect("the definition is good");
    let (mut history, mut viewer, mut replica) = (History::default(), Viewer::default(), Replica::default());
    let mut fates: VecDeque<(u32, u64, bool)> = VecDeque::new();
    let mut told = Told { bytes: 0, away: 0.0, turned: 0.0 };
    let mut packet = 0;
    for tick in 0..STEPS {
        world.step();
        let here: Vec<(EntityId, Pose)> = world.poses().collect();
        let transform = |pose: &Pose| Transform { position: pose.position, rotation: pose.rotation };
        let moving = here.iter().map(|(id, pose)| Moving { grain, ..Moving::from((id.0, transform(pose))) });
        history.publish(tick, moving);
        while let Some((_, number, arrived)) = fates.pop_front_if(|(at, ..)| *at <= tick) {
            viewer.on_outcome(number, arrived);
        }
        if !tick.is_multiple_of(ROUND_STEPS) {
            continue;
        }
        viewer.due(history.frames(), None);
        let mut arrived = true;
        while viewer.has_more() {
            packet += 1;
            let mut payload = Vec::new();
            viewer.fill(history.frames(), packet, 1_100, &mut payload);
            told.bytes += payload.len();
            let arrives = lost.is_none_or(|lost| !packet.is_multiple_of(lost));
            if arrives {
                assert_eq!(replica.apply(&payload).expect("it is a payload").missing, 0);
            }
            arrived &= arrives;
            fates.push_back((tick + ACK_STEPS, packet, arrives));
        }
        if arrived {
            here.iter()
                .for_each(|(id, pose)| told.compare(pose, &replica.transform(id.0).expect("it is told")));
        }
    }
    told
}

impl Told {
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
fn rocks_are_told_as_precisely_as_their_kind_says_and_cost_less_where_it_asks_for_less() {
    let coarse = Quantization::within(Some(0.01), Some(0.001));
    for lost in [None, Some(20)] {
        let [fine, coarse] = [Quantization::default(), coarse].map(|grain| play(grain, lost));
        println!("fine {} bytes, coarse {} bytes, {lost:?} lost", fine.bytes, coarse.bytes);
        assert!(fine.away <= 0.001 && fine.turned <= 0.000_2, "{} m, {}", fine.away, fine.turned);
        assert!(coarse.away <= 0.01 && coarse.turned <= 0.001, "{} m, {}", coarse.away, coarse.turned);
        assert!(coarse.away > 0.003 && coarse.turned > 0.000_4, "{} m, {}", coarse.away, coarse.turned);
        assert!(coarse.bytes * 10 < fine.bytes * 9, "{} and {} bytes", coarse.bytes, fine.bytes);
        // Six numbers of two and a half bits, and what says which they are.
        let bits_per_rock = coarse.bytes as f64 * 8.0 / f64::from(ROCKS * STEPS / ROUND_STEPS);
        assert!(bits_per_rock < 25.0, "{bits_per_rock} bits");
    }
}
