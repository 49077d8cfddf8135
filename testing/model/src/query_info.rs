//! QUERY_INFO (MS-SMB2 2.2.37, 2.2.38; classes of MS-FSCC 2.4 and 2.5).

use crate::connection::{Answer, Chain, Connection, Handled};
use crate::create::{VOLUME, allocation, put_attributes, put_times};
use crate::header::{self, Request};
use crate::tree::Node;
use crate::wire::{Put, utf16};
use crate::{Config, Lie, Status};

const FILE: u8 = 1;
const FILESYSTEM: u8 = 2;

/// A volume of 1 TiB, half of it free, in clusters of 8 sectors.
const UNITS_TOTAL: u64 = 1 << 28;
const UNITS_FREE: u64 = UNITS_TOTAL / 2;
const SECTORS_PER_UNIT: u32 = 8;
const BYTES_PER_SECTOR: u32 = 512;

/// What a class comes to, and how much of it must fit the client's buffer: a name may be cut, nothing else.
struct Information {
    bytes: Vec<u8>,
    fixed_len: usize,
}

impl Connection {
    pub(crate) fn query_info(&mut self, chain: &mut Chain, request: &Request) -> Handled {
        let mut body = request.body();
        body.structure_size(41)?;
        let (kind, class) = (body.u8()?, body.u8()?);
        let output_max = body.u32()?;
        body.skip(16)?;
        let id = self.handle(chain, &mut body)?;
        self.paid(request, output_max)?;
        if output_max > self.config.max_transact_size {
            return Err(Status::INVALID_PARAMETER);
        }
        let open = self.opens.get(&id).ok_or(Status::FILE_CLOSED)?;
        let information = match kind {
            FILE => {
                let links = u32::from(!self.lies(Lie::NoLinks));
                let standing = Standing { links, delete_pending: self.lies(Lie::DeletePending) };
                file(class, self.node(id)?, open.access, &open.path, &standing)?
            }
            FILESYSTEM => filesystem(class, &self.config)?,
            _ => return Err(Status::NOT_SUPPORTED),
        };
        information.answer(output_max as usize)
    }
}

impl Information {
    fn answer(mut self, output_max: usize) -> Handled {
        if output_max < self.fixed_len {
            return Err(Status::INFO_LENGTH_MISMATCH);
        }
        let cut = output_max < self.bytes.len();
        self.bytes.truncate(output_max);
        let mut body = Vec::new();
        body.u16(9);
        body.u16(header::LEN as u16 + 8);
        body.u32(self.bytes.len() as u32);
        body.put(&self.bytes);
        let status = if cut { Status::BUFFER_OVERFLOW } else { Status::SUCCESS };
        Ok(Answer { status, body })
    }
}

/// Whether the file is still there for those who have not opened it.
struct Standing {
    links: u32,
    delete_pending: bool,
}

fn file(class: u8, node: &Node, access: u32, path: &str, standing: &Standing) -> Result<Information, Status> {
    let mut out = Vec::new();
    let mut fixed_len = None;
    match class {
        4 => put_basic(&mut out, node),
        5 => put_standard(&mut out, node, standing),
        6 => out.u64(node.id),
        7 => out.u32(0),
        8 => out.u32(access),
        14 => out.u64(0),
        16 | 17 => out.u32(0),
        18 => {
            put_basic(&mut out, node);
            put_standard(&mut out, node, standing);
            out.u64(node.id);
            out.u32(0);
            out.u32(access);
            out.zeros(16);
            fixed_len = Some(out.len() + 4);
            put_name(&mut out, &format!("\\{path}"));
        }
        21 => put_name(&mut out, &dos_name(&node.name)),
        22 if node.is_directory() => {}
        22 => {
            let name = utf16("::$DATA");
            out.u32(0);
            out.u32(name.len() as u32);
            out.u64(node.len());
            out.u64(allocation(node));
            out.put(&name);
        }
        34 => {
            put_attributes(&mut out, node);
            out.u32(0);
        }
        35 => {
            out.u32(node.file_attributes());
            out.u32(0);
        }
        _ => return Err(Status::INVALID_INFO_CLASS),
    }
    Ok(Information { fixed_len: fixed_len.unwrap_or(out.len()), bytes: out })
}

fn filesystem(class: u8, config: &Config) -> Result<Information, Status> {
    let mut out = Vec::new();
    let mut fixed_len = None;
    match class {
        1 => {
            out.u64(config.now);
            out.u32(VOLUME);
            fixed_len = Some(18);
            let label = utf16(&config.share);
            out.u32(label.len() as u32);
            out.u16(0);
            out.put(&label);
        }
        3 => {
            out.u64(UNITS_TOTAL);
            out.u64(UNITS_FREE);
            out.u32(SECTORS_PER_UNIT);
            out.u32(BYTES_PER_SECTOR);
        }
        4 => {
            out.u32(7);
            out.u32(0);
        }
        5 => {
            out.u32(0x6);
            out.u32(255);
            fixed_len = Some(12);
            put_name(&mut out, "NTFS");
        }
        7 => {
            out.u64(UNITS_TOTAL);
            out.u64(UNITS_FREE);
            out.u64(UNITS_FREE);
            out.u32(SECTORS_PER_UNIT);
            out.u32(BYTES_PER_SECTOR);
        }
        11 => {
            let physical = SECTORS_PER_UNIT * BYTES_PER_SECTOR;
            let sizes = [BYTES_PER_SECTOR, physical, physical, physical];
            sizes.into_iter().for_each(|size| out.u32(size));
            out.zeros(12);
        }
        _ => return Err(Status::INVALID_INFO_CLASS),
    }
    Ok(Information { fixed_len: fixed_len.unwrap_or(out.len()), bytes: out })
}

fn put_basic(out: &mut Vec<u8>, node: &Node) {
    put_times(out, node);
    out.u32(node.file_attributes());
    out.u32(0);
}

fn put_standard(out: &mut Vec<u8>, node: &Node, standing: &Standing) {
    out.u64(allocation(node));
    out.u64(node.len());
    out.u32(standing.links);
    out.u8(standing.delete_pending.into());
    out.u8(node.is_directory().into());
    out.u16(0);
}

/// Eight characters, a dot, three: what a DOS program would see.
fn dos_name(name: &str) -> String {
    let fit =
        |part: &str, len| part.chars().filter(char::is_ascii_alphanumeric).take(len).collect::<String>();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let dot = if extension.is_empty() { "" } else { "." };
    (fit(stem, 8) + dot + &fit(extension, 3)).to_uppercase()
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    let name = utf16(name);
    out.u32(name.len() as u32);
    out.put(&name);
}
