//! Changes of a walker's gait by the rules of the world, through attributes that clients receive.

use nowcast_wire::Value;
use nowcast_wire::shape::{Field, Range, Type};

use super::Walker;

/// Greatest factor of a speed.
const FACTOR_MAX: f64 = 8.0;
/// Factors are multiples of this number, so that server and clients compute with the same bits.
const FACTOR_STEP: f64 = 1.0 / 64.0;

/// Factors by which the rules change one walker's speeds, for kinds with [`Walker::is_adjustable`] (`spec/MOVEMENT.md`,
/// section 2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adjustment {
    /// Factor of the walking and the running speed.
    pub speed: f32,
    /// Factor of the jumping speed.
    pub jump: f32,
    /// Whether the walker keeps its place.
    pub is_frozen: bool,
}

impl Default for Adjustment {
    fn default() -> Adjustment {
        Adjustment { speed: 1.0, jump: 1.0, is_frozen: false }
    }
}

impl Adjustment {
    /// The attributes of a walker that can be adjusted: `speed` and `jump` (factors from 0 to 8 in steps of 1/64), and
    /// `frozen`. [`Adjustment::default`] has their defaults.
    pub fn fields() -> [(Field, Value); 3] {
        let factor = || Type::Range(Range { low: 0.0, high: FACTOR_MAX, step: FACTOR_STEP });
        [
            (Field::new("speed", factor()), Value::F64(1.0)),
            (Field::new("jump", factor()), Value::F64(1.0)),
            (Field::new("frozen", Type::Bool), Value::Bool(false)),
        ]
    }

    /// Reads the attributes of an entity. A missing attribute, or one of another type, has its default.
    pub fn read<'a>(attribute: impl Fn(&str) -> Option<&'a Value>) -> Adjustment {
        let factor = |name| {
            let given = attribute(name).and_then(Value::as_f64).filter(|value| value.is_finite());
            given.map_or(1.0, |value| value.clamp(0.0, FACTOR_MAX) as f32)
        };
        Adjustment {
            speed: factor("speed"),
            jump: factor("jump"),
            is_frozen: matches!(attribute("frozen"), Some(Value::Bool(true))),
        }
    }

    /// Returns the parameters of a walker with these factors.
    pub fn of(self, walker: &Walker) -> Walker {
        Walker {
            walk_speed: walker.walk_speed * self.speed,
            run_speed: walker.run_speed * self.speed,
            jump_speed: walker.jump_speed * self.jump,
            ..*walker
        }
    }
}
