//! The standard library: modules in Luau that every world can require. They use the API of worlds alone, so an author
//! can read them as examples.

use crate::sources::Sources;

/// The modules, ordered by name: the name for `require`, and the text.
pub const LIBRARY: [(&str, &str); 10] = [
    ("@nowcast/dialogue", include_str!("library/dialogue.luau")),
    ("@nowcast/headset", include_str!("library/headset.luau")),
    ("@nowcast/inventory", include_str!("library/inventory.luau")),
    ("@nowcast/leaderboard", include_str!("library/leaderboard.luau")),
    ("@nowcast/notices", include_str!("library/notices.luau")),
    ("@nowcast/npc", include_str!("library/npc.luau")),
    ("@nowcast/rotation", include_str!("library/rotation.luau")),
    ("@nowcast/rounds", include_str!("library/rounds.luau")),
    ("@nowcast/teams", include_str!("library/teams.luau")),
    ("@nowcast/vehicles", include_str!("library/vehicles.luau")),
];

/// Returns the text of a module, by the name for `require`.
pub(crate) fn library_text(name: &str) -> Option<&'static str> {
    LIBRARY.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Returns the name under which the module `from` can require a module: a module in the rules' folder, in the library, or in the
/// API. `None` if there is no such name. Only tests can require `test`.
pub fn module_called(sources: &Sources, from: &str, name: &str) -> Option<String> {
    let file = format!("{name}.luau");
    if sources.text(&file).is_some() && from != file {
        let up = "../".repeat(from.matches('/').count());
        return Some(if up.is_empty() { format!("./{name}") } else { format!("{up}{name}") });
    }
    let full = format!("@nowcast/{name}");
    let is_known =
        name == "world" || (name == "test" && from.starts_with("tests/")) || library_text(&full).is_some();
    is_known.then_some(full)
}
