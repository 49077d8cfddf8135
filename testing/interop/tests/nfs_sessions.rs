//! NFS 4.1 and 4.2: what a server remembers of a client, and forgets when it says goodbye.

use pagewire::{Disconnect, Stat};
use pagewire_interop::{Lab, with_nfs4};

#[test]
fn a_client_that_says_goodbye_waits_for_nothing_and_may_come_again() {
    let Some(lab) = Lab::find() else { return };
    for (server, address) in [("Ganesha", lab.ganesha), ("nfsd", lab.nfsd)] {
        let Some(address) = address else {
            println!("skipped: {server} was not started; testing/servers/run --nfs --kernel does");
            continue;
        };
        for minor in 1..=2 {
            let goodbye = with_nfs4(&address, Some(minor), |session| {
                let size = session.run(&mut Stat::new("/export/size-65537")).unwrap().len;
                let before = *session.client.counters();
                session.run(&mut Disconnect::new()).unwrap();
                let after = *session.client.counters();
                assert_eq!(after.requests, before.requests + 2, "{server} 4.{minor}");
                // The reply to RECLAIM_COMPLETE may come only now.
                assert_eq!(after.round_trips, before.round_trips, "{server} 4.{minor}");
                assert_eq!(session.run(&mut Stat::new("/export/size-65537")).unwrap().len, size);
                // The goodbye and EXCHANGE_ID, CREATE_SESSION, and what is asked.
                assert!(session.client.counters().round_trips <= after.round_trips + 4, "{server} 4.{minor}");
            });
            goodbye.unwrap_or_else(|error| panic!("{server} 4.{minor}: {error}"));
        }
    }
}
