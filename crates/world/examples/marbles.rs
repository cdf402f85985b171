//! A world in Rust: marbles roll down a chute, and a player who brings one into the bowl scores a point.
//! `cargo run -p nowcast-world --example marbles`

use nowcast_world::{
    Action, Attributes, Behaviour, Body, ColliderShape, Command, Contact, Definition, Event, Kind, PlayerId,
    Pose, Scene, Spawn, To, Value, World,
};

struct Marbles;

impl Behaviour for Marbles {
    fn start(&mut self, scene: &mut Scene) {
        let [chute, bowl] = ["chute", "bowl"].map(|name| scene.kind(name).expect("the definition has it"));
        let tilted = Pose { position: [0.0, 1.0, 0.0], rotation: [-0.13, 0.0, 0.0, 0.99] };
        scene.spawn(chute, Spawn { pose: tilted, ..Spawn::default() }).expect("the world is empty");
        scene.spawn(bowl, Spawn::at([0.0, -2.0, -6.0])).expect("the world is empty");
    }

    fn action(&mut self, scene: &mut Scene, player: PlayerId, _: &str, arguments: &Value) {
        let aside = arguments.get("aside").and_then(Value::as_f64).unwrap_or(0.0) as f32;
        let marble = scene.kind("marble").expect("the definition has it");
        let spawn = Spawn { owner: Some(player), ..Spawn::at([aside, 3.0, 2.0]) };
        if let Err(error) = scene.spawn(marble, spawn.with("from", player.0)) {
            let _ = scene.emit("sorry", To::Player(player), error.to_string().into());
        }
    }

    fn contact(&mut self, scene: &mut Scene, contact: &Contact) {
        let marble = if scene.attribute(contact.a, "from").is_some() { contact.a } else { contact.b };
        let Some(Value::Int(player)) = scene.attribute(marble, "from").cloned() else { return };
        let key = format!("points of {player}");
        let points = scene.state(&key).and_then(Value::as_f64).unwrap_or(0.0) as i64 + 1;
        scene.set_state(&key, points).expect("a number is small");
        scene.show(None, &key, points).expect("there is room on the screen");
        scene.despawn(marble).expect("the marble exists");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fixed = |size| Body { friction: 0.2, ..Body::fixed(ColliderShape::Box { size }) };
    let marble = Body::dynamic(ColliderShape::Sphere { radius: 0.2 });
    let definition = Definition {
        kinds: vec![
            Kind::new("chute").with_body(fixed([2.0, 0.2, 8.0])),
            Kind::new("bowl").with_body(Body::sensor(ColliderShape::cube(5.0))).reporting_contacts(),
            Kind::new("marble").with_body(marble).with_attributes(Attributes::parse("from: u32")?),
        ],
        actions: vec![Action::new("drop", "aside: range(-0.8, 0.8, 0.1)")?],
        ..Definition::default()
    };
    let mut world = World::new(definition, 7, Box::new(Marbles))?;
    let ada = PlayerId(1);
    world.apply(Command::join(ada, "Ada"))?;
    for tick in 0..600 {
        if tick % 100 == 0 {
            let arguments = Value::Map(vec![("aside".into(), (tick as f64 / 1_000.0).into())]);
            world.apply(Command::Action { player: ada, name: "drop".into(), arguments })?;
        }
        world.step();
        while let Some(event) = world.poll_event() {
            if let Event::Screen { place, value, .. } = event {
                println!("{:5.2} s: {place}: {value:?}", world.scene().seconds());
            }
        }
    }
    Ok(())
}
