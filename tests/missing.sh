# For tests that need programs from elsewhere: a test that did not run must not look like one that passed.

missing() { # what is missing, what to do about it
  if [ "${SECATEUR_ALLOW_SKIP:-}" = 1 ]; then
    echo "skipped: $1"
  else
    echo "$0: $1. $2, or set SECATEUR_ALLOW_SKIP=1 to go on without what needs it." >&2
    exit 1
  fi
}
