//! `nowcast check`: what is wrong with a world, before anybody is in it.

use std::path::PathBuf;
use std::process::ExitCode;

use nowcast_script::{
    Assets, Fault, Limits, Scenario, Script, advice, forgotten, missing_assets, unknown_names,
};
use nowcast_server::{read_assets, read_world};

use crate::output;

/// Check a world: its kinds, actions, scripts, assets and tests
///
/// Mistakes are told with file, line and column, and what helps. Warnings name what a reload forgets, and what is allowed
/// and yet a mistake, most likely: keys, looks, timers, modules that nobody requires. Functions that the
/// world calls while it runs are not called here: `nowcast test` plays them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The world's folder
    dir: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let sources = read_world(&args.dir)?;
    let folder = args.dir.display().to_string();
    let script = match Script::load(&sources, Limits::DEFAULT) {
        Ok(script) => script,
        Err(fault) => {
            output::note(format_args!("{}", fault.in_folder(&folder, &sources)));
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut code = ExitCode::SUCCESS;
    let definition = script.definition();
    let (assets, mut faults) = read_assets(&args.dir, &Assets::default())?;
    // A file that is wrong is told once, and not again as missing.
    let is_wrong = |fault: &Fault| faults.iter().any(|wrong| fault.message.contains(&quoted(wrong)));
    let mut missing = missing_assets(&sources, &definition, &assets);
    let mut warnings = unknown_names(&sources, &assets);
    missing.retain(|fault| !is_wrong(fault));
    warnings
        .retain(|warning| !is_wrong(warning) && !missing.iter().any(|known| is_same_place(known, warning)));
    faults.extend(missing);
    for fault in &faults {
        output::note(format_args!("{}/{fault}", args.dir.display()));
        code = ExitCode::FAILURE;
    }
    for Fault { file, line, message, cure, .. } in &warnings {
        let (file, cure) = (file.as_deref().unwrap_or_default(), cure.as_deref().unwrap_or_default());
        let line = line.unwrap_or_default();
        output::note(format_args!("{}/{file}:{line}: warning: {message} ({cure})", args.dir.display()));
    }
    let tests: Vec<_> =
        sources.iter().map(|(path, _)| path).filter(|path| path.starts_with("tests/")).collect();
    for test in &tests {
        if let Err(fault) = Scenario::new(sources.clone(), test, Limits::DEFAULT) {
            output::note(format_args!("{}", fault.in_folder(&folder, &sources)));
            code = ExitCode::FAILURE;
        }
    }
    for found in forgotten(&sources) {
        output::note(format_args!(
            "{}/{}:{}: warning: a reload forgets `{}`; what must last belongs in `world.state` or `private`",
            args.dir.display(),
            found.file,
            found.line,
            found.name
        ));
    }
    for found in advice(&sources, &definition) {
        let (file, line, message) = (found.file, found.line, found.message);
        output::note(format_args!("{}/{file}:{line}: warning: {message}", folder.trim_end_matches('/')));
    }
    output::line(format_args!(
        "{} kinds, {} actions, {} assets, {} modules of tests, version {:016x}",
        definition.kinds.len(),
        definition.actions.len(),
        assets.len(),
        tests.len(),
        sources.hash()
    ))?;
    Ok(code)
}

/// How messages name the file of a fault.
fn quoted(fault: &Fault) -> String {
    format!("{:?}", fault.file.as_deref().unwrap_or_default())
}

fn is_same_place(a: &Fault, b: &Fault) -> bool {
    a.line.is_some() && (&a.file, a.line) == (&b.file, b.line)
}
