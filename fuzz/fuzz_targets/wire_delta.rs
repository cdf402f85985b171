//! Decodes replication deltas from any bytes, in both modes and with both predictors. Each decoded frame becomes a baseline of
//! the next frames, as in a conversation with a hostile peer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_wire::delta::{
    Baseline, Bodies, BodyColumns, Codec, Field, Layout, Limits, Linear, Mode, Predictor,
};

const ENTITIES_MAX: usize = 300;
const BASELINES_MAX: usize = 3;

fn converse<P: Predictor>(mode: Mode, predictor: P, packets: &[u8]) {
    let fields = [
        Field::Number,
        Field::Number,
        Field::Number,
        Field::Orientation { bits: 9 },
        Field::Flag,
        Field::Angle { bits: 16 },
    ];
    let layout = Layout::new(&fields).expect("this layout is allowed");
    let mut codec = Codec::new(layout, mode, predictor).limits(Limits { entities_max: ENTITIES_MAX });
    let mut known: Vec<Baseline> = Vec::new();
    let mut rest = packets;
    for tick in 1_000.. {
        let [length, tail @ ..] = rest else { return };
        let (packet, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        let past: Vec<&Baseline> = known.iter().rev().collect();
        if let Ok(baseline) = codec.decode(tick, packet, &past) {
            assert!(baseline.frame().len() <= ENTITIES_MAX);
            known.push(baseline);
            if known.len() > BASELINES_MAX {
                known.remove(0);
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [choice, packets @ ..] = data else { return };
    let mode = if choice & 1 == 0 { Mode::Fast } else { Mode::Small };
    if choice & 2 == 0 {
        converse(mode, Linear::default(), packets);
        return;
    }
    let columns = BodyColumns {
        position: 0,
        orientation: 3,
        orientation_bits: 9,
        touching: Some(7),
        gravity: [0.0, 0.0, -1.4],
        up: 2,
        size: 205.0,
    };
    converse(mode, Bodies::new(columns), packets);
});
