//! Sample worlds and their restored copies stay equal to the last bit, for any input of players.
//!
//! The long form: `NOWCAST_SEEDS=1000 cargo test -p nowcast-script --test script determinism`.

use crate::samples;
use nowcast_script::{Console, Limits, Script, Sources};
use nowcast_world::{
    ApplyError, Attributes, Command, Definition, Event, Input, JoinRequest, PlayerId, Random, SavedData,
    Value, World,
};

const TICKS: u64 = 150;
const PLAYERS: u32 = 4;

/// Number of seeds for each world.
fn seeds() -> u64 {
    std::env::var("NOWCAST_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

fn load(sources: &Sources) -> (Script, Definition, Console) {
    let script = Script::load(sources, Limits::DEFAULT).expect("a sample world loads");
    let (definition, console) = (script.definition(), script.console());
    (script, definition, console)
}

fn below(random: &mut Random, bound: u64) -> u64 {
    random.bits() % bound
}

fn items(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

/// Makes a text: the place of a part of a panel, or a word.
fn text(random: &mut Random, world: &World) -> String {
    let mut texts = vec!["red".to_owned(), "shop-2".to_owned(), "hall".to_owned()];
    for action in &world.scene().definition().actions {
        for panel in items(action.hint.get("ui")) {
            let places = items(panel.get("parts")).iter().filter_map(|part| part.get("place")?.as_text());
            texts.extend(places.map(str::to_owned));
        }
    }
    texts.swap_remove(below(random, texts.len() as u64) as usize)
}

/// Lines of chat, of which some are commands.
const LINES: [&str; 6] = ["hello", "/help", "/give \"player 2\" 3", "/go shop-2", "/give nobody", "/nothing"];

/// Makes an argument of the right type, or one that is refused.
fn argument(random: &mut Random, world: &World) -> Value {
    let entities = world.entities().ids();
    match below(random, 7) {
        6 => Value::Text(text(random, world)),
        0 => Value::Bool(below(random, 2) == 0),
        1 => Value::F64(random.unit()),
        2 => Value::Int(random.bits() as i64 >> below(random, 64)),
        3 => Value::List((0..3).map(|_| Value::F32(random.signed() * 5.0)).collect()),
        // In most cases, the id belongs to an existing entity.
        _ if entities.is_empty() => Value::Nil,
        _ => Value::Int(entities[below(random, entities.len() as u64) as usize].0.into()),
    }
}

fn arguments(random: &mut Random, world: &World, of: &Attributes) -> Value {
    let pairs = of.fields().iter().enumerate().map(|(index, field)| {
        let mut value = argument(random, world);
        for _ in 0..8 {
            if of.conform(index, &value).is_ok() {
                break;
            }
            value = argument(random, world);
        }
        (Value::Text(field.name.clone()), value)
    });
    Value::Map(pairs.collect())
}

/// Lets a guest join, or a player with one of two accounts, with stored data or without.
fn join(random: &mut Random, player: PlayerId) -> Command {
    let name = format!("player {}", player.0);
    if below(random, 2) == 0 {
        return Command::join(player, name);
    }
    let coins = Value::Map(vec![(Value::Text("coins".to_owned()), Value::Int(below(random, 100) as i64))]);
    let stored = SavedData { version: 1, revision: 1 + below(random, 9), value: coins };
    let request = JoinRequest {
        name,
        is_program: false,
        roles: vec!["builder".to_owned()],
        account: Some(format!("account {}", below(random, 2))),
        saved: (below(random, 2) == 0).then_some(stored),
    };
    Command::Join { player, request }
}

/// Makes a random command of a player.
fn command(random: &mut Random, world: &World) -> Command {
    let player = PlayerId(1 + below(random, PLAYERS.into()) as u32);
    let is_here = world.scene().player(player).is_some();
    if !is_here {
        return join(random, player);
    }
    let actions = &world.scene().definition().actions;
    match below(random, 40) {
        0 => Command::Leave { player },
        1 => {
            let line = LINES[below(random, LINES.len() as u64) as usize];
            Command::Message { player, text: line.into() }
        }
        2..20 if !actions.is_empty() => {
            let action = &actions[below(random, actions.len() as u64) as usize];
            let arguments = arguments(random, world, &action.arguments);
            Command::Action { player, name: action.name.clone(), arguments }
        }
        _ => {
            let yaw = random.signed() * 3.0;
            let [run, jump] = [0, 1].map(|_| below(random, 3) == 0);
            let input = Input::new(random.signed(), random.signed(), yaw, run, jump);
            Command::Input { player, input: input.expect("these are within bounds") }
        }
    }
}

fn events_of(world: &mut World) -> Vec<Event> {
    std::iter::from_fn(|| world.poll_event()).collect()
}

/// Plays a world and, from random steps on, a restored copy, and compares them after every step.
fn play(name: &str, sources: &Sources, seed: u64) {
    let mut random = Random::new(seed ^ 0x5eed);
    let (script, definition, console) = load(sources);
    let mut world = World::new(definition, seed, Box::new(script)).expect("a definition was checked");
    // Only the original world has the events of the start.
    let _ = events_of(&mut world);
    let mut other: Option<(World, Console)> = None;
    for tick in 0..TICKS {
        if below(&mut random, 30) == 0 {
            let bytes = world.snapshot();
            let (script, definition, console) = load(sources);
            let restored =
                World::restore(definition, Box::new(script), &bytes).expect("the bytes are a snapshot");
            assert_eq!(world.hash(), restored.hash(), "{name}, seed {seed}: restored at step {tick}");
            other = Some((restored, console));
        }
        for _ in 0..below(&mut random, 3) {
            let command = command(&mut random, &world);
            let mut applied: Vec<Result<(), ApplyError>> = vec![world.apply(command.clone())];
            applied.extend(other.as_mut().map(|(other, _)| other.apply(command)));
            assert!(applied.iter().all(Result::is_ok), "{name}, seed {seed}, step {tick}: {applied:?}");
        }
        world.step();
        let told = events_of(&mut world);
        if let Some((other, console)) = &mut other {
            other.step();
            assert_eq!(told, events_of(other), "{name}, seed {seed}, step {tick}: told");
            assert_eq!(console.poll_fault(), None, "{name}, seed {seed}, step {tick}");
            if tick % 10 == 0 || tick == TICKS - 1 {
                assert_eq!(world.hash(), other.hash(), "{name}, seed {seed}: differ after step {tick}");
            }
        }
        assert_eq!(console.poll_fault(), None, "{name}, seed {seed}, step {tick}");
    }
}

#[test]
fn a_sample_world_and_its_restored_copy_stay_equal() {
    for folder in samples::worlds() {
        let sources = samples::sources_of(&folder);
        for seed in 0..seeds() {
            play(&folder.display().to_string(), &sources, seed);
        }
    }
}

#[test]
fn commands_portals_and_panels_survive_restores_in_every_play() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mechanisms");
    let sources = samples::sources_of(&folder);
    for seed in 0..seeds() {
        play("mechanisms", &sources, seed);
    }
}

/// In the play of this seed, a second player joins with an account of the world, and with newer data of it.
#[test]
fn a_second_player_of_an_account_finds_the_data_of_the_world() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mechanisms");
    play("mechanisms", &samples::sources_of(&folder), 348);
}

/// In the play of this seed, the goal of a guard is inside a wall, and the guard stands at the nearest free place.
#[test]
fn a_walker_at_the_place_nearest_to_a_blocked_goal_has_a_path() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mechanisms");
    play("mechanisms", &samples::sources_of(&folder), 458);
}

#[test]
fn the_same_seed_and_commands_give_the_same_world() {
    for folder in samples::worlds() {
        let sources = samples::sources_of(&folder);
        let hashes = [0; 2].map(|_| {
            let mut random = Random::new(9);
            let (script, definition, _) = load(&sources);
            let mut world = World::new(definition, 9, Box::new(script)).expect("a definition was checked");
            for _ in 0..100 {
                let command = command(&mut random, &world);
                world.apply(command).expect("the world accepts the command");
                world.step();
            }
            world.hash()
        });
        assert_eq!(hashes[0], hashes[1], "{}", folder.display());
    }
}
