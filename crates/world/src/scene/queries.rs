//! Queries: rays, shapes, overlaps, distances. They use the world after the last step, or a player's view of it
//! ([`Scene::rewind`]). In a rewound scene, entities that were elsewhere are tested one by one, in addition to the
//! index of current poses.

use rapier3d::parry::query::{self, RayIntersection, ShapeCastHit, ShapeCastOptions};
use rapier3d::prelude::{
    Collider, ColliderHandle, Pose as RapierPose, QueryFilter, QueryFilterFlags, Ray, Shape, Vector,
};

use super::{Scene, SceneError};
use crate::body::Motion;
use crate::id::{EntityId, KindId};
use crate::physics::id_of;
use crate::pose::{Pose, rapier_pose};
use crate::shape::ColliderShape;

/// The filter of a query.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Filter<'a> {
    /// Only bodies of this motion; `None` for all bodies except sensors.
    pub motion: Option<Motion>,
    /// Excludes this entity.
    pub except: Option<EntityId>,
    /// Only entities with this tag.
    pub tag: Option<&'a str>,
}

/// A hit of a query.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hit {
    /// The entity.
    pub entity: EntityId,
    /// The distance in metres.
    pub distance: f32,
    /// The point in the world.
    pub point: [f32; 3],
    /// The surface normal at the point.
    pub normal: [f32; 3],
}

impl Scene {
    /// Returns the first hit of a ray from `origin` within `reach` metres. `direction` may have any length.
    ///
    /// # Errors
    /// Fails if a number is not finite, or if the direction has length 0.
    pub fn cast_ray(
        &self,
        origin: [f32; 3],
        direction: [f32; 3],
        reach: f32,
        filter: Filter<'_>,
    ) -> Result<Option<Hit>, SceneError> {
        let (origin, direction) = line(origin, direction, reach)?;
        let predicate = |_: ColliderHandle, collider: &Collider| self.finds(collider, filter);
        let queries =
            self.physics.world.query_pipeline_with_filter(rapier_filter(filter).predicate(&predicate));
        let ray = Ray::new(origin, direction);
        let mut hit = queries
            .cast_ray_and_get_normal(&ray, reach, true)
            .map(|(collider, hit)| (id_of(self.physics.world.colliders[collider].user_data), hit));
        for (id, collider, place) in self.rewound_colliders(filter) {
            let met = collider.shape().cast_ray_and_get_normal(&place, &ray, reach, true);
            let is_nearer = |met: &RayIntersection| {
                hit.as_ref().is_none_or(|(_, known)| met.time_of_impact < known.time_of_impact)
            };
            if let Some(met) = met.filter(is_nearer) {
                hit = Some((id, met));
            }
        }
        Ok(hit.map(|(entity, hit)| Hit {
            entity,
            distance: hit.time_of_impact,
            point: (origin + direction * hit.time_of_impact).to_array(),
            normal: hit.normal.to_array(),
        }))
    }

    /// Returns the first hit of a shape that moves from `pose` in a direction, within `reach` metres. Distance 0 means that
    /// the shapes overlap from the beginning.
    ///
    /// # Errors
    /// Fails if the shape cannot be built, if a number is not finite, or if the direction has length 0.
    pub fn cast_shape(
        &self,
        shape: &ColliderShape,
        pose: Pose,
        direction: [f32; 3],
        reach: f32,
        filter: Filter<'_>,
    ) -> Result<Option<Hit>, SceneError> {
        let pose = pose.checked().ok_or(SceneError::BadNumber("pose"))?;
        let (_, direction) = line(pose.position, direction, reach)?;
        let shape = shape.build([1.0; 3]).map_err(SceneError::BadScale)?;
        let predicate = |_: ColliderHandle, collider: &Collider| self.finds(collider, filter);
        let queries =
            self.physics.world.query_pipeline_with_filter(rapier_filter(filter).predicate(&predicate));
        let options = ShapeCastOptions::with_max_time_of_impact(reach);
        let pose = rapier_pose(&pose);
        let mut hit = queries
            .cast_shape(&pose, direction, &*shape, options)
            .map(|(collider, hit)| (id_of(self.physics.world.colliders[collider].user_data), hit));
        for (id, collider, place) in self.rewound_colliders(filter) {
            // The pipeline reports the values with the hit shape first.
            let met = query::cast_shapes(
                &place,
                Vector::ZERO,
                collider.shape(),
                &pose,
                direction,
                &*shape,
                options,
            );
            let is_nearer = |met: &ShapeCastHit| {
                hit.as_ref().is_none_or(|(_, known)| met.time_of_impact < known.time_of_impact)
            };
            // Shapes that the library cannot cast against each other do not collide.
            if let Some(met) = met.ok().flatten().filter(is_nearer) {
                hit = Some((id, met.transform1_by(&place)));
            }
        }
        Ok(hit.map(|(entity, hit)| Hit {
            entity,
            distance: hit.time_of_impact,
            point: hit.witness1.to_array(),
            normal: hit.normal1.to_array(),
        }))
    }

    /// Returns the entities that overlap a shape, sensors included, ordered by id. The world's limits bound their
    /// number.
    ///
    /// # Errors
    /// Fails if the shape or the pose has a number that is not finite or outside its bounds.
    pub fn overlaps(
        &self,
        shape: &ColliderShape,
        pose: Pose,
        filter: Filter<'_>,
    ) -> Result<Vec<EntityId>, SceneError> {
        let pose = pose.checked().ok_or(SceneError::BadNumber("pose"))?;
        let shape = shape.build([1.0; 3]).map_err(SceneError::BadScale)?;
        let predicate = |_: ColliderHandle, collider: &Collider| self.finds(collider, filter);
        let flags = QueryFilter { flags: QueryFilterFlags::default(), ..rapier_filter(filter) };
        let queries = self.physics.world.query_pipeline_with_filter(flags.predicate(&predicate));
        let pose = rapier_pose(&pose);
        let hits = queries.intersect_shape(pose, &*shape);
        let mut ids: Vec<EntityId> = hits.map(|(_, collider)| id_of(collider.user_data)).collect();
        for (collider, place) in self.elsewhere() {
            let id = id_of(collider.user_data);
            let overlap = query::intersection_test(&place, collider.shape(), &pose, &*shape);
            if self.admits(id, filter) && overlap.is_ok_and(|overlap| overlap.intersecting) {
                ids.push(id);
            }
        }
        ids.sort_unstable();
        ids.truncate(self.definition.limits.hits_max);
        Ok(ids)
    }

    /// Returns the distance between the surfaces of two bodies in metres; 0 if they overlap.
    ///
    /// # Errors
    /// Fails if an entity is unknown or has no body.
    pub fn distance(&self, a: EntityId, b: EntityId) -> Result<f32, SceneError> {
        let (a, b) = (self.collider(a)?, self.collider(b)?);
        let apart = query::distance(&self.place_of(a), a.shape(), &self.place_of(b), b.shape());
        apart
            .map(|apart| apart.distance)
            .map_err(|_| SceneError::BadScale("the distance between these two shapes cannot be computed"))
    }

    /// Returns the entities that a body touches or, as a sensor, overlaps, ordered by id.
    ///
    /// # Errors
    /// Fails if the entity is unknown or has no body.
    pub fn touching(&self, id: EntityId) -> Result<Vec<EntityId>, SceneError> {
        let handles = self.entities.handles[self.row(id)?].ok_or(SceneError::NoBody(id))?;
        let mut ids = Vec::new();
        self.physics.touched(handles, |other, _| ids.push(other));
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    fn collider(&self, id: EntityId) -> Result<&Collider, SceneError> {
        let handles = self.entities.handles[self.row(id)?].ok_or(SceneError::NoBody(id))?;
        Ok(self.physics.collider(handles))
    }

    /// Returns the queries' cost since the last call: how many shape parts were examined.
    pub fn take_query_cost(&self) -> u64 {
        self.looked_at.take()
    }

    /// How many points, triangles or fields an entity's shape has; 1 for a simple shape, 0 without a body.
    pub fn shape_parts(&self, id: EntityId) -> usize {
        self.collider(id).map_or(0, |collider| parts_of(collider.shape()))
    }

    /// Number of shape parts that must be built for a new entity of a kind: bodies with a scale of 1 share one shape.
    pub fn parts_to_build(&self, kind: KindId, scale: Option<[f32; 3]>) -> usize {
        let is_shared = scale.is_none_or(|scale| scale == [1.0; 3]);
        let body = self.definition.kinds.get(usize::from(kind.0)).and_then(|kind| kind.body.as_ref());
        body.filter(|_| !is_shared).map_or(0, |body| body.shape.part_count())
    }

    /// Whether a query of present poses examines a collider.
    fn finds(&self, collider: &Collider, filter: Filter<'_>) -> bool {
        let parts = parts_of(collider.shape()) / PARTS_A_LOOK;
        self.looked_at.set(self.looked_at.get() + LOOKS_A_BODY + parts as u64);
        self.is_here(collider) && self.admits(id_of(collider.user_data), filter)
    }

    /// Returns the colliders that the rewound view adds to a query.
    fn rewound_colliders<'s>(
        &'s self,
        filter: Filter<'s>,
    ) -> impl Iterator<Item = (EntityId, &'s Collider, RapierPose)> {
        self.elsewhere().filter_map(move |(collider, place)| {
            let id = id_of(collider.user_data);
            let is_wanted = !collider.is_sensor() || filter.motion == Some(Motion::Sensor);
            (is_wanted && self.admits(id, filter)).then_some((id, collider, place))
        })
    }

    fn admits(&self, id: EntityId, filter: Filter<'_>) -> bool {
        if filter.except == Some(id) {
            return false;
        }
        let Some(row) = self.entities.row(id) else { return false };
        let motion = || self.kind_of(self.entities.kinds[row]).body.as_ref().map(|body| body.motion);
        filter.motion.is_none_or(|wanted| motion() == Some(wanted))
            && filter.tag.is_none_or(|tag| self.entities.tags[row].iter().any(|known| known == tag))
    }
}

/// A query uses an index over the parts of a shape, so a shape with many parts costs little more than a simple one.
const PARTS_A_LOOK: usize = 256;
const LOOKS_A_BODY: u64 = 4;

fn parts_of(shape: &dyn Shape) -> usize {
    if let Some(mesh) = shape.as_trimesh() {
        mesh.num_triangles()
    } else if let Some(heights) = shape.as_heightfield() {
        heights.nrows() * heights.ncols()
    } else if let Some(hull) = shape.as_convex_polyhedron() {
        hull.points().len()
    } else if let Some(compound) = shape.as_compound() {
        compound.shapes().iter().map(|(_, part)| parts_of(&**part)).sum()
    } else {
        1
    }
}

fn rapier_filter<'f>(filter: Filter<'_>) -> QueryFilter<'f> {
    if filter.motion == Some(Motion::Sensor) {
        QueryFilter::default()
    } else {
        QueryFilter::default().exclude_sensors()
    }
}

/// Returns the origin and the unit direction of a line.
fn line(origin: [f32; 3], direction: [f32; 3], reach: f32) -> Result<(Vector, Vector), SceneError> {
    let direction = Vector::from_array(direction);
    let length = direction.length();
    let are_finite = origin.iter().all(|v| v.is_finite()) && length.is_finite() && reach.is_finite();
    if !are_finite || length < 1e-12 || reach < 0.0 {
        return Err(SceneError::BadNumber("ray"));
    }
    Ok((Vector::from_array(origin), direction / length))
}
