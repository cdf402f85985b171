//! Tests `nowcast top` with a server of the real program, and with a fake server.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _, pipe};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nowcast::{Channel, Connector};
use nowcast_world_protocol::session::{PROTOCOL, ToWorld};
use serde_json::Value;

use crate::own;

/// Maximum wait for the server, on a machine that is busy with other work.
const PATIENCE: Duration = Duration::from_secs(60);

fn nowcast(args: &[&str]) -> Command {
    let mut command = own::program();
    command.args(args).env_remove("NOWCAST_TOKEN").stdin(Stdio::null());
    command
}

/// A server with the sample worlds, and its address. The server ends when this value is dropped.
struct Server(Child, String);

impl Server {
    fn start() -> Server {
        let mut child = nowcast(&["serve", "--no-data", "--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit_once(':').expect("the server prints its address").1;
        let address = format!("127.0.0.1:{port}");
        Server(child, address)
    }

    /// Joins a room as a player, until the channel is dropped.
    async fn join(&self, room: &str) -> Channel {
        let channel = Connector::new().connect(&format!("nowcast://{}/{room}", self.1)).await.unwrap();
        let join = ToWorld::Join { protocol: PROTOCOL, name: "Ada".into(), network_hz: 20, key: Vec::new() };
        channel.try_event(&nowcast_wire::encode_to_vec(&join)).unwrap();
        channel
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn top(args: &[&str]) -> Output {
    nowcast(&[&["top"], args].concat()).output().expect("the program starts")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_sample_lists_a_room_and_its_players() {
    let server = Server::start();
    let _ada = server.join("playground").await;
    let deadline = Instant::now() + PATIENCE;
    let overview = loop {
        let output = top(&[&server.1, "--once", "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let overview: Value = serde_json::from_slice(&output.stdout).expect("the output is one JSON object");
        if overview["rooms"][0]["clients"] == 1.0 {
            break overview;
        }
        assert!(Instant::now() < deadline, "nobody is shown: {overview}");
    };
    let room = &overview["rooms"][0];
    assert_eq!((room["name"].as_str(), room["world"].as_str()), (Some("playground"), Some("playground")));
    assert!(room["tick_ms_p99"].as_f64().is_some_and(|ms| ms > 0.0), "{room}");
    assert!(room["entities"].as_f64().is_some_and(|entities| entities > 1.0), "{room}");
    assert_eq!(overview["clients"], 1.0);
    let text = top(&[&format!("http://{}/", server.1), "--once"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("rooms 1   clients 1   ") && text.contains("\nplayground  "), "{text}");
}

#[test]
fn a_sample_whose_output_is_lost_fails_with_a_message() {
    let server = Server::start();
    for args in [&["top", &server.1, "--once"][..], &["top", &server.1, "--json"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let full = nowcast(args).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&full.stderr);
        assert_eq!(full.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("standard output accepts no more"), "{args:?}: {said}");
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let closed = nowcast(args).stdout(writer).output().unwrap();
        let said = String::from_utf8_lossy(&closed.stderr);
        assert_eq!(closed.status.code(), Some(128 + 13), "as after SIGPIPE: {args:?}: {said}");
        assert!(said.is_empty(), "{args:?}: {said}");
    }
}

#[test]
fn a_hostile_metrics_page_cannot_control_the_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4_096]);
            let page = "nowcast_room_clients{room=\"\u{1b}[2J\u{202e}\\nx\",world=\"w\"} 1e300\n\
                        nowcast_room_tick_seconds_bucket{le=\"NaN\",room=\"\u{1b}[2J\u{202e}\\nx\"} NaN\n\
                        process_cpu_seconds_total inf\n";
            let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len());
        }
    });
    for args in [&[address.as_str(), "--once"][..], &[&address, "--once", "--json"]] {
        let output = top(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).unwrap();
        let is_harmful = |sign: char| (sign.is_control() && sign != '\n') || sign == '\u{202e}';
        assert!(!said.contains(is_harmful), "{said:?}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_named_with_a_cure() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let output = top(&[&nobody, "--once"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains(&nobody) && said.contains("`nowcast serve`"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// The program runs in a terminal that `script` creates.
#[cfg(target_os = "linux")]
#[test]
fn the_live_view_ends_with_q_and_restores_the_terminal() {
    let server = Server::start();
    let line = format!("stty -a; {} top {} --interval 0.2; echo ended $?; stty -a", own::PROGRAM, server.1);
    let terminal = own::isolated("script")
        .args(["--quiet", "--flush", "--command", &line, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut terminal =
        terminal.expect("this test needs `script`: install it (Debian: `apt-get install bsdutils`)");
    let mut output = BufReader::new(terminal.stdout.take().unwrap());
    let mut shown = String::new();
    let mut read_until = |what: &str| {
        let mut piece = Vec::new();
        while !shown.contains(what) {
            piece.clear();
            assert!(output.read_until(b'\n', &mut piece).unwrap() > 0, "{what} does not appear: {shown}");
            shown.push_str(&String::from_utf8_lossy(&piece));
        }
        shown.clone()
    };
    read_until("No room is open.");
    terminal.stdin.as_mut().unwrap().write_all(b"xq").unwrap();
    let shown = read_until("ended 0");
    assert!(shown.contains("\x1b[?1049h") && shown.contains("\x1b[?1049l"), "{shown}");
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let modes = |text: &str| {
        text.split_whitespace().filter(|word| word.ends_with("icanon")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(modes(&shown), ["icanon"]);
    assert_eq!(modes(&rest), ["icanon"]);
    terminal.wait().unwrap();
}
