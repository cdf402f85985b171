//! What controls may say, and where nonsense is turned away.

/// How far outside −1..1 a control may be for its sender's rounding to be forgiven.
const CONTROL_SLACK: f32 = 1e-3;

/// The longest name, in characters.
pub const NAME_CHARS_MAX: usize = 24;

/// The longest chat line, in characters.
pub const CHAT_CHARS_MAX: usize = 300;

/// What the controls of one avatar say now. State: it holds until the next one.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Input {
    /// −1..1 along the direction that `yaw` faces.
    pub forward: f32,
    /// −1..1 to the right of it.
    pub right: f32,
    /// Radians; 0 faces −Z, growing counter-clockwise seen from above.
    pub yaw: f32,
    /// Runs instead of walking.
    pub run: bool,
    /// Jumps whenever there is ground to jump from.
    pub jump: bool,
}

impl Input {
    /// Checks what came from outside. `yaw` may be any finite angle and is brought into −π..π.
    pub fn new(forward: f32, right: f32, yaw: f32, run: bool, jump: bool) -> Result<Input, InputError> {
        let control = |field, value: f32| {
            within(field, value, -1.0 - CONTROL_SLACK, 1.0 + CONTROL_SLACK).map(|v| v.clamp(-1.0, 1.0))
        };
        let forward = control("forward", forward)?;
        let right = control("right", right)?;
        let yaw = wrap_angle(within("yaw", yaw, f32::MIN, f32::MAX)?);
        Ok(Input { forward, right, yaw, run, jump })
    }

    /// The same checks for a value that was built by hand.
    pub fn validate(self) -> Result<Input, InputError> {
        Input::new(self.forward, self.right, self.yaw, self.run, self.jump)
    }
}

/// A number from outside that no honest client sends.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum InputError {
    /// NaN or infinite (or too large for an `f32`).
    #[error("{field} is not a finite number")]
    NotFinite {
        /// Which one.
        field: &'static str,
    },
    /// Finite, and outside its bounds.
    #[error("{field} is {value}, outside {min}..{max}")]
    OutOfBounds {
        /// Which one.
        field: &'static str,
        /// What it was.
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
        assert!((input.yaw - (7.0 - std::f32::consts::TAU)).abs() < 1e-6);
        assert!(Input::new(0.0, 0.0, f32::MAX, false, false).unwrap().yaw.abs() <= std::f32::consts::PI);
    }
}
