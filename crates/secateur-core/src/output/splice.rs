//! Byte replacements: sorted, disjoint and in bounds by construction, applied with one copy.

use std::borrow::Cow;
use std::ops::Range;

use secateur_json::Span;

/// Something that goes into the gap of a splice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bit {
    /// New bytes: their range in [`Fragments::text`].
    New(Span),
    /// Bytes of the body.
    Copy(Span),
}

impl Bit {
    fn len(self) -> usize {
        let (Self::New(span) | Self::Copy(span)) = self;
        span.len()
    }
}

/// What goes into the gaps of all splices, one after the other: thousands of bits take two pieces of memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fragments {
    list: Vec<Bit>,
    /// The new bytes of all of them.
    text: String,
}

impl Fragments {
    /// Where the bits of the next splice begin.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.list.len())
    }

    /// Makes room for so many more.
    pub(crate) fn reserve(&mut self, bits: usize) {
        self.list.reserve(bits);
    }

    /// Adds what `write` writes.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut String)) {
        let start = offset(self.text.len());
        write(&mut self.text);
        let span = Span::new(start, offset(self.text.len()));
        self.list.push(Bit::New(span));
    }

    /// Adds bytes of the body.
    pub(crate) fn copy(&mut self, span: Span) {
        self.list.push(Bit::Copy(span));
    }

    /// Takes back what was added since.
    pub(crate) fn forget(&mut self, since: Mark) {
        self.list.truncate(since.0);
    }

    /// The bytes of `span` become what was added since.
    pub(crate) fn splice(&self, span: Span, since: Mark) -> Splice {
        let bits = since.0..self.list.len();
        Splice {
            span,
            new_len: self.list[bits.clone()].iter().map(|bit| bit.len()).sum(),
            bits,
        }
    }
}

/// New text of 4 GB is text that no body has room for: [`Span::of`] gives nothing for it.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A place among bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

/// The bytes of `span` become some bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    span: Span,
    bits: Range<usize>,
    new_len: usize,
}

impl Splice {
    pub(crate) fn remove(span: Span) -> Self {
        Self {
            span,
            bits: 0..0,
            new_len: 0,
        }
    }

    /// Bytes that it takes out.
    pub(crate) fn removed_len(&self) -> usize {
        self.span.len()
    }

    /// Bytes that it puts in.
    pub(crate) fn new_len(&self) -> usize {
        self.new_len
    }
}

/// Two edits that want the same bytes, or bytes that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edits overlap or leave the body at byte {at}")]
pub struct SpliceError {
    /// Where.
    pub at: u32,
}

/// Replacements of byte ranges: sorted, disjoint, inside the body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Splices {
    sorted: Vec<Splice>,
    bits: Fragments,
}

impl Splices {
    /// `bits` are what the splices were made of.
    pub(crate) fn new(
        body: &str,
        mut splices: Vec<Splice>,
        bits: Fragments,
    ) -> Result<Self, SpliceError> {
        // An insertion at the end of a removal comes after it.
        splices.sort_by_key(|splice| (splice.span.start, splice.span.end));
        let mut end = 0;
        for splice in &splices {
            let at = splice.span.start;
            let fits = |span: Span| {
                span.start <= span.end
                    && body.is_char_boundary(span.start as usize)
                    && body.is_char_boundary(span.end as usize)
            };
            let bits = &bits.list[splice.bits.clone()];
            let copies_fit = bits.iter().all(|bit| match bit {
                Bit::Copy(span) => fits(*span),
                Bit::New(_) => true,
            });
            if at < end || !fits(splice.span) || !copies_fit {
                return Err(SpliceError { at });
            }
            end = splice.span.end;
        }
        let sorted = splices;
        Ok(Self { sorted, bits })
    }

    /// Where the first change is: the prefix before it is untouched.
    pub(crate) fn first_edit_at(&self) -> Option<u32> {
        self.sorted.first().map(|splice| splice.span.start)
    }

    /// The position of a byte of the body in the output; for a byte that is cut out, the start of its splice.
    pub(crate) fn moved(&self, at: u32) -> usize {
        let mut output = at as usize;
        for splice in &self.sorted {
            if splice.span.end > at {
                if splice.span.start < at {
                    output -= (at - splice.span.start) as usize;
                }
                break;
            }
            output = output + splice.new_len - splice.span.len();
        }
        output
    }

    /// The body with all splices applied; the body itself when there are none.
    pub(crate) fn apply<'a>(&self, body: &'a str) -> Cow<'a, str> {
        if self.sorted.is_empty() {
            return Cow::Borrowed(body);
        }
        let grown: usize = self.sorted.iter().map(Splice::new_len).sum();
        let removed: usize = self.sorted.iter().map(|splice| splice.span.len()).sum();
        let mut out = String::with_capacity((body.len() + grown).saturating_sub(removed));
        let mut at = 0;
        for splice in &self.sorted {
            out.push_str(Span::new(at, splice.span.start).of(body));
            for bit in &self.bits.list[splice.bits.clone()] {
                out.push_str(match bit {
                    Bit::New(span) => span.of(&self.bits.text),
                    Bit::Copy(span) => span.of(body),
                });
            }
            at = splice.span.end;
        }
        out.push_str(body.get(at as usize..).unwrap_or_default());
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splices that are made one after the other.
    #[derive(Default)]
    struct Made(Vec<Splice>, Fragments);

    impl Made {
        fn put(mut self, start: u32, end: u32, text: &str) -> Self {
            let mark = self.1.mark();
            self.1.write(|out| out.push_str(text));
            self.0.push(self.1.splice(Span::new(start, end), mark));
            self
        }

        fn copy(mut self, span: Span, from: Span) -> Self {
            let mark = self.1.mark();
            self.1.copy(from);
            self.0.push(self.1.splice(span, mark));
            self
        }

        fn splices(self, body: &str) -> Result<Splices, SpliceError> {
            Splices::new(body, self.0, self.1)
        }
    }

    #[test]
    fn nothing_to_do_borrows_the_body() {
        let body = "untouched";
        let splices = Made::default().splices(body).unwrap();
        let out = splices.apply(body);
        assert!(matches!(out, Cow::Borrowed(same) if std::ptr::eq(same, body)));
    }

    #[test]
    fn applies_in_body_order_whatever_the_order_given() {
        let body = "0123456789";
        let mut made = Made::default().put(8, 8, "<").put(5, 8, "-");
        made.0.push(Splice::remove(Span::new(0, 2)));
        let splices = made.splices(body).unwrap();
        assert_eq!(splices.apply(body), "234-<89");
        assert_eq!(splices.first_edit_at(), Some(0));
    }

    #[test]
    fn copies_bytes_from_elsewhere() {
        let body = "abc|def";
        let mut bits = Fragments::default();
        let forgotten = bits.mark();
        bits.write(|out| out.push_str("never mind"));
        bits.forget(forgotten);
        let mark = bits.mark();
        bits.copy(Span::new(4, 7));
        bits.write(|out| out.push('|'));
        bits.copy(Span::new(0, 3));
        let swap = bits.splice(Span::new(0, 7), mark);
        assert_eq!(swap.new_len(), body.len());
        let splices = Splices::new(body, vec![swap], bits).unwrap();
        assert_eq!(splices.apply(body), "def|abc");
    }

    #[test]
    fn refuses_overlap_and_bad_bounds() {
        let at = |made: Made| made.splices("añb").unwrap_err().at;
        let made = Made::default;
        assert_eq!(at(made().put(0, 3, "").put(1, 4, "")), 1);
        assert_eq!(at(made().put(2, 3, "")), 2, "inside a character");
        assert_eq!(at(made().put(4, 9, "")), 4, "behind the end");
        assert_eq!(at(made().copy(Span::new(0, 1), Span::new(2, 3))), 0);
    }
}
