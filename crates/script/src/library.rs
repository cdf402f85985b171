//! The standard library: modules in Luau that every world can require. They use the API of worlds alone, so an author
//! can read them as examples.

/// The modules, ordered by name: the name for `require`, and the text.
pub const LIBRARY: [(&str, &str); 9] = [
    ("@nowcast/dialogue", include_str!("library/dialogue.luau")),
    ("@nowcast/headset", include_str!("library/headset.luau")),
    ("@nowcast/inventory", include_str!("library/inventory.luau")),
    ("@nowcast/leaderboard", include_str!("library/leaderboard.luau")),
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

/// Returns the name for `require` of the module that is called `name` in the library, or of the API's own modules.
/// Only tests can require `test`.
pub fn module_of_nowcast(name: &str, is_test: bool) -> Option<String> {
    let full = format!("@nowcast/{name}");
    let is_known = name == "world" || (name == "test" && is_test) || library_text(&full).is_some();
    is_known.then_some(full)
}
