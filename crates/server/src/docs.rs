//! The documents as a site below `/docs/`, from a folder of the operator.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap,
    IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use flate2::Compression;
use flate2::read::GzEncoder;

use crate::content_coding::accepts;

/// The site's own pages contain inline scripts and styles. Everything else comes from this server. The first page shows a
/// room of this server in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'";

/// Maximum number of files of a site. A larger folder is probably not a site.
const FILES_MAX: usize = 20_000;

/// The files of a built site. Only files that existed when the server started are served, so no address leaves the folder.
pub(crate) struct DocumentFiles {
    files: HashMap<String, PathBuf>,
    /// The base path of the server.
    base: String,
}

impl DocumentFiles {
    /// Lists the files of a built site, except hidden ones.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or holds no site that was built for the address `/docs/`.
    pub(crate) fn open(folder: &Path, base: &str) -> Result<Self, String> {
        let shown = folder.display();
        let index = std::fs::read_to_string(folder.join("index.html")).map_err(|error| {
            format!("the documents in {shown} cannot be read: index.html: {error}. `cargo xtask docs --served` builds them")
        })?;
        if !index.contains("\"/docs/") {
            return Err(format!(
                "the site in {shown} was built for another address than /docs/. `cargo xtask docs --served` builds it for this \
                 address"
            ));
        }
        let mut files = HashMap::new();
        let mut folders = vec![(folder.to_owned(), String::new())];
        while let Some((folder, prefix)) = folders.pop() {
            let broken = |error| format!("the documents in {} cannot be read: {error}", folder.display());
            for entry in std::fs::read_dir(&folder).map_err(broken)? {
                let entry = entry.map_err(broken)?;
                let name = entry.file_name();
                if name.as_encoded_bytes().starts_with(b".") {
                    continue;
                }
                let path = format!("{prefix}{}", name.to_string_lossy());
                let kind = entry.file_type().map_err(broken)?;
                if kind.is_dir() {
                    folders.push((entry.path(), path + "/"));
                } else if kind.is_file() {
                    files.insert(path, entry.path());
                }
            }
            if files.len() > FILES_MAX {
                return Err(format!(
                    "{shown} has more than {FILES_MAX} files, so it is not a documentation site"
                ));
            }
        }
        Ok(Self { files, base: base.to_owned() })
    }

    /// Finds the answer to an address. A folder's page is its `index.html`.
    fn resolve<'a>(&self, path: &'a str) -> Found<'a> {
        let is_folder = path.is_empty() || path.ends_with('/');
        let name = if is_folder { Cow::Owned(format!("{path}index.html")) } else { Cow::Borrowed(path) };
        if self.files.contains_key(name.as_ref()) {
            return Found::File(name);
        }
        let page = format!("{path}.html");
        if !self.files.contains_key(&page) {
            return Found::Nothing;
        }
        Found::Moved(page.rsplit_once('/').map_or(page.clone(), |(_, last)| last.to_owned()))
    }
}

/// The answer to an address of the site.
enum Found<'a> {
    File(Cow<'a, str>),
    /// A page whose address lacks `.html`, with the missing end of its address.
    Moved(String),
    Nothing,
}

/// The page of the site for addresses without a page.
const MISSING: &str = "404.html";

/// Answers a request for a page or file below `/docs/`. Without documents, the answer is 404 and names the flag.
pub(crate) async fn answer(documents: Option<&DocumentFiles>, path: &str, headers: &HeaderMap) -> Response {
    let Some(documents) = documents else {
        return (StatusCode::NOT_FOUND, "this server has no documents: start it with --docs\n")
            .into_response();
    };
    let (path, status) = match documents.resolve(path) {
        Found::File(path) => (path, StatusCode::OK),
        Found::Moved(page) => return Redirect::permanent(&page).into_response(),
        Found::Nothing if documents.files.contains_key(MISSING) => (MISSING.into(), StatusCode::NOT_FOUND),
        Found::Nothing => {
            return (StatusCode::NOT_FOUND, "the documents have no page at this address\n").into_response();
        }
    };
    let path = path.as_ref();
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let base = &documents.base;
    let is_moved = base != "/" && [".html", ".js", ".css"].iter().any(|suffix| path.ends_with(suffix));
    let packed = documents.files.get(&format!("{path}.gz")).filter(|_| accepts(accepted, "gzip"));
    let file = packed.filter(|_| !is_moved).unwrap_or(&documents.files[path]);
    let broken = |error: std::io::Error| {
        tracing::warn!(%error, file = %file.display(), "cannot read a page of the documents");
        (StatusCode::INTERNAL_SERVER_ERROR, "this page cannot be read; the log has the cause\n")
            .into_response()
    };
    let metadata = match tokio::fs::metadata(file).await {
        Ok(metadata) => metadata,
        Err(error) => return broken(error),
    };
    let written = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let variant = if packed.is_some() { "-gzip" } else { "" };
    let tag = format!("\"{:x}-{:x}{variant}\"", metadata.len(), written.unwrap_or_default().as_nanos());
    // Names below `assets/` contain a hash of the content.
    let caching =
        if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let tags = [(CACHE_CONTROL, caching.to_owned()), (ETAG, tag), (VARY, "accept-encoding".to_owned())];
    if is_known && status == StatusCode::OK {
        return (StatusCode::NOT_MODIFIED, tags).into_response();
    }
    let read = match (tokio::fs::read(file).await, packed.is_some()) {
        (Ok(content), packs) if is_moved => {
            let base = base.clone();
            let moved = tokio::task::spawn_blocking(move || move_addresses(content, &base, packs));
            moved.await.map_err(std::io::Error::other).flatten()
        }
        (read, _) => read,
    };
    let content = match read {
        Ok(content) => content,
        Err(error) => return broken(error),
    };
    let describing = [
        (CONTENT_TYPE, HeaderValue::from_static(content_type(path))),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ];
    let coding = packed.map(|_| [(CONTENT_ENCODING, "gzip")]);
    (status, tags, describing, coding, content).into_response()
}

/// Puts the base path before the addresses of the site, which was built for `/docs/`, and compresses the result if asked.
fn move_addresses(content: Vec<u8>, base: &str, compresses: bool) -> std::io::Result<Vec<u8>> {
    let mut text = String::from_utf8(content).map_err(std::io::Error::other)?;
    for sign in ['"', '\'', '`', '('] {
        text = text.replace(&format!("{sign}/docs/"), &format!("{sign}{base}docs/"));
    }
    if !compresses {
        return Ok(text.into_bytes());
    }
    let mut packed = Vec::new();
    GzEncoder::new(text.as_bytes(), Compression::fast()).read_to_end(&mut packed)?;
    Ok(packed)
}

/// Returns the content type of a file of the site, by its suffix.
fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, suffix)| suffix) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "md" | "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
