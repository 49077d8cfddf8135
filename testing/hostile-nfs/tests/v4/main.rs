//! NFSv4.

mod asker;
mod budgets;
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
