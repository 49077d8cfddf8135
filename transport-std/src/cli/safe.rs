//! Names from elsewhere made safe: for a terminal, for a pipe, for a local file.

use pagewire::Name;
use std::fmt::{self, Write};

/// Who reads what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A terminal: nothing may command it or show another text than there is.
    Terminal,
    /// A program, line by line.
    Pipe,
}

/// Characters that change the direction of the text around them: with one, a name shows as another.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Characters that break lines for some readers, or that nobody sees.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{00AD}' | '\u{200B}'..='\u{200D}' | '\u{2028}' | '\u{2029}' | '\u{2060}' | '\u{FEFF}')
        || ('\u{E0000}'..='\u{E007F}').contains(&c)
}

/// Whether a character is shown by its number.
pub fn must_be_escaped(c: char, reader: Reader) -> bool {
    match reader {
        // U+200D joins emojis to one, and some scripts need it and U+200C.
        Reader::Terminal => {
            c.is_control() || is_bidi(c) || (is_invisible(c) && !matches!(c, '\u{200C}' | '\u{200D}'))
        }
        Reader::Pipe => c.is_control(),
    }
}

fn put(f: &mut impl Write, c: char, reader: Reader) -> fmt::Result {
    if must_be_escaped(c, reader) { write!(f, "{}", c.escape_unicode()) } else { f.write_char(c) }
}

/// A name that the server sent. What is no character shows as U+FFFD.
pub struct Shown<'n>(pub Name<'n>, pub Reader);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| put(f, c.unwrap_or(char::REPLACEMENT_CHARACTER), self.1))
    }
}

/// A text of the user or of the system in a message.
pub fn text(text: &str) -> String {
    shown(text, Reader::Terminal)
}

/// A text for somebody.
pub fn shown(text: &str, reader: Reader) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        // A `String` takes whatever is written to it.
        let _ = put(&mut safe, c, reader);
    }
    safe
}

/// The name that a file gets in a local directory. `None` if nothing of it can be one.
pub fn file_name(name: &str) -> Option<String> {
    let unwanted = |c: char| c.is_control() || is_bidi(c) || matches!(c, '/' | '\\');
    let name: String = name.chars().map(|c| if unwanted(c) { '_' } else { c }).collect();
    (!matches!(name.as_str(), "" | "." | "..")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_commands_and_no_turned_text() {
        let evil = "a\u{1b}[2J\u{9b}b\u{202e}fdp.exe\u{2066}\r\n\t\u{7f}\u{feff}";
        let safe = shown(evil, Reader::Terminal);
        assert_eq!(safe, "a\\u{1b}[2J\\u{9b}b\\u{202e}fdp.exe\\u{2066}\\u{d}\\u{a}\\u{9}\\u{7f}\\u{feff}");
        assert_eq!(text(evil), safe);
    }

    #[test]
    fn a_pipe_gets_the_name_but_one_line() {
        assert_eq!(shown("a\u{202e}b\nc\0", Reader::Pipe), "a\u{202e}b\\u{a}c\\u{0}");
    }

    #[test]
    fn letters_of_all_scripts_and_emojis_pass() {
        for name in ["café", "书", "עברית", "👩\u{200d}👩\u{200d}👧", "a b", "\u{fffd}"] {
            assert_eq!(shown(name, Reader::Terminal), name);
        }
    }

    #[test]
    fn names_of_local_files() {
        assert_eq!(file_name("a b.txt").as_deref(), Some("a b.txt"));
        assert_eq!(file_name("a/b\\c\nd\0").as_deref(), Some("a_b_c_d_"));
        assert_eq!(file_name("-rf").as_deref(), Some("-rf"));
        for name in ["", ".", ".."] {
            assert_eq!(file_name(name), None);
        }
    }
}
