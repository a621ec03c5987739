//! A prompt as the list of blocks that a cache compares.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};

use super::{CacheKind, CacheRules, Life};

/// Where a block is in its body. All counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockPlace {
    /// A definition of a tool.
    Tool(u32),
    /// A block of the instructions.
    Instructions(u32),
    /// A block of a message: the message, and the block in it.
    Message(u32, u32),
}

impl fmt::Display for BlockPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(at) => write!(f, "tools[{at}]"),
            Self::Instructions(at) => write!(f, "system[{at}]"),
            Self::Message(message, block) => write!(f, "messages[{message}].content[{block}]"),
        }
    }
}

/// One block of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it is.
    pub place: BlockPlace,
    /// A hash of its content without markers. The same in every process of this version.
    pub key: u64,
    /// Its length as written, in bytes, without markers.
    pub bytes: usize,
    /// The client's marker on it.
    pub marker: Option<Life>,
    /// Whether a marker may be put on it.
    pub may_be_marked: bool,
}

/// The blocks of a prompt in the order in which a model reads them: tools, instructions, messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockList {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// A marker at the top level of the body.
    pub top_level: Option<Life>,
    /// Whether the provider's own breakpoint is switched off.
    pub only_explicit: bool,
    /// Markers beyond the first on one block.
    pub more_markers: usize,
}

impl BlockList {
    /// How many of the places for markers are taken.
    #[must_use]
    pub fn marker_count(&self) -> usize {
        let on_blocks = self.blocks.iter().filter(|block| block.marker.is_some());
        on_blocks.count() + usize::from(self.top_level.is_some()) + self.more_markers
    }

    /// The blocks at which a request with these rules writes an entry, with the entry's life. Ascending.
    #[must_use]
    pub fn marked(&self, rules: &CacheRules) -> Vec<(u32, Life)> {
        let mut marked: Vec<(u32, Life)> = (0..)
            .zip(&self.blocks)
            .filter_map(|(at, block)| Some((at, block.marker?)))
            .collect();
        let last = match rules.kind {
            CacheKind::Automatic | CacheKind::None => return Vec::new(),
            CacheKind::Marked => self.top_level,
            CacheKind::Breakpoints => (!self.only_explicit).then_some(Life::Usual),
        };
        let end = self.blocks.iter().rposition(|block| block.may_be_marked);
        if let (Some(life), Some(end)) = (last, end.and_then(|end| u32::try_from(end).ok()))
            && !marked.iter().any(|&(at, _)| at == end)
        {
            marked.push((end, life));
        }
        marked
    }

    /// A hash of each prefix, from the first block to the whole. `salt` keeps the prompts of models apart.
    #[must_use]
    pub fn prefix_keys(&self, salt: &str) -> Vec<u64> {
        let mut hasher = DefaultHasher::new();
        hasher.write(salt.as_bytes());
        let prefix = |block: &Block| {
            hasher.write_u64(block.key);
            hasher.finish()
        };
        self.blocks.iter().map(prefix).collect()
    }

    /// The key of each block.
    #[must_use]
    pub fn keys(&self) -> Vec<u64> {
        self.blocks.iter().map(|block| block.key).collect()
    }

    /// The first block that differs from an earlier request with these keys. `None` if one is the start of the other.
    #[must_use]
    pub fn first_difference(&self, earlier: &[u64]) -> Option<usize> {
        let mut both = self.blocks.iter().zip(earlier);
        both.position(|(now, &then)| now.key != then)
    }
}
