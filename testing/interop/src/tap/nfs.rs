//! RFC 5531, 1813, 7530, 8881 and 7862, as far as they say what a call asks for and which call a reply answers.

use super::stream::Message;

const REPLY: u32 = 1;
const PORTMAP: [&str; 6] = ["NULL", "SET", "UNSET", "GETPORT", "DUMP", "CALLIT"];
const MOUNT: [&str; 6] = ["NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT"];
const NFS3: [&str; 22] = [
    "NULL",
    "GETATTR",
    "SETATTR",
    "LOOKUP",
    "ACCESS",
    "READLINK",
    "READ",
    "WRITE",
    "CREATE",
    "MKDIR",
    "SYMLINK",
    "MKNOD",
    "REMOVE",
    "RMDIR",
    "RENAME",
    "LINK",
    "READDIR",
    "READDIRPLUS",
    "FSSTAT",
    "FSINFO",
    "PATHCONF",
    "COMMIT",
];
const NFS4: [&str; 2] = ["NULL", "COMPOUND"];
/// From number 3 on.
const OPERATIONS: [&str; 67] = [
    "ACCESS",
    "CLOSE",
    "COMMIT",
    "CREATE",
    "DELEGPURGE",
    "DELEGRETURN",
    "GETATTR",
    "GETFH",
    "LINK",
    "LOCK",
    "LOCKT",
    "LOCKU",
    "LOOKUP",
    "LOOKUPP",
    "NVERIFY",
    "OPEN",
    "OPENATTR",
    "OPEN_CONFIRM",
    "OPEN_DOWNGRADE",
    "PUTFH",
    "PUTPUBFH",
    "PUTROOTFH",
    "READ",
    "READDIR",
    "READLINK",
    "REMOVE",
    "RENAME",
    "RENEW",
    "RESTOREFH",
    "SAVEFH",
    "SECINFO",
    "SETATTR",
    "SETCLIENTID",
    "SETCLIENTID_CONFIRM",
    "VERIFY",
    "WRITE",
    "RELEASE_LOCKOWNER",
    "BACKCHANNEL_CTL",
    "BIND_CONN_TO_SESSION",
    "EXCHANGE_ID",
    "CREATE_SESSION",
    "DESTROY_SESSION",
    "FREE_STATEID",
    "GET_DIR_DELEGATION",
    "GETDEVICEINFO",
    "GETDEVICELIST",
    "LAYOUTCOMMIT",
    "LAYOUTGET",
    "LAYOUTRETURN",
    "SECINFO_NO_NAME",
    "SEQUENCE",
    "SET_SSV",
    "TEST_STATEID",
    "WANT_DELEGATION",
    "DESTROY_CLIENTID",
    "RECLAIM_COMPLETE",
    "ALLOCATE",
    "COPY",
    "COPY_NOTIFY",
    "DEALLOCATE",
    "IO_ADVISE",
    "LAYOUTERROR",
    "LAYOUTSTATS",
    "OFFLOAD_CANCEL",
    "OFFLOAD_STATUS",
    "READ_PLUS",
    "SEEK",
];
const UNKNOWN: &str = "(unknown)";

/// The message that begins like this. Operations behind one whose arguments are not known here are not named.
pub fn message(head: &[u8]) -> Message {
    let mut xdr = Xdr(head);
    let id = xdr.u32().map(u64::from);
    match xdr.u32() {
        Some(REPLY) => Message { id, ..Message::default() },
        _ => {
            let mut names = Vec::new();
            if call(&mut xdr, &mut names).is_none() {
                names.push(UNKNOWN);
            }
            Message { id, names, ..Message::default() }
        }
    }
}

fn call(xdr: &mut Xdr, names: &mut Vec<&'static str>) -> Option<()> {
    let [_rpc, program, version, procedure] = [xdr.u32()?, xdr.u32()?, xdr.u32()?, xdr.u32()?];
    for _ in ["credential", "verifier"] {
        xdr.skip(4)?.opaque()?;
    }
    let table = match (program, version) {
        (100_000, _) => &PORTMAP[..],
        (100_005, _) => &MOUNT,
        (100_003, 3) => &NFS3,
        (100_003, 4) => &NFS4,
        _ => &[],
    };
    names.push(table.get(procedure as usize)?);
    if names == &["COMPOUND"] { compound(xdr, names) } else { Some(()) }
}

fn compound(xdr: &mut Xdr, names: &mut Vec<&'static str>) -> Option<()> {
    xdr.opaque()?.skip(4)?; // tag, minor version
    for left in (0..xdr.u32()?).rev() {
        let operation = xdr.u32()?;
        names.push(OPERATIONS.get(operation.checked_sub(3)? as usize)?);
        if left > 0 {
            arguments(operation, xdr)?;
        }
    }
    Some(())
}

/// Steps over the arguments of an operation.
fn arguments(operation: u32, xdr: &mut Xdr) -> Option<()> {
    match operation {
        10 | 16 | 24 | 31 | 32 => {}  // GETFH, LOOKUPP, PUTROOTFH, RESTOREFH, SAVEFH: none
        27 => {}                      // READLINK: none
        3 | 58 => drop(xdr.skip(4)?), // ACCESS, RECLAIM_COMPLETE
        4 | 20 => drop(xdr.skip(20)?), // CLOSE, OPEN_CONFIRM
        30 => drop(xdr.skip(8)?),     // RENEW
        36 => drop(xdr.skip(16)?),    // SETCLIENTID_CONFIRM
        53 => drop(xdr.skip(32)?),    // SEQUENCE
        25 | 68 => drop(xdr.skip(28)?), // READ, READ_PLUS
        69 => drop(xdr.skip(28)?),    // SEEK
        9 => drop(xdr.words()?),      // GETATTR
        15 | 22 => drop(xdr.opaque()?), // LOOKUP, PUTFH
        26 => drop(xdr.skip(24)?.words()?), // READDIR
        18 => open(xdr)?,
        _ => return None,
    }
    Some(())
}

/// OPEN, which makes no file and claims a name, a file handle or nothing.
fn open(xdr: &mut Xdr) -> Option<()> {
    xdr.skip(20)?.opaque()?; // seqid, access, deny, clientid, owner
    if xdr.u32()? != 0 {
        return None;
    }
    match xdr.u32()? {
        0 => drop(xdr.opaque()?),
        1 => drop(xdr.skip(4)?),
        4 => {}
        _ => return None,
    }
    Some(())
}

struct Xdr<'a>(&'a [u8]);

impl Xdr<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (value, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*value))
    }

    fn skip(&mut self, len: usize) -> Option<&mut Self> {
        self.0 = self.0.get(len..)?;
        Some(self)
    }

    fn opaque(&mut self) -> Option<&mut Self> {
        let len = self.u32()? as usize;
        self.skip(len.checked_next_multiple_of(4)?)
    }

    fn words(&mut self) -> Option<&mut Self> {
        let len = self.u32()? as usize;
        self.skip(len.checked_mul(4)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call with AUTH_NONE and these arguments, in words.
    fn call(program: u32, version: u32, procedure: u32, arguments: &[u32]) -> Message {
        let head = [7, 0, 2, program, version, procedure, 0, 0, 0, 0];
        let bytes: Vec<u8> = head.iter().chain(arguments).flat_map(|word| word.to_be_bytes()).collect();
        message(&bytes)
    }

    #[test]
    fn a_call_has_the_name_of_its_procedure_and_a_reply_has_none() {
        assert_eq!(call(100_003, 3, 6, &[]).names, ["READ"]);
        assert_eq!(call(100_005, 3, 1, &[]).names, ["MNT"]);
        assert_eq!(call(100_003, 3, 99, &[]).names, [UNKNOWN]);
        let reply = message(&[0, 0, 0, 7, 0, 0, 0, 1]);
        assert_eq!(reply, Message { id: Some(7), ..Message::default() });
    }

    #[test]
    fn a_compound_names_its_operations_behind_itself() {
        // No tag, minor version 2, five operations.
        let mut words = vec![0, 2, 5];
        words.extend([53, 0, 0, 0, 0, 0, 0, 0, 0]); // SEQUENCE
        words.push(24); // PUTROOTFH
        words.extend([15, 5, 0x6162_6364, 0x6500_0000]); // LOOKUP of "abcde"
        words.extend([18, 0, 1, 0, 0, 0, 3, 0x6162_6300, 0, 0, 1, 0x6100_0000]); // OPEN of "a"
        words.extend([25, 0, 0, 0, 0, 0, 0, 4096]); // READ
        let names = call(100_003, 4, 1, &words).names;
        assert_eq!(names, ["COMPOUND", "SEQUENCE", "PUTROOTFH", "LOOKUP", "OPEN", "READ"]);
        // One that is cut off in the middle says so.
        assert_eq!(
            call(100_003, 4, 1, &words[..14]).names,
            ["COMPOUND", "SEQUENCE", "PUTROOTFH", "LOOKUP", UNKNOWN]
        );
    }
}
