//! Collision layers: bodies pass through those whose layer they ignore, in physics and in the exact step of walkers.

use nowcast_world::{
    Behaviour, Body, ColliderShape, Command, Definition, EntityId, Event, Input, Kind, LAYERS_MAX, Layers,
    Motion, PlayerId, Scene, Spawn, Walker, World,
};

/// Player 1 is a ghost, player 2 a person. A wall stands in front of each. A ball hangs above a net.
struct House;

const BALL: EntityId = EntityId(4);

impl Behaviour for House {
    fn start(&mut self, scene: &mut Scene) {
        let mut put = |kind: &str, position: [f32; 3]| {
            let kind = scene.kind(kind).expect("the kind is defined");
            scene.spawn(kind, Spawn::at(position)).expect("the world has space for the entity");
        };
        put("floor", [0.0, -0.5, 0.0]);
        put("wall", [0.0, 1.0, -3.0]);
        put("net", [40.0, 2.0, 0.0]);
        put("ball", [40.0, 4.0, 0.0]);
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let name = if player.0 == 1 { "ghost" } else { "person" };
        let kind = scene.kind(name).expect("the kind is defined");
        let spawn = Spawn::at([3.0 * player.0 as f32 - 4.0, 0.95, 0.0]);
        scene.spawn_avatar(player, kind, spawn).expect("the world has space for the entity");
    }
}

fn definition() -> Definition {
    let cuboid = |x, y, z| ColliderShape::Box { size: [x, y, z] };
    let on = |layer, ignores| Layers { layer, ignores };
    let kinds = vec![
        Kind::new("floor").with_body(Body::fixed(cuboid(200.0, 1.0, 50.0))),
        Kind::new("wall").with_body(Body::fixed(cuboid(12.0, 2.0, 1.0))).with_layers(on(2, 0)),
        Kind::new("net").with_body(Body::fixed(cuboid(4.0, 0.2, 4.0))).with_layers(on(3, 0)),
        Kind::new("ball")
            .with_body(Body::new(Motion::Dynamic, ColliderShape::Sphere { radius: 0.5 }))
            .with_layers(on(0, 1 << 3)),
        Kind::walker("ghost", Walker::default()).with_layers(on(1, 1 << 2)),
        Kind::walker("person", Walker::default()),
    ];
    Definition { kinds, ..Definition::default() }
}

fn house() -> World {
    let mut world = World::new(definition(), 1, Box::new(House)).expect("the definition is valid");
    for player in [1, 2].map(PlayerId) {
        world.apply(Command::join(player, "")).expect("the queue has space");
        let input = Input::new(1.0, 0.0, 0.0, false, false).expect("the input is valid");
        world.apply(Command::Input { player, input }).expect("the queue has space");
    }
    world
}

fn place(world: &World, player: u32) -> [f32; 3] {
    let avatar = world.scene().player(PlayerId(player)).and_then(|player| player.avatar);
    world.scene().pose(avatar.expect("the player has an avatar")).expect("the entity exists").position
}

#[test]
fn ghost_walks_through_the_wall_that_stops_a_person() {
    let mut world = house();
    (0..180).for_each(|_| world.step());
    assert!(place(&world, 1)[2] < -6.0, "{:?}", place(&world, 1));
    assert!((place(&world, 2)[2] + 2.15).abs() < 0.01, "{:?}", place(&world, 2));
    let ball = world.scene().pose(BALL).expect("the entity exists").position[1];
    assert!((ball - 0.5).abs() < 0.05, "the ball fell through the net to the floor: {ball}");
}

#[test]
fn layers_hold_in_a_restored_world() {
    let mut world = house();
    (0..20).for_each(|_| world.step());
    let bytes = world.snapshot();
    let mut restored = World::restore(definition(), Box::new(House), &bytes).expect("the snapshot is valid");
    for step in 0..160 {
        world.step();
        restored.step();
        assert_eq!(world.hash(), restored.hash(), "step {step}");
    }
    assert!(place(&restored, 1)[2] < -6.0 && place(&restored, 2)[2] > -2.2);
    assert!(std::iter::from_fn(|| world.poll_event()).all(|event| !matches!(event, Event::Refused { .. })));
}

#[test]
fn kind_on_a_layer_that_does_not_exist_is_refused() {
    let mut definition = definition();
    definition.kinds[0].layers.layer = LAYERS_MAX;
    let error = definition.validate().expect_err("there are 16 layers");
    assert!(error.to_string().contains("at most 16 collision layers"), "{error}");
}
