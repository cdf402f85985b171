//! Builds nats-server.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::{Error, io};

/// The release of nats-server that is built.
pub const VERSION: &str = "2.15.2";

/// The Go module of nats-server.
pub const MODULE: &str = "github.com/nats-io/nats-server/v2";

/// Places of Go besides the PATH.
const GO_PLACES: [&str; 2] = ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"];

/// Returns the Go toolchain, if there is one.
pub fn find_go() -> Option<PathBuf> {
    let in_path = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|paths| std::env::split_paths(&paths).map(|folder| folder.join("go")).collect::<Vec<_>>());
    in_path.chain(GO_PLACES.map(PathBuf::from)).find(|candidate| candidate.is_file())
}

/// Returns the program that `NOWCAST_NATS_SERVER` names, or the one that was built into a folder.
///
/// # Errors
/// Fails if `NOWCAST_NATS_SERVER` names no file.
pub fn installed(folder: &Path) -> Result<Option<PathBuf>, Error> {
    if let Some(named) = std::env::var_os("NOWCAST_NATS_SERVER").map(PathBuf::from) {
        return if named.is_file() { Ok(Some(named)) } else { Err(Error::NoProgram(named)) };
    }
    let program = program(folder);
    Ok(program.is_file().then_some(program))
}

/// Returns nats-server, and builds it first if it was not built yet: with `go install`, through the Go module proxy. Prints
/// the progress to the standard error. The first build takes a minute or two.
///
/// # Errors
/// Fails if there is no Go toolchain, or if the build fails.
pub fn install(folder: &Path) -> Result<PathBuf, Error> {
    // The tests of one process build it once.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(program) = installed(folder)? {
        return Ok(program);
    }
    let go = find_go().ok_or(Error::NoGo)?;
    let program = program(folder);
    // Other processes may build at the same time, and must never start a half-written program.
    let bin = folder.join(format!("building-{}", std::process::id()));
    std::fs::create_dir_all(&bin).map_err(io(format!("cannot make {}", bin.display())))?;
    let bin = bin.canonicalize().map_err(io(format!("cannot find {}", bin.display())))?;
    eprintln!("building nats-server {VERSION} with {} into {}, once", go.display(), folder.display());
    let module = format!("{MODULE}@v{VERSION}");
    let mut build = Command::new(&go)
        .args(["install", "-trimpath", &module])
        .env("GOBIN", &bin)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io(format!("cannot start {}", go.display())))?;
    let mut last = String::new();
    for line in build.stderr.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
        last = line.map_err(io("cannot read the output of go"))?;
        eprintln!("  {last}");
    }
    let status = build.wait().map_err(io("cannot wait for go"))?;
    if !status.success() {
        let why = if last.is_empty() { status.to_string() } else { last };
        return Err(Error::Build(why));
    }
    let home = program.parent().expect("the program lies in a folder of its own");
    std::fs::create_dir_all(home).map_err(io(format!("cannot make {}", home.display())))?;
    std::fs::rename(bin.join("nats-server"), &program)
        .map_err(io(format!("cannot move nats-server to {}", program.display())))?;
    // An empty folder that stays does no harm.
    let _ = std::fs::remove_dir(&bin);
    Ok(program)
}

/// Returns nats-server for a test, below the folder of cargo's output.
///
/// # Panics
/// Panics if nats-server cannot be built, such as without Go. The message says how to correct the problem.
pub fn for_tests() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
    install(&target.join("nats")).unwrap_or_else(|error| panic!("{error}"))
}

/// The place of the program: a folder for each release, so that another release is built anew.
fn program(folder: &Path) -> PathBuf {
    folder.join(VERSION).join("nats-server")
}
