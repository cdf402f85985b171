//! Moves of kinematic bodies over several steps: to a pose, or along a path.

use nowcast_wire::Wire;

use crate::math::Vec3;
use crate::pose::Pose;

/// How a move's speed changes over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum Easing {
    /// Starts and stops gently: 3t² − 2t³.
    #[default]
    InOut,
    /// Constant speed.
    Linear,
    /// Starts gently and stops at full speed: t².
    In,
    /// Starts at full speed and stops gently: 1 − (1 − t)².
    Out,
}

impl Easing {
    /// Returns the covered fraction of the distance after a fraction of the time, both from 0 to 1.
    fn at(self, share: f32) -> f32 {
        match self {
            Easing::InOut => share * share * (3.0 - 2.0 * share),
            Easing::Linear => share,
            Easing::In => share * share,
            Easing::Out => share * (2.0 - share),
        }
    }

    /// Returns the highest speed of the easing, as a multiple of the mean speed.
    pub(crate) fn peak(self) -> f32 {
        match self {
            Easing::InOut => 1.5,
            Easing::Linear => 1.0,
            Easing::In | Easing::Out => 2.0,
        }
    }
}

/// A body that faces its way looks this far ahead on its path, in metres, so that it turns gently at corners.
const LOOK_AHEAD: f32 = 0.5;

/// How a body follows a path: [`crate::Scene::follow`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PathOptions {
    /// Duration of the whole path in seconds; of one round, if the path loops.
    pub seconds: f64,
    /// The course of the speed over the whole path.
    pub easing: Easing,
    /// Whether the path leads back to its first place, and begins again.
    pub loops: bool,
    /// Whether the body turns so that it faces its way.
    pub faces: bool,
}

/// A move along a path that is under way.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) struct PlannedPath {
    /// At least two places. A path that loops ends where it begins.
    pub(crate) places: Vec<[f32; 3]>,
    pub(crate) easing: Easing,
    pub(crate) loops: bool,
    pub(crate) faces: bool,
    /// Steps of the whole path, or of one round; at least one.
    pub(crate) steps: u32,
    /// Number of steps taken so far; of this round, if the path loops.
    pub(crate) done: u32,
}

/// Returns the length of a path in metres.
pub(crate) fn length_of(places: &[[f32; 3]]) -> f32 {
    places.windows(2).map(|pair| vector(pair[0]).distance(vector(pair[1]))).sum()
}

impl PlannedPath {
    /// Returns the pose after the steps taken so far. `rotation` is the current rotation. A body that does not face its way
    /// keeps it.
    pub(crate) fn pose(&self, rotation: [f32; 4]) -> Pose {
        let length = length_of(&self.places);
        let way = match self.done >= self.steps {
            true => length,
            false => length * self.easing.at(self.done as f32 / self.steps as f32),
        };
        let position = self.place_at(way);
        let ahead = match self.faces {
            // At the end of its path, the body keeps the direction of the last part.
            true if !self.loops && way + LOOK_AHEAD >= length => {
                self.place_at(length) - self.place_at((length - LOOK_AHEAD).max(0.0))
            }
            true => self.place_at((way + LOOK_AHEAD) % length) - position,
            false => Vec3::ZERO,
        };
        let rotation = match ahead.x == 0.0 && ahead.z == 0.0 {
            true => rotation,
            false => crate::math::yaw_rotation(libm::atan2f(-ahead.x, -ahead.z)).to_array(),
        };
        Pose { position: position.to_array(), rotation }
    }

    /// Returns the place after this many metres from the beginning.
    fn place_at(&self, way: f32) -> Vec3 {
        let mut rest = way;
        for pair in self.places.windows(2) {
            let (from, to) = (vector(pair[0]), vector(pair[1]));
            let length = from.distance(to);
            if rest <= length {
                return if length > 0.0 { from + (to - from) * (rest / length) } else { from };
            }
            rest -= length;
        }
        vector(*self.places.last().expect("a path has places"))
    }
}

fn vector(place: [f32; 3]) -> Vec3 {
    Vec3::from_array(place)
}

/// A move that is under way.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub(crate) struct PlannedMove {
    pub(crate) from: Pose,
    pub(crate) to: Pose,
    pub(crate) easing: Easing,
    /// Steps of the whole move; at least one.
    pub(crate) steps: u32,
    /// Number of steps taken so far.
    pub(crate) done: u32,
}

impl PlannedMove {
    /// Returns the pose after the steps taken so far. Rotations take the shorter way.
    pub(crate) fn pose(&self) -> Pose {
        if self.done >= self.steps {
            return self.to;
        }
        let share = self.easing.at(self.done as f32 / self.steps as f32);
        let (from, to) = (&self.from, &self.to);
        let position = [0, 1, 2].map(|at| from.position[at] + (to.position[at] - from.position[at]) * share);
        let cosine: f32 = (0..4).map(|at| from.rotation[at] * to.rotation[at]).sum();
        let sign = if cosine < 0.0 { -1.0 } else { 1.0 };
        let rotation =
            [0, 1, 2, 3].map(|at| from.rotation[at] * (1.0 - share) + sign * to.rotation[at] * share);
        // Two opposite orientations have no unique rotation halfway. The pose then keeps its rotation until the end.
        let pose = Pose { position, rotation };
        pose.checked().unwrap_or(Pose { position, rotation: from.rotation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_passes_its_places_at_the_speed_of_its_easing() {
        let places = vec![[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [4.0, 0.0, 0.0], [4.0, 0.0, -4.0]];
        let mut path =
            PlannedPath { places, easing: Easing::Linear, loops: false, faces: true, steps: 8, done: 0 };
        let mut seen = Vec::new();
        for done in [0, 2, 4, 6, 8, 9] {
            path.done = done;
            seen.push(path.pose([0.0, 0.0, 0.0, 1.0]).position);
        }
        let along = [[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [4.0, -2.0], [4.0, -4.0], [4.0, -4.0]];
        assert_eq!(seen, along.map(|[x, z]| [x, 0.0, z]));
        let yaw_after = |done| PlannedPath { done, ..path.clone() }.pose([0.0, 0.0, 0.0, 1.0]).yaw();
        assert!((yaw_after(1) + std::f32::consts::FRAC_PI_2).abs() < 1e-5, "along x");
        assert!(yaw_after(8).abs() < 1e-5, "along -z, also at the end");
    }

    #[test]
    fn every_easing_begins_at_the_start_and_ends_at_the_goal() {
        for easing in [Easing::InOut, Easing::Linear, Easing::In, Easing::Out] {
            assert_eq!((easing.at(0.0), easing.at(1.0)), (0.0, 1.0), "{easing:?}");
            let speeds = (0..100)
                .map(|at| (easing.at((at + 1) as f32 / 100.0) - easing.at(at as f32 / 100.0)) * 100.0);
            let fastest = speeds.fold(0.0, f32::max);
            assert!(
                fastest <= easing.peak() + 1e-3 && fastest > easing.peak() - 0.05,
                "{easing:?}: {fastest}"
            );
        }
    }
}
