//! Admission to an endpoint (`spec/CARRIERS.md`, sections 1, 2 and 7), and its limits.
//!
//! [`Policy`] is the configuration, and [`Admission`] decides. Neither has a clock or a socket: an endpoint passes the time and
//! an [`AdmissionRequest`], and acts on the answer.
//!
//! ```
//! use nowcast_admission::{Admission, AdmissionRequest, Claims, Now, Policy, TokenKey};
//! use std::time::Duration;
//!
//! let key = TokenKey::secret(b"32 bytes that nobody else knows.")?;
//! let now = Now::read();
//! let admission = Admission::new(Policy { key: Some(key.clone()), ..Policy::default() });
//!
//! let stranger = AdmissionRequest::new("plaza", "192.0.2.1:5000".parse()?).encrypted();
//! assert_eq!(admission.check(now, &stranger).unwrap_err().word(), "unauthorised");
//!
//! let token = Claims::new(now.unix + Duration::from_secs(60)).name("Ada").once("ticket 1").sign(&key)?;
//! let entry = admission.check(now, &stranger.token(Some(&token)))?;
//! assert_eq!(entry.name.as_deref(), Some("Ada"));
//! entry.ticket.expect("the token is single-use").redeem(now)?; // when the session begins
//! assert!(admission.check(now, &stranger.token(Some(&token))).is_err(), "the token was valid for one entry");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::missing_errors_doc)]

mod decision;
mod key;
mod limits;
mod page;
mod provider;
mod proxy;
mod refusal;
mod token;
mod used;

pub use decision::{Admission, AdmissionRequest, Entry, Now, Permit, Policy, PolicyError, SingleUse, Ticket};
pub use key::{KeyError, SigningSecret, TokenKey, new_secret};
pub use limits::Limits;
pub use nowcast_limits::{Crowded, network_of};
pub use page::{OriginError, Page, host_of, origin_of, parse_origin};
pub use proxy::{Network, NetworkError, Peer};
pub use refusal::AdmissionRefusal;
pub use token::{
    Claims, NAME_CHARACTERS_MAX, ROLE_CHARACTERS_MAX, SignError, TOKEN_BYTES_MAX, TokenError, unix_time,
};
pub use used::{Holder, UsedToken, UsedTokenStore};
