//! Entities are sent at their update rates, which depend on the distance from the viewer.

use std::sync::Arc;

use nowcast_replication::{
    History, InterestGrid, InterestSet, Interval, Moving, Placed, Quantization, RateTable, RatesId, Reach,
    Replica, Transform, UpdateRates, Viewer,
};

const ROUND_STEPS: u32 = 3;
const STEPS: u32 = 600;

/// A world of entities that always move, at distances from the only viewer.
struct Field {
    grid: InterestGrid,
    history: History,
    set: InterestSet,
    rates: Arc<RateTable>,
    viewer: Viewer,
    replica: Replica,
    number: u64,
    rates_of: RatesId,
}

impl Field {
    fn new(rates: UpdateRates) -> Self {
        let mut table = RateTable::default();
        let rates_of = table.add(rates);
        Self {
            grid: InterestGrid::default(),
            history: History::default(),
            set: InterestSet::new(1),
            rates: Arc::new(table),
            viewer: Viewer::default(),
            replica: Replica::default(),
            number: 0,
            rates_of,
        }
    }

    fn step(&mut self, step: u32, metres: &[f32]) {
        let height = step as f32 * 0.05;
        let quantization = Quantization::default();
        let placed = metres.iter().zip(1..).map(|(x, id)| Placed {
            id,
            position: [*x, height, 0.0],
            reach: Reach::Within(400.0),
            size: 0.0,
            quantization,
            rates: self.rates_of,
        });
        self.grid.update(step, placed);
        let moving = self.grid.entities().filter_map(|(placed, section)| {
            let transform = Transform { position: placed.position, rotation: [0.0, 0.0, 0.0, 1.0] };
            let Placed { id, size, quantization, rates, .. } = *placed;
            Some(Moving { id, transform, section: section?, size, quantization, rates, flight: None })
        });
        self.history.publish(step, moving);
        self.set.refresh(self.grid.grid_snapshot(), Some([0.0, height, 0.0]), usize::MAX);
    }

    /// Begins a round and returns the ids whose rows changed.
    fn round(&mut self, step: u32, arrives: bool) -> Vec<u32> {
        let Self { history, set, rates, viewer, replica, number, .. } = self;
        viewer.set_interest(set, rates, 2 * ROUND_STEPS);
        viewer.begin_round(history.frames(), Some([0.0, step as f32 * 0.05, 0.0]));
        let ids: Vec<u32> = history.rows().map(|(id, _)| id).collect();
        let before: Vec<_> = ids.iter().map(|id| replica.row(*id)).collect();
        while viewer.has_more() {
            let mut payload = Vec::new();
            viewer.fill(history.frames(), *number, 1_100, &mut payload);
            if arrives {
                replica.apply(&payload).expect("the viewer writes valid payloads");
            }
            viewer.on_outcome(*number, arrives);
            *number += 1;
            if !arrives {
                break;
            }
        }
        let changed = ids.iter().zip(before).filter(|(id, row)| replica.row(**id) != *row);
        changed.map(|(id, _)| *id).collect()
    }
}

/// The number of updates of each entity, and the longest time between two, in steps.
fn updates(rates: UpdateRates, metres: &[f32]) -> Vec<(u32, u32)> {
    let mut field = Field::new(rates);
    let mut counts = vec![(0, 0); metres.len()];
    let mut last = vec![0; metres.len()];
    for step in 0..STEPS {
        field.step(step, metres);
        if step.is_multiple_of(ROUND_STEPS) {
            for id in field.round(step, true) {
                let at = id as usize - 1;
                counts[at] = (counts[at].0 + 1, counts[at].1.max(step - last[at]));
                last[at] = step;
            }
        }
    }
    counts
}

#[test]
fn farther_entities_are_sent_less_often_by_their_rates() {
    let rates = UpdateRates::new(&[
        (20.0, Interval::EveryRound),
        (150.0, Interval::Steps(6)),
        (f32::INFINITY, Interval::Steps(15)),
    ]);
    let [near, middle, far] = updates(rates, &[10.0, 100.0, 300.0])[..] else { panic!("three entities") };
    assert_eq!(near, (STEPS / ROUND_STEPS, ROUND_STEPS));
    assert!(middle.0.abs_diff(STEPS / 6) <= 1 && middle.1 == 6, "{middle:?}");
    assert!(far.0.abs_diff(STEPS / 15) <= 1 && far.1 == 15, "{far:?}");
}

#[test]
fn rates_that_are_no_multiple_of_a_round_wait_for_the_next_round() {
    let rates = UpdateRates::new(&[(f32::INFINITY, Interval::Steps(7))]);
    let [(count, longest)] = updates(rates, &[300.0])[..] else { panic!("one entity") };
    assert!(count.abs_diff(STEPS / 7) <= 1, "{count} updates");
    assert!(longest < 7 + ROUND_STEPS, "{longest} steps");
}

#[test]
fn lost_updates_are_repeated_before_the_interval_ends() {
    let mut field = Field::new(UpdateRates::new(&[(f32::INFINITY, Interval::Steps(15))]));
    let mut step = 0;
    let mut run = |field: &mut Field, arrives| {
        field.step(step, &[300.0]);
        let changed = field.round(step, arrives);
        step += ROUND_STEPS;
        changed
    };
    assert_eq!(run(&mut field, true), [1], "an entity that enters is sent at once");
    let lost = (0..10).find(|_| run(&mut field, false).is_empty() && field.viewer.stats.repeated == 1);
    assert!(lost.is_some(), "an update is due within 10 rounds");
    assert_eq!(run(&mut field, true), [1], "it is repeated in the next round");
}

#[test]
fn resting_entities_are_not_sent_at_all() {
    let mut field = Field::new(UpdateRates::new(&[(f32::INFINITY, Interval::Steps(15))]));
    field.step(0, &[300.0]);
    assert_eq!(field.round(0, true), [1]);
    let records = field.viewer.stats.records;
    for step in 1..60 {
        field.history.publish(step, std::iter::once(resting(&field)));
        field.round(step, true);
    }
    assert_eq!(field.viewer.stats.records, records);
}

fn resting(field: &Field) -> Moving {
    let (placed, section) = field.grid.entities().next().expect("one entity");
    let transform = Transform { position: placed.position, rotation: [0.0, 0.0, 0.0, 1.0] };
    let Placed { id, size, quantization, rates, .. } = *placed;
    let section = section.expect("it has a section");
    Moving { id, transform, section, size, quantization, rates, flight: None }
}
