//! Every function that scripts can call: its charge, and the work of a call with large arguments. docs/COSTS.md is
//! generated from it.
//!
//! `NOWCAST_WRITE=1 cargo test --workspace --test script costs` writes the page, with times of this machine.

#![expect(clippy::disallowed_methods, reason = "the page shows measured times")]

mod library;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use mlua::{Function, Table, Value};
use nowcast_script::{Limits, Sandbox, Script, Sources, arguments_of, names_of};
use nowcast_world::{Command, PlayerId, World};

/// One function.
struct Row {
    name: &'static str,
    /// The rule by which a call is charged.
    charge: &'static str,
    /// Luau that runs before the call without a charge.
    before: &'static str,
    call: &'static str,
    /// The minimum cost of the call in units, by the rule in `charge`.
    units_min: u64,
    /// Whether units bound the time of a call. Otherwise only the watchdog bounds it.
    is_bounded: bool,
}

impl Row {
    const fn of(
        name: &'static str,
        charge: &'static str,
        before: &'static str,
        call: &'static str,
        units_min: u64,
    ) -> Row {
        Row { name, charge, before, call, units_min, is_bounded: true }
    }

    const fn unbounded(
        name: &'static str,
        charge: &'static str,
        before: &'static str,
        call: &'static str,
    ) -> Row {
        Row { name, charge, before, call, units_min: 0, is_bounded: false }
    }
}

/// Work of a call: units, and time.
#[derive(Clone, Copy)]
struct Cost {
    units: u64,
    time: Duration,
}

/// Limits under which no call ends early, so that its whole work is measured. The memory limit is that of a world on a
/// server.
const LIMITS: Limits = Limits { work_per_step_max: 1 << 40, work_per_load_max: 1 << 40, ..Limits::DEFAULT };

/// Number of measured calls of a function whose work is constant.
const REPEATS: u64 = 1_000;

/// Entities, players and timers of the world in which functions of the API are measured.
const CRATES: u64 = 2_000;
const PLAYERS: u32 = 100;

fn cost_in_sandbox(before: &str, call: &str) -> Cost {
    let text = format!("{before}\nreturn function() {call} end");
    let sources =
        Sources::from_iter([("world.luau", text.as_str()), ("more.luau", "return 1"), ("rest.luau", "")]);
    let sandbox = Sandbox::new(LIMITS).expect("a state is made");
    let function: Function = sandbox.load(&sources, []).unwrap_or_else(|fault| panic!("{call}: {fault}"));
    sandbox.begin_step();
    let begin = Instant::now();
    sandbox.run(|_| function.call::<()>(())).unwrap_or_else(|fault| panic!("{call}: {fault}"));
    Cost { units: sandbox.work(), time: begin.elapsed() }
}

/// Repeats a call and returns the work of one.
fn cost_of_constant(call: &str) -> Cost {
    let before = "local b = buffer.create(64)";
    let cost = cost_in_sandbox(before, &format!("for _ = 1, {REPEATS} do local _ = {call} end"));
    assert!(cost.units >= REPEATS, "{call}: {REPEATS} calls cost {} units", cost.units);
    Cost { units: cost.units / REPEATS, time: cost.time / REPEATS as u32 }
}

fn cost_of_declaration(row: &Row) -> Cost {
    let text = |call: &str| {
        format!(
            "local world = require('@nowcast/world') local Crate = world.kind('crate', {{}}) {}\n{call}",
            row.before
        )
    };
    let work = |call: &str| {
        let begin = Instant::now();
        let script = Script::load(&Sources::of_main(&text(call)), LIMITS);
        let script = script.unwrap_or_else(|fault| panic!("{}: {fault}", row.name));
        Cost { units: script.sandbox().work(), time: begin.elapsed() }
    };
    let (without, with) = (work(""), work(row.call));
    Cost { units: with.units - without.units, time: with.time.saturating_sub(without.time) }
}

/// The world in which functions are measured. Its crates do not touch each other, and a joint connects two balls.
const WORLD: &str = "
    local world = require('@nowcast/world')
    world.settings { entities_max = 20000, rewind = true }
    local Crate = world.kind('crate', { body = { motion = 'kinematic', shape = 'box', size = vector.one }, attributes = { any = 'any' }, tags = { 'crate' } })
    local Ball = world.kind('ball', { body = { shape = 'sphere', radius = 1 } })
    local Person = world.kind('person', { walker = {} })
    local Rock = world.kind('rock', { body = { shape = 'hull', points = { vector.zero, vector.one, vector.create(1, 0, 0), vector.create(0, 1, 0) } } })
    world.timer('bell', print)
    world.saved { default = { list = {} } }
    world.event('declared', { team = 'text' })
    local crate, ball, other, joint, walker, player
    world.on('start', function()
        for i = 0, CRATES - 1 do crate = Crate:spawn { at = vector.create(i % 50 * 3, 0, i // 50 * 3) } end
        ball, other = Ball:spawn { at = vector.create(-10, 9, 0) }, Ball:spawn { at = vector.create(-20, 9, 0) }
        walker = Person:spawn { at = vector.create(-30, 1, 0) }
        joint = world.joint(ball, other, {})
        for i = 1, 1000 do world.after(1000 + i, 'bell') end
    end)
    world.on('join', function(new) new:spawn_avatar(Ball, { at = vector.create(-100, 3 * new.id, 0) }) player = new end)
";

fn cost_in_world(row: &Row) -> Cost {
    let text = format!(
        "{WORLD}\n{}\nworld.on('step', function() if world.tick() == 4 then (function() {} end)() end end)",
        row.before, row.call
    );
    let text = text.replace("CRATES", &CRATES.to_string());
    let script = Script::load(&Sources::of_main(&text), LIMITS);
    let script = script.unwrap_or_else(|fault| panic!("{}: {fault}", row.name));
    let (definition, console) = (script.definition(), script.console());
    let mut world = World::new(definition, 1, Box::new(script)).expect("a definition was checked");
    for player in 1..=PLAYERS {
        let join = Command::Join { player: PlayerId(player), name: format!("p{player}") };
        world.apply(join).expect("the world accepts the command");
    }
    let mut costs = Vec::new();
    for _ in 0..7 {
        let begin = Instant::now();
        world.step();
        costs.push(Cost { units: console.work(), time: begin.elapsed() });
    }
    assert_eq!(console.poll_fault(), None, "{}", row.name);
    // The work of a step is known in the next step. The steps before and after the call show the cost of a step without the
    // call.
    let most = costs.iter().enumerate().skip(3).max_by_key(|(_, cost)| cost.units).expect("there are steps");
    let (at, least) = (most.0 - 1, costs.iter().skip(3).map(|cost| cost.units).min().unwrap_or(0));
    let time = costs[at].time.saturating_sub(costs[at - 1].time);
    Cost { units: most.1.units - least, time }
}

/// All rows with their costs, by name.
fn measured() -> BTreeMap<&'static str, (&'static str, &'static str, Cost)> {
    let mut found = BTreeMap::new();
    let mut add = |row: &Row, cost: Cost| {
        assert!(
            !row.is_bounded || cost.units >= row.units_min,
            "{}: `{}` costs {} units, and the rule says {} at least",
            row.name,
            row.call,
            cost.units,
            row.units_min
        );
        let before = found.insert(row.name, (row.charge, row.call, cost));
        assert!(before.is_none(), "{} stands in the table twice", row.name);
    };
    for (name, call) in library::CONSTANT {
        add(&Row::of(name, "the call alone", "", call, 1), cost_of_constant(call));
    }
    library::SIZED.iter().for_each(|row| add(row, cost_in_sandbox(row.before, row.call)));
    world::DECLARING.iter().for_each(|row| add(row, cost_of_declaration(row)));
    world::RUNNING.iter().for_each(|row| add(row, cost_in_world(row)));
    found
}

/// The names of all functions of the library, as a script finds them.
fn library_names() -> BTreeSet<String> {
    let sandbox = Sandbox::new(Limits::DEFAULT).expect("a state is made");
    let mut names = BTreeSet::from(["require".to_owned()]);
    let globals = sandbox.lua().globals();
    for (name, value) in globals.pairs::<String, Value>().flatten() {
        match value {
            Value::Function(_) => drop(names.insert(name)),
            Value::Table(library) if name != "_G" => names.extend(functions_of(&name, &library)),
            _ => {}
        }
    }
    names
}

fn functions_of(library: &str, table: &Table) -> Vec<String> {
    let fields = table.pairs::<String, Value>().flatten();
    fields.filter(|(_, value)| value.is_function()).map(|(field, _)| format!("{library}.{field}")).collect()
}

/// The names of all functions of the API, and of the fields of entities, whose reading and setting are functions too.
fn api_names() -> BTreeSet<String> {
    let mut names = BTreeSet::from(["entity[attribute]".to_owned(), "world.state".to_owned()]);
    let functions =
        |of: &'static str| names_of(of).into_iter().filter(move |name| arguments_of(of, name).is_some());
    names.extend(functions("World").map(|name| format!("world.{name}")));
    names.extend(functions("Kind").map(|name| format!("Kind:{name}")));
    names.extend(names_of("Entity").into_iter().map(|name| {
        let sign = if arguments_of("Entity", name).is_some() { ':' } else { '.' };
        format!("entity{sign}{name}")
    }));
    names
}

#[test]
fn every_function_that_scripts_can_call_is_in_the_table_and_costs_what_its_rule_says() {
    let measured = measured();
    let listed: BTreeSet<String> = measured.keys().map(|name| (*name).to_owned()).collect();
    let there: BTreeSet<String> = library_names().union(&api_names()).cloned().collect();
    let missing: Vec<_> = there.difference(&listed).collect();
    assert!(missing.is_empty(), "the table lacks {missing:?}");
    let gone: Vec<_> = listed.difference(&there).collect();
    assert!(gone.is_empty(), "no script can call {gone:?}");
    page_is_current(&measured);
}

/// Compares the page with the table, apart from the times, which differ from run to run.
fn page_is_current(measured: &BTreeMap<&'static str, (&'static str, &'static str, Cost)>) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/COSTS.md");
    let page = page(measured);
    if std::env::var_os("NOWCAST_WRITE").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let timeless = |page: &str| -> Vec<String> {
        page.lines().map(|line| line.rsplit_once(" | ").map_or(line, |(rest, _)| rest).to_owned()).collect()
    };
    let (written, expected) = (timeless(&written), timeless(&page));
    for (found, expected) in written.iter().zip(&expected) {
        assert_eq!(found, expected, "docs/COSTS.md is not current; see the head of this test");
    }
    assert_eq!(written.len(), expected.len(), "docs/COSTS.md is not current; see the head of this test");
}

fn page(measured: &BTreeMap<&'static str, (&'static str, &'static str, Cost)>) -> String {
    let mut page = String::from(HEAD);
    for (name, (charge, call, Cost { units, time })) in measured {
        let micros = time.as_nanos() as f64 / 1_000.0;
        let time = if micros < 10.0 { format!("{micros:.2}") } else { format!("{micros:.0}") };
        let call = call.replace('|', "\\|");
        let _ = writeln!(page, "| `{name}` | {charge} | `{call}` | {units} | {time} |");
    }
    page
}

const HEAD: &str = "# Costs of functions

Every function that the rules of a world can call, its charge, and the cost of a call with large arguments. A step has 200,000 units of
work, a load 2,000,000 (`crates/script/src/limits.rs`). Each call and each loop iteration costs one unit. The charge
column lists what a function costs in addition. Values of at most 256 bytes or elements are free. When the units of a step are used up, the
script is stopped in this step (docs/WORLDS.md, \"Limits\").

The largest arguments are bounded by the memory of a world, 32 MiB: a call that makes more than that fails for memory. Functions of the API were
called in a world of 2,000 bodies, 100 players and 1,000 timers. Times are those of one run in a debug build, with Luau and physics optimised;
they vary from run to run. A step that takes more than 10 s ends its room: the watchdog bounds what units do not, such as the
comparison of two long texts by `<`, and the functions below whose rule says so. Functions of `@nowcast/test` run in tests alone and cost what a load costs.

`crates/script/tests/costs.rs` makes this page, and fails when a function is missing or costs less than its rule.

| function | charge | a call with large arguments | units | µs |
| --- | --- | --- | --- | --- |
";
