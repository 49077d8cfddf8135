//! NFSv3.

mod budgets;
mod exports;
mod garbled;
mod honest;
mod lies;
mod links;
mod listings;
mod reads;
