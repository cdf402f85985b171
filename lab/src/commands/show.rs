//! Shows the report of an instrument to people and scripts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use nowcast_lab::report::Report;

use crate::output;

/// The output of the figures
#[derive(clap::Args)]
pub(crate) struct Show {
    /// Print the figures as JSON instead of a table
    #[arg(long)]
    json: bool,

    /// Write the page with the charts to this file. The page needs no other file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Show {
    /// Checks before the measurement that the page can be written.
    pub(crate) fn check(&self, usual: Option<&str>) -> anyhow::Result<()> {
        self.html.as_deref().or(usual.map(Path::new)).map_or(Ok(()), check_writable)
    }

    /// Prints the report. Writes the page with its charts to the given file. Without a given file, writes it to `usual`, the
    /// default file of the instrument, if there is one.
    pub(crate) fn show(&self, report: &Report, usual: Option<&str>) -> anyhow::Result<ExitCode> {
        let text = if self.json { report.to_json() + "\n" } else { report.to_terminal() };
        output::text(&text)?;
        if let Some(file) = self.html.as_deref().or(usual.map(Path::new)) {
            std::fs::write(file, report.to_html())
                .with_context(|| format!("the page could not be written to {}", file.display()))?;
            output::note(format_args!("charts: {}", file.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Checks whether a file can be written, without changing it.
pub(crate) fn check_writable(file: &Path) -> anyhow::Result<()> {
    let was_there = file.exists();
    let open = std::fs::OpenOptions::new().append(true).create(true).open(file);
    open.with_context(|| format!("cannot write {}", file.display()))?;
    if !was_there {
        std::fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    Ok(())
}
