//! `nowcast serve` as a person meets it: what it prints, how it fails, how it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};

fn nowcast(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nowcast"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command that is expected to fail, and returns its exit code and the one line it says.
fn mistake(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = nowcast(arguments).output().expect("the program starts");
    let said = String::from_utf8(stderr).expect("it is text");
    assert!(stdout.is_empty(), "nothing is printed but the mistake");
    assert_eq!(said.lines().count(), 1, "one line: {said}");
    (status.code(), said)
}

/// Starts a server on a free port and returns it with its port.
fn start() -> (Child, u16) {
    let mut server = nowcast(&["serve", "--port", "0"]).spawn().expect("the program starts");
    let mut line = String::new();
    let stdout = server.stdout.as_mut().expect("it is piped");
    BufReader::new(stdout).read_line(&mut line).expect("it prints where it is");
    let port = line.trim().rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    (server, port.unwrap_or_else(|| panic!("no port in {line}")))
}

#[test]
fn mistakes_are_named_in_one_line_with_a_cure() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, said) = mistake(&["serve", "--port", &port]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains(&format!("port {port} on 127.0.0.1 is taken")) && said.contains("such as --port "),
        "{said}"
    );

    let (code, said) = mistake(&["serve", "--prot", "80"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("'--prot'") && said.contains("'--port'"), "{said}");

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

    let (code, said) = mistake(&["serve", "--players-max", "0", "--port", "0"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("a limit of 0 players would let nobody in"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_termination_signal_ends_it_with_code_0() {
    use rustix::process::{Pid, Signal, kill_process};
    for signal in [Signal::TERM, Signal::INT] {
        let (mut server, port) = start();
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("ok\n"), "{answer}");

        let pid = Pid::from_raw(server.id().cast_signed()).expect("a child has an id");
        kill_process(pid, signal).expect("the child is there");
        assert_eq!(server.wait().expect("it ends").code(), Some(0));
    }
}
