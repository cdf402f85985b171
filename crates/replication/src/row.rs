//! Transforms as rows of whole numbers (`spec/WORLD.md`, section 4).

use nowcast_wire::delta::{Field, Layout};

use crate::transform::Transform;

/// Positions are rounded to this part of a metre.
pub const STEPS_PER_METRE: f32 = 1_024.0;

/// Bits of each of the three smaller components of a quaternion.
const ORIENTATION_BITS: u32 = 12;
const COMPONENT_MAX: f32 = ((1 << ORIENTATION_BITS) - 1) as f32;

/// Numbers in a row.
pub(crate) const WIDTH: usize = 7;

/// Position x, y and z, which component of the quaternion is largest, and the three others.
pub type Row = [i32; WIDTH];

/// What the numbers of a [`Row`] mean.
pub fn layout() -> Layout {
    let fields = [Field::Number, Field::Number, Field::Number, Field::Orientation { bits: ORIENTATION_BITS }];
    Layout::new(&fields).expect("it is within the bounds of a layout")
}

/// Metres in steps of a row.
pub(crate) fn steps(metres: f32) -> i32 {
    libm::roundf(metres * STEPS_PER_METRE) as i32
}

/// A transform, rounded. What is not finite, or too far away for 32 bits, becomes the nearest there is.
pub fn row_of(transform: &Transform) -> Row {
    let position = transform.position.map(steps);
    let rotation = transform.rotation;
    let largest =
        (1..4).fold(0, |best, at| if rotation[at].abs() > rotation[best].abs() { at } else { best });
    let sign = if rotation[largest] < 0.0 { -1.0 } else { 1.0 };
    let mut others = (0..4).filter(|at| *at != largest).map(|at| {
        let stored = (sign * rotation[at] * std::f32::consts::SQRT_2 + 1.0) / 2.0 * COMPONENT_MAX;
        libm::roundf(stored.clamp(0.0, COMPONENT_MAX)) as i32
    });
    let [x, y, z] = position;
    let mut other = || others.next().expect("three are not the largest");
    [x, y, z, largest as i32, other(), other(), other()]
}

/// The transform that a row stands for.
pub fn transform_of(row: &Row) -> Transform {
    let position = [row[0], row[1], row[2]].map(|steps| steps as f32 / STEPS_PER_METRE);
    let largest = row[3] as usize & 3;
    let mut rotation = [0.0; 4];
    let mut rest = 1.0;
    let others = (0..4).filter(|at| *at != largest).zip(&row[4..]);
    for (at, &stored) in others {
        let component = (2.0 * stored as f32 / COMPONENT_MAX - 1.0) * std::f32::consts::FRAC_1_SQRT_2;
        rotation[at] = component;
        rest -= component * component;
    }
    rotation[largest] = libm::sqrtf(f32::max(rest, 0.0));
    Transform { position, rotation }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_stands_for_nearly_the_same_pose_and_for_itself(
            position in proptest::array::uniform3(-500.0f32..500.0),
            raw in proptest::array::uniform4(-1.0f32..1.0),
        ) {
            let length = raw.iter().map(|v| v * v).sum::<f32>().sqrt();
            prop_assume!(length > 0.1);
            let transform = Transform { position, rotation: raw.map(|v| v / length) };
            let row = row_of(&transform);
            let back = transform_of(&row);
            for (back, there) in back.position.iter().zip(position) {
                prop_assert!((back - there).abs() <= 0.51 / STEPS_PER_METRE + 1e-4);
            }
            let dot: f32 = back.rotation.iter().zip(transform.rotation).map(|(a, b)| a * b).sum();
            prop_assert!(dot.abs() > 1.0 - 1e-6, "dot {dot}");
        }
    }

    #[test]
    fn what_is_no_number_stays_within_the_columns() {
        let row = row_of(&Transform { position: [f32::NAN, f32::INFINITY, -1e30], rotation: [f32::NAN; 4] });
        assert_eq!(row[..3], [0, i32::MAX, i32::MIN]);
        assert!(row[4..].iter().all(|v| (0..1 << ORIENTATION_BITS).contains(v)), "{row:?}");
    }
}
