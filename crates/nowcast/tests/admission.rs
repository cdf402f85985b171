//! Admission: accepted and refused clients, and the cost of unknown ones.

use nowcast::admission::{
    Admission, AdmissionRefusal, AdmissionRequest, Claims, KeyError, Limits, Now, Page, Policy, PolicyError,
    SignError, TOKEN_BYTES_MAX, TokenError, TokenKey,
};
use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

const SECRET: &[u8] = b"a secret of more than 32 bytes, for tests";
const NOW: Duration = Duration::from_secs(1_800_000_000);

/// Made with `openssl genpkey -algorithm ed25519`, only for these tests.
const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIEsyNzw25bjrStdOL7OQBtorQGsZB1AwFAa7xHIRMqw8
-----END PRIVATE KEY-----";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEADUFfbtjJ2quFSO9j25GlvDH6fmFb55E66yYfh02FIfo=
-----END PUBLIC KEY-----";

fn secret() -> TokenKey {
    TokenKey::secret(SECRET).unwrap()
}

fn in_ten_minutes() -> Claims {
    Claims::new(NOW + Duration::from_secs(600))
}

fn verify(token: &str) -> Result<Claims, TokenError> {
    Claims::verify(token, &secret(), "plaza", NOW)
}

/// Makes a token with any header and claims, signed with HS256 and the secret.
fn forge(header: &str, claims: &str, secret: &[u8]) -> String {
    let message = format!("{}.{}", base64(header.as_bytes()), base64(claims.as_bytes()));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    let signature = base64(ring::hmac::sign(&key, message.as_bytes()).as_ref());
    format!("{message}.{signature}")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            text.push(char::from(DIGITS[(group >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}

#[test]
fn a_token_identifies_the_client() {
    let token = in_ten_minutes().name("Ada Lovelace").room("plaza").role("guide").sign(&secret()).unwrap();
    let claims = verify(&token).unwrap();
    assert_eq!(claims.sub.as_deref(), Some("Ada Lovelace"));
    assert_eq!(claims.role.as_deref(), Some("guide"));
}

#[test]
fn a_public_key_verifies_tokens_of_its_private_key() {
    let (private, public) = (TokenKey::parse(PRIVATE).unwrap(), TokenKey::parse(PUBLIC).unwrap());
    let token = in_ten_minutes().name("Ada").sign(&private).unwrap();
    for key in [&private, &public] {
        assert_eq!(Claims::verify(&token, key, "plaza", NOW).unwrap().sub.as_deref(), Some("Ada"));
    }
    assert_eq!(in_ten_minutes().sign(&public), Err(SignError::PublicKey));
    assert!(!public.can_sign());
}

#[test]
fn a_token_of_rfc_7515_is_read() {
    // Appendix A.1: HS256 over claims of another issuer, of which we know only `exp`.
    let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leG\
                 FtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let key: Vec<u8> = vec![
        3, 35, 53, 75, 43, 15, 165, 188, 131, 126, 6, 101, 119, 123, 166, 143, 90, 179, 40, 230, 240, 84,
        201, 40, 169, 15, 132, 178, 210, 80, 46, 191, 211, 251, 90, 146, 210, 6, 71, 239, 150, 138, 180, 195,
        119, 98, 61, 34, 61, 46, 33, 114, 5, 46, 79, 8, 192, 205, 154, 245, 103, 208, 128, 163,
    ];
    let key = TokenKey::secret(&key).unwrap();
    let then = Duration::from_secs(1_300_819_000);
    assert_eq!(Claims::verify(token, &key, "plaza", then).unwrap().exp, 1_300_819_380);
}

#[test]
fn the_token_cannot_choose_the_algorithm() {
    let claims = r#"{"exp":1800000600}"#;
    let none = format!("{}.{}.", base64(br#"{"alg":"none","typ":"JWT"}"#), base64(claims.as_bytes()));
    assert_eq!(verify(&none), Err(TokenError::WrongAlgorithm));
    let signed_none = forge(r#"{"alg":"none"}"#, claims, SECRET);
    assert_eq!(verify(&signed_none), Err(TokenError::WrongAlgorithm));

    // A well-known attack: HS256 with the bytes of the public key as the secret. An attacker may have these bytes in several
    // forms.
    let public = TokenKey::parse(PUBLIC).unwrap();
    let raw: [u8; 32] = [
        0x0d, 0x41, 0x5f, 0x6e, 0xd8, 0xc9, 0xda, 0xab, 0x85, 0x48, 0xef, 0x63, 0xdb, 0x91, 0xa5, 0xbc, 0x31,
        0xfa, 0x7e, 0x61, 0x5b, 0xe7, 0x91, 0x3a, 0xeb, 0x26, 0x1f, 0x87, 0x4d, 0x85, 0x21, 0xfa,
    ];
    for secret in [PUBLIC.as_bytes(), raw.as_slice()] {
        let forged = forge(r#"{"alg":"HS256"}"#, claims, secret);
        assert_eq!(Claims::verify(&forged, &public, "plaza", NOW), Err(TokenError::WrongAlgorithm));
        let forged = forge(r#"{"alg":"EdDSA"}"#, claims, secret);
        assert_eq!(Claims::verify(&forged, &public, "plaza", NOW), Err(TokenError::WrongSignature));
    }
    for algorithm in ["HS384", "HS512", "RS256", "ES256", "PS512", "EdDSA", "hs256", "HS256 ", ""] {
        let forged = forge(&format!(r#"{{"alg":"{algorithm}"}}"#), claims, SECRET);
        assert_eq!(verify(&forged), Err(TokenError::WrongAlgorithm), "{algorithm}");
    }
}

#[test]
fn a_header_may_not_bring_its_own_key() {
    let header = r#"{"alg":"HS256","jwk":{"kty":"oct","k":"AAAA","alg":"HS256"},"jku":"http://192.0.2.1/","kid":"../../dev/null"}"#;
    assert_eq!(verify(&forge(header, r#"{"exp":1800000600}"#, b"AAAA")), Err(TokenError::WrongSignature));
}

#[test]
fn a_token_of_another_key_is_refused() {
    let other = TokenKey::secret(b"another secret of more than 32 bytes").unwrap();
    let token = in_ten_minutes().sign(&other).unwrap();
    assert_eq!(verify(&token), Err(TokenError::WrongSignature));
}

#[test]
fn a_token_is_valid_only_between_its_start_and_its_expiry() {
    let mut claims = in_ten_minutes();
    claims.nbf = Some(NOW.as_secs() + 60);
    let token = claims.sign(&secret()).unwrap();
    let at = |seconds: i64| {
        let now = Duration::from_secs(NOW.as_secs().saturating_add_signed(seconds));
        Claims::verify(&token, &secret(), "plaza", now)
    };
    assert_eq!(at(0), Err(TokenError::NotYetValid { in_s: 60 }));
    assert!(at(55).is_ok() && at(600).is_ok() && at(604).is_ok(), "clocks may differ by 5 s");
    assert_eq!(at(605), Err(TokenError::Expired { ago_s: 5 }));
    assert_eq!(at(-1_700_000_000), Err(TokenError::NotYetValid { in_s: 1_700_000_060 }));
}

#[test]
fn claims_out_of_bounds_are_named() {
    for (claims, named) in [
        ("{}", "exp"),
        (r#"{"exp":null}"#, "exp"),
        (r#"{"exp":"1800000600"}"#, "exp"),
        (r#"{"exp":-1}"#, "exp"),
        (r#"{"exp":1e300}"#, "exp"),
        (r#"{"exp":1800000600,"nbf":"soon"}"#, "nbf"),
        (r#"{"exp":1800000600,"sub":""}"#, "sub"),
        (r#"{"exp":1800000600,"sub":"a\nb"}"#, "sub"),
        (r#"{"exp":1800000600,"sub":7}"#, "sub"),
        (r#"{"exp":1800000600,"sub":"Ada "}"#, "sub"),
        (r#"{"exp":1800000600,"sub":"\u3000Ada"}"#, "sub"),
        (r#"{"exp":1800000600,"room":"../etc"}"#, "room"),
        (r#"{"exp":1800000600,"role":"012345678901234567890123456789012"}"#, "role"),
        (r#"{"exp":1800000600,"jti":""}"#, "jti"),
    ] {
        let refused = verify(&forge(r#"{"alg":"HS256"}"#, claims, SECRET));
        let is_named = match &refused {
            Err(TokenError::Claim(name)) => *name == named,
            // If a number has a wrong type, the library does not report the name of the field.
            Err(TokenError::Malformed) => true,
            _ => false,
        };
        assert!(is_named, "{claims}: {refused:?}");
    }
    assert_eq!(in_ten_minutes().name(&"x".repeat(65)).sign(&secret()), Err(SignError::Claim("sub")));
}

#[test]
fn a_date_may_have_a_fraction() {
    let token = forge(r#"{"alg":"HS256"}"#, r#"{"exp":1800000600.75}"#, SECRET);
    assert_eq!(verify(&token).unwrap().exp, 1_800_000_600);
}

#[test]
fn malformed_tokens_of_any_length_are_refused() {
    for token in ["", ".", "..", "...", "a.b.c", "é.é.é", "\0", "eyJhbGciOiJIUzI1NiJ9..", "%2e%2e"] {
        assert!(verify(token).is_err(), "{token:?}");
    }
    let huge = "a".repeat(10_000_000);
    assert_eq!(verify(&huge), Err(TokenError::TooLong));
    let deep = forge(r#"{"alg":"HS256"}"#, &"[".repeat(1_000), SECRET);
    assert!(verify(&deep).is_err());
    assert!(
        in_ten_minutes().name(&"n".repeat(64)).room(&"r".repeat(64)).sign(&secret()).unwrap().len()
            < TOKEN_BYTES_MAX
    );
}

#[test]
fn a_weak_or_broken_key_is_refused() {
    assert!(matches!(TokenKey::secret(b"secret"), Err(KeyError::Short { length: 6 })));
    assert!(matches!(TokenKey::parse(" \n"), Err(KeyError::Short { length: 0 })));
    let cut = &PRIVATE[..60];
    assert!(matches!(TokenKey::parse(cut), Err(KeyError::NotEd25519)));
    let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";
    assert!(matches!(TokenKey::parse(certificate), Err(KeyError::NotEd25519)));
    assert!(matches!(TokenKey::read("/nowhere/key".as_ref()), Err(KeyError::File { .. })));
}

#[test]
fn public_texts_are_refused_as_secrets() {
    let openssh =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA1BX27YydqrhUjvY9uRpbwx+n5hW+eROusmH4dNhSH6 ada@example.org";
    let blob = openssh.split(' ').nth(1).unwrap();
    let der = "MCowBQYDK2VwAyEADUFfbtjJ2quFSO9j25GlvDH6fmFb55E66yYfh02FIfo=";
    let p256 = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEwPGJkIwhoBCz0j1CmQEbLKLnyvyGMwXwBlZN7gk5PzHNzzQvEwMTnkLQ\
                8a7ZVuV9BWEJ0j5mDyrj6rPXhQY3Gw==";
    let jwk = r#"{"kty":"OKP","crv":"Ed25519","x":"DUFfbtjJ2quFSO9j25GlvDH6fmFb55E66yYfh02FIfo"}"#;
    let users = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n";
    for public in [
        openssh,
        blob,
        der,
        p256,
        jwk,
        users,
        &"\0".repeat(40),
        &"a".repeat(40),
        "a phrase of more than thirty-two bytes",
    ] {
        assert!(matches!(TokenKey::parse(public), Err(KeyError::NotSecret(_))), "{public}");
    }
    for public in [openssh, blob, der, p256, jwk, PUBLIC, &format!("\u{feff}{PUBLIC}")] {
        assert!(matches!(TokenKey::secret(public.as_bytes()), Err(KeyError::NotSecret(_))), "{public}");
    }
    assert!(TokenKey::parse("V2hhdCBvcGVuc3NsIHJhbmQgLWJhc2U2NCAzMiBnaXZlcz8=").is_ok());
    assert!(TokenKey::parse(&nowcast::admission::new_secret()).is_ok());
}

#[test]
fn random_secrets_are_accepted_with_any_prefix() {
    for beginning in [b"{\xff", b"[\x01", b"\x30\x1e"] {
        let secret = [&beginning[..], &[0x9d; 29], b"\x07"].concat();
        assert!(TokenKey::secret(&secret).is_ok(), "{secret:?}");
    }
}

#[test]
fn a_public_key_after_other_text_is_still_a_public_key() {
    let token = in_ten_minutes().sign(&TokenKey::parse(PRIVATE).unwrap()).unwrap();
    for before in ["\u{feff}", "# the key of the world\n", "\u{feff}\r\n; made today\n"] {
        let key = TokenKey::parse(&format!("{before}{PUBLIC}\n")).unwrap();
        assert!(!key.can_sign() && Claims::verify(&token, &key, "plaza", NOW).is_ok(), "{before:?}");
        let forged = forge(
            r#"{"alg":"HS256"}"#,
            r#"{"exp":1800000600}"#,
            format!("{before}{PUBLIC}").trim().as_bytes(),
        );
        assert_eq!(Claims::verify(&forged, &key, "plaza", NOW), Err(TokenError::WrongAlgorithm));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_key_is_read_from_a_file_that_ends() {
    let folder = std::env::temp_dir().join(format!("nowcast-key-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (pipe, large) = (folder.join("pipe"), folder.join("large"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(&large, vec![b'a'; 100_000]).unwrap();
    for (path, cause) in [
        (pipe.as_path(), "not a regular file"),
        (folder.as_path(), "not a regular file"),
        ("/dev/zero".as_ref(), "not a regular file"),
        (large.as_path(), "larger than 16384 bytes"),
        // This file reports the size 0, but has content.
        ("/proc/kallsyms".as_ref(), "larger than 16384 bytes"),
    ] {
        let error = TokenKey::read(path).unwrap_err().to_string();
        assert!(error.contains(cause), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_token_that_demands_an_extension_is_refused() {
    for header in [
        r#"{"alg":"HS256","crit":["b64"],"b64":false}"#,
        r#"{"alg":"HS256","crit":["exp"]}"#,
        r#"{"alg":"HS256","crit":[]}"#,
    ] {
        assert_eq!(
            verify(&forge(header, r#"{"exp":1800000600}"#, SECRET)),
            Err(TokenError::Critical),
            "{header}"
        );
    }
}

#[test]
fn neither_key_nor_token_is_shown_by_debug() {
    let policy = Policy { key: Some(secret()), ..Policy::default() };
    let shown = format!("{policy:?} {:?}", Admission::new(policy.clone()));
    assert!(!shown.contains("a secret of"), "{shown}");
}

/// The time of an admission, `seconds` after [`NOW`].
fn now(begin: Instant, seconds: u64) -> Now {
    let later = Duration::from_secs(seconds);
    Now { instant: begin + later, unix: NOW + later }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn without_a_key_only_loopback_is_open() {
    let (inside, outside): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "0.0.0.0".parse().unwrap());
    let mapped: IpAddr = "::ffff:127.0.0.1".parse().unwrap();
    let mut policy = Policy::default();
    assert_eq!(policy.check(&[inside, "::1".parse().unwrap(), mapped]), Ok(()));
    assert_eq!(policy.check(&[inside, outside]), Err(PolicyError::Open(outside)));
    policy.anonymous = true;
    assert_eq!(policy.check(&[outside]), Ok(()));
    let policy = Policy { key: Some(secret()), ..Policy::default() };
    assert_eq!(policy.check(&[outside]), Ok(()));
}

#[test]
fn a_single_use_token_begins_one_session() {
    let begin = Instant::now();
    let admission = Admission::new(Policy { key: Some(secret()), ..Policy::default() });
    let token = in_ten_minutes().once("ticket").sign(&secret()).unwrap();
    let request = AdmissionRequest::new("plaza", address("127.0.0.1:1")).token(Some(&token));
    // A client tries two carriers at once, and begins its session on one carrier.
    let (first, second) =
        (admission.check(now(begin, 0), &request), admission.check(now(begin, 0), &request));
    assert!(first.unwrap().ticket.unwrap().redeem(now(begin, 0)).is_ok());
    let used = AdmissionRefusal::Token(TokenError::Used);
    assert_eq!(second.unwrap().ticket.unwrap().redeem(now(begin, 1)), Err(used.clone()));
    assert_eq!(admission.check(now(begin, 1), &request).unwrap_err(), used);
    // The session resumes on another carrier, even after the token has expired.
    let resumed = admission.check(now(begin, 3_600), &request.resuming(true)).unwrap();
    assert_eq!(resumed.ticket.unwrap().redeem(now(begin, 3_600)), Err(AdmissionRefusal::OnlyResuming));
    assert_eq!(admission.refused()[0], ("unauthorised", 3));
}

#[test]
fn a_single_use_token_admits_only_its_holder_again() {
    let begin = Instant::now();
    let admission = Admission::new(Policy { key: Some(secret()), ..Policy::default() });
    let token = in_ten_minutes().once("ticket").sign(&secret()).unwrap();
    let request = AdmissionRequest::new("plaza", address("127.0.0.1:1")).token(Some(&token));
    let enter = |seconds: u64, holder: Option<[u8; 16]>| {
        let entry = admission.check(now(begin, seconds), &request)?;
        entry.ticket.unwrap().redeem(now(begin, seconds))?;
        let (tell, told) = std::sync::mpsc::channel();
        let held = entry.single_use.unwrap().hold(holder, Box::new(move || _ = tell.send(())));
        assert_eq!(held.is_ok(), told.try_recv().is_ok(), "without a store there is no wait");
        held
    };
    let used = AdmissionRefusal::Token(TokenError::Used);
    assert_eq!(enter(0, Some([1; 16])), Ok(()));
    assert_eq!(enter(1, Some([2; 16])), Err(used.clone()), "another client holds the token");
    assert_eq!(enter(1, None), Err(used.clone()), "the client is not recognised");
    assert_eq!(enter(2, Some([1; 16])), Ok(()), "the holder comes back");
    let late = enter(3_600, Some([1; 16])).unwrap_err();
    assert!(matches!(late, AdmissionRefusal::Token(TokenError::Expired { .. })), "{late}");
}

#[test]
fn a_refused_admission_names_the_fault() {
    let begin = Instant::now();
    let policy = Policy {
        key: Some(secret()),
        origins: vec!["https://example.org".into()],
        limits: Limits { connections_per_address_max: 4, attempts_per_address_hz: 1.0, ..Limits::default() },
        ..Policy::default()
    };
    let admission = Admission::new(policy);
    let far = AdmissionRequest::new("plaza", address("192.0.2.1:1"));
    let status = |request: &AdmissionRequest<'_>| {
        let answer = nowcast::RefusalAnswer::from(admission.check(now(begin, 0), request).unwrap_err());
        assert!(!answer.cause.is_empty() && !answer.cure.is_empty());
        (answer.status, answer.error)
    };
    let page = |origin| Page { host: None, origin: Some(origin) };
    assert_eq!(status(&far.encrypted().page(page("https://evil.example"))), (403, "wrong_origin".into()));
    assert_eq!(status(&far.page(page("https://example.org"))), (403, "not_encrypted".into()));
    assert_eq!(status(&far.encrypted()), (401, "unauthorised".into()));
    assert_eq!(status(&far.encrypted().token(Some("x"))), (401, "unauthorised".into()));
    assert_eq!(status(&far.encrypted()), (429, "too_many".into()), "four attempts at once");
    let near = AdmissionRequest::new("plaza", address("[::1]:1"));
    assert_eq!(status(&near), (401, "unauthorised".into()), "another address is counted separately");
}

#[test]
fn a_dropped_place_is_free_again() {
    let begin = Instant::now();
    let limits = Limits { connections_max: 3, connections_per_address_max: 2, ..Limits::default() };
    let admission = Admission::new(Policy { limits, ..Policy::default() });
    let [one, two, three] = [1, 2, 3].map(|last| IpAddr::from([192, 0, 2, last]));
    let first = admission.take(now(begin, 0), one).unwrap();
    let _second = admission.take(now(begin, 0), one).unwrap();
    assert_eq!(admission.take(now(begin, 0), one).unwrap_err().word(), "too_many");
    let _third = admission.take(now(begin, 0), two).unwrap();
    assert_eq!(admission.take(now(begin, 0), three).unwrap_err().word(), "full");
    drop(first);
    assert!(admission.take(now(begin, 0), three).is_ok());
}

proptest! {
    #[test]
    fn signed_claims_are_read_unchanged(
        sub in proptest::option::of("[a-zA-Zé🚀]([a-zA-Zé🚀 ]{0,62}[a-zA-Zé🚀])?"), role in proptest::option::of("[a-z]{1,32}"),
        jti in proptest::option::of("[0-9a-f]{1,64}"), life in 1_u64..1_000_000,
    ) {
        let mut claims = Claims::new(NOW + Duration::from_secs(life));
        (claims.sub, claims.role, claims.jti) = (sub, role, jti);
        for key in [secret(), TokenKey::parse(PRIVATE).unwrap()] {
            let token = claims.sign(&key).unwrap();
            let read = Claims::verify(&token, &key, "plaza", NOW);
            prop_assert_eq!(read.as_ref(), Ok(&claims));
        }
    }

    #[test]
    fn a_token_with_one_byte_changed_is_refused(position in any::<prop::sample::Index>(), other in "[A-Za-z0-9_-]") {
        let token = in_ten_minutes().name("Ada").role("guide").sign(&secret()).unwrap();
        let position = position.index(token.len());
        // The last digit of the signature contains two unused bits, and the library also rejects changes of these bits.
        let mut changed = token.clone();
        changed.replace_range(position..=position, &other);
        prop_assume!(changed != token);
        prop_assert!(verify(&changed).is_err());
    }

    #[test]
    fn garbage_is_refused_without_a_panic(garbage in "\\PC{0,300}") {
        prop_assert!(verify(&garbage).is_err());
    }

    #[test]
    fn signed_garbage_is_refused_without_a_panic(header in "\\PC{0,60}", claims in "\\PC{0,200}") {
        let _ = verify(&forge(&header, &claims, SECRET));
        let _ = verify(&forge(r#"{"alg":"HS256"}"#, &claims, SECRET));
    }
}
