//! Runs the tests of the sample worlds.

use nowcast_script::{Limits, Scenario};

use crate::samples::{sources_of, worlds};

#[test]
fn every_sample_world_passes_its_own_tests() {
    let mut cases = 0;
    for world in worlds() {
        let sources = sources_of(&world);
        let tests: Vec<_> = sources
            .iter()
            .map(|(path, _)| path.to_owned())
            .filter(|path| path.starts_with("tests/"))
            .collect();
        assert!(!tests.is_empty(), "{} has no tests", world.display());
        for test in tests {
            let scenario = Scenario::new(sources.clone(), &test, Limits::DEFAULT)
                .unwrap_or_else(|fault| panic!("{}/{fault}", world.display()));
            for (index, name) in scenario.cases().iter().enumerate() {
                for seed in [1, 2] {
                    let outcome = scenario.run(index, seed);
                    let failure = outcome.failure.map(|fault| fault.to_string());
                    assert_eq!(
                        failure,
                        None,
                        "{}: {test}: {name}, seed {seed}: {:?}",
                        world.display(),
                        outcome.printed
                    );
                    cases += 1;
                }
            }
        }
    }
    assert!(cases > 0);
}

#[test]
fn sample_modules_are_shorter_than_300_lines() {
    for world in worlds() {
        for (path, text) in sources_of(&world).iter() {
            let lines = text.lines().count();
            assert!(lines < 300, "{}/{path} has {lines} lines", world.display());
        }
    }
}
