//! CREATE (MS-SMB2 2.2.13, 2.2.14, 3.3.5.9) and handles.

use crate::connection::{Answer, Chain, Connection, Handled, error_body};
use crate::header::{self, Request};
use crate::lease;
use crate::query_directory::Listing;
use crate::tree::Node;
use crate::tree_connect::READ_ACCESS;
use crate::wire::{Put, Reader, from_utf16, pad8, utf16};
use crate::{Dialect, Kind, Lie, Status};

const DIRECTORY_FILE: u32 = 0x1;
const NON_DIRECTORY_FILE: u32 = 0x40;
const DELETE_ON_CLOSE: u32 = 0x1000;
const OPEN_REPARSE_POINT: u32 = 0x20_0000;

const DISPOSITION_OPEN: u32 = 1;
const DISPOSITION_CREATE: u32 = 2;
const DISPOSITION_OPEN_IF: u32 = 3;
const DISPOSITION_MAX: u32 = 5;

/// WRITE_DATA, APPEND_DATA, WRITE_EA, DELETE_CHILD, WRITE_ATTRIBUTES, DELETE, WRITE_DAC, WRITE_OWNER, GENERIC_WRITE.
const WRITE_ACCESS: u32 = 0x400D_0156;
/// MAXIMUM_ALLOWED, GENERIC_ALL, GENERIC_READ, GENERIC_EXECUTE.
const BROAD_ACCESS: u32 = 0xB200_0000;
const GENERIC_ALL: u32 = 0x1000_0000;

const FILE_OPENED: u32 = 1;
/// A FileId is this beside the number of the handle, so that halves cannot be mixed up.
const PERSISTENT: u64 = 0x5045_5253_0000_0000;

/// A handle.
pub(crate) struct Open {
    pub(crate) session_id: u64,
    pub(crate) tree_id: u32,
    pub(crate) path: String,
    pub(crate) access: u32,
    pub(crate) listing: Option<Listing>,
    /// The key of its lease.
    pub(crate) lease: Option<[u8; 16]>,
}

/// What CREATE asks for.
struct Wish<'a> {
    access: u32,
    disposition: u32,
    options: u32,
    path: String,
    /// Names of the create contexts.
    contexts: Vec<&'a [u8]>,
    lease: Option<lease::Asked>,
}

impl Connection {
    pub(crate) fn create(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        chain.file = None;
        let handled = self.open(chain, request);
        chain.failed = match &handled {
            Ok(answer) if answer.status == Status::SUCCESS => None,
            Ok(answer) => Some(answer.status),
            Err(status) => Some(*status),
        };
        handled
    }

    fn open(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        let wish = Wish::decode(request)?;
        if let Some(link) = self.link_on_the_way(&wish) {
            let body = symlink_body(&link, &wish.path, self.negotiated.as_ref().map(|n| n.dialect));
            return Ok(Answer { status: Status::STOPPED_ON_SYMLINK, body });
        }
        let node = self.find(&wish.path, wish.disposition)?;
        permit(node, &wish)?;
        let access = if wish.access & BROAD_ACCESS != 0 { READ_ACCESS } else { wish.access };
        let lease = self.lease(wish.lease);
        let lease_data = lease.as_ref().map(|lease| self.lease_data(lease));
        let contexts = reply_contexts(node, &wish.contexts, lease_data);
        let mut body = Vec::new();
        body.u16(89);
        body.u16(if lease.is_some() { 0xFF } else { 0 });
        body.u32(FILE_OPENED);
        put_attributes(&mut body, node);
        body.u32(0);
        let id = self.next_id();
        put_file_id(&mut body, id);
        body.u32(if contexts.is_empty() { 0 } else { header::LEN as u32 + 88 });
        body.u32(contexts.len() as u32);
        body.put(&contexts);
        let (session_id, tree_id) = (chain.session_id, chain.tree_id);
        self.opens.insert(
            id,
            Open {
                session_id,
                tree_id,
                path: wish.path,
                access,
                listing: None,
                lease: lease.map(|lease| lease.key),
            },
        );
        chain.file = Some(id);
        Ok(body.into())
    }

    /// The first link among the path's parts; the last part does not count if the link itself is wanted.
    fn link_on_the_way(&self, wish: &Wish) -> Option<Link> {
        let ends = wish.path.match_indices('\\').map(|(at, _)| at).chain([wish.path.len()]);
        ends.filter(|&end| end < wish.path.len() || wish.options & OPEN_REPARSE_POINT == 0).find_map(|end| {
            let node = self.config.tree.get(&wish.path[..end])?;
            let Kind::Symlink(target) = &node.kind else { return None };
            Some(Link { target: target.clone(), end })
        })
    }

    fn find(&self, path: &str, disposition: u32) -> Result<&Node, Status> {
        let tree = &self.config.tree;
        let parent = path.rsplit_once('\\').map_or("", |(parent, _)| parent);
        match tree.get(path) {
            Some(_) if disposition == DISPOSITION_CREATE => Err(Status::OBJECT_NAME_COLLISION),
            Some(node) => Ok(node),
            None if !tree.get(parent).is_some_and(Node::is_directory) => Err(Status::OBJECT_PATH_NOT_FOUND),
            None if disposition == DISPOSITION_OPEN => Err(Status::OBJECT_NAME_NOT_FOUND),
            None => Err(Status::ACCESS_DENIED),
        }
    }

    /// The handle of a FileId; all ones stand for that of the request before.
    pub(crate) fn handle(&self, chain: &mut Chain, body: &mut Reader) -> Result<u64, Status> {
        let (persistent, id) = (body.u64()?, body.u64()?);
        if let Some(failed) = chain.failed {
            return Err(failed);
        }
        let id = match (persistent, id) {
            (u64::MAX, u64::MAX) if self.lies(Lie::RefuseRelatedHandle) => {
                return Err(Status::INVALID_PARAMETER);
            }
            (u64::MAX, u64::MAX) => chain.file.ok_or(Status::FILE_CLOSED)?,
            _ if persistent == id ^ PERSISTENT => id,
            _ => return Err(Status::FILE_CLOSED),
        };
        let open = self.opens.get(&id).ok_or(Status::FILE_CLOSED)?;
        if (open.session_id, open.tree_id) != (chain.session_id, chain.tree_id) {
            return Err(Status::FILE_CLOSED);
        }
        chain.file = Some(id);
        Ok(id)
    }

    /// What a handle leads to.
    pub(crate) fn node(&self, id: u64) -> Result<&Node, Status> {
        let open = self.opens.get(&id).ok_or(Status::FILE_CLOSED)?;
        self.config.tree.get(&open.path).ok_or(Status::FILE_CLOSED)
    }
}

fn permit(node: &Node, wish: &Wish) -> Result<(), Status> {
    let unfit = wish.access == 0 || wish.access & (WRITE_ACCESS | GENERIC_ALL) != 0;
    let opens = matches!(wish.disposition, DISPOSITION_OPEN | DISPOSITION_OPEN_IF);
    match () {
        () if node.is_directory() && wish.options & NON_DIRECTORY_FILE != 0 => {
            Err(Status::FILE_IS_A_DIRECTORY)
        }
        () if !node.is_directory() && wish.options & DIRECTORY_FILE != 0 => Err(Status::NOT_A_DIRECTORY),
        () if node.denied || unfit || !opens || wish.options & DELETE_ON_CLOSE != 0 => {
            Err(Status::ACCESS_DENIED)
        }
        () => Ok(()),
    }
}

impl<'a> Wish<'a> {
    fn decode(request: &Request<'a>) -> Result<Self, Status> {
        let mut body = request.body();
        body.structure_size(57)?;
        body.skip(1)?;
        let oplock_level = body.u8()?;
        body.skip(20)?;
        let access = body.u32()?;
        body.skip(8)?;
        let (disposition, options) = (body.u32()?, body.u32()?);
        let (name_offset, name_len) = (body.u16()?, body.u16()?);
        let (contexts_offset, contexts_len) = (body.u32()?, body.u32()?);
        let name = match name_len {
            0 => &[],
            len => body.slice(name_offset.into(), len.into())?,
        };
        let path = from_utf16(name)?;
        if path.starts_with('\\') || disposition > DISPOSITION_MAX {
            return Err(Status::INVALID_PARAMETER);
        }
        if path.contains(['/', '\0', '*', '?', '"', '<', '>', '|'])
            || path.split('\\').any(|part| part == "..")
        {
            return Err(Status::OBJECT_NAME_INVALID);
        }
        let list = body.slice(contexts_offset as usize, contexts_len as usize)?;
        let contexts = contexts(list)?;
        let lease = contexts.iter().find(|(name, _)| *name == lease::NAME);
        let lease = lease.map(|(_, data)| lease::Asked::decode(data)).transpose()?;
        // The oplock level says whether there is one.
        if lease.is_some() != (oplock_level == 0xFF) {
            return Err(Status::INVALID_PARAMETER);
        }
        let contexts = contexts.into_iter().map(|(name, _)| name).collect();
        Ok(Wish { access, disposition, options, path, contexts, lease })
    }
}

/// Its name and its data.
type Context<'a> = (&'a [u8], &'a [u8]);

/// A chain of create contexts (MS-SMB2 2.2.13.2).
fn contexts(mut list: &[u8]) -> Result<Vec<Context<'_>>, Status> {
    let mut contexts = Vec::new();
    if list.is_empty() {
        return Ok(contexts);
    }
    loop {
        let mut reader = Reader::new(list);
        let next = reader.u32()? as usize;
        let (offset, len) = (reader.u16()?, reader.u16()?);
        reader.skip(2)?;
        let (data_offset, data_len) = (reader.u16()?, reader.u32()?);
        let name = reader.slice(offset.into(), len.into())?;
        contexts.push((name, reader.slice(data_offset.into(), data_len as usize)?));
        if next == 0 {
            return Ok(contexts);
        }
        if next < 16 {
            return Err(Status::INVALID_PARAMETER);
        }
        list = list.get(next..).ok_or(Status::INVALID_PARAMETER)?;
    }
}

/// Answers MxAc (what is allowed) and QFid (which file on which volume), and says what lease is granted.
fn reply_contexts(node: &Node, asked: &[&[u8]], lease: Option<Vec<u8>>) -> Vec<u8> {
    let mut answers = Vec::new();
    for &name in asked {
        let mut data = Vec::new();
        match name {
            b"MxAc" => {
                data.u32(0);
                data.u32(READ_ACCESS);
            }
            b"QFid" => {
                data.u64(node.id);
                data.u64(u64::from(VOLUME));
                data.zeros(16);
            }
            _ => continue,
        }
        answers.push((name, data));
    }
    answers.extend(lease.map(|data| (lease::NAME, data)));
    let mut out = Vec::new();
    for (i, (name, data)) in answers.iter().enumerate() {
        let len = 24 + data.len().next_multiple_of(8);
        out.u32(if i + 1 == answers.len() { 0 } else { len as u32 });
        out.u16(16);
        out.u16(name.len() as u16);
        out.u16(0);
        out.u16(24);
        out.u32(data.len() as u32);
        out.put(name);
        out.zeros(4);
        out.put(data);
        pad8(&mut out);
    }
    out
}

/// Serial number of the volume.
pub(crate) const VOLUME: u32 = 0x5157_4D31;

/// Four times, AllocationSize, EndOfFile, FileAttributes: the same in CREATE, CLOSE and NetworkOpen.
pub(crate) fn put_attributes(out: &mut Vec<u8>, node: &Node) {
    put_times(out, node);
    out.u64(allocation(node));
    out.u64(node.len());
    out.u32(node.file_attributes());
}

pub(crate) fn put_times(out: &mut Vec<u8>, node: &Node) {
    let times = [node.created, node.accessed, node.written, node.changed];
    times.into_iter().for_each(|time| out.u64(time));
}

pub(crate) fn allocation(node: &Node) -> u64 {
    node.stored().checked_next_multiple_of(4096).unwrap_or(u64::MAX)
}

pub(crate) fn put_file_id(out: &mut Vec<u8>, id: u64) {
    out.u64(id ^ PERSISTENT);
    out.u64(id);
}

struct Link {
    target: String,
    /// Where the link's own name ends in the path.
    end: usize,
}

/// Symbolic Link Error Response (MS-SMB2 2.2.2.2.1), in an error context at 3.1.1.
fn symlink_body(link: &Link, path: &str, dialect: Option<Dialect>) -> Vec<u8> {
    let target = utf16(&link.target);
    let unparsed = utf16(&path[link.end..]).len();
    let mut link = Vec::new();
    link.put(b"SYML");
    link.u32(0xA000_000C);
    link.u16(12 + 2 * target.len() as u16);
    link.u16(unparsed as u16);
    link.u16(target.len() as u16);
    link.u16(target.len() as u16);
    link.u16(0);
    link.u16(target.len() as u16);
    link.u32(1);
    link.put(&target);
    link.put(&target);
    let mut data = Vec::new();
    data.u32(link.len() as u32);
    data.put(&link);
    if dialect != Some(Dialect::V311) {
        return error_body(&data);
    }
    let mut context = Vec::new();
    context.u32(data.len() as u32);
    context.u32(0);
    context.put(&data);
    let mut body = error_body(&context);
    body[2] = 1;
    body
}
