//! Makes a shape and a body from one input. Everything that can be read must be the same after it was written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_wire::{Effort, Shape, decode_value, encode_value};

fuzz_target!(|data: &[u8]| {
    let Some((&length, rest)) = data.split_first() else { return };
    let (shape, body) = rest.split_at(usize::from(length).min(rest.len()));
    let Ok(shape) = Shape::from_bytes(shape) else { return };
    assert_eq!(Shape::from_bytes(&shape.to_bytes()).as_ref(), Ok(&shape));
    let Ok(value) = decode_value(&shape, body) else { return };
    for effort in [Effort::Fast, Effort::Small] {
        let mut again = Vec::new();
        encode_value(&shape, &value, effort, &mut again).expect("a value that was read fits its shape");
        let back = decode_value(&shape, &again).expect("an encoded value can be decoded");
        // The body may contain a quaternion that leaves out a component other than the largest. Our writers never leave out
        // another component.
        assert!(back == value || format!("{shape:?}").contains("Quat"));
    }
});
