//! Replacement of rules while players are in the world.

use nowcast_script::{FaultKind, Limits, Live, PROBATION_STEPS, Report, ResumeError, Sources};
use nowcast_world::{Command, Event, PlayerId, Refusal, Value, World};

const COUNTER: &str = r#"
local world = require("@nowcast/world")
world.state { count = 0, by = 1 }
world.on("step", function() world.state.count += STEP end)
world.on("join", function(player) world.state[player.name] = true end)
"#;

fn counting_by(step: &str) -> Sources {
    Sources::of_main(&COUNTER.replace("STEP", step))
}

fn live() -> Live {
    let mut live = Live::new(counting_by("1"), 1, Limits::DEFAULT).unwrap();
    assert!(matches!(live.poll_report(), Some(Report::Runs { version, tick: 0 }) if version.number == 1));
    live
}

fn count(live: &Live) -> f64 {
    live.world().scene().state("count").and_then(Value::as_f64).unwrap()
}

fn steps(live: &mut Live, steps: u64) {
    (0..steps).for_each(|_| live.step());
}

#[test]
fn a_new_version_runs_from_the_next_step_with_the_old_state() {
    let mut live = live();
    steps(&mut live, 10);
    live.apply(Command::join(PlayerId(1), "Ada")).unwrap();
    let version = live.reload(counting_by("100")).unwrap();
    assert_eq!((version.number, version.hash), (2, counting_by("100").hash()));
    steps(&mut live, 3);
    assert_eq!(count(&live), 310.0);
    assert_eq!(live.world().tick(), 13);
    assert_eq!(live.world().scene().state("Ada"), Some(&Value::Bool(true)));
    assert_eq!(live.poll_report(), Some(Report::Runs { version, tick: 10 }));
    assert_eq!(live.poll_report(), None);
}

#[test]
fn a_version_that_does_not_load_changes_nothing() {
    let (mut live, mut other) = (live(), live());
    steps(&mut live, 10);
    steps(&mut other, 10);
    for (text, line, kind) in [
        ("local x =", 1, FaultKind::Syntax),
        ("\n\nerror('no')", 3, FaultKind::Runtime),
        ("\nwhile true do end", 2, FaultKind::Work),
        (
            "local world = require('@nowcast/world')\nworld.kind('a', { body = { shape = 'blob' } })",
            2,
            FaultKind::Runtime,
        ),
    ] {
        let fault = live.reload(Sources::of_main(text)).unwrap_err();
        assert_eq!(
            (fault.file.as_deref(), fault.line, fault.kind),
            (Some("world.luau"), Some(line), kind),
            "{fault}"
        );
        assert!(matches!(live.poll_report(), Some(Report::Refused { fault: told, .. }) if told == fault));
    }
    assert_eq!(live.version().number, 1);
    steps(&mut live, 10);
    steps(&mut other, 10);
    assert_eq!(live.world().hash(), other.world().hash());
}

#[test]
fn a_version_that_fails_in_its_first_steps_is_rolled_back_with_its_changes() {
    let mut live = live();
    steps(&mut live, 10);
    let bad = live
        .reload(counting_by("100 world.state.ruined = true if world.tick() == 15 then error('broken') end"))
        .unwrap();
    steps(&mut live, 2);
    assert_eq!(count(&live), 210.0);
    live.apply(Command::join(PlayerId(4), "Bo")).unwrap();
    steps(&mut live, 4);
    assert_eq!(live.version().number, 1);
    assert_eq!(live.world().scene().state("ruined"), None);
    assert_eq!(count(&live), 10.0);
    let reports: Vec<_> = std::iter::from_fn(|| live.poll_report()).collect();
    let Some(Report::RolledBack { version, to, fault }) = reports.last() else { panic!("{reports:?}") };
    assert_eq!((*version, to.number), (bad, 1));
    assert_eq!((fault.line, fault.message.as_str()), (Some(4), "broken"));
    // A player that joined in the meantime is still there.
    steps(&mut live, 2);
    assert_eq!(count(&live), 12.0);
    assert!(live.world().scene().player(PlayerId(4)).is_some());
    assert_eq!(live.world().scene().state("Bo"), Some(&Value::Bool(true)));
}

#[test]
fn lines_printed_by_a_version_that_is_rolled_back_are_kept() {
    let mut live = live();
    live.reload(counting_by("1 print('count', world.state.count) error('broken')")).unwrap();
    steps(&mut live, 1);
    assert_eq!(live.version().number, 1);
    let lines: Vec<_> = std::iter::from_fn(|| live.poll_line()).collect();
    assert_eq!(lines, ["count 1"]);
    // An upgrade that fails is a version that never ran.
    let upgrade = "local world = require('@nowcast/world')
        world.on('upgrade', function() print('upgrading') error('broken') end)";
    live.reload(Sources::of_main(upgrade)).unwrap_err();
    assert_eq!(live.poll_line().as_deref(), Some("upgrading"));
    assert_eq!(live.poll_line(), None);
}

#[test]
fn a_version_that_fails_later_runs_on_and_is_reported() {
    let mut live = live();
    let later = PROBATION_STEPS + 5;
    live.reload(counting_by(&format!("1 if world.tick() == {later} then error('late') end"))).unwrap();
    steps(&mut live, later + 2);
    assert_eq!(live.version().number, 2);
    let reports: Vec<_> = std::iter::from_fn(|| live.poll_report()).collect();
    assert!(
        matches!(reports.last(), Some(Report::Failed { fault, .. }) if fault.message == "late"),
        "{reports:?}"
    );
    assert_eq!(count(&live), (later + 2) as f64);
}

#[test]
fn a_runaway_script_is_stopped_in_its_step_and_counted() {
    let text = r#"
        local world = require("@nowcast/world")
        world.state { steps = 0 }
        world.on("step", function()
            world.state.steps += 1
            while true do end
        end)"#;
    let mut live = Live::new(Sources::of_main(text), 1, Limits::DEFAULT).unwrap();
    steps(&mut live, 3);
    let reports: Vec<_> = std::iter::from_fn(|| live.poll_report()).collect();
    let faults = reports.iter().filter(|report| {
        matches!(report, Report::Failed { fault, .. } if fault.kind == FaultKind::Work && fault.line == Some(6))
    });
    assert_eq!(faults.count(), 3, "{reports:?}");
    assert_eq!(live.world().scene().state("steps"), Some(&Value::Int(3)));
    assert_eq!(live.stats().steps_stopped, 3);
}

#[test]
fn a_resumed_world_repeats_no_events_or_reports() {
    let mut live = live();
    steps(&mut live, 10);
    live.apply(Command::join(PlayerId(1), "Ada")).unwrap();
    live.reload(counting_by("100")).unwrap();
    steps(&mut live, 5);
    let snapshot = live.parts().0.snapshot();
    let restore = |sources: &Sources| {
        Live::resume(sources.clone(), Limits::DEFAULT, |definition, rules| {
            World::restore(definition, rules, &snapshot)
        })
    };
    let mut again = restore(live.sources()).unwrap();
    assert_eq!(again.world().hash(), live.world().hash());
    assert!(matches!(again.poll_report(), Some(Report::Runs { version, tick: 15 }) if version.number == 1));
    assert_eq!((again.poll_report(), again.poll_event()), (None, None));
    steps(&mut live, 5);
    steps(&mut again, 5);
    assert_eq!((count(&again), again.world().hash()), (1_010.0, live.world().hash()));
    assert!(matches!(restore(&Sources::of_main("local x =")), Err(ResumeError::Rules(_))));
}

const SHOP: &str = r#"
local world = require("@nowcast/world")
world.state { sold = 0, waved = 0 }
world.action("buy", {}, function() world.state.sold += 1 end, { durable = true, label = "Buy" })
world.action("wave", {}, function() world.state.waved += 1 end, { label = "Wave" })
"#;

#[test]
fn a_durable_action_survives_the_rollback_of_its_version() {
    let mut live = Live::new(Sources::of_main(SHOP), 1, Limits::DEFAULT).unwrap();
    live.apply(Command::join(PlayerId(1), "Ada")).unwrap();
    live.step();
    let faulty = format!("{SHOP}\nworld.on('step', function() if world.tick() > 5 then error('no') end end)");
    let tried = live.reload(Sources::of_main(&faulty)).unwrap();
    for name in ["buy", "wave"] {
        let arguments = Value::Map(Vec::new());
        live.apply(Command::Action { player: PlayerId(1), name: name.into(), arguments }).unwrap();
    }
    live.step();
    let sum = |live: &Live, name: &str| live.world().scene().state(name).and_then(Value::as_f64);
    assert_eq!((sum(&live, "sold"), sum(&live, "waved")), (Some(1.0), Some(1.0)));
    while live.version() == tried {
        live.step();
    }
    // The restored rules have carried out the durable action once more.
    live.step();
    assert_eq!((sum(&live, "sold"), sum(&live, "waved")), (Some(1.0), Some(0.0)));
}

#[test]
fn an_action_without_work_left_is_refused_and_the_rollback_does_not_carry_it_out() {
    let mut live = Live::new(Sources::of_main(SHOP), 1, Limits::DEFAULT).unwrap();
    live.apply(Command::join(PlayerId(1), "Ada")).unwrap();
    live.step();
    let toil = format!("{SHOP}\nworld.action('toil', {{}}, function() while true do end end)");
    let tried = live.reload(Sources::of_main(&toil)).unwrap();
    while live.poll_event().is_some() {}
    for name in ["buy", "toil", "buy", "wave"] {
        let arguments = Value::Map(Vec::new());
        live.apply(Command::Action { player: PlayerId(1), name: name.into(), arguments }).unwrap();
    }
    live.step();
    assert_ne!(live.version(), tried, "the version used up the work of its step");
    live.step();
    let refused: Vec<_> = std::iter::from_fn(|| live.poll_event())
        .filter_map(|event| match event {
            Event::Refused { refusal: Refusal::NoWorkLeft { action }, .. } => Some(action),
            _ => None,
        })
        .collect();
    assert_eq!(refused, ["buy", "wave"]);
    let sum = |name: &str| live.world().scene().state(name).and_then(Value::as_f64);
    assert_eq!((sum("sold"), sum("waved")), (Some(1.0), Some(0.0)));
}

const UPGRADING: &str = r#"
local world = require("@nowcast/world")
world.settings { version = VERSION }
world.state { seen = {} }
world.kind("OLD", { attributes = { heat = "u8" } })
world.on("start", function() world.state.started = true end)
world.on("upgrade", function(from)
    table.insert(world.state.seen, from)
    BODY
end)
world.on("step", function() world.state.steps = (world.state.steps or #world.state.seen * 100) + 1 end)
"#;

fn upgrading(version: &str, body: &str) -> Sources {
    Sources::of_main(&UPGRADING.replace("VERSION", version).replace("BODY", body).replace("OLD", "ball"))
}

#[test]
fn upgrade_is_called_once_with_the_old_version_before_the_first_step() {
    let mut live = Live::new(upgrading("1", ""), 1, Limits::DEFAULT).unwrap();
    let seen = |live: &Live| live.world().scene().state("seen").cloned();
    assert_eq!(seen(&live), Some(Value::Map(Vec::new())), "a new world is not upgraded");
    live.reload(upgrading("2", "")).unwrap();
    steps(&mut live, 3);
    assert_eq!(seen(&live), Some(Value::List(vec![Value::Int(1)])));
    assert_eq!(live.world().scene().state("steps"), Some(&Value::Int(103)));
    live.reload(upgrading("5", "")).unwrap();
    steps(&mut live, 1);
    assert_eq!(seen(&live), Some(Value::List(vec![Value::Int(1), Value::Int(2)])));
}

#[test]
fn a_version_that_fails_in_its_upgrade_is_refused_without_changes() {
    let mut live = Live::new(upgrading("1", ""), 1, Limits::DEFAULT).unwrap();
    steps(&mut live, 3);
    let before = live.parts().0.snapshot();
    let fault = live.reload(upgrading("2", "world.state.ruined = true error('cannot')")).unwrap_err();
    assert_eq!((fault.message.as_str(), fault.line), ("cannot", Some(9)));
    assert_eq!((live.version().number, live.parts().0.snapshot()), (1, before));
    steps(&mut live, 2);
    assert_eq!(live.world().scene().state("steps"), Some(&Value::Int(5)));
}

#[test]
fn a_renamed_kind_takes_over_its_entities_or_the_refusal_names_the_cure() {
    let rules = |kind: &str| Sources::of_main(&format!("local world = require('@nowcast/world')\n{kind}"));
    let mut live = Live::new(
        rules(
            "local Ball = world.kind('ball', { attributes = { heat = 'u8' } })
               world.on('start', function() Ball:spawn { heat = 7 } end)",
        ),
        1,
        Limits::DEFAULT,
    )
    .unwrap();
    let fault = live.reload(rules("world.kind('orb', {})")).unwrap_err().to_string();
    assert!(fault.contains("1 entities of kind \"ball\"") && fault.contains("formerly"), "{fault}");
    live.reload(rules(
        "world.kind('orb', { formerly = 'ball', attributes = { warmth = { 'u8', formerly = 'heat' } } })",
    ))
    .unwrap_or_else(|fault| panic!("{fault}"));
    let scene = live.world().scene();
    assert_eq!(scene.attribute(scene.entities().ids()[0], "warmth"), Some(&Value::Int(7)));
}

#[test]
fn every_tried_version_has_a_number_of_its_own() {
    let mut live = live();
    let mut numbers = vec![live.version().number, live.count_refused()];
    live.reload(Sources::of_main("local x =")).unwrap_err();
    let Some(Report::Refused { version, .. }) = live.poll_report() else { panic!("the outcome is reported") };
    numbers.push(version.number);
    numbers.push(live.reload(counting_by("2")).unwrap().number);
    assert_eq!(numbers, [1, 2, 3, 4]);
}
