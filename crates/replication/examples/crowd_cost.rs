//! Counts the work of choosing and encoding for clients in a crowd, in one process and with a fixed seed.
//!
//! Avatars walk at random among things that rest. Each client sees from one avatar. Run it alone for the counters, or below
//! callgrind for instructions, of which those of clients are in `serve_client`:
//!
//! ```sh
//! cargo build --release -p nowcast-replication --example crowd_cost
//! valgrind --tool=callgrind --toggle-collect='*serve_client*' target/release/examples/crowd_cost 300 9000 60
//! ```
//!
//! Arguments: clients, things, measured steps. Further arguments: `late` delays acknowledgements by up to half a second; with
//! `all` each client sees all entities; `full=100` serves at most 100 clients in a step, as a thread that has no more time; with
//! `waits` a round then begins only after most clients have begun the round before.

use std::collections::VecDeque;
use std::env;
use std::sync::Arc;

use nowcast_replication::{
    GridSnapshot, History, InterestGrid, InterestSet, Moving, Placed, Quantization, RateTable, RatesId,
    Reach, Transform, UpdateRates, Viewer,
};

/// Steps between two rounds of a client.
const ROUND_STEPS: u32 = 3;
/// Steps before the measurement, until all clients have joined and received their surroundings.
const WARM_STEPS: u32 = 120;
const RADIUS_METRES: f32 = 29.0;
const AVATAR_SQUARE_METRES: f32 = 44.0;
const THING_PITCH_METRES: f32 = 2.1;
const METRES_PER_STEP: f32 = 4.0 / 60.0;
const PACKET_BYTES: usize = 1_100;
const ENTITIES_PER_ROUND_MAX: usize = 400;
/// A round waits while more than one in this number of clients has not begun the round before, as in a room.
const LATE_SHARE: usize = 8;

struct Client {
    set: InterestSet,
    rates: Arc<RateTable>,
    viewer: Viewer,
    /// The packets in flight: the step at which the outcome is known, the number, and whether it arrived.
    flying: VecDeque<(u32, u64, bool)>,
    number: u64,
    avatar: usize,
}

#[derive(Clone, Copy)]
struct Avatar {
    position: [f32; 3],
    yaw: f32,
}

struct Dice(u64);

impl Dice {
    /// A number from 0 to 1.
    fn roll(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u64 << 24) as f32
    }
}

fn main() {
    let number = |at: usize, default: usize| {
        env::args().nth(at).map_or(default, |word| word.parse().expect("arguments are whole numbers"))
    };
    let (count, things, steps) = (number(1, 300), number(2, 9_000), number(3, 60) as u32);
    let has_word = |wanted: &str| env::args().skip(4).any(|word| word == wanted);
    let (is_late, sees_all, waits) = (has_word("late"), has_word("all"), has_word("waits"));
    let of_step_max = env::args().find_map(|word| word.strip_prefix("full=")?.parse().ok()).unwrap_or(count);
    let (mut asked, mut next, mut is_waiting) = (vec![false; count], 0, false);
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let half = (count as f32 * AVATAR_SQUARE_METRES).sqrt() / 2.0;
    let mut avatars: Vec<Avatar> = (0..count)
        .map(|_| {
            let mut place = || (dice.roll() * 2.0 - 1.0) * half;
            Avatar { position: [place(), 1.0, place()], yaw: 0.0 }
        })
        .collect();
    let row = (things as f32).sqrt().ceil();
    let rest: Vec<[f32; 3]> = (0..things)
        .map(|at| [at as f32 % row, 3.25, (at as f32 / row).floor()])
        .map(|[x, y, z]| [(x - row / 2.0) * THING_PITCH_METRES, y, (z - row / 2.0) * THING_PITCH_METRES])
        .collect();
    let far_metres = RADIUS_METRES / 2.0;
    let far_metres = if sees_all { f32::INFINITY } else { far_metres };
    let mut rates = RateTable::new(far_metres, UpdateRates::far(far_metres));
    let of_avatars = rates.add_for_movers(UpdateRates::far(far_metres));
    let rates = Arc::new(rates);
    let scene =
        Scene { reach: if sees_all { Reach::Always } else { Reach::Within(RADIUS_METRES) }, of_avatars };
    let mut clients: Vec<Client> = (0..count)
        .map(|avatar| Client {
            set: InterestSet::new(avatar as u32),
            rates: Arc::clone(&rates),
            viewer: Viewer::with_bytes_per_round_max(256 * 1024 / 20),
            flying: VecDeque::new(),
            number: 0,
            avatar,
        })
        .collect();
    let (mut grid, mut history) = (InterestGrid::default(), History::default());
    let (mut bytes, mut rounds, mut before) = (0, 0u64, Vec::new());
    for step in 0..WARM_STEPS + steps {
        if step == WARM_STEPS {
            before = clients.iter().map(|client| client.viewer.stats).collect();
            (bytes, rounds) = (0, 0);
        }
        for (at, avatar) in avatars.iter_mut().enumerate() {
            if at as u32 % 60 == step % 60 {
                let is_outside = avatar.position.iter().any(|metres| metres.abs() > half);
                let home = avatar.position[0].atan2(avatar.position[2]) + std::f32::consts::PI;
                avatar.yaw = if is_outside { home } else { dice.roll() * std::f32::consts::TAU };
            }
            avatar.position[0] += avatar.yaw.sin() * METRES_PER_STEP;
            avatar.position[2] += avatar.yaw.cos() * METRES_PER_STEP;
        }
        // As in a room, all clients have their rounds in the same steps, and only these steps are published.
        let unserved = asked.iter().filter(|asked| **asked).count();
        let is_behind = waits && unserved * LATE_SHARE > count;
        if (is_waiting || step.is_multiple_of(ROUND_STEPS)) && !is_behind {
            publish(step, &scene, &mut grid, &mut history, &avatars, &rest);
            asked.fill(true);
        }
        is_waiting = is_behind && (is_waiting || step.is_multiple_of(ROUND_STEPS));
        let snapshot = grid.grid_snapshot();
        let mut served = 0;
        for at in (next..count).chain(0..next) {
            let client = &mut clients[at];
            let is_due = asked[at] && served < of_step_max;
            if is_due {
                (asked[at], next) = (false, (at + 1) % count);
                served += 1;
            }
            let eye = avatars[client.avatar].position;
            let sent = serve_client(client, step, is_due.then_some(eye), snapshot, &history);
            for number in sent.numbers {
                let delay = if is_late { dice.roll() * 30.0 } else { dice.roll() * 2.0 };
                client.flying.push_back((step + 1 + delay as u32, number, dice.roll() > 0.01));
            }
            bytes += sent.bytes;
            rounds += u64::from(is_due);
        }
    }
    let sum = |of: fn(&nowcast_replication::ViewerStats) -> u64| -> f64 {
        let after: u64 = clients.iter().map(|client| of(&client.viewer.stats)).sum();
        (after - before.iter().map(of).sum::<u64>()) as f64 / rounds as f64
    };
    println!("rounds                {rounds}");
    println!(
        "sections seen         {}",
        clients.iter().map(|client| client.set.sections().len()).sum::<usize>() / count
    );
    let heap = |client: &Client| client.viewer.heap_bytes() + client.set.heap_bytes();
    println!("heap bytes a client   {}", clients.iter().map(heap).sum::<usize>() / count);
    println!("bytes a round         {:.1}", bytes as f64 / rounds as f64);
    println!("payloads a round      {:.2}", sum(|stats| stats.payloads));
    println!("records a round       {:.2}", sum(|stats| stats.records));
    println!("encoded a round       {:.2}", sum(|stats| stats.encoded));
    println!("whole a round         {:.2}", sum(|stats| stats.whole));
    println!("repeated a round      {:.2}", sum(|stats| stats.repeated));
}

/// The replication of the entities.
struct Scene {
    reach: Reach,
    of_avatars: RatesId,
}

#[inline(never)]
fn publish(
    step: u32,
    scene: &Scene,
    grid: &mut InterestGrid,
    history: &mut History,
    avatars: &[Avatar],
    rest: &[[f32; 3]],
) {
    let quantization = Quantization::within(Some(0.01), Some(0.001));
    let placed = |id: usize, position: [f32; 3]| Placed {
        id: id as u32 + 1,
        position,
        reach: scene.reach,
        size: 0.4,
        quantization,
        rates: if id < avatars.len() { scene.of_avatars } else { RatesId::default() },
    };
    let rotation = |at: usize| {
        let half = avatars.get(at).map_or(0.0, |avatar| avatar.yaw / 2.0);
        [0.0, half.sin(), 0.0, half.cos()]
    };
    let positions = avatars.iter().map(|avatar| avatar.position).chain(rest.iter().copied());
    grid.update(step, positions.enumerate().map(|(id, position)| placed(id, position)));
    let moving = grid.entities().filter_map(|(placed, section)| {
        let rotation = rotation(placed.id as usize - 1);
        let Placed { id, position, size, quantization, rates, .. } = *placed;
        Some(Moving {
            id,
            transform: Transform { position, rotation },
            section: section?,
            size,
            quantization,
            rates,
            flight: None,
        })
    });
    history.publish(step, moving);
}

struct Sent {
    numbers: Vec<u64>,
    bytes: usize,
}

/// Does the work of one client in one step. The client is due if it has an eye.
#[inline(never)]
fn serve_client(
    client: &mut Client,
    step: u32,
    eye: Option<[f32; 3]>,
    snapshot: &GridSnapshot,
    history: &History,
) -> Sent {
    let Client { set, rates, viewer, flying, number, .. } = client;
    flying.retain(|(due, number, arrived)| {
        if *due <= step {
            viewer.on_outcome(*number, *arrived);
        }
        *due > step
    });
    if let Some(eye) = eye {
        set.refresh(snapshot, Some(eye), ENTITIES_PER_ROUND_MAX);
        viewer.set_interest(set, rates, 2 * ROUND_STEPS);
        viewer.begin_round(history.frames(), Some(eye));
    }
    let mut sent = Sent { numbers: Vec::new(), bytes: 0 };
    let mut payload = Vec::with_capacity(PACKET_BYTES);
    while viewer.has_more() {
        payload.clear();
        viewer.fill(history.frames(), *number, PACKET_BYTES, &mut payload);
        sent.bytes += payload.len();
        sent.numbers.push(*number);
        *number += 1;
    }
    sent
}
