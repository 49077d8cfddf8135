//! The numbers with which a protocol says how a request went: one line a status, with its constant, value, the standard's
//! name, and what it means to a caller.

/// Constants, names and reasons of a newtype `Status(u32)` in scope.
macro_rules! statuses {
    ($($constant:ident $value:literal $name:literal $reason:ident,)+) => {
        impl Status {
            $(#[doc = concat!("`", $name, "`.")] pub const $constant: Status = Status($value);)+

            /// The standard's name, or "" where we know none, as without the feature `names`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Status::$constant if cfg!(feature = "names") => $name,)+
                    Status(_) => "",
                }
            }

            /// What it means to a caller who asked for something.
            pub const fn reason(self) -> $crate::Reason {
                match self {
                    $(Status::$constant => $crate::Reason::$reason,)+
                    Status(_) => $crate::Reason::Other,
                }
            }
        }

        #[cfg(test)]
        const ALL: &[Status] = &[$(Status::$constant),+];
    };
}

pub(crate) use statuses;
