//! The documents below `/docs/`.

use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::read::GzDecoder;
use nowcast_server::{BindError, Config, Server};

use crate::common::TestServer;

/// A folder with a site, removed at the end of a test.
struct Site(PathBuf);

impl Site {
    fn new(index: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("nowcast-docs-{}-{number}", std::process::id()));
        std::fs::create_dir_all(folder.join("assets")).expect("the folder can be made");
        std::fs::write(folder.join("index.html"), index).expect("the page can be written");
        std::fs::write(folder.join("assets/app.1.js"), "export {};").expect("the script can be written");
        std::fs::create_dir_all(folder.join("measurements")).expect("the folder can be made");
        std::fs::write(folder.join("measurements/index.html"), "<p>Measured</p>")
            .expect("the page can be written");
        std::fs::write(folder.join("measurements/index.html.gz"), "packed").expect("the file can be written");
        std::fs::create_dir_all(folder.join(".git")).expect("the folder can be made");
        for hidden in [".env", ".git/config", "assets/.secret"] {
            std::fs::write(folder.join(hidden), "secret").expect("the file can be written");
        }
        Self(folder)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // A folder that remains does not change the result of a test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn documents_are_served_below_their_address_and_nothing_outside_of_their_folder() {
    let site = Site::new("<script src=\"/docs/assets/app.1.js\"></script>");
    let folder = site.0.clone();
    let server = TestServer::with(|config| config.docs = Some(folder)).await;
    let home = server.get("/docs/").await;
    assert!(home.starts_with("HTTP/1.1 200"), "{home}");
    assert!(home.contains("content-type: text/html; charset=utf-8"), "{home}");
    assert!(home.contains("frame-src 'self'"), "{home}");
    assert!(home.ends_with("</script>"), "{home}");
    assert!(server.get("/docs").await.contains("location: docs/"));
    assert!(server.get("/docs/measurements/").await.contains("<p>Measured</p>"), "a folder's page");
    let packed = server.get_with("/docs/measurements/", "Accept-Encoding: br, gzip\r\n").await;
    assert!(packed.contains("content-encoding: gzip") && packed.contains("packed"), "{packed}");
    let script = server.get("/docs/assets/app.1.js").await;
    assert!(script.contains("content-type: text/javascript"), "{script}");
    assert!(script.contains("immutable"), "{script}");
    let tag = script.lines().find_map(|line| line.strip_prefix("etag: ")).expect("the answer has a tag");
    let known = server.get_with("/docs/assets/app.1.js", &format!("If-None-Match: {tag}\r\n")).await;
    assert!(known.starts_with("HTTP/1.1 304"), "{known}");
    let outside = ["/docs/nothing.html", "/docs/../Cargo.toml", "/docs/%2e%2e/index.html", "/docs/assets"];
    let hidden = ["/docs/.env", "/docs/.git/config", "/docs/assets/.secret"];
    for path in outside.into_iter().chain(hidden) {
        let answer = server.get(path).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    let room = server.get("/r/docs").await;
    assert!(!room.contains("frame-ancestors 'none'"), "{room}");
}

#[tokio::test]
async fn addresses_without_html_lead_to_their_page_and_others_to_the_page_of_the_site() {
    let site = Site::new("<script src=\"/docs/assets/app.1.js\"></script>");
    std::fs::write(site.0.join("measurements/load.html"), "<p>Load</p>").expect("the page can be written");
    std::fs::write(site.0.join("404.html"), "<a href=\"/docs/\">Home</a>").expect("the page can be written");
    let folder = site.0.clone();
    let server = TestServer::with(|config| {
        config.docs = Some(folder);
        config.base_path = "/game/".to_owned();
    })
    .await;
    for base in ["", "/game"] {
        let answer = server.get(&format!("{base}/docs/measurements/load")).await;
        assert!(answer.starts_with("HTTP/1.1 308") && answer.contains("location: load.html\r\n"), "{answer}");
    }
    assert!(server.get("/docs/measurements/load.html").await.ends_with("<p>Load</p>"));
    let missing = server.get("/game/docs/measurements/nothing").await;
    assert!(missing.starts_with("HTTP/1.1 404"), "{missing}");
    assert!(missing.contains("content-type: text/html"), "{missing}");
    assert!(missing.ends_with("<a href=\"/game/docs/\">Home</a>"), "{missing}");
}

#[tokio::test]
async fn addresses_of_the_documents_get_the_base_path_and_texts_do_not() {
    let site = Site::new("<script src=\"/docs/assets/app.1.js\"></script><code>/docs/</code>");
    std::fs::write(site.0.join("index.html.gz"), "packed").expect("the file can be written");
    let folder = site.0.clone();
    let server = TestServer::with(|config| {
        config.docs = Some(folder);
        config.base_path = "/game/".to_owned();
    })
    .await;
    let home = server.get("/game/docs/").await;
    let expected = "<script src=\"/game/docs/assets/app.1.js\"></script><code>/docs/</code>";
    assert!(home.ends_with(expected), "{home}");
    let gzip = "Accept-Encoding: gzip\r\n";
    let packed = server.get_with("/game/docs/", gzip).await;
    let tag = packed.lines().find_map(|line| line.strip_prefix("etag: ")).expect("the answer has a tag");
    let known = server.get_with("/game/docs/", &format!("{gzip}If-None-Match: {tag}\r\n")).await;
    assert!(known.starts_with("HTTP/1.1 304"), "{known}");
    let packed = server.bytes_with("/game/docs/", gzip).await;
    let head = packed.windows(4).position(|end| end == b"\r\n\r\n").expect("the answer has a head");
    assert!(String::from_utf8_lossy(&packed[..head]).contains("content-encoding: gzip"));
    let mut text = String::new();
    GzDecoder::new(&packed[head + 4..]).read_to_string(&mut text).expect("the page is compressed");
    assert_eq!(text, expected);
    let script = server.get("/game/docs/assets/app.1.js").await;
    assert!(script.starts_with("HTTP/1.1 200"), "{script}");
}

#[tokio::test]
async fn without_documents_the_address_names_the_flag_and_rooms_stay_out_of_frames() {
    let server = TestServer::start().await;
    let answer = server.get("/docs/").await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(answer.contains("--docs"), "{answer}");
    assert!(server.get("/r/docs").await.contains("frame-ancestors 'none'"));
}

#[tokio::test]
async fn a_folder_without_a_site_for_this_address_is_refused_with_the_cure() {
    let other = Site::new("<script src=\"/assets/app.1.js\"></script>");
    let empty = Site::new("");
    std::fs::remove_file(empty.0.join("index.html")).expect("the page exists");
    for (folder, cause) in [(&other.0, "another address"), (&empty.0, "cannot be read")] {
        let config = Config { docs: Some(folder.clone()), port: 0, ..crate::common::config() };
        let Err(BindError::Config(refused)) = Server::bind(config).await else {
            panic!("{} is served", folder.display());
        };
        assert!(refused.contains(cause) && refused.contains("cargo xtask docs --served"), "{refused}");
    }
}
