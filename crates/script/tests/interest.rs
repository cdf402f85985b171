//! Declarations of the clients that see an entity.

use nowcast_script::{Limits, Script, Sources};
use nowcast_world::Interest;

fn load(text: &str) -> Result<Script, String> {
    let text = format!("local world = require(\"@nowcast/world\")\n{text}");
    Script::load(&Sources::of_main(&text), Limits::DEFAULT).map_err(|fault| fault.to_string())
}

#[test]
fn interest_of_a_kind_overrides_interest_of_the_world() {
    let script = load(
        "world.settings { interest = { radius = 60 } }
        world.kind('tree', {})
        world.kind('sun', { interest = 'always' })
        world.kind('card', { interest = 'owner' })
        world.kind('plan', { interest = 'never' })
        world.kind('fly', { interest = { radius = 5 } })",
    );
    let definition = script.unwrap_or_else(|fault| panic!("{fault}")).definition();
    let told: Vec<_> = definition.kinds.iter().map(|kind| definition.interest_of(kind)).collect();
    let near = |radius| Interest::Near { radius };
    assert_eq!(told, [near(60.0), Interest::Always, Interest::Owner, Interest::Never, near(5.0)]);
    assert_eq!(load("").unwrap_or_else(|fault| panic!("{fault}")).definition().interest, Interest::DEFAULT);
}

#[test]
fn a_kind_declares_the_precision_of_its_positions() {
    let script =
        load("world.kind('rock', { precision = 0.01, rotation_precision = 0.001 }) world.kind('tree', {})");
    let kinds = script.unwrap_or_else(|fault| panic!("{fault}")).definition().kinds;
    let walker = load("world.kind('person', { walker = {}, precision = 0.01 })").err();
    assert!(walker.is_some_and(|problem| problem.contains("precision: clients predict walkers")));
    let told: Vec<_> = kinds.iter().map(|kind| (kind.precision, kind.rotation_precision)).collect();
    assert_eq!(told, [(Some(0.01), Some(0.001)), (None, None)]);
    for (field, place) in [
        ("precision = 0", "precision"),
        ("precision = 2", "precision"),
        ("precision = 'fine'", "rock.precision: expected a number"),
        ("rotation_precision = 0.5", "rotation_precision"),
        ("rotation_precision = 0 / 0", "rotation_precision"),
    ] {
        let text = format!("world.kind('rock', {{ {field} }})");
        let problem = load(&text).err().unwrap_or_else(|| panic!("{field} is none"));
        assert!(problem.contains(place), "{field}: {problem}");
    }
}

#[test]
fn invalid_interests_are_refused_with_their_place() {
    let refused = |interest: &str| {
        let text = format!("world.kind('tree', {{ interest = {interest} }})");
        load(&text).err().unwrap_or_else(|| panic!("{interest} is none"))
    };
    for (interest, place) in [
        ("'nobody'", "tree.interest: expected { radius = metres }"),
        ("60", "tree.interest: expected { radius = metres }"),
        ("{}", "tree.interest: expected { radius = metres }"),
        ("{ radius = 'far' }", "tree.interest.radius: expected a number"),
        ("{ radius = 60, height = 2 }", "tree.interest.height is not a field"),
        ("{ radius = 0 }", "interest.radius"),
        ("{ radius = 0 / 0 }", "interest.radius"),
    ] {
        let problem = refused(interest);
        assert!(problem.contains(place), "{interest}: {problem}");
    }
}
