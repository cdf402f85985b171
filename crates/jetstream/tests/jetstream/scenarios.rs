//! The scenarios that SQLite passes, too.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use super::conformance::{self, Open};
use super::{open, own_name, seeds, shared};

/// Runs a scenario in a cluster with a name of its own.
fn run(scenario: impl Fn(Open<'_>)) {
    let address = shared();
    let options = own_name();
    scenario(&|| Box::new(open(&address, &options, true)));
}

#[test]
fn a_world_is_restored_to_the_last_bit_and_continues_identically() {
    run(conformance::worlds_are_restored);
}

#[test]
fn a_durable_action_is_confirmed_after_it_is_stored_and_happens_once() {
    run(conformance::durable_actions_happen_once);
}

#[test]
fn notes_of_a_host_come_back_in_order_after_its_snapshot() {
    run(conformance::notes_come_back);
}

#[test]
fn a_world_at_rest_costs_no_bytes_and_its_clock_continues() {
    run(conformance::rest_costs_no_bytes);
}

#[test]
fn a_used_token_and_a_ban_outlive_the_process_and_end_in_time() {
    run(conformance::marks_end_in_time);
}

#[test]
fn a_list_shows_the_stored_worlds() {
    run(conformance::worlds_are_listed);
}

#[test]
fn the_data_of_an_account_comes_back_after_a_restart() {
    run(conformance::accounts_come_back);
}

#[test]
fn a_store_has_the_contents_of_a_plain_list() {
    let strategy = proptest::collection::vec(conformance::any_step(), 20..40);
    for _ in 0..seeds(1) {
        let mut runner = TestRunner::deterministic();
        let steps = strategy.new_tree(&mut runner).expect("the strategy has values").current();
        run(|open| conformance::contents_are_those_of_a_list(steps.clone(), open));
    }
}
