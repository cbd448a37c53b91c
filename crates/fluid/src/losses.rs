//! Which of a class's packets are lost, where ACKs clock it.

use std::collections::VecDeque;

/// Of the first n packets that a class has sent, how many were lost before a place of its path or
/// there; linear between points.
#[derive(Clone, Debug)]
pub struct Lost(VecDeque<(f64, f64)>);

impl Default for Lost {
    fn default() -> Lost {
        Lost(VecDeque::from([(0.0, 0.0)]))
    }
}

impl Lost {
    /// Of the first `sent`, `lost` were lost. Neither is ever less than before.
    pub fn note(&mut self, sent: f64, lost: f64) {
        let Lost(points) = self;
        let last = points.len() - 1;
        if sent <= points[last].0 {
            points[last].1 = lost;
        } else if last > 0 && points[last - 1].1 == lost && points[last].1 == lost {
            points[last].0 = sent;
        } else {
            points.push_back((sent, lost));
        }
    }

    /// How many of the first `sent` were lost; no one asks for fewer again. Of packets that are not
    /// noted yet none.
    pub fn among(&mut self, sent: f64) -> f64 {
        let Lost(points) = self;
        while points.len() > 1 && points[1].0 <= sent {
            points.pop_front();
        }
        let (first, before) = points[0];
        let Some(&(last, after)) = points.get(1) else { return before };
        before + (after - before) * ((sent - first) / (last - first)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_lost_where_it_was_and_no_other() {
        let mut lost = Lost::default();
        lost.note(10.0, 0.0);
        lost.note(20.0, 0.0);
        // Of packets 20 to 24 half, of the next none.
        lost.note(24.0, 2.0);
        lost.note(30.0, 2.0);
        lost.note(30.0, 2.0);
        lost.note(40.0, 2.0);
        assert_eq!(lost.0.len(), 4);
        assert_eq!(
            [8.0, 20.0, 21.0, 24.0, 29.0, 50.0].map(|n| lost.among(n)),
            [0.0, 0.0, 0.5, 2.0, 2.0, 2.0]
        );
    }
}
