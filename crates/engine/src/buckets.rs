//! A ring of buckets, each an unordered set of keys.
//!
//! The keys lie in chunks that all buckets share. A `Vec` for each bucket would keep the capacity
//! of the fullest time it ever saw, and allocate whenever a bucket sees a fuller one; the chunks
//! are as many as the keys once needed, and one for each bucket.

/// How many buckets there are. Their lists are 8 kB, so an insertion misses the cache at most for
/// the key itself.
pub const BUCKETS: u64 = 1024;

const WORDS: usize = BUCKETS as usize / 64;
const KEYS: usize = 15;
const NONE: u32 = u32::MAX;

/// Four cache lines of keys.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    keys: [u128; KEYS],
    /// The next chunk of the bucket, which is full, or of the free list.
    next: u32,
}

/// One bucket's keys.
#[derive(Clone, Copy, Debug)]
struct List {
    /// The chunk that is being filled.
    chunk: u32,
    /// Keys in it; in a bucket without a chunk, as if it were full.
    filled: u32,
}

const NO_KEYS: List = List { chunk: NONE, filled: KEYS as u32 };

/// The buckets of [`BUCKETS`] successive numbers.
#[derive(Clone, Debug)]
pub struct Buckets {
    lists: Vec<List>,
    /// A bit for each bucket that has keys.
    occupied: [u64; WORDS],
    chunks: Vec<Chunk>,
    free: u32,
    len: usize,
}

impl Default for Buckets {
    fn default() -> Buckets {
        let lists = vec![NO_KEYS; BUCKETS as usize];
        Buckets { lists, occupied: [0; WORDS], chunks: Vec::new(), free: NONE, len: 0 }
    }
}

impl Buckets {
    /// Keys held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Keys for which there is memory.
    #[cfg(test)]
    pub fn room(&self) -> usize {
        KEYS * self.chunks.capacity()
    }

    /// Puts a key into bucket `number`.
    #[inline]
    pub fn insert(&mut self, number: u64, key: u128) {
        let at = (number % BUCKETS) as usize;
        if self.lists[at].filled == KEYS as u32 {
            self.add_chunk(at);
        }
        let list = &mut self.lists[at];
        self.chunks[list.chunk as usize].keys[list.filled as usize] = key;
        list.filled += 1;
        self.len += 1;
    }

    fn add_chunk(&mut self, at: usize) {
        let id = if self.free == NONE {
            self.chunks.push(Chunk { keys: [0; KEYS], next: NONE });
            (self.chunks.len() - 1) as u32
        } else {
            self.free
        };
        let chunk = &mut self.chunks[id as usize];
        if self.free == id {
            self.free = chunk.next;
        }
        chunk.next = self.lists[at].chunk;
        self.lists[at] = List { chunk: id, filled: 0 };
        self.occupied[at / 64] |= 1 << (at % 64);
    }

    /// The first bucket from `number` on that has keys, by looking at 17 words at most.
    pub fn first_from(&self, number: u64) -> Option<u64> {
        let at = (number % BUCKETS) as usize;
        let (word, bit) = (at / 64, at % 64);
        let ahead = |word: usize, bits: u64| {
            let found = 64 * word as u64 + u64::from(bits.trailing_zeros());
            (bits != 0).then(|| number + (found.wrapping_sub(at as u64)) % BUCKETS)
        };
        ahead(word, self.occupied[word] >> bit << bit).or_else(|| {
            (1..=WORDS).find_map(|step| {
                let word = (word + step) % WORDS;
                ahead(word, self.occupied[word])
            })
        })
    }

    /// Moves the keys of bucket `number` to the end of `keys`, in no order.
    pub fn drain_into(&mut self, number: u64, keys: &mut Vec<u128>) {
        let at = (number % BUCKETS) as usize;
        let List { chunk: mut id, mut filled } = std::mem::replace(&mut self.lists[at], NO_KEYS);
        self.occupied[at / 64] &= !(1 << (at % 64));
        while id != NONE {
            let chunk = &mut self.chunks[id as usize];
            keys.extend_from_slice(&chunk.keys[..filled as usize]);
            self.len -= filled as usize;
            filled = KEYS as u32;
            (id, chunk.next, self.free) = (chunk.next, self.free, id);
        }
    }
}
