//! Measures the time from a durable action to its confirmation: by SQLite in a folder, and by three nats-servers on this
//! machine. `cargo run --example confirmation --package nowcast-jetstream -- 500`

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use nowcast_dev_nats::Cluster;
use nowcast_jetstream::{JetStreamStore, Link, LinkOptions, StoreOptions};
use nowcast_store::{ActionId, Batch, Continuity, Options, Snapshot, SqliteStore, Store, WorldName};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: u64 = std::env::args().nth(1).map_or(Ok(500), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("nowcast-confirmation-{}", std::process::id()));
    let program = nowcast_dev_nats::install(Path::new("target/nats"))?;
    let cluster = Cluster::start(&program, &folder, 3)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let store = runtime.block_on(async {
        let link = Link::connect(&cluster.address(), LinkOptions::default()).await?;
        JetStreamStore::open(link, StoreOptions { claims_on_demand: true, ..StoreOptions::default() }).await
    })?;
    measure("JetStream, three replicas", &store, count)?;
    drop(store);
    let store = SqliteStore::open(&folder.join("sqlite"), Options::default())?;
    measure("SQLite", &store, count)?;
    drop((store, cluster));
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Stores actions one after the other, each in a batch of its own, and prints the times to their confirmations.
fn measure(what: &str, store: &dyn Store, count: u64) -> Result<(), Box<dyn std::error::Error>> {
    let world = WorldName::new("plaza")?;
    store.snapshot(&world, Snapshot::default(), Continuity::BeginsAnew, Vec::new())?;
    store.commit(Duration::from_secs(60))?;
    let mut times = Vec::new();
    for number in 1..=count {
        let done = vec![ActionId { client: [7; 16], number }];
        let batch =
            Batch { from_tick: number - 1, through_tick: number, time_ms: number, done, ..Batch::default() };
        let (tell, told) = channel();
        let begun = Instant::now();
        store.append(&world, batch, vec![Box::new(move |outcome| _ = tell.send(outcome))])?;
        told.recv()??;
        times.push(begun.elapsed());
    }
    times.sort();
    let at = |permille: usize| times[(times.len() - 1) * permille / 1_000].as_secs_f64() * 1_000.0;
    println!(
        "{what}: {count} confirmations, p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, worst {:.1} ms",
        at(500),
        at(900),
        at(990),
        at(1_000)
    );
    Ok(())
}
