//! A DNS server that knows one name, and what is asked of it.

use super::*;
use smoltcp::socket::udp::{PacketBuffer, PacketMetadata, Socket as Udp};

const PORT: u16 = 53;
/// As it stands in a question, after the head of 12 bytes (RFC 1035, section 4.1.2), with the type A.
const KNOWN: &[u8] = b"\x03nas\x04test\0\0\x01";
const NO_SUCH_NAME: u8 = 3;

pub fn socket() -> Udp<'static> {
    let buffer = || PacketBuffer::new(vec![PacketMetadata::EMPTY; 2], vec![0; 512]);
    let mut socket = Udp::new(buffer(), buffer());
    socket.bind(PORT).unwrap();
    socket
}

pub fn answer(socket: &mut Udp<'_>) {
    while let Ok((question, from)) = socket.recv() {
        let mut reply = question.to_vec();
        reply[2] |= 0x80; // it is a response
        if question[12..].starts_with(KNOWN) {
            reply[7] = 1; // with one answer: that name, type A, class IN, for a minute
            reply.extend_from_slice(&[0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 2]);
        } else {
            reply[3] |= NO_SUCH_NAME;
        }
        socket.send_slice(&reply, from.endpoint).unwrap();
    }
}

#[test]
fn a_server_is_found_by_its_name() {
    let (mut station, _far) = stations(OURS, THEIRS);
    assert_eq!(station.connect(PORTS[0]), Err(Error::Invalid("no server was found")));
    assert_eq!(station.find("nas.test"), Ok(THEIRS));
    assert_eq!(station.connect(PORTS[0]), Ok(()));
}

#[test]
fn a_name_that_nobody_knows_or_that_is_none_is_invalid() {
    let (mut station, _far) = stations(OURS, THEIRS);
    for _ in 0..2 {
        let unknown = Error::Invalid("no DNS server knows the server's name");
        assert_eq!(station.find("nobody.test"), Err(unknown));
    }
    let none = Error::Invalid("the server's name is neither an address nor one of DNS");
    assert_eq!(station.find("nas..test"), Err(none));
}

#[test]
fn a_silent_dns_server_has_one_limit_whatever_it_is_asked_for() {
    let (mut station, far) = stations(OURS, THEIRS);
    far.borrow_mut().there = false;
    let before = (station.clock)();
    // Without IPv6 there is one question, which is given up sooner.
    assert!(station.find("nas.test").is_err());
    let took = (station.clock)() - before;
    assert!(took <= RESOLVE_TIMEOUT + Duration::from_millis(10), "{took}");
    far.borrow_mut().there = true;
    assert_eq!(station.find("nas.test"), Ok(THEIRS));
}
