//! The web client, embedded into the program.

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use crate::http::Shared;

/// Scripts and styles come from this server only, nothing is inline, nothing is evaluated, and no page frames this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     font-src 'self'; media-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'";

/// What is shown when the program was built without its web client.
const NOT_BUILT: &str = include_str!("not_built.html");

/// The client's pages and files.
pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new().route("/", get(page)).route("/r/{room}", get(page)).route("/{*path}", get(file))
}

/// The one page: the client reads the room from its address.
async fn page(headers: HeaderMap) -> Response {
    match assets::load("index.html") {
        Some(asset) => respond("index.html", asset, &headers),
        None => (
            StatusCode::OK,
            [(CONTENT_SECURITY_POLICY, POLICY), (CACHE_CONTROL, "no-store")],
            Html(NOT_BUILT),
        )
            .into_response(),
    }
}

async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match assets::load(&path) {
        Some(asset) => respond(&path, asset, &headers),
        None => (StatusCode::NOT_FOUND, "there is nothing at this address\n").into_response(),
    }
}

fn respond(path: &str, asset: assets::Asset, headers: &HeaderMap) -> Response {
    // Names below assets/ carry a hash of their content, so what they name never changes. All else is asked for anew.
    let caching =
        if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let tags = [(CACHE_CONTROL, caching.to_owned()), (ETAG, asset.tag.clone())];
    if headers.get(IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == asset.tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, tags).into_response();
    }
    let describing = [(CONTENT_TYPE, asset.content_type), (CONTENT_SECURITY_POLICY, POLICY.to_owned())];
    (tags, describing, asset.content).into_response()
}

#[cfg(feature = "web")]
mod assets {
    use std::borrow::Cow;
    use std::fmt::Write;

    use bytes::Bytes;
    use rust_embed::RustEmbed;

    #[derive(RustEmbed)]
    #[folder = "$CARGO_MANIFEST_DIR/../../packages/viewer/dist"]
    #[allow_missing = true]
    struct Files;

    /// One file of the web client.
    pub(super) struct Asset {
        pub(super) content: Bytes,
        pub(super) content_type: String,
        /// A quoted entity tag.
        pub(super) tag: String,
    }

    pub(super) fn load(path: &str) -> Option<Asset> {
        let file = Files::get(path)?;
        let content_type = mime_guess::from_path(path).first_or_octet_stream();
        let charset = if content_type.type_() == "text" { "; charset=utf-8" } else { "" };
        let mut tag = String::from("\"");
        for byte in &file.metadata.sha256_hash()[..12] {
            write!(tag, "{byte:02x}").expect("writing to memory does not fail");
        }
        tag.push('"');
        let content = match file.data {
            Cow::Borrowed(data) => Bytes::from_static(data),
            Cow::Owned(data) => Bytes::from(data),
        };
        Some(Asset { content, content_type: format!("{content_type}{charset}"), tag })
    }
}

#[cfg(not(feature = "web"))]
mod assets {
    use bytes::Bytes;

    /// One file of the web client; without the feature `web` there is none.
    pub(super) struct Asset {
        pub(super) content: Bytes,
        pub(super) content_type: String,
        pub(super) tag: String,
    }

    pub(super) fn load(_path: &str) -> Option<Asset> {
        None
    }
}
