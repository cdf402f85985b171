//! The reference of `@nowcast/test`.

use super::{Section, entry};

pub(super) const TESTING: Section = Section {
    title: "Tests",
    of: "Test",
    entries: &[
        entry(
            "case",
            "(name: string, fn: () -> (), moment: string?) -> ()",
            "Declares a case. Each case runs in a world of its own, which begins with the saved moment, if one is given.",
        ),
        entry(
            "join",
            "(name: string?, roles: { string }?, account: string?) -> Entity",
            "Lets a bot join, with roles, and with an account. The saved data of an account lasts until the case ends.",
        ),
        entry("leave", "(player: Entity) -> ()", "Lets a bot leave."),
        entry(
            "join_program",
            "(name: string?, roles: { string }?, account: string?) -> Entity",
            "Lets a bot join as a program.",
        ),
        entry("own", "(player: Entity, entity: Entity) -> ()", "A bot asks for an entity."),
        entry(
            "release",
            "(player: Entity, entity: Entity, to: Entity?) -> ()",
            "A bot gives an entity back, or passes it on.",
        ),
        entry(
            "move",
            "(player: Entity, entity: Entity, at: vector, rotation: { number }?) -> ()",
            "A bot sends the target pose of an entity that it owns.",
        ),
        entry(
            "set",
            "(player: Entity, entity: Entity, attributes: { [string]: any }) -> ()",
            "A bot sets attributes of an entity that it owns.",
        ),
        entry(
            "spawn",
            "(player: Entity, kind: Kind, at: vector, attributes: { [string]: any }?) -> ()",
            "A bot makes an entity of its own.",
        ),
        entry("act", "(player: Entity, action: string, arguments: any?) -> ()", "A bot triggers an action."),
        entry(
            "arrive",
            "(player: Entity, data: any?, from: string?) -> ()",
            "A bot that joined comes from the room `from` (\"elsewhere\") with this data: see \"Portals\".",
        ),
        entry(
            "input",
            "(player: Entity, input: { forward: number?, right: number?, yaw: number?, run: boolean?, jump: boolean? }) -> ()",
            "Replaces a bot's input from now on.",
        ),
        entry(
            "see",
            "(player: Entity, seconds: number) -> ()",
            "Sets how many seconds ago the positions are that a bot sees (0; at most 0.5): see `world.rewound`.",
        ),
        entry("say", "(player: Entity, text: string) -> ()", "A bot sends a chat message."),
        entry("step", "(steps: number?) -> ()", "Runs this number of steps (1)."),
        entry("wait", "(seconds: number) -> ()", "Runs this number of seconds of the world's time."),
        entry(
            "wait_until",
            "(condition: () -> any, seconds: number?) -> any",
            "Runs until `condition` returns a true value, and returns that value. Fails after `seconds` (10).",
        ),
        entry(
            "events",
            "(name: string) -> { { name: string, to: Entity?, payload: any } }",
            "The events of this name that were sent so far.",
        ),
        entry(
            "press",
            "(player: Entity, panel: string, part: string, given: (number | string)?) -> ()",
            "A bot presses a button of a panel, or a row of a list, or sends the text of an input.",
        ),
        entry(
            "panel",
            "(player: Entity, panel: string, part: string?) -> any",
            "The value of a part that a bot sees: nil for the declared one. Without `part`, whether the rules showed (true, or the number of the entity) or hid (false) the panel.",
        ),
        entry(
            "light",
            "(name: string, player: Entity?) -> { [string]: any }?",
            "The light of this name that all players see, or one alone: its `light` is the type.",
        ),
        entry(
            "loop",
            "(name: string, player: Entity?) -> { [string]: any }?",
            "The loop of this name that plays for all players, or for one alone: its `loop` is the file.",
        ),
        entry(
            "sent",
            "() -> { { player: Entity, room: string, data: any } }",
            "The players that the rules sent to other rooms so far. They stay in the case.",
        ),
        entry(
            "screen",
            "(place: string, player: Entity?) -> any",
            "The value at a place of every screen, or of one player's.",
        ),
        entry("refusals", "() -> { string }", "The reasons of all refused commands so far."),
        entry(
            "equal",
            "(found: any, expected: any, label: string?) -> ()",
            "Fails if the two values differ; tables are compared by their contents.",
        ),
        entry(
            "near",
            "(found: any, expected: any, tolerance: number?, label: string?) -> ()",
            "Fails if two numbers or vectors differ by more than `tolerance` (0.01).",
        ),
    ],
};
