//! What the applications of flows offer to their transports, where that is not all at once.
//!
//! An application offers one packet's worth at a time; what the window holds back stays offered.
//! The first packet is offered when the flow starts, the next ones each `size / rate` later; those
//! of a Poisson process each an exponential time with that mean later, the first one, too. With on
//! and off periods that clock stands still while the application is off, so that the long-run mean
//! is the rate times the share of time on, however short the periods are.
//!
//! A video in layers offers its packets at the rate of as many layers as its pace, or its window
//! over the smoothed RTT, has room for, and chooses anew every so often (Hsiao, Hwang, "A max-min
//! fairness congestion control for streaming layered video", ICASSP 2004, have the layers picked by
//! XCP's rate).
//!
//! The next offer is part of a source's `boundary`, so a source without an application of this kind
//! pays nothing.

use scenario::{App, DelayLaw, MAX_LAYERS};
use transport::Outbound;
use units::random::Stream;
use units::{Span, Time};

/// How the applications of a group behave.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    /// From one packet to the next while the application is on; the mean where it is drawn.
    gap: Span,
    /// Is the gap drawn from an exponential distribution?
    poisson: bool,
    /// The laws of on and off periods; `None`: always on.
    periods: Option<(DelayLaw, DelayLaw)>,
    layers: Option<Layers>,
}

/// A video's layers.
#[derive(Clone, Copy, Debug)]
struct Layers {
    /// From one packet to the next with so many layers, from one on.
    gaps: [Span; MAX_LAYERS],
    every: Span,
}

impl Layers {
    /// As many layers as a rate has room for that sends a packet each `gap`, and one at least.
    fn gap(&self, gap: Span) -> Span {
        self.gaps.iter().rev().copied().find(|&own| own >= gap).unwrap_or(self.gaps[0])
    }
}

/// One flow's application.
#[derive(Clone, Debug)]
struct Talk {
    offered: u64,
    /// When the next packet is offered.
    next: Time,
    /// The end of the on period that `next` lies in.
    on_until: Time,
    /// Draws the periods.
    stream: Stream,
    /// The present layers' gap, and when they are chosen anew.
    gap: Span,
    choice: Time,
}

/// The applications of all flows.
#[derive(Clone, Debug)]
pub struct Apps {
    /// By group; `None`: all is offered at once.
    patterns: Vec<Option<Pattern>>,
    /// By flow; empty when no group has a pattern.
    talks: Vec<Talk>,
    /// Nothing that is due later matters.
    end: Time,
}

impl Pattern {
    fn of(app: &App, packet_bytes: u32) -> Option<Pattern> {
        match *app {
            // What a relay has to send is the affair of `relays`.
            App::Greedy | App::Relay { .. } => None,
            App::Rate(rate) => Some(Pattern::even(rate, packet_bytes)),
            App::Poisson(rate) => {
                Some(Pattern { poisson: true, ..Pattern::even(rate, packet_bytes) })
            }
            App::OnOff { rate, on, off } => {
                Some(Pattern { periods: Some((on, off)), ..Pattern::even(rate, packet_bytes) })
            }
            App::Layers { sums, every } => {
                let gaps = sums.map(|rate| rate.serialization(packet_bytes));
                let base = Pattern::even(sums[0], packet_bytes);
                Some(Pattern { layers: Some(Layers { gaps, every }), ..base })
            }
        }
    }

    fn even(rate: units::Rate, packet_bytes: u32) -> Pattern {
        let gap = rate.serialization(packet_bytes);
        Pattern { gap, poisson: false, periods: None, layers: None }
    }

    /// The time from one packet to the next while the application is on.
    fn gap(&self, stream: &mut Stream) -> Span {
        if !self.poisson {
            return self.gap;
        }
        Span::from_secs_f64(stream.exponential(self.gap.as_secs()))
    }
}

impl Apps {
    /// Those of a scenario that ends at `end`.
    pub fn new(scenario: &scenario::Scenario, end: Time) -> Apps {
        let packet_bytes = scenario.packets.data_bytes;
        let patterns = scenario.groups.iter().map(|group| Pattern::of(&group.app, packet_bytes));
        Apps { patterns: patterns.collect(), talks: Vec::new(), end }
    }

    /// The run ends at another time than was said at its start.
    pub fn set_end(&mut self, end: Time) {
        self.end = end;
    }

    /// Do the flows of this group have an application that offers packet by packet?
    pub fn any(&self, group: u32) -> bool {
        self.patterns[group as usize].is_some()
    }

    /// A flow of `group` starts at `now`, and so does its application.
    pub fn start(
        &mut self,
        (flow, group): (u32, u32),
        now: Time,
        outbound: &mut Outbound,
        mut stream: Stream,
    ) {
        let Some(pattern) = self.patterns[group as usize] else { return };
        let on_until = match pattern.periods {
            None => Time::NEVER,
            Some((on, _)) => now + on.draw(&mut stream),
        };
        // A Poisson process has no packet at its start.
        let next = if pattern.poisson { now + pattern.gap(&mut stream) } else { now };
        let (gap, choice) = (pattern.gap, Time::ZERO);
        let talk = Talk { offered: 0, next, on_until, stream, gap, choice };
        let flow = flow as usize;
        if self.talks.len() <= flow {
            self.talks.resize(flow + 1, talk.clone());
        }
        self.talks[flow] = talk;
        self.talks[flow].skip_off(&pattern, self.end);
        outbound.offer(0);
    }

    /// Offers what is due by `now` of a flow whose pace or window gives it a packet each `own`;
    /// returns when the next packet is.
    #[cold]
    #[inline(never)]
    pub fn offer(
        &mut self,
        (flow, group): (u32, u32),
        now: Time,
        own: Span,
        outbound: &mut Outbound,
    ) -> Time {
        let Some(pattern) = self.patterns[group as usize] else { return Time::NEVER };
        let talk = &mut self.talks[flow as usize];
        while talk.next <= now {
            talk.offered += 1;
            let gap = match pattern.layers {
                None => pattern.gap(&mut talk.stream),
                Some(layers) => talk.layered(layers, own),
            };
            talk.next = talk.next + gap;
            talk.skip_off(&pattern, self.end);
        }
        outbound.offer(talk.offered);
        if outbound.all_offered() { Time::NEVER } else { talk.next }
    }
}

impl Talk {
    /// The gap behind the packet that is due now.
    fn layered(&mut self, layers: Layers, own: Span) -> Span {
        if self.next >= self.choice {
            self.choice = self.next + layers.every;
            self.gap = layers.gap(own);
        }
        self.gap
    }

    /// Moves `next` on by the off periods in front of it.
    fn skip_off(&mut self, pattern: &Pattern, end: Time) {
        let Some((on, off)) = pattern.periods else { return };
        while self.next >= self.on_until && self.on_until <= end {
            let left = self.next.since(self.on_until);
            let on_again = self.on_until + off.draw(&mut self.stream);
            self.on_until = on_again + on.draw(&mut self.stream);
            self.next = on_again + left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Config;
    use units::Rate;

    /// The offers of one flow in the first `seconds`.
    fn offers(app: App, seconds: u64) -> Vec<Time> {
        let end = Time::ZERO + Span::from_secs(seconds);
        let mut apps = Apps { patterns: vec![Pattern::of(&app, 1000)], talks: Vec::new(), end };
        let mut outbound = Outbound::new(&Config::default(), None);
        apps.start((0, 0), Time::ZERO, &mut outbound, Stream::new(1, 0, "app"));
        let mut times = Vec::new();
        let mut next = apps.talks[0].next;
        while next <= end {
            times.push(next);
            next = apps.offer((0, 0), next, Span::ZERO, &mut outbound);
        }
        assert_eq!(apps.talks[0].offered, times.len() as u64);
        times
    }

    fn ms(t: u64) -> Span {
        Span::from_millis(t)
    }

    /// Layers of 1, 1 and 2 Mb/s are packets of 1000 B each 8, 4 and 2 ms. A window of 10 in 100 ms
    /// has room for one, of 25 and 49 for two, of 50 for all, and one of 1 for the base all the
    /// same.
    #[test]
    fn layers_are_picked_by_the_rate() {
        let sums = [1, 2, 4, 4, 4, 4, 4, 4].map(|rate| Rate(rate * 1_000_000));
        let app = App::Layers { sums, every: Span::from_secs(1) };
        let Some(Pattern { layers: Some(layers), .. }) = Pattern::of(&app, 1000) else {
            panic!("layers")
        };
        for (window, gap) in [(1, 8), (10, 8), (25, 4), (49, 4), (50, 2), (500, 2)] {
            assert_eq!(layers.gap(Span(ms(100).0 / window)), ms(gap), "{window}");
        }
    }

    /// 8 Mb/s are a packet of 1000 B each millisecond, the first at once.
    #[test]
    fn a_rate_is_a_packet_at_a_time() {
        let times = offers(App::Rate(Rate(8_000_000)), 1);
        let expected: Vec<_> = (0..=1000).map(|i| Time::ZERO + ms(i)).collect();
        assert_eq!(times, expected);
    }

    /// A packet per 4 ms of on time; 6 ms on, 10 ms off: on-time 0, 4 | 8, (12 is the end of the
    /// second period, so it opens the third) 12, 16 | 20, and so on.
    #[test]
    fn the_clock_stands_still_while_off() {
        let (on, off) = (DelayLaw::Fixed(ms(6)), DelayLaw::Fixed(ms(10)));
        let times = offers(App::OnOff { rate: Rate(2_000_000), on, off }, 1);
        let expected = [0, 4, 18, 32, 36, 50].map(|t| Time::ZERO + ms(t));
        assert_eq!(times[..6], expected);
    }

    /// 1000 packets/s for 100 s: 10^5 with a standard deviation of sqrt(10^5) = 316; gaps of mean 1
    /// ms of which the part above it is 1/e = 0.3679, give or take sqrt(0.3679*0.6321/10^5) =
    /// 0.0015.
    #[test]
    fn a_poisson_process_has_exponential_gaps() {
        let times = offers(App::Poisson(Rate(8_000_000)), 100);
        assert!((times.len() as f64 - 1e5).abs() < 1300.0, "{}", times.len());
        let gaps = times.windows(2).map(|pair| pair[1].since(pair[0]));
        let long = gaps.filter(|gap| *gap > ms(1)).count() as f64 / times.len() as f64;
        assert!((long - 0.3679).abs() < 0.006, "{long}");
        assert!(times[0] > Time::ZERO);
    }

    /// On for 2 s and off for 6 s on average at 8 Mb/s: a quarter of 1000 packets/s. The standard
    /// error over 20,000 s (2,500 cycles) is about 250 * sqrt(2 / 2500) * 0.75 = 5.3 packets/s.
    #[test]
    fn the_long_run_mean_is_the_rate_times_the_share_on() {
        let law = |s| DelayLaw::Exponential(Span::from_secs(s));
        let app = App::OnOff { rate: Rate(8_000_000), on: law(2), off: law(6) };
        let mean = offers(app, 20_000).len() as f64 / 20_000.0;
        assert!((mean - 250.0).abs() < 20.0, "{mean}");
        // Periods far shorter than a packet's time give the same mean.
        let law = |us| DelayLaw::Exponential(Span::from_micros(us));
        let app = App::OnOff { rate: Rate(8_000_000), on: law(20), off: law(60) };
        let mean = offers(app, 100).len() as f64 / 100.0;
        assert!((mean - 250.0).abs() < 2.5, "{mean}");
    }
}
