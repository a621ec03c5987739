//! How a command ends that does not succeed.

/// Why a command ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl Failure {
    /// Exit code 1: the input is at fault.
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self {
            code: 1,
            message: message.into(),
        }
    }

    /// Exit code 0, without a message: the reader closed the output.
    pub(crate) fn quiet_end() -> Self {
        Self {
            code: 0,
            message: String::new(),
        }
    }

    /// Ends with this code, without a message: everything was printed already.
    pub(crate) fn with_code(code: u8) -> Self {
        Self {
            code,
            message: String::new(),
        }
    }

    /// Exit code 2: the command line, or a file that it names, is at fault.
    pub(crate) fn bad_usage(message: impl Into<String>) -> Self {
        Self {
            code: 2,
            message: message.into(),
        }
    }
}
