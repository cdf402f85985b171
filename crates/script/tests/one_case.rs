//! Runs one test case of a world.

use nowcast_script::{Limits, Scenario, Sources};

/// Runs a case in which the player `ada` has joined the world. Returns the failure of the case.
pub(crate) fn play(world: &str, case: &str) -> Option<String> {
    let case = format!(
        "local test, world = require('@nowcast/test'), require('@nowcast/world')
        test.case('case', function() local ada = test.join('Ada') {case} end)"
    );
    let sources = Sources::from_iter([("world.luau", world), ("tests/c.luau", case.as_str())]);
    let scenario =
        Scenario::new(sources, "tests/c.luau", Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    scenario.run(0, 1).failure.map(|fault| fault.to_string())
}
