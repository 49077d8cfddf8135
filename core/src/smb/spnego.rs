//! SPNEGO (RFC 4178, MS-SPNG): the envelope of NTLM, in as much DER as it needs.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "it adds up what is written here: nothing longer than 16 bits can say"
)]

use super::ntlm::{self, SessionKey};
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// How many mechanisms a server may list. Windows lists 5.
pub const MECHS_MAX: usize = 16;
/// How many members a NegTokenInit2 or NegTokenResp may have. MS-SPNG 2.2.1 defines 5, RFC 4178 4.2.2 has 4.
pub const MEMBERS_MAX: usize = 8;

/// 1.3.6.1.5.5.2, SPNEGO itself.
const OID_SPNEGO: &[u8] = &[0x2B, 0x06, 0x01, 0x05, 0x05, 0x02];
/// 1.3.6.1.4.1.311.2.2.10, NTLMSSP.
const OID_NTLMSSP: &[u8] = &[0x2B, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0A];

/// MechTypeList with NTLMSSP alone, which is what mechListMIC covers.
const MECH_LIST: &[u8] =
    &[tag::SEQUENCE, 12, tag::OID, 10, 0x2B, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0A];

/// The tags of DER (X.690) that occur.
mod tag {
    pub const OCTET_STRING: u8 = 0x04;
    pub const OID: u8 = 0x06;
    pub const ENUMERATED: u8 = 0x0A;
    pub const SEQUENCE: u8 = 0x30;
    /// InitialContextToken of GSS-API (RFC 2743 3.1).
    pub const APPLICATION_0: u8 = 0x60;

    /// A context-specific constructed tag.
    pub const fn context(number: u8) -> u8 {
        0xA0 | number
    }
}

/// NegState (RFC 4178 4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NegState {
    /// Nothing more is awaited.
    AcceptCompleted,
    /// The client is to go on.
    AcceptIncomplete,
    /// The end.
    Reject,
    /// The client is to go on, and to prove the list of mechanisms.
    RequestMic,
}

/// What a server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// NegTokenInit2, in the reply to NEGOTIATE: NTLMSSP is among what it offers.
    Offer,
    /// NegTokenResp, or an NTLMSSP message without an envelope, which has no state.
    Response {
        /// NegState, where told.
        state: Option<NegState>,
        /// The NTLMSSP message, where there is one.
        token: Option<&'a [u8]>,
    },
}

/// Writes the first token of a client: NegTokenInit in its GSS-API header, with NTLMSSP as the only mechanism and
/// NTLM's NEGOTIATE_MESSAGE in it.
pub fn init(w: &mut Writer<'_>) {
    let octets = Nest { tag: tag::OCTET_STRING, len: ntlm::NEGOTIATE_LEN };
    let mech_token = octets.within(tag::context(2));
    let mech_types = Nest { tag: tag::context(0), len: MECH_LIST.len() };
    let members = Nest { tag: tag::SEQUENCE, len: mech_types.size() + mech_token.size() };
    let neg_token = members.within(tag::context(0));
    let this_mech = Nest { tag: tag::OID, len: OID_SPNEGO.len() };
    let outer = Nest { tag: tag::APPLICATION_0, len: this_mech.size() + neg_token.size() };

    outer.begin(w);
    this_mech.begin(w);
    w.put(OID_SPNEGO);
    [neg_token, members, mech_types].iter().for_each(|nest| nest.begin(w));
    w.put(MECH_LIST);
    [mech_token, octets].iter().for_each(|nest| nest.begin(w));
    ntlm::negotiate(w);
}

/// Writes the second token of a client: NegTokenResp with responseToken and, where NTLM has a MIC, mechListMIC.
///
/// Servers that check the MIC of NTLM want the list of mechanisms proven too: without mechListMIC they ask for it in
/// another round trip. Theirs is not looked at: only one mechanism was on the list.
///
/// `token` is [`ntlm::authenticate`]. It runs twice: once to be measured, since DER wants the shortest lengths.
pub fn response(
    w: &mut Writer<'_>,
    token: impl Fn(&mut Writer<'_>) -> Result<SessionKey, Error>,
) -> Result<SessionKey, Error> {
    let mut counter = Writer::new(&mut []);
    let key = token(&mut counter)?;
    let octets = Nest { tag: tag::OCTET_STRING, len: counter.at() };
    let response_token = octets.within(tag::context(2));
    let mic = key.sign(MECH_LIST).is_some();
    let mic_octets = Nest { tag: tag::OCTET_STRING, len: 16 };
    let mech_list_mic = mic_octets.within(tag::context(3));
    let mic_size = if mic { mech_list_mic.size() } else { 0 };
    let members = Nest { tag: tag::SEQUENCE, len: response_token.size() + mic_size };
    let neg_token = members.within(tag::context(1));

    [neg_token, members, response_token, octets].iter().for_each(|nest| nest.begin(w));
    let key = token(w)?;
    if let Some(mic) = key.sign(MECH_LIST) {
        mech_list_mic.begin(w);
        mic_octets.begin(w);
        w.put(&mic);
    }
    Ok(key)
}

/// An element whose content has a known length.
#[derive(Clone, Copy)]
struct Nest {
    tag: u8,
    len: usize,
}

impl Nest {
    /// How many bytes it takes with its tag and length.
    const fn size(self) -> usize {
        let of_len = match self.len {
            0..=0x7F => 1,
            0x80..=0xFF => 2,
            _ => 3,
        };
        1 + of_len + self.len
    }

    /// The element that holds only this one.
    const fn within(self, tag: u8) -> Nest {
        Nest { tag, len: self.size() }
    }

    /// Writes tag and length. Nothing of ours comes near 64 KiB: NTLM's own lengths have 16 bits.
    fn begin(&self, w: &mut Writer<'_>) {
        w.u8(self.tag);
        let [high, low] = (self.len as u16).to_be_bytes();
        match self.len {
            0..=0x7F => w.u8(low),
            0x80..=0xFF => w.put(&[0x81, low]),
            _ => w.put(&[0x82, high, low]),
        }
    }
}

/// Reads what a server says. An NTLMSSP message without an envelope is taken as it is.
///
/// `Malformed` if it is no SPNEGO token, an empty one included: a server that sends nothing has no objection, which
/// is for the caller to see first. `Incompatible` if NTLMSSP is not among what is offered or is not what was chosen.
pub fn decode(bytes: &[u8]) -> Result<Reply<'_>, Error> {
    if bytes.starts_with(&ntlm::SIGNATURE) {
        return Ok(Reply::Response { state: None, token: Some(bytes) });
    }
    let mut reader = Reader::new(bytes);
    let (tag, content) = element(&mut reader, "SPNEGO token")?;
    if !reader.rest().is_empty() {
        return Err(Error::Malformed("bytes after the SPNEGO token"));
    }
    let mut reader = Reader::new(content);
    if tag == tag::context(1) {
        return decode_response(expect(&mut reader, tag::SEQUENCE, "NegTokenResp")?);
    }
    if tag != tag::APPLICATION_0 || expect(&mut reader, tag::OID, "thisMech")? != OID_SPNEGO {
        return Err(Error::Malformed("thisMech"));
    }
    let neg_token = expect(&mut reader, tag::context(0), "NegTokenInit2")?;
    decode_offer(expect(&mut Reader::new(neg_token), tag::SEQUENCE, "NegTokenInit2")?)
}

/// NegTokenInit2 (MS-SPNG 2.2.1): only mechTypes matters, and it comes first.
fn decode_offer(members: &[u8]) -> Result<Reply<'_>, Error> {
    let mech_types = expect(&mut Reader::new(members), tag::context(0), "mechTypes")?;
    let mut mechs = Reader::new(expect(&mut Reader::new(mech_types), tag::SEQUENCE, "mechTypes")?);
    let mut found = false;
    for _ in 0..MECHS_MAX {
        if mechs.rest().is_empty() {
            break;
        }
        found |= expect(&mut mechs, tag::OID, "mechTypes")? == OID_NTLMSSP;
    }
    if found {
        Ok(Reply::Offer)
    } else {
        Err(Error::Incompatible("the server offers only Kerberos, not NTLM"))
    }
}

/// NegTokenResp (RFC 4178 4.2.2).
fn decode_response(members: &[u8]) -> Result<Reply<'_>, Error> {
    let (mut state, mut token) = (None, None);
    let mut reader = Reader::new(members);
    for _ in 0..MEMBERS_MAX {
        if reader.rest().is_empty() {
            return Ok(Reply::Response { state, token });
        }
        let (tag, content) = element(&mut reader, "NegTokenResp")?;
        let mut content = Reader::new(content);
        if tag == tag::context(0) {
            state = Some(neg_state(expect(&mut content, tag::ENUMERATED, "negState")?)?);
        } else if tag == tag::context(1) {
            if expect(&mut content, tag::OID, "supportedMech")? != OID_NTLMSSP {
                return Err(Error::Incompatible("the server chose a mechanism that is not NTLM"));
            }
        } else if tag == tag::context(2) {
            token = Some(expect(&mut content, tag::OCTET_STRING, "responseToken")?);
        }
    }
    Err(Error::Malformed("more members of NegTokenResp than there are"))
}

fn neg_state(content: &[u8]) -> Result<NegState, Error> {
    match content {
        [0] => Ok(NegState::AcceptCompleted),
        [1] => Ok(NegState::AcceptIncomplete),
        [2] => Ok(NegState::Reject),
        [3] => Ok(NegState::RequestMic),
        _ => Err(Error::Malformed("negState")),
    }
}

/// The content of the next element, which must have this tag.
fn expect<'a>(reader: &mut Reader<'a>, tag: u8, field: &'static str) -> Result<&'a [u8], Error> {
    match element(reader, field)? {
        (found, content) if found == tag => Ok(content),
        _ => Err(Error::Malformed(field)),
    }
}

/// Tag and content of the next element. Its length is definite and has 1 to 4 bytes after the first at most.
fn element<'a>(reader: &mut Reader<'a>, field: &'static str) -> Result<(u8, &'a [u8]), Error> {
    let tag = reader.u8(field)?;
    let len = match reader.u8(field)? {
        short @ 0..=0x7F => usize::from(short),
        long @ 0x81..=0x84 => {
            let bytes = reader.take(usize::from(long & 0x7F), field)?;
            bytes.iter().fold(0u32, |len, byte| (len << 8) | u32::from(*byte)) as usize
        }
        _ => return Err(Error::Malformed(field)),
    };
    Ok((tag, reader.take(len, field)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
    }

    fn written(write: impl Fn(&mut Writer<'_>)) -> Vec<u8> {
        let mut buf = std::vec![0; 70_000];
        let mut w = Writer::new(&mut buf);
        write(&mut w);
        let len = w.finish().unwrap();
        buf.truncate(len);
        buf
    }

    /// Writes so many bytes as an NTLMSSP message.
    fn put(len: usize, mic: bool) -> impl Fn(&mut Writer<'_>) -> Result<SessionKey, Error> {
        move |w| {
            (0..len).for_each(|_| w.u8(0x5A));
            Ok(SessionKey::test(mic))
        }
    }

    /// What Samba 4.17 offers: NTLMSSP alone, with a hint.
    const OFFER: &str = "604806062b0601050502a03e303ca00e300c060a2b06010401823702020aa32a3028a0261b246e6f74\
                         5f646566696e65645f696e5f5246433431373840706c656173655f69676e6f7265";

    #[test]
    fn the_first_token_is_what_other_clients_send() {
        let token = written(init);
        assert_eq!(token[..34], hex("604806062b0601050502a03e303ca00e300c060a2b06010401823702020aa22a0428"));
        assert_eq!(token.len(), 2 + 0x48);
    }

    #[test]
    fn lengths_are_the_shortest_at_every_size() {
        let of_len = |len: usize| 2 + usize::from(len > 0x7F) + usize::from(len > 0xFF);
        for mic in [false, true] {
            for len in (0..0x110).chain([0x1000, 0xFF00]) {
                let token = written(|w| assert!(response(w, put(len, mic)).is_ok()));
                let Ok(Reply::Response { state: None, token: Some(inner) }) = decode(&token) else {
                    panic!("{len}");
                };
                assert_eq!(inner, std::vec![0x5A; len]);
                let inner = len + of_len(len);
                let members = inner + of_len(inner) + if mic { 20 } else { 0 };
                let neg_token = members + of_len(members);
                assert_eq!(token.len(), neg_token + of_len(neg_token));
            }
        }
    }

    #[test]
    fn a_mic_goes_out_with_the_list_that_it_covers() {
        let token = written(|w| assert!(response(w, put(3, true)).is_ok()));
        let mic = SessionKey::test(true).sign(&hex("300c060a2b06010401823702020a")).unwrap();
        assert_eq!(token, [&hex("a11d301ba20504035a5a5aa3120410")[..], &mic].concat());
    }

    #[test]
    fn an_offer_has_ntlm_or_is_incompatible() {
        assert_eq!(decode(&hex(OFFER)), Ok(Reply::Offer));
        let kerberos = hex("601a06062b0601050502a010300ea00c300a06082a864886f7120102");
        assert!(decode(&kerberos).is_err(), "a length that lies");
        let kerberos = hex("601b06062b0601050502a011300fa00d300b06092a864886f712010202");
        assert_eq!(decode(&kerberos), Err(Error::Incompatible("the server offers only Kerberos, not NTLM")));
    }

    #[test]
    fn a_response_gives_state_and_token() {
        let message = hex("a1173015a0030a0101a10c060a2b06010401823702020aa200");
        assert_eq!(decode(&message), Err(Error::Malformed("responseToken")));
        let message = hex("a11b3019a0030a0101a10c060a2b06010401823702020aa2040402abcd");
        let token = Some(&[0xAB, 0xCD][..]);
        assert_eq!(decode(&message), Ok(Reply::Response { state: Some(NegState::AcceptIncomplete), token }));
        let message = hex("a1073005a0030a0100");
        let state = Some(NegState::AcceptCompleted);
        assert_eq!(decode(&message), Ok(Reply::Response { state, token: None }));
        let message = hex("a1073005a0030a0104");
        assert_eq!(decode(&message), Err(Error::Malformed("negState")));
    }

    #[test]
    fn another_mechanism_is_incompatible() {
        let message = hex("a1143012a0030a0101a10b06092a864886f712010202");
        assert!(matches!(decode(&message), Err(Error::Incompatible(_))));
    }

    #[test]
    fn ntlm_without_an_envelope_is_taken() {
        let message = b"NTLMSSP\0\x02\0\0\0";
        assert_eq!(decode(message), Ok(Reply::Response { state: None, token: Some(message) }));
    }

    #[test]
    fn long_forms_of_every_size_are_read() {
        for len in ["05", "8105", "820005", "83000005", "8400000005"] {
            let inner = [&["30", len].concat()[..], "a0030a0100"].concat();
            let message = hex(&std::format!("a1{:02x}{inner}", inner.len() / 2));
            assert!(decode(&message).is_ok(), "{len}");
        }
        for len in ["80", "850000000005", "84ffffffff", "ff"] {
            let inner = [&["30", len].concat()[..], "a0030a0100"].concat();
            let message = hex(&std::format!("a1{:02x}{inner}", inner.len() / 2));
            assert!(matches!(decode(&message), Err(Error::Malformed(_))), "{len}");
        }
    }

    #[test]
    fn every_truncation_is_malformed_and_every_changed_byte_survived() {
        for whole in [hex(OFFER), hex("a11b3019a0030a0101a10c060a2b06010401823702020aa2040402abcd")] {
            for len in 0..whole.len() {
                assert!(matches!(decode(&whole[..len]), Err(Error::Malformed(_))), "{len}");
            }
            assert!(decode(&[&whole[..], &[0]].concat()).is_err());
            for (at, value) in (0..whole.len()).flat_map(|at| (0..=255).map(move |value| (at, value))) {
                let mut message = whole.clone();
                message[at] = value;
                let _ = decode(&message);
            }
        }
    }

    #[test]
    fn lists_that_are_too_long_are_refused() {
        let members = "a800".repeat(MEMBERS_MAX);
        let message =
            hex(&std::format!("a1{:02x}30{:02x}{members}", members.len() / 2 + 2, members.len() / 2));
        assert!(matches!(decode(&message), Err(Error::Malformed(_))));
    }

    #[test]
    fn what_the_token_cannot_do_is_told() {
        let refuse = |_: &mut Writer<'_>| Err(Error::Invalid("test"));
        assert!(matches!(response(&mut Writer::new(&mut []), refuse), Err(Error::Invalid("test"))));
        let mut w = Writer::new(&mut []);
        response(&mut w, put(3, false)).unwrap();
        assert!(matches!(w.finish(), Err(Error::Budget { need: 11, have: 0, .. })));
    }
}
