//! How far a transfer is, for whoever watches it.

use super::args::Messages;
use super::destination::Destination;
use super::quantity::human;
use super::url::Url;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::time::Instant;

const TEMPLATE: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

/// A bar where there is a terminal that shows nothing else; nothing elsewhere.
pub struct Progress {
    bar: ProgressBar,
    /// What to say in the end, if anything.
    name: Option<String>,
    len: u64,
    begin: Instant,
}

impl Progress {
    pub fn new(url: &Url, len: u64, destination: &Destination, messages: Messages) -> Progress {
        // The file itself may be shown on this terminal.
        let free = *destination != Destination::Stdout || !std::io::stdout().is_terminal();
        let terminal = std::env::var_os("TERM");
        let able = std::io::stderr().is_terminal() && !is_dumb(terminal.as_deref());
        let bar = if free && able && !messages.quiet {
            bar(len, super::safe::text(url.file_name()))
        } else {
            ProgressBar::hidden()
        };
        Progress { bar, name: messages.verbose.then(|| url.to_string()), len, begin: Instant::now() }
    }

    pub fn advance(&mut self, len: u64) {
        self.bar.inc(len);
    }

    /// All of it is there.
    pub fn done(self) {
        if !self.bar.is_hidden() {
            // The bar leaves the cursor at its end.
            self.bar.finish();
            tell!();
        }
        if let Some(name) = &self.name {
            let seconds = self.begin.elapsed().as_secs_f64();
            let rate = human((self.len as f64 / seconds.max(1e-6)) as u64);
            tell!("pagewire: read {name}: {} bytes in {seconds:.2} s, {rate}B/s", self.len);
        }
    }
}

/// What is told of a transfer that failed starts where the bar did.
impl Drop for Progress {
    fn drop(&mut self) {
        if !self.bar.is_finished() {
            self.bar.finish_and_clear();
        }
    }
}

/// A terminal on which nothing can be overwritten.
fn is_dumb(name: Option<&OsStr>) -> bool {
    name.is_some_and(|name| name == "dumb")
}

fn bar(len: u64, name: String) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr());
    // A bar without a style is better than none.
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.with_message(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumb_terminal_gets_no_bar() {
        assert!(is_dumb(Some(OsStr::new("dumb"))));
        assert!(!is_dumb(Some(OsStr::new("xterm"))) && !is_dumb(None));
    }
}
