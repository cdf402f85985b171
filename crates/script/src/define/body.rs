//! Declarations of a body and its shape.

use nowcast_world::{Body, BodyRole, ColliderShape, Mass, Motion, Pose};

use crate::fields::{Declared, Fields};

/// Reads a body: its shape, its motion, and its material.
pub(super) fn read_body(fields: &Fields<'_>) -> Declared<Body> {
    fields.nothing_else(&[SHAPE_FIELDS.as_slice(), &BODY_FIELDS].concat())?;
    let motion = read_motion(fields)?.unwrap_or(Motion::Dynamic);
    let mut body = Body::new(motion, read_shape(fields)?);
    match (fields.number("mass")?, fields.number("density")?) {
        (Some(_), Some(_)) => return Err(format!("{}: declare `mass` or `density`, not both", fields.path)),
        (Some(mass), None) => body.mass = Mass::Kilograms(mass),
        (None, Some(density)) => body.mass = Mass::Density(density),
        (None, None) => {}
    }
    let numbers: [(&str, &mut f32); 5] = [
        ("friction", &mut body.friction),
        ("restitution", &mut body.restitution),
        ("gravity_scale", &mut body.gravity_scale),
        ("linear_damping", &mut body.linear_damping),
        ("angular_damping", &mut body.angular_damping),
    ];
    for (name, place) in numbers {
        if let Some(value) = fields.number(name)? {
            *place = value;
        }
    }
    body.locks_rotation = fields.truth("locks_rotation")?.unwrap_or(false);
    body.is_bullet = fields.truth("bullet")?.unwrap_or(false);
    body.role = match fields.text("role")?.as_deref() {
        None => BodyRole::Obstacle,
        Some("ladder") => BodyRole::Ladder,
        Some("water") => BodyRole::Water,
        Some(other) => return Err(fields.expected("role", "\"ladder\" or \"water\"", other)),
    };
    Ok(body)
}

/// Reads the field `motion`; `None` if it is not there.
pub(crate) fn read_motion(fields: &Fields<'_>) -> Declared<Option<Motion>> {
    Ok(Some(match fields.text("motion")?.as_deref() {
        None => return Ok(None),
        Some("dynamic") => Motion::Dynamic,
        Some("fixed") => Motion::Fixed,
        Some("kinematic") => Motion::Kinematic,
        Some("sensor") => Motion::Sensor,
        Some(other) => {
            return Err(fields.expected(
                "motion",
                "\"dynamic\", \"fixed\", \"kinematic\" or \"sensor\"",
                other,
            ));
        }
    }))
}

/// Fields of a shape.
pub(crate) const SHAPE_FIELDS: [&str; 10] =
    ["shape", "size", "radius", "height", "points", "vertices", "triangles", "heights", "columns", "parts"];

/// Fields of a body in addition to those of its shape.
const BODY_FIELDS: [&str; 11] = [
    "role",
    "motion",
    "mass",
    "density",
    "friction",
    "restitution",
    "gravity_scale",
    "linear_damping",
    "angular_damping",
    "locks_rotation",
    "bullet",
];

const SHAPES: &str = "\"box\", \"sphere\", \"capsule\", \"cylinder\", \"cone\", \"hull\", \"mesh\", \"heights\" or \"compound\"";

/// Reads a shape: the field `shape` names its form, the other fields are its measures.
pub(crate) fn read_shape(fields: &Fields<'_>) -> Declared<ColliderShape> {
    let shape = fields.text("shape")?.ok_or_else(|| format!("{}.shape is missing: {SHAPES}", fields.path))?;
    let number = |name: &str| {
        fields.number(name)?.ok_or_else(|| format!("{}.{name} is missing: a {shape} needs it", fields.path))
    };
    Ok(match shape.as_str() {
        "box" => ColliderShape::Box {
            size: fields
                .vector("size")?
                .ok_or_else(|| format!("{}.size is missing: a vector", fields.path))?,
        },
        "sphere" => ColliderShape::Sphere { radius: number("radius")? },
        "capsule" => ColliderShape::Capsule { radius: number("radius")?, height: number("height")? },
        "cylinder" => ColliderShape::Cylinder { radius: number("radius")?, height: number("height")? },
        "cone" => ColliderShape::Cone { radius: number("radius")?, height: number("height")? },
        "hull" => ColliderShape::ConvexHull { points: fields.vectors("points")? },
        "mesh" => {
            let corners = fields.numbers("triangles")?;
            if !corners.len().is_multiple_of(3)
                || corners.iter().any(|corner| corner.fract() != 0.0 || *corner < 1.0)
            {
                return Err(format!(
                    "{}.triangles: three numbers of vertices each, starting with 1",
                    fields.path
                ));
            }
            let corner = |corner: f32| corner as u32 - 1;
            let triangles =
                corners.chunks(3).map(|three| [corner(three[0]), corner(three[1]), corner(three[2])]);
            ColliderShape::TriangleMesh {
                vertices: fields.vectors("vertices")?,
                triangles: triangles.collect(),
            }
        }
        "heights" => {
            let size =
                fields.vector("size")?.ok_or_else(|| format!("{}.size is missing: a vector", fields.path))?;
            let columns = number("columns")? as usize;
            ColliderShape::HeightField {
                heights: fields.numbers("heights")?,
                columns,
                size: [size[0], size[2]],
            }
        }
        "compound" => {
            let mut parts = Vec::new();
            for part in fields.tables("parts")? {
                if part.text("shape")?.as_deref() == Some("compound") {
                    return Err(format!("{}: a part cannot be a compound", part.path));
                }
                part.nothing_else(&[SHAPE_FIELDS.as_slice(), &["at"]].concat())?;
                let position = part.vector("at")?.unwrap_or_default();
                parts.push((Pose { position, ..Pose::IDENTITY }, read_shape(&part)?));
            }
            ColliderShape::Compound { parts }
        }
        other => return Err(fields.expected("shape", SHAPES, other)),
    })
}
