//! The input of a player, and its validation.

use nowcast_wire::Wire;

/// Tolerance of controls outside −1..1, for rounding by their sender.
const CONTROL_SLACK: f32 = 1e-3;

/// Resolution of yaws: 1/8192 radian (0.007°). Because 8192 is a power of two, each yaw is exact in a 32-bit float. A yaw
/// fits into 16 bits.
const YAW_PARTS: f32 = 8_192.0;

/// The largest yaw below π, in parts of 1/8192.
const YAW_PARTS_MAX: f32 = 25_735.0;

/// Maximum length of a name, in characters.
pub const NAME_CHARS_MAX: usize = 24;

/// Maximum length of a chat line, in characters.
pub const CHAT_CHARS_MAX: usize = 300;

/// The input of one avatar. Input is a state: it applies until the next input.
#[derive(Clone, Copy, PartialEq, Debug, Default, Wire)]
pub struct Input {
    /// −1..1 along the direction that `yaw` faces.
    pub forward: f32,
    /// −1..1 to the right of that direction.
    pub right: f32,
    /// Direction in radians; 0 faces −Z, growing counter-clockwise seen from above. A world rounds it to a multiple of
    /// 1/8192.
    #[wire(range(-25_735.0 / 8_192.0, 25_735.0 / 8_192.0, 1.0 / 8_192.0))]
    pub yaw: f32,
    /// Whether to run instead of walking.
    pub run: bool,
    /// Whether to jump whenever there is ground below.
    pub jump: bool,
}

impl Input {
    /// Validates values from outside. `yaw` may be any finite angle; it is wrapped to −π..π and rounded to a multiple
    /// of 1/8192 (`spec/MOVEMENT.md`, section 3).
    ///
    /// # Errors
    /// Fails if a number is not finite, or if `forward` or `right` is outside −1..1.
    pub fn new(forward: f32, right: f32, yaw: f32, run: bool, jump: bool) -> Result<Input, InputError> {
        let control = |field, value: f32| {
            within(field, value, -1.0 - CONTROL_SLACK, 1.0 + CONTROL_SLACK).map(|v| v.clamp(-1.0, 1.0))
        };
        let forward = control("forward", forward)?;
        let right = control("right", right)?;
        let yaw = quantise_yaw(within("yaw", yaw, f32::MIN, f32::MAX)?);
        Ok(Input { forward, right, yaw, run, jump })
    }

    /// Validates a value that was built by hand.
    ///
    /// # Errors
    /// Fails as [`Input::new`] does.
    pub fn validate(self) -> Result<Input, InputError> {
        Input::new(self.forward, self.right, self.yaw, self.run, self.jump)
    }
}

/// A number that no correct client sends.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum InputError {
    /// NaN or infinite (or too large for an `f32`).
    #[error("{field} is not a finite number")]
    NotFinite {
        /// The field.
        field: &'static str,
    },
    /// Finite, but outside its bounds.
    #[error("{field} is {value}, outside {min}..{max}")]
    OutOfBounds {
        /// The field.
        field: &'static str,
        /// The refused value.
        value: f32,
        /// The smallest allowed value.
        min: f32,
        /// The largest allowed value.
        max: f32,
    },
}

fn within(field: &'static str, value: f32, min: f32, max: f32) -> Result<f32, InputError> {
    if !value.is_finite() {
        return Err(InputError::NotFinite { field });
    }
    if value < min || value > max {
        return Err(InputError::OutOfBounds { field, value, min, max });
    }
    Ok(value)
}

/// Wraps a yaw to −π..π and rounds it. Applying it again changes nothing.
pub(crate) fn quantise_yaw(angle: f32) -> f32 {
    let parts = libm::floorf(wrap_angle(angle) * YAW_PARTS + 0.5);
    parts.clamp(-YAW_PARTS_MAX, YAW_PARTS_MAX) / YAW_PARTS
}

fn wrap_angle(angle: f32) -> f32 {
    use std::f32::consts::{PI, TAU};
    let turned = libm::fmodf(angle, TAU);
    if turned > PI {
        turned - TAU
    } else if turned < -PI {
        turned + TAU
    } else {
        turned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_numbers_are_named_and_refused() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e300_f64 as f32] {
            assert_eq!(
                Input::new(bad, 0.0, 0.0, false, false),
                Err(InputError::NotFinite { field: "forward" })
            );
            assert_eq!(
                Input::new(0.0, bad, 0.0, false, false),
                Err(InputError::NotFinite { field: "right" })
            );
            assert_eq!(Input::new(0.0, 0.0, bad, false, false), Err(InputError::NotFinite { field: "yaw" }));
        }
        let error = Input::new(1.5, 0.0, 0.0, false, false).unwrap_err();
        assert_eq!(error.to_string(), "forward is 1.5, outside -1.001..1.001");
    }

    #[test]
    fn a_rounded_control_is_forgiven_and_a_large_angle_is_wrapped() {
        let input = Input::new(1.0004, -1.0004, 7.0, true, true).unwrap();
        assert_eq!((input.forward, input.right), (1.0, -1.0));
        assert!((input.yaw - (7.0 - std::f32::consts::TAU)).abs() <= 0.5 / YAW_PARTS + 1e-6);
        assert!(Input::new(0.0, 0.0, f32::MAX, false, false).unwrap().yaw.abs() <= std::f32::consts::PI);
    }

    #[test]
    fn a_yaw_is_a_multiple_of_its_unit_and_rounding_is_stable() {
        use std::f32::consts::PI;
        for step in -100_000..=100_000 {
            let angle = step as f32 / 100_000.0 * PI;
            let yaw = quantise_yaw(angle);
            assert!((yaw - angle).abs() <= 1.0 / YAW_PARTS && yaw.abs() <= PI, "{angle} becomes {yaw}");
            assert_eq!(quantise_yaw(yaw).to_bits(), yaw.to_bits(), "{angle}");
        }
        assert_eq!(quantise_yaw(-0.0).to_bits(), 0.0_f32.to_bits());
        assert_eq!(quantise_yaw(-1.5 / YAW_PARTS), -1.0 / YAW_PARTS, "a half goes up");
        assert_eq!([PI, -PI].map(|yaw| quantise_yaw(yaw) * YAW_PARTS), [25_735.0, -25_735.0]);
    }
}
