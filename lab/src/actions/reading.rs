//! Reads the counts of a world's rules, as a client that joins.

use std::collections::BTreeMap;
use std::time::Duration;

use nowcast::{CarrierKind, Connector};
use nowcast_world_client::{Join, Update, WorldClient};
use nowcast_world_protocol::session::Screen;
use tokio::time::{sleep, timeout};

use crate::crash::ledger::{Carried, read_saved};

/// The name by which the rules recognise the reader.
const READER: &str = "reader";

/// Time for an attempt, and for all attempts. A cluster first waits for the lease of the killed server.
const TRY_MAX: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(120);
const RETRY: Duration = Duration::from_millis(100);

/// Returns the counts of all clients.
pub(super) async fn read(url: String, clients: u16) -> Result<Vec<Carried>, String> {
    let mut trouble = "no attempt".to_owned();
    let attempts = async {
        loop {
            match timeout(TRY_MAX, attempt(&url)).await {
                Ok(Ok(shown)) => return shown,
                Ok(Err(error)) => trouble = error,
                Err(_) => trouble = "the counts are not complete".to_owned(),
            }
            sleep(RETRY).await;
        }
    };
    let shown = timeout(PATIENCE, attempts).await;
    let shown = shown.map_err(|_| format!("the counts were not read: {trouble}"))?;
    of_clients(&shown, clients)
}

/// Joins, and returns the lines of all clients once the rules have shown them all.
async fn attempt(url: &str) -> Result<Shown, String> {
    let connector = Connector::new().carriers([CarrierKind::WebSocket]);
    let channel = connector.connect(url).await.map_err(|error| error.to_string())?;
    let mut client = WorldClient::join(channel, Join::new(READER)).map_err(|error| error.to_string())?;
    let (mut places, mut announced) = (BTreeMap::new(), None);
    loop {
        let update = client.receive().await.map_err(|error| error.to_string())?;
        let Update::Screen(number) = update else { continue };
        let Some(Screen { place, value, .. }) = client.view().screen(number) else { continue };
        let text = value.as_text().unwrap_or_default();
        if place == "total" {
            let numbers = text
                .split_once(' ')
                .and_then(|(lines, total)| Some((lines.parse::<usize>().ok()?, total.parse::<u64>().ok()?)));
            announced = Some(numbers.ok_or_else(|| format!("the total is {text:?}"))?);
        } else if place.starts_with("counts-") {
            places.insert(place.clone(), text.lines().map(str::to_owned).collect::<Vec<_>>());
        }
        if let Some((lines, total)) = announced
            && places.values().map(Vec::len).sum::<usize>() == lines
        {
            return Ok(Shown { lines: places.into_values().flatten().collect(), total });
        }
    }
}

/// The counts as the rules show them.
struct Shown {
    lines: Vec<String>,
    /// The number of applied actions of all clients.
    total: u64,
}

fn of_clients(shown: &Shown, clients: u16) -> Result<Vec<Carried>, String> {
    let mut found = vec![None; usize::from(clients)];
    for line in &shown.lines {
        let (client, carried) = read_saved(line).ok_or_else(|| format!("a count is {line:?}"))?;
        match found.get_mut(usize::from(client)) {
            Some(place @ None) => *place = Some(carried),
            _ => return Err(format!("client {client} has several players, or none")),
        }
    }
    let carried: Vec<Carried> = found.into_iter().map(Option::unwrap_or_default).collect();
    let sum = carried.iter().map(Carried::times).sum::<u64>();
    if sum == shown.total {
        Ok(carried)
    } else {
        Err(format!("the players have {sum} actions, and the state of the world has {}", shown.total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[&str], total: u64) -> Shown {
        Shown { lines: lines.iter().map(ToString::to_string).collect(), total }
    }

    #[test]
    fn counts_of_players_and_of_the_state_must_agree() {
        let read = of_clients(&shown(&["2 5 3 5,6", "0 1 1 "], 6), 3).unwrap();
        assert_eq!(read.iter().map(Carried::times).collect::<Vec<_>>(), [1, 0, 5]);
        for wrong in [
            shown(&["2 5 3 5,6"], 6),
            shown(&["0 1 1 ", "0 1 1 "], 2),
            shown(&["3 1 1 "], 1),
            shown(&["x"], 0),
        ] {
            assert!(of_clients(&wrong, 3).is_err(), "{:?}", wrong.lines);
        }
    }
}
