//! Web pages at an endpoint that is open only to its own machine. A page runs on the machine of the user who opens it, so it can
//! reach loopback.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use nowcast::admission::{Policy, PolicyError};
use nowcast::{BindError, ListenConfig, Listener, Service};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(30);
const UPGRADE: &str = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: nowcast.1\r\n";

struct Robot {
    listener: Listener,
    _service: Service,
}

impl Robot {
    async fn start(change: impl FnOnce(&mut ListenConfig)) -> Robot {
        let mut config = ListenConfig::on([Ipv4Addr::LOCALHOST.into()], 0);
        config.name_server = None;
        change(&mut config);
        let listener = Listener::bind(config).await.expect("a port is free");
        let service = listener.advertise("robot").await.expect("the name is free");
        Robot { listener, _service: service }
    }

    fn port(&self) -> u16 {
        self.listener.port()
    }

    /// Returns the head of the answer to a request with these headers.
    async fn ask(&self, headers: &str) -> String {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port()));
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        let request = format!("GET /nowcast/robot HTTP/1.1\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.expect("the server reads the request");
        let mut head = Vec::new();
        let reading = async {
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                let mut bytes = [0; 1_024];
                match stream.read(&mut bytes).await.expect("the server answers") {
                    0 => break,
                    count => head.extend_from_slice(&bytes[..count]),
                }
            }
        };
        timeout(DEADLINE, reading).await.expect("the server answers in time");
        String::from_utf8_lossy(&head).into_owned()
    }

    async fn status(&self, headers: &str) -> u16 {
        let answer = self.ask(headers).await;
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("the answer has a status")
    }
}

#[tokio::test]
async fn a_foreign_page_cannot_use_a_service_on_this_machine() {
    let robot = Robot::start(|_| {}).await;
    let port = robot.port();
    let local = format!("Host: localhost:{port}\r\n");
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost",
        "http://localhost:1",
        "http://localhost.evil.example",
        "file://",
        "http://localhost:\u{e9}",
    ] {
        for upgrade in ["", UPGRADE] {
            let answer = robot.ask(&format!("{local}Origin: {origin}\r\n{upgrade}")).await;
            assert!(answer.starts_with("HTTP/1.1 403"), "{origin}: {answer}");
            assert!(!answer.contains("access-control-allow-origin"), "{origin}: {answer}");
        }
    }
    let twice =
        format!("{local}Origin: http://localhost:{port}\r\nOrigin: https://evil.example\r\n{UPGRADE}");
    assert_eq!(robot.status(&twice).await, 403);
}

#[tokio::test]
async fn a_host_name_rebound_to_loopback_is_refused() {
    let robot = Robot::start(|_| {}).await;
    let port = robot.port();
    for host in [format!("evil.example:{port}"), format!("127.0.0.1.evil.example:{port}"), "192.0.2.1".into()]
    {
        // A page at that name regards the endpoint as its own origin, so its requests have no Origin header.
        assert_eq!(robot.status(&format!("Host: {host}\r\n")).await, 403, "{host}");
        let own = format!("Host: {host}\r\nOrigin: http://{host}\r\n");
        assert_eq!(robot.status(&format!("{own}{UPGRADE}")).await, 403, "{host}");
    }
    let refused = robot.listener.refused();
    assert!(refused.contains(&("wrong_host", 6)), "{refused:?}");
}

#[tokio::test]
async fn own_pages_and_programs_are_admitted() {
    let robot = Robot::start(|_| {}).await;
    let port = robot.port();
    for (host, origin) in [
        (format!("localhost:{port}"), format!("http://localhost:{port}")),
        (format!("127.0.0.1:{port}"), format!("http://localhost:{port}")),
        (format!("[::1]:{port}"), format!("https://[::1]:{port}")),
        // The client may reach the endpoint through a forwarder on another port of this machine.
        ("localhost:8080".into(), "http://localhost:8080".into()),
    ] {
        let page = format!("Host: {host}\r\nOrigin: {origin}\r\n");
        let answer = robot.ask(&page).await;
        assert!(answer.contains(&format!("access-control-allow-origin: {origin}")), "{answer}");
        assert_eq!(robot.status(&format!("{page}{UPGRADE}")).await, 101, "{origin}");
    }
    // A browser never opens a carrier without the origin of the page.
    assert_eq!(robot.status(&format!("Host: robot.example:{port}\r\n{UPGRADE}")).await, 101);
}

#[tokio::test]
async fn an_origin_named_by_the_operator_is_admitted_at_its_own_host() {
    let robot = Robot::start(|config| {
        config.entry.origins = vec!["https://Control.example:443/".into()];
        config.entry.anonymous = true;
    })
    .await;
    let page = "Host: control.example\r\nOrigin: https://control.example\r\n";
    assert_eq!(robot.status(&format!("{page}{UPGRADE}")).await, 101);
    assert_eq!(robot.status(&page.replace("https://control", "https://evil")).await, 403);
    assert_eq!(robot.status(&page.replace("Host: control", "Host: evil")).await, 403);
}

#[tokio::test]
async fn an_invalid_origin_prevents_the_start() {
    for origin in ["*", "example.org", "https://example.org/page", "null"] {
        let mut config = ListenConfig::loopback(0);
        config.entry = Policy { origins: vec![origin.into()], ..Policy::default() };
        match Listener::bind(config).await {
            Err(error @ BindError::Entry(PolicyError::Origin(_))) => {
                assert!(error.to_string().contains("SCHEME://HOST"), "{error}");
            }
            other => panic!("{origin}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn requests_with_an_invalid_host_or_websocket_key_are_refused() {
    let robot = Robot::start(|_| {}).await;
    assert_eq!(robot.status("").await, 400, "HTTP/1.1 without Host");
    assert_eq!(robot.status("Host: localhost\r\nHost: localhost\r\n").await, 400);
    assert_eq!(robot.status("Host: local host\r\n").await, 400);
    for key in ["AAAA", "not base64 at all, but long", "dGhlIHNhbXBsZSBub25jZSBpcyB0b28gbG9uZw=="] {
        let upgrade = UPGRADE.replace("dGhlIHNhbXBsZSBub25jZQ==", key);
        assert_eq!(robot.status(&format!("Host: localhost\r\n{upgrade}")).await, 400, "{key}");
    }
    let old =
        robot.ask(&format!("Host: localhost\r\n{}", UPGRADE.replace("Version: 13", "Version: 8"))).await;
    assert!(old.starts_with("HTTP/1.1 426"), "{old}");
    for header in ["sec-websocket-version: 13", "upgrade: websocket"] {
        assert!(old.contains(header), "{old}");
    }
}
