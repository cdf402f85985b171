//! Zenoh between two peers without a router, as its authors suggest for such traffic. One session uses two links, and each
//! message takes the link that suits it.
//!
//! Zenoh itself never retransmits. Its `Reliability` selects a link. So events are reliable, block if they cannot be sent, have
//! the highest priority, are not batched, and use TCP. States are best effort, are dropped if they would have to wait, and use
//! UDP. Every key is a separate resource. Batches have the size of a packet, because a larger batch is lost if any of its
//! fragments is lost. Scouting and gossip are disabled, and the endpoints are given. The `lowlatency` transport is disabled,
//! because it has neither priorities nor batches: a hundred keys in a tick would be a hundred packets.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use zenoh::handlers::FifoChannelHandler;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority, Reliability};
use zenoh::sample::Sample;
use zenoh::{Config, Wait as _};

use super::{Connection, End, Message, OPEN_TIMEOUT, PeerError, Work};

/// The links of the session: TCP and UDP.
const LINKS: usize = 2;
/// Maximum size of a batch. With the headers of IP and UDP, it is one packet on the link.
const BATCH_BYTES: usize = 1_400;
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

pub(super) struct Zenoh {
    /// `Some` until the drop. A separate thread ends the node.
    node: Option<Node>,
}

/// Fields are dropped in this order: the declarations before their session.
struct Node {
    /// The publishers by key. Each is declared when it is first used.
    publishers: HashMap<u16, Publisher<'static>>,
    subscriber: Subscriber<FifoChannelHandler<Sample>>,
    session: zenoh::Session,
    /// The address on which the other end listens.
    to: &'static str,
}

impl Zenoh {
    pub(super) async fn open(
        end: End,
        address: SocketAddr,
        listening: &mut dyn FnMut(),
    ) -> Result<Self, PeerError> {
        let (listens, is_listening) = oneshot::channel();
        let (opened, open) = oneshot::channel();
        // Zenoh refuses to wait inside a runtime with a single thread.
        thread::spawn(move || {
            let node = Node::open(end, address).and_then(|node| {
                // The thread that waits for this signal may have ended.
                let _ = listens.send(());
                node.wait_until_linked()
            });
            drop(opened.send(node));
        });
        if is_listening.await.is_ok() && end == End::Far {
            listening();
        }
        let node = open.await.map_err(|_| PeerError::Closed)?.map_err(PeerError::stack("open"))?;
        Ok(Self { node: Some(node) })
    }

    fn node(&mut self) -> &mut Node {
        self.node.as_mut().expect("the node exists until the drop")
    }
}

impl Drop for Zenoh {
    fn drop(&mut self) {
        let node = self.node.take();
        // Closing also waits. A failure no longer matters.
        let _ = thread::spawn(move || drop(node)).join();
    }
}

impl Node {
    fn open(end: End, address: SocketAddr) -> Result<Node, zenoh::Error> {
        let (from, to) = match end {
            End::Near => ("near", "far"),
            End::Far => ("far", "near"),
        };
        let session = zenoh::open(config(end, address)?).wait()?;
        let subscriber = session.declare_subscriber(format!("lab/{from}/*")).wait()?;
        Ok(Node { publishers: HashMap::new(), subscriber, session, to })
    }

    /// Waits for both links, and until the other end listens. Messages that are put before the other end listens would be lost.
    fn wait_until_linked(mut self) -> Result<Node, zenoh::Error> {
        let deadline = Instant::now() + OPEN_TIMEOUT;
        loop {
            let links = self.session.info().links().wait().count();
            if links >= LINKS && self.publisher(0)?.matching_status().wait()?.matching() {
                return Ok(self);
            }
            if Instant::now() > deadline {
                return Err(format!("{links} of {LINKS} links after {} s", OPEN_TIMEOUT.as_secs()).into());
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }

    fn publisher(&mut self, key: u16) -> Result<&Publisher<'static>, zenoh::Error> {
        if !self.publishers.contains_key(&key) {
            let publisher = self.session.declare_publisher(format!("lab/{}/{key}", self.to));
            let publisher = if key == 0 {
                publisher
                    .reliability(Reliability::Reliable)
                    .congestion_control(CongestionControl::Block)
                    .priority(Priority::RealTime)
                    .express(true)
            } else {
                publisher.reliability(Reliability::BestEffort).congestion_control(CongestionControl::Drop)
            };
            self.publishers.insert(key, publisher.wait()?);
        }
        Ok(&self.publishers[&key])
    }
}

fn config(end: End, address: SocketAddr) -> Result<Config, zenoh::Error> {
    let endpoints = format!(r#"["tcp/{address}?rel=1", "udp/{address}?rel=0"]"#);
    let (listen, connect) = match end {
        End::Far => (endpoints.as_str(), "[]"),
        End::Near => ("[]", endpoints.as_str()),
    };
    // With this setting, a lost packet during the opening is noticed after one second instead of ten.
    Config::from_json5(&format!(
        r#"{{
            mode: "peer",
            listen: {{ endpoints: {listen} }},
            connect: {{ endpoints: {connect}, retry: {{ period_init_ms: 100, period_max_ms: 100 }} }},
            scouting: {{ multicast: {{ enabled: false }}, gossip: {{ enabled: false }} }},
            transport: {{
                unicast: {{ max_links: {LINKS}, open_timeout: 1000, accept_timeout: 1000 }},
                link: {{ tx: {{ batch_size: {BATCH_BYTES}, queue: {{ size: {{ data: 16 }} }} }} }},
            }},
        }}"#
    ))
}

/// Converts a sample. The key of the message is the last part of the name of the resource.
fn message(sample: &Sample) -> Result<Message, PeerError> {
    let key = sample.key_expr().as_str().rsplit('/').next().and_then(|key| key.parse().ok());
    let key = key.ok_or(PeerError::Frame("the name of its resource"))?;
    Ok(Message { key, bytes: sample.payload().to_bytes().into_owned() })
}

impl Connection for Zenoh {
    fn put(&mut self, key: u16, bytes: &[u8]) -> Result<(), PeerError> {
        let publisher = self.node().publisher(key).map_err(PeerError::stack("declare"))?;
        publisher.put(bytes).wait().map_err(PeerError::stack("put"))
    }

    fn work<'a>(&'a mut self, until: Instant, messages_max: usize, inbox: &'a mut Vec<Message>) -> Work<'a> {
        Box::pin(async move {
            let subscriber = &self.node().subscriber;
            let Ok(first) = timeout_at(until, subscriber.recv_async()).await else { return Ok(()) };
            inbox.push(message(&first.map_err(|_| PeerError::Closed)?)?);
            for _ in 1..messages_max {
                let Ok(Some(sample)) = subscriber.try_recv() else { break };
                inbox.push(message(&sample)?);
            }
            Ok(())
        })
    }
}
