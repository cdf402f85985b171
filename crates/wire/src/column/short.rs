//! Doubles that came from singles through their short decimal form. Most numbers in JSON are such doubles.

/// Doubles hold every whole number up to this one.
const WHOLE_MAX: f64 = (1u64 << 53) as f64;

/// Returns the double for a single in a short column: the decimal with the fewest places that rounds to this single.
///
/// Section 5.2 of the specification states the steps in doubles, so that every language computes the same result.
pub(super) fn widen(single: f32) -> f64 {
    let size = f64::from(single.abs());
    if !size.is_finite() {
        return single.into();
    }
    for places in 0..=22 {
        let power = power_of_ten(places);
        let product = size * power;
        let whole = product.round_ties_even();
        if whole > WHOLE_MAX {
            break;
        }
        // Half a step of a single is at most 2^-24 of its value. If the difference is larger, the division cannot lead to a match
        // and is skipped.
        if (whole - product).abs() > product * (1.0 / (1u64 << 23) as f64) {
            continue;
        }
        let decimal = whole / power;
        if f64::from(decimal as f32) == size {
            return decimal.copysign(single.into());
        }
    }
    single.into()
}

/// Returns the single that [`widen`] maps to this double, if there is one.
pub(super) fn narrow(wide: f64) -> Option<f32> {
    let single = wide as f32;
    (single.is_finite() && widen(single).to_bits() == wide.to_bits()).then_some(single)
}

/// Returns 10^e, which is exact in `f64` up to e = 22.
pub(super) fn power_of_ten(exponent: u8) -> f64 {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    POWERS[usize::from(exponent)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_widens_to_the_double_of_its_shortest_decimal() {
        for text in [
            "-94.8307",
            "33.37242",
            "0.010437689",
            "1.5",
            "100",
            "16777216",
            "0.1",
            "3.4e-5",
            "-0",
            "61.570312",
        ] {
            let wide: f64 = text.parse().unwrap();
            let single: f32 = text.parse().unwrap();
            assert_eq!(widen(single).to_bits(), wide.to_bits(), "{text}");
            assert_eq!(narrow(wide).map(f32::to_bits), Some(single.to_bits()), "{text}");
        }
    }

    #[test]
    fn every_single_widens_to_a_double_that_narrows_to_it() {
        // Tests every 65,521st bit pattern. 65,521 is a prime, so all exponents and many mantissas occur.
        for bits in (0..=u32::MAX).step_by(65_521) {
            let single = f32::from_bits(bits);
            let wide = widen(single);
            assert!(single.is_nan() || (wide as f32).to_bits() == bits, "{single:e} widens to {wide:e}");
        }
    }

    #[test]
    fn ordinary_singles_widen_to_no_more_digits_than_they_print() {
        for step in 0..100_000u32 {
            let single = step as f32 * 0.731 - 36_000.25;
            // If two decimals are equally near, printers may choose another last digit.
            assert!(widen(single).to_string().len() <= single.to_string().len(), "{single}");
        }
    }

    #[test]
    fn doubles_of_more_digits_do_not_narrow() {
        for wide in [0.1 + 0.2, 123_456.789, f64::MAX, f64::NAN, f64::INFINITY] {
            assert_eq!(narrow(wide), None, "{wide}");
        }
    }
}
