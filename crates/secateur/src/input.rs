//! Reading requests and policies, and writing results.

use std::io::{Read, Write};
use std::path::Path;

use secateur_core::Limits;
use secateur_core::Request;
use secateur_core::dialect;
use secateur_core::internal::view::View;
use secateur_core::policy::Policy;

use crate::args::{DEFAULT_PRESET, InputArgs, PolicyArgs};
use crate::destination::write_whole;
use crate::failure::Failure;

impl InputArgs {
    fn is_stdin(&self) -> bool {
        self.file == Path::new("-")
    }

    /// The whole input. It is read to its end even if it is over the limit, so that it can be
    /// passed on.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        let read = if self.is_stdin() {
            std::io::stdin().lock().read_to_end(&mut body)
        } else {
            std::fs::File::open(&self.file).and_then(|mut file| file.read_to_end(&mut body))
        };
        match read {
            Ok(_) => Ok(body),
            Err(error) => Err(Failure::bad_input(format!(
                "cannot read {}: {error}",
                self.name()
            ))),
        }
    }

    /// What the input is called in messages.
    pub(crate) fn name(&self) -> String {
        if self.is_stdin() {
            "standard input".into()
        } else {
            self.file.display().to_string()
        }
    }

    /// What the engine is given besides the bytes.
    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            dialect: self.dialect,
            model: self.model.as_deref(),
            limits: Limits {
                max_bytes: self.max_bytes,
                max_depth: self.max_depth,
            },
            ..Request::default()
        }
    }

    /// Reads the body into a view, for commands that change nothing.
    pub(crate) fn view<'a>(&self, body: &'a [u8]) -> Result<View<'a>, Failure> {
        let request = self.request();
        let found = match request.dialect {
            Some(dialect) => Ok(dialect),
            None => dialect::detect(body, &request.limits),
        };
        let view = found.and_then(|dialect| dialect::read(body, dialect, &request.limits));
        view.map_err(|error| self.explain(&error.explain(body)))
    }

    /// An error about the input's content.
    pub(crate) fn explain(&self, what: &str) -> Failure {
        let hint = if what.contains("name the dialect") {
            " with --dialect"
        } else {
            ""
        };
        Failure::bad_input(format!("{}: {what}{hint}", self.name()))
    }
}

impl PolicyArgs {
    /// Preset, file and settings, resolved.
    pub(crate) fn resolve(&self) -> Result<Policy, Failure> {
        let file = self.policy.as_deref().map(read_text).transpose()?;
        let preset = match (&self.preset, &file) {
            (Some(preset), _) => Some(preset.as_str()),
            (None, Some(_)) => None,
            (None, None) => Some(DEFAULT_PRESET),
        };
        Policy::resolve(preset, file.as_deref(), &self.settings).map_err(|error| {
            let place = self
                .policy
                .as_ref()
                .map(|path| format!("{}: ", path.display()));
            Failure::bad_usage(format!("{}{error}", place.unwrap_or_default()))
        })
    }
}

/// The text of a file that the command line names.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::bad_usage(format!("cannot read {}: {error}", path.display())))
}

/// Writes to standard output.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_or_else(|error| unwritten(&error), Ok)
}

/// Writes to standard output, with colours where it is a terminal.
pub(crate) fn show(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_or_else(|error| unwritten(&error), Ok)
}

/// What it means that standard output takes no more. A reader that has seen enough is not an error.
pub(crate) fn unwritten(error: &std::io::Error) -> Result<(), Failure> {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        return Ok(());
    }
    let words = format!("cannot write to standard output: {error}");
    Err(Failure::bad_input(words))
}

/// A line on standard output, with colours where it is a terminal.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::input::show(&(format!($($words)*) + "\n"))
    };
}
pub(crate) use say;

/// Writes a file that is either the old one or complete: never half of it.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_whole(path, |mut file| {
        file.write_all(bytes).map_err(|error| {
            Failure::bad_input(format!("cannot write {}: {error}", path.display()))
        })
    })
}
