//! Tests output whose reader has left, and output that contains text from a hostile peer.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _, pipe};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use nowcast::{ListenConfig, Listener};
use nowcast_session::CloseCode;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::own;

fn nowcast(args: &[&str]) -> Command {
    let mut command = own::program();
    command.args(args).env_remove("NOWCAST_TOKEN").env_remove("NOWCAST_TOKEN_KEY").stdin(Stdio::null());
    command
}

/// A service in another process that answers commands, and its address. The service ends when this value is dropped.
struct Service(Child, String);

impl Service {
    fn start(name: &str) -> Service {
        let mut child = nowcast(&["listen", name]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines.next().unwrap().unwrap();
        thread::spawn(move || lines.for_each(drop));
        let port = said.split("port ").nth(1).unwrap().split('.').next().unwrap();
        let address = format!("127.0.0.1:{port}/{name}");
        Service(child, address)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn fresh_file(ending: &str) -> PathBuf {
    std::env::temp_dir().join(format!("nowcast-output-{}-{ending}", std::process::id()))
}

/// Runs the command twice: with an output that is always full, and with an output whose reader has left.
fn loses_its_output(args: &[&str]) {
    let full = nowcast(args).stdout(File::options().write(true).open("/dev/full").unwrap()).output().unwrap();
    let said = String::from_utf8_lossy(&full.stderr);
    assert_eq!(full.status.code(), Some(1), "{args:?}: {said}");
    assert!(
        said.contains("standard output accepts no more") && said.contains("No space left"),
        "{args:?}: {said}"
    );
    assert!(!said.contains("panicked"), "{args:?}: {said}");

    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let closed = nowcast(args).stdout(writer).output().unwrap();
    let said = String::from_utf8_lossy(&closed.stderr);
    assert_eq!(closed.status.code(), Some(128 + 13), "as after SIGPIPE: {args:?}: {said}");
    assert!(!said.contains("panicked") && !said.contains("error"), "{args:?}: {said}");
}

#[test]
fn a_command_whose_output_is_lost_fails_with_a_message() {
    let key = fresh_file("key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").unwrap();
    let schema = fresh_file("types.schema");
    std::fs::write(&schema, "struct Chat { text: text }").unwrap();
    loses_its_output(&["--help"]);
    loses_its_output(&["token", "--key-file", key.to_str().unwrap()]);
    loses_its_output(&["gen", schema.to_str().unwrap()]);
    loses_its_output(&["names"]);
    loses_its_output(&["names", "--json"]);
    loses_its_output(&["names", "serve", "--port", "0"]);
    loses_its_output(&["listen", "heard-by-nobody"]);
    std::fs::remove_file(key).unwrap();
    std::fs::remove_file(schema).unwrap();
}

#[test]
fn a_save_that_is_not_read_to_its_end_is_an_error() {
    let (json, save) = (fresh_file("values.json"), fresh_file("values.ncs"));
    let rows: Vec<String> = (0..20_000).map(|row| format!("{{\"row\":{row}}}")).collect();
    std::fs::write(&json, format!("[{}]", rows.join(","))).unwrap();
    let [json, save] = [json.to_str().unwrap(), save.to_str().unwrap()];
    assert!(nowcast(&["save", "pack", json, save]).output().unwrap().status.success());
    loses_its_output(&["save", "unpack", save]);
    loses_its_output(&["save", "inspect", save]);
    std::fs::remove_file(json).unwrap();
    std::fs::remove_file(save).unwrap();
}

#[test]
fn a_command_on_a_channel_whose_output_is_lost_fails_with_a_message() {
    let service = Service::start("answers");
    let address = service.1.as_str();
    loses_its_output(&["ping", address, "--count", "2"]);
    loses_its_output(&["ping", address, "--count", "2", "--json"]);
    loses_its_output(&["send", address, "--command", "are you there?"]);
}

#[tokio::test]
async fn watch_ends_with_an_error_when_its_lines_are_lost() {
    let listener = Listener::bind(ListenConfig::loopback(0)).await.unwrap();
    let mut service = listener.advertise("talks").await.unwrap();
    let address = format!("127.0.0.1:{}/talks", listener.port());
    tokio::spawn(async move {
        loop {
            let channel = service.accept().await.unwrap();
            channel.try_event(b"hello").unwrap();
            tokio::spawn(async move { channel.closed().await });
        }
    });
    let watching = move || {
        loses_its_output(&["watch", &address]);
        loses_its_output(&["watch", &address, "--json"]);
    };
    tokio::task::spawn_blocking(watching).await.unwrap();
}

/// Checks that the output contains no character that moves a cursor, changes the direction of writing, or is invisible.
fn is_harmless(output: &Output) -> String {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8(said).unwrap();
    let harmful = |character: char| (character.is_control() && character != '\n') || character == '\u{202e}';
    assert!(!said.contains(harmful), "{said:?}");
    said
}

#[test]
fn a_refusal_cannot_control_the_terminal() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("{}/evil", server.local_addr().unwrap());
    thread::spawn(move || {
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4_096]);
            let body = r#"{"error":"\u001b[2J","cause":"\u001b]0;owned\u0007\u009b31m","cure":"\u202etxt.exe\nerror: none"}"#;
            let length = body.len();
            let _ = write!(stream, "HTTP/1.1 401 Unauthorized\r\ncontent-length: {length}\r\n\r\n{body}");
        }
    });
    for args in
        [&["ping", &address][..], &["send", &address, "--event", "x"], &["watch", &address, "--lines"]]
    {
        let output = nowcast(args).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = is_harmless(&output);
        assert!(said.contains("\\u{1b}]0;owned\\u{7}") && said.contains("\\u{202e}txt.exe"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[tokio::test]
async fn text_from_a_service_cannot_control_the_terminal() {
    let listener = Listener::bind(ListenConfig::loopback(0)).await.unwrap();
    let mut service = listener.advertise("evil").await.unwrap();
    let address = format!("127.0.0.1:{}/evil", listener.port());
    tokio::spawn(async move {
        loop {
            let channel = service.accept().await.unwrap();
            channel.try_event("a\u{202e}b".as_bytes()).unwrap();
            channel.drained().await.unwrap();
            channel.leave(64, "\u{1b}[31mred\u{202e}").await;
        }
    });
    for flag in ["--lines", "--json"] {
        let address = address.clone();
        let watching = move || nowcast(&["watch", &address, flag]).output().unwrap();
        let said = is_harmless(&tokio::task::spawn_blocking(watching).await.unwrap());
        assert!(said.contains("code 64: \\u{1b}[31mred"), "{said}");
        let shown = if flag == "--json" { "a\\u202eb" } else { "a\\u{202e}b" };
        assert!(said.contains(shown), "{said}");
    }
}

#[test]
fn a_listener_escapes_characters_that_change_the_writing_direction() {
    let mut child = nowcast(&["listen", "careful"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.next().unwrap();
    let port = said.split("port ").nth(1).unwrap().split('.').next().unwrap().to_owned();
    let sent =
        nowcast(&["send", &format!("127.0.0.1:{port}/careful"), "--event", "tip: \u{202e}exe.gpj"]).output();
    assert!(sent.unwrap().status.success());
    let heard = lines.find(|line| line.contains("event"));
    assert_eq!(heard.as_deref(), Some("[1] event: tip: \\u{202e}exe.gpj"));
    let _ = child.kill();
    let _ = child.wait();
}

/// The messages that a greeting service received, and the ends of its channels.
struct Heard {
    messages: UnboundedReceiver<()>,
    endings: UnboundedReceiver<CloseCode>,
    address: String,
    _listener: Listener,
}

impl Heard {
    async fn by_a_service(name: &str) -> Heard {
        let listener = Listener::bind(ListenConfig::loopback(0)).await.unwrap();
        let mut service = listener.advertise(name).await.unwrap();
        let address = format!("127.0.0.1:{}/{name}", listener.port());
        let (message, messages) = unbounded_channel();
        let (ending, endings) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok(channel) = service.accept().await {
                let (message, ending) = (message.clone(), ending.clone());
                tokio::spawn(async move {
                    channel.try_event(b"hello").unwrap();
                    while channel.receive().await.is_ok() {
                        message.send(()).unwrap();
                    }
                    ending.send(channel.closed().await.code).unwrap();
                });
            }
        });
        Heard { messages, endings, address, _listener: listener }
    }

    async fn message(&mut self) {
        soon(self.messages.recv()).await.unwrap();
    }

    /// Waits for the end of the next channel, and returns its code.
    async fn ending(&mut self) -> CloseCode {
        soon(self.endings.recv()).await.unwrap()
    }
}

/// Limits the wait to much less than the resume timeout of a session.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("the work ends within the limit")
}

#[tokio::test]
async fn a_sender_that_ends_announces_its_end_to_the_service() {
    for carrier in ["webtransport", "websocket"] {
        let mut heard = Heard::by_a_service("left").await;
        for _ in 0..10 {
            let args = ["send", &heard.address, "--event", "hi", "--carrier", carrier].map(str::to_owned);
            let sending = move || nowcast(&args.each_ref().map(String::as_str)).output().unwrap();
            assert!(tokio::task::spawn_blocking(sending).await.unwrap().status.success());
            assert_eq!(heard.ending().await, CloseCode::DONE, "{carrier}");
        }
    }
}

#[tokio::test]
async fn a_sender_that_is_interrupted_announces_its_end_to_the_service() {
    use rustix::process::{Pid, Signal, kill_process};
    let mut heard = Heard::by_a_service("interrupted").await;
    let commands: [(&[&str], i32); 3] = [
        (&["ping", "--interval", "20"], 0),
        (&["watch", "--lines", "--for", "600"], 0),
        // The service does not answer commands, so the command waits.
        (&["send", "--command", "?", "--timeout", "600"], 130),
    ];
    for (command, code) in commands {
        let args = [command, &[heard.address.as_str()]].concat();
        let mut child = nowcast(&args).stdout(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        if command[0] == "send" {
            heard.message().await;
        } else {
            // Waits for the first answer (ping), or for the greeting (watch).
            let before = usize::from(command[0] == "ping");
            let heard = tokio::task::spawn_blocking(move || lines.nth(before).map(|_| lines).unwrap());
            lines = heard.await.unwrap();
        }
        kill_process(pid, Signal::INT).unwrap();
        let ended = tokio::task::spawn_blocking(move || {
            lines.for_each(drop);
            child.wait().unwrap()
        });
        assert_eq!(soon(ended).await.unwrap().code(), Some(code), "{command:?}");
        assert_eq!(heard.ending().await, CloseCode::DONE, "{command:?}");
    }
}
