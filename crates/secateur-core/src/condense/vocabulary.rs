//! The words by which tools of many ecosystems say that something went wrong.
//!
//! Weights are on one scale: 100 is a line that no reader may miss, 10 is a hint.

/// How a word is read in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Says by itself that something went wrong.
    Trouble,
    /// The same, and after a number it is part of a summary (`3 failed`); after a zero it says nothing.
    TroubleCount,
    /// Part of a summary after a number (`41 passed`), else nothing.
    PlainCount,
    /// Counts only directly behind these words (`not` before `found`).
    Behind(&'static str),
    /// Counts only directly before these words (`out` after `timed`).
    Before(&'static str),
    /// `exit code 3`: counts when a number other than zero follows.
    ExitNumber,
}

use Role::{Before, Behind, ExitNumber, PlainCount, Trouble, TroubleCount};

pub(super) const WORDS: &[(&str, u16, Role)] = &[
    ("error", 50, TroubleCount),
    ("errors", 45, TroubleCount),
    ("err", 30, Before("!")),
    ("errored", 50, TroubleCount),
    ("fatal", 70, Trouble),
    ("panic", 60, Trouble),
    ("panicked", 80, Trouble),
    ("panics", 30, Trouble),
    ("fail", 55, TroubleCount),
    ("fails", 35, Trouble),
    ("failed", 55, TroubleCount),
    ("failing", 40, TroubleCount),
    ("failure", 50, TroubleCount),
    ("failures", 50, TroubleCount),
    ("exception", 40, Trouble),
    ("traceback", 70, Trouble),
    ("assertion", 40, Trouble),
    ("assert", 20, Trouble),
    ("segfault", 80, Trouble),
    ("segmentation", 80, Before(" fault")),
    ("dumped", 60, Behind("core ")),
    ("sigsegv", 80, Trouble),
    ("sigabrt", 80, Trouble),
    ("sigkill", 70, Trouble),
    ("sigterm", 40, Trouble),
    ("abort", 40, Trouble),
    ("aborted", 50, TroubleCount),
    ("aborting", 40, Trouble),
    ("crash", 50, Trouble),
    ("crashed", 60, TroubleCount),
    ("killed", 60, Trouble),
    ("oom", 60, Trouble),
    ("memory", 50, Behind("out of ")),
    ("space", 50, Behind("no space left on device; ")),
    ("device", 50, Behind("no space left on ")),
    ("timeout", 25, Trouble),
    ("timed", 50, Before(" out")),
    ("denied", 40, Trouble),
    ("refused", 40, Trouble),
    ("rejected", 35, Trouble),
    ("forbidden", 35, Trouble),
    ("unauthorized", 35, Trouble),
    ("undefined", 35, Trouble),
    ("reference", 55, Behind("undefined ")),
    ("unresolved", 45, Trouble),
    ("unrecognized", 35, Trouble),
    ("unrecognised", 35, Trouble),
    ("unexpected", 40, Trouble),
    ("unexpectedly", 45, Trouble),
    ("unsuccessful", 60, Trouble),
    ("unsuccessfully", 60, Trouble),
    ("unsatisfied", 40, Trouble),
    ("unsatisfiable", 45, Trouble),
    ("unsupported", 25, Trouble),
    ("unhandled", 40, Trouble),
    ("uncaught", 50, Trouble),
    ("unknown", 15, Trouble),
    ("unable", 40, Trouble),
    ("unmet", 35, Trouble),
    ("mismatch", 45, Trouble),
    ("mismatched", 45, Trouble),
    ("mismatches", 45, TroubleCount),
    ("conflict", 40, Trouble),
    ("conflicts", 40, TroubleCount),
    ("conflicting", 40, Trouble),
    ("incompatible", 40, Trouble),
    ("cannot", 35, Trouble),
    ("couldn", 35, Before("'t")),
    ("not", 30, Behind("could ")),
    ("not", 30, Behind("does ")),
    ("invalid", 35, Trouble),
    ("illegal", 35, Trouble),
    ("malformed", 35, Trouble),
    ("missing", 30, Trouble),
    ("found", 45, Behind("not ")),
    ("found", 35, Behind("no tests ")),
    ("such", 45, Behind("no ")),
    ("expected", 22, Trouble),
    ("actual", 12, Trouble),
    ("violation", 40, TroubleCount),
    ("violations", 40, TroubleCount),
    ("vulnerabilities", 8, PlainCount),
    ("corrupt", 40, Trouble),
    ("corrupted", 40, Trouble),
    ("overflow", 30, Trouble),
    ("deadlock", 50, Trouble),
    ("regression", 30, Trouble),
    ("regressions", 30, TroubleCount),
    ("wrong", 25, Trouble),
    ("broken", 30, Trouble),
    ("outdated", 15, Trouble),
    ("stopped", 25, Behind("build ")),
    ("cancelled", 20, TroubleCount),
    ("canceled", 20, TroubleCount),
    ("nonzero", 40, Trouble),
    ("zero", 40, Behind("non-")),
    ("code", 55, ExitNumber),
    ("status", 55, ExitNumber),
    ("warning", 12, TroubleCount),
    ("warnings", 12, TroubleCount),
    ("warn", 12, Trouble),
    ("deprecated", 5, Trouble),
    ("problems", 40, TroubleCount),
    ("problem", 30, TroubleCount),
    ("please", 12, Trouble),
    ("passed", 10, PlainCount),
    ("passing", 10, PlainCount),
    ("skipped", 10, PlainCount),
    ("ignored", 10, PlainCount),
    ("pending", 10, PlainCount),
    ("succeeded", 10, PlainCount),
    ("tests", 10, PlainCount),
    ("test", 6, PlainCount),
    ("specs", 10, PlainCount),
    ("examples", 6, PlainCount),
    ("suites", 10, PlainCount),
    ("snapshots", 10, PlainCount),
    ("total", 8, PlainCount),
];

/// Ends of compound words (`ValueError`, `NullPointerException`), matched with their capital.
pub(super) const ENDINGS: &[(&[u8], u16)] = &[
    (b"Error", 60),
    (b"Exception", 60),
    (b"Failure", 60),
    (b"Warning", 8),
];

/// A line that begins with one of these is worth at least so much.
pub(super) const OPENINGS: &[(&[u8], u16)] = &[
    (b"##[error]", 95),
    (b"::error", 90),
    (b"##[warning]", 15),
    (b"error:", 70),
    (b"error[", 80),
    (b"Error:", 75),
    (b"ERROR:", 70),
    (b"E   ", 60),
    (b"FAIL", 75),
    (b"--- FAIL", 85),
    (b"not ok ", 75),
    ("●".as_bytes(), 60),
    ("✕".as_bytes(), 70),
    ("✗".as_bytes(), 70),
    ("✖".as_bytes(), 60),
    (b"<failure", 80),
    (b"<error", 80),
    (b"_____", 45),
    (b"---- ", 45),
    (b"Traceback (most recent call last)", 75),
    (b"npm ERR!", 55),
    (b"CMake Error", 80),
    (b"make: *** ", 70),
    (b"gmake: *** ", 70),
    (b"ninja: ", 30),
    (b"Caused by:", 60),
    (b"ld: ", 40),
    (b"collect2: ", 50),
    (b"Test Suites:", 40),
    (b"Tests:", 45),
    (b"Summary", 25),
    (b"SUMMARY", 25),
    (b"Summarizing", 40),
    (b"Expected", 25),
    (b"Received", 25),
    (b"Actual", 20),
];

/// A line that ends with one of these reports something that went well, whatever its name contains.
pub(super) const GOOD_ENDINGS: &[&[u8]] =
    &[b" ok", b"PASSED", b" PASS", b"Passed", b" passed", b"(ok)", b"Skipped", b"... ignored", b" up to date"];

/// The same for beginnings.
pub(super) const GOOD_OPENINGS: &[&[u8]] =
    &["✓".as_bytes(), "✔".as_bytes(), "√".as_bytes(), b"PASS ", b"ok ", b"--- PASS", b"=== RUN", b"PASSED "];

/// A line that begins with one of these names a command or a step.
pub(super) const COMMANDS: &[&[u8]] = &[
    b"$ ",
    b"+ ",
    b"> ",
    b"##[command]",
    b"[command]",
    b"##[group]Run ",
    b"Running ",
    b"Executing ",
    b"RUN ",
    b"Step ",
    b"- hook id",
];

/// A line that begins with one of these says that a run ended badly.
pub(super) const OUTCOMES: &[&[u8]] =
    &[b"##[error]", b"::error", b"make: *** ", b"gmake: *** ", b"BUILD FAILED", b"npm ERR! Exit"];

/// A line that begins with one of these is a script that was printed, not what it reported.
pub(super) const SOURCE_OPENINGS: &[&[u8]] =
    &[b"echo ", b"printf ", b"print(", b"console.log(", b"##[group]Run ", b"if [", b"exit 1"];
