//! RFC 7531, 5662, 7863: `nfs_opnum4`, the operations of a COMPOUND that a reader meets.

/// An operation. Open: a peer may use numbers without a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Op(pub u32);

/// One line an operation: its constant, which is its name, its value and what it does.
macro_rules! operations {
    ($($constant:ident $value:literal $doc:literal,)+) => {
        impl Op {
            $(#[doc = $doc] pub const $constant: Op = Op($value);)+

            /// The standard's name, or "" of a number we do not know.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Op::$constant => stringify!($constant),)+
                    Op(_) => "",
                }
            }
        }

        #[cfg(test)]
        const ALL: &[Op] = &[$(Op::$constant),+];
    };
}

operations! {
    ACCESS 3 "Ask what the caller may do with a file.",
    CLOSE 4 "Close a file.",
    GETATTR 9 "Ask for attributes.",
    GETFH 10 "Ask for the current file handle.",
    LOOKUP 15 "Go from a directory to a name in it.",
    OPEN 18 "Open a file.",
    OPEN_CONFIRM 20 "Confirm the first open of an owner (4.0).",
    PUTFH 22 "Go to a file handle.",
    PUTROOTFH 24 "Go to the root of the server.",
    READ 25 "Read a file.",
    READDIR 26 "List a directory.",
    READLINK 27 "Read a symbolic link.",
    RENEW 30 "Renew the lease (4.0).",
    SETCLIENTID 35 "Say who the client is (4.0).",
    SETCLIENTID_CONFIRM 36 "Confirm that (4.0).",
    EXCHANGE_ID 42 "Say who the client is (4.1).",
    CREATE_SESSION 43 "Create a session (4.1).",
    DESTROY_SESSION 44 "Destroy a session (4.1).",
    SEQUENCE 53 "Name the session and its slot (4.1).",
    DESTROY_CLIENTID 57 "Forget the client (4.1).",
    RECLAIM_COMPLETE 58 "Nothing is left to be reclaimed (4.1).",
    READ_PLUS 68 "Read a file, holes as such (4.2).",
    SEEK 69 "Find the next data or hole (4.2).",
    ILLEGAL 10044 "What a server answers to a number that it does not know.",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_name_and_the_others_none() {
        assert_eq!(Op(25).name(), "READ");
        assert_eq!(Op(53).name(), "SEQUENCE");
        assert_eq!(Op(0).name(), "");
        assert_eq!(ALL.iter().filter(|op| op.name().is_empty()).count(), 0);
        assert!(ALL.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
