//! The binding of an action: the last argument of `world.action`. It defines how players trigger the action.

use mlua::{Table, Value as Luau};
use nowcast_world::{Attributes, Definition, Value};

use nowcast_world::limits::{KINDS_MAX, NAME_BYTES_MAX};

use crate::convert::declared_from_luau;
use crate::fault::{Fault, FaultKind};
use crate::fields::Fields;
use crate::sources::MAIN;
use crate::suggest::instead;

/// The kinds that a binding names as targets. They may be declared after the action, so they are checked once all modules are loaded.
pub(crate) struct Targets {
    /// The action.
    pub(crate) action: String,
    kinds: Vec<String>,
    place: Option<(String, u32)>,
}

impl Targets {
    /// Checks that every named kind is declared.
    pub(crate) fn check(&self, definition: &Definition) -> Result<(), Fault> {
        let known: Vec<_> = definition.kinds.iter().map(|kind| kind.name.as_str()).collect();
        let Some(unknown) = self.kinds.iter().find(|name| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let message =
            format!("{}.of: no kind is called `{unknown}`; {}", self.action, instead(unknown, &known));
        let (file, line) =
            self.place.clone().map_or((MAIN.to_owned(), None), |(file, line)| (file, Some(line)));
        Err(Fault { line, ..Fault::of_file(FaultKind::Runtime, &file, message) })
    }
}

/// Maximum number of keys that each trigger one action.
const KEYS_MAX: usize = 4;
/// The field that declares an action durable.
const DURABLE: &str = "durable";

/// The field of a binding that reserves an action for programs outside the room. Hosts refuse the action from clients.
pub const BACK_END: &str = "back_end";

/// Reads a binding. Returns the value that clients receive (the `hint` of the definition), the named kinds, and whether
/// the action is durable. A field that names an argument must name a declared one; clients receive kinds by their
/// names.
pub(crate) fn read_binding(
    fields: &Fields<'_>,
    action: &str,
    arguments: &Attributes,
    place: Option<(String, u32)>,
) -> Result<(Value, Targets, bool), String> {
    let known: Vec<_> = arguments.fields().iter().map(|field| field.name.as_str()).collect();
    for name in ["charge", "pitch", "target", "aim"] {
        let Some(argument) = fields.text(name)? else { continue };
        if arguments.index(&argument).is_none() {
            let expected = format!("one of the arguments ({})", known.join(", "));
            return Err(fields.expected(name, &expected, &format!("`{argument}`")));
        }
    }
    for name in ["label", "needs", "unless"] {
        fields.text(name)?;
    }
    check_keys(fields)?;
    fields.number("reach")?;
    fields.number("grid")?;
    fields.number("speed")?;
    fields.number("rise")?;
    read_prediction(fields)?;
    let durable = fields.truth(DURABLE)?.unwrap_or(false);
    if fields.truth(BACK_END)? == Some(true) && fields.luau("key")? != Luau::Nil {
        return Err(fields.expected(BACK_END, "no key beside it", "one"));
    }
    fields.nothing_else(&[
        "key", "label", "charge", "pitch", "target", "aim", "grid", "of", "reach", "needs", "unless",
        "predict", "speed", "rise", DURABLE, BACK_END,
    ])?;
    let of = read_kinds(fields)?;
    let hint = declared_from_luau(&Luau::Table(fields.table().clone()), &format!("{action}.binding"))?;
    let kinds = match &of {
        Value::List(kinds) => kinds.iter().filter_map(Value::as_text).map(str::to_owned).collect(),
        one => one.as_text().map(str::to_owned).into_iter().collect(),
    };
    let hint = match hint {
        Value::Map(pairs) => {
            // `durable` is left out here, because the definition has a field for it.
            let pairs = pairs.into_iter().filter(|(key, _)| key.as_text() != Some(DURABLE));
            let named = pairs.map(|(key, value)| {
                let value = if key.as_text() == Some("of") { of.clone() } else { value };
                (key, value)
            });
            let named: Vec<_> = named.collect();
            if named.is_empty() { Value::Nil } else { Value::Map(named) }
        }
        other => other,
    };
    Ok((hint, Targets { action: action.to_owned(), kinds, place }, durable))
}

/// Checks `key`: the key that triggers the action, or a list of keys.
fn check_keys(fields: &Fields<'_>) -> Result<(), String> {
    match fields.luau("key")? {
        Luau::Nil => return Ok(()),
        Luau::String(_) | Luau::Table(_) => {}
        other => return Err(fields.expected("key", "a text or a list of texts", other.type_name())),
    }
    match fields.names_of("key")?.len() {
        1..=KEYS_MAX => Ok(()),
        count => Err(fields.expected("key", &format!("1 to {KEYS_MAX} keys"), &count.to_string())),
    }
}

/// Checks `predict`: the effect that clients show before the server has carried out the action.
fn read_prediction(fields: &Fields<'_>) -> Result<(), String> {
    match fields.text("predict")?.as_deref() {
        None | Some("throw" | "launch") => Ok(()),
        Some("grab") if fields.text("target")?.is_some() => Ok(()),
        Some("grab") => {
            Err(fields.expected("target", "the argument that names the grabbed entity", "nothing"))
        }
        Some(other) => {
            Err(fields.expected("predict", "\"grab\", \"throw\" or \"launch\"", &format!("`{other}`")))
        }
    }
}

/// Reads `of`, a kind or its name or a list of these, as names.
fn read_kinds(fields: &Fields<'_>) -> Result<Value, String> {
    let wrong = |found: &str| fields.expected("of", "a kind, its name, or a list of these", found);
    match fields.luau("of")? {
        Luau::Nil => Ok(Value::Nil),
        Luau::Table(table) => match name_of(&Luau::Table(table.clone())) {
            Some(name) => Ok(Value::Text(name)),
            None => {
                if table.raw_len() > KINDS_MAX {
                    return Err(wrong("a list longer than the maximum number of kinds"));
                }
                let read =
                    table.sequence_values::<Luau>().map(|item| item.ok().and_then(|item| name_of(&item)));
                let names: Option<Vec<_>> = read.collect();
                let names = names.ok_or_else(|| wrong("a list of other values"))?;
                if names.is_empty() {
                    return Err(wrong("an empty table"));
                }
                Ok(Value::List(names.into_iter().map(Value::Text).collect()))
            }
        },
        other => name_of(&other).map(Value::Text).ok_or_else(|| wrong(other.type_name())),
    }
}

/// Returns the name of a kind, given as the kind itself or as its name.
fn name_of(value: &Luau) -> Option<String> {
    match value {
        Luau::String(name) if name.as_bytes().len() <= NAME_BYTES_MAX => Some(name.to_string_lossy()),
        Luau::Table(kind) => {
            let is_kind = |kind: &Table| kind.is_readonly() && kind.raw_get::<u16>("index").is_ok();
            is_kind(kind).then(|| kind.raw_get("name").ok())?
        }
        _ => None,
    }
}
