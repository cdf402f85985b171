//! Tests `nowcast world` as an operator uses it: the history of a world, and new rules for a world.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::own;

/// A world that a server has stored.
const KEPT: &str = "../../spec/vectors/store/0.1.0.ncs";

/// A folder with a store and rules. It is removed when this value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("nowcast-past-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for a test");
        let folder = Folder(folder);
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(KEPT);
        folder.world(&["import", kept.to_str().expect("the path is UTF-8")]).expect("the file is a world");
        folder
    }

    /// Runs `nowcast world …`, and returns its output, or its error output.
    fn world(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = own::program();
        let data = self.0.join("data");
        let Output { status, stdout, stderr } = command
            .arg("world")
            .arg("--data")
            .arg(data)
            .args(arguments)
            .output()
            .expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        if status.success() { Ok(text(stdout)) } else { Err(text(stderr)) }
    }

    /// Writes changed rules of the world into a folder.
    fn rules(&self, name: &str, change: impl FnOnce(&str) -> String) -> String {
        const RULES: &str = r#"
local world = require("@nowcast/world")
world.state { count = 0, names = {} }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(40, 1, 40) } })
local Lamp = world.kind("lamp", { attributes = { heat = "f32", title = "text", level = "u8" } })
local Person = world.kind("person", { walker = {} })
world.timer("out", function() end)
world.action("count", {}, function() world.state.count += 1 end)
"#;
        let folder = self.0.join(name);
        fs::create_dir_all(&folder).expect("a folder for rules");
        fs::write(folder.join("world.luau"), change(RULES)).expect("rules are written");
        folder.to_str().expect("the path is UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_earlier_state_of_a_world_is_shown_copied_and_exported() {
    let folder = Folder::new("copy");
    let now = folder.world(&["show", "park"]).unwrap();
    assert!(now.contains("1 lamp") && !now.contains("as it was"), "{now}");
    let then = folder.world(&["show", "park", "--at", "1"]).unwrap();
    assert!(then.contains("as it was at step 1"), "{then}");

    let said = folder.world(&["copy", "park", "old-park", "--at", "1"]).unwrap();
    assert!(said.contains("old-park has park as it was at step 1"), "{said}");
    let taken = folder.world(&["copy", "park", "old-park"]).unwrap_err();
    assert!(taken.contains("there is a world of this name already"), "{taken}");
    folder.world(&["copy", "old-park", "park-again", "--at", "-0s"]).unwrap();
    let list = folder.world(&["list"]).unwrap();
    assert_eq!(list.lines().count(), 3, "{list}");

    let file = folder.0.join("park.ncs");
    folder.world(&["export", "park", file.to_str().unwrap(), "--at", "1"]).unwrap();
    folder.world(&["import", file.to_str().unwrap(), "--name", "third"]).unwrap();
}

#[test]
fn an_unavailable_or_invalid_moment_is_reported_with_the_available_ones() {
    let folder = Folder::new("moment");
    let early = folder.world(&["copy", "park", "older", "--at", "0"]).unwrap_err();
    assert!(
        early.contains("no history of park from that time is stored: the stored history covers the last"),
        "{early}"
    );
    let unknown = folder.world(&["show", "plaza", "--at", "-5m"]).unwrap_err();
    assert!(unknown.contains("`nowcast world list` lists them"), "{unknown}");
    let wrong = folder.world(&["show", "park", "--at", "yesterday"]).unwrap_err();
    assert!(wrong.contains("expected how long ago, such as -5m"), "{wrong}");
}

#[test]
fn new_rules_are_planned_applied_or_refused_without_changes() {
    let folder = Folder::new("migrate");
    let before = folder.world(&["show", "park"]).unwrap();
    let bad = folder.rules("bad", |rules| format!("{rules}\nworld.on('step', function() error('no') end)"));
    let refused = folder.world(&["migrate", "park", &bad]).unwrap_err();
    assert!(
        refused.contains("fail within two seconds") && refused.contains("nothing was changed"),
        "{refused}"
    );
    let lampless = folder.rules("lampless", |rules| rules.replace("\"lamp\"", "\"tree\""));
    let refused = folder.world(&["migrate", "park", &lampless]).unwrap_err();
    assert!(refused.contains("lamp") && refused.contains("--lose KIND"), "{refused}");
    let plan = folder.world(&["migrate", "--plan", "--lose", "lamp", "park", &lampless]).unwrap();
    assert!(plan.contains("kind lamp: 1 entities are lost") && plan.contains("kind tree: new"), "{plan}");
    assert_eq!(folder.world(&["show", "park"]).unwrap(), before, "nothing was changed");

    let warmer = folder.rules("warmer", |rules| rules.replace("heat = \"f32\"", "warmth = \"f32\""));
    let said = folder.world(&["migrate", "park", &warmer]).unwrap();
    assert!(
        said.contains("kind lamp: heat is forgotten") && said.contains("kind lamp: warmth is new"),
        "{said}"
    );
    let aside = said.trim_end().rsplit_once("stored as ").expect("the output names the former state").1;
    assert!(folder.world(&["migrate", "--plan", "park", &warmer]).unwrap().contains("no kind"));
    folder.world(&["copy", aside, "before"]).unwrap();
    assert!(folder.world(&["show", "before"]).unwrap().contains("1 lamp"));
    assert!(folder.world(&["check", "park"]).unwrap().contains("0 faults"));
}

#[test]
fn a_world_is_replaced_only_on_request_and_the_earlier_one_is_kept() {
    let folder = Folder::new("restore");
    let warmer = folder.rules("warmer", |rules| rules.replace("heat = \"f32\"", "warmth = \"f32\""));
    let file = folder.0.join("park.ncs");
    let file = file.to_str().unwrap();
    folder.world(&["export", "park", file]).unwrap();
    folder.world(&["migrate", "park", &warmer]).unwrap();
    let shown = || {
        let text = folder.world(&["show", "park"]).unwrap();
        let lines = text.lines().filter(|line| !line.contains("last kept"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = shown();

    let refused = folder.world(&["restore", "park", file]).unwrap_err();
    assert!(refused.contains("nothing was changed; --replace restores park"), "{refused}");
    assert_eq!(shown(), before, "nothing was changed");
    let said = folder.world(&["restore", "park", file, "--replace"]).unwrap();
    assert!(said.contains("rules         others"), "{said}");
    let aside =
        said.trim_end().rsplit_once("stored as ").expect("the output names the former state").1.to_owned();
    assert!(aside.starts_with("park@"), "{aside}");
    assert!(folder.world(&["migrate", "--plan", "park", &warmer]).unwrap().contains("warmth is new"));
    assert!(folder.world(&["migrate", "--plan", &aside, &warmer]).unwrap().contains("no kind"));

    let said = folder.world(&["restore", "park", "--at", "1", "--replace"]).unwrap();
    assert!(said.contains("restored      step 1, "), "{said}");
    assert!(folder.world(&["check"]).unwrap().contains("park: 1 snapshots"), "the store is undamaged");
    let said = folder.world(&["restore", "new-park", file]).unwrap();
    assert!(said.contains("there is no world new-park yet"), "{said}");
    let nothing = folder.world(&["restore", "park"]).unwrap_err();
    assert!(nothing.contains("<FILE>") || nothing.contains("--at"), "{nothing}");
    let foreign = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let refused = folder.world(&["restore", "park", foreign.to_str().unwrap(), "--replace"]).unwrap_err();
    assert!(refused.contains("is not a world"), "{refused}");
}

#[test]
fn salvage_writes_the_readable_part_and_names_the_losses() {
    let folder = Folder::new("salvage");
    folder.world(&["copy", "park", "plaza"]).unwrap();
    let whole = folder.0.join("whole.ncs");
    let said = folder.world(&["check", "park", "--salvage", "--into", whole.to_str().unwrap()]).unwrap();
    assert!(said.contains("nothing is wrong with it") && !whole.exists(), "{said}");
    let database = rusqlite::Connection::open(folder.0.join("data/worlds.db")).unwrap();
    let damage = "UPDATE journal SET body = zeroblob(length(body)) \
         WHERE number = (SELECT max(number) FROM journal AS last WHERE last.world = journal.world)";
    assert!(database.execute(damage, []).unwrap() > 0);
    drop(database);
    let refused = folder.world(&["show", "park"]).unwrap_err();
    assert!(refused.contains("its checksum is wrong"), "{refused}");

    let bytes = fs::read(folder.0.join("data/worlds.db")).unwrap();
    let file = folder.0.join("park.ncs");
    let text = file.to_str().unwrap();
    let two = folder.world(&["check", "--salvage", "--into", text]).unwrap_err();
    assert!(two.contains("2 worlds are damaged") && !file.exists(), "{two}");
    let said = folder.world(&["check", "park", "--salvage", "--into", text]).unwrap();
    assert!(said.contains("has park at step ") && said.contains("every hash is right"), "{said}");
    let again = folder.world(&["check", "park", "--salvage", "--into", text]).unwrap_err();
    assert!(again.contains("lost: batch ") && again.contains("cannot make"), "{again}");
    assert_eq!(fs::read(folder.0.join("data/worlds.db")).unwrap(), bytes, "the store stays as it is");

    let said = folder.world(&["restore", "park", text, "--replace"]).unwrap();
    assert!(said.contains("park is restored"), "{said}");
    assert!(folder.world(&["show", "park"]).unwrap().contains("1 lamp"));
    assert!(folder.world(&["check", "park"]).unwrap().contains("0 faults"));
}

#[test]
fn bans_are_kept_listed_and_taken_back_without_a_server() {
    let folder = Folder::new("bans");
    let said = folder.world(&["ban", "park", "--token", "Ian Bell", "--why", "shouts"]).unwrap();
    assert!(said.contains("Ian Bell, room park, by the token's name: shouts"), "{said}");
    folder.world(&["ban", "football", "--world", "--address", "2001:db8::7", "--for", "2h"]).unwrap();
    let list = folder.world(&["bans"]).unwrap();
    assert!(list.contains("world football, by the address 2001:db8::/64, until 2"), "{list}");
    assert_eq!(list.lines().count(), 2, "{list}");
    assert_eq!(folder.world(&["bans", "park"]).unwrap().lines().count(), 1);
    let id =
        list.lines().find(|line| line.contains("football")).unwrap().split(' ').next().unwrap().to_owned();
    assert!(folder.world(&["unban", "park", &id]).unwrap_err().contains("no ban of park"));
    assert!(folder.world(&["unban", "football", &id]).unwrap().contains("taken back"));
    folder.world(&["unban", "park", "Ian Bell"]).unwrap();
    assert_eq!(folder.world(&["bans"]).unwrap(), "");
    let nobody = folder.world(&["ban", "park"]).unwrap_err();
    assert!(nobody.contains("--token") || nobody.contains("--address"), "{nobody}");
    let long = folder.world(&["ban", "park", "--address", "203.0.113.7", "--for", "60d"]).unwrap_err();
    assert!(long.contains("30 days at most"), "{long}");
}
