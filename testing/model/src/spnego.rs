//! SPNEGO with NTLM as the only mechanism (RFC 4178, MS-SPNG).

const SPNEGO: &[u8] = &[0x06, 6, 0x2B, 6, 1, 5, 5, 2];
const NTLMSSP: &[u8] = &[0x06, 10, 0x2B, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 10];

pub(crate) const ACCEPT_COMPLETED: u8 = 0;
pub(crate) const ACCEPT_INCOMPLETE: u8 = 1;

/// What a client's token holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// The list of mechanisms as encoded: what the MICs cover.
    pub(crate) mech_types: &'a [u8],
    pub(crate) token: &'a [u8],
    pub(crate) mic: Option<&'a [u8]>,
}

/// The hint in NEGOTIATE: NTLM and nothing else.
pub(crate) fn hint() -> Vec<u8> {
    let mech_types = tlv(0xA0, &tlv(0x30, NTLMSSP));
    tlv(0x60, &[SPNEGO, &tlv(0xA0, &tlv(0x30, &mech_types))].concat())
}

/// A NegTokenResp; the mechanism is named while incomplete.
pub(crate) fn response(state: u8, token: &[u8], mic: Option<&[u8]>) -> Vec<u8> {
    let mut fields = tlv(0xA0, &[0x0A, 1, state]);
    if state == ACCEPT_INCOMPLETE {
        fields.extend(tlv(0xA1, NTLMSSP));
    }
    if !token.is_empty() {
        fields.extend(tlv(0xA2, &tlv(0x04, token)));
    }
    if let Some(mic) = mic {
        fields.extend(tlv(0xA3, &tlv(0x04, mic)));
    }
    tlv(0xA1, &tlv(0x30, &fields))
}

/// A NegTokenInit or NegTokenResp; `None` for anything else.
pub(crate) fn decode(mut input: &[u8]) -> Option<Token<'_>> {
    let (tag, mut inner) = next(&mut input)?;
    let init = tag == 0x60;
    if init {
        inner = expect(inner.strip_prefix(SPNEGO)?, 0xA0)?;
    } else {
        (tag == 0xA1).then_some(())?;
    }
    let mut fields = expect(inner, 0x30)?;
    let mut token = Token::default();
    while !fields.is_empty() {
        match next(&mut fields)? {
            (0xA0, content) if init => token.mech_types = content,
            (0xA2, content) => token.token = expect(content, 0x04)?,
            (0xA3, content) => token.mic = Some(expect(content, 0x04)?),
            _ => {}
        }
    }
    Some(token)
}

fn expect(mut input: &[u8], tag: u8) -> Option<&[u8]> {
    let (found, content) = next(&mut input)?;
    (found == tag).then_some(content)
}

/// Tag and content of the next element.
fn next<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let digits = if first < 0x80 { 0 } else { usize::from(first) - 0x80 };
    let (digits, rest) = rest.split_at_checked(digits).filter(|(digits, _)| digits.len() <= 4)?;
    let len = match first {
        ..0x80 => usize::from(first),
        _ => digits.iter().fold(0, |len, &digit| len << 8 | usize::from(digit)),
    };
    let (content, rest) = rest.split_at_checked(len)?;
    *input = rest;
    Some((tag, content))
}

fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = content.len();
    let head = match len {
        0..0x80 => vec![tag, len as u8],
        0x80..0x100 => vec![tag, 0x81, len as u8],
        _ => vec![tag, 0x82, (len >> 8) as u8, len as u8],
    };
    [&head, content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_whatever_its_length() {
        for len in [1, 0x70, 0x80, 0x200] {
            let token = vec![7; len];
            let encoded = response(ACCEPT_INCOMPLETE, &token, Some(&[1; 16]));
            let expected = Token { mech_types: &[], token: &token, mic: Some(&[1; 16]) };
            assert_eq!(decode(&encoded).unwrap(), expected);
        }
    }

    #[test]
    fn the_hint_names_ntlm_and_no_truncation_is_taken() {
        let hint = hint();
        assert_eq!(decode(&hint).unwrap().mech_types, tlv(0x30, NTLMSSP));
        for len in 0..hint.len() {
            assert_eq!(decode(&hint[..len]), None);
        }
    }
}
