//! A client goes on over another connection.

use super::dropping::peer;
use super::protocol::Toy;
use super::world::{Memory, World, assert_same, contents};
use pagewire::{Connect, Error, Pages, Stat, Step, Stream};

/// Another connection to the same server, which has forgotten what was open.
fn reconnect(world: &mut World<'_>, sealed: bool) {
    let before = std::mem::replace(&mut world.peer, peer(sealed, 2));
    world.client.restart(Toy::new(sealed, before.unit)).unwrap();
}

#[test]
fn a_stream_that_is_cut_at_any_step_goes_on_where_the_last_item_ended() {
    for sealed in [false, true] {
        let mut ended = false;
        for count in 1..700 {
            let mut memory = Memory::slots(3);
            let mut world = World::connected(&mut memory, peer(sealed, 2));
            world.read_max = 100;
            let (file, mut came) = (world.open(), Vec::new());
            let mut pages = [[0xEE; 512]; 3];
            let mut sink = Pages(&mut pages);
            let mut stream = Stream::new(&file, 0, &mut sink);
            ended = (0..count).any(|_| match world.client.step(&mut stream) {
                Step::Item(item) => {
                    came.extend(item.data());
                    false
                }
                _ => world.run_steps(&mut stream, 1),
            });
            if ended {
                break;
            }
            world.client.closed();
            assert_eq!(world.run(&mut stream), Err(Error::Closed));
            reconnect(&mut world, sealed);
            assert!(matches!(world.run(&mut stream), Err(Error::Invalid(_))), "it was begun before");

            reconnect(&mut world, sealed);
            world.run(&mut Connect::new()).unwrap();
            let again = world.open();
            assert_eq!(again.attributes.change_since(&file.attributes), None);
            let mut stream = Stream::new(&again, came.len() as u64, &mut sink);
            world.run_each(&mut stream, |_, item| came.extend(item.data())).unwrap();
            assert_same(&came, &contents(0, 2500, 2500), &(sealed, count));
        }
        assert!(ended, "more steps are needed to see it end");
    }
}

#[test]
fn a_client_that_timed_out_is_of_use_again_after_a_restart() {
    let mut memory = Memory::slots(2);
    let mut world = World::connected(&mut memory, peer(false, 9));
    let mut stat = Stat::new("file");
    world.until_it_receives(&mut stat);
    world.client.tell(world.client.deadline().unwrap());
    assert_eq!(world.run(&mut stat), Err(Error::TimedOut));
    reconnect(&mut world, false);
    assert_eq!(world.client.failed(), None);
    world.run(&mut Connect::new()).unwrap();
    assert_eq!(world.run(&mut Stat::new("file")).unwrap().len, 2500);
}
