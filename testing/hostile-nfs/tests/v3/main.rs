//! NFSv3.

mod budgets;
mod chains;
mod delays;
mod exports;
mod garbled;
mod honest;
mod lies;
mod links;
mod listings;
mod reads;
