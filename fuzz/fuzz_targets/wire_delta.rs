//! Decodes replication deltas from any bytes. Each decoded frame becomes a baseline of the next frames, as in a conversation with
//! a hostile peer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_wire::delta::{Codec, Field, Frame, Layout};

const ENTITIES_MAX: usize = 300;
const BASELINES_MAX: usize = 3;

fuzz_target!(|packets: &[u8]| {
    let orientation = Field::Orientation { bits: 9 };
    let fields = [Field::Number, Field::Number, Field::Number, orientation, Field::Number];
    let layout = Layout::new(&fields).expect("this layout is allowed");
    let mut codec = Codec::new(layout, ENTITIES_MAX);
    let mut known: Vec<Frame> = Vec::new();
    let mut rest = packets;
    for tick in 1_000.. {
        let [length, tail @ ..] = rest else { return };
        let (packet, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        let past: Vec<&Frame> = known.iter().rev().collect();
        if let Ok(frame) = codec.decode(tick, packet, &past) {
            assert!(frame.len() <= ENTITIES_MAX);
            known.push(frame);
            if known.len() > BASELINES_MAX {
                known.remove(0);
            }
        }
    }
});
