//! Servers in separate processes, which can be killed, and the folders of their stores.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use nowcast_server::{Config, Server, WorldConfig};

use super::config;

/// The environment variable with the store folder of a process that is to be killed.
const FOLDER: &str = "NOWCAST_SERVER_CHILD_FOLDER";

/// The name of the only test that such a process runs. Each program that starts such processes has a test of this name,
/// which calls [`serve_if_child`].
const SERVING: &str = "the_process_that_serves_until_it_is_killed";

/// A folder that is removed when the test ends.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("nowcast-lasting-{}-{number}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server in a separate process, which ends when its standard input closes.
pub struct Process {
    child: Child,
    /// The rest of the output is not read, but the pipe must stay open.
    _output: BufReader<ChildStdout>,
    pub address: SocketAddr,
}

impl Process {
    pub fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("a test knows its own program"))
            .args(["--exact", SERVING, "--nocapture"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program can run itself");
        let mut output = BufReader::new(child.stdout.take().expect("the output is piped"));
        let address = loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).expect("the output is text") > 0, "the process ended early");
            if let Some((_, address)) = line.trim().split_once("listens on ") {
                break address.parse().expect("the text is an address");
            }
        };
        Self { child, _output: output, address }
    }

    pub fn kill(mut self) {
        self.child.kill().expect("the process still runs");
        self.child.wait().expect("the process is a child of this one");
    }

    pub fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("the process is a child of this one").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A failed test leaves no process behind.
        let _ = self.child.kill();
    }
}

/// If this process was started for it, serves a world until the process is killed.
pub async fn serve_if_child(world: WorldConfig) {
    serve_if_child_with(world, |_| {}).await;
}

/// Does the same as `serve_if_child` with a changed configuration.
pub async fn serve_if_child_with(world: WorldConfig, change: impl FnOnce(&mut Config)) {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut config = config();
    config.worlds = vec![world];
    config.data = Some(folder.into());
    change(&mut config);
    let server = Server::bind(config).await.expect("the folder is free");
    println!("listens on {}", server.addresses()[0]);
    let end = tokio::task::spawn_blocking(|| drop(std::io::stdin().read_to_end(&mut Vec::new())));
    server.run(async { drop(end.await) }).await;
}
