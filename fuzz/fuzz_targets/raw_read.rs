//! Any bytes, read in every dialect and pruned.
#![no_main]

use secateur_testkit::targets::raw_read;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = raw_read(bytes) {
        panic!("{broken}");
    }
});
