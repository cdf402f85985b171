//! Tests `nowcast watch` in a world of the real program.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::own;

fn nowcast(args: &[&str]) -> Command {
    let mut command = own::program();
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

#[test]
fn watching_a_world_as_a_client_prints_its_messages() {
    let mut server = nowcast(&["serve", "--port", "0"]).spawn().expect("the program starts");
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().rsplit_once(':').unwrap().1.to_owned();
    let address = format!("127.0.0.1:{port}/playground");
    // The command ends by itself if the expected output does not appear.
    let args = ["watch", &address, "--join", "Ada", "--lines", "--for", "60"];
    let mut watcher = nowcast(&args).spawn().expect("the program starts");
    let lines = BufReader::new(watcher.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut awaited = vec![
        vec!["event", r#"FromWorld: {"Welcome":{"protocol":8,"#, r#""world":"playground""#],
        vec!["event", r#"FromWorld: {"Define":"#, ", block, body ", "action grab, arguments (block: u32?"],
        vec!["state 42949672", r#"Player: {"name":"Ada","avatar":"#],
        vec!["state ", r#"Entity: {"kind":"block","#, r#""attributes":{"color":"#],
        vec!["state ", r#"Entity: {"kind":"person","#, r#""holding":null"#],
        vec!["replication on lane 2", "movement at step ", "controls 0"],
    ];
    for line in lines {
        awaited.retain(|parts| !parts.iter().all(|part| line.contains(part)));
        if awaited.is_empty() {
            break;
        }
    }
    for child in [&mut watcher, &mut server] {
        let _ = child.kill();
        let _ = child.wait();
    }
    assert!(awaited.is_empty(), "never seen: {awaited:?}");
}
