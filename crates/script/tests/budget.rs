//! A step that exceeds its work budget keeps the calls that returned, and a new version is rolled back as a whole.

use nowcast_script::{FaultKind, Limits, Live, PROBATION_STEPS, Report, Sources};
use nowcast_world::Value;

/// A world that makes 2,000 bodies in one step and counts them, which is more work than a step may do. `when` states the
/// step.
fn making(when: &str) -> Sources {
    Sources::of_main(&format!(
        "local world = require('@nowcast/world')
        local Crate = world.kind('crate', {{ body = {{ motion = 'fixed', shape = 'box', size = vector.one }} }})
        world.state {{ made = 0, others = 0 }}
        world.on('step', function()
            if {when} then
                for i = 1, 2000 do
                    Crate:spawn {{ at = vector.create(0, 2 * i, 0) }}
                    world.state.made += 1
                end
            end
        end)
        world.on('step', function() world.state.others += 1 end)"
    ))
}

fn state(live: &Live, name: &str) -> u64 {
    live.world().scene().state(name).and_then(Value::as_f64).expect("a number") as u64
}

fn bodies(live: &Live) -> u64 {
    live.world().scene().entities().len() as u64
}

fn step_until(live: &mut Live, tick: u64) {
    while live.world().tick() < tick {
        live.step();
    }
}

fn reports(live: &mut Live) -> Vec<Report> {
    std::iter::from_fn(|| live.poll_report()).collect()
}

#[test]
fn a_step_over_its_budget_keeps_the_calls_that_returned_and_the_next_step_runs_as_ever() {
    let late = PROBATION_STEPS + 10;
    let made = [0; 2].map(|_| {
        let mut live = Live::new(making(&format!("world.tick() == {late}")), 1, Limits::DEFAULT).unwrap();
        step_until(&mut live, late);
        reports(&mut live);
        let others = state(&live, "others");
        live.step();
        let reports = reports(&mut live);
        let is_work =
            |report: &Report| matches!(report, Report::Failed { fault, .. } if fault.kind == FaultKind::Work);
        assert!(reports.len() == 1 && is_work(&reports[0]), "{reports:?}");
        let made = state(&live, "made");
        assert!((1_000..2_000).contains(&made), "{made} of 2,000");
        assert_eq!(bodies(&live), made, "the state and the bodies agree");
        assert_eq!(
            state(&live, "others"),
            others,
            "functions behind the one that was stopped are not called"
        );
        step_until(&mut live, late + 11);
        assert_eq!((state(&live, "made"), state(&live, "others")), (made, others + 10));
        made
    });
    assert_eq!(made[0], made[1], "a step is stopped at the same place in every run");
}

#[test]
fn a_new_version_that_runs_over_its_budget_is_taken_back_with_everything_that_it_did() {
    let mut live = Live::new(making("false"), 1, Limits::DEFAULT).unwrap();
    step_until(&mut live, 10);
    reports(&mut live);
    live.reload(making("true")).unwrap();
    live.step();
    let reports = reports(&mut live);
    let is_taken_back =
        |report: &Report| matches!(report, Report::RolledBack { fault, .. } if fault.kind == FaultKind::Work);
    assert!(reports.iter().any(is_taken_back), "{reports:?}");
    assert_eq!((bodies(&live), state(&live, "made")), (0, 0));
}
