//! Every function that scripts can call: its charge, and the work of a call with large arguments. docs/reference/costs.md is
//! generated from it.
//!
//! `NOWCAST_WRITE=1 cargo test --workspace --test script costs` writes the page.

mod library;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

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

/// Limits under which no call ends early, so that its whole work is measured. The memory limit is that of a world on a
/// server.
const LIMITS: Limits = Limits { work_per_step_max: 1 << 40, work_per_load_max: 1 << 40, ..Limits::DEFAULT };

/// Number of measured calls of a function whose work is constant.
const REPEATS: u64 = 1_000;

/// Entities, players and timers of the world in which functions of the API are measured.
const CRATES: u64 = 2_000;
const PLAYERS: u32 = 100;

/// Units of a call.
fn cost_in_sandbox(before: &str, call: &str) -> u64 {
    let text = format!("{before}\nreturn function() {call} end");
    let sources =
        Sources::from_iter([("world.luau", text.as_str()), ("more.luau", "return 1"), ("rest.luau", "")]);
    let sandbox = Sandbox::new(LIMITS).expect("a state is made");
    let function: Function = sandbox.load(&sources, []).unwrap_or_else(|fault| panic!("{call}: {fault}"));
    sandbox.begin_step();
    sandbox.run(|_| function.call::<()>(())).unwrap_or_else(|fault| panic!("{call}: {fault}"));
    sandbox.work()
}

/// Repeats a call, and returns the units of one.
fn cost_of_constant(call: &str) -> u64 {
    let before = "local b = buffer.create(64)";
    let cost = cost_in_sandbox(before, &format!("for _ = 1, {REPEATS} do local _ = {call} end"));
    assert!(cost >= REPEATS, "{call}: {REPEATS} calls cost {cost} units");
    cost / REPEATS
}

fn cost_of_declaration(row: &Row) -> u64 {
    let text = |call: &str| {
        format!(
            "local world = require('@nowcast/world') local Crate = world.kind('crate', {{}}) {}\n{call}",
            row.before
        )
    };
    let work = |call: &str| {
        let script = Script::load(&Sources::of_main(&text(call)), LIMITS);
        let script = script.unwrap_or_else(|fault| panic!("{}: {fault}", row.name));
        script.sandbox().work()
    };
    work(row.call) - work("")
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

fn cost_in_world(row: &Row) -> u64 {
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
        let join = Command::join(PlayerId(player), format!("p{player}"));
        world.apply(join).expect("the world accepts the command");
    }
    let mut costs = Vec::new();
    for _ in 0..7 {
        world.step();
        costs.push(console.work());
    }
    assert_eq!(console.poll_fault(), None, "{}", row.name);
    // The work of a step is known in the next step. The steps before and after the call show the cost of a step without the
    // call.
    let shown = &costs[3..];
    shown.iter().max().expect("there are steps") - shown.iter().min().expect("there are steps")
}

/// The charges of all rows, by name. Each call costs at least the units of its rule.
fn measured() -> BTreeMap<&'static str, &'static str> {
    let mut found = BTreeMap::new();
    let mut add = |row: &Row, units: u64| {
        assert!(
            !row.is_bounded || units >= row.units_min,
            "{}: `{}` costs {units} units, and the rule says {} at least",
            row.name,
            row.call,
            row.units_min
        );
        let before = found.insert(row.name, row.charge);
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

/// Compares the page with the table.
fn page_is_current(measured: &BTreeMap<&'static str, &'static str>) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/costs.md");
    let page = page(measured);
    if std::env::var_os("NOWCAST_WRITE").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page, "docs/reference/costs.md is not current; see the head of this file");
}

fn page(measured: &BTreeMap<&'static str, &'static str>) -> String {
    let mut page = String::from(HEAD);
    for (name, charge) in measured.iter().filter(|(_, charge)| **charge != "the call alone") {
        let _ = writeln!(page, "| `{name}` | {charge} |");
    }
    page
}

const HEAD: &str = "# Costs of functions

A step may use 200,000 work units, and loading the rules may use 2,000,000. Each call and each loop iteration costs one unit. The functions in this table cost more; all others cost the call alone. Values of at most 256 bytes or elements are free. The server stops a script that has used all units for the rest of the step (docs/how-to/interest.md, \"Stay within the budget\").

A world has 32 MiB of memory, which also limits the size of arguments. A watchdog ends a room if one step takes more than 10 s. This limits work that units do not count, such as
the comparison of two long texts by `<`. Functions of `@nowcast/test` run only in tests.

The test `crates/script/tests/costs.rs` generates this page, and fails if a function is missing or costs less than its rule.

| function | charge |
| --- | --- |
";
