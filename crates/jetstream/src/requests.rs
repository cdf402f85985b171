//! Requests by programs outside the servers, on a subject of the cluster.

use async_nats::{Client, Message, Subscriber};
use futures_util::StreamExt as _;

use crate::{ClusterError, Link};

/// The requests on a subject, until the value is dropped.
pub struct Requests {
    client: Client,
    messages: Subscriber,
}

/// A request, or a message without a subject for the answer.
pub struct Request {
    client: Client,
    message: Message,
}

impl Requests {
    /// Receives the requests on a subject, which begins with the name of the cluster. While no program receives them, NATS
    /// answers that there are no responders.
    ///
    /// # Errors
    /// Fails if the connection has ended.
    pub async fn receive(link: &Link, subject: &str) -> Result<Requests, ClusterError> {
        let client = link.client().clone();
        let subscribed = client.subscribe(link.subject(subject)).await;
        let messages = subscribed
            .map_err(|error| ClusterError::request(format!("cannot receive requests on {subject}"), error))?;
        Ok(Requests { client, messages })
    }

    /// Returns the next request; `None` after the end of the connection.
    pub async fn next(&mut self) -> Option<Request> {
        let message = self.messages.next().await?;
        Some(Request { client: self.client.clone(), message })
    }
}

impl Request {
    /// The content.
    pub fn body(&self) -> &[u8] {
        &self.message.payload
    }

    /// Sends the answer, if the sender waits for one.
    pub async fn answer(self, bytes: Vec<u8>) {
        if let Some(reply) = self.message.reply {
            // The sender gives up after its own limit.
            let _ = self.client.publish(reply, bytes.into()).await;
        }
    }
}
