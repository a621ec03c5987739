//! Compressed bodies: decoded whole on the way in, read on the side on the way out.

use std::io::{Read, Write};

use http::{HeaderMap, header};

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
    /// One that is not known, or several on top of each other.
    Other,
}

impl Encoding {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let value = match (values.next(), values.next()) {
            (None, _) => return Self::Identity,
            (Some(value), None) => value,
            _ => return Self::Other,
        };
        let value = value.to_str().unwrap_or("?").trim();
        let is = |name: &str| value.eq_ignore_ascii_case(name);
        match () {
            () if is("identity") || value.is_empty() => Self::Identity,
            () if is("gzip") || is("x-gzip") => Self::Gzip,
            () if is("deflate") => Self::Deflate,
            () if is("br") => Self::Brotli,
            () if is("zstd") => Self::Zstd,
            () => Self::Other,
        }
    }
}

/// Why a compressed body was not decoded. It then goes out as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    Unknown,
    Broken,
    TooLarge,
}

impl DecodeError {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Unknown => "unknown-encoding",
            Self::Broken => "broken-encoding",
            Self::TooLarge => "too-large-decoded",
        }
    }
}

/// The decoded body, of at most `limit` bytes.
pub(crate) fn decode(
    encoding: Encoding,
    body: &[u8],
    limit: usize,
) -> Result<Vec<u8>, DecodeError> {
    match encoding {
        Encoding::Identity => Ok(body.to_vec()),
        Encoding::Gzip => read_all(flate2::read::MultiGzDecoder::new(body), limit),
        Encoding::Deflate => read_all(flate2::read::ZlibDecoder::new(body), limit),
        Encoding::Brotli => read_all(brotli_decompressor::Decompressor::new(body, 4096), limit),
        Encoding::Zstd => {
            let decoder =
                ruzstd::decoding::StreamingDecoder::new(body).map_err(|_| DecodeError::Broken)?;
            read_all(decoder, limit)
        }
        Encoding::Other => Err(DecodeError::Unknown),
    }
}

fn read_all(reader: impl Read, limit: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    let mut reader = reader.take(limit as u64 + 1);
    reader
        .read_to_end(&mut out)
        .map_err(|_| DecodeError::Broken)?;
    if out.len() > limit {
        return Err(DecodeError::TooLarge);
    }
    Ok(out)
}

/// Decodes a response chunk by chunk into `W`. The response itself is not touched.
pub(crate) enum SideDecoder<W: Write> {
    Plain(W),
    Gzip(Box<flate2::write::MultiGzDecoder<W>>),
    Deflate(Box<flate2::write::ZlibDecoder<W>>),
    Brotli(Box<brotli_decompressor::DecompressorWriter<W>>),
}

impl<W: Write> SideDecoder<W> {
    /// `None` where the encoding cannot be read chunk by chunk.
    pub(crate) fn new(encoding: Encoding, sink: W) -> Option<Self> {
        match encoding {
            Encoding::Identity => Some(Self::Plain(sink)),
            Encoding::Gzip => Some(Self::Gzip(Box::new(flate2::write::MultiGzDecoder::new(
                sink,
            )))),
            Encoding::Deflate => Some(Self::Deflate(Box::new(flate2::write::ZlibDecoder::new(
                sink,
            )))),
            Encoding::Brotli => Some(Self::Brotli(Box::new(
                brotli_decompressor::DecompressorWriter::new(sink, 4096),
            ))),
            Encoding::Zstd | Encoding::Other => None,
        }
    }

    /// Feeds a chunk; false when the rest cannot be read.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> bool {
        let fed = match self {
            Self::Plain(sink) => sink.write_all(chunk),
            Self::Gzip(decoder) => decoder.write_all(chunk).and_then(|()| decoder.flush()),
            Self::Deflate(decoder) => decoder.write_all(chunk).and_then(|()| decoder.flush()),
            Self::Brotli(decoder) => decoder.write_all(chunk).and_then(|()| decoder.flush()),
        };
        fed.is_ok()
    }

    pub(crate) fn sink(&mut self) -> &mut W {
        match self {
            Self::Plain(sink) => sink,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn decodes_within_the_limit_only() {
        let text = b"hello ".repeat(1000);
        let body = gzip(&text);
        assert_eq!(decode(Encoding::Gzip, &body, text.len()).unwrap(), text);
        assert_eq!(
            decode(Encoding::Gzip, &body, text.len() - 1),
            Err(DecodeError::TooLarge)
        );
        assert_eq!(
            decode(Encoding::Gzip, &body[..body.len() - 9], 1 << 20),
            Err(DecodeError::Broken)
        );
        assert_eq!(
            decode(Encoding::Brotli, b"\xff\xff\xff", 10),
            Err(DecodeError::Broken)
        );
        assert_eq!(
            decode(Encoding::Zstd, b"nonsense", 10),
            Err(DecodeError::Broken)
        );
        assert_eq!(decode(Encoding::Other, b"", 10), Err(DecodeError::Unknown));
        let zstd = ruzstd::encoding::compress_to_vec(
            &text[..],
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        assert_eq!(decode(Encoding::Zstd, &zstd, text.len()).unwrap(), text);
    }

    #[test]
    fn decodes_brotli() {
        // 20 × "hello ", as another implementation packs it.
        let packed = [
            27, 119, 0, 248, 141, 148, 110, 222, 68, 85, 134, 150, 108, 32, 111, 17, 91, 28, 128,
            197, 1,
        ];
        let text = b"hello ".repeat(20);
        assert_eq!(decode(Encoding::Brotli, &packed, 1000).unwrap(), text);
        assert_eq!(
            decode(Encoding::Brotli, &packed, 100),
            Err(DecodeError::TooLarge)
        );
        let mut side = SideDecoder::new(Encoding::Brotli, Vec::new()).unwrap();
        assert!(packed.chunks(2).all(|chunk| side.feed(chunk)));
        assert_eq!(side.sink().as_slice(), text);
    }

    #[test]
    fn a_response_is_decoded_however_it_is_cut() {
        let body = gzip(b"some text that is read on the side");
        for size in [1, 3, 1000] {
            let mut side = SideDecoder::new(Encoding::Gzip, Vec::new()).unwrap();
            assert!(body.chunks(size).all(|chunk| side.feed(chunk)));
            assert_eq!(
                side.sink().as_slice(),
                b"some text that is read on the side"
            );
        }
    }

    #[test]
    fn stacked_encodings_are_left_alone() {
        let mut headers = HeaderMap::new();
        headers.insert("content-encoding", "gzip, br".parse().unwrap());
        assert_eq!(Encoding::of(&headers), Encoding::Other);
        headers.insert("content-encoding", "GZIP".parse().unwrap());
        assert_eq!(Encoding::of(&headers), Encoding::Gzip);
    }
}
