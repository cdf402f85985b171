//! Web pages at an endpoint that is open only to its own machine. A page runs on the machine of the user who opens it, so it can
//! reach loopback.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use nowcast::admission::{Policy, PolicyError};
use nowcast::{BindError, ListenConfig, Listener, Service};
use quinn::crypto::rustls::QuicClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use web_transport_quinn::proto::ConnectRequest;

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

    /// Whether WebTransport opens for a page that names this host.
    async fn opens(&self, host: &str, origin: Option<&str>) -> bool {
        self.webtransport(host, origin, quinn::EndpointConfig::default()).await.is_ok()
    }

    /// Opens WebTransport with the given QUIC settings.
    async fn webtransport(
        &self,
        host: &str,
        origin: Option<&str>,
        quic: quinn::EndpointConfig,
    ) -> Result<web_transport_quinn::Session, web_transport_quinn::ClientError> {
        let mut tls =
            rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .expect("the provider has TLS 1.3")
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Trusting))
                .with_no_client_auth();
        tls.alpn_protocols = vec![b"h3".to_vec()];
        let config = quinn::ClientConfig::new(Arc::new(
            QuicClientConfig::try_from(tls).expect("the configuration supports TLS 1.3"),
        ));
        let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port is free");
        let endpoint = quinn::Endpoint::new(quic, None, socket, Arc::new(quinn::TokioRuntime))
            .expect("the socket works");
        let address = (IpAddr::from(Ipv4Addr::LOCALHOST), self.port()).into();
        let connection =
            endpoint.connect_with(config, address, "localhost").expect("the address is valid").await;
        let url = format!("https://{host}/nowcast/robot").parse::<url::Url>().expect("the URL is valid");
        let mut request = ConnectRequest::new(url);
        if let Some(origin) = origin {
            request =
                request.with_header(hyper::header::ORIGIN, origin.parse().expect("the header is valid"));
        }
        let opening = web_transport_quinn::Session::connect(connection.expect("QUIC is served"), request);
        timeout(DEADLINE, opening).await.expect("the server answers")
    }
}

/// Accepts every certificate.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        vec![rustls::SignatureScheme::ECDSA_NISTP256_SHA256]
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
    let authority = format!("localhost:{port}");
    assert!(!robot.opens(&authority, Some("https://evil.example")).await);
    assert!(!robot.opens(&authority, Some("null")).await);
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
    let origin = format!("http://evil.example:{port}");
    assert!(!robot.opens(&format!("evil.example:{port}"), Some(&origin)).await);
    let refused = robot.listener.refused();
    assert!(refused.contains(&("wrong_host", 7)), "{refused:?}");
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
    assert!(robot.opens(&format!("localhost:{port}"), Some(&format!("http://localhost:{port}"))).await);
    assert!(robot.opens("robot.example", None).await);
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

#[tokio::test]
async fn a_webtransport_client_with_small_udp_payloads_receives_the_required_size() {
    let robot = Robot::start(|_| {}).await;
    let mut quic = quinn::EndpointConfig::default();
    quic.max_udp_payload_size(1_200).expect("QUIC allows it");
    let session = robot.webtransport("localhost", None, quic).await.expect("the request itself is accepted");
    let closed = timeout(DEADLINE, session.closed()).await.expect("the session is closed").to_string();
    assert!(closed.contains("1252"), "the reason names the size: {closed}");
}
