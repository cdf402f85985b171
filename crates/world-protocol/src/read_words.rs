//! Reads bodies and walkers from the fields of a definition. A server may send anything, so every field is checked.

use nowcast_wire::Value;
use nowcast_world::shape::{HEIGHT_FIELD_SIDE_MAX, PARTS_MAX};
use nowcast_world::{
    Body, BodyRole, ColliderShape, LAYERS_MAX, Layers, Mass, Motion, Pose, TRIANGLES_MAX, Walker,
};

use crate::session::Kind;
use crate::words::GRAVITY;

/// A walker's parameters, and its downward acceleration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalkerKind {
    /// The parameters of the walker's steps.
    pub walker: Walker,
    /// In metres a second squared.
    pub gravity: f32,
}

impl Kind {
    /// Reads the body; `None` if the kind has none, or if its words are invalid or shortened. Missing fields have their
    /// defaults.
    pub fn read_body(&self) -> Option<Body> {
        let motion = match self.body.get("motion")?.as_text()? {
            "fixed" => Motion::Fixed,
            "dynamic" => Motion::Dynamic,
            "kinematic" => Motion::Kinematic,
            "sensor" => Motion::Sensor,
            _ => return None,
        };
        let shape = read_shape(&self.body)?;
        shape.check_fields().ok()?;
        let mut body = Body::new(motion, shape);
        if let Some(kilograms) = number(&self.body, "mass") {
            body.mass = Mass::Kilograms(kilograms);
        } else if let Some(density) = number(&self.body, "density") {
            body.mass = Mass::Density(density);
        }
        let or = |name, default| number(&self.body, name).unwrap_or(default);
        body.friction = or("friction", body.friction);
        body.restitution = or("restitution", body.restitution);
        body.gravity_scale = or("gravity_scale", body.gravity_scale);
        body.role = match self.body.get("role").and_then(Value::as_text) {
            Some("ladder") if motion == Motion::Fixed => BodyRole::Ladder,
            Some("water") if motion == Motion::Sensor => BodyRole::Water,
            _ => BodyRole::Obstacle,
        };
        Some(body)
    }

    /// Reads the collision layer and the ignored layers. Missing and invalid numbers are 0.
    pub fn read_layers(&self) -> Layers {
        let words = if self.walker == Value::Nil { &self.body } else { &self.walker };
        let whole = |name: &str| {
            let number = number(words, name)
                .filter(|number| (0.0..65_536.0).contains(number) && number.fract() == 0.0);
            number.map_or(0, |number| number as u16)
        };
        let layer = u8::try_from(whole("layer")).ok().filter(|layer| *layer < LAYERS_MAX).unwrap_or(0);
        Layers { layer, ignores: whole("ignores") }
    }

    /// Reads the walker; `None` if input does not move entities of this kind.
    pub fn read_walker(&self) -> Option<WalkerKind> {
        let Value::Map(_) = &self.walker else { return None };
        let or = |name, default| number(&self.walker, name).unwrap_or(default);
        let is_set = |name| self.walker.get(name) == Some(&Value::Bool(true));
        let usual = Walker::default();
        let walker = Walker {
            height: or("height", usual.height),
            radius: or("radius", usual.radius),
            mass: or("mass", usual.mass),
            walk_speed: or("walk_speed", usual.walk_speed),
            run_speed: or("run_speed", usual.run_speed),
            ground_acceleration: or("ground_acceleration", usual.ground_acceleration),
            air_acceleration: or("air_acceleration", usual.air_acceleration),
            jump_speed: or("jump_speed", usual.jump_speed),
            is_adjustable: is_set("adjustable"),
            shows_pitch: is_set("pitch"),
        };
        Some(WalkerKind { walker, gravity: or("gravity", GRAVITY) })
    }
}

fn read_shape(words: &Value) -> Option<ColliderShape> {
    if words.get("shape")?.as_text()? != "compound" {
        return read_part(words);
    }
    let parts = list(words.get("parts")?, PARTS_MAX)?.iter().map(|part| {
        let position = part.get("at").map_or(Some([0.0; 3]), numbers)?;
        let rotation = part.get("rotation").map_or(Some(Pose::IDENTITY.rotation), numbers)?;
        // Clients and server must use the same bits of the rotation, so it is checked but not normalised.
        Some((Pose { position, rotation }, read_part(part)?))
    });
    Some(ColliderShape::Compound { parts: parts.collect::<Option<_>>()? })
}

fn read_part(words: &Value) -> Option<ColliderShape> {
    let [radius, height] = ["radius", "height"].map(|name| number(words, name));
    Some(match words.get("shape")?.as_text()? {
        "box" => ColliderShape::Box { size: numbers(words.get("size")?)? },
        "sphere" => ColliderShape::Sphere { radius: radius? },
        "capsule" => ColliderShape::Capsule { radius: radius?, height: height? },
        "cylinder" => ColliderShape::Cylinder { radius: radius?, height: height? },
        "cone" => ColliderShape::Cone { radius: radius?, height: height? },
        "hull" => ColliderShape::ConvexHull { points: points(words.get("points")?)? },
        "mesh" => ColliderShape::TriangleMesh {
            vertices: points(words.get("vertices")?)?,
            triangles: triangles(words.get("triangles")?)?,
        },
        "heights" => {
            let heights = list(words.get("heights")?, HEIGHT_FIELD_SIDE_MAX * HEIGHT_FIELD_SIDE_MAX)?;
            let [x, _, z] = numbers(words.get("size")?)?;
            let columns = number(words, "columns")?;
            ColliderShape::HeightField {
                heights: heights.iter().map(finite).collect::<Option<_>>()?,
                columns: (columns >= 2.0 && columns.fract() == 0.0).then_some(columns as usize)?,
                size: [x, z],
            }
        }
        _ => return None,
    })
}

/// In scripts, corners are numbered from 1.
fn triangles(value: &Value) -> Option<Vec<[u32; 3]>> {
    let corners = list(value, 3 * TRIANGLES_MAX)?.iter().map(|corner| {
        let corner = finite(corner).filter(|corner| *corner >= 1.0 && corner.fract() == 0.0)?;
        Some(corner as u32 - 1)
    });
    let corners: Vec<u32> = corners.collect::<Option<_>>()?;
    let (triangles, rest) = corners.as_chunks::<3>();
    rest.is_empty().then(|| triangles.to_vec())
}

fn points(value: &Value) -> Option<Vec<[f32; 3]>> {
    list(value, 3 * TRIANGLES_MAX)?.iter().map(numbers).collect()
}

fn numbers<const N: usize>(value: &Value) -> Option<[f32; N]> {
    let numbers: Vec<f32> = list(value, N)?.iter().map(finite).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

fn list(value: &Value, max: usize) -> Option<&[Value]> {
    match value {
        Value::List(items) if items.len() <= max => Some(items),
        _ => None,
    }
}

fn number(words: &Value, name: &str) -> Option<f32> {
    words.get(name).and_then(finite)
}

fn finite(value: &Value) -> Option<f32> {
    value.as_f64().map(|number| number as f32).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(body: Option<Body>, walker: Option<Walker>, gravity: f32) -> Kind {
        Kind::describe(&nowcast_world::Kind { body, walker, ..nowcast_world::Kind::new("thing") }, gravity)
    }

    #[test]
    fn bodies_are_read_as_they_were_described() {
        let corners = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let at = Pose { position: [0.5, 1.0, 0.0], rotation: [0.0, 1.0, 0.0, 0.0] };
        let shapes = [
            ColliderShape::Box { size: [1.0, 2.0, 3.0] },
            ColliderShape::Sphere { radius: 0.1 },
            ColliderShape::Capsule { radius: 0.35, height: 1.8 },
            ColliderShape::Cylinder { radius: 0.3, height: 0.7 },
            ColliderShape::Cone { radius: 0.3, height: 0.7 },
            ColliderShape::ConvexHull { points: corners.clone() },
            ColliderShape::TriangleMesh { vertices: corners, triangles: vec![[0, 1, 2], [1, 2, 3]] },
            ColliderShape::HeightField { heights: vec![0.5; 6], columns: 3, size: [4.0, 5.0] },
            ColliderShape::Compound { parts: vec![(at, ColliderShape::cube(0.2))] },
        ];
        for shape in shapes {
            let body = Body { mass: Mass::Kilograms(3.0), friction: 0.1, ..Body::fixed(shape) };
            assert_eq!(described(Some(body.clone()), None, 9.81).read_body(), Some(body));
        }
    }

    #[test]
    fn walkers_are_read_as_they_were_described() {
        let walker = Walker { run_speed: 9.0, ..Walker::default() };
        for gravity in [9.81, 3.7] {
            let read = described(None, Some(walker), gravity).read_walker();
            assert_eq!(read, Some(WalkerKind { walker, gravity }));
        }
        assert_eq!(described(None, None, 9.81).read_walker(), None);
    }

    #[test]
    fn words_that_no_world_has_are_refused() {
        let body = |words: Vec<(&str, Value)>| {
            let words = words.into_iter().chain([("motion", "fixed".into())]);
            let body = Value::Map(words.map(|(name, value)| (name.into(), value)).collect());
            Kind { body, ..described(None, None, 9.81) }.read_body()
        };
        let list = |numbers: &[f32]| Value::List(numbers.iter().map(|number| (*number).into()).collect());
        assert_eq!(body(vec![("shape", "blob".into())]), None);
        assert_eq!(body(vec![("shape", "sphere".into()), ("radius", f32::NAN.into())]), None);
        assert_eq!(body(vec![("shape", "box".into()), ("size", list(&[1.0, 2.0]))]), None);
        assert_eq!(body(vec![("shape", "box".into()), ("size", list(&[1.0, 2.0, -3.0]))]), None);
        let corners = Value::List(vec![list(&[0.0, 0.0, 0.0]); 3]);
        let mesh = |corner: f32| {
            let triangles = list(&[1.0, 2.0, corner]);
            body(vec![("shape", "mesh".into()), ("vertices", corners.clone()), ("triangles", triangles)])
        };
        assert!(mesh(3.0).is_some());
        assert_eq!((mesh(4.0), mesh(0.0), mesh(1.5)), (None, None, None));
        // If a definition was too large, the server has left out its longest lists.
        assert_eq!(body(vec![("shape", "heights".into()), ("columns", 3.into())]), None);
    }
}
