//! The helper thread of this process: a runtime for programs without a runtime.

use std::io;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

/// The runtime of the helper thread. The first call starts the thread.
pub(crate) fn helper() -> io::Result<&'static Runtime> {
    static HELPER: OnceLock<Result<Runtime, io::ErrorKind>> = OnceLock::new();
    let helper = HELPER.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        let built = builder.worker_threads(1).thread_name("nowcast-helper").enable_all().build();
        built.map_err(|error| error.kind())
    });
    helper.as_ref().map_err(|&kind| io::Error::from(kind))
}
