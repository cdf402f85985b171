//! The web client, embedded into the program.

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use crate::shared::Shared;

/// Scripts and styles come from this server only, nothing is inline, nothing is evaluated, and no page frames this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     font-src 'self'; media-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'";

/// What is shown when the program was built without its web client.
const NOT_BUILT: &str = include_str!("not_built.html");

/// Whether this program has the web client inside. Without it a server answers with a page that says how to build it.
#[must_use]
pub fn has_web_client() -> bool {
    assets::load("index.html").is_some()
}

/// The client's pages and files.
pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(client))
        .route("/r/{room}", get(client))
        .route("/lab", get(lab))
        .route("/{*path}", get(file))
}

/// The world's page: the client reads the room from its address.
async fn client(headers: HeaderMap) -> Response {
    page("index.html", &headers)
}

/// The page that measures a browser's connection to this server.
async fn lab(headers: HeaderMap) -> Response {
    page("lab.html", &headers)
}

fn page(path: &str, headers: &HeaderMap) -> Response {
    match assets::load(path) {
        Some(asset) => respond(path, asset, headers),
        None => (
            StatusCode::OK,
            [(CONTENT_SECURITY_POLICY, POLICY), (CACHE_CONTROL, "no-store")],
            Html(NOT_BUILT),
        )
            .into_response(),
    }
}

/// A file of the client.
pub(crate) async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match assets::load(&path) {
        Some(asset) => respond(&path, asset, &headers),
        None => (StatusCode::NOT_FOUND, "there is nothing at this address\n").into_response(),
    }
}

fn respond(path: &str, asset: assets::Asset, headers: &HeaderMap) -> Response {
    // Names below assets/ carry a hash of their content, so what they name never changes. All else is asked for anew.
    let caching =
        if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let tags = [(CACHE_CONTROL, caching), (ETAG, asset.tag), (VARY, "accept-encoding")];
    if headers.get(IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == asset.tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, tags).into_response();
    }
    let describing = [(CONTENT_TYPE, asset.content_type), (CONTENT_SECURITY_POLICY, POLICY)];
    match &asset.gzipped {
        Some(gzipped) if accepts_gzip(headers) => {
            (tags, describing, [(CONTENT_ENCODING, "gzip")], gzipped.clone()).into_response()
        }
        _ => (tags, describing, asset.content.clone()).into_response(),
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|coding| coding.trim() == "gzip")
}

#[cfg(feature = "web")]
mod assets {
    use std::collections::HashMap;
    use std::io::Write;
    use std::sync::LazyLock;

    use bytes::Bytes;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use rust_embed::{EmbeddedFile, RustEmbed};

    #[derive(RustEmbed)]
    #[folder = "$CARGO_MANIFEST_DIR/../../packages/viewer/dist"]
    #[allow_missing = true]
    struct Files;

    /// One file of the web client, ready to be sent.
    #[derive(Clone, Copy)]
    pub(super) struct Asset {
        pub(super) content: &'static Bytes,
        /// The same, smaller; only for what is worth it.
        pub(super) gzipped: &'static Option<Bytes>,
        pub(super) content_type: &'static str,
        /// A quoted entity tag.
        pub(super) tag: &'static str,
    }

    struct Prepared {
        content: Bytes,
        gzipped: Option<Bytes>,
        content_type: String,
        tag: String,
    }

    /// Every file, prepared when the first one is asked for; that takes some 30 ms.
    static PREPARED: LazyLock<HashMap<String, Prepared>> = LazyLock::new(|| {
        Files::iter()
            .filter_map(|path| Some((path.to_string(), prepare(&path, Files::get(&path)?))))
            .collect()
    });

    pub(super) fn load(path: &str) -> Option<Asset> {
        let Prepared { content, gzipped, content_type, tag } = PREPARED.get(path)?;
        Some(Asset { content, gzipped, content_type, tag })
    }

    fn prepare(path: &str, file: EmbeddedFile) -> Prepared {
        let media = mime_guess::from_path(path).first_or_octet_stream();
        let charset = if media.type_() == "text" { "; charset=utf-8" } else { "" };
        let hash: String =
            file.metadata.sha256_hash()[..12].iter().map(|byte| format!("{byte:02x}")).collect();
        let content = Bytes::from(file.data.into_owned());
        let is_text = media.type_() == "text" || media.suffix().is_some() || media.subtype() == "json";
        Prepared {
            gzipped: is_text.then(|| gzip(&content)),
            content,
            content_type: format!("{media}{charset}"),
            tag: format!("\"{hash}\""),
        }
    }

    fn gzip(content: &[u8]) -> Bytes {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).expect("writing to memory does not fail");
        encoder.finish().expect("writing to memory does not fail").into()
    }
}

#[cfg(not(feature = "web"))]
mod assets {
    use bytes::Bytes;

    /// One file of the web client; without the feature `web` there is none.
    #[derive(Clone, Copy)]
    pub(super) struct Asset {
        pub(super) content: &'static Bytes,
        pub(super) gzipped: &'static Option<Bytes>,
        pub(super) content_type: &'static str,
        pub(super) tag: &'static str,
    }

    pub(super) fn load(_path: &str) -> Option<Asset> {
        None
    }
}
