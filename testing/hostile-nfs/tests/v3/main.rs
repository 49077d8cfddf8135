//! NFSv3.

mod budgets;
mod chains;
mod delays;
mod exports;
mod extremes;
mod garbled;
mod honest;
mod keepalive;
mod lies;
mod links;
mod listings;
mod reads;
mod versions;
