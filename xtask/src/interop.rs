//! `cargo xtask interop` tests our endpoint with a WebTransport client that is not ours.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::step;

/// The client, in the version for which the script was written.
const AIOQUIC: &str = "aioquic==1.7.2";

/// Runs the test. The error is [`step::NotRun`] if the client cannot be installed.
pub(crate) fn run() -> anyhow::Result<()> {
    match python_with_aioquic() {
        Ok(python) => step::run_with_env(
            &["cargo", "test", "--workspace", "--test", "aioquic", "--", "--nocapture"],
            &[("NOWCAST_AIOQUIC_PYTHON", &python.to_string_lossy())],
        ),
        Err(missing) => Err(step::NotRun(missing).into()),
    }
}

/// Returns a separate Python below target/ in which the client is installed.
fn python_with_aioquic() -> Result<PathBuf, String> {
    let directory = step::target_dir().join("interop");
    let python = directory.join("bin/python3");
    if !works(&[&python.to_string_lossy(), "-c", "import aioquic"]) {
        let place = directory.to_string_lossy();
        if !works(&["python3", "-m", "venv", &place]) {
            return Err("python3 with its module venv is not installed".into());
        }
        let pip =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", AIOQUIC];
        let mut install = vec![python.to_string_lossy().into_owned()];
        install.extend(pip.map(str::to_owned));
        if !works(&install.iter().map(String::as_str).collect::<Vec<_>>()) {
            return Err(format!("{AIOQUIC} could not be installed from the Python Package Index"));
        }
    }
    Ok(python)
}

fn works(command: &[&str]) -> bool {
    let status =
        Command::new(command[0]).args(&command[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
