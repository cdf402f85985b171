//! A thousand entities that ten lines of rules move in every step: in Luau, in Rust, and without any rules.

use nowcast_script::{Console, Limits, Script, Sources};
use nowcast_world::{Attributes, Behaviour, Definition, EntityId, Kind, Pose, Scene, Spawn, Value, World};

use super::{Plan, Result, ScriptError, milliseconds, thread_time};
use crate::report::Samples;

const ENTITIES: u32 = 1_000;

/// The part of the script that is the same with and without the ten lines.
const BEGINNING: &str = r#"
local world = require("@nowcast/world")
local Walker = world.kind("walker", { attributes = { heat = { "f32", min = 0, max = 1, step = 0.01 } } })
world.on("start", function()
    for n = 0, 999 do
        Walker:spawn { at = vector.create(n % 32, 0, n // 32), private = { goal = vector.create(n // 32, 0, n % 32), age = 0 } }
    end
end)
"#;

const TEN_LINES: &str = r#"
Walker:on("step", function(walker, dt)
    local at, mine = walker.position, walker.private
    local way = mine.goal - at
    local distance = vector.magnitude(way)
    if distance < 0.1 then
        mine.goal = vector.create(at.z, 0, at.x)
        walker.heat = 0
    else
        walker.position = at + way * (dt / distance)
    end
    mine.age += dt
end)
"#;

/// Milliseconds of processor time of each step.
pub(super) struct Thousand {
    pub(super) resting: Samples,
    pub(super) luau: Samples,
    pub(super) rust: Samples,
}

/// Steps the three worlds alternately, so that noise of the machine affects all worlds alike.
pub(super) fn run(plan: &Plan) -> Result<Thousand> {
    let (mut resting, resting_console) = scripted(plan, BEGINNING.into())?;
    let (mut luau, luau_console) = scripted(plan, format!("{BEGINNING}{TEN_LINES}"))?;
    let mut rust = World::new(definition()?, plan.seed, Box::new(Walkers))?;
    let mut all = Thousand { resting: Samples::new(), luau: Samples::new(), rust: Samples::new() };
    for _ in 0..plan.steps {
        all.resting.push(step(&mut resting));
        all.luau.push(step(&mut luau));
        all.rust.push(step(&mut rust));
    }
    for console in [resting_console, luau_console] {
        if let Some(fault) = console.poll_fault() {
            return Err(ScriptError::Rules { of: "a thousand entities", fault });
        }
    }
    same_places(&luau, &rust)?;
    Ok(all)
}

fn step(world: &mut World) -> f64 {
    let begun = thread_time();
    world.step();
    while world.poll_event().is_some() {}
    milliseconds(thread_time() - begun)
}

fn scripted(plan: &Plan, text: String) -> Result<(World, Console)> {
    let rules = |fault| ScriptError::Rules { of: "a thousand entities", fault };
    let script = Script::load(&Sources::of_main(&text), Limits::DEFAULT).map_err(rules)?;
    let (definition, console) = (script.definition(), script.console());
    Ok((World::new(definition, plan.seed, Box::new(script))?, console))
}

/// Checks that both worlds had the same results. Otherwise their times could not be compared.
fn same_places(luau: &World, rust: &World) -> Result<()> {
    let apart = luau.entities().iter().zip(rust.entities().iter()).map(|(a, b)| {
        let ways = a.pose.position.iter().zip(b.pose.position).map(|(a, b)| (a - b).abs());
        ways.fold(0.0, f32::max)
    });
    let farthest = apart.fold(0.0, f32::max);
    let counts = [luau.entities().len(), rust.entities().len()];
    if counts == [ENTITIES as usize; 2] && farthest < 0.05 {
        return Ok(());
    }
    let reason = format!("the two worlds have {counts:?} entities, up to {farthest} m apart");
    Err(ScriptError::Wrong { of: "a thousand entities", reason })
}

/// The ten lines in Rust. Values that last from step to step are stored in the world, like the values of a script.
struct Walkers;

fn definition() -> Result<Definition> {
    let attributes = Attributes::parse("heat: range(0, 1, 0.01)")?;
    Ok(Definition { kinds: vec![Kind { attributes, ..Kind::new("walker") }], ..Definition::default() })
}

fn private(goal: [f32; 3], age: f64) -> Value {
    Value::Map(vec![
        ("age".into(), Value::F64(age)),
        ("goal".into(), Value::List(goal.map(Value::F32).to_vec())),
    ])
}

fn goal_and_age(private: &Value) -> Option<([f32; 3], f64)> {
    let Some(Value::List(goal)) = private.get("goal") else { return None };
    let goal: Vec<f32> = goal.iter().filter_map(Value::as_f64).map(|part| part as f32).collect();
    Some((goal.try_into().ok()?, private.get("age")?.as_f64()?))
}

impl Behaviour for Walkers {
    fn start(&mut self, scene: &mut Scene) {
        let kind = scene.kind("walker").expect("the definition has this kind");
        for n in 0..ENTITIES {
            let (low, high) = ((n % 32) as f32, (n / 32) as f32);
            let spawn = Spawn { private: private([high, 0.0, low], 0.0), ..Spawn::at([low, 0.0, high]) };
            scene.spawn(kind, spawn).expect("there is room");
        }
    }

    fn step(&mut self, scene: &mut Scene) {
        const STEP_SECONDS: f32 = 1.0 / 60.0;
        let kind = scene.kind("walker").expect("the definition has this kind");
        let of_kind = scene.entities().iter().filter(|entity| entity.kind == kind);
        let walkers: Vec<EntityId> = of_kind.map(|entity| entity.id).collect();
        for walker in walkers {
            let Some((pose, mine)) = scene.pose(walker).zip(scene.private(walker)) else { continue };
            let Some((mut goal, age)) = goal_and_age(mine) else { continue };
            let at = pose.position;
            let way = [0, 1, 2].map(|axis| goal[axis] - at[axis]);
            let distance = way.iter().map(|part| part * part).sum::<f32>().sqrt();
            if distance < 0.1 {
                goal = [at[2], 0.0, at[0]];
                scene.set_attribute(walker, "heat", 0.0).expect("every walker has this attribute");
            } else {
                let position = [0, 1, 2].map(|axis| at[axis] + way[axis] * (STEP_SECONDS / distance));
                scene.set_pose(walker, Pose { position, ..pose }).expect("the position is within bounds");
            }
            let mine = private(goal, age + f64::from(STEP_SECONDS));
            scene.set_private(walker, mine).expect("the private state is small");
        }
    }
}
