//! Randomly cut, doubled and shuffled worlds: each loads or is refused, and none crashes the engine.
//!
//! The long form: `NOWCAST_SEEDS=10000 cargo test -p nowcast-script --test script hostile`; coverage-guided: `cargo xtask fuzz definition`.

use crate::samples;
use nowcast_script::{Limits, MAIN, Script, Sources};
use nowcast_world::{Command, PlayerId, Random, World};

fn seeds() -> u64 {
    std::env::var("NOWCAST_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// Names, numbers and signs that replace others.
const WORDS: [&str; 14] = [
    "nil",
    "-1",
    "1e308",
    "0/0",
    "{}",
    "\"\"",
    "world",
    "function() end",
    "vector.zero",
    "2^53",
    "(",
    "=",
    "::",
    "true",
];

/// Returns a place where a text can be cut.
fn place(random: &mut Random, text: &str) -> usize {
    let mut at = (random.bits() % (text.len() as u64 + 1)) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Replaces a word of the text at, or soon after, a random place.
fn mutate(random: &mut Random, text: &str) -> String {
    let (a, b) = (place(random, text), place(random, text));
    let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 200));
    let to = (to..=text.len()).find(|at| text.is_char_boundary(*at)).expect("the end is a boundary");
    let piece = &text[from..to];
    let word = WORDS[(random.bits() % WORDS.len() as u64) as usize];
    let (before, after) = (&text[..from], &text[to..]);
    match random.bits() % 4 {
        0 => format!("{before}{after}"),
        1 => format!("{before}{piece}{piece}{after}"),
        _ => {
            let rest = piece.trim_start_matches(|c: char| !c.is_alphanumeric());
            let skipped = &piece[..piece.len() - rest.len()];
            let rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            format!("{before}{skipped}{word}{rest}{after}")
        }
    }
}

/// Loads a text and, if it loads, plays it for a moment. Returns whether it loaded.
fn survives(sources: &Sources) -> bool {
    let limits = Limits { work_per_step_max: 20_000, ..Limits::DEFAULT };
    let Ok(script) = Script::load(sources, limits) else { return false };
    let Ok(mut world) = World::new(script.definition(), 1, Box::new(script)) else { return false };
    let joined = world.apply(Command::join(PlayerId(1), "Ada"));
    joined.expect("the world has space for the player");
    for _ in 0..3 {
        world.step();
        while world.poll_event().is_some() {}
    }
    true
}

#[test]
fn a_randomly_changed_world_loads_or_is_refused() {
    let mut loaded = 0;
    for folder in samples::worlds() {
        let sources = samples::sources_of(&folder);
        for seed in 0..seeds() {
            let mut random = Random::new(seed);
            let mut text = sources.text(MAIN).expect("a world has rules").to_owned();
            for _ in 0..1 + random.bits() % 3 {
                text = mutate(&mut random, &text);
            }
            let mut changed = sources.clone();
            changed.insert(MAIN, text);
            loaded += usize::from(survives(&changed));
        }
    }
    assert!(loaded > 0, "some changes are harmless");
}
