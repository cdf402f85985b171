//! Requests to the studio interface of a server (`docs/reference/studio.md`).

use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::{Method, Request, header};
use url::Url;

use crate::Error;

/// A replay answers after 20 s at the latest; all other requests answer sooner.
const REQUEST_TIME: Duration = Duration::from_secs(30);
/// The maximum size of an answer, in bytes.
const ANSWER_BYTES_MAX: u64 = 8 << 20;

/// A server's studio interface, and the token for it.
#[derive(Clone)]
pub struct Studio {
    agent: Agent,
    api: Url,
    token: Option<String>,
}

/// The failure of a request.
#[derive(Debug, thiserror::Error)]
pub enum StudioError {
    /// The server refused the request.
    #[error("{message} ({code}){}", cure.as_deref().map(|cure| format!("; {cure}")).unwrap_or_default())]
    Refused {
        /// The code of the refusal, such as `no_role`.
        code: String,
        /// The reason.
        message: String,
        /// The cure, if the server names one.
        cure: Option<String>,
    },
    /// The server cannot be reached, or the answer did not arrive.
    #[error("no answer from {address}: {reason}; is `nowcast serve` running there?")]
    Unreachable {
        /// The address of the interface.
        address: String,
        /// The reason.
        reason: String,
    },
    /// A replacement does not fit the file.
    #[error("{0}")]
    Edit(String),
    /// The answer is not that of a studio interface.
    #[error("{address} has no studio interface (HTTP status {status}); is its server of the same version?")]
    NotAStudio {
        /// The address of the interface.
        address: String,
        /// The HTTP status.
        status: u16,
    },
}

/// The change of one request.
enum Body<'a> {
    None,
    Json(&'a Value),
}

impl Studio {
    /// The studio of the server at `HOST:PORT` or `http://HOST:PORT`. Sends nothing yet.
    ///
    /// # Errors
    /// [`Error::Address`] if the text is not an address.
    pub fn new(server: &str, token: Option<String>) -> Result<Self, Error> {
        let invalid = |reason: String| Error::Address { address: server.to_owned(), reason };
        let address = if server.contains("://") { server.to_owned() } else { format!("http://{server}") };
        let base = Url::parse(&address).map_err(|error| invalid(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(invalid("it needs http:// or https:// and a host".into()));
        }
        let api = base.join("/studio/api/").map_err(|error| invalid(error.to_string()))?;
        let config = Agent::config_builder()
            .timeout_global(Some(REQUEST_TIME))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("nowcast-mcp/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self { agent: config.into(), api, token })
    }

    /// The answer to `GET` of a path, whose parts are encoded here.
    pub(crate) fn get(&self, path: &[&str], query: &[(&str, String)]) -> Result<Value, StudioError> {
        self.request(Method::GET, path, query, None, &Body::None)
    }

    pub(crate) fn post(&self, path: &[&str], body: &Value) -> Result<Value, StudioError> {
        self.request(Method::POST, path, &[], None, &Body::Json(body))
    }

    /// Replaces a file if it still has the revision; without a revision the file must be new.
    pub(crate) fn put(
        &self,
        path: &[&str],
        body: &Value,
        revision: Option<&str>,
    ) -> Result<Value, StudioError> {
        let condition = match revision {
            Some(revision) => (header::IF_MATCH, format!("\"{revision}\"")),
            None => (header::IF_NONE_MATCH, "*".to_owned()),
        };
        self.request(Method::PUT, path, &[], Some(condition), &Body::Json(body))
    }

    /// Replaces files that still have the revisions in the body.
    pub(crate) fn put_all(&self, path: &[&str], body: &Value) -> Result<Value, StudioError> {
        self.request(Method::PUT, path, &[], None, &Body::Json(body))
    }

    pub(crate) fn delete(&self, path: &[&str]) -> Result<Value, StudioError> {
        self.request(Method::DELETE, path, &[], None, &Body::Json(&json!({})))
    }

    fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
        condition: Option<(header::HeaderName, String)>,
        body: &Body<'_>,
    ) -> Result<Value, StudioError> {
        let unreachable = |reason: String| StudioError::Unreachable { address: self.api.to_string(), reason };
        let mut url = self.api.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = Request::builder().method(method).uri(url.as_str());
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some((name, value)) = condition {
            request = request.header(name, value);
        }
        let sent = match body {
            Body::None => {
                request.body(()).map_err(|error| unreachable(error.to_string())).map(|it| self.agent.run(it))
            }
            Body::Json(value) => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(value.to_string())
                .map_err(|error| unreachable(error.to_string()))
                .map(|it| self.agent.configure_request(it).allow_non_standard_methods(true).build())
                .map(|it| self.agent.run(it)),
        };
        let mut answer = sent?.map_err(|error| unreachable(error.to_string()))?;
        let status = answer.status();
        let text = answer
            .body_mut()
            .with_config()
            .limit(ANSWER_BYTES_MAX)
            .read_to_string()
            .map_err(|error| unreachable(error.to_string()))?;
        let read = serde_json::from_str::<Value>(&text);
        match read {
            Ok(value) if status.is_success() => Ok(value),
            Ok(value) if value.get("error").is_some() => Err(refusal(&value["error"])),
            _ => Err(StudioError::NotAStudio { address: self.api.to_string(), status: status.as_u16() }),
        }
    }
}

fn refusal(error: &Value) -> StudioError {
    let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    StudioError::Refused {
        code: text("code").unwrap_or_else(|| "unknown".into()),
        message: text("message").unwrap_or_else(|| "the server gives no reason".into()),
        cure: text("cure"),
    }
}
