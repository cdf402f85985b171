//! Tests the commands for channels as a new user tries them: the real program, in several processes.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nowcast::blocking::{advertise, wait_until};

use crate::own;

/// Maximum wait for the next line.
const DEADLINE: Duration = Duration::from_secs(60);

/// A program that runs until the test ends, and its output.
struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Running {
    fn start(args: &[&str]) -> Running {
        let mut child = nowcast(args).stdout(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            printed.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
        });
        Running { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.recv_timeout(DEADLINE).expect("a further line")
    }

    /// Returns the lines up to the first one that contains `part`.
    fn until(&mut self, part: &str) -> String {
        loop {
            let line = self.line();
            if line.contains(part) {
                return line;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn nowcast(args: &[&str]) -> Command {
    let mut command = own::program();
    command.args(args).env_remove("NOWCAST_TOKEN").env_remove("NOWCAST_TOKEN_KEY");
    command
}

fn run(args: &[&str]) -> Output {
    nowcast(args).output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap().trim_end().to_owned()
}

fn complaint(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns the path of a file that does not exist yet and belongs to this test.
fn fresh_file(name: &str) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    file
}

/// Starts a service, and returns it with its address.
fn listen(name: &str, more: &[&str]) -> (Running, String) {
    let mut service = Running::start(&[&["listen", name], more].concat());
    let said = service.until("listens on port");
    let port = said.split("port ").nth(1).unwrap().split('.').next().unwrap();
    (service, format!("127.0.0.1:{port}/{name}"))
}

#[test]
fn a_command_is_received_and_answered_over_either_carrier() {
    for carrier in ["webtransport", "websocket"] {
        let (mut service, address) = listen("ears", &[]);
        let with = ["--carrier", carrier];
        printed(&run(&[&["send", &address, "--state", "7", "to the left"], &with[..]].concat()));
        assert!(service.until("joined").to_lowercase().contains(carrier));
        assert_eq!(service.until("state"), "[1] state 7: to the left");
        printed(&run(&[&["send", &address, "--event", "0x00ff"], &with[..]].concat()));
        assert_eq!(service.until("event"), "[2] event: 0x00ff");
        let reply = run(&[&["send", &address, "--command", "are you there?"], &with[..]].concat());
        assert_eq!(printed(&reply), "are you there?");
    }
}

#[test]
fn ping_prints_round_trips_and_a_summary() {
    let (_service, address) = listen("pinged", &[]);
    for carrier in ["webtransport", "websocket"] {
        let said =
            printed(&run(&["ping", &address, "--count", "5", "--interval", "20", "--carrier", carrier]));
        assert_eq!(said.matches("time=").count(), 5, "{said}");
        assert!(said.contains("5 sent, 5 answered, 0 % lost") && said.contains("jitter"), "{said}");
    }
    let said = printed(&run(&["ping", &address, "--count", "2", "--interval", "20", "--json"]));
    let summary = said.lines().last().unwrap();
    assert!(summary.contains("\"received\":2") && summary.contains("\"rtt_avg_ms\""), "{said}");
}

#[test]
fn an_unreachable_service_is_named_with_a_cure() {
    let said = complaint(&run(&["ping", "127.0.0.1:9/nobody", "--count", "1"]));
    assert!(said.contains("127.0.0.1:9") && said.contains("start the service"), "{said}");
    let said = complaint(&run(&["send", "a/b/c", "--event", "x"]));
    assert!(said.contains("HOST:PORT/NAME"), "{said}");
    let said = complaint(&run(&["send", "nobody-has-this-name", "--state", "0", "x"]));
    assert!(said.contains("at least 1"), "{said}");
}

#[test]
fn a_client_without_a_token_is_refused() {
    let file = fresh_file("key");
    let path = file.to_str().unwrap();
    printed(&run(&["token", "--make-key", path]));
    let again = complaint(&run(&["token", "--make-key", path]));
    assert!(again.contains("does not exist yet"), "a key in use is not overwritten: {again}");
    let (mut service, address) = listen("closed", &["--key-file", path]);
    let said = complaint(&run(&["send", &address, "--event", "hello"]));
    assert!(said.contains("unauthorised") && said.contains("token"), "{said}");
    let token = printed(&run(&["token", "--key-file", path, "--name", "Ada", "--role", "guide", "--once"]));
    printed(&run(&["send", &address, "--token", &token, "--event", "hello"]));
    assert!(service.until("joined").ends_with(", Ada (guide)"));
    let said = complaint(&run(&["send", &address, "--token", &token, "--event", "again"]));
    assert!(said.contains("used"), "{said}");
    let elsewhere = printed(&run(&["token", "--key-file", path, "--room", "plaza"]));
    let said = complaint(&run(&["send", &address, "--token", &elsewhere, "--event", "hello"]));
    assert!(said.contains("another room"), "{said}");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn watch_prints_a_line_for_each_message_without_a_terminal() {
    let name = format!("watched-{}", std::process::id());
    let mut service = advertise(&name).unwrap();
    let mut watching = Running::start(&["watch", &name]);
    let channel = wait_until(Some(Instant::now() + DEADLINE), service.accept()).unwrap().unwrap();
    channel.try_state(3, &[7]).unwrap();
    channel.try_event(b"hi").unwrap();
    assert_eq!(watching.line(), "state 3: 0x07");
    assert_eq!(watching.line(), "event: hi");
}

#[test]
fn a_name_server_lists_advertised_names() {
    let mut server = Running::start(&["names", "serve", "--port", "0", "--host", "127.0.0.1"]);
    let said = server.until("Names are served at ");
    let address = said.trim_start_matches("Names are served at ").trim_end_matches('.').to_owned();
    assert_eq!(printed(&run(&["names", &address])), format!("The name server of {address} knows no name."));
    let said = complaint(&run(&["names", "127.0.0.1:9"]));
    assert!(said.contains("nowcast names serve"), "{said}");
}
