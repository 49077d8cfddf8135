//! Pagewire over std sockets.
