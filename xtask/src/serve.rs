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
    let says_which =
        |word: &String| word == "--world" || word.ends_with(".txt") || std::path::Path::new(word).is_dir();
    let samples = (!args.rest.iter().any(says_which)).then_some(WORLDS);
    line.extend(args.rest.iter().map(String::as_str).chain(samples));
    step::run(&line)
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
