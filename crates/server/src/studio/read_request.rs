//! Requests that rooms and moments answer in the same way.

use nowcast_room::{EntityFilter, StudioRequest};

use super::error::ApiError;
use super::{ApiRequest, no_route};

/// Returns the request for entities or state, which rooms and moments answer.
pub(super) fn read_request(request: &ApiRequest, rest: &[&str]) -> Result<StudioRequest, ApiError> {
    match rest {
        ["entities"] => {
            let query = request.query.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            Ok(StudioRequest::Entities(EntityFilter::parse(query)?))
        }
        ["entities", entity] => Ok(StudioRequest::Entity(id(entity)?)),
        ["state"] => Ok(StudioRequest::State),
        _ => Err(no_route(request)),
    }
}

/// Reads an id in a path.
pub(super) fn id(text: &str) -> Result<u32, ApiError> {
    text.parse().map_err(|_| ApiError::invalid(format!("'{text}' is not an id")))
}
