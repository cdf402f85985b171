//! Joints between two bodies.

use nowcast_wire::Wire;
use rapier3d::prelude::*;

use crate::id::EntityId;

/// Names one joint of a world. Ids grow and are never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Wire)]
pub struct JointId(pub u32);

/// A connection of two bodies. A joint is removed with either of its entities.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub struct Joint {
    /// The first entity.
    pub a: EntityId,
    /// The second entity.
    pub b: EntityId,
    /// The anchor relative to `a`, in metres.
    pub anchor_a: [f32; 3],
    /// The anchor relative to `b`, in metres.
    pub anchor_b: [f32; 3],
    /// The degrees of freedom that the joint leaves to the bodies.
    pub kind: JointKind,
    /// Whether the two bodies still collide with each other.
    pub collides: bool,
}

/// A joint's degrees of freedom.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub enum JointKind {
    /// None: the two bodies move as one.
    Fixed,
    /// Rotates freely around the anchor.
    Ball,
    /// Rotates around one axis.
    Hinge {
        /// The axis, in the frames of both.
        axis: [f32; 3],
        /// Minimum and maximum angle in radians; `None` for no limits.
        limits: Option<[f32; 2]>,
        /// The motor: radians a second, and the maximum torque in newton metres.
        motor: Option<Motor>,
    },
    /// Moves along one axis.
    Slider {
        /// The axis, in the frames of both.
        axis: [f32; 3],
        /// Minimum and maximum distance in metres; `None` for no limits.
        limits: Option<[f32; 2]>,
        /// The motor: metres a second, and the maximum force in newtons.
        motor: Option<Motor>,
    },
    /// Keeps the anchors no farther apart than the length of the rope.
    Rope {
        /// The length, in metres.
        length: f32,
    },
    /// Pulls and pushes the bodies toward a given distance between the anchors.
    Spring {
        /// The distance, in metres.
        length: f32,
        /// In newtons a metre.
        stiffness: f32,
        /// In newtons for each metre a second.
        damping: f32,
    },
}

/// The motor of a joint.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub struct Motor {
    /// Target velocity: radians or metres a second.
    pub velocity: f32,
    /// Maximum force: newton metres or newtons.
    pub force_max: f32,
}

impl Joint {
    /// Makes a joint at the origins of both entities, which do not collide with each other.
    pub fn new(a: EntityId, b: EntityId, kind: JointKind) -> Joint {
        Joint { a, b, anchor_a: [0.0; 3], anchor_b: [0.0; 3], kind, collides: false }
    }

    /// Whether every number is finite and every axis has a direction.
    pub(crate) fn is_valid(&self) -> bool {
        let is_axis = |axis: [f32; 3]| {
            axis.iter().all(|v| v.is_finite() && v.abs() <= 1e6) && Vector::from_array(axis).length() > 1e-3
        };
        let are_ordered = |limits: Option<[f32; 2]>| {
            limits.is_none_or(|[low, high]| low.is_finite() && high.is_finite() && low <= high)
        };
        let is_motor = |motor: Option<Motor>| {
            motor.is_none_or(|motor| {
                motor.velocity.is_finite() && motor.force_max.is_finite() && motor.force_max >= 0.0
            })
        };
        let is_kind = match self.kind {
            JointKind::Fixed | JointKind::Ball => true,
            JointKind::Hinge { axis, limits, motor } | JointKind::Slider { axis, limits, motor } => {
                is_axis(axis) && are_ordered(limits) && is_motor(motor)
            }
            JointKind::Rope { length } => (0.01..=crate::limits::POSITION_MAX).contains(&length),
            JointKind::Spring { length, stiffness, damping } => {
                [length, stiffness, damping].iter().all(|v| v.is_finite() && *v >= 0.0)
            }
        };
        let is_place =
            |place: [f32; 3]| place.iter().all(|v| v.is_finite() && v.abs() <= crate::limits::POSITION_MAX);
        is_kind && is_place(self.anchor_a) && is_place(self.anchor_b) && self.a != self.b
    }

    pub(crate) fn build(&self) -> GenericJoint {
        let (a, b) = (Vector::from_array(self.anchor_a), Vector::from_array(self.anchor_b));
        let mut joint: GenericJoint = match self.kind {
            JointKind::Fixed => FixedJointBuilder::new().local_anchor1(a).local_anchor2(b).into(),
            JointKind::Ball => SphericalJointBuilder::new().local_anchor1(a).local_anchor2(b).into(),
            JointKind::Hinge { axis, limits, motor } => {
                let mut hinge = RevoluteJointBuilder::new(Vector::from_array(axis).normalize())
                    .local_anchor1(a)
                    .local_anchor2(b);
                if let Some(limits) = limits {
                    hinge = hinge.limits(limits);
                }
                if let Some(Motor { velocity, force_max }) = motor {
                    hinge = hinge.motor_velocity(velocity, force_max).motor_max_force(force_max);
                }
                hinge.into()
            }
            JointKind::Slider { axis, limits, motor } => {
                let mut slider = PrismaticJointBuilder::new(Vector::from_array(axis).normalize())
                    .local_anchor1(a)
                    .local_anchor2(b);
                if let Some(limits) = limits {
                    slider = slider.limits(limits);
                }
                if let Some(Motor { velocity, force_max }) = motor {
                    slider = slider.motor_velocity(velocity, force_max).motor_max_force(force_max);
                }
                slider.into()
            }
            JointKind::Rope { length } => {
                RopeJointBuilder::new(length).local_anchor1(a).local_anchor2(b).into()
            }
            JointKind::Spring { length, stiffness, damping } => {
                SpringJointBuilder::new(length, stiffness, damping).local_anchor1(a).local_anchor2(b).into()
            }
        };
        joint.contacts_enabled = self.collides;
        joint
    }
}
