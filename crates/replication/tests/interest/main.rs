//! Interest over lossy links: a client shows exactly the rows that it must show according to the server, while entities
//! enter and leave its interest set.
//!
//! `NOWCAST_SEEDS=10000` plays more seeds than CI does, `NOWCAST_SEED=n` only one. `NOWCAST_PLAYS=FILE` writes the messages
//! that the clients received to `FILE`, with one line for each client of each seed.
//! `packages/nowcast/test/world/sight.test.ts` passes these messages to the TypeScript implementation.

mod chance;
mod client;
mod play;

use std::io::Write;

use nowcast_replication::{
    History, InterestGrid, Moving, Placed, Quantization, RatesId, Reach, Transform, Viewer,
};
use serde_json::{Value, json};

use client::Client;
use play::play;

const SEEDS: u64 = 200;
const STEPS: u32 = 240;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

#[test]
fn a_client_shows_the_rows_of_the_server_and_none_from_before_an_entity_came_into_sight() {
    if let Some(seed) = number("NOWCAST_SEED") {
        play(seed, STEPS, false);
        return;
    }
    let seeds = number("NOWCAST_SEEDS").unwrap_or(SEEDS);
    let mut file = std::env::var_os("NOWCAST_PLAYS").map(|path| std::fs::File::create(path).unwrap());
    let mut changes = 0;
    for seed in 0..seeds {
        let (play, changed) = play(seed, STEPS, file.is_some());
        changes += changed;
        let Some(file) = &mut file else { continue };
        for client in play.clients {
            let line = json!({ "seed": seed, "client": client.number, "steps": client.arrived });
            writeln!(file, "{line}").unwrap();
        }
    }
    assert!(changes > seeds * 20, "much comes and goes: {changes}");
}

/// `spec/vectors/world/sight.json`: the messages that clients receive, in order, and the rows that the clients show
/// afterwards.
///
/// `NOWCAST_BLESS=1` writes the file again after a deliberate change of the format.
#[test]
fn interest_vectors_match() {
    let plays = [3, 5, 11].map(|seed| {
        let (mut play, _) = play(seed, 100, true);
        json!({ "seed": seed, "client": 1, "steps": play.clients.swap_remove(0).arrived })
    });
    let vector = json!({
        "about": "Input of a client, in order: payloads, rounds that carry only the time, and the entity messages of lane 0. Afterwards the client shows exactly these entities, at these rows.",
        "plays": plays,
    });
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/world/sight.json");
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        std::fs::write(&path, format!("{vector}\n")).unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(kept == vector, "{} is not what is sent", path.display());
}

/// The cost of a client in the middle of a square field with `side` times `side` moving entities, 20 m apart.
fn cost_in_a_field(side: u32) -> (u64, usize, usize) {
    let (mut interest_grid, mut history, mut client) =
        (InterestGrid::default(), History::default(), Client::new(0, 1));
    client.viewer = Viewer::default();
    let mut bytes = 0;
    let middle = (side / 2) as f32 * 20.0;
    client.eye = [middle, 0.0, middle];
    for tick in 0..60u32 {
        let place = |id: u32| {
            let [column, row] = [(id - 1) % side, (id - 1) / side].map(|at| at as f32 * 20.0 - middle);
            // Fields of every size have the same entities in their middle.
            [column + middle + (tick as f32 / 8.0), 0.0, row + middle]
        };
        let reach = Reach::Within(60.0);
        let ids = 1..=side * side;
        let quantization = Quantization::default();
        interest_grid.update(
            tick,
            ids.clone().map(|id| Placed {
                id,
                position: place(id),
                reach,
                size: 0.5,
                quantization,
                rates: RatesId::default(),
            }),
        );
        client.tell(tick, &interest_grid, tick.is_multiple_of(3));
        let moving = ids.zip(interest_grid.entities()).map(|(id, (placed, section))| Moving {
            id,
            transform: Transform { position: placed.position, rotation: [0.0, 0.0, 0.0, 1.0] },
            section: section.expect("everything has one"),
            size: 0.5,
            quantization,
            rates: RatesId::default(),
            flight: None,
        });
        history.publish(tick, moving);
        client.round(&history);
        while client.viewer.has_more() {
            let mut payload = Vec::new();
            client.last_packet += 1;
            client.viewer.fill(history.frames(), client.last_packet, 1_100, &mut payload);
            client.viewer.on_outcome(client.last_packet, true);
            bytes += payload.len();
        }
    }
    (client.viewer.stats.records, bytes, client.expected(&interest_grid, &history).len())
}

#[test]
fn the_cost_of_a_client_does_not_grow_with_the_world() {
    let [small, large] = [24, 96].map(cost_in_a_field);
    assert!((30..120).contains(&small.2), "{small:?}");
    assert_eq!(small.2, large.2, "it sees as much");
    assert_eq!(small.0, large.0, "and is sent as many groups");
    // In the larger field, the number of a group takes one more byte in each record.
    let longer = large.0 as usize + small.1 / 50;
    assert!(large.1 <= small.1 + longer, "{small:?} {large:?}: only ids and numbers of groups are longer");
}
