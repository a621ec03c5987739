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
    /// Decoding it would take more memory than its encoding allows.
    WindowTooLarge,
    /// It took too long.
    OverTime,
    /// There is no memory for it.
    NoRoom,
}

impl DecodeError {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Unknown => "unknown-encoding",
            Self::Broken => "broken-encoding",
            Self::TooLarge => "too-large-decoded",
            Self::WindowTooLarge => "encoding-window-too-large",
            Self::OverTime => "over-budget",
            Self::NoRoom => "no-room",
        }
    }
}

/// Called with the number of bytes decoded so far; an error stops the decoding.
pub(crate) type Watch<'w> = dyn FnMut(usize) -> Result<(), DecodeError> + 'w;

/// The decoded body, of at most `limit` bytes.
pub(crate) fn decode(
    encoding: Encoding,
    body: &[u8],
    limit: usize,
) -> Result<Vec<u8>, DecodeError> {
    decode_watched(encoding, body, limit, &mut |_| Ok(()))
}

/// The decoded body, of at most `limit` bytes, as long as `watch` agrees.
pub(crate) fn decode_watched(
    encoding: Encoding,
    body: &[u8],
    limit: usize,
    watch: &mut Watch<'_>,
) -> Result<Vec<u8>, DecodeError> {
    let mut out = Output {
        bytes: Vec::new(),
        limit,
        watch,
    };
    match encoding {
        Encoding::Identity => out.read(body)?,
        Encoding::Gzip => out.read(flate2::read::MultiGzDecoder::new(body))?,
        Encoding::Deflate => out.read(flate2::read::ZlibDecoder::new(body))?,
        Encoding::Brotli if has_large_window(body) => return Err(DecodeError::WindowTooLarge),
        Encoding::Brotli => out.read(brotli_decompressor::Decompressor::new(body, 4096))?,
        Encoding::Zstd => read_zstd_frames(body, &mut out)?,
        Encoding::Other => return Err(DecodeError::Unknown),
    }
    Ok(out.bytes)
}

/// The largest window of a zstd frame. RFC 9659 allows no larger one as a content encoding (checked November
/// 2026): 8 MB, which level 19 uses.
const ZSTD_MAX_WINDOW_BYTES: u64 = 8 << 20;

/// Frames one after another; those that carry no content are passed over.
fn read_zstd_frames(mut body: &[u8], out: &mut Output<'_, '_>) -> Result<(), DecodeError> {
    use ruzstd::decoding::StreamingDecoder;
    use ruzstd::decoding::errors::FrameDecoderError;
    loop {
        if let Some(rest) = after_skippable_frame(body)? {
            body = rest;
        } else {
            let frame =
                StreamingDecoder::new_with_max_window_size(&mut body, ZSTD_MAX_WINDOW_BYTES);
            let frame = frame.map_err(|error| match error {
                FrameDecoderError::WindowSizeTooBig { .. } => DecodeError::WindowTooLarge,
                _ => DecodeError::Broken,
            })?;
            out.read(frame)?;
        }
        if body.is_empty() {
            return Ok(());
        }
    }
}

/// What follows a zstd frame without content (RFC 8878, 3.1.2); `None`: this is another frame.
fn after_skippable_frame(body: &[u8]) -> Result<Option<&[u8]>, DecodeError> {
    let Some(([magic @ .., 0x2a, 0x4d, 0x18], rest)) = body.split_first_chunk::<4>() else {
        return Ok(None);
    };
    if magic[0] & 0xf0 != 0x50 {
        return Ok(None);
    }
    let (size, rest) = rest.split_first_chunk().ok_or(DecodeError::Broken)?;
    let size = u32::from_le_bytes(*size) as usize;
    rest.get(size..).map(Some).ok_or(DecodeError::Broken)
}

/// Whether a brotli stream has a window of up to 1 GiB, which is no part of the content encoding `br` (RFC 7932
/// reserves these bits) and which the decoder would allocate at once.
fn has_large_window(body: &[u8]) -> bool {
    body.first().is_some_and(|first| first & 0x7f == 0x11)
}

/// Decoded bytes.
struct Output<'o, 'w> {
    bytes: Vec<u8>,
    limit: usize,
    watch: &'o mut Watch<'w>,
}

impl Output<'_, '_> {
    /// Takes everything in that the reader gives.
    fn read(&mut self, mut reader: impl Read) -> Result<(), DecodeError> {
        const STEP_BYTES: usize = 64 << 10;
        let most = self.limit.saturating_add(1);
        loop {
            let before = self.bytes.len();
            let step = STEP_BYTES.min(most - before);
            if self.bytes.capacity() - before < step {
                // Twice as much as before, as vectors grow, but not beyond the limit.
                let capacity = (self.bytes.capacity() * 2).max(before + step).min(most);
                self.bytes.reserve_exact(capacity - before);
            }
            let mut part = reader.by_ref().take(step as u64);
            let read = part.read_to_end(&mut self.bytes);
            read.map_err(|_| DecodeError::Broken)?;
            if self.bytes.len() > self.limit {
                return Err(DecodeError::TooLarge);
            }
            (self.watch)(self.bytes.len())?;
            if self.bytes.len() - before < step {
                return Ok(());
            }
        }
    }
}

/// Decodes a response chunk by chunk into `W`. The response itself is not touched.
pub(crate) enum SideDecoder<W: Write> {
    Plain(W),
    Gzip(Box<flate2::write::MultiGzDecoder<W>>),
    Deflate(Box<flate2::write::ZlibDecoder<W>>),
    Brotli {
        decoder: Box<brotli_decompressor::DecompressorWriter<W>>,
        has_begun: bool,
    },
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
            Encoding::Brotli => Some(Self::Brotli {
                decoder: Box::new(brotli_decompressor::DecompressorWriter::new(sink, 4096)),
                has_begun: false,
            }),
            Encoding::Zstd | Encoding::Other => None,
        }
    }

    /// Feeds a chunk; false when the rest cannot be read.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> bool {
        let fed = match self {
            Self::Plain(sink) => sink.write_all(chunk),
            Self::Gzip(decoder) => decoder.write_all(chunk).and_then(|()| decoder.flush()),
            Self::Deflate(decoder) => decoder.write_all(chunk).and_then(|()| decoder.flush()),
            Self::Brotli { decoder, has_begun } => {
                if !*has_begun && has_large_window(chunk) {
                    return false;
                }
                *has_begun |= !chunk.is_empty();
                decoder.write_all(chunk).and_then(|()| decoder.flush())
            }
        };
        fed.is_ok()
    }

    pub(crate) fn sink(&mut self) -> &mut W {
        match self {
            Self::Plain(sink) => sink,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
            Self::Brotli { decoder, .. } => decoder.get_mut(),
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

    /// A zstd frame with a window of `1 << (10 + exponent)` bytes, made of these blocks.
    fn zstd_frame(exponent: u8, blocks: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3];
        for (number, (kind, block)) in blocks.iter().enumerate() {
            let is_last = u32::from(number + 1 == blocks.len());
            let header =
                (u32::try_from(block.len()).unwrap() << 3) | u32::from(*kind << 1) | is_last;
            frame.extend(&header.to_le_bytes()[..3]);
            frame.extend(block);
        }
        frame
    }

    /// A block of sequences that each repeat the last byte 65,539 times.
    fn swelling_block(sequences: u16) -> Vec<u8> {
        let [low, high] = (sequences - 0x7f00).to_le_bytes();
        // No literals; the codes of all sequences are the same: no literal, offset 1, longest match.
        let mut block = vec![0x00, 0xff, low, high, 0x54, 0, 2, 52];
        // 2 bits of offset and 16 bits of length each, and the bit that ends the stream.
        block.extend(vec![0; usize::from(sequences) * 18 / 8]);
        block.push(1);
        block
    }

    /// One request of 131 KB took 5.28 GB and 14 seconds: blocks were decoded whole, however large they became,
    /// and windows of any size were kept.
    #[test]
    fn a_zstd_frame_with_a_huge_window_or_a_swelling_block_is_refused_before_it_takes_memory() {
        let raw = (0, b"xxxx".to_vec());
        for (exponent, expected) in [
            (13, Ok(b"xxxx".to_vec())),
            (14, Err(DecodeError::WindowTooLarge)),
            (17, Err(DecodeError::WindowTooLarge)),
            (31, Err(DecodeError::WindowTooLarge)),
        ] {
            let frame = zstd_frame(exponent, std::slice::from_ref(&raw));
            assert_eq!(
                decode(Encoding::Zstd, &frame, 1 << 20),
                expected,
                "{exponent}"
            );
        }
        let swelling = zstd_frame(13, &[raw, (2, swelling_block(50_000))]);
        assert!(swelling.len() < 131_072);
        let started = std::time::Instant::now();
        let decoded = decode(Encoding::Zstd, &swelling, 32 << 20);
        assert_eq!(decoded, Err(DecodeError::Broken));
        assert!(started.elapsed() < std::time::Duration::from_secs(2));
    }

    /// Only the first frame was decoded, and the rest of the body was lost.
    #[test]
    fn all_frames_of_a_zstd_body_are_decoded() {
        let frame = |text: &str| zstd_frame(10, &[(0, text.as_bytes().to_vec())]);
        let skipped = [0x5e, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3].to_vec();
        let body = [frame("one "), skipped.clone(), frame("two"), skipped].concat();
        assert_eq!(decode(Encoding::Zstd, &body, 100).unwrap(), b"one two");
        assert_eq!(decode(Encoding::Zstd, &body, 6), Err(DecodeError::TooLarge));
        for cut in [1, 4, 15] {
            let cut = &body[..body.len() - cut];
            assert_eq!(decode(Encoding::Zstd, cut, 100), Err(DecodeError::Broken));
        }
    }

    #[test]
    fn brotli_with_a_window_of_up_to_a_gigabyte_is_refused() {
        let body = [0x11, 0x1e, 0xff, 0xff, 0xff];
        assert_eq!(
            decode(Encoding::Brotli, &body, 100),
            Err(DecodeError::WindowTooLarge)
        );
        let mut side = SideDecoder::new(Encoding::Brotli, Vec::new()).unwrap();
        assert!(!side.feed(&body));
    }

    #[test]
    fn decoding_ends_when_its_watch_says_so() {
        let body = gzip(&vec![b'x'; 1 << 20]);
        let mut told = Vec::new();
        let mut watch = |bytes: usize| {
            told.push(bytes);
            match told.len() {
                3 => Err(DecodeError::OverTime),
                _ => Ok(()),
            }
        };
        let decoded = decode_watched(Encoding::Gzip, &body, 1 << 20, &mut watch);
        assert_eq!(decoded, Err(DecodeError::OverTime));
        assert_eq!(told, [64 << 10, 128 << 10, 192 << 10]);
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
