//! `nowcast new` creates a world.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args as _, FromArgMatches as _};
use nowcast_script::TYPES;
use nowcast_server::is_world_name;

use super::samples::Sample;
use super::typescript::{self, Checkout};
use crate::{output, serve};

/// Make a new world: a folder with rules in Luau or TypeScript, tests, and types for editors
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder to create, which must not exist. The folder's name is the world's name if the name has 1 to 32 characters
    /// among a-z, 0-9, - and _
    dir: PathBuf,
    /// Sample to start from
    #[arg(long, value_enum, default_value_t = Sample::Minimal)]
    template: Sample,
    /// Write the rules in TypeScript: a ball, a goal and a score. The npm package @nowcast/world-script compiles them to Luau
    #[arg(long, conflicts_with = "template")]
    typescript: bool,
    /// Serve the new world, and open it in a browser. Flags of `nowcast serve` follow after `--`
    #[arg(long, conflicts_with = "typescript")]
    serve: bool,
    /// Flags of `nowcast serve`, or `--no-open`
    #[arg(last = true, value_name = "FLAGS", requires = "serve")]
    flags: Vec<String>,
}

/// Names that Windows reserves for devices. No folder there can have one of them.
const DEVICES: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
    "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// The flag that keeps the browser closed.
const NO_OPEN: &str = "--no-open";

/// Tells editors where the types of `@nowcast/…` are.
const ALIASES: &str = "{\n\t\"aliases\": { \"nowcast\": \".nowcast\" }\n}\n";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.dir.exists() {
        bail!("{} exists already; nothing was changed. Choose the name of a new folder", args.dir.display());
    }
    check_name(&args.dir)?;
    // A mistake in the flags is reported before the folder exists.
    let serve = args.serve.then(|| serve_args(&args.dir, &args.flags)).transpose()?;
    if args.typescript {
        make_typescript(&args.dir)?
    } else {
        make_luau(args)?
    }
    serve.map_or(Ok(ExitCode::SUCCESS), serve::run)
}

/// Returns the arguments of `nowcast serve DIR` with the given flags.
fn serve_args(dir: &Path, given: &[String]) -> anyhow::Result<serve::Args> {
    let line = ["nowcast serve".as_ref(), dir.as_os_str()].into_iter();
    let line = line.chain(serve_flags(given).into_iter().map(OsStr::new));
    let command = serve::Args::augment_args(clap::Command::new("nowcast serve"));
    Ok(serve::Args::from_arg_matches(&command.try_get_matches_from(line)?)?)
}

/// Returns the flags of `nowcast serve`: the given ones, and `--open` unless the user does not want a browser.
fn serve_flags(given: &[String]) -> Vec<&str> {
    let mut flags: Vec<&str> = given.iter().map(String::as_str).filter(|flag| *flag != NO_OPEN).collect();
    if flags.len() == given.len() && !flags.contains(&"--open") {
        flags.push("--open");
    }
    flags
}

fn make_typescript(dir: &Path) -> anyhow::Result<()> {
    let name = dir.file_name().map_or_else(|| "world".into(), |name| name.to_string_lossy());
    for (path, text) in typescript::files(&name, Checkout::find().as_ref()) {
        write(&dir.join(path), &text)?;
    }
    let dir = dir.display();
    output::line(format_args!(
        "made {dir}; its rules are in {dir}/world.ts\n  \
         cd {dir} && npm install    installs the compiler, once\n  \
         npm run dev    compiles, serves the world and opens it; a saved file takes effect at once\n  \
         npm run check    reports mistakes with file and line\n  \
         npm test       plays its tests"
    ))?;
    Ok(())
}

fn make_luau(args: &Args) -> anyhow::Result<()> {
    for (path, text) in args.template.files() {
        write(&args.dir.join(path), text)?;
    }
    for (path, content) in args.template.assets() {
        write(&args.dir.join(path), content)?;
    }
    write(&args.dir.join("README.md"), &readme(&args.dir))?;
    write(&args.dir.join(".luaurc"), ALIASES)?;
    for (name, types) in TYPES {
        write(&args.dir.join(format!(".nowcast/{name}.luau")), types)?;
    }
    let dir = args.dir.display();
    output::line(format_args!(
        "made {dir}; its rules are in {dir}/world.luau\n  \
         nowcast serve {dir}    and open the printed address in two browser tabs; a saved file takes effect at once\n  \
         nowcast check {dir}    reports mistakes with file and line\n  \
         nowcast test {dir}     plays its tests"
    ))?;
    Ok(())
}

/// Checks that a world can be served under the name of its folder. Otherwise the world is not created.
fn check_name(dir: &Path) -> anyhow::Result<()> {
    let Some(name) = dir.file_name().map(|name| name.to_string_lossy()) else {
        bail!("{} names no folder; nothing was made", dir.display());
    };
    if DEVICES.contains(&name.to_ascii_lowercase().as_str()) {
        bail!(
            "{name} is a device name in Windows, where no folder can have this name; nothing was made. Run `nowcast new {}`",
            dir.with_file_name(format!("{}-world", name_like(&name))).display()
        )
    }
    if is_world_name(&name) {
        return Ok(());
    }
    let taken = name_like(&name);
    bail!(
        "a world is not called {name:?}: a name is 1 to 32 of a-z, 0-9, - and _; `nowcast new {}` makes one",
        dir.with_file_name(taken).display()
    )
}

/// Returns a valid name that is similar to an invalid one.
fn name_like(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let letters: String = name.chars().map(letter).collect();
    let words: Vec<_> = letters.split('-').filter(|word| !word.is_empty()).collect();
    let mut taken = words.join("-");
    taken.truncate(32);
    let taken = taken.trim_end_matches('-');
    if taken.is_empty() { "my-world".to_owned() } else { taken.to_owned() }
}

/// Returns the README of a new world.
fn readme(dir: &Path) -> String {
    let name = dir.file_name().map_or_else(|| "world".into(), |name| name.to_string_lossy());
    format!(
        "# {name}\n\n\
         A world for Nowcast: a folder whose rules change while people are in it.\n\n\
         ```text\n\
         nowcast serve {name}     open the printed address in two browser tabs: both are in this world\n\
         nowcast check {name}     reports mistakes with file, line and cure\n\
         nowcast test {name}      plays its tests in virtual time\n\
         ```\n\n\
         Walk with W, A, S, D or the arrow keys, run with Shift, jump with Space. The screen lists all other actions.\n\n\
         | file | content |\n\
         | --- | --- |\n\
         | `world.luau` | the rules; the world begins here |\n\
         | `tests/` | cases that play the world |\n\
         | `.nowcast/`, `.luaurc` | types for your editor; `nowcast new` made them |\n\n\
         Save a file while people are in the world: the new rules take effect at the next step, and the values in\n\
         `world.state`, in attributes and in `private` stay. A version that does not load changes nothing, and one that\n\
         fails within two seconds is rolled back with its changes; the page's console has the reason, with file and line.\n\n\
         The guide is docs/how-to/rules.md of Nowcast.\n"
    )
}

fn write(path: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    let folder = path.parent().context("a file is in a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_served_new_world_is_opened_unless_the_user_refuses() {
        let given = |flags: &[&str]| flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>();
        assert_eq!(serve_flags(&[]), ["--open"]);
        assert_eq!(serve_flags(&given(&["--port", "0"])), ["--port", "0", "--open"]);
        assert_eq!(serve_flags(&given(&["--open"])), ["--open"]);
        assert_eq!(serve_flags(&given(&["--no-open", "--no-data"])), ["--no-data"]);
    }

    #[test]
    fn a_mistake_in_the_flags_of_the_server_makes_no_folder() {
        let dir = std::env::temp_dir().join(format!("new-world-{}", std::process::id()));
        let args = Args {
            dir: dir.clone(),
            template: Sample::Minimal,
            typescript: false,
            serve: true,
            flags: vec!["--porrt".to_owned()],
        };
        let error = run(&args).expect_err("the flag is unknown").to_string();
        assert!(error.contains("--porrt"), "{error}");
        assert!(!dir.exists());
    }

    #[test]
    fn a_name_that_cannot_be_served_is_refused_with_one_that_can() {
        for (name, taken) in [
            ("My World!", "my-world"),
            ("Über uns", "ber-uns"),
            ("???", "my-world"),
            ("a_very-long.name that goes on and on", "a_very-long-name-that-goes-on-an"),
        ] {
            assert_eq!(name_like(name), taken);
            assert!(is_world_name(taken));
            let refused = check_name(&Path::new("worlds").join(name)).unwrap_err().to_string();
            assert!(refused.contains(&format!("nowcast new worlds/{taken}")), "{refused}");
        }
        assert!(check_name(Path::new("park-2")).is_ok());
        for device in ["nul", "NUL", "com1"] {
            let refused = check_name(&Path::new("worlds").join(device)).unwrap_err().to_string();
            let taken = format!("nowcast new worlds/{}-world", device.to_lowercase());
            assert!(refused.contains("device name in Windows") && refused.contains(&taken), "{refused}");
        }
    }
}
