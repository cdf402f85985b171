//! Requests between the servers of a cluster, and from the operator's commands. They travel as requests of NATS, whose
//! credentials authenticate them.

use std::future::Future;
use std::time::Duration;

use futures_util::StreamExt as _;
use nowcast_cluster::Name;
use nowcast_wire::{Effort, Limits, Wire};

use crate::{ClusterError, Link};

/// Maximum time for the answer to a request. It is longer than a move in which each step takes its longest time.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);

const LIMITS: Limits = Limits { memory_bytes_max: 64 << 10, ..Limits::MESSAGE };

/// A request to one server.
#[derive(Wire, Clone, Debug, PartialEq, Eq)]
pub enum ControlRequest {
    /// Move a room to another server.
    Move {
        /// The name of the room.
        room: String,
        /// The name of the server that gets the room.
        target: String,
    },
    /// Take no new rooms, and move the next room to another server. [`drain`] repeats it until no room is left.
    Drain,
    /// Let clients enter a room that moves to the server, and wait there.
    Expect {
        /// The name of the room.
        room: String,
    },
    /// Answer when this number of clients wait for a room that moves to the server, or after a limited time.
    Gather {
        /// The name of the room.
        room: String,
        /// The number of clients.
        clients: u32,
    },
    /// Read the newest snapshot of a room that moves to the server.
    Prepare {
        /// The name of the room.
        room: String,
    },
    /// Take a room whose owner has stopped it: append the head to its journal, run it, and answer when it runs. The directory
    /// names the server as the target.
    Commit {
        /// The name of the room.
        room: String,
        /// The epoch of the target in the directory.
        epoch: u64,
        /// The sequence number of the last message in the journal of the room.
        last: u64,
        /// The time since the room stopped, in microseconds.
        stood_us: u64,
    },
}

/// The answer to a request.
#[derive(Wire, Clone, Debug, PartialEq, Eq)]
pub enum ControlAnswer {
    /// The request was carried out.
    Done {
        /// The result as a sentence.
        text: String,
    },
    /// The request failed.
    Failed {
        /// The reason and its cure.
        cause: String,
    },
    /// A part of the request was carried out.
    Continues {
        /// The result as a sentence.
        text: String,
    },
}

impl ControlAnswer {
    /// Returns the sentence, or the cause of the failure.
    ///
    /// # Errors
    /// The cause, if the request failed.
    pub fn into_result(self) -> Result<String, String> {
        match self {
            Self::Done { text } | Self::Continues { text } => Ok(text),
            Self::Failed { cause } => Err(cause),
        }
    }
}

/// Moves all rooms of a server to others, one after the other. The server takes no new ones. `report` gets a sentence for each
/// room except the last. Returns the last answer.
///
/// # Errors
/// Fails if the server does not answer for longer than the move of a room takes.
pub async fn drain(
    link: &Link,
    server: Name,
    mut report: impl FnMut(&str),
) -> Result<ControlAnswer, ClusterError> {
    loop {
        match ControlRequest::Drain.send(link, server).await? {
            ControlAnswer::Continues { text } => report(&text),
            answer => return Ok(answer),
        }
    }
}

impl ControlRequest {
    /// Sends the request to a server, and waits for its answer.
    ///
    /// # Errors
    /// Fails if the server does not answer within 90 s.
    pub async fn send(&self, link: &Link, server: Name) -> Result<ControlAnswer, ClusterError> {
        self.send_within(link, server, ANSWER_WITHIN).await
    }

    /// Sends the request to a server, and waits for its answer for a limited time. A server of another release does not
    /// answer a request that it does not know.
    ///
    /// # Errors
    /// Fails if the server does not answer in time.
    pub async fn send_within(
        &self,
        link: &Link,
        server: Name,
        within: Duration,
    ) -> Result<ControlAnswer, ClusterError> {
        let failed = |why: &dyn std::fmt::Display| {
            ClusterError::request(format!("the server {server} does not answer"), why)
        };
        let mut bytes = Vec::new();
        nowcast_wire::encode_with(self, Effort::Small, &mut bytes);
        let request = link.client().send_request(
            subject(link, server),
            async_nats::Request::new().payload(bytes.into()).timeout(Some(within)),
        );
        let answer = request.await.map_err(|error| failed(&error))?;
        nowcast_wire::decode_with(&answer.payload, &LIMITS).map_err(|error| failed(&error))
    }
}

/// Answers the requests to a server until the connection ends. Requests are carried out at the same time.
///
/// # Errors
/// Fails if NATS refuses the subscription.
pub async fn answer_requests<F>(
    link: Link,
    server: Name,
    carry_out: impl Fn(ControlRequest) -> F,
) -> Result<(), ClusterError>
where
    F: Future<Output = ControlAnswer> + Send + 'static,
{
    let client = link.client().clone();
    let subscribed = client.subscribe(subject(&link, server)).await;
    let mut requests = subscribed
        .map_err(|error| ClusterError::request("cannot receive requests of other servers", error))?;
    while let Some(message) = requests.next().await {
        let Some(reply) = message.reply else { continue };
        // A message that is not a request of this release gets no answer, and its sender reports the missing one.
        let Ok(request) = nowcast_wire::decode_with::<ControlRequest>(&message.payload, &LIMITS) else {
            continue;
        };
        let (client, work) = (client.clone(), carry_out(request));
        tokio::spawn(async move {
            let answer = work.await;
            let mut bytes = Vec::new();
            nowcast_wire::encode_with(&answer, Effort::Small, &mut bytes);
            // The sender gives up after its own limit.
            let _ = client.publish(reply, bytes.into()).await;
        });
    }
    Ok(())
}

fn subject(link: &Link, server: Name) -> String {
    link.subject(&format!("control.{server}"))
}
