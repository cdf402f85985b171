//! Compares the store with a simple model in memory: random batches, snapshots, holes, and restarts.

use proptest::prelude::*;

use super::Folder;
use super::conformance::{any_step, contents_are_those_of_a_list};

proptest! {
    #![proptest_config(ProptestConfig { cases: super::seeds(12) as u32, ..ProptestConfig::default() })]
    #[test]
    fn a_store_has_the_contents_of_a_plain_list(steps in proptest::collection::vec(any_step(), 1..40)) {
        let folder = Folder::new("model");
        contents_are_those_of_a_list(steps, &|| Box::new(folder.open()));
    }
}
