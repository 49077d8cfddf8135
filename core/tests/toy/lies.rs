//! What a server must not say: each lie, and the exact error that it gives for ever.

use super::peer::{Peer, Reply, Request};
use super::protocol::{EOF, HEAD_LEN, MORE, NOTICE, PENDING, READ, STAT};
use super::world::{Memory, World, assert_same, contents};
use pagewire::{Error, Pages, Read, Stat, limits};

/// Reads a file in three requests, whose replies are changed by `lie`; the error must be exactly this.
#[track_caller]
fn assert_lie(chain: bool, lie: impl FnMut(&Request, &mut Vec<Reply>) + 'static, error: Error) {
    let mut memory = Memory::new(512, 4096, 3);
    let peer = Peer { read_len_max: 512, chain, sealed: true, ..Peer::with_file(1536) };
    let mut world = World::connected(&mut memory, peer);
    let file = world.open();
    world.peer.lie = Some(Box::new(lie));
    let mut pages = [[0xEE; 512]; 3];
    world.assert_fatal(&mut Read::new(&file, 0, &mut Pages(&mut pages)), error);
}

/// A stat whose only reply is changed by `lie`.
#[track_caller]
fn assert_stat_lie(lie: impl Fn(&Request, &mut Vec<Reply>) + 'static, error: Error) {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    world.peer.lie = Some(Box::new(lie));
    world.assert_fatal(&mut Stat::new("file"), error);
}

const NOBODY_WAITS: Error = Error::Misbehaved("a reply that no request awaits");

#[test]
fn a_reply_that_no_request_awaits_ends_the_connection() {
    assert_lie(false, |_, replies| replies[0].id += 1000, NOBODY_WAITS);
    assert_lie(true, |_, replies| replies[0].id += 1000, NOBODY_WAITS);
    assert_stat_lie(|_, replies| replies[0].id = 0, NOBODY_WAITS);
}

#[test]
fn a_reply_that_comes_twice_ends_the_connection() {
    let twice = |_: &Request, replies: &mut Vec<Reply>| replies.push(replies[0].clone());
    assert_lie(false, twice, NOBODY_WAITS);
    assert_lie(true, twice, NOBODY_WAITS);
}

#[test]
fn a_late_second_reply_is_found_by_the_next_operation() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    world.peer.lie = Some(Box::new(|_, replies| replies.push(replies[0].clone())));
    assert!(world.run(&mut Stat::new("file")).is_ok());
    world.assert_fatal(&mut Stat::new("file"), NOBODY_WAITS);
}

#[test]
fn a_reply_of_another_kind_ends_the_connection() {
    assert_lie(false, |_, replies| replies[0].kind = STAT, Error::Misbehaved("a reply of another kind"));
    assert_stat_lie(|_, replies| replies[0].kind = READ, Error::Misbehaved("a reply of another kind"));
}

#[test]
fn a_status_that_is_none_or_has_no_place_there_is_malformed() {
    assert_lie(false, |_, replies| replies[0].status = 9, Error::Malformed("status"));
    assert_stat_lie(|_, replies| replies[0].status = EOF, Error::Malformed("status"));
}

#[test]
fn more_data_than_was_asked_for_is_refused_before_it_lands() {
    let more = |_: &Request, replies: &mut Vec<Reply>| {
        replies[0].body.push(7);
        replies[0].len += 1;
    };
    assert_lie(false, more, Error::Misbehaved("more data than was asked for"));
}

#[test]
fn a_reply_with_no_data_and_no_end_of_file_ends_the_connection() {
    let nothing = |_: &Request, replies: &mut Vec<Reply>| {
        replies[0].body.clear();
        replies[0].len = 0;
    };
    let error = Error::Misbehaved("a read brought no data and no end of file");
    assert_lie(false, nothing, error);
    assert_lie(true, nothing, error);
}

#[test]
fn a_body_that_is_longer_than_its_frame_is_malformed() {
    let error = Error::Malformed("a message is longer than its frame");
    assert_lie(false, |_, replies| replies[0].body.truncate(511), error);
    // Where the head has its gap and its pad.
    for (at, kind) in [(12, READ), (14, READ), (14, STAT)] {
        let mut memory = Memory::slots(1);
        let mut world = World::connected(&mut memory, Peer::default());
        let file = world.open();
        world.peer.smudge = Some(Box::new(move |frame| frame[4 + at] = 200));
        let mut page = [[0; 512]; 1];
        if kind == READ {
            world.assert_fatal(&mut Read::new(&file, 0, &mut Pages(&mut page)), error);
        } else {
            world.assert_fatal(&mut Stat::new("file"), error);
        }
    }
}

#[test]
fn bytes_behind_the_last_message_are_malformed() {
    let error = Error::Malformed("a message ends before its head does");
    for tail in 1..HEAD_LEN {
        assert_lie(false, move |_, replies| replies[0].body.extend(vec![0; tail]), error);
        // Behind a message without data too.
        let tailed = move |_: &Request, replies: &mut Vec<Reply>| replies[0].body.extend(vec![0; tail]);
        assert_stat_lie(tailed, error);
    }
}

/// A stat reply cut to `len` bytes, its mark telling the truth about that.
fn truncated(sealed: bool, len: usize) -> Option<Error> {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer { sealed, ..Peer::default() });
    world.peer.smudge = Some(Box::new(move |frame| {
        frame.truncate(4 + len);
        frame[..4].copy_from_slice(&(len as u32).to_be_bytes());
    }));
    world.run(&mut Stat::new("file")).err()
}

#[test]
fn a_frame_that_ends_within_a_head_is_malformed_wherever_it_ends() {
    for len in 1..HEAD_LEN + 9 {
        let want = Some(Error::Malformed("a message ends before its head does"));
        assert_eq!(truncated(false, len), want, "{len} bytes");
    }
}

#[test]
fn a_sealed_frame_that_was_cut_is_unauthentic_wherever_it_was_cut() {
    for len in 1..6 + HEAD_LEN + 9 {
        assert_eq!(truncated(true, len), Some(Error::Unauthentic("checksum")), "{len} bytes");
    }
}

#[test]
fn a_frame_may_not_be_longer_than_the_limit() {
    for (len, error) in [
        (limits::FRAME_LEN_MAX, Error::Closed),
        (limits::FRAME_LEN_MAX + 1, Error::Malformed("length of a frame")),
        (u32::MAX, Error::Malformed("length of a frame")),
    ] {
        let mut memory = Memory::slots(2);
        let mut world = World::connected(&mut memory, Peer::default());
        world.peer.batch = 0;
        let mut stat = Stat::new("file");
        world.run_steps(&mut stat, 1);
        world.peer.say(&len.to_be_bytes());
        world.assert_fatal(&mut stat, error);
    }
}

#[test]
fn frames_without_content_are_bounded_in_a_row() {
    // The reply behind them is a frame too.
    let empty = limits::IDLE_FRAMES_MAX as usize - 1;
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    for _ in 0..3 {
        world.peer.say(&[0; 4].repeat(empty));
        assert!(world.run(&mut Stat::new("file")).is_ok(), "as many as the limit are allowed");
    }
    world.peer.say(&[0; 4].repeat(empty + 2));
    world.assert_fatal(&mut Stat::new("file"), Error::Misbehaved("frame after frame and no reply"));
}

/// A stat with `count` interim replies, one frame each or all in one.
fn pending(count: u32) -> Result<u64, Error> {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer { pending: count, ..Peer::default() });
    let outcome = world.run(&mut Stat::new("file")).map(|attributes| attributes.len);
    assert_eq!(world.client.counters().responses, if outcome.is_ok() { 2 } else { 1 });
    outcome
}

#[test]
fn a_server_may_say_that_it_is_still_at_it_but_not_for_ever() {
    let most = u32::from(limits::INTERIM_MAX);
    let error = Error::Misbehaved("the server says for ever that a reply is still to come");
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    world.peer.lie = Some(Box::new(move |_, replies| {
        let interim = Reply { status: PENDING, len: 0, body: vec![], grant: 0, ..replies[0].clone() };
        *replies = vec![interim; most as usize + 1];
    }));
    world.assert_fatal(&mut Stat::new("file"), error);
    // The connect of this world has as many.
    assert_eq!(pending(most), Ok(3000));
}

#[test]
fn an_interim_reply_and_the_final_one_may_not_stand_in_one_frame() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, Peer::default());
    let mut stat = Stat::new("file");
    world.run_steps(&mut stat, 1);
    let reply = Reply::to(&world.peer.queue.remove(0), vec![0; 9]);
    let interim = Reply { status: PENDING, len: 0, body: vec![], ..reply.clone() };
    world.peer.say_replies(&[interim, reply]);
    // Until the frame has ended, the request counts as answered.
    world.assert_fatal(&mut stat, NOBODY_WAITS);
}

#[test]
fn a_head_longer_than_rx_is_named_as_a_budget_and_ends_the_connection() {
    for (len, fits) in [(940, true), (941, false), (5000, false)] {
        let mut memory = Memory::slots(2);
        let mut world = World::connected(&mut memory, Peer::default());
        world.peer.lie = Some(Box::new(move |_, replies| {
            replies[0].body.resize(len, 0);
            replies[0].len = len as u32;
        }));
        let need = HEAD_LEN + len + limits::SCRATCH_LEN;
        if fits {
            assert!(world.run(&mut Stat::new("file")).is_ok());
        } else {
            world.assert_fatal(&mut Stat::new("file"), Error::Budget { what: "rx", need, have: 1024 });
        }
    }
}

#[test]
fn a_head_that_claims_more_than_its_frame_has_is_the_servers_fault_and_no_budget() {
    let error = Error::Malformed("a message ends before its head does");
    assert_stat_lie(|_, replies| replies[0].len = 100, error);
    assert_stat_lie(|_, replies| replies[0].len = u32::MAX, error);
}

#[test]
fn the_fragments_of_a_frame_and_their_bytes_are_bounded() {
    let stat_lies = |bytes: Vec<u8>, error| {
        let mut memory = Memory::slots(2);
        let mut world = World::connected(&mut memory, Peer::default());
        world.peer.batch = 0;
        let mut stat = Stat::new("file");
        world.run_steps(&mut stat, 1);
        world.peer.say(&bytes);
        world.assert_fatal(&mut stat, error);
    };
    let empty = MORE.to_be_bytes().repeat(limits::EMPTY_FRAGMENTS_MAX as usize + 1);
    stat_lies(empty, Error::Misbehaved("fragment after fragment and nothing in them"));
    let mut long = (MORE | 1).to_be_bytes().to_vec();
    long.push(0);
    long.extend((MORE | limits::FRAME_LEN_MAX).to_be_bytes());
    stat_lies(long, Error::Malformed("length of a frame"));
}

#[test]
fn a_message_that_nobody_asked_for_is_told_to_the_protocol_or_refused_but_not_lost() {
    for count in 1..4 {
        let mut memory = Memory::slots(2);
        let mut world = World::connected(&mut memory, Peer::default());
        let mut stat = Stat::new("file");
        world.run_steps(&mut stat, 1);
        let notice = Reply { id: NOTICE, ..Reply::to(&world.peer.queue[0], vec![1; 10]) };
        world.peer.say_replies(&vec![notice; count]);
        let outcome = world.run(&mut stat);
        let told = world.client.protocol().notices as usize;
        assert!(told == count || matches!(outcome, Err(Error::Misbehaved(_))), "{told} of {count}");
    }
}

#[test]
fn a_server_that_withholds_every_allowance_ends_the_connection() {
    let mut memory = Memory::slots(4);
    let peer = Peer { read_len_max: 512, unit: 512, credits: 3, grant: Some(0), ..Peer::with_file(9999) };
    let mut world = World::connected(&mut memory, peer);
    let file = world.open();
    let mut pages = [[0xEE; 512]; 8];
    let error = Error::Misbehaved("the server allows no request and owes no reply");
    world.assert_fatal(&mut Read::new(&file, 0, &mut Pages(&mut pages)), error);
    assert_same(&pages.as_flattened()[..1024], &contents(0, 1024, 9999), &"what was allowed was read");
}

#[test]
fn a_smaller_allowance_than_a_short_reply_left_over_is_no_reason_to_give_up() {
    for (slots, credits) in (1..=3).flat_map(|slots| (8..=24).map(move |credits| (slots, credits))) {
        let mut memory = Memory::slots(slots);
        let peer = Peer { read_len_max: 4096, unit: 512, credits, short: 1000, ..Peer::with_file(20_000) };
        let mut world = World::connected(&mut memory, peer);
        let file = world.open();
        // From many credits to two: less than what is left of any request.
        world.peer.lie = Some(Box::new({
            let mut left = credits;
            move |request, replies| {
                let charge = request.len.div_ceil(512) as u16;
                left -= charge;
                replies[0].grant = charge.min(2u16.saturating_sub(left));
                left += replies[0].grant;
            }
        }));
        let mut pages = [[0xEE; 4096]; 5];
        let outcome = world.run(&mut Read::new(&file, 0, &mut Pages(&mut pages)));
        assert_eq!(outcome.map(|filled| filled.len), Ok(20_000), "{slots} slots, {credits} credits");
        assert_same(pages.as_flattened(), &contents(0, 20_480, 20_000), &slots);
    }
}

#[test]
fn the_end_of_the_stream_is_closed_wherever_it_comes() {
    for after in 0..3 * (4 + HEAD_LEN + 512) {
        let mut memory = Memory::slots(3);
        let mut world = World::connected(&mut memory, Peer { read_len_max: 512, ..Peer::with_file(1536) });
        let file = world.open();
        let mut pages = [[0xEE; 512]; 3];
        let mut pages = Pages(&mut pages);
        let mut read = Read::new(&file, 0, &mut pages);
        world.until_it_receives(&mut read);
        world.read_max = 1;
        world.run_steps(&mut read, after);
        assert_eq!(world.client.failed(), None);
        world.client.received(&mut read, 0);
        world.assert_fatal(&mut read, Error::Closed);
    }
}
