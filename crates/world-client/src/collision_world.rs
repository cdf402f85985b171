//! The solids around an avatar, for prediction (`spec/MOVEMENT.md`, sections 2 and 7).

use std::collections::BTreeMap;
use std::sync::Arc;

use nowcast_world::{Body, BodyRole, EntityId, Form, Mass, Motion, Pose, Solid, Walker};

use crate::{EntityView, KindView, WorldView};

/// Distance from the avatar, in metres, within which a solid can matter while the steps of half a second are taken again.
const REACH_METRES: f32 = 6.0;
/// A walker pushes along a body that weighs at most this many times as much as the walker. Such a body carries the walker
/// and does not stop it.
const PUSHED_MASS_FACTOR: f32 = 4.0;

/// The solids of an entity at one pose.
#[derive(Debug)]
struct Placed {
    kind: u32,
    scale: [f32; 3],
    pose: Pose,
    solids: Arc<[Solid]>,
    /// Distance from the position to the farthest point of the solids, in metres.
    reach: f32,
    /// In kilograms.
    mass: f32,
}

/// The solids around an avatar.
#[derive(Debug, Default)]
pub(crate) struct CollisionWorld {
    placed: BTreeMap<EntityId, Placed>,
    /// The version of the definition from which `placed` was made.
    version: u64,
    near: Vec<Solid>,
}

impl CollisionWorld {
    /// Collects the solids around a position, without the avatar itself.
    pub(crate) fn gather(&mut self, view: &WorldView, avatar: EntityId, walker: &Walker, at: [f32; 3]) {
        let version = view.definition().map_or(0, |definition| definition.version);
        if version != self.version {
            self.placed.clear();
            self.version = version;
        }
        self.placed.retain(|id, _| view.entity(*id).is_some());
        self.near.clear();
        let own = view.entity(avatar).and_then(|seen| view.kind(seen.entity.kind));
        let own = own.map(|kind| kind.layers).unwrap_or_default();
        for (id, seen) in view.entities().filter(|(id, _)| *id != avatar) {
            let Some(kind) = view.kind(seen.entity.kind).filter(|kind| !own.pass(kind.layers)) else {
                continue;
            };
            let Some(body) = kind.body.as_ref().filter(|body| matters_to_walkers(kind, body)) else {
                continue;
            };
            let Some(pose) = pose_of(view, id, seen) else { continue };
            let placed = self.placed.entry(id).or_insert_with(|| place(seen, body, pose));
            if placed.pose != pose || placed.scale != seen.entity.scale || placed.kind != seen.entity.kind {
                *placed = place(seen, body, pose);
            }
            let is_light = body.motion == Motion::Dynamic && placed.mass <= PUSHED_MASS_FACTOR * walker.mass;
            let is_below = pose.position[1] < at[1] - walker.height / 2.0;
            if distance(pose.position, at) <= placed.reach + REACH_METRES && (!is_light || is_below) {
                self.near.extend(placed.solids.iter().cloned());
            }
        }
    }

    /// Adds a solid until the next call of [`Self::gather`].
    pub(crate) fn add(&mut self, solid: Solid) {
        self.near.push(solid);
    }

    /// The solids that were collected, in the order of their entities' ids.
    pub(crate) fn near(&self) -> &[Solid] {
        &self.near
    }
}

fn matters_to_walkers(kind: &KindView, body: &Body) -> bool {
    kind.walker.is_none() && (body.motion != Motion::Sensor || body.role == BodyRole::Water)
}

fn pose_of(view: &WorldView, id: EntityId, seen: &EntityView) -> Option<Pose> {
    if let Some(transform) = view.transform(id) {
        return Some(Pose { position: transform.position, rotation: transform.rotation });
    }
    seen.entity.place.map(|place| Pose { position: place.position, rotation: place.rotation })
}

fn place(seen: &EntityView, body: &Body, pose: Pose) -> Placed {
    let scale = seen.entity.scale;
    // A correct server never sends a shape that cannot be scaled like this.
    let solids = body.shape.solids(scale, &pose).unwrap_or_default().into_iter();
    let solids: Arc<[Solid]> = solids.map(|solid| solid.with_role(body.role)).collect();
    let largest = scale.iter().fold(0.0, |most: f32, scale| most.max(scale.abs()));
    let mass = match body.mass {
        Mass::Kilograms(mass) => mass,
        Mass::Density(density) => density * solids.iter().map(volume).sum::<f32>(),
    };
    Placed { kind: seen.entity.kind, scale, pose, solids, reach: body.shape.reach() * largest, mass }
}

/// The volume of a solid, in cubic metres; 0 for a surface.
fn volume(solid: &Solid) -> f32 {
    use std::f32::consts::PI;
    let ([x, y, z], radius) = (solid.half, solid.radius);
    match &solid.form {
        // For a sphere, the extents of the box are 0; for a capsule, only one extent is above 0.
        Form::Box if radius > 0.0 => PI * radius * radius * (4.0 / 3.0 * radius + 2.0 * y),
        Form::Box => 8.0 * x * y * z,
        Form::Cylinder => 2.0 * PI * x * x * y,
        Form::Cone => 2.0 / 3.0 * PI * x * x * y,
        Form::Hull(triangles) => {
            let tetrahedron = |[a, b, c]: [[f32; 3]; 3]| {
                let cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
                (a[0] * cross[0] + a[1] * cross[1] + a[2] * cross[2]) / 6.0
            };
            triangles.iter().map(|triangle| tetrahedron(triangle.corners)).sum::<f32>().abs()
        }
        Form::Surface(_) => 0.0,
    }
}

/// The distance of two points, in metres.
pub(crate) fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use nowcast_world::ColliderShape;

    use super::*;

    #[test]
    fn volumes_are_those_of_the_shapes() {
        let of = |shape: ColliderShape| -> f32 {
            shape.solids([1.0; 3], &Pose::IDENTITY).unwrap().iter().map(volume).sum()
        };
        let corners = [0.0, 1.0].map(|x| [0.0, 1.0].map(|y| [0.0, 1.0].map(|z| [x, y, z])));
        let points = corners.as_flattened().as_flattened().to_vec();
        for (shape, cubic_metres) in [
            (ColliderShape::Box { size: [1.0, 2.0, 3.0] }, 6.0),
            (ColliderShape::Sphere { radius: 1.0 }, 4.18879),
            (ColliderShape::Capsule { radius: 0.5, height: 2.0 }, 1.309),
            (ColliderShape::Cylinder { radius: 1.0, height: 1.0 }, std::f32::consts::PI),
            (ColliderShape::Cone { radius: 1.0, height: 3.0 }, std::f32::consts::PI),
            (ColliderShape::ConvexHull { points }, 1.0),
        ] {
            let text = format!("{shape:?}");
            let found = of(shape);
            assert!((found - cubic_metres).abs() < 1e-3, "{text}: {found}");
        }
    }
}
