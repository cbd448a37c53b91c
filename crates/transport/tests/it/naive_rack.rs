//! RFC 8985's sections 5 and 6 as the text has them, with a walk over all segments: the referee of
//! the scoreboard by time.

use clearpipe_transport::Range;
use units::{Span, Time};

#[derive(Clone, Copy, Debug)]
struct Segment {
    xmit_ts: Time,
    retransmitted: bool,
    sacked: bool,
    lost: bool,
}

#[derive(Debug)]
pub struct NaiveRack {
    una: u64,
    segments: Vec<Segment>,
    dup_thresh: usize,
    xmit: Option<(Time, u64)>,
    rtt: Span,
    fack: u64,
    reordering_seen: bool,
    dsack_round: Option<u64>,
    mult: u64,
    persist: i64,
    /// In fast recovery, or that after a timeout, until so many are acknowledged.
    recover: Option<u64>,
}

impl NaiveRack {
    pub fn new(dup_thresh: u32) -> NaiveRack {
        NaiveRack {
            una: 0,
            segments: Vec::new(),
            dup_thresh: dup_thresh as usize,
            xmit: None,
            rtt: Span::ZERO,
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            mult: 1,
            persist: 0,
            recover: None,
        }
    }

    pub fn transmit(&mut self, seq: u64, now: Time) {
        let retransmitted = seq < self.segments.len() as u64;
        let segment = Segment { xmit_ts: now, retransmitted, sacked: false, lost: false };
        if retransmitted {
            self.segments[seq as usize] = segment;
        } else {
            self.segments.push(segment);
        }
    }

    /// `times` are min_RTT and SRTT.
    pub fn on_ack(&mut self, now: Time, to: u64, blocks: &[Range], times: (Span, Span)) {
        let (min_rtt, srtt) = times;
        let una = self.una.max(to);
        let arrived =
            |seq: u64| seq < una || blocks.iter().any(|b| (b.start..b.end).contains(&seq));
        let mut news: Vec<u64> = (self.una..self.segments.len() as u64)
            .filter(|&seq| !self.segments[seq as usize].sacked && arrived(seq))
            .collect();
        for &seq in &news {
            self.detect_reordering(seq);
        }
        news.sort_by_key(|&seq| (self.segments[seq as usize].xmit_ts, seq));
        for seq in news {
            self.update(seq, now, min_rtt);
        }
        let dsack = blocks.first().is_some_and(|first| {
            let within = |b: &Range| b.start <= first.start && first.end <= b.end;
            first.end <= to || blocks.get(1).is_some_and(within)
        });
        self.una = una;
        let exiting = self.recover.is_some_and(|recover| una >= recover);
        if exiting {
            self.recover = None;
        }
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && dsack {
            self.dsack_round = Some(self.segments.len() as u64);
            self.mult += 1;
            self.persist = 16;
        } else if exiting && !dsack {
            self.persist -= 1;
            if self.persist <= 0 {
                self.mult = 1;
            }
        }
        self.detect_loss(now, min_rtt, srtt);
        // Sent in the recovery that has ended, found lost in it, and not arrived since.
        let open = |s: &Segment| !s.sacked && (s.lost || s.retransmitted);
        if exiting && self.segments.iter().skip(una as usize).any(open) {
            self.recover = Some(self.segments.len() as u64);
        }
    }

    /// RACK_update, called in ascending order of xmit_ts.
    fn update(&mut self, seq: u64, now: Time, min_rtt: Span) {
        let segment = self.segments[seq as usize];
        let rtt = now.since(segment.xmit_ts);
        if !(segment.retransmitted && rtt < min_rtt) {
            self.rtt = rtt;
            if self.xmit.is_none_or(|latest| (segment.xmit_ts, seq) > latest) {
                self.xmit = Some((segment.xmit_ts, seq));
            }
        }
        self.segments[seq as usize].sacked = true;
        self.segments[seq as usize].lost = false;
    }

    /// RACK_detect_reordering, called in ascending order of end_seq.
    fn detect_reordering(&mut self, seq: u64) {
        if seq + 1 > self.fack {
            self.fack = seq + 1;
        } else if !self.segments[seq as usize].retransmitted {
            self.reordering_seen = true;
        }
    }

    fn reo_wnd(&self, min_rtt: Span, srtt: Span) -> Span {
        let sacked =
            self.segments.iter().skip(self.una as usize).filter(|segment| segment.sacked).count();
        if !self.reordering_seen && (self.recover.is_some() || sacked >= self.dup_thresh) {
            return Span::ZERO;
        }
        Span(self.mult * min_rtt.0 / 4).min(srtt)
    }

    pub fn detect_loss(&mut self, now: Time, min_rtt: Span, srtt: Span) {
        let patience = self.rtt + self.reo_wnd(min_rtt, srtt);
        let Some(latest) = self.xmit else { return };
        let mut found = false;
        for (seq, segment) in self.segments.iter_mut().enumerate().skip(self.una as usize) {
            let waits = !segment.sacked && !segment.lost;
            if waits && latest > (segment.xmit_ts, seq as u64) && segment.xmit_ts + patience <= now
            {
                segment.lost = true;
                found = true;
            }
        }
        if found && self.recover.is_none() {
            self.recover = Some(self.segments.len() as u64);
        }
    }

    pub fn on_timeout(&mut self, now: Time, min_rtt: Span, srtt: Span) {
        let patience = self.rtt + self.reo_wnd(min_rtt, srtt);
        for (seq, segment) in self.segments.iter_mut().enumerate().skip(self.una as usize) {
            let first = seq as u64 == self.una;
            if !segment.sacked && (first || segment.xmit_ts + patience <= now) {
                segment.lost = true;
            }
        }
        self.recover = Some(self.segments.len() as u64);
    }

    pub fn is_lost(&self, seq: u64) -> bool {
        self.segments[seq as usize].lost
    }

    pub fn pipe(&self) -> u64 {
        let out = self.segments.iter().skip(self.una as usize);
        out.filter(|segment| !segment.sacked && !segment.lost).count() as u64
    }
}
