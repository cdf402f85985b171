//! Keeps a name registered at a name server.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, sleep_until, timeout_at};

use super::client::{Line, NamesError};
use super::connection::{PING, SILENCE_MAX};
use super::protocol::{Answer, Refused, Request};

/// The pause after a first failure. Each further failure doubles it.
const WAIT_MIN: Duration = Duration::from_millis(250);

/// Maximum pause, so that a name is registered soon after a restart of the name server.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// A name that stays registered at a name server while this value exists, even if the name server restarts. Dropping the value
/// releases the name.
#[derive(Debug)]
pub struct Advertisement {
    status: watch::Receiver<AdvertisementStatus>,
    task: JoinHandle<()>,
}

/// Status of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdvertisementStatus {
    /// The registration has not been tried yet.
    Trying,
    /// The name is registered at the name server.
    Registered,
    /// No name server answers. The registration is retried.
    NoServer,
    /// The name server refuses the name. The registration is retried.
    Refused(Refused),
}

impl Advertisement {
    /// Advertises a service of this machine at a name server, while the returned value exists. `port` is the port of the
    /// service's endpoint. Must be called within a tokio runtime.
    #[must_use]
    pub fn start(server: SocketAddr, name: &str, port: u16) -> Advertisement {
        let (status, receiver) = watch::channel(AdvertisementStatus::Trying);
        let task = tokio::spawn(keep(server, Request::Advertise(name.to_owned(), port), status));
        Advertisement { status: receiver, task }
    }

    /// The present status.
    #[must_use]
    pub fn status(&self) -> AdvertisementStatus {
        *self.status.borrow()
    }

    /// Waits until the name is registered.
    ///
    /// # Errors
    /// If the name server refuses the name at the first attempts.
    pub async fn registered(&mut self) -> Result<(), Refused> {
        let decided = self.status.wait_for(|status| {
            matches!(status, AdvertisementStatus::Registered | AdvertisementStatus::Refused(_))
        });
        match decided.await.as_deref() {
            Ok(AdvertisementStatus::Refused(refused)) => Err(*refused),
            _ => Ok(()),
        }
    }

    /// Waits for the outcome of the first attempt, or the next change.
    pub async fn changed(&mut self) -> AdvertisementStatus {
        // The task ends only when this value is dropped.
        let _ = self.status.changed().await;
        self.status()
    }
}

impl Drop for Advertisement {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep(server: SocketAddr, request: Request, status: watch::Sender<AdvertisementStatus>) {
    let mut wait = WAIT_MIN;
    loop {
        let ended = hold(server, request.clone(), &status).await;
        let is_held = *status.borrow() == AdvertisementStatus::Registered;
        wait = if is_held { WAIT_MIN } else { (2 * wait).min(WAIT_MAX) };
        let now = match ended {
            NamesError::Refused(refused) => AdvertisementStatus::Refused(refused),
            _ => AdvertisementStatus::NoServer,
        };
        status.send_if_modified(|status| std::mem::replace(status, now) != now);
        sleep(wait).await;
    }
}

/// Registers the name and holds the connection until it ends.
async fn hold(
    server: SocketAddr,
    request: Request,
    status: &watch::Sender<AdvertisementStatus>,
) -> NamesError {
    let silent = || NamesError::Silent(server);
    let held = async {
        let mut line =
            timeout_at(in_future(SILENCE_MAX), Line::connect(server)).await.map_err(|_| silent())??;
        line.send(&request.line()).await?;
        match timeout_at(in_future(SILENCE_MAX), line.receive()).await.map_err(|_| silent())?? {
            Answer::Advertised { .. } => {}
            Answer::Error { error } => return Err(error.into()),
            _ => return Err(NamesError::NotOne(server)),
        }
        status.send_replace(AdvertisementStatus::Registered);
        let mut say_at = in_future(PING);
        let mut silent_at = in_future(SILENCE_MAX);
        loop {
            tokio::select! {
                heard = line.receive_any() => {
                    heard?;
                    silent_at = in_future(SILENCE_MAX);
                }
                () = sleep_until(say_at) => {
                    line.send("\n").await?;
                    say_at = in_future(PING);
                }
                () = sleep_until(silent_at) => return Err::<(), _>(silent()),
            }
        }
    };
    match held.await {
        Err(error) => error,
        Ok(()) => silent(),
    }
}

fn in_future(wait: Duration) -> tokio::time::Instant {
    (Instant::now() + wait).into()
}
