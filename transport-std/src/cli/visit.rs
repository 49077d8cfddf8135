//! Several URLs over as few connections as it takes.

use super::args::Common;
use super::budget::Memory;
use super::credentials::Secrets;
use super::failure::{Cause, Failure};
use super::options::{Options, Target, Who};
use super::session::Session;
use super::stats::Report;
use super::url::Url;

/// The options, the memory and the secrets of a command.
pub struct Visitor<'c> {
    common: &'c Common,
    options: Options,
    memory: Memory,
    secrets: Secrets,
    /// User and domain of the credentials file.
    fallback: Options,
}

impl<'c> Visitor<'c> {
    /// Reads what the options name.
    pub fn new(common: &'c Common, in_flight: u16) -> Result<Visitor<'c>, Failure> {
        let options = common.options().map_err(usage)?;
        let (secrets, fallback) =
            Secrets::new(options.credentials.as_deref(), common.password_command.clone())?;
        Ok(Visitor { common, options, memory: Memory::new(in_flight)?, secrets, fallback })
    }

    /// What the options say.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Bytes that are lent to the engine.
    pub fn lent(&mut self) -> usize {
        self.memory.lend().len()
    }

    /// Has `serve` called for each URL, in their order, and reports what comes of it. All of them are looked
    /// at before the first is connected to.
    pub fn visit(
        &mut self,
        urls: &[String],
        report: &mut Report,
        mut serve: impl FnMut(&mut Session<'_>, &Url, &mut Report) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let parsed: Result<Vec<_>, _> = urls.iter().map(|text| self.parse(text)).collect();
        let parsed = parsed.map_err(usage)?;
        let mut rest = parsed.as_slice();
        while let Some((_, target)) = rest.first()
            && !report.unread
        {
            let same = rest.iter().take_while(|(_, other)| other == target).count();
            let served = self.serve(target, &rest[..same], report, &mut serve);
            rest = &rest[served..];
        }
        Ok(())
    }

    fn parse(&self, text: &str) -> Result<(Url, Target), String> {
        let url = Url::parse(text)?;
        let target = self.options.target(&url, self.fallback.clone())?;
        Ok((url, target))
    }

    /// As many of `urls` as one connection serves. If there is none to be had, they have all failed: to try a
    /// password that was refused once more for each of them could lock the account.
    fn serve(
        &mut self,
        target: &Target,
        urls: &[(Url, Target)],
        report: &mut Report,
        serve: &mut impl FnMut(&mut Session<'_>, &Url, &mut Report) -> Result<(), Failure>,
    ) -> usize {
        let password = match &target.who {
            Who::Named { user, .. } => self.secrets.password(user, &target.host),
            Who::Guest | Who::Anonymous => Ok(""),
        };
        let session = password.and_then(|password| {
            Session::dial(&mut self.memory, target, password, self.common.connect_timeout)
        });
        let mut session = match session {
            Ok(session) => session,
            Err(failure) => {
                report.outcome(Err(failure));
                return urls.len();
            }
        };
        let mut served = urls.len();
        match session.log_in() {
            Err(failure) => report.outcome(Err(failure)),
            Ok(()) => {
                if self.common.messages.verbose {
                    tell!("pagewire: {}", session.describe());
                }
                served = serve_all(&mut session, urls, report, serve);
            }
        }
        session.account(&mut report.stats);
        served
    }
}

fn serve_all(
    session: &mut Session<'_>,
    urls: &[(Url, Target)],
    report: &mut Report,
    serve: &mut impl FnMut(&mut Session<'_>, &Url, &mut Report) -> Result<(), Failure>,
) -> usize {
    for (index, (url, _)) in urls.iter().enumerate() {
        let outcome = serve(session, url, report);
        report.outcome(outcome);
        if report.unread || session.is_lost() {
            return index + 1;
        }
    }
    urls.len()
}

/// What is wrong with the command line.
pub fn usage(message: String) -> Failure {
    Failure::new("reading the command line", Cause::Usage(message))
}
