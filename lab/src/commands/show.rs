//! Shows the figures of an instrument to people and scripts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use nowcast_lab::report::{Report, page};

use crate::output;

/// The output of the figures
#[derive(clap::Args)]
pub(crate) struct Show {
    /// Print the figures as JSON instead of a table
    #[arg(long)]
    json: bool,

    /// Write the page with the charts to this file [default: a file below target/lab]. The page needs no other file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Show {
    /// Checks before the measurement that the page can be written. `name` is that of the default file.
    pub(crate) fn check(&self, name: &str) -> anyhow::Result<()> {
        check_writable(&self.page(name))
    }

    /// Prints the report, and writes the page with its charts.
    pub(crate) fn show(&self, report: &Report, name: &str) -> anyhow::Result<ExitCode> {
        let json = report.to_json();
        output::text(&if self.json { json.clone() + "\n" } else { report.to_terminal() })?;
        let file = self.page(name);
        write(&file, &page(&json))?;
        output::note(format_args!("charts: {}", file.display()));
        Ok(ExitCode::SUCCESS)
    }

    fn page(&self, name: &str) -> PathBuf {
        self.html.clone().unwrap_or_else(|| PathBuf::from(format!("target/lab/{name}.html")))
    }
}

/// Writes a file whose folder exists.
pub(crate) fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Checks whether a file can be written, without changing it. Makes its folder.
pub(crate) fn check_writable(file: &Path) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let was_there = file.exists();
    let open = std::fs::OpenOptions::new().append(true).create(true).open(file);
    open.with_context(|| format!("cannot write {}", file.display()))?;
    if !was_there {
        std::fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    Ok(())
}
