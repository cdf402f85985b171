//! `nowcast check` finds the mistakes of a world before a player joins it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use nowcast_script::{
    Assets, Fault, Limits, Origin, Scenario, Script, Sources, missing_assets, unknown_names,
};
use nowcast_script_check::{Finding, check};
use nowcast_server::world::Definition;
use nowcast_server::{read_assets, read_world};

use super::typescript::refuse_outdated;
use crate::output::{self, counted};

/// Check a world: kinds, actions, scripts, assets and tests
///
/// Errors are printed with file, line, column and a suggestion, and the exit code is 1. Errors are: modules that do not load;
/// undefined names; members that `world`, a kind, an entity or a library does not have; calls with too few arguments. Warnings
/// leave the exit code 0. They concern locals that a reload resets, actions without a key, unknown or shared keys, looks that
/// draw nothing, undeclared timers, ignored arguments, and unused modules. In a module that begins with `--!strict`, names that
/// read as nil are errors, too. The check analyses functions that the world calls at run time, without calling them; `nowcast
/// test` runs them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The world's folder
    dir: PathBuf,
    /// Check again whenever a file in the world changes, until Ctrl-C
    #[arg(long)]
    watch: bool,
}

/// Pause between two checks of the files.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if !args.watch {
        return check_once(&args.dir);
    }
    let mut checked = None;
    loop {
        let files = files_of(&args.dir);
        if checked.as_ref() != Some(&files) {
            checked = Some(files);
            // The author is editing: a folder that cannot be read now is checked again after the next change.
            if let Err(error) = check_once(&args.dir) {
                output::note(format_args!("{error:#}"));
            }
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// The files below a folder: path, time of the last change, and length. Hidden files and unreadable folders are left out.
fn files_of(dir: &Path) -> Vec<(PathBuf, Option<SystemTime>, u64)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
            let (path, is_hidden) = (entry.path(), entry.file_name().to_string_lossy().starts_with('.'));
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() && !is_hidden {
                open.push(path);
            } else if !is_hidden {
                found.push((path, about.modified().ok(), about.len()));
            }
        }
    }
    found.sort();
    found
}

fn check_once(dir: &Path) -> anyhow::Result<ExitCode> {
    let folder = Folder { path: dir.display().to_string(), sources: read_world(dir)? };
    refuse_outdated(dir, &folder.sources)?;
    let script = match Script::load(&folder.sources, Limits::DEFAULT) {
        Ok(script) => script,
        Err(fault) => {
            folder.report(&fault);
            return Ok(ExitCode::FAILURE);
        }
    };
    let definition = script.definition();
    let (assets, wrong) = read_assets(dir, &Assets::default())?;
    let (missing, unknown) = not_there(&folder.sources, &definition, &assets, &wrong);
    let broken = folder.broken_tests();
    let faults = [wrong, missing, broken].concat();
    faults.iter().for_each(|fault| folder.report(fault));
    let findings = check(&folder.sources, &definition);
    findings.iter().for_each(|finding| folder.print(finding));
    unknown.iter().for_each(|fault| folder.warn(fault));
    output::line(format_args!(
        "{}, {}, {}, {}, version {:016x}",
        counted(definition.kinds.len() as u64, "kind"),
        counted(definition.actions.len() as u64, "action"),
        counted(assets.len() as u64, "asset"),
        counted(folder.tests().count() as u64, "test module"),
        folder.sources.hash()
    ))?;
    let is_good = faults.is_empty() && !findings.iter().any(|finding| finding.is_error);
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A world's folder as named on the command line, and its modules.
struct Folder {
    path: String,
    sources: Sources,
}

impl Folder {
    fn tests(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|(path, _)| path).filter(|path| path.starts_with("tests/"))
    }

    /// Returns the errors in tests that can be found without running them.
    fn broken_tests(&self) -> Vec<Fault> {
        let play = |test| Scenario::new(self.sources.clone(), test, Limits::DEFAULT);
        self.tests().filter_map(|test| play(test).err()).collect()
    }

    fn report(&self, fault: &Fault) {
        output::note(format_args!("{}", fault.in_folder(&self.path, &self.sources)));
    }

    /// Prints a mistake that the text of the modules shows, at its place in the text that the author wrote.
    fn print(&self, finding: &Finding) {
        let folder = self.path.trim_end_matches(std::path::is_separator);
        let Finding { file, line, column, is_error, message } = finding;
        let kind = if *is_error { "" } else { "warning: " };
        match self.sources.origin(file, *line) {
            Some(Origin { file, line, column }) => {
                output::note(format_args!("{folder}/{file}:{line}:{column}: {kind}{message}"));
            }
            // A line that only the compiler has is not the author's mistake.
            None if !is_error && self.sources.made_from(file).is_some() => {}
            None => output::note(format_args!("{folder}/{file}:{line}:{column}: {kind}{message}")),
        }
    }

    /// Prints a name of an asset that the rules mention, but that does not exist.
    fn warn(&self, fault: &Fault) {
        let Fault { file, line, message, cure, .. } = fault;
        let file = file.clone().unwrap_or_default();
        let message = format!("{message} ({})", cure.as_deref().unwrap_or_default());
        self.print(&Finding { file, line: line.unwrap_or(1), column: 1, is_error: false, message });
    }
}

/// Returns the missing assets: those that looks name, but that do not exist. A broken file is reported once, and not also as
/// missing.
fn not_there(
    sources: &Sources,
    definition: &Definition,
    assets: &Assets,
    wrong: &[Fault],
) -> (Vec<Fault>, Vec<Fault>) {
    let is_wrong = |fault: &Fault| wrong.iter().any(|wrong| fault.message.contains(&quoted(wrong)));
    let mut missing = missing_assets(sources, definition, assets);
    missing.retain(|fault| !is_wrong(fault));
    let mut unknown = unknown_names(sources, assets);
    unknown.retain(|fault| !is_wrong(fault) && !missing.iter().any(|known| is_same_place(known, fault)));
    (missing, unknown)
}

/// Returns the file of a fault in the form that messages use.
fn quoted(fault: &Fault) -> String {
    format!("{:?}", fault.file.as_deref().unwrap_or_default())
}

fn is_same_place(a: &Fault, b: &Fault) -> bool {
    a.line.is_some() && (&a.file, a.line) == (&b.file, b.line)
}
