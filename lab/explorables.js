// The guided explorables: data, no code. `sets` are keys of the scenario (`table.key`) and values as
// TOML; a choice's `see` is what only its run shows. `facts` are what the text claims, by the engine:
// `value` is a path in a run's result or `series.NAME.ID.max|min|mean|last` (`max@T`: from T seconds
// on, `max@T-U`: up to U), of the run with that choice in that lane; test/explorables.test.mjs checks
// them. Bounds are worked out from the source that `bound` names, not from a run.
const head = (name, duration, warmup = "25%") => `schema = 1
name = "${name}"
duration = "${duration}"
warmup = "${warmup}"
`;

export default [
  {
    id: "aimd",
    title: "AIMD's sawtooth",
    question: "How much buffer does one flow need to keep its link busy?",
    setup: "10 Mbit/s, a round-trip time of 100 ms: a BDP of 125 packets of 1000 bytes. One flow starts at 0 s.",
    toml: `${head("aimd", "120s")}
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "100ms"
buffer = "0.1bdp"
queue = "droptail"

[flows.one]
protocol = "newreno"
`,
    change: {
      label: "The buffer, in bandwidth-delay products (BDP)",
      choices: [
        { label: "0.1 BDP", sets: { "topology.buffer": '"0.1bdp"' } },
        { label: "0.5 BDP", sets: { "topology.buffer": '"0.5bdp"' } },
        { label: "1 BDP", sets: { "topology.buffer": '"1bdp"' } },
        { label: "3 BDP", sets: { "topology.buffer": '"3bdp"' } },
      ],
    },
    charts: ["cwnd_pkts", "queue_pkts", "utilization_ratio", "srtt_s"],
    see: [
      "The window climbs by one packet a round trip and is halved at each loss: a sawtooth.",
      "Utilization falls below 1 whenever the queue has run empty after a halving.",
      "With more than 1 BDP the link is busy all the time, and the round-trip time only grows.",
    ],
    ask: {
      text: "From which buffer on is the link always busy?",
      options: ["a tenth of the BDP", "half the BDP", "one BDP", "three BDP"],
      right: 2,
      hint: "Look for the smallest buffer with which utilization, after slow start, never falls below 1.",
      because: "At a loss the window is BDP + buffer. Half of that still fills the pipe if the buffer is one BDP.",
    },
    why: [
      "A window of one BDP fills the line and no queue. What is above it waits in the buffer, so a loss comes at BDP + buffer.",
      "Halved, the window is (BDP + buffer)/2. If that is less than the BDP, the line idles until it has grown back, at one packet a round trip.",
      "More buffer than that never empties: a standing queue, and delay for nothing.",
    ],
    equation: ["W ← W + 1 each RTT", "W ← W/2 at a loss", "always busy:  (C·T + B)/2 ≥ C·T,", "so  B ≥ C·T"],
    where: "W is the window, C the link's rate, T the round-trip time without a queue, B the buffer. C·T is the BDP.",
    source: "Chiu and Jain 1989; RFC 5681; Appenzeller, Keslassy, McKeown 2004",
    facts: [
      // Below the BDP 0.45 BDP of rounds at a mean of 0.775, then 0.1 BDP of rounds of 1.05 T at 1.
      { choice: 0, value: "links.bottleneck.utilization_ratio", above: 0.77, below: 0.87, bound: "0.817 by the sawtooth's area, 5 % for recovery" },
      { choice: 2, value: "links.bottleneck.utilization_ratio", above: 0.98, bound: "B = C·T" },
      { choice: 3, value: "links.bottleneck.utilization_ratio", above: 0.98, bound: "B > C·T" },
      { choice: 3, value: "links.bottleneck.queue_mean_ratio", above: 0.33, bound: "the window never falls below 2 BDP, so that a third of the buffer is always full" },
    ],
  },
  {
    id: "slow-start",
    title: "Slow start's overshoot",
    question: "How many packets does slow start lose when it finds the end of the pipe?",
    setup: "20 Mbit/s and a buffer of one BDP. One flow starts at 0 s.",
    toml: `${head("slow-start", "6s", "0s")}
[topology]
kind = "dumbbell"
rate = "20Mbps"
rtt = "100ms"
buffer = "1bdp"
queue = "droptail"

[flows.one]
protocol = "sack"
`,
    change: {
      label: "The round-trip time",
      choices: [
        { label: "40 ms", sets: { "topology.rtt": '"40ms"' } },
        { label: "100 ms", sets: { "topology.rtt": '"100ms"' } },
        { label: "200 ms", sets: { "topology.rtt": '"200ms"' } },
      ],
    },
    charts: ["cwnd_pkts", "queue_pkts", "drops_pkts", "goodput_bps"],
    see: [
      "The window doubles each round trip until the buffer overflows.",
      "The drops come all within one round trip, and they are as many as line and buffer hold.",
      "The longer the round trip, the more packets are lost at once.",
    ],
    ask: {
      text: "With 20 Mbit/s, 100 ms, packets of 1000 bytes and a buffer of one BDP: about how many are lost?",
      options: ["one", "about 50", "about 500", "about 5000"],
      right: 2,
      hint: "In the run of 100 ms, look at the drops, or at the packets dropped in the numbers below the curves.",
      because: "Line and buffer hold 2 × 250 packets; in the round trip after the overflow the sender sends twice that.",
    },
    why: [
      "Each ACK lets two packets out, so packets arrive at twice the line's rate: of two, one waits.",
      "When the buffer is full, the window is BDP + B. The sender hears of the first loss a round trip later, and until then its window grows to twice that. What came too much is lost.",
    ],
    equation: ["W ← W + 1 for each ACK", "lost ≈ 2(C·T + B) − (C·T + B)", "= C·T + B"],
    where: "W is the window, C the link's rate, T the round-trip time without a queue, B the buffer.",
    source: "Jacobson 1988; RFC 5681 section 3.1",
    facts: [
      { choice: 0, value: "links.bottleneck.total_drops_pkts", above: 150, below: 250, bound: "C·T + B = 200, a quarter either way" },
      { choice: 1, value: "links.bottleneck.total_drops_pkts", above: 375, below: 625, bound: "C·T + B = 500" },
      { choice: 2, value: "links.bottleneck.total_drops_pkts", above: 750, below: 1250, bound: "C·T + B = 1000" },
    ],
  },
  {
    id: "bufferbloat",
    title: "Bufferbloat and CoDel",
    question: "What does a large buffer cost, and what does a clever queue do about it?",
    setup: "10 Mbit/s, a round-trip time of 40 ms. Four flows start within the first second.",
    toml: `${head("bufferbloat", "60s")}
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "40ms"
buffer = "500pkt"
queue = "droptail"

[flows.downloads]
protocol = "cubic"
count = 4
start = "uniform(0s, 1s)"
`,
    change: {
      label: "The queue",
      choices: [
        { label: "drop-tail, 500 packets", sets: { "topology.queue": '"droptail"', "topology.buffer": '"500pkt"' } },
        { label: "drop-tail, 50 packets", sets: { "topology.queue": '"droptail"', "topology.buffer": '"50pkt"' } },
        { label: "CoDel, 500 packets", sets: { "topology.queue": '"codel"', "topology.buffer": '"500pkt"' } },
      ],
    },
    charts: ["queue_pkts", "srtt_s", "goodput_bps", "utilization_ratio"],
    see: [
      "The big drop-tail buffer is nearly full all the time: each packet waits ten times the path's own delay.",
      "The small one is quick, as long as nobody needs more of it.",
      "CoDel has the big buffer, and leaves it almost empty; the goodput is the same.",
    ],
    ask: {
      text: "500 packets of 1000 bytes at 10 Mbit/s: how long does a full buffer make a packet wait?",
      options: ["4 ms", "40 ms", "400 ms"],
      right: 2,
      hint: "Turn packets into bits, and divide by the link's rate.",
      because: "500 × 8000 bit / 10 Mbit/s = 0.4 s, ten times the round trip.",
    },
    why: [
      "A loss-based sender grows until something is lost. A drop-tail queue loses only when it is full, so it is full.",
      "CoDel looks at how long packets have waited, not at how many wait. When even the shortest wait in 100 ms stays above 5 ms, it drops, and then at shorter and shorter intervals until the queue is good again.",
    ],
    equation: ["delay = q·P/C", "next drop:  t ← t + interval/√count"],
    where: "q packets of P bits wait for a link of rate C. interval is 100 ms; count is how many CoDel has dropped since the wait became too long.",
    source: "Nichols and Jacobson 2012; RFC 8289",
    facts: [
      { choice: 0, value: "links.bottleneck.queue_mean_pkts", above: 250, bound: "CUBIC cuts to 0.7 of (50 + 500), which leaves 335 waiting" },
      { choice: 0, value: "links.bottleneck.utilization_ratio", above: 0.99, bound: "the queue is never empty" },
      { choice: 2, value: "links.bottleneck.queue_mean_pkts", below: 50, bound: "a tenth of the buffer; its target is 6 packets" },
      { choice: 2, value: "links.bottleneck.utilization_ratio", above: 0.9, bound: "RFC 8289 appendix: full use is kept" },
    ],
  },
  {
    id: "red",
    title: "RED's average",
    question: "Why does RED look at an average of the queue, and how slow should it be?",
    setup: "20 Mbit/s, a round-trip time of 80 ms, a buffer of 300 packets. Twenty flows start within the first two seconds.",
    toml: `${head("red", "60s")}
[topology]
kind = "dumbbell"
rate = "20Mbps"
rtt = "80ms"
buffer = "300pkt"
queue = "early"

[queues.early]
kind = "red"
min_th_ratio = 0.1
max_th_ratio = 0.3
max_p = 0.1
w_q = 0.002
ecn = false

[flows.many]
protocol = "sack"
count = 20
start = "uniform(0s, 2s)"
`,
    change: {
      label: "The weight of a new sample, w_q",
      choices: [
        { label: "0.002, as the paper has it", sets: { "queues.early.w_q": "0.002" } },
        { label: "0.2: hardly an average", sets: { "queues.early.w_q": "0.2" } },
        { label: "0.00002: very slow", sets: { "queues.early.w_q": "0.00002" } },
      ],
    },
    charts: ["queue_pkts", "router_avg", "router_p_b", "goodput_bps"],
    see: [
      "The average follows the queue, and bursts do not show in it.",
      "With a large weight the average is the queue: each burst is punished.",
      "With a tiny weight RED hears of the first rush far too late: the buffer overflows as if there were no RED.",
    ],
    ask: {
      text: "After about how many arrivals does the average with w_q = 0.002 have 63 % of a step?",
      options: ["2", "500", "50 000"],
      right: 1,
      hint: "After one arrival the average has moved by w_q of the way.",
      because: "The memory is 1/w_q packets: 1/0.002 = 500.",
    },
    why: [
      "A burst is no congestion: a queue that is long for a moment does its work. Congestion is a queue that stays.",
      "The weight says how long is long. At 2500 packets a second, 500 arrivals are a fifth of a second, some round trips.",
    ],
    equation: ["avg ← (1 − w_q)·avg + w_q·q", "p_b = max_p·(avg − min_th)/(max_th − min_th)"],
    where: "q is the queue that an arriving packet finds, avg its average. Between min_th and max_th a packet is dropped with probability p_b, which RED then spreads so that drops do not come in clumps.",
    source: "Floyd and Jacobson, ToN 1993, sections 4 and 6",
    facts: [
      { choice: 0, value: "links.bottleneck.queue_mean_pkts", below: 90, bound: "max_th is 90 packets" },
      { choice: 2, value: "series.queue_pkts.0.max", above: 285, bound: "its memory of 50,000 arrivals is 20 s, so that the buffer of 300 fills first" },
    ],
  },
  {
    id: "xcp",
    title: "XCP's two controllers",
    question: "How can a link be full within a few round trips, and how does it become fair?",
    setup: "45 Mbit/s, a round-trip time of 40 ms, a buffer of one bandwidth-delay product: 225 packets of 1000 bytes. Five flows start at 0, 2, 4, 6 and 8 s.",
    toml: `${head("xcp", "12s", "10s")}
[topology]
kind = "dumbbell"
rate = "45Mbps"
rtt = "40ms"
buffer = "1bdp"
queue = "router"

[queues.router]
kind = "xcp"
alpha = 0.4
beta = 0.226

[flows.fwd]
protocol = "xcp"
count = 5
start = "every(2s)"
`,
    change: {
      label: "The efficiency controller's gain α (β goes with it: α²·√2)",
      choices: [
        { label: "α = 0.4, β = 0.226: the paper's", sets: { "queues.router.alpha": "0.4", "queues.router.beta": "0.226" },
          see: "φ starts at 90 kB, four tenths of what the link holds in a round trip, and the link is full within a third of a second, 8 round trips. It is filled too far: about 90 packets wait. So φ is below 0 until about 1 s, and the queue drains." },
        { label: "α = 0.1, β = 0.014: cautious", sets: { "queues.router.alpha": "0.1", "queues.router.beta": "0.014" },
          see: "φ starts at 22 kB, a tenth of what the link holds, and the link needs about a second, 25 round trips, until it is full. It is hardly filled too far, so that φ stays near 0 afterwards and only some packets wait." },
      ],
    },
    charts: ["utilization_ratio", "goodput_bps", "router_phi", "queue_pkts"],
    see: [
      "The first flow fills the link: φ is large while there is spare bandwidth, then returns to 0.",
      "Each newcomer gets its share while φ stays near 0: what it gains the others give up.",
      "From 1 s on there is hardly a queue.",
      "No packet is lost in the whole run: choose Drops for one of the curves, or see the numbers below them.",
    ],
    ask: {
      text: "The link is full, φ = 0, and one more flow comes. Which controller gives it bandwidth?",
      options: ["the efficiency controller", "the fairness controller", "neither: it waits for a loss"],
      right: 1,
      hint: "Look at φ when the second flow starts, at 2 s: it hardly moves. Which controller still works when φ is 0?",
      because: "The efficiency controller sees a full link and is content. The fairness controller takes from all flows in proportion to what they have, and gives the same amount back in equal parts.",
    },
    why: [
      "The two controllers are in the router. Every data packet has a header with its sender's window and round-trip time, and with a field for the answer, H_feedback. The sender first writes there by how much it would like its window to grow; the senders here have data without end and ask for the largest value. A router whose own answer is less writes that instead. The ACK takes the field back, and the sender adds it to its window, packet by packet. The router keeps nothing about single flows.",
      "The efficiency controller asks how much more or less all flows together should send. Once in a mean round trip d it computes φ, the change of the whole traffic in bytes. φ has two parts: α of the spare bandwidth S, which fills the link, minus β of the standing queue Q, which drains it.",
      "TCP adds one packet a round trip for each flow, however much is spare. φ is proportional to what is spare: on a link that is a hundred times as fast it is a hundred times as large, so both are filled in as many round trips. The paper calls this law MIMD, multiplicative in both directions.",
      "An answer takes a round trip to show, and meanwhile the router has answered again. With α = 0.4 that is too much: more arrives than the link carries (S < 0), and a queue stands (Q > 0), so φ is below 0 until both are gone. The loop is stable at every delay if α is below π/(4·√2) = 0.56 and β = α²·√2 (theorem 1). So β is 0.226 for α = 0.4 and 0.014 for α = 0.1.",
      "The fairness controller asks who shall have it. If φ > 0, the throughput of every flow grows by the same amount; if φ < 0, each falls in proportion to what it has. That is AIMD, as in TCP, and makes shares equal.",
      "At a full link φ is 0, and there would be nothing to deal out. So as long as φ is small, h bytes are dealt out in each round trip anyway, up to γ = a tenth of the traffic: what is taken by the second rule is given by the first. The sum stays, the shares move. This is shuffling, the next explorable.",
      "One law for each: multiplicative for the sum (MIMD), which is quick, AIMD for the shares, which is fair. TCP's single law has to be both.",
    ],
    equation: [
      "φ = α·d·S − β·Q",
      "β = α²·√2",
      "h = max(0, γ·y − |φ|)",
      "H_feedback = p_i − n_i",
      "p_i = ξ_p·rtt_i²·s_i/cwnd_i",
      "n_i = ξ_n·rtt_i·s_i",
      "cwnd ← cwnd + H_feedback  at each ACK",
    ],
    where:
      "d is the mean round-trip time, S the capacity less what arrives (below 0 if too much arrives), Q the queue that did not drain within a round trip, y the traffic that arrives in one. cwnd_i, rtt_i and s_i are the window, the round-trip time and the size of packet i. The router chooses ξ_p and ξ_n so that over all packets of a mean round trip the sum of p_i/rtt_i is what is given, (h + max(φ, 0))/d, and that of n_i/rtt_i what is taken, (h + max(−φ, 0))/d.",
    source: "Katabi, Handley, Rohrs, SIGCOMM 2002, sections 3.1 to 3.5 and 4, eqs. (1) to (4), (6), (7), (9), theorem 1",
    facts: [
      { choice: 0, value: "series.router_phi.0.max", above: 85e3, below: 95e3, bound: "alpha*d*C = 0.4 of 225 kB" },
      { choice: 1, value: "series.router_phi.0.max", above: 21e3, below: 24e3, bound: "0.1 of 225 kB" },
      { choice: 0, value: "series.utilization_ratio.0.mean@0.4-1", above: 0.95, bound: "0.6 of what is spare is left each round trip: 0.01 after 9" },
      { choice: 1, value: "series.utilization_ratio.0.mean@0.3-0.6", above: 0.3, below: 0.85, bound: "1 - 0.9^n, and n is 4 to 11 round trips" },
      { choice: 1, value: "series.utilization_ratio.0.mean@1.2-1.9", above: 0.93, bound: "1 - 0.9^26" },
      { choice: 0, value: "series.queue_pkts.0.max", above: 60, below: 180, bound: "answers of 90 packets each, two within a round trip" },
      { choice: 1, value: "series.queue_pkts.0.max", above: 5, below: 45, bound: "answers of 22.5 packets each, two within a round trip" },
      { choice: 0, value: "series.router_phi.0.min@0-1", below: -4.5e3, bound: "-beta*Q for 20 packets, of tens that stand" },
      { choice: 1, value: "series.router_phi.0.min", above: -2.25e3, bound: "a hundredth of 225 kB: near 0" },
      { choice: 0, value: "series.queue_pkts.0.max@1", below: 22.5, bound: "a tenth of the buffer" },
      { choice: 1, value: "series.queue_pkts.0.max@1", below: 22.5, bound: "a tenth of the buffer" },
      { choice: 1, value: "links.bottleneck.total_drops_pkts", below: 1, bound: "XCP section 5.2: no drops with this buffer" },
      { choice: 0, value: "links.bottleneck.utilization_ratio", above: 0.95, bound: "XCP section 5.2: utilization near 1" },
      { choice: 0, value: "links.bottleneck.total_drops_pkts", below: 1, bound: "XCP section 5.2: no drops with this buffer" },
      { choice: 0, value: "groups.fwd.jain_index_ratio", above: 0.99, bound: "figure 10: equal shares, 2 s or 50 RTTs after the last start" },
    ],
  },
  {
    id: "shuffling",
    title: "Shuffling",
    question: "A link is full and content. How does a newcomer get its share?",
    setup: "20 Mbit/s, a round-trip time of 50 ms, a buffer of one bandwidth-delay product: 125 packets of 1000 bytes. The old flow starts at 0 s, the newcomer at 10 s.",
    toml: `${head("shuffling", "30s", "25s")}
[topology]
kind = "dumbbell"
rate = "20Mbps"
rtt = "50ms"
buffer = "1bdp"
queue = "router"

[queues.router]
kind = "xcp"
gamma = 0.1

[flows.old]
protocol = "xcp"

[flows.newcomer]
protocol = "xcp"
start = "10s"
`,
    change: {
      label: "The part of the traffic that is shuffled, γ",
      choices: [
        { label: "γ = 0.1, the paper's", sets: { "queues.router.gamma": "0.1" },
          see: "The gap between the flows is halved in every 7 round trips, 0.35 s: after 2 s they have the same." },
        { label: "γ = 0: none", sets: { "queues.router.gamma": "0" },
          see: "φ is soon 0, and then nothing moves. The newcomer stays at a window of one packet and a half, of which it sends one in each round trip: 8000 bit in 50 ms, 0.16 Mbit/s." },
        { label: "γ = 0.3: more", sets: { "queues.router.gamma": "0.3" },
          see: "The gap is halved in every 2 round trips: after half a second they have the same." },
      ],
    },
    charts: ["goodput_bps", "router_h", "router_phi", "utilization_ratio"],
    see: [
      "Before the newcomer, one flow has the whole link. Look at the goodputs from 10 s on: what one gains the other loses.",
      "h is what is shuffled in a round trip. It is 0 while φ is large, at the start.",
    ],
    ask: {
      text: "What is shuffled?",
      options: ["the order of packets", "a part γ of the traffic: taken from all by what they have, given to all alike", "the ports of the router"],
      right: 1,
      hint: "Look at the goodput of both flows from 10 s on: what one gains the other loses, and the sum stays.",
      because: "In each round h is taken in proportion and given back in equal parts: rich flows lose, poor ones gain.",
    },
    why: [
      "The fairness controller has only φ to deal out, and at a full link φ is 0. So XCP deallocates and allocates the same h at once, when φ is small: the sum does not change, the shares do.",
      "Take two flows with rates x_1 and x_2. In a round trip each gives up a part γ of what it has, which leaves (1 − γ)·x_1 and (1 − γ)·x_2. Both get the same amount back. So the gap is now (1 − γ)·(x_1 − x_2): it shrinks by the factor 1 − γ.",
      "Without shuffling the newcomer gets what φ deals out, and that is little: the window of its first packet, and its half of the small changes by which φ keeps the link full.",
    ],
    equation: ["h = max(0, γ·y − |φ|)", "gap after n round trips ≈ (1 − γ)ⁿ"],
    where: "h is what is taken and given in a round trip, y the traffic that arrives in one, φ what the efficiency controller wants changed. If φ is larger than γ·y, there is enough to deal out, and h is 0. The gap is a part of what it was at first.",
    source: "Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.5, eq. (2)",
    facts: [
      { choice: 0, value: "groups.newcomer.goodput_bps.mean", above: 8.5e6, below: 10.5e6, bound: "300 round trips: (1 - 0.1)^300 is nothing, each has 10 Mb/s" },
      { choice: 2, value: "groups.newcomer.goodput_bps.mean", above: 8.5e6, below: 10.5e6, bound: "the same with more" },
      { choice: 1, value: "groups.newcomer.goodput_bps.mean", above: 0.15e6, below: 0.17e6, bound: "one packet of 8000 bits a round trip of 50 ms: 0.16 Mb/s" },
      { choice: 0, value: "series.cwnd_pkts.1.max@10-10.3", below: 45, bound: "6 round trips: the gap is still 0.9^6 = 0.53, a window of 30" },
      { choice: 0, value: "series.cwnd_pkts.1.min@12.2", above: 60, bound: "44 round trips: 0.9^44 = 0.01 of 62" },
      { choice: 2, value: "series.cwnd_pkts.1.min@10.6", above: 60, bound: "12 round trips: 0.7^12 = 0.014 of 62" },
    ],
  },
  {
    id: "vcp",
    title: "VCP's three modes",
    question: "What can a sender do with two bits from the network?",
    setup: "20 Mbit/s, a round-trip time of 80 ms, a buffer of one bandwidth-delay product: 200 packets of 1000 bytes. The first flow starts at 0 s, the others at 15 and 30 s.",
    toml: `${head("vcp", "60s", "40s")}
[topology]
kind = "dumbbell"
rate = "20Mbps"
rtt = "80ms"
buffer = "1bdp"
queue = "vcp"

[flows.fwd]
protocol = "vcp"
count = 2
start = "every(15s)"
`,
    change: {
      label: "How many flows",
      choices: [
        { label: "1 flow", sets: { "flows.fwd.count": "1" }, see: "Three cuts, 12 to 13 s apart: alone, one flow needs so long to add what a cut has taken." },
        { label: "2 flows, 15 s apart", sets: { "flows.fwd.count": "2" },
          see: "At each cut the larger window loses more, between cuts both grow alike. That is slow: after 60 s one is still more than twice the other." },
        { label: "3 flows, 15 s apart", sets: { "flows.fwd.count": "3" },
          see: "Three flows add faster, so cuts come more often; windows move towards each other at each, and are still far apart after 60 s." },
      ],
    },
    charts: ["cwnd_pkts", "sender_mode", "router_rho", "queue_pkts"],
    see: [
      "Mode 1, multiply: while the load factor is below 0.8 the window grows by a factor, faster and faster. The first flow needs 19 s for that.",
      "Mode 2, add: between 0.8 and 1 it grows slowly, in a straight line.",
      "Mode 3, cut: from 1 on it is multiplied by 0.875 once, then stands still for 200 ms.",
      "Mode 0 is before the first ACK. With several flows, the dashes of one curve show the others below it.",
      "After the first cut there is mode 2 and 3 only: the load never falls below 0.8 again.",
      "There is no loss, and hardly a queue.",
    ],
    ask: {
      text: "The load factor is 0.9. What does a sender do?",
      options: ["multiply its window", "add to its window", "cut its window"],
      right: 1,
      hint: "Look at the load factor while the mode is 2.",
      because: "High load, 0.8 to 1: additive increase, which keeps on moving shares towards fairness.",
    },
    why: [
      "Each 200 ms a router compares what arrived, and a part of its queue, with what it can carry: the load factor ρ. It writes the region of ρ into the two ECN bits of data packets, unless a router before it wrote a higher one: 01 for low load, below 0.8; 10 for high load, up to 1; 11 for overload. Senders start with 01; 00 still says, as elsewhere, that a packet's sender knows nothing of ECN, and is left alone. The receiver copies the bits into the ACK. The router does no more; which law is right for a region the sender knows. In the numbers below the curves, marked packets are those whose code the router raised, to 10 or 11.",
      "Low load, multiplicative increase: the window grows by a sixteenth in each 200 ms, whatever the round-trip time. How long that takes grows only with the logarithm of the rate. It leaves shares as they are, which does not matter while there is enough for all.",
      "Why a sixteenth? As XCP's φ, the growth should be proportional to what is spare: ξ = κ·(1 − ρ)/ρ. But the sender knows only that ρ is below 0.8. It takes the smallest growth that this allows, that for ρ = 0.8. The paper proves that the loop is stable with κ = 0.25 (section V, theorem 1); and one such step from just below 0.8 ends at 0.85, far from overload.",
      "The price is a slow start that deserves the name. A sixteenth in 200 ms doubles a window in 2.3 s, where TCP's slow start doubles it in a round trip, 80 ms. To 0.8 of the link it is 157 packets, 7.3 doublings from one packet: 17 s, and 2 s more because a window of 1.9 packets sends only one. TCP would need 0.6 s.",
      "High load, additive increase; overload, multiplicative decrease: AIMD, which moves shares towards each other, but slowly. The gap between two windows shrinks only at a cut, to 0.875 of what it was, and with two flows here a cut comes every 6 s. After the six cuts up to 60 s there is 0.875⁶ = 0.45 of the gap left. The paper says so itself: VCP converges to fairness much more slowly than XCP.",
      "A cut shows late. Until the 200 ms of a measurement are over, no router knows of the smaller load, and codes of the old one keep coming. So a sender holds its window for 200 ms after a cut. The new code then takes a round trip to arrive, and for that round trip the sender adds, whatever codes come.",
      "Why 0.8 and 0.875? A cut at full load leaves 0.875 of it, which is above the border of 0.8: so flows stay in AIMD, and multiply again only when bandwidth becomes free. If a cut were a half, as TCP's is, the border would have to be below 0.5, and much of the link would be idle after each cut. A border of 0.95 would need a cut to no less than 0.95, and then 14 cuts to halve a window when a newcomer needs room.",
    ],
    equation: [
      "ρ = (λ + κ_q·q)/(γ·C·t_ρ)",
      "MI:  w ← w·(1 + ξ_s)",
      "AI:  w ← w + α_s",
      "MD:  w ← w·β",
      "ξ_s = (1 + ξ)^(rtt/t_ρ) − 1",
      "α_s = α·(rtt/t_ρ)²",
      "ξ = κ·(1 − 0.8)/0.8 = 0.0625",
    ],
    where:
      "λ is the bytes that arrived in t_ρ = 200 ms, q the average of the queue, κ_q = 0.5, γ = 0.98 the wanted utilization, C the rate. w changes once a round trip by MI and AI; α is 1 packet and β 0.875. The scaled ξ_s lets windows of all round-trip times grow by the same factor in t_ρ. In α_s one rtt/t_ρ does the same for AI, the other makes rates equal rather than windows. With 80 ms ξ_s is 0.025 and α_s 0.16 packets. These letters are the paper's: its α, β and γ have nothing to do with XCP's.",
    source: "Xia, Subramanian, Stoica, Kalyanaraman, ToN 2008, sections III and V, eqs. (1) to (8), theorem 1",
    facts: [
      { choice: 0, value: "series.router_rho.0.max@0-15", below: 0.8, bound: "1.0625^(15/0.2) = 94 packets of the 157 that are 0.8" },
      { choice: 0, value: "series.router_rho.0.max@0-20", above: 0.8, bound: "16.7 s to 157 packets, twice as long for the first doubling" },
      { choice: 0, value: "series.sender_xi_s.0.last", above: 0.0242, below: 0.025, bound: "1.0625^0.4 - 1 = 0.0246" },
      { choice: 0, value: "series.sender_alpha_s.0.last", above: 0.155, below: 0.165, bound: "0.4^2 = 0.16" },
      { choice: 1, value: "series.cwnd_pkts.0.max", above: 160, below: 204, bound: "a window at which one flow has nearly all of 200 packets" },
      { choice: 1, value: "groups.fwd.jain_index_ratio", above: 0.5, below: 0.9, bound: "a gap of 0.875^3 to 0.875^6 of the first: shares of 7 to 1 up to 2.4 to 1" },
      { choice: 2, value: "groups.fwd.jain_index_ratio", above: 0.33, below: 0.9, bound: "two newcomers, as far behind" },
      { choice: 1, value: "series.queue_pkts.0.max", below: 20, bound: "a tenth of the buffer: the load is measured before a queue stands" },
      { choice: 1, value: "links.bottleneck.total_drops_pkts", below: 1, bound: "VCP section IV-A: no drops" },
      { choice: 1, value: "links.bottleneck.utilization_ratio", above: 0.8, bound: "a cut to 0.875 of full load, less half a step" },
      { choice: 0, value: "series.sender_mode.0.max", above: 2.5, bound: "overload is met" },
      { choice: 0, value: "series.router_rho.0.min@40", above: 0.8, bound: "section III-B: an MD leaves at least 0.875 of full load, and AI follows" },
      { choice: 2, value: "series.router_rho.0.min@40", above: 0.8, bound: "the same with three flows" },
    ],
  },
  {
    id: "vcp-xcp",
    title: "VCP against XCP",
    question: "What is more than two bits worth?",
    setup: "45 Mbit/s and a buffer of one bandwidth-delay product. Four flows start at 0, 10, 20 and 30 s.",
    toml: `${head("vcp-xcp", "60s", "50s")}
[topology]
kind = "dumbbell"
rate = "45Mbps"
rtt = "80ms"
buffer = "1bdp"
queue = "vcp"

[flows.fwd]
protocol = "vcp"
count = 4
start = "every(10s)"
`,
    change: {
      label: "The round-trip time",
      choices: [
        { label: "80 ms", sets: { "topology.rtt": '"80ms"' } },
        { label: "20 ms", sets: { "topology.rtt": '"20ms"' } },
        { label: "200 ms", sets: { "topology.rtt": '"200ms"' } },
      ],
    },
    beside: { label: "xcp", sets: { "topology.queue": '"xcp"', "flows.fwd.protocol": '"xcp"' } },
    charts: ["goodput_bps", "queue_pkts", "utilization_ratio", "cwnd_pkts"],
    see: [
      "Both fill the link, and neither loses packets.",
      "XCP's newcomers have their share within a second; VCP's need many cuts until shares are equal.",
      "XCP's header says how much to change. VCP's says only in which direction.",
    ],
    ask: {
      text: "Where is XCP clearly better?",
      options: ["in utilization", "in losses", "in how fast flows become equal"],
      right: 2,
      hint: "Compare the utilization of the two runs, then their drops, then how far apart the flows' goodputs are.",
      because: "The feedback of a packet is a number: shares move by a tenth each round trip. AIMD by 0.875 needs many rounds.",
    },
    why: [
      "Two bits fit into the IP header that is there. XCP needs a header of its own, and routers that compute with it.",
      "With AIMD, the difference of two flows shrinks only at a cut, to 0.875 of what it was; between two cuts windows grow for seconds. The question of the paper is whether that is slow enough to mind.",
    ],
    equation: ["VCP: 0.875ᵏ after k cuts", "XCP: about 0.9ⁿ after n round trips"],
    where: "This is the difference of two flows' rates, as a part of what it was at first.",
    source: "Xia and others, ToN 2008, sections III and IV-D; Katabi and others, SIGCOMM 2002, section 5",
    facts: [
      { choice: 0, lane: 1, value: "groups.fwd.jain_index_ratio", above: 0.99, bound: "20 s are 250 round trips after the last start" },
      { choice: 0, lane: 0, value: "links.bottleneck.total_drops_pkts", below: 1, bound: "VCP section IV-A: no drops" },
      { choice: 0, lane: 1, value: "links.bottleneck.total_drops_pkts", below: 1, bound: "XCP section 5.2: no drops" },
      { choice: 0, lane: 0, value: "links.bottleneck.utilization_ratio", above: 0.85, bound: "a cut to 0.875" },
    ],
  },
  {
    id: "dpcp",
    title: "DPCP's two packets",
    question: "How do you say four bits when a packet has room for two?",
    setup: "A round-trip time of 80 ms and a buffer of one bandwidth-delay product; 45 Mbit/s unless you choose another rate. Three flows start at 0, 10 and 20 s.",
    toml: `${head("dpcp", "60s", "45s")}
[topology]
kind = "dumbbell"
rate = "45Mbps"
rtt = "80ms"
buffer = "1bdp"
queue = "dpcp"

[flows.fwd]
protocol = "dpcp"
count = 3
start = "every(10s)"
`,
    change: {
      label: "The rate",
      choices: [
        { label: "45 Mbit/s", sets: { "topology.rate": '"45Mbps"' } },
        { label: "10 Mbit/s", sets: { "topology.rate": '"10Mbps"' } },
        { label: "100 Mbit/s", sets: { "topology.rate": '"100Mbps"' } },
      ],
    },
    beside: { label: "vcp, one packet's two bits", sets: { "topology.queue": '"vcp"', "flows.fwd.protocol": '"vcp"' } },
    charts: ["cwnd_pkts", "router_rho", "sender_lf", "utilization_ratio"],
    see: [
      "Packets go in pairs: the first carries the zone (msp), the second the level in that zone (lsp).",
      "Together they are a load factor of nine levels (lf), where VCP knows three.",
      "Near full load the steps of DPCP are smaller than VCP's.",
    ],
    ask: {
      text: "How does a receiver know which packet of a pair it has?",
      options: ["a new header says so", "the fields of TCP that are there: sequence numbers in two orders", "by the time between them"],
      right: 1,
      hint: "It needs no new header and no clock.",
      because: "No new header: the order of numbers in TCP's own fields tells the first packet from the second, and is undone at the ends.",
    },
    why: [
      "A load factor that is known more exactly lets a sender choose its step: large far from full load, small near it, and a cut that fits the overload.",
      "Two bits a packet, two packets: four bits. A router writes the zone into one and the level into the other.",
    ],
    equation: ["lf = 4·msp + lsp", "msp: 1 low, 2 high, 3 overload", "lsp: 1 to 3 within it"],
    where: "msp is what the first packet of a pair carries, the most significant packet, lsp what the second does, the least significant packet; lf is both together.",
    source: "Li, Yousefi'zadeh, Distributed ECN-based congestion control, section III",
    facts: [
      { choice: 0, lane: 0, value: "series.sender_lf.0.max", above: 11.9, below: 15.1, bound: "section III: 5 to 15, and overload is met: 4·3 + 1 or more, or the last high level" },
      { choice: 0, lane: 0, value: "links.bottleneck.utilization_ratio", above: 0.85, bound: "a cut near full load" },
      { choice: 0, lane: 0, value: "links.bottleneck.total_drops_pkts", below: 1, bound: "the load code comes before the buffer is full" },
    ],
  },
  {
    id: "max-min",
    title: "Max-min on a parking lot",
    question: "What is fair to a flow that crosses three links while others cross one?",
    setup: "Three links of 9 Mbit/s in a row, and round-trip times of 80 ms. The long flow crosses all three, the others one each. All start at 0 s.",
    toml: `${head("max-min", "90s", "50%")}
[topology]
kind = "parking-lot"
links = 3
rate = "9Mbps"
owd = "10ms"
buffer = "1bdp"
queue = "xcp"

[flows.long]
protocol = "xcp"
path = "long"
rtt = "80ms"

[flows.cross]
protocol = "xcp"
count = 1
path = "each"
rtt = "80ms"
`,
    change: {
      label: "Protocol, and flows across each link",
      choices: [
        { label: "XCP, one across each link", sets: { "topology.queue": '"xcp"', "flows.long.protocol": '"xcp"', "flows.cross.protocol": '"xcp"', "flows.cross.count": "1" } },
        { label: "XCP, two across each link", sets: { "topology.queue": '"xcp"', "flows.long.protocol": '"xcp"', "flows.cross.protocol": '"xcp"', "flows.cross.count": "2" } },
        { label: "TCP (SACK), one across each link", sets: { "topology.queue": '"droptail"', "flows.long.protocol": '"sack"', "flows.cross.protocol": '"sack"', "flows.cross.count": "1" } },
      ],
    },
    charts: ["goodput_bps", "utilization_ratio", "queue_pkts", "cwnd_pkts"],
    see: [
      "With XCP and one flow across each link, the long flow has about half of each link.",
      "With two across, about a third.",
      "TCP's long flow has much less: it hears of the losses of three links.",
    ],
    ask: {
      text: "9 Mbit/s links, two flows across each: what is the long flow's max-min fair share?",
      options: ["2.25 Mbit/s", "3 Mbit/s", "4.5 Mbit/s"],
      right: 1,
      hint: "Count the flows on one link.",
      because: "Each link has three flows and nobody is limited elsewhere: 9/3.",
    },
    why: [
      "An allocation is max-min fair if nobody can have more without somebody who has less or the same having less still. On links of one rate with equally many flows that is an equal split, however many links a flow crosses.",
      "XCP's feedback is the smallest over the path, so the tightest link decides. Losses add up over a path, so TCP punishes who crosses more of them.",
    ],
    equation: ["share of the long flow = C/(n + 1)", "H_feedback ← min(H_feedback, router's own)"],
    where: "C is the rate of each link, n the number of flows that cross it besides the long one. H_feedback is the field in XCP's header.",
    source: "Bertsekas and Gallager, section 6.5; Katabi and others 2002, section 5.2; Low, Andrew, Wydrowski 2005 for where XCP departs from it",
    facts: [
      { choice: 0, value: "groups.long.goodput_bps.mean", above: 3.6e6, below: 4.8e6, bound: "4.5 Mb/s; Low, Andrew, Wydrowski: utilization is at least 0.8" },
      { choice: 1, value: "groups.long.goodput_bps.mean", above: 2.4e6, below: 3.2e6, bound: "3 Mb/s; the same" },
      { choice: 2, value: "groups.long.goodput_bps.mean", below: 3.6e6, bound: "thrice the losses: C/(1 + sqrt 3) = 3.3 Mb/s by the square-root law, below XCP's floor of 3.6" },
    ],
  },
];
