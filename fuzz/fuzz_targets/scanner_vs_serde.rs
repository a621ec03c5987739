//! The scanner against serde_json.
#![no_main]

use secateur_testkit::targets::scanner_vs_serde;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = scanner_vs_serde(bytes) {
        panic!("{broken}");
    }
});
