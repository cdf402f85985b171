//! Where people come into the world.

use rapier3d::prelude::*;

use crate::avatar::{AVATAR_HEIGHT, AVATAR_RADIUS, Avatar};
use crate::hold::Block;
use crate::physics::Physics;

/// Distance between two spots, so that neighbours can turn around without bumping into each other.
const SPACING: f32 = 1.3;
/// Spots in one row.
const COLUMNS: usize = 17;
const ROWS: usize = 12;
/// The middle of the front row: everybody looks along −Z, at what is built there.
const FRONT: Vector = Vector::new(0.0, 0.0, 13.0);

/// The first free spot: the front row from its middle outward, then the rows behind it, then above their heads.
pub(crate) fn free_spot<'a>(
    avatars: impl Iterator<Item = &'a Avatar> + Clone,
    blocks: &[Block],
    physics: &Physics,
) -> Vector {
    let is_free = |spot: &Vector| {
        let clear_of = |centre: Vector, half_height: f32, radius: f32| {
            let away = centre - *spot;
            away.y.abs() > AVATAR_HEIGHT / 2.0 + half_height
                || away.x * away.x + away.z * away.z > (AVATAR_RADIUS + radius) * (AVATAR_RADIUS + radius)
        };
        avatars.clone().all(|other| {
            clear_of(physics.get(other.body).translation(), AVATAR_HEIGHT / 2.0, AVATAR_RADIUS + 0.1)
        }) && blocks.iter().all(|block| {
            let radius = block.size.length() / 2.0;
            clear_of(physics.get(block.body).translation(), radius, radius)
        })
    };
    spots().find(is_free).unwrap_or(FRONT + Vector::Y * 30.0)
}

fn spots() -> impl Iterator<Item = Vector> {
    (0..12).flat_map(|storey| {
        (0..ROWS).flat_map(move |row| {
            (0..COLUMNS).map(move |column| {
                let side = if column % 2 == 0 { 1.0 } else { -1.0 };
                let outward = column.div_ceil(2) as f32 * side;
                let above = AVATAR_HEIGHT / 2.0 + 0.02 + storey as f32 * (AVATAR_HEIGHT + 0.3);
                FRONT + Vector::new(outward * SPACING, above, row as f32 * SPACING)
            })
        })
    })
}
