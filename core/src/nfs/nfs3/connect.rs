//! From the first message to a usable export: ports from the port mapper if they are not known, MOUNT of as much of the
//! path as the server lets be mounted, FSINFO for the limits.

use super::calls::{Phase, Stage};
use super::{Message, Nfs3, kind};
use crate::error::{Error, Reason};
use crate::nfs::v3::{self, Procedure, fsinfo};
use crate::nfs::{mount, portmap};
use crate::outgoing::Outbox;
use crate::protocol::Progress;

impl Nfs3<'_> {
    pub(super) fn connect(&mut self, stage: &mut Stage, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        if out.in_flight() > 0 && !matches!(stage.phase, Phase::Start | Phase::NfsPort) {
            return Ok(Progress::Wait);
        }
        match stage.phase {
            // Elsewhere after `Exports`, or after a Connect that failed.
            Phase::Start if self.port != Nfs3::first_port(&self.config) => {
                Ok(self.go_to(Nfs3::first_port(&self.config), out))
            }
            Phase::Start if self.config.mount_port.is_none() => {
                let progress = self.send_getport(mount::PROGRAM, mount::VERSION, kind::GETPORT_MOUNT, out)?;
                if progress == Progress::Sent {
                    stage.phase = if self.config.nfs_port.is_none() { Phase::NfsPort } else { Phase::Ports };
                }
                Ok(progress)
            }
            // At once with the other, if both fit.
            Phase::NfsPort => {
                let progress = self.send_getport(v3::PROGRAM, v3::VERSION, kind::GETPORT_NFS, out)?;
                if progress == Progress::Sent {
                    stage.phase = Phase::Ports;
                }
                Ok(progress)
            }
            Phase::Start | Phase::Ports if self.port != self.mount_port => {
                Ok(self.go_to(self.mount_port, out))
            }
            Phase::Start | Phase::Ports => {
                (stage.phase, stage.at) = (Phase::Mounting, self.config.path.len());
                self.send_mnt(stage.at, out)
            }
            Phase::Mounting if self.root.is_none() => self.send_mnt(stage.at, out),
            Phase::Mounting if self.port != self.nfs_port => Ok(self.go_to(self.nfs_port, out)),
            Phase::Mounting => {
                let progress = self.send_fsinfo(out)?;
                if progress == Progress::Sent {
                    stage.phase = Phase::Asked;
                }
                Ok(progress)
            }
            _ => Ok(Progress::Complete),
        }
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
        self.call(out, Message::getport(kind), &|w| {
            portmap::Request { program, version }.encode(w);
            Ok(())
        })
    }

    /// Asks for the first `len` bytes of the path.
    fn send_mnt(&mut self, len: usize, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let path = self.config.path.get(..len).filter(|path| !path.is_empty()).unwrap_or("/");
        let message = Message::mount(mount::Procedure::MNT, kind::MNT, mount::REPLY_HEAD_MAX);
        self.call(out, message, &|w| mount::PathRequest { path: path.as_bytes() }.encode(w))
    }

    fn send_fsinfo(&mut self, out: &mut Outbox<'_, '_>) -> Result<Progress, Error> {
        let (fsroot, _) = self.root.ok_or(Error::Invalid("nothing is mounted"))?;
        self.call(out, Message::nfs(Procedure::FSINFO, fsinfo::REPLY_HEAD_MAX), &|w| {
            fsinfo::Request { fsroot }.encode(w);
            Ok(())
        })
    }

    /// A reply of the port mapper or of MOUNT.
    pub(super) fn connect_goes_on(&mut self, kind: u16, body: &[u8], stage: &mut Stage) -> Result<(), Error> {
        match kind {
            kind::GETPORT_MOUNT => self.mount_port = port(body)?,
            kind::GETPORT_NFS => self.nfs_port = port(body)?,
            _ => self.mounted_or_not(body, stage)?,
        }
        Ok(())
    }

    /// What is no export, and no file that the server lets be mounted, may lie below one. Servers say so in
    /// several ways: Linux says NOENT or NOTDIR, NFS-Ganesha ACCES.
    fn mounted_or_not(&mut self, body: &[u8], stage: &mut Stage) -> Result<(), Error> {
        match mount::Response::decode(body) {
            Ok(response) => {
                self.root = Some((response.handle, stage.at));
                Ok(())
            }
            Err(Error::Refused(refusal)) => {
                let path = self.config.path.get(..stage.at).unwrap_or("");
                let may_lie_below = matches!(
                    refusal.reason,
                    Reason::NotFound | Reason::Denied | Reason::NotDirectory | Reason::Other
                );
                match path.trim_end_matches('/').bytes().rposition(|byte| byte == b'/') {
                    // The path gets shorter by a component each time.
                    Some(parent) if may_lie_below && parent < stage.at => {
                        stage.refusal.get_or_insert(refusal);
                        stage.at = parent;
                        Ok(())
                    }
                    _ => {
                        stage.end();
                        // What the server said about the whole path is what the user asked for.
                        Err(Error::Refused(stage.refusal.unwrap_or(refusal)))
                    }
                }
            }
            Err(error) => Err(error),
        }
    }
}

fn port(body: &[u8]) -> Result<u16, Error> {
    let port = portmap::Response::decode(body)?.port;
    port.ok_or(Error::Incompatible("the server's port mapper knows no MOUNT or NFS of version 3 over TCP"))
}
