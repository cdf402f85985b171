//! Tests `nowcast record`, `nowcast serve --record` and `nowcast play`, and reads a record with tshark.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::own;
use crate::serve::end;

/// Returns a new folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

fn nowcast(args: &[&str]) -> Command {
    let mut command = own::program();
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Starts a server that records. Returns it with the address of a room.
fn serve(record: &Path) -> (Child, String) {
    let record = record.to_str().expect("the path is text");
    let mut server = nowcast(&["serve", "--port", "0", "--no-data", "--record", record])
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().rsplit_once(':').unwrap().1.to_owned();
    (server, format!("127.0.0.1:{port}/playground"))
}

fn played(record: &Path, more: &[&str]) -> String {
    let mut args = vec!["play", record.to_str().expect("the path is text"), "--speed", "0"];
    args.extend(more);
    let output = nowcast(&args).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).expect("the lines are text")
}

/// Returns the lines of tshark for a record.
fn shown_by_tshark(record: &Path) -> Vec<String> {
    let dissector = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/wireshark/nowcast.lua");
    let output = Command::new("tshark")
        .arg("-r")
        .arg(record)
        .args(["-X", &format!("lua_script:{dissector}"), "-T", "fields"])
        .args(["-e", "_ws.col.Protocol", "-e", "_ws.col.Info", "-e", "nowcast.malformed"])
        .output();
    let output = output.expect("this test needs tshark: `cargo xtask install-tools` installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("the lines are text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_record_of_a_world_is_played_and_shown_by_tshark() {
    let folder = folder("records");
    let (of_server, of_client) = (folder.join("server.pcapng"), folder.join("client.pcapng"));
    let (mut server, address) = serve(&of_server);
    let output = of_client.to_str().expect("the path is text");
    for carrier in ["webtransport", "websocket"] {
        let file = output.replace("client", carrier);
        let args =
            ["record", &address, "--output", &file, "--join", "Ada", "--for", "3", "--carrier", carrier];
        let recorded = nowcast(&args).status().expect("the program starts");
        assert!(recorded.success(), "{carrier}");
        let lines = played(Path::new(&file), &[]);
        for words in [
            "sent ",
            "HELLO",
            "WELCOME",
            r#"{"Welcome":{"#,
            r#"{"kind":"block","#,
            "movement at step",
            "CLOSE",
        ] {
            assert!(lines.contains(words), "{words} is missing over {carrier}: {lines}");
        }
        let shown = shown_by_tshark(Path::new(&file));
        assert_eq!(shown.len(), lines.lines().count(), "tshark shows each packet");
        assert!(shown.iter().all(|line| line.starts_with("Nowcast\t") && line.ends_with('\t')), "{shown:#?}");
        for words in ["HELLO", "WELCOME", "EVENT", "STATES", "REPLICATION", "CLOSE"] {
            assert!(shown.iter().any(|line| line.contains(words)), "{words}: {shown:#?}");
        }
    }
    let again = nowcast(&["record", &address, "--output", &output.replace("client", "websocket")]).status();
    assert!(!again.expect("the program starts").success(), "a record is not overwritten");
    assert_eq!(end(&mut server, Signal::TERM), Some(0));
    let mode = of_server.metadata().expect("the record exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a record shows what people said, so only its owner can read it");
    let lines = played(&of_server, &["--carrier", "2", "--json"]);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).expect("JSON");
    assert_eq!((&first["kind"], &first["received"]), (&"WebSocket".into(), &true.into()), "{first}");
    assert_eq!(first["contents"][0], "HELLO");
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
}

#[test]
fn a_file_that_is_no_record_is_refused() {
    let folder = folder("no-records");
    let file = folder.join("x.pcapng");
    std::fs::write(&file, "no packets").expect("the file can be written");
    let output = own::program().args(["play", file.to_str().unwrap()]).output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("is not a packet capture"), "{error}");
}
