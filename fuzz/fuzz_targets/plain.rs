//! Frames of the plain protocol, in every encoding and both directions: a message that was decoded once is encoded to
//! the same bytes again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_world_protocol::plain::{ClientMessage, DecodeError, Encoding, Frame, FrameRef, ServerMessage};

fuzz_target!(|data: &[u8]| {
    let Some((choice, content)) = data.split_first() else { return };
    let encoding = Encoding::ALL[usize::from(choice & 1)];
    let frame = match std::str::from_utf8(content) {
        Ok(text) if choice & 4 == 0 => FrameRef::Text(text),
        _ => FrameRef::Binary(content),
    };
    if choice & 8 == 0 {
        match ClientMessage::decode(encoding, frame) {
            Ok(message) => {
                let _ = message.check();
                let frame = message.encode(encoding);
                let again =
                    ClientMessage::decode(encoding, frame.as_ref()).map(|again| again.encode(encoding));
                compare(&frame, again);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    } else {
        match ServerMessage::decode(encoding, frame) {
            Ok(message) => {
                let frame = message.encode(encoding);
                let again =
                    ServerMessage::decode(encoding, frame.as_ref()).map(|again| again.encode(encoding));
                compare(&frame, again);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

/// Compares bytes, because a number in a message may be NaN, which equals nothing.
fn compare(frame: &Frame, again: Result<Frame, DecodeError>) {
    let again = again.expect("an encoded message can be decoded");
    assert_eq!(*frame, again);
}
