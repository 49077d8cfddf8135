//! NFSv4.

mod asker;
mod holes;
mod honest;
mod lies;
mod looks;
mod opens;
mod sessions;
