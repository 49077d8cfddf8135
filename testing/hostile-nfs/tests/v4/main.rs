//! NFSv4.

mod asker;
mod fallback;
mod founding;
mod holes;
mod honest;
mod lies;
mod looks;
mod opens;
mod plus;
mod sessions;
mod sparse;
