//! Names from other engines that worlds do not have, each with a replacement, and old names of this API.

/// Missing global names and library fields (such as `math.randomseed`), each with the reason and the replacement.
pub(crate) const ABSENT: [(&str, &str); 24] = [
    ("os", "there is no `os`: a script has no clock but the world's own, `world.time()`"),
    ("io", "there is no `io`: a script reaches no files; data that must last belongs in `world.state`"),
    ("debug", "there is no `debug`: `print` writes to the server's log and to the page's console"),
    ("loadstring", "there is no `loadstring`: put the code into a module and `require` it"),
    ("wait", WAIT),
    ("delay", WAIT),
    ("task", WAIT),
    ("spawn", "there is no `spawn`: call the function itself, or set a timer with `world.after`"),
    ("warn", "there is no `warn`: use `print`"),
    ("tick", "there is no `tick`: use `world.tick()` for steps, or `world.time()` for seconds"),
    ("time", "there is no `time`: use `world.time()`"),
    ("elapsedTime", "there is no `elapsedTime`: use `world.time()`"),
    ("game", "there is no `game`: use `world`, as in `world.players()`"),
    ("workspace", "there is no `workspace`: use `world`; `Kind:all()` lists the entities of a kind"),
    ("script", "there is no `script`: require a module by its path, as in require(\"./teams\")"),
    ("shared", "there is no `shared`: shared data belongs in a module, or in `world.state`"),
    ("Instance", "there is no `Instance`: declare a kind with `world.kind`, and call `Kind:spawn { … }`"),
    ("Vector3", "there is no `Vector3`: use `vector.create(x, y, z)`"),
    ("Vector2", "there is no `Vector2`: use `vector.create(x, y, z)`"),
    ("CFrame", "there is no `CFrame`: an entity has `position`, `yaw` and `rotation`"),
    ("Color3", "there is no `Color3`: a colour is a text, as in \"#e67e22\""),
    ("Enum", "there is no `Enum`: options are texts, as in motion = \"fixed\""),
    ("math.randomseed", "there is no `math.randomseed`: the world has a seed of its own, and keeps it"),
    ("string.dump", "there is no `string.dump`: a script cannot read its own bytecode"),
];

const WAIT: &str = "a script cannot wait: declare a timer with world.timer(\"name\", function(data) … end), and set it with \
                    world.after(seconds, \"name\")";

/// Renamed names of the API: owner, old name, new name.
const RENAMED: [(&str, &str, &str); 5] = [
    ("world", "part", "remove_joint"),
    ("Kind:on", "part", "contact_end"),
    ("entity", "impulse", "apply_impulse"),
    ("entity", "twist", "apply_angular_impulse"),
    ("entity", "push", "apply_force"),
];

/// Returns a message with the replacement for an old name of the API. `owner` is `world`, `Kind:on` (names of events) or
/// `entity`.
pub fn renamed(owner: &str, name: &str) -> Option<String> {
    let (_, old, new) = RENAMED.iter().find(|(of, old, _)| *of == owner && *old == name)?;
    Some(format!("`{old}` is called `{new}` now"))
}

/// Returns why a global name is missing, and its replacement.
pub fn absence(name: &str) -> Option<&'static str> {
    ABSENT.iter().find(|(known, _)| *known == name).map(|(_, why)| *why)
}
