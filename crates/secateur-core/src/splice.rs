//! Byte replacements: sorted, disjoint and in bounds by construction, applied with one copy.

use std::borrow::Cow;

use crate::json::Span;

/// Something that goes into the gap of a splice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bit {
    /// New bytes.
    Text(Cow<'static, str>),
    /// Bytes of the body.
    Copy(Span),
}

impl Bit {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Copy(span) => span.len(),
        }
    }
}

/// The bytes of `span` become `with`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) span: Span,
    pub(crate) with: Vec<Bit>,
}

impl Splice {
    pub(crate) fn remove(span: Span) -> Self {
        Self {
            span,
            with: Vec::new(),
        }
    }

    /// Bytes that it puts in.
    pub(crate) fn new_len(&self) -> usize {
        self.with.iter().map(Bit::len).sum()
    }
}

/// Two edits that want the same bytes, or bytes that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edits overlap or leave the body at byte {at}")]
pub struct SpliceError {
    /// Where.
    pub at: u32,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Splices {
    sorted: Vec<Splice>,
}

impl Splices {
    pub(crate) fn new(body: &str, mut splices: Vec<Splice>) -> Result<Self, SpliceError> {
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
            let copies_fit = splice.with.iter().all(|bit| match bit {
                Bit::Copy(span) => fits(*span),
                Bit::Text(_) => true,
            });
            if at < end || !fits(splice.span) || !copies_fit {
                return Err(SpliceError { at });
            }
            end = splice.span.end;
        }
        Ok(Self { sorted: splices })
    }

    /// Where the first change is: the prefix before it is untouched.
    pub(crate) fn first_edit_at(&self) -> Option<u32> {
        self.sorted.first().map(|splice| splice.span.start)
    }

    /// Where a byte of the body stands in the output; a byte that is cut out: where its splice begins.
    pub(crate) fn moved(&self, at: u32) -> usize {
        let mut output = at as usize;
        for splice in &self.sorted {
            if splice.span.end > at {
                if splice.span.start < at {
                    output -= (at - splice.span.start) as usize;
                }
                break;
            }
            output = output + splice.new_len() - splice.span.len();
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
            for bit in &splice.with {
                match bit {
                    Bit::Text(text) => out.push_str(text),
                    Bit::Copy(span) => out.push_str(span.of(body)),
                }
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

    fn put(start: u32, end: u32, text: &'static str) -> Splice {
        Splice {
            span: Span::new(start, end),
            with: vec![Bit::Text(Cow::Borrowed(text))],
        }
    }

    #[test]
    fn nothing_to_do_borrows_the_body() {
        let body = "untouched";
        let out = Splices::new(body, Vec::new()).unwrap().apply(body);
        assert!(matches!(out, Cow::Borrowed(same) if std::ptr::eq(same, body)));
    }

    #[test]
    fn applies_in_body_order_whatever_the_order_given() {
        let body = "0123456789";
        let splices = vec![
            put(8, 8, "<"),
            put(5, 8, "-"),
            Splice::remove(Span::new(0, 2)),
        ];
        let splices = Splices::new(body, splices).unwrap();
        assert_eq!(splices.apply(body), "234-<89");
        assert_eq!(splices.first_edit_at(), Some(0));
    }

    #[test]
    fn copies_bytes_from_elsewhere() {
        let body = "abc|def";
        let swap = Splice {
            span: Span::new(0, 7),
            with: vec![
                Bit::Copy(Span::new(4, 7)),
                Bit::Text("|".into()),
                Bit::Copy(Span::new(0, 3)),
            ],
        };
        assert_eq!(
            Splices::new(body, vec![swap]).unwrap().apply(body),
            "def|abc"
        );
    }

    #[test]
    fn refuses_overlap_and_bad_bounds() {
        let at = |splices| Splices::new("añb", splices).unwrap_err().at;
        assert_eq!(at(vec![put(0, 3, ""), put(1, 4, "")]), 1);
        assert_eq!(at(vec![put(2, 3, "")]), 2, "inside a character");
        assert_eq!(at(vec![put(4, 9, "")]), 4, "behind the end");
        let copy = Splice {
            span: Span::new(0, 1),
            with: vec![Bit::Copy(Span::new(2, 3))],
        };
        assert_eq!(at(vec![copy]), 0);
    }
}
