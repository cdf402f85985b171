//! Tests `nowcast mcp` as an assistant uses it: messages of JSON-RPC, one a line, over its standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::own;

const WORLD: &str = r#"local world = require("@nowcast/world")
world.state { score = 0 }
local Post = world.kind("post", { tags = { "first" } })
world.on("start", function()
    Post:spawn { at = vector.create(0, 1, 0) }
end)
"#;

const TEST: &str = r#"local test, world = require("@nowcast/test"), require("@nowcast/world")
test.case("the score starts at 0", function()
    test.step(1)
    test.equal(world.state.score, 0)
end)
"#;

/// A program that is stopped when this value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An assistant, and the tools that it was given.
struct Assistant {
    _tools: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Assistant {
    fn start(address: &str) -> Self {
        let mut child = own::program()
            .args(["mcp", address])
            .env_remove("NOWCAST_TOKEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut assistant = Self { _tools: Running(child), input, output, id: 0 };
        let client = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let answer = assistant.request("initialize", &hello);
        assert_eq!(answer["serverInfo"]["name"], "nowcast", "{answer}");
        assistant.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assistant
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the tools ended");
            let answer: Value = serde_json::from_str(&line).expect("each line is a message");
            if answer["id"] == id {
                return answer.get("result").unwrap_or_else(|| panic!("{method} failed: {answer}")).clone();
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert_ne!(result["isError"], true, "{tool} failed: {result}");
        result["structuredContent"].clone()
    }

    /// The text with which a tool reports an error.
    fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert_eq!(result["isError"], true, "{tool} did not fail: {result}");
        result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }
}

/// A folder of this process that holds a world, and a server of it.
fn serve(name: &str) -> (Running, String, PathBuf) {
    let folder = std::env::temp_dir().join(format!("nowcast-mcp-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let world = folder.join("posts");
    std::fs::create_dir_all(world.join("tests")).unwrap();
    std::fs::write(world.join("world.luau"), WORLD).unwrap();
    std::fs::write(world.join("tests/score.luau"), TEST).unwrap();
    let mut child = own::program()
        .args(["serve", "--port", "0", "--data"])
        .arg(folder.join("data"))
        .arg(&world)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().rsplit_once(':').expect("the server prints its address").1;
    let address = format!("127.0.0.1:{port}");
    (Running(child), address, folder)
}

/// Lets an assistant work on the world in a folder, which is removed at the end.
fn with_assistant(name: &str, play: impl FnOnce(&mut Assistant, &Path)) {
    let (server, address, folder) = serve(name);
    play(&mut Assistant::start(&address), &folder.join("posts"));
    drop(server);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn an_assistant_edits_a_world_and_runs_its_tests() {
    with_assistant("edits", |assistant, folder| {
        let tools = assistant.request("tools/list", &json!({}));
        let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert!(names.contains(&&json!("run_tests")) && names.contains(&&json!("replay")), "{names:?}");
        let rooms = assistant.call("rooms", &json!({}));
        assert_eq!(rooms["worlds"][0]["name"], "posts", "{rooms}");

        let before = assistant.call("read_file", &json!({ "world": "posts", "path": "world.luau" }));
        let text = before["text"].as_str().unwrap().replace("score = 0", "score = 5");
        let save =
            json!({ "world": "posts", "path": "world.luau", "text": text, "revision": before["revision"] });
        assistant.call("write_file", &save);
        assert!(std::fs::read_to_string(folder.join("world.luau")).unwrap().contains("score = 5"));
        let failed = assistant.call("run_tests", &json!({ "world": "posts" }));
        assert_eq!(failed["passed"], false, "{failed}");
        assert!(failed["output"].as_str().unwrap().contains("the score starts at 0"), "{failed}");

        // The revision is that of the replaced text.
        let refused = assistant.refused("write_file", &save);
        assert!(refused.contains("changed"), "{refused}");

        let test = json!({ "world": "posts", "path": "tests/score.luau" });
        let before = assistant.call("read_file", &test);
        let text = before["text"].as_str().unwrap().replace("score, 0", "score, 5");
        let save = json!({ "world": "posts", "path": "tests/score.luau", "text": text, "revision": before["revision"] });
        assistant.call("write_file", &save);
        let passed = assistant.call("run_tests", &json!({ "world": "posts" }));
        assert_eq!(passed["passed"], true, "{passed}");

        let unsaved = json!({ "tests/score.luau": TEST.replace("score, 0", "score, 6") });
        let failed = assistant.call("run_tests", &json!({ "world": "posts", "files": unsaved }));
        assert_eq!(failed["passed"], false, "{failed}");
        let edit = json!({ "world": "posts", "path": "world.luau", "edits": [{ "old": "score = 5", "new": "score = 6" }] });
        assistant.call("edit_file", &edit);
        assert!(std::fs::read_to_string(folder.join("world.luau")).unwrap().contains("score = 6"));
        let refused = assistant.refused("edit_file", &edit);
        assert!(refused.contains("occurs 0 times"), "{refused}");
        let revision = assistant.call("read_file", &test)["revision"].clone();
        let files = json!([
            { "path": "tests/score.luau", "text": TEST.replace("score, 0", "score, 6"), "revision": revision },
            { "path": "lib/points.luau", "text": "return 6" },
        ]);
        assistant.call("write_files", &json!({ "world": "posts", "files": files }));
        let passed = assistant.call("run_tests", &json!({ "world": "posts" }));
        assert_eq!(passed["passed"], true, "{passed}");
        let types = assistant.call("types", &json!({ "world": "posts", "search": "raycast" }));
        let found = types["files"]["world.luau"].as_str().unwrap();
        assert!(found.contains("raycast") && found.len() < 4_000, "{found}");
    });
}

#[test]
fn a_mistake_is_found_before_it_is_saved() {
    with_assistant("checks", |assistant, folder| {
        let files = json!({ "world.luau": WORLD.replace("world.on(", "world.onn(") });
        let checked = assistant.call("check", &json!({ "world": "posts", "files": files }));
        let first = &checked["diagnostics"][0];
        assert_eq!((&first["file"], &first["line"]), (&json!("world.luau"), &json!(4)), "{checked}");
        assert_eq!(std::fs::read_to_string(folder.join("world.luau")).unwrap(), WORLD);
    });
}

#[test]
fn a_tool_names_the_reason_of_a_refusal() {
    with_assistant("refusals", |assistant, _| {
        let refused = assistant.refused("room", &json!({ "room": "nowhere" }));
        assert!(refused.contains("not_found"), "{refused}");
        let refused = assistant.refused("state", &json!({}));
        assert!(refused.contains("`room` or `moment`"), "{refused}");
        let outside = json!({ "world": "posts", "path": "../data/worlds.db" });
        let refused = assistant.refused("read_file", &outside);
        assert!(refused.contains("invalid") || refused.contains("not_found"), "{refused}");
    });
}

#[test]
fn without_a_server_every_tool_says_so() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let mut assistant = Assistant::start(&address);
    let refused = assistant.refused("rooms", &json!({}));
    assert!(refused.contains("nowcast serve"), "{refused}");
}
