//! `nowcast check`: what is wrong with a world, before anybody is in it.

use std::path::PathBuf;
use std::process::ExitCode;

use nowcast_script::{Limits, Scenario, Script, forgotten};
use nowcast_server::read_world;

use crate::output;

/// Check a world: its kinds, actions, scripts and tests
///
/// Mistakes are told with file and line, and what helps. A warning names what a reload forgets. Functions that the
/// world calls while it runs are not called here: `nowcast test` plays them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The world's folder
    dir: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let sources = read_world(&args.dir)?;
    let script = match Script::load(&sources, Limits::DEFAULT) {
        Ok(script) => script,
        Err(fault) => {
            output::note(format_args!("{}/{fault}", args.dir.display()));
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut code = ExitCode::SUCCESS;
    let tests: Vec<_> =
        sources.iter().map(|(path, _)| path).filter(|path| path.starts_with("tests/")).collect();
    for test in &tests {
        if let Err(fault) = Scenario::new(sources.clone(), test, Limits::DEFAULT) {
            output::note(format_args!("{}/{fault}", args.dir.display()));
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
    let definition = script.definition();
    output::line(format_args!(
        "{} kinds, {} actions, {} modules of tests, version {:016x}",
        definition.kinds.len(),
        definition.actions.len(),
        tests.len(),
        sources.hash()
    ))?;
    Ok(code)
}
