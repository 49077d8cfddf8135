//! A connection that ends in the middle of a reply.

use pagewire::operation::Operation;
use pagewire::smb::{Config, Entropy, Identity, Policy, Smb};
use pagewire::{Client, Error, Open, Pages, Read, Step, StorageArray};
use pagewire_model::{Config as ModelConfig, Model, Tree};
use pagewire_smoltcp::advance;
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::Instant;

/// Goes on with an operation until so many bytes have come for it. What it came to, if it ended before.
fn run<'s, O: Operation<Smb<'s>>>(
    client: &mut Client<'s, Smb<'s>>,
    model: &mut Model,
    op: &mut O,
    mut bytes: usize,
) -> Option<Result<O::Output, Error>> {
    loop {
        match client.step(op) {
            Step::Transmit(request) => {
                let len = request.len();
                model.input(request);
                client.transmitted(len);
            }
            Step::Receive(_) if bytes == 0 => return None,
            Step::Receive(window) => {
                let reply = model.output_up_to(window.len().min(bytes));
                window[..reply.len()].copy_from_slice(&reply);
                bytes -= reply.len();
                client.received(op, reply.len());
            }
            Step::Done(result) => return Some(result),
            _ => panic!("there is nothing to lend and nothing to wait for"),
        }
    }
}

#[test]
fn what_was_not_verified_when_the_connection_closes_is_left_in_no_page() {
    let mut model =
        Model::new(ModelConfig { tree: Tree::new().pattern("f", 2000), ..ModelConfig::default() });
    let me = Identity::Named { domain: "", user: "lab", password: "lab-password" };
    let entropy = Entropy::from_bytes([7; Entropy::LEN]);
    let smb = Smb::new(Config { seal: Policy::Always, ..Config::new("model", "data", me, entropy) });
    let mut storage = StorageArray::<1024, 2048, 4>::new();
    let mut client = Client::new(storage.lend(), smb).unwrap();
    let file = run(&mut client, &mut model, &mut Open::new("f"), usize::MAX).unwrap().unwrap();

    let mut memory = [[0; 512]; 4];
    let mut pages = Pages(&mut memory);
    let mut read = Read::new(&file, 0, &mut pages);
    assert!(run(&mut client, &mut model, &mut read, 1000).is_none(), "half of it has come");
    // One that is connected no more.
    let mut socket = Socket::new(SocketBuffer::new(vec![]), SocketBuffer::new(vec![]));
    let outcome = advance(&mut client, &mut socket, Instant::ZERO, &mut read, |()| {});
    assert_eq!(outcome.err(), Some(Error::Closed));
    assert!(memory.as_flattened().iter().all(|byte| *byte == 0));
}
