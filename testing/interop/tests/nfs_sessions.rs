//! NFS 4.1 and 4.2: what a server remembers of a client, and forgets when it says goodbye.

use pagewire::{Disconnect, Stat};
use pagewire_interop::{Lab, with_nfs4};

/// Where the status stands in a reply without a verifier: behind the head of RPC.
const STATUS: std::ops::Range<usize> = 24..28;

#[test]
fn a_client_that_says_goodbye_is_let_go_and_may_come_again() {
    let Some(lab) = Lab::find() else { return };
    for (server, address) in [("Ganesha", lab.ganesha), ("nfsd", lab.nfsd)] {
        let Some(address) = address else {
            println!("skipped: {server} was not started; testing/servers/run --nfs --kernel does");
            continue;
        };
        for minor in 1..=2 {
            let goodbye = with_nfs4(&address, Some(minor), |session| {
                let size = session.run(&mut Stat::new("/export/size-65537")).unwrap().len;
                let before = session.client.counters().requests;
                session.run(&mut Disconnect::new()).unwrap();
                assert_eq!(session.client.counters().requests, before + 2, "{server} 4.{minor}");
                let status = session.client.frame()[STATUS].to_vec();
                assert_eq!(
                    status, [0; 4],
                    "{server} 4.{minor}: DESTROY_CLIENTID, which a session would hinder"
                );
                assert_eq!(session.run(&mut Stat::new("/export/size-65537")).unwrap().len, size);
            });
            goodbye.unwrap_or_else(|error| panic!("{server} 4.{minor}: {error}"));
        }
    }
}
