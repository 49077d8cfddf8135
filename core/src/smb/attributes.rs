//! What the server says of a file or a file system, in the engine's words.

use super::create::{self, FileId};
use super::filetime::FileTime;
use super::query_directory::Entry;
use super::query_info::{self, AllInformation, FsFullSizeInformation};
use super::symlink;
use crate::attributes::{Attributes, Kind, Space, Time};
use crate::error::Error;
use crate::protocol::Answer;

pub(super) fn query_answer(body: &[u8]) -> Result<Answer<FileId>, Error> {
    let output = query_info::Response::decode(body)?.output_buffer;
    // The two that we ask for differ in length: no other information that we want is this short.
    if output.len() == FsFullSizeInformation::LEN as usize {
        let size = FsFullSizeInformation::decode(output)?;
        return Ok(Answer::Space(Space {
            total: size.total_bytes(),
            free: size.actual_available_bytes(),
            available: size.caller_available_bytes(),
            unit: size.unit_bytes(),
        }));
    }
    Ok(Answer::Attributes(all_attributes(&AllInformation::decode(output)?)))
}

fn time(time: FileTime) -> Option<Time> {
    time.to_unix().map(|(seconds, nanoseconds)| Time { seconds, nanoseconds })
}

/// What the attribute bits say; a reparse point of a kind that is not known is followed by the server.
fn bits(file_attributes: u32, reparse_tag: Option<u32>) -> Attributes {
    let has = |bit| file_attributes & bit != 0;
    let kind = match reparse_tag {
        Some(symlink::IO_REPARSE_TAG_SYMLINK) => Kind::Symlink,
        Some(tag) if tag != 0 => Kind::Other,
        _ if has(create::ATTRIBUTE_DIRECTORY) => Kind::Directory,
        _ => Kind::File,
    };
    Attributes {
        kind,
        hidden: has(create::ATTRIBUTE_HIDDEN),
        read_only: has(create::ATTRIBUTE_READONLY),
        sparse: has(create::ATTRIBUTE_SPARSE_FILE),
        ..Attributes::default()
    }
}

/// There is no `change`: Samba tells the times that an open file had when it was opened, whatever happens to it.
pub(super) fn create_attributes(response: &create::Response) -> Attributes {
    Attributes {
        len: response.end_of_file,
        allocated: Some(response.allocation_size),
        modified: time(response.last_write_time),
        accessed: time(response.last_access_time),
        changed: time(response.change_time),
        created: time(response.creation_time),
        ..bits(response.file_attributes, None)
    }
}

pub(super) fn all_attributes(all: &AllInformation) -> Attributes {
    Attributes {
        len: all.end_of_file,
        allocated: Some(all.allocation_size),
        modified: time(all.last_write_time),
        accessed: time(all.last_access_time),
        changed: time(all.change_time),
        created: time(all.creation_time),
        id: Some(all.index_number),
        links: Some(all.number_of_links),
        ..bits(all.file_attributes, None)
    }
}

pub(super) fn entry_attributes(entry: &Entry<'_>) -> Attributes {
    Attributes {
        len: entry.end_of_file,
        allocated: Some(entry.allocation_size),
        modified: time(entry.last_write_time),
        accessed: time(entry.last_access_time),
        changed: time(entry.change_time),
        created: time(entry.creation_time),
        // MS-FSCC 2.1.9: 0 and all ones where the file system has none.
        id: Some(entry.file_id).filter(|id| ![0, u64::MAX].contains(id)),
        ..bits(entry.file_attributes, entry.reparse_tag())
    }
}
