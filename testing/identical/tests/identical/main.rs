//! One job, every driver, every transport, many cuts.

mod cuts;
mod orders;
mod talks;
