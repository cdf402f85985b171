use nowcast_world::{Attributes, Limits, SceneError, Timer, To};

use super::*;

/// Counts with timers, and stores the count in the world.
struct Clock;

impl Behaviour for Clock {
    fn start(&mut self, scene: &mut Scene) {
        scene.after(0.1, "late", Value::Int(2)).unwrap();
        scene.after(0.05, "early", Value::Int(1)).unwrap();
        let never = scene.after(0.07, "never", Value::Nil).unwrap();
        assert!(scene.cancel(never) && !scene.cancel(never));
    }

    fn timer(&mut self, scene: &mut Scene, timer: &Timer) {
        scene.emit(&timer.name, To::All, timer.data.clone()).unwrap();
        if timer.name == "late" {
            // A timer that is set for the present step waits for the next one.
            scene.after(0.0, "now", Value::Nil).unwrap();
        }
    }
}

#[test]
fn timers_are_due_in_their_order_with_their_data() {
    let mut world = World::new(Definition::default(), 0, Box::new(Clock)).unwrap();
    let mut told = Vec::new();
    for _ in 0..20 {
        world.step();
        let tick = world.tick();
        told.extend(drain(&mut world).into_iter().map(|event| match event {
            Event::Emitted { name, payload, .. } => (tick, name, payload),
            other => panic!("{other:?}"),
        }));
    }
    let expected = [(4, "early", Value::Int(1)), (7, "late", Value::Int(2)), (8, "now", Value::Nil)]
        .map(|(tick, name, data)| (tick, name.to_owned(), data));
    assert_eq!(told, expected);
}

#[test]
fn every_table_has_a_maximum_that_is_named() {
    let limits = Limits {
        entities_max: 2,
        timers_max: 1,
        screens_max: 1,
        state_bytes_max: 64,
        value_bytes_max: 32,
        tags_max: 1,
        ..Limits::DEFAULT
    };
    let definition = Definition { kinds: vec![Kind::new("mark")], limits, ..Definition::default() };
    let full = |of, max| Err(SceneError::Full { of, max });
    let start = move |scene: &mut Scene| {
        let mark = spawn(scene, "mark", [0.0; 3]);
        spawn(scene, "mark", [0.0; 3]);
        let kind = scene.kind("mark").unwrap();
        assert_eq!(scene.spawn(kind, Spawn::default()).map(drop), full("entities", 2));
        scene.after(1.0, "one", Value::Nil).unwrap();
        assert_eq!(scene.after(1.0, "two", Value::Nil).map(drop), full("timers", 1));
        scene.show(None, "score", 1).unwrap();
        assert_eq!(scene.show(None, "clock", 1), full("values on screens", 1));
        scene.show(None, "score", 2).expect("the value of a used place can change");
        scene.set_state("a", "x".repeat(20)).unwrap();
        scene.set_state("b", "x".repeat(20)).unwrap();
        assert_eq!(scene.set_state("c", "x".repeat(20)), full("bytes of state", 64));
        scene.set_state("a", Value::Nil).unwrap();
        scene.set_state("c", "x".repeat(20)).expect("a removed value frees its bytes");
        assert!(matches!(scene.set_private(mark, "x".repeat(40)), Err(SceneError::Misfit(_))));
        scene.set_tag(mark, "a", true).unwrap();
        assert_eq!(scene.set_tag(mark, "b", true), full("tags", 1));
        assert!(matches!(scene.after(f64::NAN, "x", Value::Nil), Err(SceneError::BadNumber("seconds"))));
        assert!(matches!(scene.emit("", To::All, Value::Nil), Err(SceneError::BadName(_))));
    };
    world_with(definition, start, nothing);
}

#[test]
fn only_a_value_that_differs_counts_as_a_change() {
    let attributes = Attributes::parse("heat: range(0, 1, 0.1)").unwrap();
    let definition =
        Definition { kinds: vec![Kind::new("mark").with_attributes(attributes)], ..Definition::default() };
    let mut world = world_with(
        definition,
        |scene| {
            spawn(scene, "mark", [0.0; 3]);
        },
        |scene| {
            let id = scene.entities().ids()[0];
            // The heat changes by a quantised step only about every tenth step.
            scene.set_attribute(id, "heat", scene.tick() as f64 / 200.0).unwrap();
        },
    );
    let mut changes = 0;
    for _ in 0..60 {
        world.step();
        changes += usize::from(world.entities().changed_ticks()[0] == world.tick());
    }
    assert_eq!(changes, 1 + 3, "it came, and its heat rose by three tenths");
}

#[test]
fn mistakes_in_a_definition_are_named_with_their_place_and_bounds() {
    let wrong = |kind: Kind| {
        let definition = Definition { kinds: vec![kind], ..Definition::default() };
        World::new(definition, 0, Box::new(())).map(drop).unwrap_err().to_string()
    };
    let ball = |radius| Kind::new("ball").with_body(Body::dynamic(ColliderShape::Sphere { radius }));
    assert_eq!(wrong(ball(-1.0)), "kinds.ball.body.shape.radius: -1 is outside 0.001..10000");
    assert_eq!(wrong(ball(f32::NAN)), "kinds.ball.body.shape.radius: it is not a finite number");
    let mesh = ColliderShape::TriangleMesh {
        vertices: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        triangles: vec![[0, 1, 2]],
    };
    assert_eq!(
        wrong(Kind::new("hill").with_body(Body::dynamic(mesh))),
        "kinds.hill.body.shape: a dynamic body needs a shape with an inside, not a mesh or heights"
    );
    let flat = ColliderShape::ConvexHull { points: vec![[0.0; 3]; 4] };
    assert!(wrong(Kind::new("rock").with_body(Body::dynamic(flat))).starts_with("kinds.rock.body.shape: "));
    assert!(wrong(Kind::new("")).contains("a name has 1 to 64 bytes"));
    let walker = nowcast_world::Walker { mass: 0.0, ..Default::default() };
    assert_eq!(wrong(Kind::walker("ghost", walker)), "kinds.ghost.body.mass: 0 is outside 0.001..1000000");
    assert!(Attributes::parse("heat: range(1, 0, 0.1)").is_err());
    assert!(Attributes::parse("heat: warm").unwrap_err().to_string().contains("no type is called warm"));
}
