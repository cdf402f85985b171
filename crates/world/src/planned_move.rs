//! Moves of kinematic bodies over several steps.

use crate::pose::Pose;

/// The course of the speed of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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

/// A move that is under way.
#[derive(Clone, Copy, PartialEq, Debug)]
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
