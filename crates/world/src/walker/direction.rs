//! Sine and cosine of a yaw by 32-bit polynomials, the same in every language: `spec/MOVEMENT.md`, section 3.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};

/// A quarter turn in three parts. The first two have so few digits that a multiple of them is exact (Cody and Waite,
/// Software Manual for the Elementary Functions, 1980).
const QUARTER_PARTS: [f32; 3] = [1.570_312_5, 4.837_513e-4, 7.549_79e-8];

/// Sine and cosine of an angle from −π to π, less than 2e-7 off.
pub(super) fn sine_cosine(angle: f32) -> [f32; 2] {
    let mut quarters = 0.0_f32;
    while angle - quarters * FRAC_PI_2 > FRAC_PI_4 && quarters < 2.0 {
        quarters += 1.0;
    }
    while angle - quarters * FRAC_PI_2 < -FRAC_PI_4 && quarters > -2.0 {
        quarters -= 1.0;
    }
    let rest = angle - quarters * QUARTER_PARTS[0];
    let rest = rest - quarters * QUARTER_PARTS[1];
    let rest = rest - quarters * QUARTER_PARTS[2];
    let square = rest * rest;
    let sine = rest + rest * square * ((-1.951_529_6e-4 * square + 8.332_161e-3) * square - 0.166_666_55);
    let cosine = (2.443_315_7e-5 * square - 1.388_731_6e-3) * square * square * square
        + 0.041_666_646 * square * square
        - 0.5 * square
        + 1.0;
    if quarters == 0.0 {
        [sine, cosine]
    } else if quarters == 1.0 {
        [cosine, -sine]
    } else if quarters == -1.0 {
        [-cosine, sine]
    } else {
        [-sine, -cosine]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::PI;

    #[test]
    fn sine_and_cosine_are_right_for_every_yaw_that_controls_may_have() {
        for step in -100_000..=100_000 {
            let angle = step as f32 / 100_000.0 * PI;
            let [sine, cosine] = sine_cosine(angle);
            let exact = f64::from(angle).sin_cos();
            assert!((f64::from(sine) - exact.0).abs() < 2e-7, "sine of {angle} is {sine}, not {}", exact.0);
            assert!(
                (f64::from(cosine) - exact.1).abs() < 2e-7,
                "cosine of {angle} is {cosine}, not {}",
                exact.1
            );
        }
    }
}
