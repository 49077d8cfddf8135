//! What the tests of every operation use.

use super::compound::{Ops, Results};
use super::op::Op;
use crate::error::Error;
use crate::nfs::xdr::testing::{encoded, survives_any_byte, truncations_refused};
use crate::wire::{Reader, Writer};
use std::vec::Vec;

/// What `encode` writes.
pub fn written(encode: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    encoded(encode)
}

/// The operation that `encode` appends to a COMPOUND: checks that it is one, that it is `op`, and that the most
/// bytes of its reply were added up; returns its arguments.
pub fn args(op: Op, reply_head_max: usize, encode: impl FnOnce(&mut Ops<'_, '_>)) -> Vec<u8> {
    let bytes = encoded(|w| {
        let mut ops = Ops::begin(w, b"", 0);
        encode(&mut ops);
        assert_eq!(ops.count(), 1);
        assert_eq!(ops.end(), super::compound::REPLY_HEAD_MAX + reply_head_max);
    });
    // tag, minorversion, numops
    assert_eq!(bytes[..12], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bytes[12..16], op.0.to_be_bytes());
    bytes[16..].to_vec()
}

/// What `decode` makes of `bytes`: checks that it takes them all, refuses each of their truncations as malformed, and
/// does not panic whichever byte is another.
pub fn strict<'a, T>(
    bytes: &'a [u8],
    decode: impl for<'b> Fn(&mut Reader<'b>) -> Result<T, Error> + Copy,
) -> T {
    let complains = |bytes: &[u8]| decode(&mut Reader::new(bytes)).err();
    truncations_refused(bytes, complains);
    survives_any_byte(bytes, complains);
    let mut r = Reader::new(bytes);
    let value = decode(&mut r).unwrap();
    assert_eq!(r.rest(), [], "not all is decoded");
    value
}

/// Checks that a result without a body is nothing but its opcode and status.
pub fn void_result(op: Op, reply_head_max: usize) {
    let mut reply = Vec::from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    reply.extend(op.0.to_be_bytes());
    reply.extend([0; 4]);
    let mut results = Results::decode(&reply, 1).unwrap();
    assert_eq!(results.take(op).unwrap().rest(), []);
    assert_eq!(results.end(), Ok(()));
    assert_eq!(reply_head_max, 8);
}
