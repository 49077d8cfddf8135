//! How far a transfer is, for whoever watches it.

use super::args::Messages;
use super::destination::Destination;
use super::quantity::human;
use super::url::Url;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
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
        let bar = if free && !messages.quiet && std::io::stderr().is_terminal() {
            bar(len, super::safe::text(url.file_name()))
        } else {
            ProgressBar::hidden()
        };
        Progress { bar, name: messages.verbose.then(|| url.to_string()), len, begin: Instant::now() }
    }

    pub fn advance(&mut self, len: usize) {
        self.bar.inc(len as u64);
    }

    /// All of it is there.
    pub fn done(self) {
        self.bar.finish();
        if let Some(name) = &self.name {
            let seconds = self.begin.elapsed().as_secs_f64();
            let rate = human((self.len as f64 / seconds.max(1e-6)) as u64);
            tell!("pagewire: read {name}: {} bytes in {seconds:.2} s, {rate}B/s", self.len);
        }
    }
}

fn bar(len: u64, name: String) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr());
    // A bar without a style is better than none.
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.with_message(name)
}
