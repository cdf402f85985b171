//! Loads a text as the rules of a world. The text loads or is refused. A world that loads runs for a few steps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_script::{Limits, Script, Sources};
use nowcast_world::{Command, PlayerId, World};

/// Limits far below those of a real world, so that a run ends soon.
const LIMITS: Limits = Limits {
    work_per_step_max: 5_000,
    work_per_load_max: 20_000,
    memory_bytes_max: 8 << 20,
    ..Limits::DEFAULT
};

fuzz_target!(|text: &str| {
    let Ok(script) = Script::load(&Sources::of_main(text), LIMITS) else { return };
    let definition = script.definition();
    definition.validate().expect("the declarations of a loaded script are valid");
    let mut world = World::new(definition.clone(), 1, Box::new(script)).expect("the definition was checked");
    world.apply(Command::join(PlayerId(1), "Ada")).expect("there is room");
    for action in &definition.actions {
        let arguments = nowcast_world::Value::Nil;
        world.apply(Command::Action { player: PlayerId(1), name: action.name.clone(), arguments }).ok();
    }
    for _ in 0..3 {
        world.step();
        while world.poll_event().is_some() {}
    }
    // The script made the state and the private data. Both must be writable and readable.
    let bytes = world.snapshot();
    let restored = World::restore(definition, Box::new(()), &bytes).expect("a world reads what it writes");
    assert_eq!(world.scene().all_state().count(), restored.scene().all_state().count());
});
