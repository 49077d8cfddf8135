//! NFSv4.

mod asker;
mod budgets;
mod delays;
mod extremes;
mod fallback;
mod founding;
mod holes;
mod honest;
mod keepalive;
mod lies;
mod looks;
mod opens;
mod plus;
mod recovery;
mod sessions;
mod sparse;
