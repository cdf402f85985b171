//! Where people come into the world.

use nowcast_world::math::Vec3;
use nowcast_world::{KindId, Scene};

use super::{AVATAR_HEIGHT, AVATAR_RADIUS};

/// Distance between two spots, so that neighbours can turn around without bumping into each other.
const SPACING: f32 = 1.3;
/// Spots in one row.
const COLUMNS: usize = 17;
const ROWS: usize = 12;
/// The middle of the front row: everybody looks along −Z, at what is built there.
const FRONT: Vec3 = Vec3::new(0.0, 0.0, 13.0);

/// The first free spot: the front row from its middle outward, then the rows behind it, then above their heads.
pub(super) fn free_spot(scene: &Scene, avatars: KindId, blocks: KindId) -> [f32; 3] {
    let taken: Vec<(Vec3, f32, f32)> = scene
        .entities()
        .iter()
        .filter_map(|entity| {
            let centre = Vec3::from_array(entity.pose.position);
            let reach = Vec3::from_array(entity.scale).length() / 2.0;
            if entity.kind == avatars {
                Some((centre, AVATAR_HEIGHT / 2.0, AVATAR_RADIUS + 0.1))
            } else {
                (entity.kind == blocks).then_some((centre, reach, reach))
            }
        })
        .collect();
    let is_free = |spot: &Vec3| {
        taken.iter().all(|(centre, half_height, radius)| {
            let away = *centre - *spot;
            away.y.abs() > AVATAR_HEIGHT / 2.0 + half_height
                || away.x * away.x + away.z * away.z > (AVATAR_RADIUS + radius) * (AVATAR_RADIUS + radius)
        })
    };
    spots().find(is_free).unwrap_or(FRONT + Vec3::Y * 30.0).to_array()
}

fn spots() -> impl Iterator<Item = Vec3> {
    (0..12).flat_map(|storey| {
        (0..ROWS).flat_map(move |row| {
            (0..COLUMNS).map(move |column| {
                let side = if column % 2 == 0 { 1.0 } else { -1.0 };
                let outward = column.div_ceil(2) as f32 * side;
                let above = AVATAR_HEIGHT / 2.0 + 0.02 + storey as f32 * (AVATAR_HEIGHT + 0.3);
                FRONT + Vec3::new(outward * SPACING, above, row as f32 * SPACING)
            })
        })
    })
}
