//! From the first message to a usable export: ports from the port mapper if they are not known, MNT of as much of the
//! path as the server lets be mounted, FSINFO for the limits.

use super::calls::{Phase, Stage};
use super::{Message, Nfs3, kind};
use crate::error::Error;
use crate::inflight::Slot;
use crate::nfs::v3::{self, Fh, Procedure, fsinfo};
use crate::nfs::{mount, portmap};
use crate::outgoing::Outbox;
use crate::protocol::{Answer, Progress};
use crate::segment::Extent;

impl Nfs3<'_> {
    /// What every ask does first, and then FSINFO, for whose reply no other ask waits.
    pub(super) fn connect(&mut self, stage: &Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if self.limits_known || stage.phase == Phase::Ended {
            return Ok(Progress::Complete);
        }
        match self.enter(out)? {
            Progress::Complete if out.in_flight() > 0 => Ok(Progress::Wait),
            Progress::Complete => self.send_fsinfo(true, out),
            progress => Ok(progress),
        }
    }

    /// The next message on the way to a mounted export, for whatever operation. `Complete` if there is none.
    pub(super) fn enter(&mut self, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let quiet = out.is_quiet();
        if quiet {
            self.mounts = 0;
        }
        // Many servers mount no files. The server's root, which few export, is asked for alone.
        let beside = self.mounts == 1 && matches!(self.mounting, Some(1..));
        // The longer of two paths counts, whichever is answered first.
        if self.mounts > 0 && !beside {
            return Ok(Progress::Wait);
        }
        // Elsewhere after `Exports`, or after an operation that came to nothing.
        let port = match self.root {
            Some(_) => self.nfs_port,
            None if self.mount_port == 0 || self.nfs_port == 0 => self.config.portmap_port,
            None => self.mount_port,
        };
        if self.port != port {
            return Ok(self.go_to(port, out));
        }
        if self.root.is_some() {
            return Ok(Progress::Complete);
        }
        if !quiet && !beside {
            return Ok(Progress::Wait);
        }
        if self.mount_port != 0 && self.nfs_port != 0 {
            return self.send_mnt(out);
        }
        let (program, version) = (mount::PROGRAM, mount::VERSION);
        let mut progress = Progress::Complete;
        if self.mount_port == 0 {
            progress = self.send_getport(program, version, kind::GETPORT_MOUNT, out)?;
        }
        // At once with the other, if both fit.
        if self.nfs_port == 0 {
            let second = self.send_getport(v3::PROGRAM, v3::VERSION, kind::GETPORT_NFS, out)?;
            progress = if progress == Progress::Complete { second } else { progress };
        }
        Ok(progress)
    }

    /// Once nothing is in flight here, which may be what a dropped operation has asked.
    pub(super) fn go_to(&mut self, port: u16, out: &Outbox<'_, '_>) -> Progress {
        if !out.is_quiet() {
            return Progress::Wait;
        }
        self.port = port;
        Progress::Connect(port)
    }

    pub(super) fn send_getport(
        &mut self,
        program: u32,
        version: u32,
        kind: u16,
        out: &mut Outbox<'_, '_>,
    ) -> Result<Progress, Error> {
        self.call(out, Message::new(kind, portmap::REPLY_HEAD_MAX), &|w| {
            portmap::Request { program, version }.encode(w);
            Ok(())
        })
    }

    fn send_mnt(&mut self, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let len = self.mounting.unwrap_or(self.config.path.len());
        let path = self.config.path.get(..len).unwrap_or("");
        let asked = if path.is_empty() { "/" } else { path };
        let extent = Extent { offset: len as u64, len: 0 };
        let message = Message { extent, ..Message::new(kind::MNT, mount::REPLY_HEAD_MAX) };
        let progress =
            self.call(out, message, &|w| mount::PathRequest { path: asked.as_bytes() }.encode(w))?;
        if progress == Progress::Sent {
            self.mounts = self.mounts.saturating_add(1);
            // Shorter each time.
            self.mounting = path.trim_end_matches('/').bytes().rposition(|byte| byte == b'/');
        }
        Ok(progress)
    }

    pub(super) fn send_fsinfo(&mut self, awaited: bool, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let (fsroot, _) = self.root.ok_or(Error::Invalid("nothing is mounted"))?;
        let message = Message { awaited, ..Message::nfs(Procedure::FSINFO, fsinfo::REPLY_HEAD_MAX) };
        let progress = self.call_on(&fsroot, message, out)?;
        self.limits_asked |= progress == Progress::Sent;
        Ok(progress)
    }

    /// A reply of the port mapper or of MOUNT.
    pub(super) fn connect_goes_on(
        &mut self,
        slot: &Slot,
        body: &[u8],
        out: &Outbox<'_, '_>,
    ) -> Result<Answer<Fh>, Error> {
        match slot.kind {
            kind::GETPORT_MOUNT => self.mount_port = port(body)?,
            kind::GETPORT_NFS => self.nfs_port = port(body)?,
            // The numbers of bytes that `send_mnt` gave.
            _ => self.mounted_or_not(slot.extent.offset as usize, body, out.is_quiet())?,
        }
        Ok(Answer::Nothing)
    }

    /// The answer to MNT of the first `len` bytes of the path; the `last` one, if two were asked for. What is no export, and
    /// no file that the server lets be mounted, may lie below one. Servers say so in several ways: Linux says NOENT or NOTDIR,
    /// NFS-Ganesha ACCES.
    fn mounted_or_not(&mut self, len: usize, body: &[u8], last: bool) -> Result<(), Error> {
        let refusal = match mount::Response::decode(body) {
            Ok(mount::Response { handle, .. }) => {
                if self.root.is_none_or(|(_, shorter)| shorter < len) {
                    self.root = Some((handle, len));
                }
                return Ok(());
            }
            Err(Error::Refused(refusal)) => refusal,
            Err(error) => return Err(error),
        };
        // What the server says about the whole path is what the user asked for.
        if len == self.config.path.len() {
            self.unmounted = mount::Status(refusal.code);
        }
        if !last || self.root.is_some() || self.mounting.is_some() {
            return Ok(());
        }
        Err(Error::Refused(self.unmounted.refusal(mount::Procedure::MNT)))
    }
}

fn port(body: &[u8]) -> Result<u16, Error> {
    let port = portmap::Response::decode(body)?.port;
    port.ok_or(Error::Incompatible("the server's port mapper knows no MOUNT or NFS of version 3 over TCP"))
}
