//! How often a connection that is lost is made anew.

use super::failure::Failure;
use super::session::Session;
use std::time::Duration;

/// The first pause before a lost connection is made anew. Each is twice as long as the one before: six of them give a
/// server 16 s to come back.
const PAUSE: Duration = Duration::from_millis(250);

/// Attempts in a row that brought nothing.
pub struct Retries {
    max: u32,
    tried: u32,
}

impl Retries {
    pub fn new(max: u32) -> Retries {
        Retries { max, tried: 0 }
    }

    /// Something came: what failed before does not count any more.
    pub fn renew(&mut self) {
        self.tried = 0;
    }

    /// Waits until it is time for the next attempt after a `failure`, if there is to be one.
    pub fn wait(&mut self, failure: &Failure) -> bool {
        // What another connection did not bring back is gone.
        let max = if failure.is_expired() { self.max.min(1) } else { self.max };
        if self.tried >= max || !failure.is_cured_by_connecting() {
            return false;
        }
        std::thread::sleep(PAUSE.saturating_mul(1 << self.tried));
        self.tried += 1;
        true
    }
}

/// Connects anew if the connection was lost. Who is not let in any more is told so again.
pub fn stay_connected(session: &mut dyn Session, retries: u32) -> Result<(), Failure> {
    if session.was_let_in() && (session.is_lost() || session.is_shut_out()) {
        return persist(session, retries, |session| session.log_in());
    }
    Ok(())
}

/// Makes an attempt over this connection, and at most `retries` more, each over another one, while that may help.
pub fn persist<T>(
    session: &mut dyn Session,
    retries: u32,
    mut attempt: impl FnMut(&mut dyn Session) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut anew = |session: &mut dyn Session, anew| {
        if anew {
            session.reconnect()?;
        }
        attempt(session)
    };
    let lost = session.is_lost() && session.was_let_in();
    let mut outcome = anew(session, lost);
    let mut retries = Retries::new(retries);
    while let Err(failure) = &outcome
        && session.was_let_in()
        && retries.wait(failure)
    {
        outcome = anew(session, true);
    }
    outcome
}
