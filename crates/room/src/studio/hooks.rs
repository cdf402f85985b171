//! The functions of the rules, summed over the newest steps.

use std::collections::{BTreeMap, VecDeque};

use nowcast_script::HookTime;
use nowcast_world::Kind;
use serde_json::{Value as Json, json};

/// Number of steps that are recorded while the profile is read: 10 s.
pub(super) const STEPS_MAX: usize = 600;

/// Number of steps whose functions are summed together.
const BLOCK_STEPS: usize = 60;

/// Number of complete blocks that are kept.
const BLOCKS_MAX: usize = STEPS_MAX / BLOCK_STEPS - 1;

/// Maximum functions in a block. Further functions are not recorded.
const FUNCTIONS_MAX: usize = 128;

/// Maximum functions in an answer.
const LISTED_MAX: usize = 64;

/// The functions of the rules in the newest steps.
#[derive(Default)]
pub(crate) struct HookSums {
    /// Complete blocks, and the present block last.
    blocks: VecDeque<Block>,
}

#[derive(Default)]
struct Block {
    steps: usize,
    sums: BTreeMap<Key, Sums>,
}

/// Identifies a function: event, name, kind, file and line.
type Key = (&'static str, Option<String>, Option<u16>, String, u32);

#[derive(Clone, Copy, Default)]
struct Sums {
    calls: u64,
    us: u64,
    us_max: u64,
    units: u64,
    bytes: u64,
}

impl HookSums {
    /// Adds the functions of one step.
    pub(crate) fn add(&mut self, times: Vec<HookTime>) {
        if self.blocks.back().is_none_or(|block| block.steps >= BLOCK_STEPS) {
            if self.blocks.len() > BLOCKS_MAX {
                self.blocks.pop_front();
            }
            self.blocks.push_back(Block::default());
        }
        let Some(block) = self.blocks.back_mut() else { return };
        block.steps += 1;
        for time in times {
            let HookTime { hook, name, kind, file, line, calls, time, units, bytes } = time;
            let key = (hook, name, kind, file, line);
            if block.sums.len() >= FUNCTIONS_MAX && !block.sums.contains_key(&key) {
                continue;
            }
            let us = time.as_nanos().div_ceil(1_000) as u64;
            block.sums.entry(key).or_default().add(Sums { calls, us, us_max: us, units, bytes });
        }
    }

    /// Returns the functions with the longest time first, and the number of steps.
    pub(crate) fn to_json(&self, kinds: &[Kind]) -> (Vec<Json>, usize) {
        let mut sums: BTreeMap<&Key, Sums> = BTreeMap::new();
        for block in &self.blocks {
            block.sums.iter().for_each(|(key, more)| sums.entry(key).or_default().add(*more));
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.us));
        sums.truncate(LISTED_MAX);
        let listed = sums.into_iter().map(|((hook, name, kind, file, line), sums)| {
            let kind = kind.and_then(|kind| kinds.get(usize::from(kind))).map(|kind| kind.name.as_str());
            let Sums { calls, us, us_max, units, bytes } = sums;
            json!({
                "hook": hook, "name": name, "kind": kind, "file": file, "line": line, "calls": calls, "us": us,
                "usMax": us_max, "units": units, "bytes": bytes,
            })
        });
        (listed.collect(), self.blocks.iter().map(|block| block.steps).sum())
    }
}

impl Sums {
    fn add(&mut self, more: Sums) {
        self.calls += more.calls;
        self.us += more.us;
        self.us_max = self.us_max.max(more.us_max);
        self.units += more.units;
        self.bytes += more.bytes;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn call(line: u32, us: u64) -> HookTime {
        HookTime {
            hook: "step",
            name: None,
            kind: None,
            file: "world.luau".into(),
            line,
            calls: 1,
            time: Duration::from_micros(us),
            units: 2,
            bytes: 3,
        }
    }

    #[test]
    fn functions_are_summed_over_the_newest_ten_seconds_with_the_slowest_first() {
        let mut sums = HookSums::default();
        sums.add(vec![call(9, 1_000_000)]);
        for step in 1..STEPS_MAX as u64 + BLOCK_STEPS as u64 {
            sums.add(vec![call(1, 1), call(2, 2 + step % 2)]);
        }
        let (listed, steps) = sums.to_json(&[]);
        assert_eq!(steps, STEPS_MAX, "the first block is dropped");
        assert_eq!((&listed[0]["line"], &listed[1]["line"]), (&json!(2), &json!(1)));
        assert_eq!(
            (&listed[0]["us"], &listed[0]["usMax"], &listed[0]["calls"]),
            (&json!(1_500), &json!(3), &json!(600))
        );
        assert_eq!(listed.len(), 2);
    }

    #[test]
    fn the_number_of_functions_is_limited() {
        let mut sums = HookSums::default();
        sums.add((0..2 * FUNCTIONS_MAX as u32).map(|line| call(line, 1)).collect());
        assert_eq!(sums.blocks[0].sums.len(), FUNCTIONS_MAX);
        assert_eq!(sums.to_json(&[]).0.len(), LISTED_MAX);
    }
}
