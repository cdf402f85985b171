//! Orientations as the smallest three components of a unit quaternion.
//!
//! All computations use `f64` and operations that IEEE 754 defines exactly, in an order that the specification fixes. So both
//! ends round in the same way.

/// For each largest component, the indices of the components that are stored.
pub(super) const OTHERS: [[usize; 3]; 4] = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]];

/// Returns the quaternion (x, y, z, w) of the four columns from `first` on. The quaternion is in units of 1 / (M √2), and is
/// not normalised further.
pub(super) fn unpack(row: &[i32], first: usize, bits: u32) -> [f64; 4] {
    let top = f64::from((1 << bits) - 1);
    let largest = (row[first] & 3) as usize;
    let part = |at: usize| 2.0 * f64::from(row[first + at]) - top;
    let (a, b, c) = (part(1), part(2), part(3));
    let rest = 2.0 * top * top - (a * a + b * b + c * c);
    let left_out = if rest > 0.0 { rest.sqrt() } else { 0.0 };
    match largest {
        0 => [left_out, a, b, c],
        1 => [a, left_out, b, c],
        2 => [a, b, left_out, c],
        _ => [a, b, c, left_out],
    }
}

/// Returns the three stored components of a quaternion in the units of [`unpack`], unrounded, given that `largest` is left out.
pub(super) fn components(quaternion: [f64; 4], bits: u32, largest: usize) -> [f64; 3] {
    let top = f64::from((1 << bits) - 1);
    // A quaternion and its negative are the same orientation. The sign is chosen so that the component that is left out is
    // positive.
    let sign = if quaternion[largest] < 0.0 { -1.0 } else { 1.0 };
    let [a, b, c] = OTHERS[largest];
    let part = |index: usize| (sign * quaternion[index] + top) / 2.0;
    [part(a), part(b), part(c)]
}

/// Returns the rounded components of a row's orientation that would be stored if `largest` were left out.
pub(super) fn in_frame_of(row: &[i32], first: usize, bits: u32, largest: i32) -> [i32; 3] {
    if row[first] == largest {
        return [row[first + 1], row[first + 2], row[first + 3]];
    }
    components(unpack(row, first, bits), bits, (largest & 3) as usize)
        .map(|value| (value + 0.5).floor() as i32)
}
