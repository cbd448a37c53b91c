//! What comes of a script: tiny ones, worked by hand.

use std::path::Path;

use clearpipe_packetdrill::table::{run_file, scripts};
use clearpipe_packetdrill::{Verdict, run};

/// A passive connection with a segment size of 1000 bytes and an RTT of 100 ms, then `rest`; the
/// first line of `rest` is line 8.
fn connected(options: &str, rest: &str) -> Verdict {
    run(&listening(options, rest), Path::new("."))
}

fn listening(options: &str, rest: &str) -> String {
    format!(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
         +0 bind(3, ..., ...) = 0\n\
         +0 listen(3, 1) = 0\n\
         +0 < S 0:0(0) win 1000 <mss 1000{options}>\n\
         +0 > S. 0:0(0) ack 1 <...>\n\
         +.1 < . 1:1(0) ack 1 win 65535\n\
         +0 accept(3, ..., ...) = 4\n{rest}"
    )
}

fn pass(packets: usize, assertions: usize) -> Verdict {
    Verdict::Pass { packets, assertions }
}

fn differs(line: u32, expected: &str, got: &str) -> Verdict {
    Verdict::Differs { line, expected: expected.to_owned(), got: got.to_owned() }
}

fn beyond(line: u32, reason: &str) -> Verdict {
    Verdict::NotApplicable { line, reason: reason.to_owned() }
}

/// Ten segments at once (RFC 6928), and two for each that is acknowledged.
#[test]
fn a_first_window_and_slow_start() {
    let rest = "+0 write(4, ..., 30000) = 30000\n\
                +0 > P. 1:6001(6000) ack 1\n\
                +0 > P. 6001:10001(4000) ack 1\n\
                +0 %{ assert tcpi_snd_cwnd == 10 and tcpi_unacked == 10 }%\n\
                +.1 < . 1:1(0) ack 1001 win 65535\n\
                * > . 10001:12001(2000) ack 1\n\
                +0 %{\n\
                assert tcpi_snd_cwnd == 11\n\
                assert tcpi_rtt == 100000 and tcpi_min_rtt == 100000\n\
                assert tcpi_ca_state == TCP_CA_Open and tcpi_snd_ssthresh == 0x7fffffff\n}%";
    assert_eq!(connected("", rest), pass(3, 4));
}

/// Four segments, of which the first is lost. At the third SACK it is sent again; cubic's ssthresh
/// is 0.7 of the window of ten, as in Linux, and PRR lets out the one retransmission: 4 - 3 - 1 = 0
/// are in flight, and one may go out.
#[test]
fn a_loss_is_found_by_sack() {
    let rest = "+0 write(4, ..., 4000) = 4000\n\
                +0 > P. 1:4001(4000) ack 1\n\
                +.1 < . 1:1(0) ack 1 win 65535 <sack 1001:2001>\n\
                +0 %{ assert tcpi_ca_state == TCP_CA_Disorder and tcpi_sacked == 1 }%\n\
                +0 < . 1:1(0) ack 1 win 65535 <sack 1001:3001>\n\
                +0 < . 1:1(0) ack 1 win 65535 <sack 1001:4001>\n\
                +0 > . 1:1001(1000) ack 1\n\
                +0 %{\n\
                assert tcpi_ca_state == TCP_CA_Recovery\n\
                assert tcpi_sacked == 3 and tcpi_lost == 1 and tcpi_retrans == 1\n\
                assert tcpi_snd_ssthresh == 7 and tcpi_snd_cwnd == 1\n}%\n\
                +.1 < . 1:1(0) ack 4001 win 65535\n\
                +0 %{ assert tcpi_ca_state == TCP_CA_Open and tcpi_total_retrans == 1 }%";
    assert_eq!(connected(",sackOK", rest), pass(2, 5));
}

/// RFC 6298 as Linux has it: SRTT 100 ms and 200 ms above it. One segment is out, so the probe's
/// two RTTs and 200 ms would be later; 600 ms more after the back-off.
#[test]
fn the_timer_runs_out_and_backs_off() {
    let rest = "+0 write(4, ..., 1000) = 1000\n\
                +0 > P. 1:1001(1000) ack 1\n\
                +.3~+.301 > P. 1:1001(1000) ack 1\n";
    assert_eq!(connected("", rest), pass(2, 0));
    let late = rest.replace("+.3~+.301", "+.2~+.201");
    let expected = "P. 1:1001(1000) ack 1";
    assert_eq!(connected("", &late), differs(10, expected, "nothing until 0.326000 s"));
}

/// A close with data unsent goes with the last of it, and the peer's FIN is acknowledged.
#[test]
fn a_close_is_a_segment() {
    let rest = "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n\
                +0 write(4, ..., 1500) = 1500\n\
                +0 > P. 1:1001(1000) ack 1\n\
                +0 > P. 1001:1501(500) ack 1\n\
                +.1 < . 1:1(0) ack 1501 win 65535\n\
                +0 close(4) = 0\n\
                +0 > F. 1501:1501(0) ack 1\n\
                +.1 < F. 1:1(0) ack 1502 win 65535\n\
                +0 > . 1502:1502(0) ack 2";
    assert_eq!(connected("", rest), pass(4, 0));
}

/// A second segment is acknowledged at once, one alone after 40 ms; a mark is echoed until CWR.
#[test]
fn data_is_acknowledged() {
    let rest = "+0 < . 1:1001(1000) ack 1 win 65535\n\
                +0 < . 1001:2001(1000) ack 1 win 65535\n\
                +0 > . 1:1(0) ack 2001\n\
                +0 read(4, ..., 3000) = 2000\n\
                +0 < . 2001:3001(1000) ack 1 win 65535\n\
                +.04 > . 1:1(0) ack 3001";
    assert_eq!(connected("", rest), pass(2, 0));
    let short = rest.replace("= 2000", "= 1999");
    assert_eq!(connected("", &short), differs(11, "read = 1999", "2000"));
}

/// A window of 2500 bytes lets out two segments of 1000.
#[test]
fn the_peers_window_holds_back() {
    let rest = "+0 < . 1:1(0) ack 1 win 2500\n\
                +0 write(4, ..., 5000) = 5000\n\
                +0 > . 1:2001(2000) ack 1\n\
                +.01 < . 1:1(0) ack 1 win 65535\n\
                +0 > . 2001:5001(3000) ack 1\n";
    assert_eq!(connected("", rest), pass(2, 0));
}

/// A window of zero is probed after the timeout, 300 ms, and after twice that (RFC 9293, section
/// 3.8.6.1), with the number of the last byte that was sent. When it opens the data goes.
#[test]
fn a_window_of_zero_is_probed() {
    let rest = "+0 < . 1:1(0) ack 1 win 0\n\
                +0 write(4, ..., 1000) = 1000\n\
                +.3 > . 0:0(0) ack 1\n\
                +.6 > . 0:0(0) ack 1\n\
                +.1 < . 1:1(0) ack 1 win 65535\n\
                +0 > P. 1:1001(1000) ack 1";
    assert_eq!(connected("", rest), pass(3, 0));
}

/// tcp_slow_start_after_idle, a timeout of 300 ms: the window of 20 loses half for each of the
/// three timeouts in a second without sending, but not below ten.
#[test]
fn a_window_restarts_after_idle() {
    let rest = "+0 write(4, ..., 10000) = 10000\n\
                +0 > P. 1:10001(10000) ack 1\n\
                +.1 < . 1:1(0) ack 10001 win 65535\n\
                +0 %{ assert tcpi_snd_cwnd == 20 }%\n\
                +.9 write(4, ..., 20000) = 20000\n\
                +0 %{ assert tcpi_snd_cwnd == WINDOW }%";
    assert_eq!(connected("", &rest.replace("WINDOW", "20")), pass(1, 2));
    let setup = "`sysctl -q net.ipv4.tcp_slow_start_after_idle=1`\n";
    let text = format!("{setup}{}", listening("", &rest.replace("WINDOW", "10")));
    assert_eq!(run(&text, Path::new(".")), pass(1, 2));
}

/// A device that takes nothing: the retransmission waits for it.
#[test]
fn a_blocked_device_sends_nothing() {
    let rest = "+0 `tc qdisc replace dev tun0 root pfifo limit 0`\n\
                +0 write(4, ..., 1000) = 1000\n\
                +.5 %{ assert tcpi_unacked == 0 }%\n\
                +0 `tc qdisc replace dev tun0 root pfifo`\n\
                +0 write(4, ..., 1000) = 1000\n\
                +0 > P. 1:2001(2000) ack 1";
    assert_eq!(connected("", rest), pass(1, 1));
}

#[test]
fn a_difference_says_what_was_expected_and_what_happened() {
    let write = "+0 write(4, ..., 2000) = 2000\n";
    for (rest, expected, got) in [
        ("+0 > . 1:1001(1000) ack 2", ". 1:1001(1000) ack 2", ". 1:1001(1000) ack 1"),
        ("+0 > E. 1:1001(1000) ack 1", "E. 1:1001(1000) ack 1", ". 1:1001(1000) ack 1"),
        ("+0 > . 1:3001(3000) ack 1", ". 1:3001(3000) ack 1", "nothing until 0.104000 s"),
        ("+0 > . 1:901(900) ack 1", ". 1:901(900) ack 1", ". 1:1001(1000) ack 1"),
        ("+.05 > . 1:2001(2000) ack 1", ". 1:2001(2000) ack 1 at 0.150000 s", "it at 0.100000 s"),
        (
            "+0 > [ect0] . 1:1001(1000) ack 1",
            ". 1:1001(1000) ack 1",
            "[noecn] . 1:1001(1000) ack 1",
        ),
        ("+0 < . 1:1(0) ack 9001 win 9", "an ACK of 9001", "what is sent ends at 2001"),
        ("+0 %{ assert tcpi_unacked > 2 }%", "tcpi_unacked > 2", "tcpi_unacked is 2"),
    ] {
        assert_eq!(connected("", &format!("{write}{rest}")), differs(9, expected, got), "{rest}");
    }
}

#[test]
fn what_is_not_modelled_never_passes() {
    for (rest, line, reason) in [
        ("+0 %{ assert tcpi_advmss == 1 }%", 8, "tcpi_advmss is not known of this transport"),
        ("+0 `true`", 8, "the command `true`"),
        ("+0 read(4, ..., 5) = -1 EAGAIN (Nothing)", 8, "an error of read"),
        ("+0...0.1 read(4, ..., 5) = 5", 8, "a read that blocks"),
        ("+0 sendmsg(4, ..., 0) = 5", 8, "the call sendmsg"),
        ("+0 write(4, ..., 10) = 5", 8, "a write that takes a part or fails"),
        ("+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0", 8, "the socket option TCP_CORK"),
        ("+0 < R. 1:1(0) ack 1 win 0", 8, "a reset"),
        ("+0 < . 5:6(1) ack 1 win 9", 8, "data out of order at the host"),
        (
            "+0 write(4, ..., 1000) = 1000\n+0 write(4, ..., 10) = 10",
            9,
            "Nagle's algorithm, for a rest while data is out",
        ),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0",
            8,
            "reno set as the congestion control of a connection",
        ),
        ("+0 > R. 1:1(0) ack 1", 8, "a reset"),
        ("+0 > . 1:1(0) ack 1 win 5", 8, "the window that the host offers"),
    ] {
        assert_eq!(connected("", rest), beyond(line, reason), "{rest}");
    }
    assert_eq!(connected("", ""), beyond(1, "nothing is expected beyond the handshake"));
    assert_eq!(connected(",TS val 1 ecr 0", ""), beyond(4, "timestamps (RFC 7323)"));
    let late = Verdict::Bad { line: 9, message: "the event is later than 1000000 s".to_owned() };
    assert_eq!(connected("", "+999999 close(4) = 0\n+2 close(4) = 0"), late);
    let none = "--mtu=1500\n0 close(3) = 0";
    assert_eq!(run(none, Path::new(".")), beyond(1, "the option --mtu"));
    let bad = Verdict::Bad { line: 1, message: "--era=now".to_owned() };
    assert_eq!(run("--era=now\n0 close(3) = 0", Path::new(".")), bad);
    let cc = "`sysctl -q net.ipv4.tcp_congestion_control=nope`\n0 socket(...) = 3\n\
              +0 listen(3, 1) = 0\n+0 < S 0:0(0) win 9 <mss 9>\n+0 > S. 0:0(0) ack 1 <...>\n\
              +0 < . 1:1(0) ack 1 win 9\n";
    assert_eq!(run(cc, Path::new(".")), beyond(6, "the congestion control nope"));
}

#[test]
fn a_folder_has_scripts_and_a_bad_file_leaves_the_others() {
    let folder = std::env::temp_dir().join(format!("packetdrill {}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let told = scripts(&folder).unwrap_err().to_string();
    std::fs::write(folder.join("b c.pkt"), [0xff, 0xfe]).unwrap();
    std::fs::write(folder.join("a.pkt"), "`true`\n0 close(3)").unwrap();
    std::fs::write(folder.join("notes.txt"), "").unwrap();
    let found = scripts(&folder).unwrap();
    let verdicts: Vec<Verdict> = found.iter().map(|path| run_file(path).unwrap()).collect();
    let own = scripts(&folder.join("a.pkt"));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(told, "there is no .pkt file in it");
    assert_eq!(found, ["a.pkt", "b c.pkt"].map(|name| folder.join(name)));
    assert!(matches!(verdicts[0], Verdict::Bad { line: 2, .. }), "{:?}", verdicts[0]);
    let bad = Verdict::Bad { line: 1, message: "the file is not UTF-8 text".to_owned() };
    assert_eq!(verdicts[1], bad);
    assert_eq!(own.unwrap(), [folder.join("a.pkt")]);
}
