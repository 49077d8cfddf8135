#![no_std]
#![forbid(unsafe_code)]
//! Pagewire over a smoltcp TCP socket.
