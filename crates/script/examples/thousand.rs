//! Time of a script that runs ten lines for each of a thousand entities in every step.
//!
//! `cargo run --release -p nowcast-script --example thousand`

use std::time::Instant;

use nowcast_script::{Limits, Script, Sources};
use nowcast_world::World;

const RULES: &str = r#"
local world = require("@nowcast/world")
local Walker = world.kind("walker", { attributes = { heat = { "f32", min = 0, max = 1, step = 0.01 } } })
world.on("start", function()
    for n = 1, 1000 do
        Walker:spawn { at = vector.create(n % 32, 0, n // 32), private = { goal = vector.create(n // 32, 0, n % 32) } }
    end
end)
LINES
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
    mine.age = (mine.age or 0) + dt
end)
"#;

const STEPS: usize = 1_200;

#[expect(clippy::disallowed_methods, reason = "an instrument reads a clock; the crate does not")]
fn main() {
    let limits = Limits { work_per_step_max: 10_000_000, ..Limits::DEFAULT };
    for (name, lines) in [("without a script for each", ""), ("ten lines for each", TEN_LINES)] {
        let sources = Sources::of_main(&RULES.replace("LINES", lines));
        let script = Script::load(&sources, limits).expect("the rules are right");
        let (definition, console) = (script.definition(), script.console());
        let mut world = World::new(definition, 1, Box::new(script)).expect("the definition is right");
        let mut times: Vec<f64> = (0..STEPS)
            .map(|_| {
                let begun = Instant::now();
                world.step();
                while world.poll_event().is_some() {}
                begun.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        assert_eq!(console.poll_fault(), None);
        let at = |share: f64| times[(STEPS as f64 * share) as usize];
        println!(
            "{name}: {STEPS} steps, p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
            at(0.5),
            at(0.99),
            times[STEPS - 1]
        );
    }
}
