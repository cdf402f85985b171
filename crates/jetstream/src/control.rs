//! Requests between the servers of a cluster, and from the operator's commands, as requests of NATS, whose credentials
//! authenticate them.

use std::future::Future;
use std::time::{Duration, Instant};

use async_nats::client::RequestErrorKind;
use nowcast_cluster::{ControlAnswer, ControlRequest, Name, Record};

use crate::{ClusterError, Link, Requests};

/// Maximum time for the answer to a request. It is longer than a move in which each step takes its longest time.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);

/// Time for which a request is repeated while nobody listens. The nats-servers tell each other of a new listener a moment after it
/// has come.
const LISTENS_WITHIN: Duration = Duration::from_secs(2);

/// Pause before a request is repeated.
const LISTENS_PAUSE: Duration = Duration::from_millis(50);

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
        match send(link, server, &ControlRequest::Drain).await? {
            ControlAnswer::Continues { text } => report(&text),
            answer => return Ok(answer),
        }
    }
}

/// Sends a request to a server, and waits for its answer.
///
/// # Errors
/// Fails if the server does not answer within 90 s.
pub async fn send(
    link: &Link,
    server: Name,
    request: &ControlRequest,
) -> Result<ControlAnswer, ClusterError> {
    send_within(link, server, request, ANSWER_WITHIN).await
}

/// Sends a request to a server, and waits for its answer for a limited time. A server of another release does not answer a
/// request that it does not know.
///
/// # Errors
/// Fails if the server does not answer in time.
pub async fn send_within(
    link: &Link,
    server: Name,
    request: &ControlRequest,
    within: Duration,
) -> Result<ControlAnswer, ClusterError> {
    let failed = |why: &dyn std::fmt::Display| {
        ClusterError::request(format!("the server {server} does not answer"), why)
    };
    let payload = bytes::Bytes::from(request.to_bytes());
    let until = Instant::now() + LISTENS_WITHIN;
    let answer = loop {
        let request = async_nats::Request::new().payload(payload.clone()).timeout(Some(within));
        match link.client().send_request(link.subject(&subject(server)), request).await {
            Err(error) if error.kind() == RequestErrorKind::NoResponders && Instant::now() < until => {
                tokio::time::sleep(LISTENS_PAUSE).await;
            }
            outcome => break outcome.map_err(|error| failed(&error))?,
        }
    };
    ControlAnswer::from_bytes(&answer.payload).map_err(|error| failed(&error))
}

/// Answers the requests to a server until the connection ends. Requests are carried out at the same time.
///
/// # Errors
/// Fails if NATS refuses the subscription.
pub(crate) async fn answer_requests<F>(
    link: Link,
    server: Name,
    carry_out: impl Fn(ControlRequest) -> F,
) -> Result<(), ClusterError>
where
    F: Future<Output = ControlAnswer> + Send + 'static,
{
    let mut requests = Requests::receive(&link, &subject(server)).await?;
    while let Some(message) = requests.next().await {
        // A message that is not a request of this release gets no answer, and its sender reports the missing one.
        let Ok(request) = ControlRequest::from_bytes(message.body()) else { continue };
        let work = carry_out(request);
        tokio::spawn(async move {
            message.answer(work.await.to_bytes()).await;
        });
    }
    Ok(())
}

fn subject(server: Name) -> String {
    format!("control.{server}")
}
