//! Messages between a world and its clients on a session: a decoded message is encoded to bytes that
//! decode and encode to the same bytes, and its input is within bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_wire::{Read, Wire, decode_with, encode_to_vec};
use nowcast_world::Input;
use nowcast_world_protocol::session::{
    CLIENT_MESSAGE, Controls, Entity, EntityState, FromWorld, Line, Missed, Owned, Player, Said, Screen,
    StateKey, Steps, ToWorld, View,
};

fuzz_target!(|data: &[u8]| {
    let Some((kind, bytes)) = data.split_first() else { return };
    match kind % 13 {
        0 => drop(again::<ToWorld>(bytes)),
        1 => drop(again::<FromWorld>(bytes)),
        2 => {
            if let Some(controls) = again::<Controls>(bytes) {
                let _ =
                    Input::new(controls.forward, controls.right, controls.yaw, controls.run, controls.jump);
            }
        }
        3 => {
            for step in again::<Steps>(bytes).into_iter().flat_map(|steps| steps.steps) {
                let _ = Input::new(step.forward, step.right, step.yaw, step.run, step.jump);
            }
        }
        4 => drop(again::<Entity>(bytes)),
        5 => drop(again::<Player>(bytes)),
        6 => drop(again::<Screen>(bytes)),
        7 => drop(again::<Line>(bytes)),
        8 => drop(again::<Said>(bytes)),
        9 => drop(again::<Missed>(bytes)),
        10 => drop(again::<View>(bytes)),
        11 => {
            if let Some((pose, velocity)) = again::<Owned>(bytes).and_then(Owned::checked) {
                assert!(pose.position.iter().chain(&pose.rotation).all(|number| number.is_finite()));
                assert!(
                    velocity.is_none_or(|velocity| velocity.linear.iter().all(|number| number.is_finite()))
                );
            }
        }
        _ => {
            let _ = EntityState::read(bytes);
            if let Some(key) = bytes.first_chunk().map(|key| u64::from_le_bytes(*key)) {
                assert!(StateKey::of(key).is_none_or(|read| read.number() == key));
            }
        }
    }
});

/// Decodes a message, and checks that its encoding decodes and encodes to the same bytes. A message may have several encodings
/// (`spec/WIRE.md`), of which the encoder always writes the same one. Compares bytes, because a number in a message may be NaN,
/// which equals nothing.
fn again<T: for<'a> Read<'a> + Wire>(bytes: &[u8]) -> Option<T> {
    let message: T = decode_with(bytes, &CLIENT_MESSAGE).ok()?;
    let written = encode_to_vec(&message);
    let read: T = decode_with(&written, &CLIENT_MESSAGE).expect("an encoding is decoded");
    assert_eq!(encode_to_vec(&read), written, "the encoder writes the same bytes for the decoded copy");
    Some(message)
}
