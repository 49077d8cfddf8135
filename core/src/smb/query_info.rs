//! MS-SMB2 2.2.37, 2.2.38: QUERY_INFO, and what it returns of MS-FSCC 2.4 and 2.5.

use super::create::{ATTRIBUTE_DIRECTORY, FileId};
use super::filetime::FileTime;
use super::header::{buffer, structure_size};
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// `InfoType`: `SMB2_0_INFO_FILE`.
pub const INFO_FILE: u8 = 0x01;
/// `InfoType`: `SMB2_0_INFO_FILESYSTEM`.
pub const INFO_FILESYSTEM: u8 = 0x02;

/// Asks for metadata of a file or of the file system that it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The file.
    pub file_id: FileId,
    /// [`INFO_FILE`] or [`INFO_FILESYSTEM`].
    pub info_type: u8,
    /// The `CLASS` of what is asked for.
    pub file_info_class: u8,
    /// The most bytes of a reply besides its head.
    pub output_buffer_length: u32,
}

impl Request {
    /// For [`AllInformation`]. Its name is always cut off: the status is STATUS_BUFFER_OVERFLOW.
    pub const fn all_information(file_id: FileId) -> Request {
        Request {
            file_id,
            info_type: INFO_FILE,
            file_info_class: AllInformation::CLASS,
            output_buffer_length: AllInformation::OUTPUT_MIN,
        }
    }

    /// For [`AllInformation`] with its name, as long as this one in the root of the share would make it.
    pub fn all_information_of(file_id: FileId, name: &str) -> Request {
        let len = name.encode_utf16().count().saturating_add(1).saturating_mul(2);
        let output_buffer_length = (AllInformation::NAME_AT as u32).saturating_add(len as u32);
        Request { output_buffer_length, ..Request::all_information(file_id) }
    }

    /// For [`NetworkOpenInformation`].
    pub const fn network_open_information(file_id: FileId) -> Request {
        Request {
            file_id,
            info_type: INFO_FILE,
            file_info_class: NetworkOpenInformation::CLASS,
            output_buffer_length: NetworkOpenInformation::LEN,
        }
    }

    /// For [`FsFullSizeInformation`].
    pub const fn fs_full_size_information(file_id: FileId) -> Request {
        Request {
            file_id,
            info_type: INFO_FILESYSTEM,
            file_info_class: FsFullSizeInformation::CLASS,
            output_buffer_length: FsFullSizeInformation::LEN,
        }
    }

    /// Appends the message.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.le16(41); // StructureSize
        w.u8(self.info_type);
        w.u8(self.file_info_class);
        w.le32(self.output_buffer_length);
        w.zeros(16); // InputBufferOffset, Reserved, InputBufferLength, AdditionalInformation, Flags
        w.put(&self.file_id.0);
        w.u8(0); // Buffer: never less than a byte
    }
}

/// The most bytes of a reply behind the header, besides the output buffer.
pub const REPLY_HEAD_MAX: usize = 8;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// As long as was asked at most; that is for the caller to check.
    pub output_buffer: &'a [u8],
}

impl<'a> Response<'a> {
    /// Decodes what follows the header.
    pub fn decode(body: &'a [u8]) -> Result<Response<'a>, Error> {
        let mut r = Reader::new(body);
        structure_size(&mut r, 9, "QUERY_INFO.StructureSize")?;
        let offset = r.le16("QUERY_INFO.OutputBufferOffset")?.into();
        let len = r.le32("QUERY_INFO.OutputBufferLength")? as usize;
        let output_buffer = buffer(body, REPLY_HEAD_MAX, offset, len, "QUERY_INFO.OutputBufferOffset")?;
        Ok(Response { output_buffer })
    }
}

/// MS-FSCC 2.4.2: `FileAllInformation`, as far as a reader cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllInformation {
    /// Made.
    pub creation_time: FileTime,
    /// Last read.
    pub last_access_time: FileTime,
    /// Data last changed.
    pub last_write_time: FileTime,
    /// Data or metadata last changed.
    pub change_time: FileTime,
    /// `FILE_ATTRIBUTE_*`.
    pub file_attributes: u32,
    /// Bytes that it takes on the disk.
    pub allocation_size: u64,
    /// Its length in bytes.
    pub end_of_file: u64,
    /// Hard links.
    pub number_of_links: u32,
    /// It is deleted, and still there for those who have it open.
    pub delete_pending: bool,
    /// Whether it is a directory.
    pub directory: bool,
    /// Its number on the file system, or zero where that has none.
    pub index_number: u64,
}

impl AllInformation {
    /// `FileAllInformation`.
    pub const CLASS: u8 = 18;
    /// The least that servers accept as output buffer: all but the name, which ends it and has no bound.
    pub const OUTPUT_MIN: u32 = 104;

    /// Where `FileName` stands, behind its length.
    pub const NAME_AT: usize = 100;

    /// The name in an output buffer: UTF-16, from the root of the share, with `\` before it. `None` if it is cut off.
    pub fn name(output: &[u8]) -> Option<&[u8]> {
        let len = output.get(..Self::NAME_AT)?.last_chunk().map(|len| u32::from_le_bytes(*len))?;
        output.get(Self::NAME_AT..)?.get(..len as usize)
    }

    /// Decodes an output buffer. The name that follows `AlignmentInformation` may be cut off anywhere, its length too.
    pub fn decode(output: &[u8]) -> Result<AllInformation, Error> {
        let mut r = Reader::new(output);
        let creation_time = FileTime(r.le64("FileBasicInformation.CreationTime")?);
        let last_access_time = FileTime(r.le64("FileBasicInformation.LastAccessTime")?);
        let last_write_time = FileTime(r.le64("FileBasicInformation.LastWriteTime")?);
        let change_time = FileTime(r.le64("FileBasicInformation.ChangeTime")?);
        let file_attributes = r.le32("FileBasicInformation.FileAttributes")?;
        r.skip(4, "FileBasicInformation.Reserved")?;
        let allocation_size = r.le64("FileStandardInformation.AllocationSize")?;
        let end_of_file = r.le64("FileStandardInformation.EndOfFile")?;
        let number_of_links = r.le32("FileStandardInformation.NumberOfLinks")?;
        let delete_pending = r.u8("FileStandardInformation.DeletePending")? != 0;
        let directory = r.u8("FileStandardInformation.Directory")? != 0;
        r.skip(2, "FileStandardInformation.Reserved")?;
        let index_number = r.le64("FileInternalInformation.IndexNumber")?;
        r.skip(4 + 4 + 8 + 4 + 4, "FileAlignmentInformation")?; // Ea, Access, Position, Mode, Alignment
        Ok(AllInformation {
            creation_time,
            last_access_time,
            last_write_time,
            change_time,
            file_attributes,
            allocation_size,
            end_of_file,
            number_of_links,
            delete_pending,
            directory,
            index_number,
        })
    }
}

/// MS-FSCC 2.4.29: `FileNetworkOpenInformation`, of one length and what CREATE's response has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkOpenInformation {
    /// Made.
    pub creation_time: FileTime,
    /// Last read.
    pub last_access_time: FileTime,
    /// Data last changed.
    pub last_write_time: FileTime,
    /// Data or metadata last changed.
    pub change_time: FileTime,
    /// Bytes that it takes on the disk.
    pub allocation_size: u64,
    /// Its length in bytes.
    pub end_of_file: u64,
    /// `FILE_ATTRIBUTE_*`.
    pub file_attributes: u32,
}

impl NetworkOpenInformation {
    /// `FileNetworkOpenInformation`.
    pub const CLASS: u8 = 34;
    /// Its length as output buffer.
    pub const LEN: u32 = 56;

    /// Decodes an output buffer.
    pub fn decode(output: &[u8]) -> Result<NetworkOpenInformation, Error> {
        let mut r = Reader::new(output);
        let information = NetworkOpenInformation {
            creation_time: FileTime(r.le64("FileNetworkOpenInformation.CreationTime")?),
            last_access_time: FileTime(r.le64("FileNetworkOpenInformation.LastAccessTime")?),
            last_write_time: FileTime(r.le64("FileNetworkOpenInformation.LastWriteTime")?),
            change_time: FileTime(r.le64("FileNetworkOpenInformation.ChangeTime")?),
            allocation_size: r.le64("FileNetworkOpenInformation.AllocationSize")?,
            end_of_file: r.le64("FileNetworkOpenInformation.EndOfFile")?,
            file_attributes: r.le32("FileNetworkOpenInformation.FileAttributes")?,
        };
        r.skip(4, "FileNetworkOpenInformation.Reserved")?;
        Ok(information)
    }

    /// Whether it is a directory.
    pub const fn is_directory(&self) -> bool {
        self.file_attributes & ATTRIBUTE_DIRECTORY != 0
    }
}

/// MS-FSCC 2.5.4: `FileFsFullSizeInformation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsFullSizeInformation {
    /// Allocation units of the file system (of the user's quota, on some servers).
    pub total_allocation_units: u64,
    /// Those that this user may still take.
    pub caller_available_allocation_units: u64,
    /// Those that nobody has taken.
    pub actual_available_allocation_units: u64,
    /// Sectors of a unit.
    pub sectors_per_allocation_unit: u32,
    /// Bytes of a sector.
    pub bytes_per_sector: u32,
}

impl FsFullSizeInformation {
    /// `FileFsFullSizeInformation`.
    pub const CLASS: u8 = 7;
    /// Its length as output buffer.
    pub const LEN: u32 = 32;

    /// Decodes an output buffer.
    pub fn decode(output: &[u8]) -> Result<FsFullSizeInformation, Error> {
        let mut r = Reader::new(output);
        Ok(FsFullSizeInformation {
            total_allocation_units: r.le64("FileFsFullSizeInformation.TotalAllocationUnits")?,
            caller_available_allocation_units: r
                .le64("FileFsFullSizeInformation.CallerAvailableAllocationUnits")?,
            actual_available_allocation_units: r
                .le64("FileFsFullSizeInformation.ActualAvailableAllocationUnits")?,
            sectors_per_allocation_unit: r.le32("FileFsFullSizeInformation.SectorsPerAllocationUnit")?,
            bytes_per_sector: r.le32("FileFsFullSizeInformation.BytesPerSector")?,
        })
    }

    /// Bytes of an allocation unit.
    pub const fn unit_bytes(&self) -> u64 {
        (self.sectors_per_allocation_unit as u64).saturating_mul(self.bytes_per_sector as u64)
    }

    /// Bytes of the file system, `u64::MAX` if they are more.
    pub const fn total_bytes(&self) -> u64 {
        self.total_allocation_units.saturating_mul(self.unit_bytes())
    }

    /// Bytes that this user may still take, `u64::MAX` if they are more.
    pub const fn caller_available_bytes(&self) -> u64 {
        self.caller_available_allocation_units.saturating_mul(self.unit_bytes())
    }

    /// Bytes that nobody has taken, `u64::MAX` if they are more.
    pub const fn actual_available_bytes(&self) -> u64 {
        self.actual_available_allocation_units.saturating_mul(self.unit_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::testing::*;
    use super::*;

    const FILE_ID: FileId = FileId([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);

    #[test]
    fn requests() {
        for (request, start) in [
            (Request::all_information(FILE_ID), [41, 0, 1, 18, 104, 0, 0, 0]),
            (Request::network_open_information(FILE_ID), [41, 0, 1, 34, 56, 0, 0, 0]),
            (Request::fs_full_size_information(FILE_ID), [41, 0, 2, 7, 32, 0, 0, 0]),
        ] {
            let bytes = encoded(|w| request.encode(w));
            assert_eq!(bytes[..8], start);
            assert_eq!(bytes[8..24], [0; 16]);
            assert_eq!(bytes[24..40], FILE_ID.0);
            assert_eq!(bytes[40..], [0]);
        }
    }

    /// Of Samba 4.17, the times made to differ: `FileAllInformation` with the name cut off, STATUS_BUFFER_OVERFLOW.
    #[rustfmt::skip]
    const ALL: [u8; 112] = [
        0x09, 0x00, 0x48, 0x00, 0x68, 0x00, 0x00, 0x00, 0x71, 0x2b, 0xaa, 0x58, 0x28, 0x3d, 0xda, 0x01,
        0x2c, 0x5d, 0x01, 0x5f, 0xc0, 0x80, 0xdd, 0x01, 0x14, 0x58, 0xb0, 0x58, 0x28, 0x3d, 0xda, 0x01,
        0x15, 0x58, 0xb0, 0x58, 0x28, 0x3d, 0xda, 0x01, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x13, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0f, 0x60, 0x9a, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x81, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x5c, 0x00, 0x73, 0x00,
    ];
    const NETWORK_OPEN: [u8; 64] = [
        0x09, 0x00, 0x48, 0x00, 0x38, 0x00, 0x00, 0x00, 0x71, 0x2b, 0xaa, 0x58, 0x28, 0x3d, 0xda, 0x01, 0x2c,
        0x5d, 0x01, 0x5f, 0xc0, 0x80, 0xdd, 0x01, 0x14, 0x58, 0xb0, 0x58, 0x28, 0x3d, 0xda, 0x01, 0x15, 0x58,
        0xb0, 0x58, 0x28, 0x3d, 0xda, 0x01, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x13, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ];
    const FS_FULL_SIZE: [u8; 40] = [
        0x09, 0x00, 0x48, 0x00, 0x20, 0x00, 0x00, 0x00, 0x74, 0x8e, 0xbf, 0x0f, 0x00, 0x00, 0x00, 0x00, 0x10,
        0x43, 0xc1, 0x04, 0x00, 0x00, 0x00, 0x00, 0x11, 0x43, 0xc1, 0x04, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00,
        0x00, 0x00, 0x00, 0x02, 0x00, 0x00,
    ];

    fn output(body: &[u8]) -> &[u8] {
        Response::decode(body).unwrap().output_buffer
    }

    #[test]
    fn responses() {
        for body in [&ALL[..], &NETWORK_OPEN, &FS_FULL_SIZE] {
            assert_eq!(output(body), &body[REPLY_HEAD_MAX..]);
            strict(body, |body| Response::decode(body).err());
        }
        survives_any_byte(&FS_FULL_SIZE, |body| Response::decode(body).err());
        assert_eq!(output(&[9, 0, 0, 0, 0, 0, 0, 0]), &[0; 0]);
        let over_the_head = Response::decode(&[9, 0, 71, 0, 1, 0, 0, 0, 0]);
        assert_eq!(over_the_head, Err(Error::Malformed("QUERY_INFO.OutputBufferOffset")));
    }

    #[test]
    fn all_information_may_lack_its_name() {
        let information = AllInformation {
            creation_time: FileTime(0x01DA_3D28_58AA_2B71),
            last_access_time: FileTime(0x01DD_80C0_5F01_5D2C),
            last_write_time: FileTime(0x01DA_3D28_58B0_5814),
            change_time: FileTime(0x01DA_3D28_58B0_5815),
            file_attributes: 0x80,
            allocation_size: 4096,
            end_of_file: 19,
            number_of_links: 1,
            delete_pending: false,
            directory: false,
            index_number: 0x009A_600F,
        };
        let output = output(&ALL);
        for len in 96..=output.len() {
            assert_eq!(AllInformation::decode(&output[..len]), Ok(information));
        }
        truncations_refused(&output[..96], |output| AllInformation::decode(output).err());
    }

    #[test]
    fn the_name_is_there_or_it_is_cut_off() {
        let bytes = encoded(|w| Request::all_information_of(FileId([7; 16]), "fé").encode(w));
        assert_eq!(bytes[3..8], [AllInformation::CLASS, 106, 0, 0, 0]);
        let told = [&[0; 96][..], &[6, 0, 0, 0, b'\\', 0, b'f', 0, 0xE9, 0]].concat();
        assert_eq!(AllInformation::name(&told), Some(&[b'\\', 0, b'f', 0, 0xE9, 0][..]));
        assert!((0..told.len()).all(|len| AllInformation::name(&told[..len]).is_none()));
    }

    #[test]
    fn network_open_information() {
        let output = output(&NETWORK_OPEN);
        let information = NetworkOpenInformation::decode(output).unwrap();
        assert_eq!(
            information,
            NetworkOpenInformation {
                creation_time: FileTime(0x01DA_3D28_58AA_2B71),
                last_access_time: FileTime(0x01DD_80C0_5F01_5D2C),
                last_write_time: FileTime(0x01DA_3D28_58B0_5814),
                change_time: FileTime(0x01DA_3D28_58B0_5815),
                allocation_size: 4096,
                end_of_file: 19,
                file_attributes: 0x80,
            }
        );
        assert!(!information.is_directory());
        assert_eq!(output.len(), NetworkOpenInformation::LEN as usize);
        truncations_refused(output, |output| NetworkOpenInformation::decode(output).err());
    }

    #[test]
    fn fs_full_size_information_in_bytes() {
        let output = output(&FS_FULL_SIZE);
        let information = FsFullSizeInformation::decode(output).unwrap();
        assert_eq!(information.total_bytes(), 0x0FBF_8E74 * 1024);
        assert_eq!(information.caller_available_bytes(), 0x04C1_4310 * 1024);
        assert_eq!(information.actual_available_bytes(), 0x04C1_4311 * 1024);
        assert_eq!(output.len(), FsFullSizeInformation::LEN as usize);
        truncations_refused(output, |output| FsFullSizeInformation::decode(output).err());
    }

    #[test]
    fn sizes_that_do_not_fit_saturate() {
        let information = FsFullSizeInformation::decode(&[0xFF; 32]).unwrap();
        assert_eq!(information.unit_bytes(), u64::from(u32::MAX) * u64::from(u32::MAX));
        assert_eq!(information.total_bytes(), u64::MAX);
    }
}
