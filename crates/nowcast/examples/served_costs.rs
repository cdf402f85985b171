//! Sends states from 20 clients over WebTransport to applications of the engine, which send each one back: `served_costs ROUNDS`.
//! `cargo xtask costs` counts the instructions of a client's round, at both ends together.

use std::error::Error;
use std::task::Context;
use std::time::Instant;

use nowcast::{CarrierKind, Connector, Entry, ListenConfig, Listener};
use nowcast_engine::session::{MessageKind, PacketOutcome, Source};
use nowcast_engine::{Application, DrivenSession};

const CLIENTS: usize = 20;

/// Sends each state back.
#[derive(Default)]
struct Echo {
    bytes: Vec<u8>,
}

impl Application for Echo {
    fn turn(&mut self, session: &mut DrivenSession, _context: &mut Context<'_>) {
        while let Some(message) = session.receive_into(&mut self.bytes) {
            let MessageKind::State { key } = message.kind else { continue };
            session.put_state(message.lane, key, &self.bytes, Instant::now()).expect("there is room");
        }
    }
}

/// Writes nothing into packets besides the states.
impl Source for Echo {
    fn has_more(&self, _lane: u8) -> bool {
        false
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, _packet: &mut Vec<u8>) {}

    fn on_outcome(&mut self, _outcome: PacketOutcome) {}
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let rounds: u32 = std::env::args().nth(1).ok_or("usage: served_costs ROUNDS")?.parse()?;
    let listener = Listener::bind(ListenConfig::loopback(0)).await?;
    let _acceptor = listener.serve("echo", |_: Entry| Box::new(Echo::default()) as Box<dyn Application>)?;
    let url = format!("nowcast://127.0.0.1:{}/echo", listener.port());
    let connector = Connector::new().carriers([CarrierKind::WebTransport]);
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(connector.connect(&url).await?);
    }
    for round in 0..rounds {
        for client in &clients {
            client.try_state(1, &round.to_le_bytes())?;
        }
        for client in &clients {
            assert_eq!(client.receive().await?.bytes, round.to_le_bytes());
        }
    }
    Ok(())
}
