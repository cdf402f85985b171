//! Transforms as rows of whole numbers (`spec/WORLD.md`, section 4).

use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};

use nowcast_wire::delta::{Field, Layout};

use crate::GROUP_ENTITIES_MAX;
use crate::motion::{MOTION_WIDTH, MotionUnits};
use crate::transform::Transform;

/// Numbers in a row.
pub(crate) const WIDTH: usize = 7;

/// The greatest number of a jump.
const JUMP_MAX: u8 = 7;

/// Position x, y and z, the index of the quaternion's largest component, and the three other components, in the steps
/// of a [`Quantization`].
pub type Row = [i32; WIDTH];

/// The precision of rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Quantization {
    /// The binary logarithm of the number of steps in a metre.
    position_bits: u8,
    /// Bits of each of the three smaller components of a quaternion.
    rotation_bits: u8,
    /// Whether frames hold motion rows.
    is_motion: bool,
    /// The number of the jump that brought the entities to their places a short time ago; 0 without a jump.
    jump: u8,
}

impl Default for Quantization {
    /// The finest quantization.
    fn default() -> Self {
        Self {
            position_bits: Self::POSITION_BITS_MAX,
            rotation_bits: Self::ROTATION_BITS_MAX,
            is_motion: false,
            jump: 0,
        }
    }
}

impl Quantization {
    const POSITION_BITS_MAX: u8 = 10;
    const ROTATION_BITS_MAX: u8 = 12;
    const ROTATION_BITS_MIN: u8 = 4;

    /// Returns the coarsest quantization with errors of at most `position` metres and `rotation` for the components of
    /// quaternions. `None`, or a value that is too small for rows, gives the finest quantization.
    pub fn within(position: Option<f32>, rotation: Option<f32>) -> Self {
        let finest = Self::default();
        let position_bits = position.map_or(finest.position_bits, |metres| {
            // The error at the corner of a cube is larger than along its sides.
            let off = |bits: u8| libm::sqrtf(3.0) / 2.0 / (1u32 << bits) as f32;
            (0..finest.position_bits).find(|bits| off(*bits) <= metres).unwrap_or(finest.position_bits)
        });
        let rotation_bits = rotation.map_or(finest.rotation_bits, |part| {
            let off = |bits: u8| FRAC_1_SQRT_2 / ((1u32 << bits) - 1) as f32;
            let coarser = Self::ROTATION_BITS_MIN..finest.rotation_bits;
            coarser.into_iter().find(|bits| off(*bits) <= part).unwrap_or(finest.rotation_bits)
        });
        Self { position_bits, rotation_bits, ..finest }
    }

    /// Returns the number that stands for this quantization in payloads (`spec/WORLD.md`, section 4).
    pub fn to_number(self) -> u32 {
        let (jump, is_motion) = (u32::from(self.jump) << 9, u32::from(self.is_motion) << 8);
        jump | is_motion | u32::from(self.position_bits) << 4 | u32::from(self.rotation_bits)
    }

    /// Inverts [`Quantization::to_number`]; `None` for any other number.
    pub fn of_number(number: u32) -> Option<Self> {
        let (is_motion, jump) = (number >> 8 & 1 == 1, u8::try_from(number >> 9).ok()?);
        let (position_bits, rotation_bits) = (number as u8 >> 4, number as u8 & 15);
        let is_sound = position_bits <= Self::POSITION_BITS_MAX
            && (Self::ROTATION_BITS_MIN..=Self::ROTATION_BITS_MAX).contains(&rotation_bits)
            && jump <= if is_motion { 0 } else { JUMP_MAX };
        is_sound.then_some(Self { position_bits, rotation_bits, is_motion, jump })
    }

    /// Number of steps in a metre.
    pub fn steps_per_metre(self) -> f32 {
        (1u32 << self.position_bits) as f32
    }

    /// The same precision, for entities that jumped a short time ago: `jump` is the number of the jump, 1 to 7, or 0 without a
    /// jump. Entities with another jump are in other groups, so a viewer that sees another number shows no path.
    pub fn jumped(self, jump: u8) -> Self {
        Self { jump: jump.min(JUMP_MAX), ..self }
    }

    /// The number of the jump that brought the entities to their places a short time ago; 0 without a jump.
    pub fn jump(self) -> u8 {
        self.jump
    }

    /// The same precision, for frames with motion rows.
    pub(crate) fn motion(self) -> Self {
        Self { is_motion: true, ..self }
    }

    /// Whether frames of this quantization hold motion rows.
    pub fn is_motion(self) -> bool {
        self.is_motion
    }

    /// Numbers in a row of a frame.
    pub(crate) fn width(self) -> usize {
        if self.is_motion { MOTION_WIDTH } else { WIDTH }
    }

    /// Maximum number of entities in a group.
    pub(crate) fn members_max(self) -> usize {
        if self.is_motion { 1 } else { GROUP_ENTITIES_MAX }
    }

    /// Number of steps in a metre, of the positions in a frame.
    pub(crate) fn frame_steps_per_metre(self) -> f32 {
        if self.is_motion { self.motion_units().position as f32 } else { self.steps_per_metre() }
    }

    /// The units of motion rows: finer than those of ordinary rows, because a motion row stands for many steps.
    pub(crate) fn motion_units(self) -> MotionUnits {
        let scale = |bits: u8| f64::from(1u32 << bits);
        MotionUnits {
            position: scale(self.position_bits + 2),
            velocity: scale(self.position_bits + 3),
            spin: scale(self.rotation_bits + 2),
            component_max: scale(self.rotation_bits + 2) - 1.0,
        }
    }

    /// The quantization steps: of a position, in metres, and of a quaternion component.
    pub(crate) fn steps(self) -> (f64, f64) {
        (1.0 / f64::from(self.steps_per_metre()), std::f64::consts::SQRT_2 / f64::from(self.component_max()))
    }

    fn component_max(self) -> f32 {
        ((1u32 << self.rotation_bits) - 1) as f32
    }

    /// Returns the meaning of each number in a [`Row`].
    pub fn layout(self) -> Layout {
        let orientation = Field::Orientation { bits: self.rotation_bits.into() };
        let fields = [Field::Number, Field::Number, Field::Number, orientation];
        Layout::new(&fields).expect("the fields are within the bounds of a layout")
    }

    /// Rounds a transform. Values that are not finite, or too large for 32 bits, become the nearest valid value.
    pub fn row_of(self, transform: &Transform) -> Row {
        let position = transform.position.map(|metres| libm::roundf(metres * self.steps_per_metre()) as i32);
        let rotation = transform.rotation;
        let largest =
            (1..4).fold(0, |best, at| if rotation[at].abs() > rotation[best].abs() { at } else { best });
        let sign = if rotation[largest] < 0.0 { -1.0 } else { 1.0 };
        let component_max = self.component_max();
        let mut others = (0..4).filter(|at| *at != largest).map(|at| {
            let stored = (sign * rotation[at] * SQRT_2 + 1.0) / 2.0 * component_max;
            libm::roundf(stored.clamp(0.0, component_max)) as i32
        });
        let [x, y, z] = position;
        let mut other = || others.next().expect("three are not the largest");
        [x, y, z, largest as i32, other(), other(), other()]
    }

    /// Returns the transform of a row.
    pub fn transform_of(self, row: &Row) -> Transform {
        let position = [row[0], row[1], row[2]].map(|steps| steps as f32 / self.steps_per_metre());
        let largest = row[3] as usize & 3;
        let mut rotation = [0.0; 4];
        let mut rest = 1.0;
        let others = (0..4).filter(|at| *at != largest).zip(&row[4..]);
        for (at, &stored) in others {
            let component = (2.0 * stored as f32 / self.component_max() - 1.0) * FRAC_1_SQRT_2;
            rotation[at] = component;
            rest -= component * component;
        }
        rotation[largest] = libm::sqrtf(f32::max(rest, 0.0));
        Transform { position, rotation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_are_as_precise_as_their_quantization(
            position in proptest::array::uniform3(-500.0f32..500.0),
            raw in proptest::array::uniform4(-1.0f32..1.0),
            metres in proptest::option::of(0.0005f32..0.6),
            part in proptest::option::of(0.0002f32..0.04),
        ) {
            let length = raw.iter().map(|v| v * v).sum::<f32>().sqrt();
            prop_assume!(length > 0.1);
            let transform = Transform { position, rotation: raw.map(|v| v / length) };
            let quantization = Quantization::within(metres, part);
            prop_assert_eq!(Quantization::of_number(quantization.to_number()), Some(quantization));
            let row = quantization.row_of(&transform);
            let back = quantization.transform_of(&row);
            let away: f32 = back.position.iter().zip(position).map(|(a, b)| (a - b).powi(2)).sum();
            prop_assert!(away.sqrt() <= metres.unwrap_or(0.0009).max(0.0009) + 1e-4);
            let dot: f32 = back.rotation.iter().zip(transform.rotation).map(|(a, b)| a * b).sum();
            let part = part.unwrap_or(0.000_173);
            for at in (0..4).filter(|at| *at != row[3] as usize) {
                let off = (back.rotation[at] * dot.signum() - transform.rotation[at]).abs();
                prop_assert!(off <= part + 1e-5, "{off} of {part}");
            }
            prop_assert!(dot.abs() > 1.0 - 8.0 * part * part - 1e-6, "dot {dot}");
        }
    }

    #[test]
    fn quantization_is_the_coarsest_within_the_given_errors() {
        let bits = |quantization: Quantization| (quantization.position_bits, quantization.rotation_bits);
        assert_eq!(bits(Quantization::within(Some(0.01), Some(0.001))), (7, 10));
        assert_eq!(bits(Quantization::within(None, Some(0.0001))), (10, 12));
        assert_eq!(bits(Quantization::within(Some(9.0), Some(9.0))), (0, 4));
        assert_eq!(bits(Quantization::within(Some(f32::NAN), Some(-1.0))), (10, 12));
        for number in [11 << 4 | 12, 10 << 4 | 13, 3, 1 << 9 | 1 << 8 | 172, 8 << 9 | 172, u32::MAX] {
            assert_eq!(Quantization::of_number(number), None, "{number}");
        }
        let jumped = Quantization::default().jumped(3);
        assert_eq!((jumped.to_number(), Quantization::of_number(3 << 9 | 172)), (3 << 9 | 172, Some(jumped)));
    }

    #[test]
    fn values_that_are_not_finite_are_clamped() {
        for quantization in [Quantization::default(), Quantization::within(Some(0.1), Some(0.01))] {
            let far = Transform { position: [f32::NAN, f32::INFINITY, -1e30], rotation: [f32::NAN; 4] };
            let row = quantization.row_of(&far);
            assert_eq!(row[..3], [0, i32::MAX, i32::MIN]);
            assert!(row[4..].iter().all(|v| (0..1 << quantization.rotation_bits).contains(v)), "{row:?}");
        }
    }
}
