//! `nowcast token`

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use nowcast::admission::{Claims, TokenKey, new_secret, unix_time};
use nowcast_server::store::read_duration;

use crate::output;

/// The environment variable with the key itself.
pub(crate) const KEY_VARIABLE: &str = "NOWCAST_TOKEN_KEY";

/// Make a token that admits a client
///
/// The token is a JSON Web Token, which any JWT library can make. Clients pass the token as `?token=…` in the address. Use a
/// short lifetime.
///
/// The key is an Ed25519 key in PEM or a secret of at least 32 bytes, from --key-file or the environment variable
/// NOWCAST_TOKEN_KEY.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The name of the player or device
    #[arg(long)]
    name: Option<String>,

    /// The only room or service for which the token is valid [default: all]
    #[arg(long)]
    room: Option<String>,

    /// Roles, separated by spaces: `editor` edits, views history and bans; `inspector` reads the studio; `program` joins
    /// as a program; `operator` reads /metrics and /lab; other roles are the application's
    #[arg(long)]
    role: Option<String>,

    /// Lifetime: 30s, 10m, 8h, 7d
    #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = time)]
    lifetime: Duration,

    /// Make a single-use token: only the first client that presents the token may join, and rejoin until the token expires.
    /// A server with stored worlds remembers used tokens after a restart. Other programs forget them, so use a short
    /// lifetime
    #[arg(long)]
    once: bool,

    /// The file with the key
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// Write a new random secret to this file, readable only by you, and make no token
    #[arg(long, value_name = "FILE", exclusive = true)]
    make_key: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.make_key {
        return make_key(path);
    }
    let Some(key) = key(args.key_file.as_deref())? else {
        bail!("no key: give --key-file, or {KEY_VARIABLE}; `nowcast token --make-key FILE` makes one");
    };
    let now = unix_time();
    let mut claims = Claims::new(now + args.lifetime);
    claims.iat = Some(now.as_secs());
    claims.sub.clone_from(&args.name);
    claims.room.clone_from(&args.room);
    claims.role.clone_from(&args.role);
    if args.once {
        claims = claims.once(&new_secret()[..22]);
    }
    output::line(claims.sign(&key)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the key from a file or the environment, if there is one.
pub(crate) fn key(file: Option<&Path>) -> anyhow::Result<Option<TokenKey>> {
    if let Some(file) = file {
        return Ok(Some(TokenKey::read(file)?));
    }
    match std::env::var(KEY_VARIABLE) {
        Ok(text) => Ok(Some(TokenKey::parse(&text).context(KEY_VARIABLE)?)),
        Err(_) => Ok(None),
    }
}

fn make_key(path: &Path) -> anyhow::Result<ExitCode> {
    let mut options = std::fs::OpenOptions::new();
    // The file must not exist, because an existing key may be in use.
    options.write(true).create_new(true);
    // On other systems, every user who has access to the directory can read the file.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|error| {
        let cure = match error.kind() {
            ErrorKind::AlreadyExists => "choose a file that does not exist yet",
            ErrorKind::NotFound => "make its folder first",
            _ => "choose another place",
        };
        anyhow::anyhow!("{} cannot be written ({error}): {cure}", path.display())
    })?;
    writeln!(file, "{}", new_secret())?;
    output::line(format_args!(
        "A new secret is in {}: give it only to the endpoint and to the programs that make tokens.",
        path.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Parses a time such as `30s`, `10m`, `8h` or `7d`.
fn time(text: &str) -> Result<Duration, String> {
    read_duration(text)
        .filter(|time| (1..=10 * 365 * 86_400).contains(&time.as_secs()))
        .ok_or_else(|| "a time is a number with s, m, h or d, such as 10m, up to ten years".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_in_their_usual_form() {
        assert_eq!(time("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(time("7d"), Ok(Duration::from_secs(7 * 86_400)));
        for wrong in ["", "m", "10", "-1m", "1.5h", "10 m", "0s", "99999999999999999999d", "9999999d", "5µ"]
        {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
