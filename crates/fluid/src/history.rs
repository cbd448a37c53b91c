//! The past: values at the instants ("nodes") at which steps ended, linear in between.
//!
//! All histories share their nodes, so an instant is looked up once in the list of nodes and gives
//! the place in any history. With steps of one length that is arithmetic, else a search.

/// Where an instant lies: between two places of a ring, at a share of the way.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub before: usize,
    pub after: usize,
    pub share: f64,
}

/// The nodes that are remembered, in a ring.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// [s]
    times: Vec<f64>,
    /// Number of the newest node; its place is the number modulo the ring's length.
    newest: usize,
    /// Nodes there are, at most the ring's length.
    count: usize,
    /// Steps per second, if all have one length.
    per_second: Option<f64>,
}

impl Nodes {
    /// One node at zero; `places` is a power of two.
    pub fn new(places: usize, fixed: Option<f64>) -> Nodes {
        debug_assert!(places.is_power_of_two() && places >= 4);
        let per_second = fixed.map(|step| 1.0 / step);
        Nodes { times: vec![0.0; places], newest: 0, count: 1, per_second }
    }

    /// Places in the ring.
    pub fn places(&self) -> usize {
        self.times.len()
    }

    /// The newest node's place.
    pub fn place(&self) -> usize {
        self.newest & (self.times.len() - 1)
    }

    /// Would another node take the place of one that is not older than `time`?
    pub fn full(&self, time: f64) -> bool {
        self.count == self.times.len() && self.times[(self.newest + 2) & self.mask()] >= time
    }

    /// The newest node's number.
    pub fn newest(&self) -> usize {
        self.newest
    }

    /// Have all steps one length, this last one too?
    pub fn on_time(&self, to: f64) -> bool {
        self.per_second.is_some_and(|pace| to * pace >= self.newest as f64 - 1e-6)
    }

    fn mask(&self) -> usize {
        self.times.len() - 1
    }

    /// Twice as many places. Values move from the place that is given first to the second.
    pub fn grow(&mut self) -> Vec<(usize, usize)> {
        let (old, new) = (self.mask(), 2 * self.times.len() - 1);
        let oldest = self.newest + 1 - self.count;
        let moves: Vec<_> = (oldest..=self.newest).map(|n| (n & old, n & new)).collect();
        self.times = moved(&self.times, old + 1, &moves);
        moves
    }

    /// A node after all others.
    pub fn push(&mut self, time: f64) {
        self.newest += 1;
        self.count = (self.count + 1).min(self.times.len());
        let place = self.place();
        self.times[place] = time;
    }

    /// Takes the newest node back.
    pub fn pop(&mut self) {
        self.newest -= 1;
        self.count -= 1;
    }

    /// Looks up instants.
    #[inline]
    pub fn finder(&self) -> Finder<'_> {
        let Nodes { times, newest, count, per_second } = self;
        let oldest = newest + 1 - count;
        Finder { times, newest: *newest, oldest, per_second: *per_second }
    }
}

/// Looks up instants; a value of its own, so that a loop that writes elsewhere need not read it
/// again.
#[derive(Clone, Copy, Debug)]
pub struct Finder<'a> {
    times: &'a [f64],
    newest: usize,
    oldest: usize,
    per_second: Option<f64>,
}

impl Finder<'_> {
    #[inline]
    fn mask(&self) -> usize {
        self.times.len() - 1
    }

    /// Where `time` lies. Before the oldest node its values hold, after the newest its.
    #[inline]
    pub fn locate(&self, time: f64) -> At {
        match self.per_second {
            Some(pace) => self.locate_fixed(time * pace),
            None => self.locate_any(time),
        }
    }

    #[inline]
    fn locate_fixed(&self, steps: f64) -> At {
        if steps >= self.newest as f64 {
            let newest = self.newest & self.mask();
            return At { before: newest, after: newest, share: 0.0 };
        }
        // A cast to an integer saturates at zero; one to 32 bits is the quickest, and enough.
        let n = (steps as u32 as usize).max(self.oldest);
        let share = (steps - n as f64).max(0.0);
        At { before: n & self.mask(), after: (n + 1) & self.mask(), share }
    }

    fn locate_any(&self, time: f64) -> At {
        let newest = self.newest & self.mask();
        if time >= self.times[newest] {
            return At { before: newest, after: newest, share: 0.0 };
        }
        let (mut low, mut high) = (self.oldest, self.newest);
        if time <= self.times[low & self.mask()] {
            return At { before: low & self.mask(), after: low & self.mask(), share: 0.0 };
        }
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.times[middle & self.mask()] <= time {
                low = middle;
            } else {
                high = middle;
            }
        }
        let (before, after) = (low & self.mask(), high & self.mask());
        let (t0, t1) = (self.times[before], self.times[after]);
        let share = if t1 > t0 { (time - t0) / (t1 - t0) } else { 1.0 };
        At { before, after, share }
    }
}

/// Rings of `old` places each, in rings twice as long.
pub fn moved<T: Copy + Default>(rings: &[T], old: usize, moves: &[(usize, usize)]) -> Vec<T> {
    let mut new = vec![T::default(); 2 * rings.len()];
    for (ring, wide) in rings.chunks(old).zip(new.chunks_mut(2 * old)) {
        for &(from, to) in moves {
            wide[to] = ring[from];
        }
    }
    new
}

impl At {
    /// The place of the node that ends the step it lies in.
    #[inline]
    pub fn step(self) -> usize {
        if self.share > 0.0 { self.after } else { self.before }
    }

    /// The value in a ring.
    #[inline]
    pub fn of(self, ring: &[f64]) -> f64 {
        let (before, after) = (ring[self.before], ring[self.after]);
        before + self.share * (after - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_linear_between_nodes() {
        for fixed in [Some(0.5), None] {
            let mut nodes = Nodes::new(4, fixed);
            let mut ring = vec![0.0; 4];
            for i in 1..=6_u32 {
                nodes.push(0.5 * f64::from(i));
                ring[nodes.place()] = f64::from(i * i);
            }
            // Nodes 3 to 6 are left: (1.5, 9), (2, 16), (2.5, 25), (3, 36).
            assert_eq!(nodes.finder().locate(2.25).of(&ring), 20.5);
            assert_eq!(nodes.finder().locate(2.5).of(&ring), 25.0);
            assert_eq!(nodes.finder().locate(9.0).of(&ring), 36.0);
            assert_eq!(nodes.finder().locate(0.2).of(&ring), 9.0);
            let moves = nodes.grow();
            let ring = moved(&ring, 4, &moves);
            nodes.push(3.5);
            assert_eq!(nodes.finder().locate(2.25).of(&ring), 20.5);
        }
    }

    #[test]
    fn a_ring_is_full_when_its_oldest_node_is_still_needed() {
        let mut nodes = Nodes::new(4, None);
        for t in [1.0, 2.0, 3.0] {
            nodes.push(t);
        }
        // The next node takes the place of time 0, and lookups from 1 on stay possible.
        assert!(!nodes.full(1.5) && nodes.full(0.5));
    }
}
