//! The shared rooms under a protocol that has no SMB in it. What they promise must hold for it too.
//!
//! `protocol` is the client's half of the toy and `peer` the server's, with encoders of its own.
//! `world` joins both, and `executor` runs futures. The other modules are tests, by theme.

mod toy {
    #[cfg(feature = "asynch")]
    mod executor;
    mod peer;
    mod protocol;
    mod world;

    #[cfg(feature = "asynch")]
    mod asynch;
    mod counting;
    mod driver;
    mod dropping;
    mod fetching;
    mod holes;
    mod lies;
    mod listing;
    mod misuse;
    mod pauses;
    mod reading;
    mod restarting;
    mod sealing;
    mod seeds;
    mod streaming;
    mod timing;
}
