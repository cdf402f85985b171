//! Declarations of the clients that see an entity.

use nowcast_script::{Limits, Script, Sources};
use nowcast_world::{Interest, UpdateRate};

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
fn update_rates_of_a_kind_override_those_of_the_world() {
    let script = load(
        "world.settings { update_rates = { { hz = 10 } } }
        world.kind('tree', {})
        world.kind('bird', { update_rates = { { within = 20, hz = 60 }, { within = 60.5, hz = 10 }, { hz = 4 } } })",
    );
    let definition = script.unwrap_or_else(|fault| panic!("{fault}")).definition();
    let rate = |within, hz| UpdateRate { within, hz };
    let bird = vec![rate(Some(20.0), 60.0), rate(Some(60.5), 10.0), rate(None, 4.0)];
    let told: Vec<_> = definition.kinds.iter().map(|kind| kind.update_rates.clone()).collect();
    assert_eq!(told, [None, Some(bird)]);
    assert_eq!(definition.update_rates, Some(vec![rate(None, 10.0)]));
    let default = load("world.kind('tree', {})").unwrap_or_else(|fault| panic!("{fault}")).definition();
    assert_eq!((default.update_rates, default.kinds[0].update_rates.clone()), (None, None));
}

#[test]
fn invalid_update_rates_are_refused_with_their_place() {
    for (rates, place) in [
        ("20", "rock.update_rates: expected a table"),
        ("{}", "rock.update_rates: there are 0"),
        ("{ 20 }", "rock.update_rates[1]: expected a table"),
        ("{ {} }", "rock.update_rates[1].hz: expected updates a second"),
        ("{ { hz = 'often' } }", "rock.update_rates[1].hz: expected a number"),
        ("{ { hz = 3.9 } }", "rock.update_rates[0].hz: 3.9"),
        ("{ { hz = 61 } }", "rock.update_rates[0].hz: 61"),
        ("{ { hz = 0 / 0 } }", "rock.update_rates[0].hz"),
        ("{ { hz = 20, near = 5 } }", "rock.update_rates[1].near is not a field"),
        ("{ { within = 9, hz = 20 } }", "rock.update_rates[0].within: the last class has no end"),
        ("{ { hz = 20 }, { hz = 4 } }", "rock.update_rates[0].within: every class but the last"),
        ("{ { within = 9, hz = 5 }, { hz = 9 } }", "rock.update_rates[1].hz: a farther class"),
        ("{ { within = 0.5, hz = 9 }, { hz = 5 } }", "rock.update_rates[0].within: 0.5"),
        (
            "{ { within = 9, hz = 9 }, { within = 9, hz = 8 }, { hz = 5 } }",
            "rock.update_rates[1].within: a class must end farther away",
        ),
        (
            "{ { within = 1, hz = 9 }, { within = 2, hz = 9 }, { within = 3, hz = 9 }, { within = 4, hz = 9 }, { hz = 9 } }",
            "rock.update_rates: there are 5",
        ),
    ] {
        let problem = load(&format!("world.kind('rock', {{ update_rates = {rates} }})")).err();
        let problem = problem.unwrap_or_else(|| panic!("{rates} are accepted"));
        assert!(problem.contains(place), "{rates}: {problem}");
    }
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
