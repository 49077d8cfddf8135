//! A network of one's own, where well-known ports are free and lead to servers elsewhere.

use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::thread;

/// Runs `body` in a network namespace whose loopback leads from each of `ports` to an address of this one. Threads
/// and processes that `body` starts are in it too. It takes root.
pub fn with_ports<R: Send>(ports: &[(u16, String)], body: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let (opened, listeners) = mpsc::channel();
        let inside = scope.spawn(move || {
            enter()?;
            for (port, to) in ports {
                let listener = TcpListener::bind(("127.0.0.1", *port))?;
                opened.send((listener, to.clone())).map_err(io::Error::other)?;
            }
            drop(opened);
            Ok(body())
        });
        // Out here, where what is connected to is.
        for (listener, to) in listeners {
            thread::spawn(move || listener.incoming().try_for_each(|from| relay(from?, &to)));
        }
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Puts this thread into a new namespace with a loopback.
fn enter() -> io::Result<()> {
    // SAFETY: no memory is passed.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: all zeros is a value of this plain C struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the descriptor is open, and the struct is the one that this call takes.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Copies in both directions until each side has ended.
fn relay(mut from: TcpStream, to: &str) -> io::Result<()> {
    let mut to = TcpStream::connect(to)?;
    let (mut back_from, mut back_to) = (to.try_clone()?, from.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut back_from, &mut back_to);
        back_to.shutdown(std::net::Shutdown::Write)
    });
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        to.shutdown(std::net::Shutdown::Write)
    });
    Ok(())
}
