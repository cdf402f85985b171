//! The files of worlds in the studio.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::{HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH};
use nowcast_room::Audience;
use nowcast_script::{Stop, TYPES};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::error::ApiError;
use super::{Answer, ApiRequest, audited, no_route, ok};
use crate::checker::Checker;
use crate::shared::Shared;
use crate::worlds::{Expected, FileError, Rules, WorldFiles, read_world};

/// Maximum files that one request saves.
const SAVED_FILES_MAX: usize = 64;

/// Maximum time of a check.
const CHECK_TIME_MAX: Duration = Duration::from_secs(5);

impl From<FileError> for ApiError {
    fn from(error: FileError) -> Self {
        let message = error.to_string();
        match error {
            FileError::BadPath(_) | FileError::NotAFile(_) | FileError::NotText(_) => Self::invalid(message),
            FileError::Missing(_) => Self::not_found(message),
            FileError::TooLarge { .. } | FileError::TooMany => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                message,
                "make the file smaller, or split it",
            ),
            FileError::Changed { path, revision } => Self::changed(&path, revision),
            FileError::ReadOnly(_) => Self::read_only(message),
            FileError::Folder(_) | FileError::Io(_) => Self::unreadable(message),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewText {
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTexts {
    files: Vec<NewFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewFile {
    path: String,
    text: String,
    /// Absent: any revision. Null: the file must be new.
    #[serde(default, deserialize_with = "present")]
    revision: Option<Option<String>>,
}

/// Distinguishes null from an absent member.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckRequest {
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// Answers a request below `worlds/{world}`.
pub(super) async fn answer(shared: &Arc<Shared>, request: &ApiRequest, world: &str, rest: &[&str]) -> Answer {
    let about = about(shared, world)?;
    match (request.method.as_str(), rest) {
        ("GET", ["types"]) => ok(types()),
        ("GET", ["faults"]) => ok(faults(&about)),
        ("GET", ["files"]) => list(shared, world, &about).await,
        ("PUT", ["files"]) => put_all(shared, request, world).await,
        ("POST", ["check"]) => check(shared, request, world).await,
        (method, ["files", path @ ..]) if !path.is_empty() => {
            let files = folder(shared, world)?;
            let path = path.join("/");
            match method {
                "GET" => {
                    let asked = path.clone();
                    let (text, revision) = blocking(move || files.read(&asked)).await?;
                    ok(json!({ "path": path, "text": text, "revision": revision }))
                }
                "PUT" => put(shared, request, world, files, path).await,
                "DELETE" => {
                    let expected = expected(&request.headers)?;
                    let target = format!("worlds/{world}/files/{path}");
                    let removed = async move {
                        blocking(move || files.remove(&path, &expected)).await?;
                        ok(json!({ "ok": true }))
                    };
                    let removed = audited(shared, request, "remove_file", target, Json::Null, removed).await;
                    put_in_force(shared, world, removed).await
                }
                _ => Err(no_route(request)),
            }
        }
        _ => Err(no_route(request)),
    }
}

/// Returns the entry of a world in the list of worlds.
fn about(shared: &Shared, world: &str) -> Result<Json, ApiError> {
    let worlds = serde_json::to_value(shared.rooms.worlds(Audience::Operators)).unwrap_or_default();
    let found = worlds.as_array().and_then(|worlds| worlds.iter().find(|entry| entry["name"] == *world));
    found.cloned().ok_or_else(|| ApiError::not_found(format!("there is no world '{world}'")))
}

/// Returns the folder of a world.
pub(super) fn folder(shared: &Shared, world: &str) -> Result<Arc<WorldFiles>, ApiError> {
    let found = shared.studio.folders.get(world).cloned();
    found.ok_or_else(|| ApiError::read_only(format!("the world '{world}' is not served from a folder")))
}

/// Runs work that waits for the disk.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = spawn_blocking(work).await;
    Ok(done.map_err(|_| ApiError::unreadable("the files could not be read"))??)
}

async fn list(shared: &Shared, world: &str, about: &Json) -> Answer {
    let version = &about["version"];
    let Some(files) = shared.studio.folders.get(world).cloned() else {
        let why = "the world is not served from a folder";
        return ok(json!({ "files": [], "writable": false, "why": why, "version": version }));
    };
    let (listed, why) = blocking(move || Ok((files.list()?, files.why_read_only()))).await?;
    let listed: Vec<Json> = listed
        .into_iter()
        .map(|file| {
            let text = file.revision.is_some();
            json!({ "path": file.path, "bytes": file.bytes, "revision": file.revision, "text": text })
        })
        .collect();
    ok(json!({ "files": listed, "writable": why.is_none(), "why": why, "version": version }))
}

async fn put(
    shared: &Arc<Shared>,
    request: &ApiRequest,
    world: &str,
    files: Arc<WorldFiles>,
    path: String,
) -> Answer {
    let NewText { text } = request.read()?;
    let expected = expected(&request.headers)?;
    let target = format!("worlds/{world}/files/{path}");
    let detail = json!({ "bytes": text.len() });
    let saved = async move {
        let written = path.clone();
        let (revision, created) = blocking(move || files.write(&written, &text, &expected)).await?;
        ok(json!({ "path": path, "revision": revision, "created": created }))
    };
    let saved = audited(shared, request, "save_file", target, detail, saved).await;
    put_in_force(shared, world, saved).await
}

/// Saves several files, or none.
async fn put_all(shared: &Arc<Shared>, request: &ApiRequest, world: &str) -> Answer {
    let NewTexts { files: texts } = request.read()?;
    if !(1..=SAVED_FILES_MAX).contains(&texts.len()) {
        return Err(ApiError::invalid(format!("a request saves 1 to {SAVED_FILES_MAX} files")));
    }
    let folder = folder(shared, world)?;
    let target = format!("worlds/{world}/files");
    let paths: Vec<String> = texts.iter().map(|file| file.path.clone()).collect();
    let detail = json!({ "paths": paths });
    let texts: Vec<_> = texts
        .into_iter()
        .map(|NewFile { path, text, revision }| {
            let expected = match revision {
                None => Expected::Any,
                Some(None) => Expected::Absent,
                Some(Some(revision)) => Expected::Revision(revision),
            };
            (path, text, expected)
        })
        .collect();
    let saved = async move {
        let written = blocking(move || folder.write_all(&texts)).await?;
        let files: Vec<Json> = paths
            .iter()
            .zip(written)
            .map(|(path, (revision, created))| json!({ "path": path, "revision": revision, "created": created }))
            .collect();
        ok(json!({ "files": files }))
    };
    let saved = audited(shared, request, "save_files", target, detail, saved).await;
    put_in_force(shared, world, saved).await
}

/// After a successful change, waits until the changed files are in force or have failed to load. Then returns the answer. So a
/// replay right after a save uses the saved rules.
async fn put_in_force(shared: &Shared, world: &str, answer: Answer) -> Answer {
    if answer.is_ok()
        && let Some(watch) = shared.watchers.get(world)
    {
        watch.read_now().await;
    }
    answer
}

/// Reads the revision that the author edited from the headers.
fn expected(headers: &HeaderMap) -> Result<Expected, ApiError> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default().trim());
    match (text(IF_MATCH), text(IF_NONE_MATCH)) {
        (None, None) => Ok(Expected::Any),
        (None, Some("*")) => Ok(Expected::Absent),
        (Some(revision), None) => Ok(Expected::Revision(revision.trim_matches('"').to_owned())),
        _ => Err(ApiError::invalid("send either If-Match: \"REVISION\" or If-None-Match: *")),
    }
}

async fn check(shared: &Arc<Shared>, request: &ApiRequest, world: &str) -> Answer {
    let CheckRequest { files } = request.read()?;
    let Some(Checker(checker)) = shared.config.checker.clone() else {
        return Err(ApiError::unreadable("this server has no checker of rules"));
    };
    let folder = shared.config.worlds.iter().find(|known| known.name == world).map(|known| &known.rules);
    let (mut sources, folder) = match folder {
        Some(Rules::Folder(folder)) => {
            let folder = folder.clone();
            let place = folder.clone();
            let read = blocking(move || Ok(read_world(&place)?)).await?;
            (read, Some(folder))
        }
        Some(Rules::Script(sources) | Rules::Packed(sources, _)) => (sources.clone(), None),
        _ => return Err(ApiError::unreadable("the rules of this world are a program")),
    };
    for (path, text) in files {
        if !path.ends_with(".luau") || path.len() > 256 {
            return Err(ApiError::invalid(format!("'{path}' is not the path of a module")));
        }
        sources.insert(path, text);
    }
    let stop = Stop::default();
    let watched = stop.clone();
    let mut checking = spawn_blocking(move || watched.watch(|| checker.check(&sources, folder.as_deref())));
    match timeout(CHECK_TIME_MAX, &mut checking).await {
        Ok(Ok(checked)) => ok(serde_json::to_value(checked).unwrap_or_default()),
        Ok(Err(_)) => Err(ApiError::unreadable("the check failed")),
        Err(_) => {
            stop.set();
            let seconds = CHECK_TIME_MAX.as_secs();
            Err(ApiError::unreadable(format!("the rules did not load within {seconds} s")))
        }
    }
}

/// Returns the types of the API, as in the folder `.nowcast` of a new world.
fn types() -> Json {
    let files: Map<String, Json> =
        TYPES.into_iter().map(|(name, text)| (format!("{name}.luau"), text.into())).collect();
    json!({ "files": files })
}

/// Describes the reason why the folder does not load, with its place.
fn faults(about: &Json) -> Json {
    let fault = about["fault"].as_str();
    let place = fault.and_then(|text| {
        let (place, _) = text.split_once(": ")?;
        let (file, line) = place.rsplit_once(':')?;
        Some((file.to_owned(), line.parse::<u32>().ok()?))
    });
    let (file, line) = place.map_or((None, None), |(file, line)| (Some(file), Some(line)));
    json!({ "fault": fault, "file": file, "line": line, "version": about["version"] })
}
