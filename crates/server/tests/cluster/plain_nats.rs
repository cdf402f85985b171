//! A plain client of NATS, as programs outside of the servers use one.

use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::common::PATIENCE;

/// The subject of answers.
const INBOX: &str = "_INBOX.test";

/// A client with one subscription.
pub(crate) struct PlainNats(BufReader<TcpStream>);

impl PlainNats {
    /// Connects, and subscribes to a subject.
    pub(crate) async fn subscribe(nats: &nowcast_dev_nats::Cluster, subject: &str) -> PlainNats {
        let address = nats.address_of(0);
        let address = address.strip_prefix("nats://").expect("the address has a scheme").to_owned();
        let stream = TcpStream::connect(address).await.expect("the server listens");
        let mut client = PlainNats(BufReader::new(stream));
        let (user, pass) = (nowcast_dev_nats::USER, nowcast_dev_nats::PASSWORD);
        let options = json!({
            "user": user, "pass": pass, "verbose": false, "pedantic": false, "headers": true, "no_responders": true,
        });
        client.write(format!("CONNECT {options}\r\nSUB {subject} 1\r\nPING\r\n").as_bytes()).await;
        while client.line().await.trim() != "PONG" {}
        client
    }

    /// Connects, and waits for answers.
    pub(crate) async fn requester(nats: &nowcast_dev_nats::Cluster) -> PlainNats {
        Self::subscribe(nats, INBOX).await
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.expect("the server reads");
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.0.read_line(&mut line)).await;
        assert_ne!(read.expect("a line comes").expect("the server goes on"), 0);
        line
    }

    /// Returns the subject of the next message, and its content; null for a message without content.
    pub(crate) async fn next(&mut self) -> (String, Json) {
        loop {
            let line = self.line().await;
            if line.trim() == "PING" {
                self.write(b"PONG\r\n").await;
            }
            // A message with headers ends with the length of the headers, and that of the whole.
            let with_headers = line.strip_prefix("HMSG ");
            let Some(head) = with_headers.or_else(|| line.strip_prefix("MSG ")) else { continue };
            let words: Vec<&str> = head.split_whitespace().collect();
            let number =
                |word: &str| word.parse::<usize>().expect("the line ends with the lengths of the message");
            let bytes = number(words[words.len() - 1]);
            let skipped = if with_headers.is_some() { number(words[words.len() - 2]) } else { 0 };
            let mut content = vec![0; bytes];
            self.0.read_exact(&mut content).await.expect("the message is complete");
            let content = &content[skipped..];
            let json = if content.is_empty() { Ok(Json::Null) } else { serde_json::from_slice(content) };
            return (words[0].to_owned(), json.expect("messages are JSON"));
        }
    }

    /// Publishes a message without waiting for an answer.
    pub(crate) async fn publish(&mut self, subject: &str, body: &str) {
        self.write(format!("PUB {subject} {}\r\n{body}\r\n", body.len()).as_bytes()).await;
    }

    /// Sends a request. Returns the answer; null if no program receives the subject.
    pub(crate) async fn request(&mut self, subject: &str, body: &str) -> Json {
        self.write(format!("PUB {subject} {INBOX} {}\r\n{body}\r\n", body.len()).as_bytes()).await;
        self.next().await.1
    }
}
