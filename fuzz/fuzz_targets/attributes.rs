//! Makes a shape and a value from one input. If an attribute or an action's argument was conformed once, conforming it again must
//! not change it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_wire::{Shape, any};
use nowcast_world::{Attributes, OutOfRange, Value};

/// Compares the bytes, because a number in an "any" may be NaN, which equals no number.
fn are_same(a: &Value, b: &Value) -> bool {
    any::to_vec(a) == any::to_vec(b)
}

fuzz_target!(|data: &[u8]| {
    let [kind, length, rest @ ..] = data else { return };
    let (shape, value) = rest.split_at(usize::from(*length).min(rest.len()));
    // The shape comes from text, in the notation of people, or from bytes.
    let attributes = if kind % 2 == 0 {
        std::str::from_utf8(shape).ok().and_then(|text| Attributes::parse(text).ok())
    } else {
        Shape::from_bytes(shape).ok().and_then(|shape| Attributes::new(shape).ok())
    };
    let Some(attributes) = attributes else { return };
    let out_of_range = if kind & 2 == 0 { OutOfRange::Clamp } else { OutOfRange::Refuse };
    let attributes = attributes.with_out_of_range(out_of_range);
    // If the two largest parts of a quaternion are equal, the second result may differ by a step.
    let is_exact = !format!("{attributes:?}").contains("Quat");
    for (index, default) in attributes.defaults().iter().enumerate() {
        let kept = attributes.conform(index, default).expect("a default fits");
        assert!(!is_exact || are_same(&kept, default));
    }
    let Ok(value) = any::from_slice(value) else { return };
    for index in 0..attributes.fields().len() {
        if let Ok(kept) = attributes.conform(index, &value) {
            let again = attributes.conform(index, &kept).expect("conforming a conformed value succeeds");
            assert!(!is_exact || are_same(&kept, &again));
        }
    }
    if let Ok(kept) = attributes.conform_map(&value) {
        let again = attributes.conform_map(&kept).expect("conforming a conformed value succeeds");
        assert!(!is_exact || are_same(&kept, &again));
    }
});
