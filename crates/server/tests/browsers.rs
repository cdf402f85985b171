//! Admission of browsers: pages of other sites, clients on this machine, clients on other machines, and clients behind
//! proxies.

use std::net::IpAddr;
use std::process::{Command, Stdio};

use crate::common;
use crate::common::{PATIENCE, TestServer};
use nowcast_engine::endpoint::addresses_of_this_machine;
use nowcast_server::admission::TokenKey;
use nowcast_server::{CertificateConfig, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const UPGRADE: &str = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Returns the status and head of an answer. The connection stays open until the returned stream is dropped.
async fn ask(server: &TestServer, path: &str, headers: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(server.address).await.expect("the server listens");
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\n{headers}\r\n").as_bytes())
        .await
        .expect("the server reads the request");
    let mut head = Vec::new();
    let reading = async {
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("the answer has a head"));
        }
    };
    timeout(PATIENCE, reading).await.expect("the server answers");
    (String::from_utf8_lossy(&head).into_owned(), stream)
}

async fn status(server: &TestServer, path: &str, headers: &str) -> String {
    ask(server, path, headers).await.0.split(' ').nth(1).expect("the answer has a status").to_owned()
}

#[tokio::test]
async fn a_foreign_page_can_neither_join_nor_read_a_server_on_this_machine() {
    let server = TestServer::start().await;
    let port = server.address.port();
    let own = format!("http://localhost:{port}");
    let session = format!("{UPGRADE}Sec-WebSocket-Protocol: nowcast.1\r\n");
    for origin in ["https://evil.example", "null", "http://localhost", "http://localhost:\u{e9}"] {
        let page = format!("Host: localhost:{port}\r\nOrigin: {origin}\r\n");
        assert_eq!(status(&server, "/ws/plaza", &format!("{page}{UPGRADE}")).await, "403", "{origin}");
        assert_eq!(status(&server, "/nowcast/plaza", &format!("{page}{session}")).await, "403", "{origin}");
        for path in ["/nowcast/plaza", "/metrics", "/api/rooms"] {
            assert_eq!(status(&server, path, &page).await, "403", "{origin} {path}");
        }
    }
    // After DNS rebinding, the foreign page reaches this server under the page's own host name.
    let rebound = format!("Host: evil.example:{port}\r\n");
    for path in ["/", "/r/plaza", "/metrics", "/api/rooms", "/nowcast/plaza", "/healthz"] {
        assert_eq!(status(&server, path, &rebound).await, "403", "{path}");
    }
    let joining = format!("{rebound}Origin: http://evil.example:{port}\r\n{UPGRADE}");
    assert_eq!(status(&server, "/ws/plaza", &joining).await, "403");

    let page = format!("Host: localhost:{port}\r\nOrigin: {own}\r\n");
    assert_eq!(status(&server, "/ws/plaza", &format!("{page}{UPGRADE}")).await, "101");
    assert_eq!(status(&server, "/nowcast/plaza", &format!("{page}{session}")).await, "101");
    assert_eq!(
        status(&server, "/ws/plaza", &format!("Host: robot.example\r\n{UPGRADE}")).await,
        "101",
        "a program"
    );
    assert_eq!(status(&server, "/metrics", &page).await, "200");
    server.stop().await;
}

#[tokio::test]
async fn a_request_has_exactly_one_host_and_a_valid_websocket_upgrade() {
    let server = TestServer::start().await;
    for headers in ["", "Host: localhost\r\nHost: localhost\r\n", "Host: local host\r\n"] {
        assert_eq!(status(&server, "/healthz", headers).await, "400", "{headers}");
    }
    let short = UPGRADE.replace("dGhlIHNhbXBsZSBub25jZQ==", "AAAA");
    assert_eq!(status(&server, "/ws/plaza", &format!("Host: localhost\r\n{short}")).await, "400");
    let old = UPGRADE.replace("Version: 13", "Version: 8");
    for path in ["/ws/plaza", "/nowcast/plaza"] {
        let asked = format!("Host: localhost\r\nSec-WebSocket-Protocol: nowcast.1\r\n{old}");
        let (head, _) = ask(&server, path, &asked).await;
        assert!(head.starts_with("HTTP/1.1 426") && head.contains("sec-websocket-version: 13"), "{head}");
        assert!(head.contains("upgrade: websocket"), "{head}");
    }
    server.stop().await;
}

#[tokio::test]
async fn idle_connections_behind_a_proxy_block_no_other_clients() {
    let server = TestServer::with(|config| config.limits.connections_per_address_max = 300).await;
    let silent = format!("Host: localhost\r\nSec-WebSocket-Protocol: nowcast.1\r\n{UPGRADE}");
    let mut held = Vec::new();
    for _ in 0..150 {
        let (head, stream) = ask(&server, "/nowcast/plaza?resume=1", &silent).await;
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        held.push(stream);
    }
    let channel = nowcast::connect(&format!("nowcast://{}/plaza", server.address)).await;
    assert!(channel.is_ok(), "{channel:?}");
    drop(held);
    server.stop().await;
}

#[tokio::test]
async fn a_request_that_only_claims_to_resume_counts_as_joining() {
    let server = TestServer::with(|config| {
        config.limits.connections_per_address_max = 5;
        config.limits.joins_per_address_hz = 0.001;
    })
    .await;
    let asked = format!("Host: localhost\r\nSec-WebSocket-Protocol: nowcast.1\r\n{UPGRADE}");
    for _ in 0..5 {
        assert_eq!(status(&server, "/nowcast/plaza?resume=1", &asked).await, "101");
        server.until_metric("nowcast_connections", |connections| connections == 0.0).await;
    }
    assert_eq!(status(&server, "/nowcast/plaza?resume=1", &asked).await, "429");
    server.stop().await;
}

#[tokio::test]
async fn only_a_trusted_proxy_may_name_the_client_address() {
    let proxied = TestServer::with(|config| {
        config.entry.proxies = vec!["127.0.0.1".parse().expect("the text is an address")];
        config.limits.connections_per_address_max = 3;
        config.limits.joins_per_address_hz = 0.001;
    })
    .await;
    let from =
        |client: &str| format!("Host: localhost\r\nX-Forwarded-For: 198.51.100.9, {client}\r\n{UPGRADE}");
    let mut held = Vec::new();
    for client in ["192.0.2.1", "192.0.2.2"] {
        for _ in 0..3 {
            let (head, stream) = ask(&proxied, "/ws/plaza", &from(client)).await;
            assert!(head.starts_with("HTTP/1.1 101"), "{client}: {head}");
            held.push(stream);
        }
        assert_eq!(status(&proxied, "/ws/plaza", &from(client)).await, "429", "{client} has its own rate");
    }
    // A session from another machine must be encrypted between the client and the proxy.
    let session = format!("{}Sec-WebSocket-Protocol: nowcast.1\r\n", from("192.0.2.3"));
    assert_eq!(
        status(&proxied, "/nowcast/plaza", &format!("{session}X-Forwarded-Proto: http\r\n")).await,
        "403"
    );
    assert_eq!(
        status(&proxied, "/nowcast/plaza", &format!("{session}X-Forwarded-Proto: https\r\n")).await,
        "101"
    );
    drop(held);
    proxied.stop().await;

    let direct = TestServer::with(|config| {
        config.limits.connections_per_address_max = 3;
        config.limits.joins_per_address_hz = 0.001;
    })
    .await;
    let mut answers = Vec::new();
    for number in 1..5 {
        // A connection beyond the limit is closed without an answer, so the one before must have ended.
        direct.until_metric("nowcast_connections", |connections| connections == 0.0).await;
        answers.push(status(&direct, "/ws/plaza", &from(&format!("192.0.2.{number}"))).await);
    }
    assert_eq!(answers, ["101", "101", "101", "429"], "the header of an untrusted client is ignored");
    direct.stop().await;
}

/// Starts a server on an address of this machine that is not loopback.
async fn reachable(self_signed: bool) -> TestServer {
    let address = addresses_of_this_machine().into_iter().find(IpAddr::is_ipv4);
    let address = address.expect("this test needs an IPv4 address besides loopback: connect a network");
    TestServer::with(|config| {
        config.hosts = vec![address];
        config.entry.anonymous = true;
        if self_signed {
            config.certificate = CertificateConfig::SelfSigned { names: vec![address.to_string()] };
            config.redirect_to_https = true;
        }
    })
    .await
}

/// Returns the output of curl, an independent client.
fn curl(arguments: &[&str]) -> String {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "20", "--include", "--http1.1", "--noproxy", "*"])
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .expect("this test needs curl: install it");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn other_machines_are_offered_only_carriers_that_they_may_use() {
    let server = reachable(false).await;
    let host = format!("Host: {}\r\n", server.address);
    let answer = server.raw(&format!("GET /nowcast/plaza HTTP/1.1\r\n{host}Connection: close\r\n\r\n")).await;
    assert!(answer.contains(r#""websocket":false,"secure_websocket":true"#), "{answer}");
    let session = format!("{host}Sec-WebSocket-Protocol: nowcast.1\r\n{UPGRADE}");
    assert_eq!(status(&server, "/nowcast/plaza", &session).await, "403");
    // Programs that trust the announced certificate connect over TLS.
    let connector = nowcast::Connector::new()
        .carriers([nowcast::CarrierKind::WebSocket])
        .trust(nowcast::Trust::Announced)
        .connect(&format!("nowcast://{}/plaza", server.address))
        .await;
    assert!(connector.is_ok(), "{connector:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_self_signed_server_speaks_https_and_http_on_one_port() {
    let server = reachable(true).await;
    let (plain, secure) = (format!("http://{}", server.address), format!("https://{}", server.address));
    let asked = plain.clone();
    let said = tokio::task::spawn_blocking(move || {
        let redirect = curl(&["--header", "Accept: text/html", &format!("{asked}/r/plaza?token=x")]);
        let page = curl(&["--insecure", "--header", "Accept: text/html", &format!("{secure}/r/plaza")]);
        let offer = curl(&["--insecure", &format!("{secure}/nowcast/plaza")]);
        let refused = curl(&[&format!("{secure}/")]);
        let metrics = curl(&[&format!("{asked}/healthz")]);
        [redirect, page, offer, refused, metrics]
    });
    let [redirect, page, offer, refused, health] = said.await.expect("curl runs");
    assert!(redirect.starts_with("HTTP/1.1 307"), "{redirect}");
    let location = format!("location: {}/r/plaza?token=x", plain.replacen("http", "https", 1));
    assert!(redirect.contains(&location), "{redirect}");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("text/html"), "{page}");
    assert!(offer.contains(r#""websocket":true"#) && offer.contains("certificate_hashes"), "{offer}");
    assert!(refused.is_empty(), "no authority signed the certificate: {refused}");
    assert!(health.ends_with("ok\n"), "{health}");
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_allows_another_origin_shows_its_own_page_and_answers_the_other_ones() {
    let server = TestServer::with(|config| {
        config.entry.key = Some(TokenKey::secret(b"32 bytes that nobody else knows.").expect("long enough"));
        config.entry.origins = vec!["https://example.org".into()];
    })
    .await;
    let own = "Host: game.example:8080\r\nOrigin: http://game.example:8080\r\n";
    assert_eq!(status(&server, "/", own).await, "200");
    assert_eq!(status(&server, "/nowcast/plaza", own).await, "403");
    assert_eq!(status(&server, "/ws/plaza", &format!("{own}{UPGRADE}")).await, "403");
    let foreign = "Host: game.example:8080\r\nOrigin: http://game.example\r\n";
    assert_eq!(status(&server, "/", foreign).await, "403");
    // An allowed page of another origin reads the lists, as it needs them to find a room.
    for path in ["/api/rooms", "/api/worlds"] {
        let (head, _) = ask(&server, path, "Host: localhost\r\nOrigin: https://example.org\r\n").await;
        assert!(head.contains("access-control-allow-origin: *"), "{path}: {head}");
        assert_eq!(status(&server, path, "Host: localhost\r\nOrigin: https://evil.example\r\n").await, "403");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_origin_prevents_the_start() {
    let config = common::config();
    let entry =
        nowcast_server::admission::Policy { origins: vec!["example.org".into()], ..Default::default() };
    let Err(error) = Server::bind(nowcast_server::Config { entry, ..config }).await else {
        panic!("the server starts")
    };
    assert!(error.to_string().contains("write SCHEME://HOST"), "{error}");
}
