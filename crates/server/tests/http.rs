//! HTTP answers to browsers and operators.

use nowcast_server::{BindError, Config, Server};

use crate::common::{TestServer, config};

#[tokio::test]
async fn pages_carry_a_strict_policy_and_forbid_sniffing() {
    let server = TestServer::start().await;
    for path in ["/", "/r/plaza"] {
        let answer = server.get(path).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("content-type: text/html; charset=utf-8"), "{answer}");
        assert!(answer.contains("x-content-type-options: nosniff"), "{answer}");
        let policy = answer
            .lines()
            .find(|line| line.starts_with("content-security-policy: "))
            .expect("the answer has a policy");
        assert!(policy.contains("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        let built = answer.contains("/assets/");
        assert!(
            built || answer.contains("cargo xtask serve"),
            "the page explains how to build the client: {answer}"
        );
    }
}

#[tokio::test]
async fn unknown_paths_are_not_found() {
    let server = TestServer::start().await;
    for path in ["/nothing", "/assets/nothing.js", "/assets/../../Cargo.toml", "/r/a/b", "/api/nothing"] {
        let answer = server.get(path).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
        assert!(answer.contains("x-content-type-options: nosniff"), "{answer}");
    }
    let posted = server
        .raw("POST /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        .await;
    assert!(posted.starts_with("HTTP/1.1 405"), "{posted}");
}

#[tokio::test]
async fn every_address_also_exists_below_the_base_path() {
    let server = TestServer::with(|config| config.base_path = "/game/".to_owned()).await;
    for (path, location) in [("/game", "game/"), ("/game/studio", "studio/"), ("/game/docs", "docs/")] {
        let answer = server.get(path).await;
        assert!(answer.starts_with("HTTP/1.1 308"), "{answer}");
        assert!(answer.contains(&format!("location: {location}\r\n")), "{answer}");
    }
    for path in ["", "r/plaza", "api/worlds", "nowcast/plaza", "studio/api/session", "metrics"] {
        for base in ["/", "/game/"] {
            let answer = server.get(&format!("{base}{path}")).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{base}{path}: {answer}");
        }
        let elsewhere = server.get(&format!("/other/{path}")).await;
        assert!(elsewhere.starts_with("HTTP/1.1 404"), "{path}: {elsewhere}");
    }
    // A request of another machine.
    let metrics = server.get_with("/game/metrics", "X-Forwarded-For: 203.0.113.7\r\n").await;
    assert!(metrics.starts_with("HTTP/1.1 403"), "{metrics}");
    let mistake = Config { base_path: "/game".to_owned(), ..config() };
    assert!(matches!(Server::bind(mistake).await, Err(BindError::Config(cause)) if cause.contains("slash")));
}

#[tokio::test]
async fn health_and_metrics_are_served_from_the_start() {
    let server = TestServer::start().await;
    assert!(server.get("/healthz").await.ends_with("\r\n\r\nok\n"));
    let _ada = server.join("plaza", "").await;
    server.until_metric("nowcast_tick_seconds_count", |ticks| ticks > 1.0).await;
    let page = server.get("/metrics").await;
    assert!(page.contains("content-type: application/openmetrics-text; version=1.0.0"), "{page}");
    for name in [
        "nowcast_tick_seconds_bucket{le=\"0.016\"}",
        "nowcast_snapshot_encode_seconds_count",
        "nowcast_clients 1",
        "nowcast_rooms 1",
        "nowcast_connections 2",
        "nowcast_bodies_awake",
        "nowcast_bytes_total{direction=\"in\"}",
        "nowcast_bytes_total{direction=\"out\"}",
        "nowcast_messages_total{direction=\"out\"}",
        "nowcast_snapshots_superseded_total",
        "nowcast_steps_skipped_total",
        "process_resident_memory_bytes",
        "# EOF",
    ] {
        assert!(page.contains(name), "{name} is missing in {page}");
    }
    if cfg!(target_os = "linux") {
        assert!(server.metric("process_resident_memory_bytes") > 1e6);
        assert!(server.metric("process_open_fds") > 3.0);
    }
}

#[tokio::test]
async fn the_built_client_is_cached_compressed_and_typed() {
    let server = TestServer::start().await;
    let page = server.get("/").await;
    let (_, rest) = page
        .split_once("src=\"./assets/")
        .expect("the program has a web client (`cargo xtask build` makes it before the program)");
    let script = format!("/assets/{}", rest.split('"').next().expect("the attribute ends"));
    let answer = server.get(&script).await;
    assert!(answer.contains("content-type: text/javascript"), "{}", head(&answer));
    assert!(answer.contains("cache-control: public, max-age=31536000, immutable"), "{}", head(&answer));
    let tag = answer
        .lines()
        .find_map(|line| line.strip_prefix("etag: "))
        .expect("the answer has an entity tag")
        .trim()
        .to_owned();

    let gzipped = server.get_with(&script, "Accept-Encoding: br;q=0, gzip\r\n").await;
    assert!(gzipped.contains("content-encoding: gzip"), "{}", head(&gzipped));
    let length = |answer: &str| -> usize {
        let length = answer.lines().find_map(|line| line.strip_prefix("content-length: "));
        length.expect("the answer has a length").trim().parse().expect("the value is a number")
    };
    assert!(length(&gzipped) * 2 < length(&answer));
    let brotli = server.get_with(&script, "Accept-Encoding: gzip, deflate, br, zstd\r\n").await;
    assert!(brotli.contains("content-encoding: br"), "{}", head(&brotli));
    assert!(brotli.contains("content-type: text/javascript"), "{}", head(&brotli));
    assert!(length(&brotli) * 10 < length(&gzipped) * 9);
    let as_file = server.get(&format!("{script}.br")).await;
    assert!(as_file.starts_with("HTTP/1.1 404"), "{}", head(&as_file));

    let unchanged = server.get_with(&script, &format!("If-None-Match: {tag}\r\n")).await;
    assert!(unchanged.starts_with("HTTP/1.1 304"), "{}", head(&unchanged));
    assert!(page.contains("cache-control: no-cache"), "the page itself may change with every release");
}

fn head(answer: &str) -> &str {
    answer.split("\r\n\r\n").next().unwrap_or_default()
}

#[tokio::test]
async fn address_of_a_room_with_a_bad_name_is_answered_404_with_the_page_that_explains_it() {
    let server = TestServer::start().await;
    let body = |answer: &str| answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    let page = server.get("/r/plaza-2").await;
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let capital = server.get("/r/ABC?token=x").await;
    assert!(capital.starts_with("HTTP/1.1 200"), "{capital}");
    for bad in ["/r/two%20words", "/r/a.b", &format!("/r/{}", "x".repeat(33))] {
        let refused = server.get(bad).await;
        assert!(refused.starts_with("HTTP/1.1 404"), "{bad}: {refused}");
        assert_eq!(body(&refused), body(&page), "{bad}");
    }
    server.stop().await;
}

#[tokio::test]
async fn page_at_another_host_port_may_connect_to_the_port_of_webtransport() {
    let server = TestServer::with(|config| config.entry.anonymous = true).await;
    let port = server.address.port();
    let request = "GET /r/plaza HTTP/1.1\r\nHost: localhost:9\r\nConnection: close\r\n\r\n";
    let answer = server.raw(request).await;
    assert!(answer.contains(&format!("connect-src 'self' https://localhost:{port};")), "{answer}");
    server.stop().await;
}
