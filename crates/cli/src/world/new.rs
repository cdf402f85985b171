//! `nowcast new`: makes a world.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use nowcast_script::{test_types, world_types};

use crate::output;

/// Make a new world: a folder with rules in Luau, tests, and types for editors
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder to make; it must not be there yet
    dir: PathBuf,
    /// What to begin with
    #[arg(long, value_enum, default_value_t = Template::Minimal)]
    template: Template,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Template {
    /// A floor, people, and a ball
    Minimal,
    /// Two teams, two goals, a score and a clock
    Football,
}

impl Template {
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Template::Minimal => &[
                ("world.luau", include_str!("../../../../worlds/minimal/world.luau")),
                ("tests/ball.luau", include_str!("../../../../worlds/minimal/tests/ball.luau")),
            ],
            Template::Football => &[
                ("world.luau", include_str!("../../../../worlds/football/world.luau")),
                ("pitch.luau", include_str!("../../../../worlds/football/pitch.luau")),
                ("tests/match.luau", include_str!("../../../../worlds/football/tests/match.luau")),
            ],
        }
    }
}

/// Where editors find the types of `@nowcast/…`.
const ALIASES: &str = "{\n\t\"aliases\": { \"nowcast\": \".nowcast\" }\n}\n";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.dir.exists() {
        bail!("{} is there already; nothing was changed", args.dir.display());
    }
    for (path, text) in args.template.files() {
        write(&args.dir.join(path), text)?;
    }
    write(&args.dir.join(".luaurc"), ALIASES)?;
    write(&args.dir.join(".nowcast/world.luau"), &world_types())?;
    write(&args.dir.join(".nowcast/test.luau"), &test_types())?;
    let dir = args.dir.display();
    output::line(format_args!("made {dir}; its rules are in {dir}/world.luau"))?;
    output::line(format_args!("  nowcast check {dir}"))?;
    output::line(format_args!("  nowcast test {dir}"))?;
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().context("a file is in a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
