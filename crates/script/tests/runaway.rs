//! Runaway rules in a world: each is stopped and reported in every step, and the world continues.

use nowcast_script::{Console, FaultKind, Limits, Script, Sources};
use nowcast_world::{Command, PlayerId, World};

const STEPS: u64 = 3;

/// Makes a world whose rules count each step and then run `work`.
fn world(work: &str) -> (World, Console) {
    let text = format!(
        "local world = require('@nowcast/world')
        local Crate = world.kind('crate', {{ body = {{ shape = 'box', size = vector.one }} }})
        world.state {{ steps = 0 }}
        world.on('step', function() world.state.steps += 1 end)
        world.on('step', function() {work} end)
        world.on('join', function(player) player:spawn_avatar(Crate) end)"
    );
    let script = Script::load(&Sources::of_main(&text), Limits::DEFAULT).expect("the rules load");
    let (definition, console) = (script.definition(), script.console());
    (World::new(definition, 1, Box::new(script)).expect("a definition was checked"), console)
}

/// Plays the world, and checks that each step reports one fault.
fn is_reported_once_a_step(kind: FaultKind, work: &str) {
    let (mut world, console) = world(work);
    for _ in 0..STEPS {
        world.step();
    }
    let faults: Vec<_> = std::iter::from_fn(|| console.poll_fault()).collect();
    let kinds: Vec<_> = faults.iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [kind; STEPS as usize], "{work}: {faults:?}");
    assert_eq!(world.scene().state("steps").and_then(|steps| steps.as_f64()), Some(STEPS as f64), "{work}");
    world.apply(Command::join(PlayerId(1), "Ada")).expect("the world accepts the command");
    world.step();
    let ada = world.scene().player(PlayerId(1)).expect("Ada is in the world");
    assert!(ada.avatar.is_some(), "{work}: she has a body");
}

#[test]
fn endless_work_is_stopped_and_reported_once_a_step() {
    is_reported_once_a_step(FaultKind::Work, "while true do end");
    is_reported_once_a_step(FaultKind::Work, "while true do pcall(error) end");
    is_reported_once_a_step(FaultKind::Work, "string.find(string.rep('a', 1e5), '.-.-.-.-b')");
    is_reported_once_a_step(
        FaultKind::Work,
        "local function deep() return 1 + deep() end while true do pcall(deep) end",
    );
    is_reported_once_a_step(
        FaultKind::Work,
        "for n = 1, 1e6 do Crate:spawn { at = vector.create(0, 2 * n, 0) }:despawn() end",
    );
}

#[test]
fn bodies_spawned_or_teleported_to_one_point_are_refused_by_name_in_every_step() {
    let spawns = "for n = 1, 1900 do Crate:spawn { at = vector.zero } end";
    let teleports = "for n = 1, 1900 do
        local crate = Crate:spawn { at = vector.create(2 * n, 0, 100 + 2 * world.state.steps) }
        crate.position = vector.zero
    end";
    for work in [spawns, teleports] {
        let (mut world, console) = world(work);
        for _ in 0..STEPS {
            world.step();
        }
        let faults: Vec<_> = std::iter::from_fn(|| console.poll_fault()).collect();
        assert!(!faults.is_empty(), "{work}");
        for fault in faults {
            let cause = fault.to_string();
            assert!(cause.contains("too many bodies overlap here"), "{cause}");
            assert!(cause.contains("Put bodies next to one another"), "{cause}");
        }
        assert!(world.entities().len() < 500, "{work}: {} bodies", world.entities().len());
    }
}

#[test]
fn endless_memory_is_reported_once_a_step() {
    is_reported_once_a_step(
        FaultKind::Memory,
        "local kept = {} while true do kept[#kept + 1] = string.rep('x', 1e4) .. #kept end",
    );
    is_reported_once_a_step(
        FaultKind::Memory,
        "local kept = {} while true do table.insert(kept, coroutine.create(print)) end",
    );
}

#[test]
fn the_work_of_start_is_not_charged_to_the_first_player() {
    // Two thirds of a step's work in "start", and the same again when a player joins.
    let text = "local world = require('@nowcast/world')
        local Crate = world.kind('crate', { body = { shape = 'box', size = vector.one } })
        local function work() for _ = 1, 130000 do end end
        world.on('start', work)
        world.on('join', function(player) work(); player:spawn_avatar(Crate) end)";
    let script = Script::load(&Sources::of_main(text), Limits::DEFAULT).expect("the rules load");
    let (definition, console) = (script.definition(), script.console());
    let mut world = World::new(definition, 1, Box::new(script)).expect("a definition was checked");
    world.apply(Command::join(PlayerId(1), "Ada")).expect("the world accepts the command");
    world.step();
    assert_eq!(console.poll_fault(), None);
    assert!(world.scene().player(PlayerId(1)).expect("Ada is in the world").avatar.is_some());
}
