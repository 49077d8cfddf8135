//! NFSv4.

mod asker;
mod delays;
mod fallback;
mod founding;
mod holes;
mod honest;
mod lies;
mod looks;
mod opens;
mod plus;
mod recovery;
mod sessions;
mod sparse;
