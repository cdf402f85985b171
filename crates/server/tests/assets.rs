//! A world's asset files: clients receive their hashes, fetch them by hash, and receive changes while they are in the world.

use std::path::PathBuf;

use crate::common::session::Guest;
use crate::common::{TestServer, plaza};
use nowcast::CarrierKind;
use nowcast_server::{Rules, WorldConfig};
use nowcast_world_protocol::session::Outcome;
use serde_json::json;

const RULES: &str = r#"
local world = require("@nowcast/world")
local Person = world.kind("person", { walker = {}, look = { texture = "assets/moss.png" } })
local calls = 0
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 0) }) end)
world.action("count", {}, function() calls += 1 world.show("calls", calls) end)
"#;

/// A world's folder. It is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("nowcast-{name}-{}", std::process::id())));
        std::fs::create_dir_all(folder.0.join("assets")).expect("a folder can be made");
        folder.write("world.luau", RULES.as_bytes());
        folder.write("assets/moss.png", &picture(1));
        folder
    }

    /// Replaces a file in one step, as editors do.
    fn write(&self, path: &str, content: &[u8]) {
        let new = self.0.join(".new");
        std::fs::write(&new, content).expect("a file can be written");
        std::fs::rename(&new, self.0.join(path)).expect("the new file replaces the earlier file");
    }

    async fn serve(&self) -> TestServer {
        TestServer::with(|config| {
            let mossy = WorldConfig { name: "mossy".into(), rules: Rules::Folder(self.0.clone()) };
            config.worlds = vec![plaza(), mossy];
        })
        .await
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the header of a picture of this height.
fn picture(height: u8) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0" as &[u8], &[height], b"-moss"].concat()
}

const MOSS: &str = "assets/moss.png";

#[tokio::test]
async fn assets_are_announced_by_hash_on_both_protocols_and_cached_for_ever() {
    let folder = Folder::new("served");
    let server = folder.serve().await;
    let ada = server.join("mossy", "name=Ada").await;
    let mut ben = Guest::join(&server, "mossy", "Ben", CarrierKind::WebSocket).await;
    ben.until("the list", |ben| ben.view.assets.contains_key(MOSS)).await;
    assert_eq!(ada.view.assets, ben.view.assets);
    let hash = &ada.view.assets[MOSS];
    let path = format!("/assets/{hash}");
    let answer = server.get(&path).await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("the answer has a head");
    assert!(head.starts_with("HTTP/1.1 200") && body.ends_with("-moss"), "{answer}");
    for header in [
        "content-type: image/png",
        "cache-control: public, max-age=31536000, immutable",
        "x-content-type-options: nosniff",
        "access-control-allow-origin: *",
        "content-security-policy: default-src 'none'; sandbox",
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    let known = server.get_with(&path, &format!("If-None-Match: \"{hash}\"\r\n")).await;
    assert!(known.starts_with("HTTP/1.1 304") && !known.contains("-moss"), "{known}");
    server.stop().await;
}

#[tokio::test]
async fn only_listed_assets_are_served() {
    let folder = Folder::new("listed");
    folder.write("assets/notes.txt", b"secret");
    let server = folder.serve().await;
    let nobody = "0".repeat(64);
    for path in ["moss.png", "notes.txt", "../world.luau", "%2e%2e%2fworld.luau", &nobody, ""] {
        let answer = server.get(&format!("/assets/{path}")).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_changed_file_is_announced_at_once_and_the_script_keeps_its_state() {
    let folder = Folder::new("changed");
    let server = folder.serve().await;
    let mut ada = server.join("mossy", "name=Ada").await;
    let mut ben = Guest::join(&server, "mossy", "Ben", CarrierKind::WebSocket).await;
    let before = ada.view.assets[MOSS].clone();
    ada.act("count", &[]).await;
    ada.until_view("one", |view| view.screen("calls") == Some(&json!(1.0))).await;
    folder.write(MOSS, &picture(2));
    ada.until_view("the new file", |view| view.assets[MOSS] != before).await;
    ben.until("the new file", |ben| ben.view.assets.get(MOSS).is_some_and(|hash| *hash != before)).await;
    ada.act("count", &[]).await;
    ada.until_view("a variable of the script", |view| view.screen("calls") == Some(&json!(2.0))).await;
    assert_eq!(ada.view.version, 1, "the rules are unchanged");
    for hash in [&before, &ada.view.assets[MOSS]] {
        let answer = server.get(&format!("/assets/{hash}")).await;
        assert!(
            answer.starts_with("HTTP/1.1 200"),
            "a client that knows the hash may still fetch it: {answer}"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_file_breaks_nothing() {
    let folder = Folder::new("wrong");
    let server = folder.serve().await;
    let mut ada = server.join("mossy", "name=Ada").await;
    let before = ada.view.assets.clone();
    folder.write(MOSS, b"<html>");
    let is_refused = |(outcome, _, text): &(Outcome, u64, String)| {
        *outcome == Outcome::Refused && text.starts_with("assets/moss.png: it does not begin as a picture")
    };
    ada.until_view("the fault", |view| view.reports.iter().any(is_refused)).await;
    assert_eq!(ada.view.assets, before);
    ada.act("count", &[]).await;
    ada.until_view("the world", |view| view.screen("calls").is_some()).await;
    let answer = server.get(&format!("/assets/{}", before[MOSS])).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.stop().await;
}
