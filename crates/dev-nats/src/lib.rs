//! nats-servers for development and tests.
//!
//! [`install`] builds nats-server with the stock Go toolchain through the Go module proxy, once. [`Cluster::start`] starts
//! servers that know each other, with JetStream, credentials and `sync_interval: always`. The servers end with the
//! [`Cluster`], and also if this process is killed.
//!
//! ```no_run
//! let program = nowcast_dev_nats::install(std::path::Path::new("target/nats"))?;
//! let cluster = nowcast_dev_nats::Cluster::start(&program, std::path::Path::new("target/cluster"), 3)?;
//! println!("{}", cluster.address());
//! # Ok::<(), nowcast_dev_nats::Error>(())
//! ```

mod cluster;
mod install;

use std::path::PathBuf;

pub use cluster::{Cluster, Network, PASSWORD, USER, free_ports};
pub use install::{MODULE, VERSION, find_go, for_tests, install, installed};

/// The reason why nats-server cannot be built or started. The text says how to correct the problem.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no Go toolchain.
    #[error(
        "Go is missing, and nats-server is built with it: install Go 1.25 or newer (Debian: `apt-get install golang-go`, or \
         from go.dev/dl), or set NOWCAST_NATS_SERVER to a nats-server"
    )]
    NoGo,
    /// `go install` failed.
    #[error(
        "`go install {MODULE}@v{VERSION}` failed: {0}. Check that the Go module proxy can be reached (`go env GOPROXY`) and that \
         Go is 1.25 or newer, or set NOWCAST_NATS_SERVER to a nats-server"
    )]
    Build(String),
    /// NOWCAST_NATS_SERVER names no file.
    #[error("NOWCAST_NATS_SERVER names {}, which is not there", .0.display())]
    NoProgram(PathBuf),
    /// A file or a process could not be used.
    #[error("{what}: {error}")]
    Io {
        /// The step that failed.
        what: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// A server ended, or did not become ready in time.
    #[error("nats-server {index} is not ready after {seconds} s. Its log: {}\n{tail}", .log.display())]
    NotReady {
        /// The server, from 1.
        index: usize,
        /// The time that it had.
        seconds: u64,
        /// The server's log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
}

fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
    let what = what.into();
    move |error| Error::Io { what, error }
}
