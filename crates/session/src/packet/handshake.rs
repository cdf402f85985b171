//! HELLO, WELCOME and REFUSE (`spec/SESSION.md`, section 4).

use super::reader::{Reader, put_bytes, put_varint};
use crate::error::{CloseCode, Malformed};
use crate::limits::Limits;

/// The version of the protocol that this crate implements.
pub const VERSION: u64 = 1;
/// Minimum length of a HELLO. No answer is longer, so an attacker that forges an address gains nothing by sending one.
pub const HELLO_BYTES_MIN: usize = 160;
/// Maximum length of the text in a REFUSE, in bytes.
const REFUSE_TEXT_BYTES_MAX: usize = 64;

pub(crate) const HELLO: u8 = 0x80;
pub(crate) const WELCOME: u8 = 0x81;
pub(crate) const REFUSE: u8 = 0x82;
const MAGIC: [u8; 4] = *b"NOWC";

/// The data that a peer needs to resume a session on another carrier.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    /// Identifies the session.
    pub session: [u8; 8],
    /// Proves that the peer belongs to the same session.
    pub token: [u8; 16],
    /// Counts the session's carriers. It is greater than in all earlier HELLOs of the session.
    pub epoch: u64,
}

/// The token must not appear in logs.
impl std::fmt::Debug for Resume {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Resume")
            .field("session", &self.session)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// The first packet on every carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The lowest version that the initiator supports.
    pub version_min: u64,
    /// The highest version that the initiator supports.
    pub version_max: u64,
    /// Random bytes, new for every carrier.
    pub nonce: [u8; 8],
    /// The initiator's clock in µs.
    pub clock: u64,
    /// The limits of the initiator.
    pub limits: Limits,
    /// The session to resume, if any.
    pub resume: Option<Resume>,
}

impl Hello {
    /// Reads a HELLO.
    ///
    /// # Errors
    /// Fails if the packet is not a HELLO of `spec/SESSION.md`.
    pub fn read(packet: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(packet);
        expect_type(&mut reader, HELLO)?;
        if reader.array("magic")? != MAGIC {
            return Err(Malformed { field: "magic", offset: 1 });
        }
        let version_min = reader.varint("version_min")?;
        let at_max = reader;
        let version_max = reader.varint("version_max")?;
        if version_max < version_min {
            return Err(at_max.malformed("version_max"));
        }
        let nonce = reader.array("nonce")?;
        let clock = reader.u64("clock")?;
        let limits = Limits::read(&mut reader)?;
        let at_resume = reader;
        let resume = match reader.u8("resume")? {
            0 => None,
            1 => Some(Resume {
                session: reader.array("session")?,
                token: reader.array("token")?,
                epoch: reader.varint("epoch")?,
            }),
            _ => return Err(at_resume.malformed("resume")),
        };
        if packet.len() < HELLO_BYTES_MIN || reader.rest().iter().any(|&byte| byte != 0) {
            return Err(reader.malformed("padding"));
        }
        Ok(Self { version_min, version_max, nonce, clock, limits, resume })
    }

    /// Returns the nonce of a possible HELLO, if all fields up to it can be read.
    pub(crate) fn read_nonce(packet: &[u8]) -> Option<[u8; 8]> {
        let mut reader = Reader::new(packet);
        expect_type(&mut reader, HELLO).ok()?;
        reader.array("magic").ok().filter(|magic| *magic == MAGIC)?;
        reader.varint("version_min").ok()?;
        reader.varint("version_max").ok()?;
        reader.array("nonce").ok()
    }

    /// Appends the HELLO with its padding.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(HELLO);
        out.extend_from_slice(&MAGIC);
        put_varint(out, self.version_min);
        put_varint(out, self.version_max);
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.clock.to_le_bytes());
        self.limits.write(out);
        out.push(self.resume.is_some().into());
        if let Some(resume) = &self.resume {
            out.extend_from_slice(&resume.session);
            out.extend_from_slice(&resume.token);
            put_varint(out, resume.epoch);
        }
        if out.len() < start + HELLO_BYTES_MIN {
            out.resize(start + HELLO_BYTES_MIN, 0);
        }
    }
}

/// The answer to a HELLO that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The chosen version.
    pub version: u64,
    /// The nonce of the HELLO.
    pub nonce: [u8; 8],
    /// Bytes that the initiator returns. They prove that it receives packets at its address.
    pub proof: [u8; 8],
    /// The identity, token and epoch for resuming the session.
    pub resume: Resume,
    /// The clock of the HELLO that is answered, in µs.
    pub hello_clock: u64,
    /// The acceptor's clock in µs.
    pub clock: u64,
    /// The limits of the acceptor.
    pub limits: Limits,
}

impl Welcome {
    /// Reads a WELCOME.
    ///
    /// # Errors
    /// Fails if the packet is not a WELCOME of `spec/SESSION.md`.
    pub fn read(packet: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(packet);
        expect_type(&mut reader, WELCOME)?;
        let welcome = Self {
            version: reader.varint("version")?,
            nonce: reader.array("nonce")?,
            proof: reader.array("proof")?,
            resume: Resume {
                session: reader.array("session")?,
                token: reader.array("token")?,
                epoch: reader.varint("epoch")?,
            },
            hello_clock: reader.u64("hello_clock")?,
            clock: reader.u64("clock")?,
            limits: Limits::read(&mut reader)?,
        };
        expect_end(&reader)?;
        Ok(welcome)
    }

    /// Appends the WELCOME.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(WELCOME);
        put_varint(out, self.version);
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.proof);
        out.extend_from_slice(&self.resume.session);
        out.extend_from_slice(&self.resume.token);
        put_varint(out, self.resume.epoch);
        out.extend_from_slice(&self.hello_clock.to_le_bytes());
        out.extend_from_slice(&self.clock.to_le_bytes());
        self.limits.write(out);
    }
}

/// The answer to a HELLO that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refuse {
    /// The nonce of the HELLO.
    pub nonce: [u8; 8],
    /// The code of the end.
    pub code: CloseCode,
    /// The lowest version that the acceptor supports.
    pub version_min: u64,
    /// The highest version that the acceptor supports.
    pub version_max: u64,
    /// The reason for people; at most 64 bytes.
    pub text: String,
}

impl Refuse {
    /// Makes the refusal of a HELLO with `nonce` and `code`. `text` is shortened to the maximum.
    pub fn new(nonce: [u8; 8], code: CloseCode, text: &str) -> Self {
        let text = text[..text.floor_char_boundary(REFUSE_TEXT_BYTES_MAX)].to_owned();
        Self { nonce, code, version_min: VERSION, version_max: VERSION, text }
    }

    /// Reads a REFUSE.
    ///
    /// # Errors
    /// Fails if the packet is not a REFUSE of `spec/SESSION.md`.
    pub fn read(packet: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(packet);
        expect_type(&mut reader, REFUSE)?;
        let refuse = Self {
            nonce: reader.array("nonce")?,
            code: CloseCode(reader.varint_max(u32::MAX.into(), "code")? as u32),
            version_min: reader.varint("version_min")?,
            version_max: reader.varint("version_max")?,
            text: reader.text(REFUSE_TEXT_BYTES_MAX, "text")?.to_owned(),
        };
        expect_end(&reader)?;
        Ok(refuse)
    }

    /// Appends the REFUSE.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(REFUSE);
        out.extend_from_slice(&self.nonce);
        put_varint(out, self.code.0.into());
        put_varint(out, self.version_min);
        put_varint(out, self.version_max);
        put_bytes(out, self.text.as_bytes());
    }
}

fn expect_type(reader: &mut Reader<'_>, expected: u8) -> Result<(), Malformed> {
    let before = *reader;
    if reader.u8("type")? == expected { Ok(()) } else { Err(before.malformed("type")) }
}

fn expect_end(reader: &Reader<'_>) -> Result<(), Malformed> {
    if reader.is_empty() { Ok(()) } else { Err(reader.malformed("end")) }
}
