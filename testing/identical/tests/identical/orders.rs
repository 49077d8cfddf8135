//! A server that answers in an order of its own: what that changes, and what it does not.
//!
//! Which requests such a server finds together is a matter of time. Here it is told, and the later is answered first.

use crate::talks::{agree, nfs, smb};
use pagewire::Protocol;
use pagewire_hostile::{Conversation, Recorder, Scene, Setup, Side, Tape};
use pagewire_hostile_nfs::{v3, v4};
use pagewire_identical::Talk;
use pagewire_line::{Heard, Link};
use pagewire_model::Lie;

/// How many requests it finds together at most.
const TOGETHER: [usize; 5] = [1, 2, 3, 4, 99];

/// A server that finds no more than `most` requests together.
struct Together<L> {
    end: L,
    most: usize,
    /// Less than a frame.
    heard: Vec<u8>,
    said: Vec<u8>,
}

impl<L: Link> Together<L> {
    fn new(end: L, most: usize) -> Together<L> {
        Together { end, most, heard: Vec::new(), said: Vec::new() }
    }
}

/// The whole frames, and the rest. Both SMB and NFS have four bytes in front of each that say how long it is.
fn frames(mut bytes: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut frames = Vec::new();
    while let Some(mark) = bytes.first_chunk() {
        let len = u32::from_be_bytes(*mark) & 0x00FF_FFFF;
        let Some((frame, rest)) = bytes.split_at_checked(4 + len as usize) else { break };
        frames.push(frame);
        bytes = rest;
    }
    (frames, bytes)
}

impl<L: Link> Link for Together<L> {
    fn send(&mut self, bytes: &[u8]) -> usize {
        self.heard.extend(bytes);
        let (frames, rest) = frames(&self.heard);
        for group in frames.chunks(self.most) {
            self.end.send(&group.concat());
            let mut window = [0; 4096];
            while let Heard::Bytes(len) = self.end.receive(&mut window) {
                self.said.extend(&window[..len]);
            }
        }
        self.heard = rest.to_vec();
        bytes.len()
    }

    fn receive(&mut self, window: &mut [u8]) -> Heard {
        let len = window.len().min(self.said.len());
        window[..len].copy_from_slice(&self.said[..len]);
        self.said.drain(..len);
        if len > 0 { Heard::Bytes(len) } else { Heard::Silence }
    }

    fn connect(&mut self, port: u16) -> bool {
        self.end.connect(port)
    }
}

/// The same talk with a server that finds `most` requests together.
fn together<P: Protocol, L: Link + 'static>(talk: Talk<P, L>, most: usize) -> Talk<P, Together<L>> {
    let server = talk.server;
    Talk {
        storage: talk.storage,
        protocol: talk.protocol,
        server: Box::new(move || Together::new(server(), most)),
        program: talk.program,
    }
}

/// What is said for each number of requests that are found together. The order of the replies is never the same.
fn said<P: Protocol, L: Link + 'static>(talk: impl Fn() -> Talk<P, L>) -> [Conversation; TOGETHER.len()] {
    let said = TOGETHER.map(|most| {
        let talk = together(talk(), most);
        let (came, recorder) = talk.over(Recorder::new((talk.server)()));
        assert!(came.is_ok(), "{most} together: {came:?}");
        recorder.end().1
    });
    let server = |at: usize| said[at].all(Side::Server);
    assert!((1..said.len()).all(|at| server(at) != server(0)), "or there is nothing to be proven");
    said
}

/// Whether the client has sent the same bytes to all of them.
fn all_same(said: &[Conversation]) -> bool {
    said.iter().all(|other| other.all(Side::Client) == said[0].all(Side::Client))
}

/// A call without what SEQUENCE (RFC 8881 18.46) says of its slot: the number, the count of its requests, and the highest.
fn without_slot(call: &[u8]) -> Vec<u8> {
    const SEQUENCE: [u8; 4] = 53_u32.to_be_bytes();
    let mut call = call.to_vec();
    if let Some(word) = call.chunks(4).position(|word| word == SEQUENCE) {
        let sessionid = 4 * (word + 1);
        call[sessionid + 16..sessionid + 28].fill(0);
    }
    call
}

fn reversed_3() -> v3::Scene {
    v3::Scene::new().with(|scene| scene.config.rpc.reversed = true)
}

fn reversed_4(minor: u32) -> v4::Scene {
    v4::Scene::new().minor(minor).with(|scene| scene.config.rpc.reversed = true)
}

#[test]
fn where_replies_are_whole_their_order_changes_no_byte_of_smb_nfs_3_and_4_0() {
    for setup in Setup::every() {
        assert!(all_same(&said(|| smb(Scene::new(setup).told(Lie::ReverseReads)))), "{setup:?}");
    }
    assert!(all_same(&said(|| nfs(reversed_3))));
    assert!(all_same(&said(|| nfs(|| reversed_4(0)))));
}

#[test]
fn with_sessions_their_order_decides_which_slot_a_request_takes_and_nothing_else() {
    for scene in [|| reversed_4(1), || reversed_4(2)] {
        let said = said(|| nfs(scene));
        assert!(!all_same(&said), "or there is nothing to be proven");
        let shape = |bytes: Vec<u8>| frames(&bytes).0.into_iter().map(without_slot).collect::<Vec<_>>();
        let shapes = said.map(|conversation| shape(conversation.all(Side::Client)));
        assert!(shapes.iter().all(|shape| *shape == shapes[0]));
    }
}

#[test]
fn what_a_short_reply_left_is_asked_for_in_the_order_of_replies_and_replies_in_the_same_order_bring_the_same()
{
    let short = || reversed_4(2).with(|scene| scene.config.brings = 1000);
    let talk = || nfs(short);
    let said = said(talk);
    assert!(!all_same(&said), "or there is nothing to be proven");
    for (conversation, most) in said.into_iter().zip(TOGETHER) {
        let client = conversation.all(Side::Client);
        let Talk { storage, protocol, program, .. } = talk();
        let server = Box::new(move || Tape::new(&conversation));
        let (_, heard) = agree(&Talk { storage, protocol, server, program }, &format!("{most} together"));
        assert!(heard == [client], "{most} together");
    }
}
