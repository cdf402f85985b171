//! The tools, each of which is a request to the studio interface.

use std::path::PathBuf;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use serde_json::{Value, json};

use crate::arguments::{
    Check, Client, Commands, Edits, Entities, Entity, File, Log, Moment, NewText, NewTexts, OpenMoment,
    Profile, Replay, Room, SaveTest, Scene, StepMoment, Tests, TwoMoments, Types, World,
};
use crate::studio::{Studio, StudioError};
use crate::{edit, test_run, types};

/// Rows of a list of entities, if the assistant does not ask for another number.
const ROWS: u16 = 50;

const INSTRUCTIONS: &str = "Reads and edits the worlds of a running Nowcast server. `rooms` lists rooms and worlds. The rules of a \
    world are Luau files: read them by `files` and `read_file`; `types` has the whole interface for rules. `check` and `run_tests` take texts \
    that are not saved. After you save by `write_file`, `write_files` or `edit_file`, open rooms reload the rules at once, `log` has their errors, and \
    `run_tests` runs the tests of the world. `history`, `open_moment`, `step_moment` and `replay` go back in time: a moment is a \
    paused copy of a room, and no change of it reaches the players.";

/// The tools of one studio.
#[derive(Clone)]
pub struct Tools {
    studio: Studio,
    program: PathBuf,
}

#[tool_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_instructions(INSTRUCTIONS);
        config.server_info.name = "nowcast".into();
        config.server_info.version = env!("CARGO_PKG_VERSION").into();
        config
    }
}

#[tool_router]
impl Tools {
    /// The tools for a studio. `program` is the path of the `nowcast` program, which runs the tests of worlds.
    #[must_use]
    pub fn new(studio: Studio, program: PathBuf) -> Self {
        Self { studio, program }
    }

    #[tool(
        description = "Lists the open rooms and the worlds of the server.",
        annotations(read_only_hint = true)
    )]
    async fn rooms(&self) -> CallToolResult {
        self.ask(|studio| studio.get(&["rooms"], &[])).await
    }

    #[tool(
        description = "Describes a room: world, step, players, and the kinds of its entities with their attributes.",
        annotations(read_only_hint = true)
    )]
    async fn room(&self, Parameters(Room { room }): Parameters<Room>) -> CallToolResult {
        self.ask(move |studio| studio.get(&["rooms", &room], &[])).await
    }

    #[tool(description = "Lists entities of a room or of a moment.", annotations(read_only_hint = true))]
    async fn entities(&self, Parameters(list): Parameters<Entities>) -> CallToolResult {
        self.ask_scene(list.scene, move |studio, scene| {
            let mut query = vec![("limit", list.limit.unwrap_or(ROWS).to_string())];
            let texts = [
                ("search", list.search),
                ("kind", list.kind),
                ("tag", list.tag),
                ("attribute", list.attribute),
                ("near", list.near),
                ("after", list.after.map(|after| after.to_string())),
            ];
            query.extend(texts.into_iter().filter_map(|(name, text)| Some((name, text?))));
            studio.get(&[scene[0], scene[1], "entities"], &query)
        })
        .await
    }

    #[tool(
        description = "Reads one entity: pose, velocity, attributes, private value, body, contacts, joints. In a room, `writers` states which line and event of the rules changed each value since an earlier reading, at most 600 steps ago.",
        annotations(read_only_hint = true)
    )]
    async fn entity(&self, Parameters(Entity { scene, entity }): Parameters<Entity>) -> CallToolResult {
        let id = entity.to_string();
        self.ask_scene(scene, move |studio, scene| studio.get(&[scene[0], scene[1], "entities", &id], &[]))
            .await
    }

    #[tool(
        description = "Reads world.state and the players of a room or of a moment, with their saved data. In a room, `writers` states which function and event of the rules changed each key since an earlier reading, at most 600 steps ago.",
        annotations(read_only_hint = true)
    )]
    async fn state(&self, Parameters(scene): Parameters<Scene>) -> CallToolResult {
        self.ask_scene(scene, |studio, scene| studio.get(&[scene[0], scene[1], "state"], &[])).await
    }

    #[tool(
        description = "Changes a live room, while people play: attributes, state, saved data; spawns, despawns, moves. The changes are recorded in the journal."
    )]
    async fn change(&self, Parameters(Commands { room, commands }): Parameters<Commands>) -> CallToolResult {
        self.ask(move |studio| studio.post(&["rooms", &room, "commands"], &json!({ "commands": commands })))
            .await
    }

    #[tool(
        description = "Reads the newest lines of a room's log: prints, errors of the rules with file and line, chat, events.",
        annotations(read_only_hint = true)
    )]
    async fn log(&self, Parameters(Log { room, after }): Parameters<Log>) -> CallToolResult {
        self.ask(move |studio| {
            let query: Vec<_> = after.map(|after| ("after", after.to_string())).into_iter().collect();
            studio.get(&["rooms", &room, "log"], &query)
        })
        .await
    }

    #[tool(
        description = "Reads the time of a room's steps by phase and by hook of the rules, and the slowest steps of the last hour.",
        annotations(read_only_hint = true)
    )]
    async fn profile(&self, Parameters(Profile { room, steps }): Parameters<Profile>) -> CallToolResult {
        self.ask(move |studio| {
            let query: Vec<_> = steps.map(|steps| ("steps", steps.to_string())).into_iter().collect();
            studio.get(&["rooms", &room, "profile"], &query)
        })
        .await
    }

    #[tool(
        description = "Lists the clients of a room with carrier, round trip, jitter, loss, queues, bytes and ages. `client` has one client with its queue and the bytes of each kind.",
        annotations(read_only_hint = true)
    )]
    async fn clients(&self, Parameters(Room { room }): Parameters<Room>) -> CallToolResult {
        self.ask(move |studio| studio.get(&["rooms", &room, "clients"], &[])).await
    }

    #[tool(
        description = "Describes one client of a room: its link, the messages that wait for it, and the bytes of movement by kind and entity.",
        annotations(read_only_hint = true)
    )]
    async fn client(&self, Parameters(Client { room, player }): Parameters<Client>) -> CallToolResult {
        let player = player.to_string();
        self.ask(move |studio| studio.get(&["rooms", &room, "clients", &player], &[])).await
    }

    #[tool(description = "Lists the files of a world's folder.", annotations(read_only_hint = true))]
    async fn files(&self, Parameters(World { world }): Parameters<World>) -> CallToolResult {
        self.ask(move |studio| studio.get(&["worlds", &world, "files"], &[])).await
    }

    #[tool(description = "Reads a file of a world and its revision.", annotations(read_only_hint = true))]
    async fn read_file(&self, Parameters(File { world, path }): Parameters<File>) -> CallToolResult {
        self.ask(move |studio| studio.get(&file_path(&world, &path), &[])).await
    }

    #[tool(
        description = "Saves a file of a world. Open rooms reload the rules at once, and return to the previous rules if the new ones fail in their first two seconds."
    )]
    async fn write_file(&self, Parameters(new): Parameters<NewText>) -> CallToolResult {
        self.ask(move |studio| {
            let body = json!({ "text": new.text });
            studio.put(&file_path(&new.world, &new.path), &body, new.revision.as_deref())
        })
        .await
    }

    #[tool(
        description = "Saves several files of a world at once, or none of them if one has another revision. Open rooms reload the rules after all files are saved."
    )]
    async fn write_files(
        &self,
        Parameters(NewTexts { world, files }): Parameters<NewTexts>,
    ) -> CallToolResult {
        self.ask(move |studio| studio.put_all(&["worlds", &world, "files"], &json!({ "files": files }))).await
    }

    #[tool(
        description = "Replaces parts of a file of a world: each old text must occur exactly once. Shorter than a new text of the whole file."
    )]
    async fn edit_file(&self, Parameters(Edits { world, path, edits }): Parameters<Edits>) -> CallToolResult {
        self.ask(move |studio| {
            let path = file_path(&world, &path);
            let before = studio.get(&path, &[])?;
            let text = edit::apply(before["text"].as_str().unwrap_or_default(), &edits)?;
            studio.put(&path, &json!({ "text": text }), before["revision"].as_str())
        })
        .await
    }

    #[tool(
        description = "Checks a world for mistakes, with texts that are not saved yet in place of its files.",
        annotations(read_only_hint = true)
    )]
    async fn check(&self, Parameters(Check { world, files }): Parameters<Check>) -> CallToolResult {
        self.ask(move |studio| studio.post(&["worlds", &world, "check"], &json!({ "files": files }))).await
    }

    #[tool(
        description = "Reads the interface for the rules of a world, and for its tests, as Luau types with documentation. With `search`, only the matching declarations.",
        annotations(read_only_hint = true)
    )]
    async fn types(&self, Parameters(Types { world, search }): Parameters<Types>) -> CallToolResult {
        self.ask(move |studio| {
            let all = studio.get(&["worlds", &world, "types"], &[])?;
            Ok(search.map_or_else(|| all.clone(), |search| types::matching(&all, &search)))
        })
        .await
    }

    #[tool(
        description = "Runs the tests in the folder tests/ of a world, in virtual time, on a copy of its files. Texts in `files` need not be saved.",
        annotations(read_only_hint = true)
    )]
    async fn run_tests(&self, Parameters(Tests { world, only, files }): Parameters<Tests>) -> CallToolResult {
        let studio = self.studio.clone();
        let copied = tokio::task::spawn_blocking(move || test_run::copy(&studio, &world, &files)).await;
        let copy = match copied {
            Ok(Ok(copy)) => copy,
            Ok(Err(error)) => return failed(&error.to_string()),
            Err(error) => return failed(&error.to_string()),
        };
        match test_run::run(copy, &self.program, only.as_deref()).await {
            Ok(outcome) => CallToolResult::structured(outcome),
            Err(error) => failed(&error.to_string()),
        }
    }

    #[tool(
        description = "Tells which steps of a room the journal keeps.",
        annotations(read_only_hint = true)
    )]
    async fn history(&self, Parameters(Room { room }): Parameters<Room>) -> CallToolResult {
        self.ask(move |studio| studio.get(&["rooms", &room, "history"], &[])).await
    }

    #[tool(
        description = "Opens a moment: a paused copy of a room at an earlier step. The server keeps at most 8.",
        annotations(read_only_hint = true)
    )]
    async fn open_moment(&self, Parameters(open): Parameters<OpenMoment>) -> CallToolResult {
        let body = match (open.step, open.seconds_ago) {
            (Some(step), None) => json!({ "step": step }),
            (None, Some(seconds)) => json!({ "secondsAgo": seconds }),
            _ => return failed("give either `step` or `seconds_ago`"),
        };
        self.ask(move |studio| studio.post(&["rooms", &open.room, "moments"], &body)).await
    }

    #[tool(description = "Moves a moment forward or back by steps.", annotations(read_only_hint = true))]
    async fn step_moment(
        &self,
        Parameters(StepMoment { moment, steps }): Parameters<StepMoment>,
    ) -> CallToolResult {
        self.ask(move |studio| studio.post(&["moments", &moment, "step"], &json!({ "steps": steps }))).await
    }

    #[tool(description = "Lists the differences between two moments.", annotations(read_only_hint = true))]
    async fn compare_moments(
        &self,
        Parameters(TwoMoments { a, b }): Parameters<TwoMoments>,
    ) -> CallToolResult {
        self.ask(move |studio| studio.get(&["moments", "compare"], &[("a", a), ("b", b)])).await
    }

    #[tool(
        description = "Replays the recorded commands from a moment with the current or the recorded rules. Shows whether a fix would have helped.",
        annotations(read_only_hint = true)
    )]
    async fn replay(
        &self,
        Parameters(Replay { moment, rules, until }): Parameters<Replay>,
    ) -> CallToolResult {
        let body = json!({ "rules": rules, "until": until });
        self.ask(move |studio| studio.post(&["moments", &moment, "replay"], &body)).await
    }

    #[tool(
        description = "Saves a moment as a test of the world: tests/NAME.luau, which restores the moment."
    )]
    async fn save_test(&self, Parameters(SaveTest { moment, name }): Parameters<SaveTest>) -> CallToolResult {
        self.ask(move |studio| studio.post(&["moments", &moment, "test"], &json!({ "name": name }))).await
    }

    #[tool(description = "Closes a moment.", annotations(read_only_hint = true))]
    async fn close_moment(&self, Parameters(Moment { moment }): Parameters<Moment>) -> CallToolResult {
        self.ask(move |studio| studio.delete(&["moments", &moment])).await
    }
}

impl Tools {
    /// Sends a request on a thread that may block. A refusal of the server is a result that names it, so that the assistant can
    /// correct its call.
    async fn ask(
        &self,
        request: impl FnOnce(&Studio) -> Result<Value, StudioError> + Send + 'static,
    ) -> CallToolResult {
        let studio = self.studio.clone();
        match tokio::task::spawn_blocking(move || request(&studio)).await {
            Ok(Ok(value)) => CallToolResult::structured(value),
            Ok(Err(error)) => failed(&error.to_string()),
            Err(error) => failed(&error.to_string()),
        }
    }

    /// Sends a request about a live room or a moment. The request receives the first two parts of its path.
    async fn ask_scene(
        &self,
        scene: Scene,
        request: impl FnOnce(&Studio, [&str; 2]) -> Result<Value, StudioError> + Send + 'static,
    ) -> CallToolResult {
        let (collection, name) = match (scene.room, scene.moment) {
            (Some(room), None) => ("rooms", room),
            (None, Some(moment)) => ("moments", moment),
            _ => return failed("give either `room` or `moment`"),
        };
        self.ask(move |studio| request(studio, [collection, &name])).await
    }
}

/// The parts of a file's path in the interface.
fn file_path<'a>(world: &'a str, path: &'a str) -> Vec<&'a str> {
    ["worlds", world, "files"].into_iter().chain(path.split('/')).collect()
}

fn failed(reason: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(reason)])
}
