//! Converts values between Luau and the world. A conversion counts its cost while it runs, because a few tables that contain
//! each other many times can expand to more values than fit into memory.

use std::cell::Cell;

use mlua::{IntoLua, Lua, Table, Value as Luau, Vector};
use nowcast_world::{EntityId, Limits, PlayerId, SAVED_BYTES_MAX, Value, limits::VALUE_DEPTH_MAX};

use crate::handle::Handle;
use crate::meter::{charge, declare, declared_left};

/// MessagePack extension types of values that only scripts distinguish.
const ENTITY: i8 = 1;
const PLAYER: i8 = 2;
const VECTOR: i8 = 3;

/// The purpose of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// For the world, which later returns the value to a script. The types of entities, players and vectors are preserved.
    Keep,
    /// For clients: entities and players become their numbers, a vector becomes a list of three numbers.
    Tell,
}

/// Maximum number of values in all tables of a world's state.
const STATE_VALUES_MAX: usize = 131_072;

/// A state's fields are read before it is known which fields fit. All fields that are read may together have this many
/// times the limit of a state.
const STATES_MAX: usize = 3;

/// Values, or bytes of text, that cost one unit of work to convert.
const VALUES_A_UNIT: usize = 8;
const BYTES_A_UNIT: usize = 256;

/// Maximum bytes of a name in an error.
const SHOWN_BYTES_MAX: usize = 64;

/// Limits of one conversion. A value counts once for each place in which it occurs, and with at most the bytes of its
/// MessagePack form. So the limits never refuse a value that the world would accept.
pub(crate) struct Budget {
    bytes_max: usize,
    values_max: usize,
    bytes: Cell<usize>,
    values: Cell<usize>,
}

impl Budget {
    fn new(bytes_max: usize, values_max: usize) -> Budget {
        Budget { bytes_max, values_max, bytes: Cell::default(), values: Cell::default() }
    }

    /// Limits of a value that is sent, or saved for an entity, a player or a timer.
    pub(crate) fn of_value() -> Budget {
        let bytes_max = Limits::DEFAULT.value_bytes_max;
        Budget::new(bytes_max, bytes_max)
    }

    /// Limits of the data of an account.
    pub(crate) fn of_account() -> Budget {
        Budget::new(SAVED_BYTES_MAX, SAVED_BYTES_MAX)
    }

    /// Limits of a world's state.
    pub(crate) fn of_state() -> Budget {
        Budget::new(Limits::DEFAULT.state_bytes_max, STATE_VALUES_MAX)
    }

    /// Limits of the next field of a state, after the given fields were read. Each field may be as large as a whole state,
    /// because it is not known yet which fields make the state too large. All fields together have [`STATES_MAX`] times the
    /// limit.
    pub(crate) fn of_field(units_before: u64) -> Budget {
        let whole = Budget::of_state();
        let units_max =
            (STATES_MAX * (whole.values_max / VALUES_A_UNIT + whole.bytes_max / BYTES_A_UNIT)) as u64;
        if units_before < units_max { whole } else { Budget::new(0, 0) }
    }

    /// Limits of the remaining declarations of a script.
    fn of_declaration() -> Budget {
        let (bytes_max, values_max) = declared_left().unwrap_or((1 << 20, 1 << 16));
        Budget::new(bytes_max, values_max)
    }

    /// Counts a value with its bytes of text.
    fn take(&self, bytes: usize, path: &Path<'_>) -> Result<(), String> {
        self.bytes.set(self.bytes.get().saturating_add(bytes.max(1)));
        self.values.set(self.values.get() + 1);
        if self.bytes.get() > self.bytes_max {
            let Budget { bytes_max, .. } = self;
            return Err(format!(
                "{path} is too large: at most {bytes_max} bytes are allowed in all, and a table counts once for each place where it stands"
            ));
        }
        if self.values.get() > self.values_max {
            let Budget { values_max, .. } = self;
            return Err(format!(
                "{path} is too large: at most {values_max} values are allowed in all, and a table counts once for each place where it stands"
            ));
        }
        Ok(())
    }

    /// Returns the cost of the conversion so far, in units of work.
    pub(crate) fn units(&self) -> u64 {
        (self.values.get() / VALUES_A_UNIT + self.bytes.get() / BYTES_A_UNIT) as u64
    }
}

/// Converts a value from Luau, at the cost of the script. The error names the place of an unsupported value, as in
/// `score.red[2]`.
pub(crate) fn from_luau(value: &Luau, purpose: Purpose, name: &str) -> Result<Value, String> {
    let budget = Budget::of_value();
    let read = read(value, purpose, name, None, &budget);
    charge(budget.units()).map_err(|error| error.to_string())?;
    read
}

/// Converts a declared value, such as a look.
pub(crate) fn declared_from_luau(value: &Luau, name: &str) -> Result<Value, String> {
    let budget = Budget::of_declaration();
    let read = read(value, Purpose::Tell, name, None, &budget);
    declare(budget.bytes.get(), budget.values.get());
    charge(budget.units()).map_err(|error| error.to_string())?;
    read
}

/// Converts a saved value within a budget, at no cost to the script. Tables with names as keys get the metatable that
/// iterates over them in the order of their keys.
pub(crate) fn kept_from_luau(
    value: &Luau,
    name: &str,
    kept: Option<&Table>,
    budget: &Budget,
) -> Result<Value, String> {
    read(value, Purpose::Keep, name, kept, budget)
}

fn read(
    value: &Luau,
    purpose: Purpose,
    name: &str,
    kept: Option<&Table>,
    budget: &Budget,
) -> Result<Value, String> {
    let reader = Reader { purpose, kept, budget };
    reader.read(value, &Path { above: None, step: Step::Field(name) }, VALUE_DEPTH_MAX)
}

/// Options of a conversion.
#[derive(Clone, Copy)]
struct Reader<'a> {
    purpose: Purpose,
    kept: Option<&'a Table>,
    budget: &'a Budget,
}

/// The path to a value, formatted only for an error.
struct Path<'a> {
    above: Option<&'a Path<'a>>,
    step: Step<'a>,
}

enum Step<'a> {
    Field(&'a str),
    Index(usize),
}

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(above) = self.above {
            above.fmt(f)?;
        }
        match self.step {
            Step::Field(name) if self.above.is_none() => f.write_str(shown(name)),
            Step::Field(name) => write!(f, ".{}", shown(name)),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Shortens a name for an error.
pub(crate) fn shown(name: &str) -> &str {
    let end = (0..=name.len().min(SHOWN_BYTES_MAX)).rev().find(|at| name.is_char_boundary(*at));
    &name[..end.unwrap_or(0)]
}

impl Reader<'_> {
    fn read(self, value: &Luau, path: &Path<'_>, depth_left: usize) -> Result<Value, String> {
        let bytes = value.as_string().map_or(0, |text| text.as_bytes().len());
        self.budget.take(bytes, path)?;
        Ok(match value {
            Luau::Nil => Value::Nil,
            Luau::Boolean(value) => Value::Bool(*value),
            Luau::Integer(value) => Value::Int(*value),
            Luau::Number(value) => number(*value),
            Luau::String(text) => match text.to_str() {
                Ok(text) => Value::Text(text.to_owned()),
                Err(_) => Value::Bytes(text.as_bytes().to_vec()),
            },
            Luau::Vector(vector) => match self.purpose {
                Purpose::Keep => {
                    let parts = [vector.x(), vector.y(), vector.z()];
                    Value::Ext(VECTOR, parts.iter().flat_map(|part| part.to_le_bytes()).collect())
                }
                Purpose::Tell => Value::List([vector.x(), vector.y(), vector.z()].map(Value::F32).to_vec()),
            },
            Luau::LightUserData(light) => match (Handle::from_light(*light), self.purpose) {
                (Some(Handle::Entity(id)), Purpose::Keep) => Value::Ext(ENTITY, id.0.to_le_bytes().to_vec()),
                (Some(Handle::Player(id)), Purpose::Keep) => Value::Ext(PLAYER, id.0.to_le_bytes().to_vec()),
                (Some(Handle::Entity(EntityId(id)) | Handle::Player(PlayerId(id))), Purpose::Tell) => {
                    Value::Int(id.into())
                }
                (None, _) => return Err(format!("{path} cannot be saved or sent")),
            },
            Luau::Table(table) => return self.read_table(table, path, depth_left),
            other => return Err(format!("{path} is {}, which cannot be saved or sent", with_article(other))),
        })
    }

    fn read_table(self, table: &Table, path: &Path<'_>, depth_left: usize) -> Result<Value, String> {
        let Some(depth_left) = depth_left.checked_sub(1) else {
            return Err(format!(
                "{path} is too deep: a table that contains itself, or more than {VALUE_DEPTH_MAX} nested tables"
            ));
        };
        let mut items: Vec<Value> = Vec::new();
        let mut pairs: Vec<(String, Value)> = Vec::new();
        let length = table.raw_len();
        let mut problem = None;
        // Only the table's own pairs are saved; its metatable is ignored.
        let walked = table.for_each(|key: Luau, value: Luau| {
            let bytes = key.as_string().map_or(0, |text| text.as_bytes().len());
            let fits = if bytes == 0 { Ok(()) } else { self.budget.take(bytes, path) };
            let read = fits.and_then(|()| match &key {
                Luau::String(text) => match text.to_str() {
                    Ok(text) => {
                        let path = Path { above: Some(path), step: Step::Field(&text) };
                        self.read(&value, &path, depth_left).map(|value| pairs.push((text.to_owned(), value)))
                    }
                    Err(_) => Err(format!("{path} has a key that is not a text")),
                },
                key => match index(key) {
                    // An array is iterated from 1 upwards.
                    Some(index) if index == items.len() + 1 && index <= length => {
                        let path = Path { above: Some(path), step: Step::Index(index) };
                        self.read(&value, &path, depth_left).map(|value| items.push(value))
                    }
                    Some(index) => {
                        Err(format!("{path}[{index}] comes after a gap; a list is numbered from 1 upwards"))
                    }
                    None => Err(format!("{path} has {} as a key; keys are texts", with_article(key))),
                },
            });
            read.map_err(|error| {
                problem = Some(error);
                mlua::Error::runtime("")
            })
        });
        match (walked, problem) {
            (_, Some(problem)) => return Err(problem),
            (Err(error), None) => return Err(format!("{path}: {error}")),
            (Ok(()), None) => {}
        }
        self.mark(table, length).map_err(|error| format!("{path}: {error}"))?;
        if !items.is_empty() && !pairs.is_empty() {
            return Err(format!(
                "{path} is a list and also has names (`{}`); make it one of the two",
                shown(&pairs[0].0)
            ));
        }
        if !items.is_empty() {
            return Ok(Value::List(items));
        }
        // Equal tables have equal bytes, regardless of the order in which they were filled.
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Value::Map(pairs.into_iter().map(|(key, value)| (Value::Text(key), value)).collect()))
    }

    /// A frozen table cannot get a metatable. It is iterated in the order of its creation, which cannot change any more.
    fn mark(self, table: &Table, length: usize) -> mlua::Result<()> {
        match self.kept {
            Some(kept) if length == 0 && table.metatable().is_none() && !table.is_readonly() => {
                table.set_metatable(Some(kept.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// Converts whole numbers to integers, as other languages write them. All other numbers keep their bits.
fn number(value: f64) -> Value {
    let is_whole =
        value.fract() == 0.0 && value.abs() < 9.0e15 && !(value == 0.0 && value.is_sign_negative());
    if is_whole { Value::Int(value as i64) } else { Value::F64(value) }
}

/// Returns the type of a value as Luau names it.
pub(crate) fn type_name(value: &Luau) -> &'static str {
    match value {
        Luau::Integer(_) => "number",
        Luau::LightUserData(_) => "entity",
        other => other.type_name(),
    }
}

/// Returns the type of a value with its article.
pub(crate) fn with_article(value: &Luau) -> String {
    let name = type_name(value);
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {name}")
}

fn index(key: &Luau) -> Option<usize> {
    match key {
        Luau::Integer(index) => usize::try_from(*index).ok(),
        Luau::Number(index) if index.fract() == 0.0 && *index >= 1.0 => Some(*index as usize),
        _ => None,
    }
}

/// Returns the units of work that it costs to convert a value for Luau.
pub(crate) fn units_of(value: &Value) -> u64 {
    fn count(value: &Value, values: &mut usize, bytes: &mut usize) {
        *values += 1;
        match value {
            Value::Text(text) => *bytes += text.len(),
            Value::Bytes(held) | Value::Ext(_, held) => *bytes += held.len(),
            Value::List(items) => items.iter().for_each(|item| count(item, values, bytes)),
            Value::Map(pairs) => pairs.iter().for_each(|(key, value)| {
                count(key, values, bytes);
                count(value, values, bytes);
            }),
            _ => {}
        }
    }
    let (mut values, mut bytes) = (0, 0);
    count(value, &mut values, &mut bytes);
    (values / VALUES_A_UNIT + bytes / BYTES_A_UNIT) as u64
}

/// Converts a value for Luau, at the cost of the script.
pub(crate) fn charged_to_luau(lua: &Lua, value: &Value) -> mlua::Result<Luau> {
    charge(units_of(value))?;
    to_luau(lua, value)
}

/// Converts a value for Luau.
pub(crate) fn to_luau(lua: &Lua, value: &Value) -> mlua::Result<Luau> {
    Ok(match value {
        Value::Nil => Luau::Nil,
        Value::Bool(value) => Luau::Boolean(*value),
        Value::Int(value) => Luau::Number(*value as f64),
        Value::Uint(value) => Luau::Number(*value as f64),
        Value::F32(value) => Luau::Number(f64::from(*value)),
        Value::F64(value) => Luau::Number(*value),
        Value::Text(text) => Luau::String(lua.create_string(text)?),
        Value::Bytes(bytes) => Luau::String(lua.create_string(bytes)?),
        Value::List(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (index, item) in items.iter().enumerate() {
                table.raw_set(index + 1, to_luau(lua, item)?)?;
            }
            Luau::Table(table)
        }
        Value::Map(pairs) => {
            let table = lua.create_table_with_capacity(0, pairs.len())?;
            for (key, value) in pairs {
                table.raw_set(to_luau(lua, key)?, to_luau(lua, value)?)?;
            }
            Luau::Table(table)
        }
        Value::Time(seconds, nanoseconds) => Luau::Number(*seconds as f64 + f64::from(*nanoseconds) * 1e-9),
        Value::Ext(kind, bytes) => extension(lua, *kind, bytes)?,
    })
}

fn extension(lua: &Lua, kind: i8, bytes: &[u8]) -> mlua::Result<Luau> {
    let word =
        |at: usize| bytes.get(at..at + 4).map(|bytes| bytes.try_into().expect("four bytes are asked for"));
    match (kind, word(0), word(4), word(8)) {
        (ENTITY, Some(id), ..) => Handle::Entity(EntityId(u32::from_le_bytes(id))).into_lua(lua),
        (PLAYER, Some(id), ..) => Handle::Player(PlayerId(u32::from_le_bytes(id))).into_lua(lua),
        (VECTOR, Some(x), Some(y), Some(z)) => {
            let [x, y, z] = [x, y, z].map(f32::from_le_bytes);
            Ok(Luau::Vector(Vector::new(x, y, z)))
        }
        _ => Ok(Luau::String(lua.create_string(bytes)?)),
    }
}
