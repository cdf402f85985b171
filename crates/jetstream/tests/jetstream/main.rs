//! The store on real nats-servers.

#[path = "../../../store/tests/store/conformance.rs"]
mod conformance;
#[path = "../../../store/tests/store/garden.rs"]
mod garden;

mod accounts;
mod bad_input;
mod faults;
mod members;
mod scenarios;

use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use nowcast_cluster::{Name, ServerId};
use nowcast_dev_nats::Cluster;
use nowcast_jetstream::{JetStreamStore, Link, LinkOptions, StoreOptions};
use nowcast_store::{Completion, Lost, WorldName};

/// A deadline that is long enough for a machine that many tests share. No measurement depends on it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Servers in a folder of their own, which is removed with them.
struct Servers {
    cluster: Option<Cluster>,
    folder: PathBuf,
}

impl Servers {
    fn start(count: usize) -> Servers {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let program = nowcast_dev_nats::for_tests();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("nowcast-jetstream-{}-{number}", std::process::id()));
        let cluster = Cluster::start(&program, &folder, count).expect("the servers start");
        Servers { cluster: Some(cluster), folder }
    }

    fn cluster(&mut self) -> &mut Cluster {
        self.cluster.as_mut().expect("the servers run until the drop")
    }

    fn address(&self) -> String {
        self.cluster.as_ref().expect("the servers run until the drop").address()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        drop(self.cluster.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The address of three servers that the tests share. They end with this process.
fn shared() -> String {
    static SHARED: OnceLock<Mutex<Servers>> = OnceLock::new();
    let servers = SHARED.get_or_init(|| {
        let servers = Servers::start(3);
        // A store waits until all servers have found each other. A bucket that is opened without a store does not wait.
        drop(open(&servers.address(), &own_name(), false));
        Mutex::new(servers)
    });
    servers.lock().expect("no test panics while it starts the servers").address()
}

/// Options with a name that no other test has.
fn own_name() -> LinkOptions {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("test{}", COUNT.fetch_add(1, Ordering::Relaxed));
    LinkOptions { name, ..LinkOptions::default() }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Runtime::new().expect("threads can be started")).block_on(future)
}

/// Opens a store as a server with an ID of its own.
fn open(address: &str, options: &LinkOptions, claims_on_demand: bool) -> JetStreamStore {
    static STARTS: AtomicU64 = AtomicU64::new(1);
    let incarnation = STARTS.fetch_add(1, Ordering::Relaxed);
    let server = ServerId { name: Name::new("test").expect("the name is valid"), incarnation };
    let store = StoreOptions { server, claims_on_demand, ..StoreOptions::default() };
    block_on(async {
        let link = Link::connect(address, options.clone()).await.expect("the servers answer");
        assert_eq!(link.warnings(), [] as [String; 0], "the built release has no known losses");
        JetStreamStore::open(link, store).await.expect("the buckets can be made")
    })
}

/// Connects as a program that is not of ours.
async fn plain_client(address: &str) -> Result<async_nats::Client, async_nats::ConnectError> {
    let servers: Vec<async_nats::ServerAddr> =
        address.split(',').map(|server| server.parse().expect("the address is valid")).collect();
    let (user, password) = (nowcast_dev_nats::USER.to_owned(), nowcast_dev_nats::PASSWORD.to_owned());
    async_nats::ConnectOptions::with_user_and_password(user, password).connect(servers).await
}

fn name(name: &str) -> WorldName {
    WorldName::new(name).expect("the name is valid")
}

/// A completion, and the receiver of its result.
fn completion() -> (Completion, Receiver<Result<(), Lost>>) {
    let (tell, told) = channel();
    (
        Box::new(move |outcome| {
            // The receiver is gone if the test has ended.
            let _ = tell.send(outcome);
        }),
        told,
    )
}

/// Number of seeds, or of rounds. `NOWCAST_SEEDS=1000` runs the long form.
fn seeds(_: u64) -> u64 {
    let given =
        std::env::var("NOWCAST_SEEDS").ok().map(|text| text.parse().expect("NOWCAST_SEEDS is a number"));
    assert_ne!(given, Some(0), "NOWCAST_SEEDS=0: the tests would check nothing");
    given.unwrap_or(1)
}
