//! The web client that is embedded into the program.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, VARY,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use nowcast_world_protocol::is_room_name;

use crate::content_coding::accepts;
use crate::shared::{Host, Shared};

/// Scripts and styles may come only from this server. Inline code and `eval` are forbidden, and no page may embed this page
/// in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     font-src 'self'; media-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'";

/// The page that is served if the web client was not built.
const NOT_BUILT: &str = include_str!("not_built.html");

/// Whether this program contains the web client. Without it, a server answers with a page that explains how to build
/// it.
#[must_use]
pub fn has_web_client() -> bool {
    assets::load("index.html").is_some()
}

/// The client's pages and files.
pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(client))
        .route("/r/{room}", get(room))
        .route("/lab", get(lab))
        .route("/studio", get(async || Redirect::permanent("studio/")))
        .route("/studio/", get(studio))
        .route("/studio/{*path}", get(studio_file))
        .route("/{*path}", get(file))
}

/// The start page.
async fn client(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    page("index.html", &shared, &request)
}

/// The page of a room: the start page, with the addresses of its files one folder higher.
///
/// If the address has capital letters, the page enters the room in lower case, and says so. For a name that no room can have,
/// the answer is 404, and the page shows the start screen with the reason.
async fn room(State(shared): State<Arc<Shared>>, Path(name): Path<String>, request: Request) -> Response {
    let mut response = page("room.html", &shared, &request);
    if !is_room_name(&name.trim().to_lowercase()) {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

/// The page that measures a browser's connection to this server.
async fn lab(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    page("lab.html", &shared, &request)
}

/// The page of the studio. It has no data of a world: its scripts ask the interface below `/studio/api/`.
async fn studio(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    page("studio/index.html", &shared, &request)
}

/// Serves a file of the studio's page.
async fn studio_file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    file(Path(format!("studio/{path}")), headers).await
}

fn page(path: &str, shared: &Shared, request: &Request) -> Response {
    let others = shared.cluster.as_ref().map(|node| node.addresses()).unwrap_or_default();
    let mut policy = policy_for(Host::of(request), shared.sessions.udp_port, &others);
    if shared.documents.is_some() {
        // The first page of the documents shows a room in a frame.
        policy = policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'").into();
    }
    match assets::load(path) {
        Some(asset) => respond(path, asset, request.headers(), &policy),
        None => {
            let headers = [(CONTENT_SECURITY_POLICY, &*policy), (CACHE_CONTROL, "no-store")];
            (StatusCode::OK, headers, Html(NOT_BUILT)).into_response()
        }
    }
}

/// Returns the content security policy for a page that was requested at this host. The page also connects to the port of
/// WebTransport. Behind a relay, or in a container with mapped ports, that port differs from the port of the page. In a
/// cluster, the page also connects to the origins of the other servers.
fn policy_for(host: Option<&str>, udp_port: Option<u16>, others: &[String]) -> Cow<'static, str> {
    let authority = host.and_then(|host| host.parse::<Authority>().ok());
    let own = authority.zip(udp_port).filter(|(authority, port)| authority.port_u16() != Some(*port));
    let own = own.map(|(authority, port)| format!(" https://{}:{port}", authority.host()));
    let others = others.iter().filter_map(|origin| origin.split_once("://"));
    let others = others.filter(|(_, place)| {
        place.parse::<Authority>().is_ok_and(|read| !place.contains(';') && read.as_str() == *place)
    });
    let others = others.map(|(scheme, place)| {
        let websocket =
            if scheme == "http" { format!(" http://{place} ws://{place}") } else { String::new() };
        format!(" https://{place} wss://{place}{websocket}")
    });
    let places: String = own.into_iter().chain(others).collect();
    if places.is_empty() {
        return POLICY.into();
    }
    POLICY.replace("connect-src 'self';", &format!("connect-src 'self'{places};")).into()
}

/// Serves a file of the client.
pub(crate) async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match assets::load(&path) {
        Some(asset) => respond(&path, asset, &headers, POLICY),
        None => (StatusCode::NOT_FOUND, "there is nothing at this address\n").into_response(),
    }
}

fn respond(path: &str, asset: assets::Asset, headers: &HeaderMap, policy: &str) -> Response {
    // Names below `assets/` contain a hash of the content, so browsers may cache these files for ever. Browsers must
    // revalidate all other files.
    let is_hashed = path.strip_prefix("studio/").unwrap_or(path).starts_with("assets/");
    let caching = if is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
    let tags = [(CACHE_CONTROL, caching), (ETAG, asset.tag), (VARY, "accept-encoding")];
    if headers.get(IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == asset.tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, tags).into_response();
    }
    let describing = [(CONTENT_TYPE, asset.content_type), (CONTENT_SECURITY_POLICY, policy)];
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // Brotli is preferred, because its files are about 15 % smaller.
    let smaller = [("br", asset.brotli), ("gzip", asset.gzipped)];
    for (coding, body) in smaller {
        if let Some(body) = body
            && accepts(accepted, coding)
        {
            return (tags, describing, [(CONTENT_ENCODING, coding)], body.clone()).into_response();
        }
    }
    (tags, describing, asset.content.clone()).into_response()
}

#[cfg(feature = "web")]
mod assets {
    use std::collections::HashMap;
    use std::io::Read;
    use std::sync::LazyLock;

    use bytes::Bytes;
    use flate2::read::GzDecoder;

    /// The files of a page, as `build.rs` has packed them.
    type Files = &'static [(&'static str, &'static [u8])];
    const VIEWER_FILES: Files = include!(concat!(env!("OUT_DIR"), "/viewer.rs"));
    const STUDIO_FILES: Files = include!(concat!(env!("OUT_DIR"), "/studio.rs"));

    /// The suffix that the page's build adds to the name of a file when it compresses the file by Brotli.
    const BROTLI: &str = ".br";
    /// The suffix that `build.rs` adds to the name of a file when it compresses the file by gzip.
    const GZIP: &str = ".gz";

    /// One file of the web client, ready to be sent.
    #[derive(Clone, Copy)]
    pub(super) struct Asset {
        pub(super) content: &'static Bytes,
        /// The file compressed by Brotli, if the page's build did so.
        pub(super) brotli: &'static Option<Bytes>,
        /// The file compressed by gzip, if compression helps.
        pub(super) gzipped: &'static Option<Bytes>,
        pub(super) content_type: &'static str,
        /// The entity tag, in quotes.
        pub(super) tag: &'static str,
    }

    struct Prepared {
        content: Bytes,
        brotli: Option<Bytes>,
        gzipped: Option<Bytes>,
        content_type: String,
        tag: String,
    }

    /// All files. The first request decompresses them, which takes about 20 ms.
    static PREPARED: LazyLock<HashMap<String, Prepared>> = LazyLock::new(|| prepare_all(VIEWER_FILES));

    /// The files of the studio, which the first request for one of them decompresses.
    static STUDIO: LazyLock<HashMap<String, Prepared>> = LazyLock::new(|| prepare_all(STUDIO_FILES));

    fn prepare_all(files: Files) -> HashMap<String, Prepared> {
        files
            .iter()
            .filter(|(name, _)| !name.ends_with(BROTLI))
            .map(|(name, content)| {
                let path = name.strip_suffix(GZIP).unwrap_or(name);
                (path.to_owned(), prepare(files, path, content, name.ends_with(GZIP)))
            })
            .collect()
    }

    pub(super) fn load(path: &str) -> Option<Asset> {
        let found = match path.strip_prefix("studio/") {
            Some(path) => STUDIO.get(path),
            None => PREPARED.get(path),
        };
        let Prepared { content, brotli, gzipped, content_type, tag } = found?;
        Some(Asset { content, brotli, gzipped, content_type, tag })
    }

    fn prepare(files: Files, path: &str, embedded: &'static [u8], is_gzipped: bool) -> Prepared {
        let media = mime_guess::from_path(path).first_or_octet_stream();
        let charset = if media.type_() == "text" { "; charset=utf-8" } else { "" };
        let digest = ring::digest::digest(&ring::digest::SHA256, embedded);
        let hash: String = digest.as_ref()[..12].iter().map(|byte| format!("{byte:02x}")).collect();
        let embedded = Bytes::from_static(embedded);
        let brotli = files.iter().find(|(name, _)| name.strip_suffix(BROTLI) == Some(path));
        Prepared {
            brotli: brotli.map(|(_, content)| Bytes::from_static(content)),
            content: if is_gzipped { decompress(&embedded) } else { embedded.clone() },
            gzipped: is_gzipped.then_some(embedded),
            content_type: format!("{media}{charset}"),
            tag: format!("\"{hash}\""),
        }
    }

    fn decompress(gzipped: &[u8]) -> Bytes {
        let mut content = Vec::new();
        GzDecoder::new(gzipped).read_to_end(&mut content).expect("build.rs has compressed the file");
        content.into()
    }
}

#[cfg(not(feature = "web"))]
mod assets {
    use bytes::Bytes;

    /// One file of the web client. Without the feature `web`, there are no files.
    #[derive(Clone, Copy)]
    pub(super) struct Asset {
        pub(super) content: &'static Bytes,
        pub(super) brotli: &'static Option<Bytes>,
        pub(super) gzipped: &'static Option<Bytes>,
        pub(super) content_type: &'static str,
        pub(super) tag: &'static str,
    }

    pub(super) fn load(_path: &str) -> Option<Asset> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_count_by_name_and_weight() {
        assert!(accepts("gzip, deflate, br, zstd", "br"));
        assert!(accepts("gzip;q=0.5,BR; q=1", "br"));
        assert!(!accepts("gzip, br;q=0", "br"));
        assert!(!accepts("gzip, brotli", "br"));
        assert!(!accepts("", "gzip"));
    }

    #[test]
    fn a_page_at_another_port_may_connect_to_the_port_of_webtransport() {
        for (host, allowed) in [
            ("world.example:8080", "connect-src 'self' https://world.example:7777;"),
            ("world.example", "connect-src 'self' https://world.example:7777;"),
            ("[::1]:8080", "connect-src 'self' https://[::1]:7777;"),
            ("world.example:7777", "connect-src 'self';"),
            ("not a host; script-src *", "connect-src 'self';"),
        ] {
            assert!(policy_for(Some(host), Some(7_777), &[]).contains(allowed), "{host}");
        }
        assert_eq!(policy_for(Some("world.example:8080"), None, &[]), POLICY);
    }

    #[test]
    fn a_page_of_a_cluster_may_connect_to_the_other_servers() {
        let others =
            ["http://10.0.0.2:7777", "https://c.example", "http://x;script-src *"].map(str::to_owned);
        let policy = policy_for(Some("10.0.0.1:7777"), Some(7_777), &others);
        let allowed = "connect-src 'self' https://10.0.0.2:7777 wss://10.0.0.2:7777 http://10.0.0.2:7777 \
             ws://10.0.0.2:7777 https://c.example wss://c.example;";
        assert!(policy.contains(allowed), "{policy}");
        assert!(!policy.contains("script-src *"), "{policy}");
    }
}
