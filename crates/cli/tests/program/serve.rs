//! Tests `nowcast serve` as a user runs it: its output, its failures, and its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::own;

fn nowcast(arguments: &[&str]) -> Command {
    let mut command = own::program();
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command that is expected to fail, and returns its exit code and its single line of output.
fn mistake(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = nowcast(arguments).output().expect("the program starts");
    let said = String::from_utf8(stderr).expect("the output is UTF-8");
    assert!(stdout.is_empty(), "nothing is printed but the mistake");
    assert_eq!(said.lines().count(), 1, "one line: {said}");
    (status.code(), said)
}

/// Starts a server on a free port, and returns the server with its port. The logs of the server go to `logs`.
fn start_with(logs: Stdio) -> (Child, u16) {
    start_saying(logs, "info")
}

/// Like [`start_with`], with this value of RUST_LOG.
fn start_saying(logs: Stdio, what: &str) -> (Child, u16) {
    // This test needs a burst of joins, so the limits are raised.
    let mut command =
        nowcast(&["serve", "--no-data", "--port", "0", "--connections-per-address-max", "8192"]);
    let mut server = command.env("RUST_LOG", what).stderr(logs).spawn().expect("the program starts");
    let port = port_of(&mut server);
    (server, port)
}

/// Reads the port from a server's output. If the server does not start, kills it and panics with its output.
pub(crate) fn port_of(server: &mut Child) -> u16 {
    let mut stdout = server.stdout.take().expect("the standard output is piped");
    let (sender, printed) = std::sync::mpsc::channel();
    // A server whose logs are stuck neither prints its address nor ends, so another thread reads.
    std::thread::spawn(move || {
        let mut line = Vec::new();
        let mut byte = [0];
        while stdout.read(&mut byte).is_ok_and(|read| read == 1) && byte != *b"\n" {
            line.push(byte[0]);
        }
        // The test may have given up.
        let _ = sender.send((stdout, line));
    });
    let line = match printed.recv_timeout(PATIENCE) {
        Ok((stdout, line)) => {
            server.stdout = Some(stdout);
            String::from_utf8(line).expect("the output is UTF-8")
        }
        Err(_) => format!("nothing within {PATIENCE:?}"),
    };
    let port = line.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.unwrap_or_else(|| {
        let _ = server.kill();
        let mut logs = String::new();
        if let Some(mut stderr) = server.stderr.take() {
            let _ = stderr.read_to_string(&mut logs);
        }
        panic!("the server printed no port, but {line:?}, and these logs:\n{logs}");
    })
}

#[test]
fn bots_play_at_each_printed_address_of_a_room() {
    let mut server = nowcast(&["serve", "--no-data", "--port", "0"]).spawn().expect("the program starts");
    let port = port_of(&mut server);
    let reports: Vec<Output> =
        ["http://localhost:PORT/r/plaza", "ws://localhost:PORT/ws/plaza", "nowcast://localhost:PORT/plaza"]
            .iter()
            .map(|address| {
                let address = address.replace("PORT", &port.to_string());
                nowcast(&["bots", &address, "--count", "2", "--seconds", "1"])
                    .output()
                    .expect("the program starts")
            })
            .collect();
    let _ = server.kill();
    let _ = server.wait();
    for Output { status, stdout, stderr } in reports {
        let said = String::from_utf8_lossy(&stdout);
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        assert!(said.starts_with("2 of 2 bots joined") && !said.contains(" 0.0 rounds"), "{said}");
    }
}

#[test]
fn misread_rust_log_is_named_in_a_warning() {
    let (mut server, _) = start_saying(Stdio::piped(), "nowcast=verbose");
    let logs = BufReader::new(server.stderr.take().expect("the standard error is piped"));
    let warned = logs.lines().map_while(Result::ok).find(|line| line.contains("RUST_LOG"));
    let _ = server.kill();
    let _ = server.wait();
    assert!(warned.is_some_and(|line| line.contains("nowcast=verbose") && line.contains("WARN")));
}

#[test]
fn second_server_on_a_data_folder_is_refused_with_the_flags_that_help() {
    let folder = Folder::new("second-server");
    let arguments = ["serve", "--port", "0", "--data", folder.text()];
    let mut first = nowcast(&arguments).stderr(Stdio::null()).spawn().expect("the program starts");
    port_of(&mut first);
    let (code, said) = mistake(&arguments);
    let _ = first.kill();
    let _ = first.wait();
    assert_eq!(code, Some(1));
    let first_pid = format!("(pid {})", first.id());
    for part in [first_pid.as_str(), folder.text(), "--data DIR", "--no-data"] {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
}

#[test]
fn mistakes_are_named_in_one_line_with_a_cure() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, said) = mistake(&["serve", "--no-data", "--port", &port]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains(&format!("port {port} on 127.0.0.1 is taken")) && said.contains("such as --port "),
        "{said}"
    );

    let (code, said) = mistake(&["serve", "--prot", "80"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("'--prot'") && said.contains("'--port'"), "{said}");

    let (code, said) = mistake(&["serve", "--seed", "-1"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("'-1' for '--seed <SEED>': it is not a whole number from 0 on"), "{said}");

    let (code, said) = mistake(&["serve", "--tls-cert", "chain.pem"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("were not provided: --tls-key <FILE>"), "{said}");

    let (code, said) = mistake(&["serve", "--host", ""]);
    assert_eq!(code, Some(1));
    assert!(said.contains("--host '' is neither"), "{said}");

    let (code, said) = mistake(&["token", "--make-key", "no/such/folder/key"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("make its folder first"), "{said}");

    let (code, said) = mistake(&["serve", "--network-hz", "400"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("400 is not in 5..=60"), "{said}");

    let (code, said) = mistake(&["serve", "--host", "no.such.host.invalid"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no.such.host.invalid") && said.contains("--host 127.0.0.1"), "{said}");

    let (code, said) = mistake(&["serve", "--host", "0.0.0.0", "--port", "0"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("other machines") && said.contains("--token-key-file FILE, or --anonymous"),
        "{said}"
    );

    let (code, said) = mistake(&["serve", "--port", "0", "--token-key-file", "no/such/file"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no/such/file cannot be read"), "{said}");

    let (code, said) = mistake(&["serve", "--host", ""]);
    assert_eq!(code, Some(1));
    assert!(said.contains("--host '' is neither an address"), "{said}");

    let (code, said) = mistake(&["serve", "--tls-cert", "chain.pem"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("not provided: --tls-key <FILE>"), "{said}");

    let folder = Folder::new("certificate");
    let bad = folder.0.join("bad.pem");
    std::fs::write(&bad, "-----BEGIN CERTIFICATE-----\n").expect("the file can be written");
    let bad = bad.to_str().expect("the path is UTF-8");
    let data = folder.0.join("data");
    let data = data.to_str().expect("the path is UTF-8");
    let (code, said) =
        mistake(&["serve", "--data", data, "--port", "0", "--tls-cert", bad, "--tls-key", bad]);
    assert_eq!(code, Some(1));
    assert!(said.contains("bad.pem") && said.contains("give the paths of PEM files"), "{said}");

    for origin in ["*", "example.org", "https://example.org/page"] {
        let (code, said) = mistake(&["serve", "--port", "0", "--allow-origin", origin]);
        assert_eq!(code, Some(2));
        assert!(said.contains("is not an origin: write SCHEME://HOST"), "{said}");
    }
    let (code, said) = mistake(&["serve", "--proxy", "localhost"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("'localhost' is not an address"), "{said}");

    let (code, said) = mistake(&["serve", "--players-max", "0", "--port", "0"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("a limit of 0 players would admit no client"), "{said}");
    let (code, said) = mistake(&["serve", "--players-max", "4097", "--port", "0"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("a limit of 4097 players is above 4096"), "{said}");
}

/// A folder that is removed when this value is dropped.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("nowcast-serve-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder can be written");
        Self(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("the path is UTF-8")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The time limit of the shutdown, plus one second for starting and stopping a process on a busy machine.
#[cfg(target_os = "linux")]
const SHUTDOWN_MAX: Duration = Duration::from_secs(4);

#[cfg(target_os = "linux")]
#[test]
fn a_server_whose_reader_left_after_one_line_continues() {
    use rustix::process::Signal;
    let mut server = nowcast(&["serve", "--no-data", "--port", "0"]).spawn().expect("the program starts");
    let port = port_of(&mut server);
    drop(server.stdout.take());
    assert!(get(port, "/healthz").ends_with("ok\n"));
    assert_eq!(end(&mut server, Signal::TERM), Some(0));

    // The pipe is closed before anything is printed.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("the listener has an address").port();
    drop(taken);
    let mut command = nowcast(&["serve", "--no-data", "--port", &port.to_string()]);
    let (reader, writer) = std::io::pipe().expect("a pipe can be created");
    drop(reader);
    let mut server = command.stdout(writer).spawn().expect("the program starts");
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(
            server.try_wait().expect("the status of the process can be read").is_none(),
            "the server ended"
        );
        assert!(Instant::now() < deadline, "the server does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(get(port, "/healthz").ends_with("ok\n"));
    assert_eq!(end(&mut server, Signal::TERM), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_beyond_its_file_size_limit_reports_it_and_ends_in_time() {
    use rustix::process::Signal;
    let folder = Folder::new("file-size");
    // The limit is 100 KiB. The database fits, but its log soon does not.
    let mut server = own::isolated("sh")
        .args(["-c", "ulimit -f 100; exec \"$0\" serve --port 0 --data \"$1\""])
        .args([own::PROGRAM, folder.text()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell is installed");
    let port = port_of(&mut server);
    let mut client = join(port, "plaza");
    let deadline = Instant::now() + PATIENCE;
    while !get(port, "/healthz").contains("worlds are not stored") {
        walk(&mut client);
        assert!(Instant::now() < deadline, "{}", get(port, "/healthz"));
        std::thread::sleep(Duration::from_millis(20));
    }
    let begun = Instant::now();
    assert_eq!(end(&mut server, Signal::TERM), Some(0));
    assert!(begun.elapsed() < SHUTDOWN_MAX, "{:?}", begun.elapsed());
}

#[cfg(target_os = "linux")]
#[test]
fn server_with_a_damaged_table_of_marks_ends_in_time() {
    use rustix::process::Signal;
    let folder = Folder::new("marks");
    let serve = || {
        let command = &mut nowcast(&["serve", "--port", "0", "--data", folder.text()]);
        let mut server = command.stderr(Stdio::null()).spawn().expect("the program starts");
        let port = port_of(&mut server);
        (server, port)
    };
    let (mut server, _) = serve();
    assert_eq!(end(&mut server, Signal::TERM), Some(0));
    damage_marks(&folder.0.join("worlds.db"));
    let (mut server, port) = serve();
    let _client = join(port, "plaza");
    assert!(get(port, "/healthz").starts_with("HTTP/1.1 200"));
    let begun = Instant::now();
    assert_eq!(end(&mut server, Signal::TERM), Some(0));
    assert!(begun.elapsed() < SHUTDOWN_MAX, "{:?}", begun.elapsed());
}

/// Overwrites the root pages of the table `marks` and of its index: all pages that belong to no other table.
#[cfg(target_os = "linux")]
fn damage_marks(database: &std::path::Path) {
    let mut bytes = std::fs::read(database).expect("the store created the file");
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    // A new database has the schema and a root page for each table and index. `marks` and its index are the last ones. All pages
    // are complete.
    let from = bytes.len() - 2 * page;
    bytes[from..].fill(0xa5);
    std::fs::write(database, bytes).expect("the file can be written");
}

#[cfg(target_os = "linux")]
#[test]
fn a_termination_signal_ends_it_with_code_0() {
    use rustix::process::Signal;
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        // These tests may run under `nohup`, whose programs outlive the terminal.
        let mut server = own::isolated("env")
            .args(["--default-signal=HUP", own::PROGRAM, "serve", "--no-data", "--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("`env` is installed");
        let port = port_of(&mut server);
        let answer = get(port, "/healthz");
        assert!(answer.ends_with("ok\n"), "{answer}");
        assert_eq!(end(&mut server, signal), Some(0));
    }
}

#[test]
fn announced_udp_port_is_named_by_the_descriptor_and_allowed_by_the_policy_of_the_page() {
    let arguments = ["serve", "--no-data", "--port", "0", "--announced-udp-port", "9"];
    let mut server = nowcast(&arguments).stderr(Stdio::null()).spawn().expect("the program starts");
    let port = port_of(&mut server);
    let (offer, page) = (get(port, "/nowcast/plaza"), get(port, "/"));
    let _ = server.kill();
    let _ = server.wait();
    assert!(offer.contains(r#""webtransport":{"port":9,"#), "{offer}");
    let policy = "connect-src 'self' https://localhost:9;";
    assert!(page.contains(policy), "{}", page.split("\r\n\r\n").next().unwrap_or_default());

    let (code, said) = mistake(&["serve", "--announced-udp-port", "0"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("0 is not in 1..=65535"), "{said}");
    let (code, said) = mistake(&["serve", "--announced-udp-port", "9", "--no-webtransport"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--no-webtransport"), "{said}");
}

#[test]
fn a_server_whose_udp_port_is_taken_serves_websocket_and_says_so_once() {
    // The port is free for TCP as soon as the listener is closed.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("the listener has an address").port();
    let _taken = UdpSocket::bind(("127.0.0.1", port)).expect("the port is free for UDP");
    drop(listener);
    let mut server = nowcast(&["serve", "--no-data", "--host", "127.0.0.1", "--port", &port.to_string()])
        .spawn()
        .expect("the program starts");
    assert_eq!(port_of(&mut server), port);
    let offer = get(port, "/nowcast/playground");
    let bots = nowcast(&[
        "bots",
        &format!("nowcast://localhost:{port}/playground"),
        "--count",
        "1",
        "--seconds",
        "1",
    ])
    .output()
    .expect("the program starts");
    let _ = server.kill();
    let said = String::from_utf8(server.wait_with_output().expect("the server ends").stderr);
    let said = said.expect("the output is UTF-8");
    assert!(offer.contains(r#""websocket":true"#) && !offer.contains("webtransport"), "{offer}");
    assert!(bots.status.success(), "{bots:?}");
    let causes: Vec<&str> = said.lines().filter(|line| line.contains("WebTransport")).collect();
    assert_eq!(causes.len(), 1, "{said}");
    assert!(causes[0].contains(&format!("cannot open UDP port {port}")), "{said}");
    assert!(causes[0].contains("Free the port or choose another"), "{said}");
}

#[test]
fn addresses_with_a_base_path_are_printed_and_reach_the_server() {
    let arguments = ["serve", "--no-data", "--port", "0", "--base-path", "game"];
    let mut server = nowcast(&arguments).spawn().expect("the program starts");
    let mut printed = String::new();
    let stdout = server.stdout.as_mut().expect("the standard output is piped");
    BufReader::new(stdout).read_line(&mut printed).expect("the server prints its address");
    let address = printed.trim().strip_prefix("Nowcast is at ").expect("the first line has the address");
    assert!(address.ends_with("/game"), "{printed}");
    let room = format!("{}/playground", address.replacen("http", "nowcast", 1));
    let pings: Vec<Output> = ["webtransport", "websocket"]
        .map(|carrier| nowcast(&["ping", &room, "--count", "1", "--carrier", carrier]).output())
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("the program starts");
    let _ = server.kill();
    let _ = server.wait();
    for ping in pings {
        assert!(ping.status.success(), "{ping:?}");
    }
    let (code, said) = mistake(&["serve", "--base-path", "/a b/"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("'a b' is no part of a path"), "{said}");
}

/// Maximum wait on a machine that is busy with other work.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn open(port: u16, head: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("the timeout can be set");
    let request = format!("GET {head}\r\nHost: localhost:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the server reads the request");
    stream
}

pub(crate) fn get(port: u16, path: &str) -> String {
    let mut answer = String::new();
    let mut stream = open(port, &format!("{path} HTTP/1.1\r\nConnection: close"));
    stream.read_to_string(&mut answer).expect("the server answers");
    answer
}

/// Joins by the plain protocol, and waits for the welcome.
pub(crate) fn join(port: u16, room: &str) -> TcpStream {
    let mut stream = upgrade(port, room);
    let (mut read, mut piece) = (Vec::new(), [0; 4_096]);
    while !read.windows(9).any(|window| window == b"\"welcome\"") {
        let length = stream.read(&mut piece).expect("the welcome arrives");
        assert!(length > 0, "closed: {}", String::from_utf8_lossy(&read));
        read.extend(&piece[..length]);
    }
    stream
}

/// Requests to join by the plain protocol, but reads no answer.
pub(crate) fn upgrade(port: u16, room: &str) -> TcpStream {
    let upgrade = "Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";
    open(port, &format!("/ws/{room} HTTP/1.1\r\n{upgrade}"))
}

/// Sends input, so that the world is stored and its journal grows.
#[cfg(target_os = "linux")]
fn walk(client: &mut TcpStream) {
    let text = r#"{"type":"input","forward":1,"right":0,"yaw":0,"jump":false,"run":true}"#;
    // A text frame with a mask of zeros (RFC 6455, section 5.2).
    let mut frame = vec![0x81, 0x80 | u8::try_from(text.len()).expect("the text is short"), 0, 0, 0, 0];
    frame.extend(text.bytes());
    client.write_all(&frame).expect("the server reads");
}

/// Returns one figure of `/metrics`.
fn metric(port: u16, name: &str) -> u64 {
    let page = get(port, "/metrics");
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0, |value| value.parse().expect("the value is a number"))
}

/// Sends the program this signal. Returns its exit code.
#[cfg(unix)]
pub(crate) fn end(server: &mut Child, signal: rustix::process::Signal) -> Option<i32> {
    let pid = rustix::process::Pid::from_raw(server.id().cast_signed()).expect("a child has an id");
    rustix::process::kill_process(pid, signal).expect("the child process runs");
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = server.try_wait().expect("the status of the process can be read") {
            return status.code();
        }
        if Instant::now() >= deadline {
            server.kill().expect("the child process runs");
            panic!("the server does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_for_the_logs_drops_lines_and_affects_no_room() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("the device exists");
    let (mut server, port) = start_with(full.into());
    for room in ["one", "two", "one"] {
        join(port, room);
    }
    let deadline = Instant::now() + PATIENCE;
    while metric(port, "nowcast_log_lines_dropped_total") < 2 {
        assert!(Instant::now() < deadline, "both rooms' lines are dropped");
    }
    assert!(get(port, "/healthz").ends_with("ok\n"));
    assert_eq!(end(&mut server, rustix::process::Signal::TERM), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn unread_logs_block_no_client_and_continue_when_they_are_read() {
    /// The capacity of a pipe on Linux, and the part of it that is left for the server.
    const PIPE_BYTES: usize = 64 * 1_024;
    const LEFT_BYTES: usize = 1_024;
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe can be created");
    writer.write_all(&vec![b'\n'; PIPE_BYTES - LEFT_BYTES]).expect("the pipe has room");
    let (mut server, port) = start_saying(writer.into(), "trace");
    let deadline = Instant::now() + PATIENCE;
    while metric(port, "nowcast_log_lines_dropped_total") == 0 {
        assert!(Instant::now() < deadline, "lines are never dropped");
        join(port, "plaza");
    }
    let mut read = String::new();
    let mut piece = [0; 4_096];
    while !read.contains("log lines were dropped") {
        let length = reader.read(&mut piece).expect("the pipe can be read");
        read.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    assert_eq!(end(&mut server, rustix::process::Signal::TERM), Some(0), "nobody reads any more");
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_with_stuck_logs_still_ends_on_request() {
    let (_reader, mut writer) = std::io::pipe().expect("a pipe can be created");
    writer.write_all(&[b'\n'; 64 * 1_024]).expect("the pipe has room");
    let (mut server, port) = start_with(writer.into());
    let clients: Vec<TcpStream> = (0..40).map(|_| join(port, "plaza")).collect();
    let deadline = Instant::now() + PATIENCE;
    while metric(port, "nowcast_clients") < clients.len() as u64 {
        assert!(Instant::now() < deadline, "all are counted");
    }
    assert_eq!(end(&mut server, rustix::process::Signal::TERM), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_started_with_nohup_outlives_its_terminal() {
    let mut server = own::isolated("nohup")
        .args([own::PROGRAM, "serve", "--no-data", "--port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("`nohup` is installed");
    let port = port_of(&mut server);
    let pid = rustix::process::Pid::from_raw(server.id().cast_signed()).expect("a child has an id");
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).expect("the child process runs");
    join(port, "plaza");
    assert_eq!(end(&mut server, rustix::process::Signal::TERM), Some(0));
}

#[cfg(unix)]
#[test]
fn no_log_at_any_level_contains_a_token() {
    use nowcast::admission::{Claims, TokenKey, unix_time};
    use nowcast::{CarrierKind, Connector};

    let folder = std::env::temp_dir().join(format!("nowcast-log-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (key, log) = (folder.join("world.key"), folder.join("log"));
    assert!(nowcast(&["token", "--make-key", key.to_str().unwrap()]).status().unwrap().success());
    let mut server =
        nowcast(&["serve", "--no-data", "--port", "0", "--token-key-file", key.to_str().unwrap()])
            .env("RUST_LOG", "trace")
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .expect("the program starts");
    let port = port_of(&mut server);
    let claims = Claims::new(unix_time() + std::time::Duration::from_secs(600)).name("Ada");
    let token = claims.sign(&TokenKey::read(&key).unwrap()).unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
            let connector = Connector::new().carriers([carrier]).token(token.clone());
            let channel = connector
                .connect(&format!("nowcast://127.0.0.1:{port}/plaza"))
                .await
                .expect("the client joins");
            channel.close(0, "seen");
        }
    });
    // Log lines that wait are written when the server ends.
    assert_eq!(end(&mut server, rustix::process::Signal::TERM), Some(0));
    let logged = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
    assert!(logged.contains("TRACE"), "everything is logged: {} bytes", logged.len());
    let signature = token.rsplit('.').next().unwrap();
    let told = logged.lines().find(|line| line.contains(signature));
    assert!(told.is_none(), "{told:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}
