//! Starts a server on a free port, and joins players with a stock WebSocket client.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

pub mod process;
pub mod session;
pub mod view;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use nowcast_server::script::{Assets, Sources};
use nowcast_server::store::Problem;
use nowcast_server::{BindError, Config, Handle, Rules, Server, WorldConfig, read_assets, read_world};
use nowcast_wire::Value;
use nowcast_world_protocol::plain::{ClientMessage, Encoding, Frame, FrameRef, ServerMessage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use self::view::View;

/// Maximum wait for a condition, on a machine that is busy with other work.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The world of most tests, `tests/worlds/plaza`.
pub fn plaza() -> WorldConfig {
    script("plaza", include_str!("../worlds/plaza/world.luau"))
}

/// Returns a world of one module.
pub fn script(name: &str, text: &str) -> WorldConfig {
    WorldConfig { name: name.into(), rules: Rules::Script(Sources::of_main(text)) }
}

/// Returns one of the sample worlds.
pub fn sample(name: &str) -> WorldConfig {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds").join(name);
    let sources = read_world(&folder).expect("the sample worlds can be read");
    let (assets, faults) = read_assets(&folder, &Assets::default()).expect("their assets can be read");
    assert_eq!(faults, []);
    WorldConfig { name: name.into(), rules: Rules::Packed(sources, assets) }
}

/// Returns the configuration of tests: a free port of the loopback, and the plaza.
pub fn config() -> Config {
    Config { worlds: vec![plaza()], hosts: vec![[127, 0, 0, 1].into()], port: 0, ..Config::default() }
}

/// Converts names and values to the arguments of an action.
pub fn map(pairs: &[(&str, Value)]) -> Value {
    Value::Map(pairs.iter().map(|(name, value)| (Value::from(*name), value.clone())).collect())
}

/// A running server.
pub struct TestServer {
    pub address: SocketAddr,
    pub handle: Handle,
    running: JoinHandle<()>,
}

/// Binds a server. A busy disk may let a server that was stopped keep its folder for a while.
async fn bind(config: Config) -> Server {
    let binding = async {
        loop {
            match Server::bind(config.clone()).await {
                Err(BindError::Store(error)) if matches!(error.problem, Problem::InUse { .. }) => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                bound => return bound.expect("a port is free"),
            }
        }
    };
    timeout(PATIENCE, binding).await.expect("the folder is free")
}

impl TestServer {
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts a server with a changed configuration.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = config();
        change(&mut config);
        let server = bind(config).await;
        let handle = server.handle();
        let running = tokio::spawn(server.run(std::future::pending()));
        Self { address: handle.addresses()[0], handle, running }
    }

    /// Stops the server and waits until it has ended.
    pub async fn stop(self) {
        self.handle.shutdown();
        timeout(PATIENCE, self.running).await.expect("the server ends").expect("the server doesn't panic");
    }

    /// Returns one metric of `/metrics`, or 0 if it is not listed yet.
    pub fn metric(&self, name_and_labels: &str) -> f64 {
        let page = self.handle.metrics();
        let line = page.lines().find_map(|line| line.strip_prefix(name_and_labels)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().expect("the value is a number"))
    }

    /// Waits until a figure of `/metrics` has a value.
    pub async fn until_metric(&self, name_and_labels: &str, holds: impl Fn(f64) -> bool) {
        let waiting = async {
            while !holds(self.metric(name_and_labels)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if timeout(PATIENCE, waiting).await.is_err() {
            panic!("{name_and_labels} stays {}", self.metric(name_and_labels));
        }
    }

    /// Sends bytes on a TCP connection. Returns all bytes that arrive until the server closes the connection.
    pub async fn raw(&self, request: &str) -> String {
        String::from_utf8_lossy(&self.raw_bytes(request).await).into_owned()
    }

    async fn raw_bytes(&self, request: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).await.expect("the server listens");
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer))
            .await
            .expect("the connection ends")
            .expect("the answer can be read");
        answer
    }

    /// Requests a page. The answer includes its head.
    pub async fn get(&self, path: &str) -> String {
        self.get_with(path, "").await
    }

    /// Requests a page with more headers. Each header must include its line end.
    pub async fn get_with(&self, path: &str, headers: &str) -> String {
        String::from_utf8_lossy(&self.bytes_with(path, headers).await).into_owned()
    }

    /// Like [`get_with`](Self::get_with), for pages that are not text.
    pub async fn bytes_with(&self, path: &str, headers: &str) -> Vec<u8> {
        self.raw_bytes(&format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n"
        ))
        .await
    }

    /// Opens a WebSocket without sending a message.
    pub async fn connect(&self, path: &str) -> Result<WebSocketStream<TcpStream>, tungstenite::Error> {
        self.connect_from([127, 0, 0, 1], path).await
    }

    /// Opens a WebSocket from another loopback address. The server's limits count each loopback address separately.
    pub async fn connect_from(
        &self,
        source: [u8; 4],
        path: &str,
    ) -> Result<WebSocketStream<TcpStream>, tungstenite::Error> {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind((source, 0).into())?;
        self.upgrade(socket, path).await
    }

    async fn upgrade(
        &self,
        socket: tokio::net::TcpSocket,
        path: &str,
    ) -> Result<WebSocketStream<TcpStream>, tungstenite::Error> {
        let stream = socket.connect(self.address).await?;
        stream.set_nodelay(true)?;
        let request = format!("ws://{}{path}", self.address).into_client_request()?;
        let config = WebSocketConfig::default().read_buffer_size(16 * 1024);
        Ok(client_async_with_config(request, stream, Some(config)).await?.0)
    }

    /// Joins, and waits for the welcome and the world's entities.
    pub async fn join(&self, room: &str, parameters: &str) -> Player {
        let socket = self.connect(&format!("/ws/{room}?{parameters}")).await.expect("the room has space");
        Self::welcomed(socket, parameters).await
    }

    /// Joins a server that another process runs.
    pub async fn join_at(address: SocketAddr, room: &str, parameters: &str) -> Player {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("the option can be set");
        let request = format!("ws://{address}/ws/{room}?{parameters}");
        let (socket, _) = client_async_with_config(request, stream, None).await.expect("the room has space");
        Self::welcomed(socket, parameters).await
    }

    /// Joins with a socket whose receive buffer is as small as possible.
    pub async fn join_narrowly(&self, room: &str, parameters: &str) -> Player {
        let socket = tokio::net::TcpSocket::new_v4().expect("there are files left");
        socket.set_recv_buffer_size(4_096).expect("the option can be set");
        let path = format!("/ws/{room}?{parameters}");
        let socket = self.upgrade(socket, &path).await.expect("the room has space");
        Self::welcomed(socket, parameters).await
    }

    async fn welcomed(socket: WebSocketStream<TcpStream>, parameters: &str) -> Player {
        let encoding = parameters
            .split('&')
            .find_map(|parameter| parameter.strip_prefix("encoding="))
            .map_or(Encoding::Json, |name| name.parse().expect("the text is an encoding"));
        let mut player = Player::new(socket, encoding);
        let ServerMessage::Welcome { player: id, .. } = player.next().await else {
            panic!("the first message is the welcome");
        };
        player.id = id;
        while !matches!(player.next().await, ServerMessage::Spawn { .. }) {}
        player
    }
}

/// A client of the plain protocol that has joined.
pub struct Player {
    pub socket: WebSocketStream<TcpStream>,
    pub encoding: Encoding,
    /// The player's number.
    pub id: u32,
    /// The player's view of the world, built from the messages that it read.
    pub view: View,
}

impl Player {
    pub fn new(socket: WebSocketStream<TcpStream>, encoding: Encoding) -> Self {
        Self { socket, encoding, id: 0, view: View::default() }
    }

    /// Returns the entity that the player moves.
    pub fn avatar(&self) -> u32 {
        self.view.avatar(self.id).expect("the player has an avatar")
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.view.players[&self.id].name
    }

    /// Sends an action that the world declares.
    pub async fn act(&mut self, action: &str, arguments: &[(&str, Value)]) {
        let arguments = map(arguments);
        self.say(ClientMessage::Act { action: action.into(), arguments, number: None }).await;
    }

    /// Sends a numbered action, which happens exactly once.
    pub async fn act_once(&mut self, number: u32, action: &str, arguments: &[(&str, Value)]) {
        let (action, arguments) = (action.into(), map(arguments));
        self.say(ClientMessage::Act { action, arguments, number: Some(number) }).await;
    }

    /// Reads until the view satisfies a condition.
    pub async fn until_view(&mut self, what: &str, holds: impl Fn(&View) -> bool) {
        let waiting = async {
            while !holds(&self.view) {
                self.next().await;
            }
        };
        let in_time = timeout(PATIENCE, waiting).await;
        assert!(in_time.is_ok(), "{what} did not come: {}", self.view.beginning());
    }

    pub async fn say(&mut self, message: ClientMessage) {
        self.send(message.encode(self.encoding)).await;
    }

    pub async fn send(&mut self, frame: Frame) {
        let message = match frame {
            Frame::Text(text) => Message::Text(text.into()),
            Frame::Binary(bytes) => Message::Binary(bytes.into()),
        };
        // The server may have closed the connection already. Other code checks the close reason.
        let _ = self.socket.send(message).await;
    }

    /// Reads the next message.
    pub async fn next(&mut self) -> ServerMessage {
        loop {
            let message = timeout(PATIENCE, self.socket.next()).await.expect("the server sends a message");
            let message = message.expect("the connection is open").expect("the connection is whole");
            let frame = match &message {
                Message::Text(text) => FrameRef::Text(text.as_str()),
                Message::Binary(bytes) => FrameRef::Binary(bytes),
                Message::Close(frame) => panic!("closed: {frame:?}"),
                _ => continue,
            };
            let message =
                ServerMessage::decode(self.encoding, frame).expect("the server speaks the protocol");
            self.view.take_plain(&message);
            return message;
        }
    }

    /// Reads until `wanted` accepts a message.
    pub async fn until<T>(&mut self, mut wanted: impl FnMut(&ServerMessage) -> Option<T>) -> T {
        let waiting = async {
            loop {
                if let Some(found) = wanted(&self.next().await) {
                    return found;
                }
            }
        };
        timeout(PATIENCE, waiting).await.expect("a message arrives")
    }

    /// Reads until the next chat line. Returns its speaker and text.
    pub async fn until_chat(&mut self) -> (String, String) {
        self.until(|message| match message {
            ServerMessage::Chat { name, text, .. } => Some((name.clone(), text.clone())),
            _ => None,
        })
        .await
    }

    /// Reads to the end and returns the close code and reason.
    pub async fn until_closed(mut self) -> (u16, String) {
        let reading = async {
            loop {
                match self.socket.next().await {
                    Some(Ok(Message::Close(Some(frame)))) => {
                        let answer = (frame.code.into(), frame.reason.to_string());
                        // A further read answers the close frame.
                        while let Some(Ok(_)) = self.socket.next().await {}
                        return answer;
                    }
                    Some(Ok(_)) => {}
                    other => panic!("ended without a reason: {other:?}"),
                }
            }
        };
        timeout(PATIENCE, reading).await.expect("the server closes")
    }
}
