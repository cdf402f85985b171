//! The errors of a start, with the flags that cure them.

use nowcast::BindError as Sockets;
use nowcast_server::store::Problem;
use nowcast_server::{BindError, WorldError};

/// Adds the name of the flag that helps to an error of the library.
pub(super) fn with_flag(error: BindError) -> anyhow::Error {
    if let BindError::Store(store) = &error
        && let Problem::InUse { pid } = store.problem
    {
        let pid = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        return anyhow::anyhow!(
            "another nowcast server{pid} uses the data folder {}: choose another with --data DIR, keep no worlds with --no-data, or \
             end that server",
            store.file.display()
        );
    }
    let flag = match &error {
        BindError::Sockets(Sockets::Taken { free, .. }) => format!(", such as --port {free}"),
        BindError::Sockets(Sockets::Forbidden { .. }) => ", such as --port 7777".into(),
        BindError::Sockets(Sockets::NoSuchAddress { .. }) => {
            ", such as --host 127.0.0.1, or on all with --host ::".into()
        }
        BindError::Config(advice) if advice.contains("anonymous entry") => {
            " (--token-key-file FILE, or --anonymous)".into()
        }
        BindError::Store(_) => " (--data DIR chooses another folder, --no-data stores no worlds)".into(),
        BindError::World(WorldError::BadName(_)) => ": give it another, --world NAME=DIR".into(),
        #[cfg(feature = "cluster")]
        BindError::Cluster(_) => String::new(),
        BindError::World(_)
        | BindError::Config(_)
        | BindError::Certificate(_)
        | BindError::Sockets(_)
        | BindError::Threads(_) => String::new(),
    };
    anyhow::anyhow!("{error}{flag}")
}
