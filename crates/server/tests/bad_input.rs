//! Broken or hostile clients. Each receives a close reason and is counted. No other client is affected.

use std::time::Duration;

use crate::common::{PATIENCE, TestServer};
use futures_util::SinkExt;
use nowcast_world_protocol::plain::{ClientMessage, Encoding, Frame, Input, ServerMessage};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{self, Message};

fn text(text: impl Into<String>) -> Frame {
    Frame::Text(text.into())
}

#[tokio::test]
async fn every_invalid_vector_closes_with_its_code_and_reason() {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../spec/vectors/plain/refused-messages.json")).unwrap();
    let server = TestServer::start().await;
    let mut witness = server.join("plaza", "").await;
    for vector in vectors["vectors"].as_array().unwrap() {
        let encoding: Encoding = vector["encoding"].as_str().unwrap().parse().unwrap();
        let frame = match &vector["frame"]["text"] {
            Value::String(content) => text(content.as_str()),
            _ => Frame::Binary(unhex(vector["frame"]["hex"].as_str().unwrap())),
        };
        let mut player = server.join("plaza", &format!("encoding={encoding}")).await;
        player.send(frame).await;
        let (code, reason) = player.until_closed().await;
        assert_eq!(u64::from(code), vector["code"].as_u64().unwrap(), "{}: {reason}", vector["name"]);
        let start = if code == 4000 { "malformed: " } else { "out of bounds: " };
        assert!(reason.starts_with(start), "{}: {reason}", vector["name"]);
    }
    let malformed = server.metric(r#"nowcast_client_closed_total{code="4000",reason="malformed"}"#);
    let out_of_bounds = server.metric(r#"nowcast_client_closed_total{code="4001",reason="out_of_bounds"}"#);
    assert_eq!((malformed + out_of_bounds) as usize, vectors["vectors"].as_array().unwrap().len());
    witness.until(|message| matches!(message, ServerMessage::Move { .. }).then_some(())).await;
}

#[tokio::test]
async fn an_oversized_message_is_refused_however_it_is_cut() {
    let server = TestServer::start().await;
    let huge = format!(r#"{{"type":"chat","text":"{}"}}"#, "x".repeat(200_000));
    let mut whole = server.join("plaza", "").await;
    whole.send(text(huge.clone())).await;
    assert_eq!(whole.until_closed().await, (1009, "message too large".into()));

    let mut cut = server.join("plaza", "").await;
    for piece in huge.as_bytes().chunks(1_000) {
        use tungstenite::protocol::frame::Frame;
        use tungstenite::protocol::frame::coding::{Data, OpCode};
        let opcode = if piece[0] == b'{' { Data::Text } else { Data::Continue };
        let frame = Frame::message(piece.to_vec(), OpCode::Data(opcode), false);
        if cut.socket.send(Message::Frame(frame)).await.is_err() {
            break;
        }
    }
    assert_eq!(cut.until_closed().await, (1009, "message too large".into()));
    server
        .until_metric(r#"nowcast_client_closed_total{code="1009",reason="too_large"}"#, |count| count == 2.0)
        .await;
}

#[tokio::test]
async fn violations_of_the_websocket_protocol_are_named() {
    let server = TestServer::start().await;
    // A text frame without a mask, a frame with an unknown opcode, a continuation of nothing, invalid UTF-8.
    let broken: [(&[u8], u16); 4] = [
        (b"\x81\x02hi", 1002),
        (b"\x83\x80\0\0\0\0", 1002),
        (b"\x80\x80\0\0\0\0", 1002),
        (b"\x81\x82\0\0\0\0\xc3\x28", 1007),
    ];
    for (bytes, expected) in broken {
        let mut player = server.join("plaza", "").await;
        player.socket.get_mut().write_all(bytes).await.unwrap();
        let (code, reason) = player.until_closed().await;
        assert_eq!(code, expected, "{reason}");
    }
}

#[tokio::test]
async fn messages_over_their_rate_are_dropped_and_a_flood_is_closed() {
    let server = TestServer::start().await;
    let mut witness = server.join("plaza", "name=witness").await;
    let mut chatty = server.join("plaza", "name=chatty").await;
    for line in 0..7 {
        chatty.say(ClientMessage::Chat { text: format!("line {line}") }).await;
    }
    // The burst of five lines passes. Further lines are dropped and counted. Because of the elapsed time, one more line may
    // have passed.
    assert_eq!(witness.until_chat().await.1, "line 0");
    server.until_metric(r#"nowcast_messages_dropped_total{reason="rate"}"#, |count| count >= 1.0).await;

    let mut flood = server.join("plaza", "name=flood").await;
    for _ in 0..100 {
        flood.say(ClientMessage::Chat { text: "spam".into() }).await;
    }
    let words = "too many messages: chat: at most 2 lines a second, 5 at once; send fewer";
    assert_eq!(flood.until_closed().await, (4008, words.into()));
    let mut flood = server.join("plaza", "encoding=msgpack").await;
    for _ in 0..8_000 {
        flood.say(ClientMessage::Input(Input::default())).await;
    }
    assert_eq!(
        flood.until_closed().await,
        (4008, "too many messages: input: at most 120 a second; send fewer".into())
    );
    let mut flood = server.join("plaza", "").await;
    for _ in 0..500 {
        let _ = flood.socket.send(Message::Ping(vec![7; 125].into())).await;
    }
    assert_eq!(
        flood.until_closed().await,
        (4008, "too many messages: ping: at most 10 a second; send fewer".into())
    );
}

#[tokio::test]
async fn names_and_chat_lose_control_characters_and_keep_markup() {
    let server = TestServer::start().await;
    let mut ada = server.join("plaza", "name=%1B%5B31m%20%3Cb%3EAda%3C%2Fb%3E%20%E2%80%AE%00").await;
    ada.say(ClientMessage::Chat { text: "\u{202e}<script>alert(1)</script>\u{0007}\n".into() }).await;
    let (name, line) = ada.until_chat().await;
    assert_eq!((name.as_str(), line.as_str()), ("[31m <b>Ada</b>", "<script>alert(1)</script>"));

    let mut nobody = server.join("plaza", "name=%00%01%20").await;
    nobody.say(ClientMessage::Chat { text: "\u{200b}\u{7}".into() }).await;
    nobody.say(ClientMessage::Chat { text: "x".repeat(1_000) }).await;
    let (name, line) = nobody.until_chat().await;
    assert_eq!((name, line.len()), (format!("guest-{}", nobody.id), 300), "the empty line was dropped");
}

#[tokio::test]
async fn a_bad_address_is_answered_with_one_line_that_names_the_cause() {
    let server = TestServer::with(|config| {
        config.limits.players_max = 1;
        config.limits.rooms_max = 2;
        config.entry.origins = vec!["https://example.org".into()];
    })
    .await;
    let _ada = server.join("plaza", "").await;
    let _bob = server.join("park", "").await;
    let long = format!("/ws/plaza?name={}", "x".repeat(600));
    for (path, status, cause) in [
        ("/ws/plaza?encoding=xml", 400, "encoding 'xml' is unknown, choose json or msgpack"),
        ("/ws/plaza?hz=61", 400, "hz is '61', not a number from 5 to 60"),
        ("/ws/plaza?hz=NaN", 400, "hz is 'NaN'"),
        (&long, 400, "name is longer than 512 bytes"),
        ("/ws/Plaza%20!", 400, "room name 'Plaza !' is not 1 to 32 of a-z 0-9 - _"),
        ("/ws/plaza", 503, "room 'plaza' is full, 1 players are in it"),
        ("/ws/third", 503, "room limit reached: 2 rooms are open (limit 2)"),
    ] {
        let Err(tungstenite::Error::Http(response)) = server.connect(path).await else {
            panic!("{path} is let in");
        };
        let body = String::from_utf8(response.body().clone().unwrap_or_default()).unwrap();
        assert_eq!(response.status(), status, "{path}: {body}");
        assert!(body.contains(cause) && body.trim_end().lines().count() == 1, "{path}: {body}");
    }
    let foreign = "GET /ws/plaza HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nConnection: close, upgrade\r\n\
        Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let answer = server.raw(foreign).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("https://evil.example"), "{answer}");
    let old = foreign.replace("Version: 13", "Version: 8").replace("evil.example", "example.org");
    assert!(server.raw(&old).await.starts_with("HTTP/1.1 426"));
}

#[tokio::test]
async fn an_address_that_joins_too_often_is_asked_to_wait() {
    let server = TestServer::with(|config| {
        config.limits.connections_per_address_max = 3;
        config.limits.joins_per_address_hz = 0.001;
    })
    .await;
    for _ in 0..3 {
        let player = server.join("plaza", "").await;
        drop(player);
        server.until_metric("nowcast_connections", |connections| connections == 0.0).await;
    }
    let Err(tungstenite::Error::Http(response)) = server.connect("/ws/plaza").await else {
        panic!("the fourth join is let in");
    };
    assert_eq!(response.status(), 429);
    server
        .until_metric(r#"nowcast_connections_refused_total{reason="join_rate"}"#, |count| count == 1.0)
        .await;
    let other = server.connect_from([127, 0, 0, 2], "/ws/plaza").await;
    assert!(other.is_ok(), "another address is admitted");
}

#[tokio::test]
async fn a_client_killed_in_the_middle_of_a_message_leaves_the_world() {
    let server = TestServer::start().await;
    let mut witness = server.join("plaza", "").await;
    let mut victim = server.join("plaza", "").await;
    let (victim_id, avatar) = (victim.id, victim.avatar());
    // The head announces 100 bytes, and three arrive.
    victim.socket.get_mut().write_all(b"\x81\xe4\0\0\0\0{\"t").await.unwrap();
    drop(victim);
    witness
        .until_view("the victim's end", |view| {
            !view.players.contains_key(&victim_id) && !view.entities.contains_key(&avatar)
        })
        .await;
    server
        .until_metric(r#"nowcast_client_closed_total{code="1006",reason="vanished"}"#, |count| count == 1.0)
        .await;
}

#[tokio::test]
async fn a_silent_client_is_closed_and_an_idle_one_that_answers_pings_stays() {
    let server = TestServer::with(|config| {
        config.timeouts.idle = Duration::from_millis(600);
        config.timeouts.ping = Duration::from_millis(100);
    })
    .await;
    let quiet = server.join("plaza", "").await;
    // The client sends no messages. Its reads answer the server's pings.
    let mut quiet = tokio::spawn(quiet.until_closed());
    // The client never reads, so it answers no ping. The messages sent to it in the meantime fit in the kernel's
    // buffers.
    let silent = server.join("plaza", "hz=5").await;
    server
        .until_metric(r#"nowcast_client_closed_total{code="4010",reason="idle"}"#, |count| count == 1.0)
        .await;
    assert_eq!(silent.until_closed().await, (4010, "idle".into()));
    let stays = tokio::time::timeout(Duration::from_secs(1), &mut quiet).await.is_err();
    assert!(stays, "the quiet one was closed");
    server.stop().await;
    assert_eq!(quiet.await.unwrap().0, 1001);
}

#[tokio::test]
async fn a_client_that_never_reads_is_closed_and_holds_no_memory() {
    let server = TestServer::with(|config| {
        config.timeouts.stalled = Duration::from_secs(2);
        config.timeouts.closing = Duration::from_millis(100);
    })
    .await;
    let mut witness = server.join("plaza", "").await;
    let deaf = server.join("plaza", "hz=60").await;
    // The kernel buffers some megabytes before the socket is full. Many moving avatars fill it.
    let mut crowd = Vec::new();
    for _ in 0..40 {
        let mut player = server.join("plaza", "hz=5&encoding=msgpack").await;
        player.say(ClientMessage::Input(Input { forward: 1.0, run: true, ..Input::default() })).await;
        crowd.push(tokio::spawn(async move {
            while let Some(Ok(_)) = futures_util::StreamExt::next(&mut player.socket).await {}
        }));
    }
    let closing = r#"nowcast_client_closed_total{code="4009",reason="too_slow"}"#;
    let reading = async {
        while server.metric(closing) == 0.0 {
            witness.next().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(100), reading).await.expect("the deaf one is closed");
    assert!(
        server.metric("nowcast_snapshots_superseded_total") > 0.0,
        "waiting state was replaced by newer state"
    );
    drop(deaf);
    for player in crowd {
        player.abort();
    }
}

#[tokio::test]
async fn bytes_that_are_not_http_are_answered_and_closed() {
    let server = TestServer::with(|config| config.timeouts.handshake = Duration::from_millis(300)).await;
    assert!(server.raw("\x15\x03\x01 hello\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    // The bytes begin like TLS. The rest belongs to no protocol.
    let answer = server.raw("\x16\x03\x01\x00\x05hello").await;
    assert!(answer.is_empty() || answer.starts_with('\x15'), "at most an alert of TLS: {answer}");
    // One client never ends its head, and the other never begins it.
    for beginning in ["GET / HTTP/1.1\r\nHost: te", ""] {
        let answer = server.raw(beginning).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    let endless = format!("GET / HTTP/1.1\r\nX-Big: {}\r\n\r\n", "x".repeat(100_000));
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let _ = stream.write_all(endless.as_bytes()).await;
    let mut answer = Vec::new();
    let _ =
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the connection ends");
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"), "{}", String::from_utf8_lossy(&answer));
    server
        .until_metric(r#"nowcast_connections_refused_total{reason="handshake_timeout"}"#, |count| {
            count >= 2.0
        })
        .await;
    server
        .until_metric(r#"nowcast_connections_refused_total{reason="tls_handshake"}"#, |count| count >= 1.0)
        .await;
    server
        .until_metric(r#"nowcast_connections_refused_total{reason="not_http"}"#, |count| count >= 1.0)
        .await;
}

#[tokio::test]
async fn fragments_that_never_complete_a_message_close_the_client() {
    use tungstenite::protocol::frame::Frame;
    use tungstenite::protocol::frame::coding::{Data, OpCode};
    let server = TestServer::start().await;
    let mut endless = server.join("plaza", "").await;
    let mut opcode = Data::Text;
    let mut sent = 0;
    loop {
        let fragment = Frame::message(Vec::new(), OpCode::Data(opcode), false);
        opcode = Data::Continue;
        sent += 1;
        if endless.socket.send(Message::Frame(fragment)).await.is_err() {
            break;
        }
        assert!(sent < 10_000_000, "{sent} fragments were accepted");
    }
    let ended = r#"nowcast_client_closed_total{code="1009",reason="endless"}"#;
    server.until_metric(ended, |closed| closed == 1.0).await;
    let bytes = server.metric(r#"nowcast_bytes_total{direction="in"}"#);
    assert!(bytes < 100_000.0, "{bytes} bytes were read");
}

#[tokio::test]
async fn a_session_that_sends_fragments_for_ever_is_closed() {
    const REFUSED: &str = r#"nowcast_connections_refused_total{reason="flood"}"#;
    let server = TestServer::start().await;
    // On a busy machine, a connection may end before the limit, because it has sent no HELLO for 5 s.
    for _ in 0..5 {
        send_fragments(&server).await;
        if server.metric(REFUSED) > 0.0 {
            break;
        }
    }
    server.until_metric(REFUSED, |refused| refused >= 1.0).await;
    server.stop().await;
}

/// Sends fragments of one message on a session's WebSocket until the server ends the connection.
async fn send_fragments(server: &TestServer) {
    /// The first fragment, and the fragment that is repeated. Both are empty and masked. Neither is marked as the last
    /// fragment.
    const FIRST: [u8; 6] = [0x02, 0x80, 0, 0, 0, 0];
    const NEXT: [u8; 6] = [0x00, 0x80, 0, 0, 0, 0];
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "GET /nowcast/plaza HTTP/1.1\r\nHost: {}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\
         Sec-WebSocket-Protocol: nowcast.1\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 1_024];
    let length = stream.read(&mut answer).await.unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    stream.write_all(&FIRST).await.unwrap();
    let many = NEXT.repeat(10_000);
    let mut sent = 0;
    while stream.write_all(&many).await.is_ok() {
        sent += many.len();
        assert!(sent < 256 * 1024 * 1024, "{sent} bytes were accepted");
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
