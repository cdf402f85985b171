//! Advice on a version that loads. It names allowed code that is most likely a mistake, found in the text and the
//! declarations of the version.

use std::collections::BTreeSet;

use nowcast_world::{Definition, Value};

use crate::library::module_of_nowcast;
use crate::sources::{MAIN, Sources};
use crate::suggest::{closest, instead};
use crate::tokens::{is_name, tokens};

/// The fields of a look that pages draw.
const LOOK_FIELDS: [&str; 16] = [
    "shape",
    "size",
    "radius",
    "height",
    "color",
    "opacity",
    "glow",
    "model",
    "scale",
    "texture",
    "animation",
    "label",
    "hidden",
    "sea",
    "sign",
    "trail",
];

/// Keys that pages use for walking.
const WALKING: [&str; 4] = ["w", "a", "s", "d"];

/// A place in the rules that is most likely a mistake.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Advice {
    /// The module, as its path in the world's folder.
    pub file: String,
    /// The line in the module, from 1.
    pub line: u32,
    /// The mistake, and how to correct it.
    pub message: String,
}

/// Returns the advice on a version that loads, ordered by place: unknown or shared keys, looks that draw nothing,
/// undeclared timers, and unused modules.
pub fn advice(sources: &Sources, definition: &Definition) -> Vec<Advice> {
    let mut found = Vec::new();
    keys(sources, definition, &mut found);
    looks(sources, definition, &mut found);
    timers(sources, &mut found);
    idle_modules(sources, &mut found);
    found.sort();
    found.dedup();
    found
}

/// The place of `world.what("name"` in the text.
fn declared_at(sources: &Sources, what: &str, name: &str) -> (String, u32) {
    for (path, text) in sources.iter().filter(|(path, _)| !path.starts_with("tests/")) {
        let tokens = tokens(text);
        let at = tokens.windows(4).find(|words| {
            words[0].0 == "." && words[1].0 == what && words[2].0 == "(" && unquoted(words[3].0) == Some(name)
        });
        if let Some(words) = at {
            return (path.to_owned(), words[1].1);
        }
    }
    (MAIN.to_owned(), 1)
}

fn unquoted(token: &str) -> Option<&str> {
    let quote = token.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    token.strip_prefix(quote)?.strip_suffix(quote)
}

fn keys(sources: &Sources, definition: &Definition, found: &mut Vec<Advice>) {
    let mut taken: Vec<(&str, [Option<&Value>; 3], &str)> = Vec::new();
    for action in &definition.actions {
        let mut advise = |message: String| {
            let (file, line) = declared_at(sources, "action", &action.name);
            found.push(Advice { file, line, message: format!("action `{}`: {message}", action.name) });
        };
        let when = ["of", "needs", "unless"].map(|name| action.hint.get(name));
        let mut own: Vec<&str> = Vec::new();
        for key in keys_of(&action.hint) {
            if own.contains(&key) {
                advise(format!("the key \"{key}\" is named twice"));
                continue;
            }
            own.push(key);
            if let Some(problem) = problem_of_key(key) {
                advise(problem);
            }
            match taken.iter().find(|(other, then, _)| *other == key && *then == when) {
                Some((_, _, other)) => advise(format!(
                    "the key \"{key}\" does `{other}` already; choose another, or say when by `needs`, `unless` or `of`"
                )),
                None => taken.push((key, when, &action.name)),
            }
        }
    }
}

/// The keys of a binding, which names one key or lists several.
fn keys_of(hint: &Value) -> Vec<&str> {
    match hint.get("key") {
        Some(Value::List(keys)) => keys.iter().filter_map(Value::as_text).collect(),
        one => one.and_then(Value::as_text).into_iter().collect(),
    }
}

/// Returns the reason for which pages cannot bind an action to a key.
fn problem_of_key(key: &str) -> Option<String> {
    if WALKING.contains(&key) {
        return Some(format!("the key \"{key}\" walks; choose another letter"));
    }
    let is_letter = key.len() == 1 && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if is_letter || matches!(key, "left" | "right") {
        return None;
    }
    let lower = key.to_ascii_lowercase();
    let is_meant = (lower.len() == 1 && lower.chars().all(|c| c.is_ascii_lowercase()))
        || lower == "left"
        || lower == "right";
    let meant = if is_meant { format!(": did you mean \"{lower}\"?") } else { String::new() };
    Some(format!(
        "no page has the key \"{key}\"; a key is a small letter, a digit, \"left\" or \"right\"{meant}"
    ))
}

fn looks(sources: &Sources, definition: &Definition, found: &mut Vec<Advice>) {
    for kind in &definition.kinds {
        let mut advise = |message: String| {
            let (file, line) = declared_at(sources, "kind", &kind.name);
            found.push(Advice { file, line, message: format!("kind `{}`: {message}", kind.name) });
        };
        if let Value::Map(fields) = &kind.look {
            for name in
                fields.iter().filter_map(|(key, _)| key.as_text()).filter(|name| !LOOK_FIELDS.contains(name))
            {
                advise(format!("`look.{name}` draws nothing; {}", instead(name, &LOOK_FIELDS)));
            }
        }
        let default = kind.attributes.index("color").map(|index| &kind.attributes.defaults()[index]);
        for color in [kind.look.get("color"), default].into_iter().flatten() {
            match color.as_text() {
                Some("") => {}
                Some(text) if is_color(text) => {}
                Some(text) => advise(format!(
                    "\"{text}\" is not a colour; write \"#rgb\" or \"#rrggbb\", as in \"#e67e22\""
                )),
                None if *color == Value::Nil => {}
                None => advise("a colour is a text, as in \"#e67e22\"".to_owned()),
            }
        }
    }
}

fn is_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or_default();
    matches!(digits.len(), 3 | 6) && digits.chars().all(|c| c.is_ascii_hexdigit())
}

/// Finds timers that are set with a literal name but not declared.
fn timers(sources: &Sources, found: &mut Vec<Advice>) {
    let modules: Vec<_> = sources.iter().filter(|(path, _)| !path.starts_with("tests/")).collect();
    let words: Vec<_> = modules.iter().map(|(path, text)| (*path, tokens(text))).collect();
    let mut declared = BTreeSet::new();
    let mut is_certain = true;
    for words in words.iter().flat_map(|(_, tokens)| tokens.windows(4)) {
        if words[0].0 == "." && words[1].0 == "timer" && words[2].0 == "(" {
            match unquoted(words[3].0) {
                Some(name) => drop(declared.insert(name)),
                // A name that is computed may be any name.
                None => is_certain = false,
            }
        }
    }
    if !is_certain {
        return;
    }
    let known: Vec<_> = declared.iter().copied().collect();
    for (path, tokens) in &words {
        for at in 0..tokens.len() {
            let Some((name, line)) = timer_set_at(&tokens[at..]) else { continue };
            if !declared.contains(name) {
                let meant = closest(name, &known)
                    .map(|meant| format!("did you mean \"{meant}\"? "))
                    .unwrap_or_default();
                let message = format!(
                    "no timer is called \"{name}\"; {meant}world.timer(\"{name}\", function(data) … end) declares one"
                );
                found.push(Advice { file: (*path).to_owned(), line, message });
            }
        }
    }
}

/// Returns the second argument of `.after(seconds, "name"`.
fn timer_set_at<'t>(tokens: &[(&'t str, u32)]) -> Option<(&'t str, u32)> {
    let [(".", _), ("after", _), ("(", _), rest @ ..] = tokens else { return None };
    let mut depth = 0;
    let comma = rest.iter().position(|(token, _)| {
        depth += i32::from(matches!(*token, "(" | "[" | "{")) - i32::from(matches!(*token, ")" | "]" | "}"));
        (*token == "," && depth == 0) || depth < 0
    })?;
    match rest[comma..] {
        [(",", _), (name, line), ("," | ")", _), ..] => Some((unquoted(name)?, line)),
        _ => None,
    }
}

/// A module that is used under its name but not required.
pub(crate) struct Unrequired {
    pub(crate) name: String,
    pub(crate) line: u32,
    module: String,
}

impl Unrequired {
    /// The line that is missing.
    pub(crate) fn cure(&self) -> String {
        format!("`local {} = require(\"{}\")`", self.name, self.module)
    }
}

/// Finds names that a module indexes but does not define, if a module has that name.
pub(crate) fn unrequired(sources: &Sources, path: &str) -> Vec<Unrequired> {
    let Some(text) = sources.text(path) else { return Vec::new() };
    let tokens = tokens(text);
    let is_made = |name: &str| {
        tokens
            .windows(2)
            .any(|words| words[1].0 == name && matches!(words[0].0, "local" | "," | "(" | "for" | "function"))
    };
    let mut found: Vec<Unrequired> = Vec::new();
    for words in tokens.windows(3) {
        let [(before, _), (name, line), (after, _)] = words else { continue };
        let is_use = is_name(name) && matches!(*after, "." | ":") && !matches!(*before, "." | ":");
        if !is_use || found.iter().any(|known| known.name == *name && known.line == *line) || is_made(name) {
            continue;
        }
        if let Some(module) = module_called(sources, path, name) {
            found.push(Unrequired { name: (*name).to_owned(), line: *line, module });
        }
    }
    // The first word of a file has nothing before it.
    if let [(name, line), (".", _), ..] = tokens.as_slice()
        && !is_made(name)
        && let Some(module) = module_called(sources, path, name)
    {
        found.push(Unrequired { name: (*name).to_owned(), line: *line, module });
    }
    found
}

/// Returns the name under which a module can be required from another module, if there is such a name.
fn module_called(sources: &Sources, from: &str, name: &str) -> Option<String> {
    let up = "../".repeat(from.matches('/').count());
    let up = if up.is_empty() { "./".to_owned() } else { up };
    let is_there = sources.text(&format!("{name}.luau")).is_some() && from != format!("{name}.luau");
    let own = is_there.then(|| format!("{up}{name}"));
    own.or_else(|| module_of_nowcast(name, from.starts_with("tests/")))
}

/// Finds modules that have no effect because no other module requires them.
fn idle_modules(sources: &Sources, found: &mut Vec<Advice>) {
    let mut required: BTreeSet<String> = BTreeSet::new();
    for (path, text) in sources.iter() {
        for words in tokens(text).windows(3) {
            let [("require", _), ("(", _), (name, _)] = words else { continue };
            match unquoted(name) {
                Some(name) if name.starts_with('@') => {}
                Some(name) => required.extend(sources.resolve(path, name).ok()),
                // A computed name may be any.
                None => return,
            }
        }
    }
    for (path, _) in sources.iter() {
        if path != MAIN && !path.starts_with("tests/") && !required.contains(path) {
            let module = path.trim_end_matches(".luau").trim_end_matches("/init");
            let message = format!(
                "no module requires this one, so it does nothing; require(\"./{module}\") in {MAIN} loads it"
            );
            found.push(Advice { file: path.to_owned(), line: 1, message });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Script};

    fn advised(modules: &[(&str, &str)]) -> Vec<String> {
        let sources = Sources::from_iter(modules.iter().copied());
        let script = Script::load(&sources, Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
        let found = advice(&sources, &script.definition());
        found.into_iter().map(|found| format!("{}:{}: {}", found.file, found.line, found.message)).collect()
    }

    #[test]
    fn likely_mistakes_are_named_with_their_line() {
        let head = "local world = require('@nowcast/world')\n";
        for (text, line, words) in [
            ("world.action('a', {}, print, { key = 'E' })", 2, "did you mean \"e\"?"),
            ("world.action('a', {}, print, { key = 'enter' })", 2, "no page has the key"),
            ("world.action('a', {}, print, { key = 'w' })", 2, "walks"),
            (
                "world.action('a', {}, print, { key = 'e' })\nworld.action('b', {}, print, { key = 'e' })",
                3,
                "`a` already",
            ),
            ("world.kind('k', { look = { colour = '#fff' } })", 2, "did you mean `color`?"),
            ("world.kind('k', { look = { color = 'red' } })", 2, "\"red\" is not a colour"),
            (
                "world.timer('boom', print)\nworld.on('start', function() world.after(math.max(1, 2), 'bom') end)",
                3,
                "\"boom\"",
            ),
        ] {
            let found = advised(&[("world.luau", &format!("{head}{text}")), ("teams.luau", "return {}")]);
            let is_told =
                |found: &&String| found.starts_with(&format!("world.luau:{line}: ")) && found.contains(words);
            assert_eq!(found.iter().filter(is_told).count(), 1, "{text}: {found:?}");
        }
        let idle = advised(&[("world.luau", head), ("teams.luau", "return {}")]);
        assert!(idle[0].starts_with("teams.luau:1: no module requires this one"), "{idle:?}");
    }

    #[test]
    fn a_world_without_mistakes_gets_no_advice() {
        let text = "
            local world, teams = require('@nowcast/world'), require('./teams')
            local Door = world.kind('door', { look = { color = '#abc', opacity = 0.5 }, attributes = { color = 'text' } })
            world.action('open', { door = 'entity' }, print, { key = 'e', target = 'door', of = Door })
            world.action('close', { door = 'entity' }, print, { key = 'e', target = 'door', of = Door, needs = 'x' })
            world.timer('tick', print)
            world.on('start', function() world.after(teams.pause, 'tick') world.after(1, teams.name) end)";
        assert_eq!(
            advised(&[("world.luau", text), ("teams.luau", "return { pause = 1, name = 'tick' }")]),
            [""; 0]
        );
    }
}
