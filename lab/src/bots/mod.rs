//! Bots: many simple clients at once, which also measure.
//!
//! Bots use sessions, as our own clients do, or the plain protocol over WebSockets, as stock clients do. Meanwhile `/metrics` is
//! read once a second, so one report shows clients and server.

mod abilities;
mod brain;
mod client;
mod findings;
mod session_bot;

use std::time::Duration;

use nowcast_server::figures::Figures;
use nowcast_world_protocol::plain::Encoding;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::report::Report;
use client::Measurements;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of bots.
    pub count: usize,
    /// Seconds of play after all bots have joined.
    pub seconds: u64,
    /// Snapshots a second for each bot.
    pub hz: u32,
    /// The room of a server: `ws://host:port/ws/room`. Without a path, the room is `bots`.
    pub url: String,
    /// Protocol of the bots.
    pub protocol: Protocol,
    /// Seed of the bots' decisions.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            count: 50,
            seconds: 30,
            hz: 10,
            url: "ws://127.0.0.1:7777/ws/bots".into(),
            protocol: Protocol::Session,
            seed: 1,
        }
    }
}

/// Protocol of bots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A session over the best available carrier (`spec/WORLD.md`).
    Session,
    /// The plain protocol, with movement in this encoding.
    Plain(Encoding),
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Session => formatter.write_str("session"),
            Self::Plain(encoding) => write!(formatter, "plain --encoding {encoding}"),
        }
    }
}

/// The reason why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum BotsError {
    /// The address is not the address of a room.
    #[error("'{url}' is not the address of a room ({why}). Example: ws://127.0.0.1:7777/ws/plaza")]
    Address {
        /// The given address.
        url: String,
        /// The fault.
        why: &'static str,
    },
    /// No server answers at the address.
    #[error("no server answers at {host}: {cause}; start one with `nowcast serve`")]
    NoServer {
        /// The address.
        host: String,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The server admitted no bot.
    #[error("none of {count} bots could join; the reason of the first: {reason}")]
    NobodyJoined {
        /// Number of attempts.
        count: usize,
        /// The reason of one refusal.
        reason: String,
    },
    /// The runtime could not be started.
    #[error("the bots' runtime could not be started: {0}")]
    Runtime(std::io::Error),
}

/// The address of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Address {
    host: String,
    path: String,
}

/// Runs the bots to the end.
///
/// # Errors
/// If the address is invalid, no server answers, or no bot could join.
pub fn run(plan: &Plan) -> Result<Report, BotsError> {
    let address = parse(&plan.url)?;
    // All bots run on one thread, so that they take less processor time from the measured server.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(BotsError::Runtime)?;
    runtime.block_on(play(plan, address))
}

async fn play(plan: &Plan, address: Address) -> Result<Report, BotsError> {
    let no_server = |cause| BotsError::NoServer { host: address.host.clone(), cause };
    let before = Figures::fetch(&address.host, None).await.map_err(no_server)?;
    let start = Instant::now();
    let joining = Duration::from_millis(20) * plan.count as u32;
    let end = start + joining + Duration::from_secs(plan.seconds);

    let mut bots = JoinSet::new();
    for index in 0..plan.count {
        let (plan, address) = (plan.clone(), address.clone());
        // Fifty bots join in a second. This rate is like a rush of players, and not like an attack.
        let begin = start + Duration::from_millis(20) * index as u32;
        bots.spawn(async move {
            tokio::time::sleep_until(begin).await;
            match plan.protocol {
                Protocol::Session => session_bot::play(&plan, &address, index, end).await,
                Protocol::Plain(encoding) => client::play(&plan, encoding, &address, index, end).await,
            }
        });
    }
    let mut scrapes = vec![(Duration::ZERO, before)];
    let mut tick = tokio::time::interval_at(start + Duration::from_secs(1), Duration::from_secs(1));
    let mut measurements = Measurements::default();
    loop {
        tokio::select! {
            done = bots.join_next() => match done {
                Some(one) => measurements.add(one.expect("a bot ends by itself")),
                None => break,
            },
            _ = tick.tick() => if let Ok(figures) = Figures::fetch(&address.host, None).await {
                scrapes.push((start.elapsed(), figures));
            },
        }
    }
    if measurements.joined() == 0 {
        return Err(BotsError::NobodyJoined { count: plan.count, reason: measurements.first_refusal() });
    }
    Ok(findings::report(plan, joining, measurements, &scrapes))
}

fn parse(url: &str) -> Result<Address, BotsError> {
    let wrong = |why| BotsError::Address { url: url.to_owned(), why };
    let rest = url.strip_prefix("ws://").ok_or_else(|| wrong("it does not begin with ws://"))?;
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    if host.is_empty() {
        return Err(wrong("it names no host"));
    }
    if path.contains(['?', '#']) {
        return Err(wrong("the bots add the parameters themselves"));
    }
    let path = if path.is_empty() { "ws/bots" } else { path };
    let host = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:7777")
    };
    Ok(Address { host, path: format!("/{path}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_omit_its_usual_parts() {
        let address = |host: &str, path: &str| Address { host: host.into(), path: path.into() };
        assert_eq!(parse("ws://a:1/ws/plaza").unwrap(), address("a:1", "/ws/plaza"));
        assert_eq!(parse("ws://127.0.0.1:80").unwrap(), address("127.0.0.1:80", "/ws/bots"));
        assert_eq!(parse("ws://localhost/").unwrap(), address("localhost:7777", "/ws/bots"));
        for wrong in ["http://a/", "ws://", "ws:///ws/x", "ws://a/ws/x?encoding=json"] {
            assert!(
                parse(wrong).unwrap_err().to_string().contains("ws://127.0.0.1:7777/ws/plaza"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn no_server_is_one_line_with_a_cure() {
        let error = run(&Plan { url: "ws://127.0.0.1:1/ws/x".into(), ..Plan::default() }).unwrap_err();
        assert!(error.to_string().contains("start one with `nowcast serve`"), "{error}");
    }
}
