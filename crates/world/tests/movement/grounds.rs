//! Bodies of every shape as ground.

use nowcast_world::movement::Mover;
use nowcast_world::{
    Behaviour, Body, ColliderShape, Command, Definition, Input, Kind, Motion, PlayerId, Pose, Scene, Solid,
    Spawn, Walker, World,
};

use super::{GRAVITY, Random, UNTURNED, bits, expect_vector, walk};

/// A body to walk on, and its definition as clients receive it.
struct Ground {
    name: &'static str,
    shape: ColliderShape,
    scale: [f32; 3],
    pose: Pose,
}

impl Ground {
    fn solids(&self) -> Vec<Solid> {
        let mut solids = vec![Solid::new([0.0, -3.5, 0.0], UNTURNED, [20.0, 0.5, 20.0], 0.0)];
        solids.extend(self.shape.solids(self.scale, &self.pose).expect("the shape is valid"));
        solids
    }

    fn start(random: &mut Random) -> [f32; 3] {
        let [x, y, z] = random.three(-2.0, 2.0);
        [x, 2.0 + (y + 2.0) * 0.25, z]
    }

    fn hash(&self, number: u32) -> u32 {
        let mut random = Random::of_walk(number);
        let solids = self.solids();
        let mut mover = Mover::new(Ground::start(&mut random));
        let mut input = Input::default();
        let mut hash = 0x811c_9dc5_u32;
        for step in 0..GROUND_STEPS {
            if step % 8 == 0 {
                input = random.input();
            }
            mover.step(&Walker::default(), &input, GRAVITY, &solids);
            for word in bits(&mover) {
                hash = (hash ^ word).wrapping_mul(0x0100_0193);
            }
        }
        hash
    }

    fn text(&self) -> String {
        let Ground { name, shape, scale, pose } = self;
        let walks: Vec<String> =
            (0..GROUND_WALKS).map(|number| format!("\"{:08x}\"", self.hash(number))).collect();
        format!(
            "  {{ \"name\": \"{name}\",\n    \"body\": {{ {} }},\n    \"scale\": {scale:?}, \"position\": {:?}, \"rotation\": {:?},\n    \"walks\": [{}] }}",
            words(shape),
            pose.position,
            pose.rotation,
            walks.join(", ")
        )
    }
}

const GROUND_STEPS: u32 = 120;
const GROUND_WALKS: u32 = 40;

fn words(shape: &ColliderShape) -> String {
    let corners = |triangles: &[[u32; 3]]| -> Vec<u32> {
        triangles.as_flattened().iter().map(|corner| corner + 1).collect()
    };
    match shape {
        ColliderShape::Box { size } => format!("\"shape\": \"box\", \"size\": {size:?}"),
        ColliderShape::Sphere { radius } => format!("\"shape\": \"sphere\", \"radius\": {radius:?}"),
        ColliderShape::Capsule { radius, height } => round_words("capsule", *radius, *height),
        ColliderShape::Cylinder { radius, height } => round_words("cylinder", *radius, *height),
        ColliderShape::Cone { radius, height } => round_words("cone", *radius, *height),
        ColliderShape::ConvexHull { points } => format!(
            "\"shape\": \"hull\", \"points\": {points:?}, \"triangles\": {:?}",
            corners(&ColliderShape::hull_triangles(points))
        ),
        ColliderShape::TriangleMesh { vertices, triangles } => format!(
            "\"shape\": \"mesh\", \"vertices\": {vertices:?}, \"triangles\": {:?}",
            corners(triangles)
        ),
        ColliderShape::HeightField { heights, columns, size: [x, z] } => format!(
            "\"shape\": \"heights\", \"heights\": {heights:?}, \"columns\": {columns}, \"size\": [{x:?}, 0.0, {z:?}]"
        ),
        ColliderShape::Compound { parts } => {
            let part = |(pose, part): &(Pose, ColliderShape)| {
                format!(
                    "{{ {}, \"at\": {:?}, \"rotation\": {:?} }}",
                    words(part),
                    pose.position,
                    pose.rotation
                )
            };
            let parts: Vec<String> = parts.iter().map(part).collect();
            format!("\"shape\": \"compound\", \"parts\": [{}]", parts.join(", "))
        }
    }
}

fn round_words(shape: &str, radius: f32, height: f32) -> String {
    format!("\"shape\": \"{shape}\", \"radius\": {radius:?}, \"height\": {height:?}")
}

/// One ground of each shape, and some that are turned or scaled.
fn grounds() -> Vec<Ground> {
    let hull = || ColliderShape::ConvexHull {
        points: vec![
            [-1.0, -0.5, -1.0],
            [1.0, -0.5, -1.0],
            [1.0, -0.5, 1.0],
            [-1.0, -0.5, 1.0],
            [-0.5, 0.5, -0.75],
            [0.5, 0.5, -0.75],
            [0.25, 0.75, 0.5],
            [0.0, 0.0, 0.0],
        ],
    };
    let roof = || ColliderShape::TriangleMesh {
        vertices: vec![
            [-3.0, 0.0, -3.0],
            [3.0, 0.0, -3.0],
            [3.0, 0.0, 3.0],
            [-3.0, 0.0, 3.0],
            [0.25, 1.0, 0.0],
        ],
        triangles: vec![[0, 4, 1], [1, 4, 2], [2, 4, 3], [3, 4, 0]],
    };
    let heights = (0..35_u16).map(|at| f32::from(at * at % 7) * 0.125).collect();
    let field = ColliderShape::HeightField { heights, columns: 7, size: [6.0, 5.0] };
    let cylinder = ColliderShape::Cylinder { radius: 1.5, height: 1.0 };
    let cone = ColliderShape::Cone { radius: 2.0, height: 1.5 };
    let tilt: [f32; 3] = [0.123, -0.321, 0.231];
    let turned = |position: [f32; 3]| {
        let [x, y, z] = tilt;
        let w = f32::sqrt(1.0 - (x * x + y * y + z * z));
        Pose { position, rotation: [x, y, z, w] }
    };
    let at = |position| Pose { position, ..Pose::IDENTITY };
    let compound = ColliderShape::Compound {
        parts: vec![
            (at([1.0, 0.5, 0.0]), ColliderShape::Box { size: [1.0, 0.5, 2.0] }),
            (turned([-1.0, 0.25, 0.5]), cylinder.clone()),
            (turned([0.5, 0.0, -1.5]), hull()),
        ],
    };
    let ground = |name, shape: ColliderShape, scale, pose| Ground { name, shape, scale, pose };
    vec![
        ground(
            "box",
            ColliderShape::Box { size: [4.0, 1.0, 4.0] },
            [1.0, 0.75, 1.0],
            turned([0.0, 0.5, 0.0]),
        ),
        ground("sphere", ColliderShape::Sphere { radius: 1.25 }, [1.5; 3], at([0.0, -1.0, 0.0])),
        ground(
            "capsule",
            ColliderShape::Capsule { radius: 0.75, height: 4.0 },
            [1.25; 3],
            turned([0.0, -0.5, 0.0]),
        ),
        ground("cylinder", cylinder.clone(), [1.5, 0.75, 1.5], at([0.0, 0.25, 0.0])),
        ground("tilted cylinder", cylinder, [1.5, 1.0, 1.5], turned([0.0, 0.25, 0.0])),
        ground("cone", cone.clone(), [1.0; 3], at([0.0, -0.5, 0.0])),
        ground("tilted cone", cone, [1.25, 0.5, 1.25], turned([0.0, 0.0, 0.0])),
        ground("hull", hull(), [2.5, 1.0, 2.25], at([0.0, 0.0, 0.0])),
        ground("tilted hull", hull(), [2.0; 3], turned([0.0, 0.0, 0.0])),
        ground("mesh", roof(), [1.0; 3], at([0.0, 0.0, 0.0])),
        ground("tilted mesh", roof(), [1.0, 2.0, 0.75], turned([0.0, 0.0, 0.0])),
        ground("heights", field.clone(), [1.0; 3], at([0.0, 0.0, 0.0])),
        ground("tilted heights", field, [1.5, 0.5, 1.25], turned([0.0, 0.0, 0.0])),
        ground("compound", compound, [1.25; 3], turned([0.0, 0.25, 0.0])),
    ]
}

#[test]
fn walks_on_every_shape_match_the_specification_to_the_last_bit() {
    let grounds: Vec<String> = grounds().iter().map(Ground::text).collect();
    let about = "Walks on bodies of every shape: spec/MOVEMENT.md, section 8.";
    expect_vector(
        "grounds.json",
        &format!("{{ \"about\": \"{about}\", \"grounds\": [\n{}\n] }}\n", grounds.join(",\n")),
    );
}

#[test]
fn a_walker_stands_on_every_shape_and_not_below_it() {
    for ground in grounds() {
        let mut mover = Mover::new([0.0, 3.0, 0.0]);
        walk(&mut mover, Input::default(), &ground.solids(), 240);
        assert!(mover.position[1] > 0.0, "{} let it fall to {:?}", ground.name, mover.position);
    }
}

impl Behaviour for Ground {
    fn start(&mut self, scene: &mut Scene) {
        let floor = scene.kind("floor").expect("the kind is defined");
        scene.spawn(floor, Spawn::at([0.0, -3.5, 0.0])).expect("the world has space for the entity");
        let ground = scene.kind("ground").expect("the kind is defined");
        let spawn = Spawn { pose: self.pose, scale: Some(self.scale), ..Spawn::default() };
        scene.spawn(ground, spawn).expect("the world has space for the entity");
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the kind is defined");
        scene
            .spawn_avatar(player, person, Spawn::at([0.0, 3.0, 0.0]))
            .expect("the world has space for the entity");
    }
}

#[test]
fn worlds_move_their_walkers_by_just_this_step_on_fixed_bodies_of_every_shape() {
    for ground in grounds() {
        let (name, solids) = (ground.name, ground.solids());
        let fixed =
            |name: &str, shape| Kind { body: Some(Body::new(Motion::Fixed, shape)), ..Kind::new(name) };
        let kinds = vec![
            fixed("floor", ColliderShape::Box { size: [40.0, 1.0, 40.0] }),
            fixed("ground", ground.shape.clone()),
            Kind::walker("person", Walker::default()),
        ];
        let definition = Definition { kinds, ..Definition::default() };
        let mut world = World::new(definition, 0, Box::new(ground)).expect("the definition is valid");
        let ada = PlayerId(1);
        world.apply(Command::join(ada, "Ada")).unwrap();
        world.step();
        let avatar =
            world.scene().player(ada).and_then(|player| player.avatar).expect("the player has an avatar");
        let mut mover = Mover::new([0.0, 3.0, 0.0]);
        mover.step(&Walker::default(), &Input::default(), GRAVITY, &solids);
        let mut random = Random(11);
        for step in 0..240 {
            let input = random.input();
            world.apply(Command::Input { player: ada, input }).unwrap();
            world.step();
            mover.step(&Walker::default(), &input, GRAVITY, &solids);
            let Pose { position, .. } = world.scene().pose(avatar).expect("the avatar exists");
            let (found, expected) = (position.map(f32::to_bits), mover.position.map(f32::to_bits));
            assert_eq!(found, expected, "{name}, after {step} steps: {position:?}, {mover:?}");
        }
    }
}
