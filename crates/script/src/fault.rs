//! Errors of a script, described so that its author can fix them.

use std::fmt;

use crate::limits::LINE_BYTES_MAX;

/// The chunk name of our own Luau code. Faults never name its lines, because an author cannot change them.
pub(crate) const OWN_CHUNK: &str = "[nowcast]";

/// The kind of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// The text is not valid Luau.
    Syntax,
    /// The script raised an error, or used the API wrongly.
    Runtime,
    /// The script exceeded the work of a step, and was stopped.
    Work,
    /// The script exceeded its memory, and was stopped.
    Memory,
    /// A value that cannot be saved was put into saved data.
    State,
    /// A file of the world's assets does not match its name, or a name matches no file.
    Asset,
}

/// One fault of a script: place, message, and a hint how to correct it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The module, as its path in the world's folder.
    pub file: Option<String>,
    /// The line in the module, from 1.
    pub line: Option<u32>,
    /// The fault.
    pub message: String,
    /// A hint how to correct the fault, if there is one.
    pub cure: Option<String>,
    /// The calls that led to the place of the fault, as modules and lines, the innermost first.
    pub callers: Box<[(String, u32)]>,
    /// The call of the engine during which the script failed, such as `action kick, player 3 (Ada)`.
    pub during: Option<Box<str>>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            _ => {}
        }
        f.write_str(&self.message)?;
        self.cure.as_ref().map_or(Ok(()), |cure| write!(f, " ({cure})"))
    }
}

impl std::error::Error for Fault {}

impl Fault {
    /// Makes a fault without a place.
    pub(crate) fn new(kind: FaultKind, message: impl Into<String>) -> Fault {
        let (message, callers) = (message.into(), Box::default());
        Fault { kind, file: None, line: None, message, cure: None, callers, during: None }
    }

    /// Makes a fault of a whole file.
    pub(crate) fn of_file(kind: FaultKind, file: &str, message: impl Into<String>) -> Fault {
        Fault { file: Some(file.into()), ..Fault::new(kind, message) }
    }

    /// The fault, and on further lines the calls that led to it.
    pub fn with_calls(&self) -> String {
        let callers = self.callers.iter().map(|(file, line)| format!("\n  called at {file}:{line}"));
        let during = self.during.iter().map(|call| format!("\n  in {call}"));
        [self.to_string()].into_iter().chain(callers).chain(during).collect()
    }

    pub(crate) fn with_cure(mut self, cure: &str) -> Fault {
        self.cure = Some(cure.into());
        self
    }

    /// Converts an error of a script, with the place where it was raised: the call stack of `lua` still exists. Uses
    /// none of the script's memory, which may be exhausted.
    pub(crate) fn raised(lua: &mlua::Lua, raised: &mlua::Value, kind: Option<FaultKind>) -> Fault {
        let mut place = None;
        let (found, message) = match raised {
            mlua::Value::Error(error) => read_error(error, &mut place),
            mlua::Value::String(text) => match split_place(&text.to_string_lossy(), &mut place) {
                text if text == NO_MEMORY => (FaultKind::Memory, OUT_OF_MEMORY.into()),
                text => (FaultKind::Runtime, text),
            },
            other => (FaultKind::Runtime, raised_text(other)),
        };
        let mut callers: Vec<_> = frames(lua).take(CALLERS_MAX + 1).collect();
        let innermost = (!callers.is_empty()).then(|| callers.remove(0));
        Fault { callers: callers.into(), ..Fault::at(place.or(innermost), kind.unwrap_or(found), message) }
    }

    /// Parses the interpreter's message. `kind` overrides the kind that the message suggests: a script may have caught
    /// the error of an exhausted budget and raised it again as another.
    pub(crate) fn from_lua(error: &mlua::Error, kind: Option<FaultKind>) -> Fault {
        let mut place = None;
        let (found, message) = read_error(error, &mut place);
        Fault::at(place, kind.unwrap_or(found), message)
    }

    fn at(place: Place, kind: FaultKind, message: String) -> Fault {
        let (file, line) = place.map_or((None, None), |(file, line)| (Some(file), Some(line)));
        let cure = cure(kind, &message).map(str::to_owned);
        Fault { file, line, cure, ..Fault::new(kind, shorten(message)) }
    }
}

pub(crate) type Place = Option<(String, u32)>;

/// The interpreter's message for exhausted memory, and the message that authors get instead.
const NO_MEMORY: &str = "not enough memory";
const OUT_OF_MEMORY: &str = "the script used more memory than its limit";

/// Callers that a fault names.
const CALLERS_MAX: usize = 8;

/// Returns the module and the line that the interpreter is in.
pub(crate) fn place_on_stack(lua: &mlua::Lua) -> Place {
    frames(lua).next()
}

/// Returns the module and the line at which a function begins. A function of our own code has none.
pub(crate) fn place_of(function: &mlua::Function) -> Place {
    let info = function.info();
    let file = info.short_src.filter(|file| file != OWN_CHUNK)?;
    Some((file, u32::try_from(info.line_defined?).ok()?))
}

/// The modules and lines of the calls on the stack, the innermost first, without our own code.
fn frames(lua: &mlua::Lua) -> impl Iterator<Item = (String, u32)> {
    const DEPTH_MAX: usize = 64;
    let frames = (0..DEPTH_MAX).map_while(|level| {
        lua.inspect_stack(level, |frame| {
            let file = frame.source().short_src.map(|name| name.into_owned());
            file.zip(frame.current_line()).filter(|(file, _)| file != OWN_CHUNK)
        })
    });
    frames.flatten().filter_map(|(file, line)| Some((file, u32::try_from(line).ok()?)))
}

/// Describes an error that is not a text. An object with `name` and `message`, as `new Error()` makes it in TypeScript, has
/// its own description. Calls no function of the script.
fn raised_text(raised: &mlua::Value) -> String {
    let field = |name: &str| raised.as_table()?.raw_get::<Option<mlua::LuaString>>(name).ok()?;
    match (field("name"), field("message")) {
        (Some(name), Some(message)) => format!("{}: {}", name.to_string_lossy(), message.to_string_lossy()),
        (None, Some(message)) => message.to_string_lossy(),
        _ => format!("a {} was raised as an error", raised.type_name()),
    }
}

fn read_error(error: &mlua::Error, place: &mut Place) -> (FaultKind, String) {
    match error {
        mlua::Error::SyntaxError { message, .. } => (FaultKind::Syntax, split_place(message, place)),
        mlua::Error::RuntimeError(message) => (FaultKind::Runtime, split_place(message, place)),
        mlua::Error::MemoryError(_) => (FaultKind::Memory, OUT_OF_MEMORY.into()),
        mlua::Error::CallbackError { traceback, cause } => {
            // The innermost error has the best message, but only the traceback has the line of the call.
            let told = read_error(cause, place);
            find_place(traceback, place);
            told
        }
        mlua::Error::WithContext { context, cause } => {
            let (kind, message) = read_error(cause, place);
            (kind, format!("{context}: {message}"))
        }
        mlua::Error::BadArgument { pos, name, cause, .. } => {
            let (kind, message) = read_error(cause, place);
            let name = name.as_ref().map_or_else(|| format!("#{pos}"), |name| format!("`{name}`"));
            (kind, format!("argument {name}: {message}"))
        }
        mlua::Error::FromLuaConversionError { from, to, message } => {
            let detail = message.as_ref().map_or_else(String::new, |text| format!(" ({text})"));
            (FaultKind::Runtime, format!("expected {to}, got {from}{detail}"))
        }
        other => (FaultKind::Runtime, split_place(&other.to_string(), place)),
    }
}

/// Removes `file:line: ` at the front, and the traceback at the end.
fn split_place(message: &str, place: &mut Place) -> String {
    let (text, traceback) = message.split_once("\nstack traceback:").unwrap_or((message, ""));
    let mut text = text.trim();
    while let Some((file, line, rest)) = place_at_front(text) {
        if place.is_none() && file != OWN_CHUNK {
            *place = Some((file.into(), line));
        }
        text = rest;
    }
    find_place(traceback, place);
    text.trim().to_owned()
}

fn find_place(traceback: &str, place: &mut Place) {
    if place.is_some() {
        return;
    }
    let mut frames = traceback.lines().filter_map(|line| frame_place(line.trim()));
    *place = frames.find(|(file, _)| file != OWN_CHUNK);
}

/// Splits `world.luau:12: message` into its three parts.
fn place_at_front(text: &str) -> Option<(&str, u32, &str)> {
    let (file, rest) = text.split_once(':')?;
    let (line, rest) = rest.split_once(':')?;
    let is_module = file == OWN_CHUNK || (file.ends_with(".luau") && !file.contains(char::is_whitespace));
    is_module.then_some(())?;
    Some((file, line.parse().ok()?, rest.trim_start()))
}

/// Parses `world.luau:12 function kick` or `world.luau:12: in function 'kick'`.
fn frame_place(frame: &str) -> Option<(String, u32)> {
    let (file, rest) = frame.split_once(':')?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let file = file.strip_prefix("[string \"").map_or(file, |file| file.trim_end_matches("\"]"));
    Some((file.to_owned(), digits.parse().ok()?))
}

pub(crate) fn shorten(mut text: String) -> String {
    if text.len() > LINE_BYTES_MAX {
        let end = (0..=LINE_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Returns the hint for a fault, if it is one of the most frequent mistakes.
fn cure(kind: FaultKind, message: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 8] = [
        (
            "attempt to yield",
            "a script cannot wait: set a timer with `world.after`, and continue in its function",
        ),
        (
            "cannot yield",
            "a script cannot wait: set a timer with `world.after`, and continue in its function",
        ),
        (
            "attempt to index vector with",
            "a vector is never changed: make a new one, as in `entity.position = vector.create(x, y, z)`",
        ),
        (
            "attempt to modify a readonly table",
            "write `local` before a new name; data that must last belongs in `world.state`",
        ),
        (
            "attempt to index nil with",
            "the value before the dot or the colon is nil; check it first: `if x then …`",
        ),
        ("attempt to call a nil value", "no function has that name; check its spelling"),
        ("arithmetic (", "one side is not a number; check it, or use `tonumber`"),
        ("stack overflow", "a function calls itself endlessly"),
    ];
    match kind {
        FaultKind::Work => Some("spread the work over several steps, for example with `world.after`"),
        FaultKind::Memory => Some("store less, and build long texts with `table.concat`"),
        _ => KNOWN.iter().find(|(part, _)| message.contains(part)).map(|(_, cure)| *cure),
    }
}
