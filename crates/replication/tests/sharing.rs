//! Viewers share encodings, and a viewer that acknowledges oddly or turns around costs the others nothing. Costs are counts of
//! encodings.

use std::collections::VecDeque;
use std::sync::Arc;

use nowcast_replication::{
    History, InterestGrid, InterestSet, Moving, Placed, Quantization, RateTable, RatesId, Reach, Transform,
    Viewer,
};

const ENTITIES: u32 = 120;
const ROUND_STEPS: u32 = 3;
const STEPS: u32 = 240;
/// Steps until the outcomes of packets are known.
const DELAY_STEPS: u32 = 4;
const RADIUS_METRES: f32 = 40.0;

/// Maximum memory of a viewer that sees all entities of the crowd, in bytes.
const VIEWER_BYTES_MAX: usize = 24 * 1024;
/// Maximum memory of a viewer that acknowledges nothing, in bytes. Its packets wait for their outcomes.
const SILENT_BYTES_MAX: usize = 256 * 1024;

/// The behaviour of a client.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Habit {
    /// Acknowledges every packet.
    Sound,
    /// Acknowledges nothing.
    Silent,
    /// Acknowledges the packets that a die selects.
    Odd,
    /// Acknowledges packets that were never sent, and each packet twice.
    Future,
    /// Sees the crowd and then an empty place, a step each.
    Turning,
    /// Leaves after three steps, and another client joins in its place.
    Passing,
    /// Reads one round in eight. All outcomes are known then.
    Slow,
}

struct Client {
    habit: Habit,
    set: InterestSet,
    viewer: Viewer,
    number: u64,
    flying: VecDeque<(u32, u64)>,
}

struct Crowd {
    steps: u32,
    clients: Vec<Client>,
    rates: Arc<RateTable>,
    dice: u64,
}

impl Crowd {
    fn new(habits: impl IntoIterator<Item = Habit>) -> Self {
        let client = |(at, habit)| Client {
            habit,
            set: InterestSet::new(at as u32),
            viewer: Viewer::default(),
            number: 0,
            flying: VecDeque::new(),
        };
        Self {
            clients: habits.into_iter().enumerate().map(client).collect(),
            steps: STEPS,
            rates: Arc::default(),
            dice: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// Runs the crowd, and returns the sums of encodings and records of the clients with a habit, in each round from the
    /// second second on.
    fn run(&mut self, counted: Habit) -> [f64; 2] {
        let (mut grid, mut history) = (InterestGrid::default(), History::default());
        let warm = self.steps / 2;
        let mut before = [0; 2];
        for step in 0..self.steps {
            if step == warm {
                before = self.count(counted);
            }
            publish(step, &mut grid, &mut history);
            for at in 0..self.clients.len() {
                self.serve(at, step, &grid, &history);
            }
        }
        let after = self.count(counted);
        let rounds = f64::from((self.steps - warm) / ROUND_STEPS);
        [0, 1].map(|at| (after[at] - before[at]) as f64 / rounds)
    }

    fn count(&self, habit: Habit) -> [u64; 2] {
        let these = || self.clients.iter().filter(|client| client.habit == habit);
        [
            these().map(|client| client.viewer.stats.encoded).sum(),
            these().map(|client| client.viewer.stats.records).sum(),
        ]
    }

    fn serve(&mut self, at: usize, step: u32, grid: &InterestGrid, history: &History) {
        let Self { clients, rates, dice, .. } = self;
        if clients[at].habit == Habit::Passing && (step + at as u32).is_multiple_of(ROUND_STEPS) {
            // The counters go on, so that all work is counted.
            let stats = clients[at].viewer.stats;
            (clients[at].viewer, clients[at].set) = (Viewer::default(), InterestSet::new(at as u32));
            (clients[at].viewer.stats, clients[at].flying) = (stats, VecDeque::new());
        }
        let Client { habit, set, viewer, number, flying } = &mut clients[at];
        while let Some((_, number)) = flying.pop_front_if(|(due, _)| *due <= step) {
            *dice ^= *dice << 13;
            *dice ^= *dice >> 7;
            *dice ^= *dice << 17;
            match habit {
                Habit::Sound | Habit::Turning | Habit::Passing | Habit::Slow => {
                    viewer.on_outcome(number, true)
                }
                Habit::Silent => {}
                Habit::Odd => viewer.on_outcome(number, *dice >> 40 & 1 == 0),
                Habit::Future => {
                    viewer.on_outcome(number + 1_000_000, true);
                    viewer.on_outcome(number, true);
                    viewer.on_outcome(number, true);
                }
            }
        }
        let turns = *habit == Habit::Turning;
        let round_steps = if *habit == Habit::Slow { 8 * ROUND_STEPS } else { ROUND_STEPS };
        if !turns && *habit != Habit::Passing && !step.is_multiple_of(round_steps) {
            return;
        }
        let is_away = turns && step.is_multiple_of(2);
        let eye = [if is_away { 500.0 } else { 0.0 }, 0.0, 0.0];
        set.refresh(grid.grid_snapshot(), Some(eye), usize::MAX);
        viewer.set_interest(set, rates, 2 * ROUND_STEPS);
        viewer.begin_round(history.frames(), Some(eye));
        while viewer.has_more() {
            let mut payload = Vec::new();
            viewer.fill(history.frames(), *number, 1_100, &mut payload);
            flying.push_back((step + DELAY_STEPS, *number));
            *number += 1;
        }
    }
}

/// All entities move in circles around their places, near the origin.
fn publish(step: u32, grid: &mut InterestGrid, history: &mut History) {
    let quantization = Quantization::within(Some(0.01), None);
    let position = |id: u32| {
        let angle = step as f32 * 0.05 + id as f32;
        [(id % 12) as f32 * 3.0 - 18.0 + angle.cos(), 0.0, (id / 12) as f32 * 3.0 - 15.0 + angle.sin()]
    };
    let placed = (0..ENTITIES).map(|id| Placed {
        id,
        position: position(id),
        reach: Reach::Within(RADIUS_METRES),
        size: 0.5,
        quantization,
        rates: RatesId::default(),
    });
    grid.update(step, placed);
    let moving = grid.entities().filter_map(|(placed, section)| {
        let transform = Transform { position: placed.position, rotation: [0.0, 0.0, 0.0, 1.0] };
        let Placed { id, size, quantization, rates, .. } = *placed;
        Some(Moving { id, transform, section: section?, size, quantization, rates, flight: None })
    });
    history.publish(step, moving);
}

/// The mean number of groups that one sound viewer gets in a round, which is the number of encodings if all are shared.
fn groups() -> f64 {
    let [encoded, records] = Crowd::new([Habit::Sound]).run(Habit::Sound);
    assert!(encoded > 5.0 && encoded <= records, "{encoded} of {records}");
    encoded
}

#[test]
fn sound_viewers_share_one_encoding_of_each_group() {
    let [encoded, records] = Crowd::new([Habit::Sound; 50]).run(Habit::Sound);
    let groups = groups();
    assert!(encoded <= groups * 1.01, "{encoded} encodings of {groups} groups");
    assert!(records >= 49.0 * groups, "{records} records");
}

#[test]
fn viewers_that_acknowledge_nothing_share_whole_frames_and_cost_others_nothing() {
    let habits = || [Habit::Silent; 40].into_iter().chain([Habit::Sound; 20]);
    let groups = groups();
    let [sound, _] = Crowd::new(habits()).run(Habit::Sound);
    assert!(sound <= groups * 1.01, "{sound} encodings of {groups} groups");
    let [silent, records] = Crowd::new(habits()).run(Habit::Silent);
    assert!(silent <= groups * 1.01 && records > 30.0 * groups, "{silent} encodings, {records} records");
}

#[test]
fn viewers_that_acknowledge_the_future_cost_what_sound_viewers_cost() {
    let habits = || [Habit::Future; 40].into_iter().chain([Habit::Sound; 20]);
    let groups = groups();
    let sums = [Habit::Sound, Habit::Future].map(|habit| Crowd::new(habits()).run(habit)[0]);
    assert!(sums[0] + sums[1] <= groups * 1.01, "{sums:?} encodings of {groups} groups");
}

#[test]
fn odd_acknowledgements_do_not_spoil_the_encodings_that_others_share() {
    // The odd ones come first in each round, and fill the places for shared encodings.
    let habits = || [Habit::Odd; 80].into_iter().chain([Habit::Sound; 40]);
    let groups = groups();
    let [sound, _] = Crowd::new(habits()).run(Habit::Sound);
    assert!(sound <= groups * 1.01, "{sound} encodings of {groups} groups");
    let [odd, records] = Crowd::new(habits()).run(Habit::Odd);
    assert!(odd <= records / 2.0, "{odd} encodings for {records} records of the odd viewers");
}

#[test]
fn viewers_that_turn_around_in_every_step_share_whole_frames_and_cost_others_nothing() {
    let habits = || [Habit::Turning; 40].into_iter().chain([Habit::Sound; 20]);
    let groups = groups();
    let [sound, _] = Crowd::new(habits()).run(Habit::Sound);
    assert!(sound <= groups * 1.01, "{sound} encodings of {groups} groups");
    // They look in each step, and see the crowd in every second step.
    let [turning, records] = Crowd::new(habits()).run(Habit::Turning);
    let steps = f64::from(ROUND_STEPS);
    assert!(turning <= steps * groups * 1.01, "{turning} encodings of {groups} groups");
    assert!(records > 30.0 * groups, "{records} records");
}

#[test]
fn a_thousand_joins_and_leaves_a_second_share_whole_frames_and_cost_others_nothing() {
    // Each of the 50 places has 20 joins a second.
    let habits = || [Habit::Passing; 50].into_iter().chain([Habit::Sound; 20]);
    let groups = groups();
    let [sound, _] = Crowd::new(habits()).run(Habit::Sound);
    assert!(sound <= groups * 1.01, "{sound} encodings of {groups} groups");
    // In each step all newcomers share one encoding of each group.
    let [passing, records] = Crowd::new(habits()).run(Habit::Passing);
    let steps = f64::from(ROUND_STEPS);
    assert!(passing <= steps * groups * 1.01, "{passing} encodings of {groups} groups");
    assert!(records > 40.0 * groups, "{records} records");
}

#[test]
fn slow_readers_share_encodings_and_cost_others_nothing() {
    let habits = || [Habit::Slow; 40].into_iter().chain([Habit::Sound; 20]);
    let groups = groups();
    let [sound, _] = Crowd::new(habits()).run(Habit::Sound);
    assert!(sound <= groups * 1.01, "{sound} encodings of {groups} groups");
    let [slow, records] = Crowd::new(habits()).run(Habit::Slow);
    assert!(slow <= groups / 8.0 * 1.01, "{slow} encodings of {groups} groups");
    assert!(records > 4.0 * groups, "{records} records");
}

#[test]
fn the_memory_of_a_viewer_stays_bounded_whatever_it_acknowledges() {
    for (habit, bytes_max) in [
        (Habit::Sound, VIEWER_BYTES_MAX),
        (Habit::Odd, VIEWER_BYTES_MAX),
        (Habit::Future, VIEWER_BYTES_MAX),
        (Habit::Turning, VIEWER_BYTES_MAX),
        (Habit::Slow, VIEWER_BYTES_MAX),
        (Habit::Silent, SILENT_BYTES_MAX),
    ] {
        let mut crowd = Crowd { steps: 4_000, ..Crowd::new([habit]) };
        crowd.run(habit);
        let Client { viewer, set, .. } = &crowd.clients[0];
        let bytes = viewer.heap_bytes() + set.heap_bytes();
        assert!(bytes > 0 && bytes <= bytes_max, "{habit:?}: {bytes} bytes");
        let is_abandoned = viewer.stats.abandoned > 0;
        assert_eq!(is_abandoned, habit == Habit::Silent, "{habit:?}: {} packets", viewer.stats.abandoned);
    }
}
