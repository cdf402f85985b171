//! Tests the output of a script: declared events, bindings of actions, sounds.

use nowcast_script::{Console, Limits, Script, Sources};
use nowcast_world::{Command, Event, PlayerId, To, Value, World};

fn load(text: &str) -> Result<Script, String> {
    let text = format!("local world = require(\"@nowcast/world\")\n{text}");
    Script::load(&Sources::of_main(&text), Limits::DEFAULT).map_err(|fault| fault.to_string())
}

fn started(text: &str) -> (Vec<(String, To, Value)>, Console) {
    let script = load(text).unwrap_or_else(|fault| panic!("{fault}"));
    let (definition, console) = (script.definition(), script.console());
    let mut world = World::new(definition, 7, Box::new(script)).unwrap();
    world.step();
    let events = std::iter::from_fn(|| world.poll_event()).filter_map(|event| match event {
        Event::Emitted { name, to, payload, .. } => Some((name, to, payload)),
        _ => None,
    });
    (events.collect(), console)
}

fn map(pairs: &[(&str, Value)]) -> Value {
    Value::Map(pairs.iter().map(|(key, value)| (Value::from(*key), value.clone())).collect())
}

#[test]
fn a_declared_event_is_sent_complete_and_quantised() {
    let (events, console) = started(
        "world.event('goal', { team = 'text', speed = { 'f32', min = 0, max = 10, step = 0.5 }, by = 'player?' })
         world.event('kickoff', {})
         world.on('start', function()
             world.emit('goal', { team = 'red', speed = 3.3 })
             world.emit('kickoff', {})
             world.emit('undeclared', { 1, 2 })
         end)",
    );
    assert_eq!(console.poll_fault(), None);
    let goal = map(&[("by", Value::Nil), ("speed", Value::F64(3.5)), ("team", "red".into())]);
    assert_eq!(events[0], ("goal".into(), To::All, goal));
    assert_eq!(events[1], ("kickoff".into(), To::All, map(&[])));
    assert_eq!(events[2].2, Value::List(vec![Value::Int(1), Value::Int(2)]));
}

#[test]
fn a_declared_event_with_a_wrong_field_is_refused_with_its_line() {
    let (events, console) = started(
        "world.event('goal', { team = 'text' })
         world.on('start', function() world.emit('goal', { team = 5 }) end)",
    );
    let fault = console.poll_fault().expect("the value does not fit");
    assert!(fault.to_string().contains("team"), "{fault}");
    assert_eq!(events, []);
}

#[test]
fn a_binding_is_sent_unchanged_and_names_only_declared_arguments() {
    let kick = "world.action('kick', { power = { 'f32', min = 0, max = 1 } }, function() end, ";
    let bound = |binding: &str| load(&format!("{kick}{binding})"));
    let script = bound("{ key = 'e', label = 'Kick', charge = 'power' }").expect("the binding is valid");
    let told = map(&[("charge", "power".into()), ("key", "e".into()), ("label", "Kick".into())]);
    let Value::Map(mut found) = script.definition().actions[0].hint.clone() else {
        panic!("a binding is a map")
    };
    found.sort_by_key(|(key, _)| key.as_text().unwrap().to_owned());
    assert_eq!(Value::Map(found), told);
    let problem = bound("{ charge = 'pwer' }").err().expect("the argument does not exist");
    assert!(problem.contains("kick.charge: expected one of the arguments (power), got `pwer`"), "{problem}");
    let script = bound("{ key = { 'e', '1', 'left' } }").expect("a binding may have several keys");
    let listed = Value::List(vec!["e".into(), "1".into(), "left".into()]);
    assert_eq!(script.definition().actions[0].hint.get("key"), Some(&listed));
    for (wrong, cause) in [
        ("{ key = { 'e', 'f', 'g', 'h', 'i' } }", "kick.key: expected 1 to 4 keys, got 5"),
        ("{ key = { 'e', true } }", "kick.key: expected a list of texts"),
        ("{ key = {} }", "kick.key: expected 1 to 4 keys, got 0"),
        ("{ key = 7 }", "kick.key: expected a text or a list of texts, got integer"),
    ] {
        let problem = bound(wrong).err().expect("the keys are refused");
        assert!(problem.contains(cause), "{problem}");
    }
    let problem = bound("{ keys = 'e' }").err().expect("the field does not exist");
    assert!(problem.contains("kick.keys is not a field"), "{problem}");
}

#[test]
fn a_sound_is_sent_as_an_event_without_declaration() {
    let (events, console) = started(
        "world.on('start', function()
             world.sound('assets/a.ogg')
             world.sound('assets/b.ogg', { at = vector.create(1, 2, 3), radius = 20, volume = 0.5 })
         end)",
    );
    assert_eq!(console.poll_fault(), None);
    assert_eq!(events[0].0, "sound");
    assert_eq!(events[0].2.get("file"), Some(&"assets/a.ogg".into()));
    assert_eq!(events[1].1, To::Near { position: [1.0, 2.0, 3.0], radius: 20.0 });
    assert_eq!(events[1].2.get("volume"), Some(&Value::F64(0.5)));
}

#[test]
fn events_of_a_durable_action_are_marked_but_its_hint_is_not() {
    let script = load(
        r#"
        world.action("buy", {}, function() world.emit("sold", true) world.after(0, "later") end, { durable = true })
        world.action("wave", {}, function() world.emit("waved", true) end, { label = "Wave", durable = false })
        world.timer("later", function() world.emit("counted", true) end)
        "#,
    )
    .unwrap();
    let definition = script.definition();
    let actions: Vec<_> =
        definition.actions.iter().map(|action| (action.durable, action.hint.clone())).collect();
    assert_eq!(actions, [(true, Value::Nil), (false, Value::Map(vec![("label".into(), "Wave".into())]))]);
    let mut world = World::new(definition, 7, Box::new(script)).unwrap();
    world.apply(Command::join(PlayerId(1), "Ada")).unwrap();
    for name in ["buy", "wave"] {
        let arguments = Value::Map(Vec::new());
        world.apply(Command::Action { player: PlayerId(1), name: name.into(), arguments }).unwrap();
    }
    (0..3).for_each(|_| world.step());
    let told = std::iter::from_fn(|| world.poll_event()).filter_map(|event| match event {
        Event::Emitted { name, durable, .. } => Some((name, durable)),
        _ => None,
    });
    let expected = [("sold", true), ("waved", false), ("counted", false)];
    assert_eq!(told.collect::<Vec<_>>(), expected.map(|(name, durable)| (name.to_owned(), durable)));
}

#[test]
fn an_action_of_the_back_end_has_no_key() {
    let fault = load("world.action('award', {}, function() end, { back_end = true, key = 'e' })");
    let text = fault.err().expect("the key is refused").to_string();
    assert!(text.contains("award.back_end: expected no key beside it"), "{text}");
}

#[test]
fn durable_accepts_only_booleans() {
    let fault = load("world.action('buy', {}, function() end, { durable = 1 })");
    let text = fault.map(drop).unwrap_err();
    assert!(text.contains("buy.durable: expected true or false"), "{text}");
}
