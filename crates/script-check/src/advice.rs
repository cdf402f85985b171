//! Advice on a version that loads. It names allowed declarations that are most likely mistakes.

use std::collections::BTreeSet;

use nowcast_script::{MAIN, Sources, closest, instead};
use nowcast_world::{Definition, Value};

use crate::Finding;
use crate::resolver::Use;

/// The fields of a look that pages draw.
const LOOK_FIELDS: [&str; 22] = [
    "shape",
    "size",
    "radius",
    "height",
    "points",
    "vertices",
    "triangles",
    "heights",
    "columns",
    "parts",
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

/// Adds the advice on a version that loads: unknown or shared keys, looks that draw nothing, undeclared timers, and unused
/// modules.
pub(crate) fn advise(sources: &Sources, definition: &Definition, uses: &[Use], found: &mut Vec<Finding>) {
    keys(definition, uses, found);
    looks(definition, uses, found);
    timers(uses, found);
    idle_modules(sources, uses, found);
}

/// Returns the finding about `what`, an action or a kind, at the place of its declaration.
fn about(uses: &[Use], what: &str, name: &str, message: &str) -> Finding {
    let declared = uses.iter().find(|one| one.function == what && one.name.as_deref() == Some(name));
    let message = format!("{what} `{name}`: {message}");
    match declared {
        Some(declared) => at(declared, message),
        None => Finding { file: MAIN.to_owned(), line: 1, column: 1, is_error: false, message },
    }
}

fn at(place: &Use, message: String) -> Finding {
    Finding { file: place.file.clone(), line: place.line, column: place.column, is_error: false, message }
}

fn keys(definition: &Definition, uses: &[Use], found: &mut Vec<Finding>) {
    let mut taken: Vec<(&str, [Option<&Value>; 3], &str)> = Vec::new();
    for action in &definition.actions {
        let mut advise = |message: String| found.push(about(uses, "action", &action.name, &message));
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

fn looks(definition: &Definition, uses: &[Use], found: &mut Vec<Finding>) {
    for kind in &definition.kinds {
        let mut advise = |message: String| found.push(about(uses, "kind", &kind.name, &message));
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
fn timers(uses: &[Use], found: &mut Vec<Finding>) {
    let declared = uses.iter().filter(|one| one.function == "timer").map(|one| one.name.as_deref());
    // A name that is computed may be any name.
    let Some(known) = declared.collect::<Option<Vec<&str>>>() else { return };
    for set in uses.iter().filter(|one| matches!(one.function.as_str(), "after" | "every")) {
        let Some(name) = set.name.as_deref().filter(|name| !known.contains(name)) else { continue };
        let meant =
            closest(name, &known).map(|meant| format!("did you mean \"{meant}\"? ")).unwrap_or_default();
        let message = format!(
            "no timer is called \"{name}\"; {meant}world.timer(\"{name}\", function(data) … end) declares one"
        );
        found.push(at(set, message));
    }
}

/// Finds modules that have no effect because no other module requires them.
fn idle_modules(sources: &Sources, uses: &[Use], found: &mut Vec<Finding>) {
    let mut required: BTreeSet<String> = BTreeSet::new();
    for one in uses.iter().filter(|one| one.function == "require") {
        match one.name.as_deref() {
            Some(name) if name.starts_with('@') => {}
            Some(name) => required.extend(sources.resolve(&one.file, name).ok()),
            // A computed name may be any.
            None => return,
        }
    }
    for (path, _) in sources.iter() {
        if path != MAIN && !path.starts_with("tests/") && !required.contains(path) {
            let module = path.trim_end_matches(".luau").trim_end_matches("/init");
            let message = format!(
                "no module requires this one, so it does nothing; require(\"./{module}\") in {MAIN} loads it"
            );
            found.push(Finding { file: path.to_owned(), line: 1, column: 1, is_error: false, message });
        }
    }
}
