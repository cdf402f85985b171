//! Conversion of the endpoint's refusals to refusals of clients, and the answers to them in both protocols.

use axum::http::StatusCode;
use nowcast::admission::{AdmissionRefusal, Crowded};
use nowcast_engine::AcceptRefusal;
use nowcast_engine::endpoint::{RefusalAnswer, UpgradeError};
use nowcast_room::{AdmissionAnswer, Refusal};

/// Returns the refusal of a client that the endpoint does not admit.
pub(crate) fn of_admission(refusal: AdmissionRefusal) -> Refusal {
    if refusal == AdmissionRefusal::Crowded(Crowded::TooOften) {
        return Refusal::JoinsTooOften;
    }
    let label = if matches!(refusal, AdmissionRefusal::Origin(_)) { "origin" } else { refusal.word() };
    let (code, cure, cause) = (refusal.word(), refusal.cure(), refusal.to_string());
    let status = RefusalAnswer::from(refusal).status;
    Refusal::Admission(Box::new(AdmissionAnswer { code, status, label, cause, cure }))
}

/// Returns the refusal of a session for which the acceptor has no slot.
pub(crate) fn of_acceptor(refusal: AcceptRefusal) -> Refusal {
    let (code, status, label, cure) = match refusal {
        AcceptRefusal::TooMany => ("too_many", 429, "sessions_per_address_max", "close one first"),
        AcceptRefusal::Full => ("full", 503, "sessions_max", "try again later"),
    };
    let cause = RefusalAnswer::from(refusal).cause;
    Refusal::Admission(Box::new(AdmissionAnswer { code, status, label, cause, cure }))
}

/// Returns the refusal of a request that is not a valid upgrade to a WebSocket.
pub(crate) fn of_upgrade(error: UpgradeError) -> Refusal {
    Refusal::Upgrade { cause: error.to_string(), status: error.status().as_u16() }
}

/// Returns the status of the answer in the plain protocol.
pub(crate) fn status(refusal: &Refusal) -> StatusCode {
    StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::FORBIDDEN)
}

/// Returns the answer to a client on a session.
pub(crate) fn answer(refusal: &Refusal) -> RefusalAnswer {
    RefusalAnswer::new(refusal.code(), refusal.to_string(), refusal.cure())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_protocols_answer_with_the_same_cause_and_cure() {
        for refusal in [
            Refusal::JoinsTooOften,
            Refusal::NotEditor,
            Refusal::NoStore,
            Refusal::Full { room: "plaza".into(), players_max: 2 },
            of_admission(AdmissionRefusal::NotEncrypted),
            of_acceptor(AcceptRefusal::TooMany),
        ] {
            let answer = answer(&refusal);
            assert_eq!(format!("{}: {}", answer.cause, answer.cure), refusal.line());
            assert!(status(&refusal).is_client_error() || status(&refusal).is_server_error());
            assert_ne!(answer.error, "", "{refusal}");
        }
    }
}
