//! Builds the required programs and runs them.

use crate::{client, step, tools};

/// Arguments for `nowcast`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Passed on to the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<String>,
}

/// The form of the documents.
#[derive(clap::Args)]
pub(crate) struct DocsArgs {
    /// Build the site for `nowcast serve --docs`, which serves it at /docs/: target/docs
    #[arg(long)]
    served: bool,
}

/// The list of the sample worlds. They are served from their folders, so that they can be edited while people play.
pub(crate) const WORLDS: &str = "worlds/worlds.txt";

/// Builds the client and an unoptimised server, which is the fastest way to a running world: two people in a sample world need less
/// than a fifth of a core.
pub(crate) fn serve(args: &Args) -> anyhow::Result<()> {
    tools::require_c_compiler()?;
    // Cargo downloads while npm installs. If that fails, the build says why.
    let fetched = step::prepared(&["cargo", "fetch", "--quiet", "--target", "host-tuple"], &[])?.spawn();
    client::build()?;
    if let Ok(mut fetch) = fetched {
        let _ = fetch.wait();
    }
    let build = ["cargo", "run", "--package", "nowcast-cli", "--no-default-features"];
    let mut line = [&build[..], &["--", "serve"]].concat();
    let samples = (!args.rest.iter().any(|word| names_worlds(word))).then_some(WORLDS);
    line.extend(args.rest.iter().map(String::as_str).chain(samples));
    step::run(&line)
}

/// Whether an argument says which worlds to serve. Other folders, such as that of `--data`, hold no world.
fn names_worlds(word: &str) -> bool {
    let is_world = |main| std::path::Path::new(word).join(main).is_file();
    word == "--world" || word.ends_with(".txt") || ["world.luau", "world.ts"].into_iter().any(is_world)
}

/// Builds the packages of TypeScript, which projects outside of the checkout install, and the self-contained binary.
pub(crate) fn build_everything() -> anyhow::Result<()> {
    tools::require_c_compiler()?;
    client::build_all()?;
    step::run(&["cargo", "build", "--release", "--package", "nowcast-cli"])?;
    eprintln!("built {}", step::target_dir().join("release/nowcast").display());
    Ok(())
}

/// Builds the documents.
pub(crate) fn build_site(args: &DocsArgs) -> anyhow::Result<()> {
    if args.served {
        let folder = step::target_dir().join("docs");
        client::build_served_site(&folder)?;
        eprintln!("built {0}; to read it: nowcast serve --docs={0}", folder.display());
        return Ok(());
    }
    client::build_site()?;
    eprintln!(
        "built {}; to read it: npm run preview --workspace @nowcast/site",
        step::root().join("packages/site/dist").display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_worlds_replace_the_samples() {
        let world = step::root().join("worlds/football");
        for word in ["--world", "worlds.txt", &*world.to_string_lossy()] {
            assert!(names_worlds(word), "{word}");
        }
        for word in ["--data", &*step::root().join("worlds").to_string_lossy(), "7777"] {
            assert!(!names_worlds(word), "{word}");
        }
    }
}
