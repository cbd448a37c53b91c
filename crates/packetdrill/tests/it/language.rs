//! What is a script and what is none.

use clearpipe_packetdrill::parse;
use clearpipe_packetdrill::script::{
    Action, Argument, Call, EcnBits, Event, Fault, Packet, TcpOption, When,
};

fn one(text: &str) -> Event {
    let script = parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    assert_eq!(script.events.len(), 1, "{text}");
    script.events[0].clone()
}

#[test]
fn times_have_six_forms() {
    for (time, when) in [
        ("0", When::At(0)),
        ("2.5", When::At(2_500_000)),
        ("+.105", When::After(105_000)),
        ("*", When::Any),
        ("1~1.5", When::Between(1_000_000, 1_500_000)),
        ("+.3~+.310", When::Within(300_000, 310_000)),
    ] {
        assert_eq!(one(&format!("{time} > . 1:1(0) ack 1")).when, when);
    }
}

#[test]
fn a_packet_has_bits_flags_numbers_and_options() {
    let text = "+0 < [ect1] SEW 0:0(0) ack 7 win 32792 <mss 1000,sackOK,nop,wscale 7>";
    let wanted = Packet {
        ecn: Some(EcnBits::Are(1)),
        flags: "SEW".to_owned(),
        start: 0,
        end: 0,
        ack: Some(7),
        window: Some(32792),
        options: Some(vec![TcpOption::Mss(1000), TcpOption::SackOk, TcpOption::Scale(7)]),
    };
    assert_eq!(one(text).action, Action::Inject(wanted));
    let text = "+0 > (ect01) FP. 1:1001(1000) ack 1 <nop,nop,sack 1:2 5:9,TS val 100 ecr 0>";
    let wanted = Packet {
        ecn: Some(EcnBits::Ect),
        flags: "FP.".to_owned(),
        start: 1,
        end: 1001,
        ack: Some(1),
        window: None,
        options: Some(vec![TcpOption::Sack(vec![(1, 2), (5, 9)]), TcpOption::Timestamp]),
    };
    assert_eq!(one(text).action, Action::Expect(wanted));
    let Action::Expect(packet) = one("+0 > S. 0:0(0) <...>").action else { panic!("a packet") };
    assert_eq!(packet.options, None);
    let text = "+0 < . 1:1(0) ack 2 <xcp h_cwnd 1500 h_feedback -2.5,code 3>";
    let Action::Inject(packet) = one(text).action else { panic!("a packet") };
    let fields = vec![("h_cwnd".to_owned(), 1500.0), ("h_feedback".to_owned(), -2.5)];
    let wanted = vec![TcpOption::Fields("xcp".to_owned(), fields), TcpOption::Code(3)];
    assert_eq!(packet.options, Some(wanted));
}

#[test]
fn a_call_has_arguments_and_a_result() {
    let text = "+.002 ... 0.004 connect(4, ..., [1, \"a\" \"b\"], A|B, {x = {1}}) = -1 EINPROGRESS \
                (Operation now in progress)";
    let wanted = Call {
        until: Some(4000),
        name: "connect".to_owned(),
        arguments: vec![
            Argument::Number(4),
            Argument::Any,
            Argument::List(vec![Argument::Number(1), Argument::Text("ab".to_owned())]),
            Argument::Word("A|B".to_owned()),
            Argument::Braces,
        ],
        result: Argument::Number(-1),
        errno: Some("EINPROGRESS".to_owned()),
    };
    assert_eq!(one(text).action, Action::Call(wanted));
}

#[test]
fn comments_options_commands_and_code_are_told_apart() {
    let text = "// one\n/* two\n */ --tolerance_usecs=20000\n--define=N=3\n`a b\nc`\n\
                +0 `d`\n+0 %{ assert x\n }%\n+0 close(N) = 0\n`e`\n";
    let script = parse(text).unwrap();
    let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(script.options, [option("tolerance_usecs", "20000"), option("define", "N=3")]);
    assert_eq!(script.setup, Some((5, "a b\nc".to_owned())));
    let lines: Vec<u32> = script.events.iter().map(|event| event.line).collect();
    assert_eq!(lines, [7, 8, 10]);
    assert_eq!(script.events[0].action, Action::Command("d".to_owned()));
    assert_eq!(script.events[1].action, Action::Code("assert x\n".to_owned()));
    let Action::Call(call) = &script.events[2].action else { panic!("a call") };
    assert_eq!(call.arguments, [Argument::Number(3)]);
}

#[test]
fn a_bad_script_has_one_clear_error() {
    for (text, line, message) in [
        ("", 1, "there is no event"),
        ("`a", 1, "`` ` `` without `` ` ``"),
        ("0 a() = 0\n%{ x", 2, "`%{` without `}%`"),
        ("0 a() = 0\n\n+0 > . 1:1", 3, "expected `(`, got the end"),
        ("+0 > . 1:3(1) ack 1", 1, "1:3 are not 1 bytes"),
        ("+0 > X. 1:1(0)", 1, "expected TCP flags, of which `X` is none, got `X`"),
        ("+0 < . 1:1(0) win -4", 1, "expected a window, got `-4`"),
        ("+0 < . 1:1(0) win 65536", 1, "a window is at most 65535"),
        ("+0 < S 0:0(0) <mss 0>", 1, "a segment size is at least 1"),
        ("+0 < . 1:1(0) <sack 5:4>", 1, "5:4 is no block"),
        ("+0 < . 1:1(0) <code 4>", 1, "the two ECN bits are 0 to 3"),
        ("+0 < . 1:1(0) <TS val 1>", 1, "expected `ecr`, got `>`"),
        ("+0 < [ect2] . 1:1(0)", 1, ""),
        ("-1 close(1) = 0", 1, "expected a time in seconds, got `-1`"),
        ("+2~+1 > . 1:1(0)", 1, "the range of times is backwards"),
        ("* < . 1:1(0)", 1, "only a packet that must be sent may have `*` or a range of times"),
        ("+0 close(1)", 1, "expected `=`, got the end"),
        ("+0 close(1;2) = 0", 1, "expected `,`, got `;`"),
    ] {
        let fault = parse(text).unwrap_err();
        let (at, told) = match &fault {
            Fault::Syntax { line, message } => (*line, message.clone()),
            Fault::NotModelled { line, .. } => (*line, String::new()),
        };
        let told = told.replace("```", "`` ` ``");
        assert_eq!((at, told.as_str()), (line, message), "{text}");
    }
    let deep = format!("+0 close({}", "[".repeat(100_000));
    assert_eq!(
        parse(&deep).unwrap_err(),
        Fault::syntax(1, "expected fewer lists in lists, got `[`")
    );
    let long = parse(&"a".repeat(100_000)).unwrap_err();
    let message = format!("expected a time in seconds, got `{}...`", "a".repeat(100));
    assert_eq!(long, Fault::syntax(1, message));
}

#[test]
fn what_is_not_modelled_is_said() {
    for (text, reason) in [
        ("+0 > udp (10)", "`udp` packets"),
        ("+0 < . 5>7 1:1(0)", ""),
        ("+0 < 5 > 7 . 1:1(0)", "a packet of another connection (ports)"),
        ("+0 < . 1:1(0) urg 3", "urgent data"),
        ("+0 < S 0:0(0) <FO abcd>", "the TCP option `FO`"),
        ("+0 < [tos 0x4] . 1:1(0)", "`tos` of the IP header"),
    ] {
        match parse(text).unwrap_err() {
            Fault::NotModelled { reason: told, .. } => assert_eq!(told, reason, "{text}"),
            Fault::Syntax { .. } => assert_eq!("", reason, "{text}"),
        }
    }
}
