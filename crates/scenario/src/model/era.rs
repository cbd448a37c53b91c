//! Eras: what end hosts are like where a file does not say.
//!
//! An era is a set of defaults with a name, for the transport and for parameters of protocols. It
//! changes no default of a queue, and nothing that a file says.

use cc::params::Value;
use cc::registry::Recovery;
use serde_json::{Value as Json, json};
use units::Span;

use crate::error::Fault;
use crate::model::{AccEcn, IdleRestart, LossBase, RackRtt, Rttvar, Transport, Undo};
use crate::output::toml::{parameter, transport_values};
use crate::syntax::declaration::{Definitions, FileValue, Word, read_word};
use crate::syntax::document::Node;

/// A time or a tool whose end hosts these are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// The simulations of 2002 to 2012 that the five papers show.
    #[default]
    Papers,
    /// The RFCs in force at the end of 2025.
    Rfc,
    /// ns-2.35's `Agent/TCP` as it is delivered.
    Ns2,
    /// Linux 6.1 as it is delivered.
    Linux61,
}

/// A parameter of a protocol that an era sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The protocol's name in the registry.
    pub protocol: &'static str,
    /// The parameter's name.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
    /// Where that is from.
    pub source: &'static str,
}

const RFC_9406: &str = "RFC 9438, section 4.10, and RFC 9406 (HyStart++)";
const LINUX_HYSTART: &str = "tcp_cubic.c, `hystart = 1`; here as RFC 9406 has it";
const LINUX_AGGREGATION: &str = "tcp_bbr.c, `bbr_extra_acked_gain = 1`";

impl Era {
    /// All of them.
    pub const ALL: [Era; 4] = [Era::Papers, Era::Rfc, Era::Ns2, Era::Linux61];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Era::Papers => "papers",
            Era::Rfc => "rfc",
            Era::Ns2 => "ns2",
            Era::Linux61 => "linux-6.1",
        }
    }

    /// What it is, with the sources of the transport's values.
    pub fn doc(self) -> &'static str {
        match self {
            Era::Papers => {
                "the papers' simulations: RFC 6298's timer, a first window of one packet (A5), and \
                 an ACK for every packet"
            }
            Era::Rfc => {
                "the RFCs of 2025: RFC 6298's timer, RFC 6928's first window, ACKs delayed by less than \
                 RFC 9293's 500 ms (200 ms is our choice), HyStart++ for CUBIC"
            }
            Era::Ns2 => {
                "ns-2.35's defaults: `minrto_ 0.2`, first timeout of 3 s, `windowInit_ 2`, a clock \
                 of 10 ms ticks"
            }
            Era::Linux61 => {
                "Linux 6.1's defaults: TCP_RTO_MIN (200 ms, also the minimum of four times the RTT's \
                 variation), TCP_TIMEOUT_INIT, TCP_RTO_MAX, TCP_INIT_CWND and TCP_DELACK_MIN of \
                 include/net/tcp.h; RACK-TLP and PRR for every protocol whose recovery is `sack`, \
                 without undoing spurious reductions (`transport.undo` does that)"
            }
        }
    }

    /// What the transport is like.
    pub fn transport(self) -> Transport {
        let ms = Span::from_millis;
        let papers = Transport {
            min_rto: ms(1000),
            max_rto: Span::from_secs(60),
            initial_rto: ms(1000),
            rto_granularity: ms(100),
            rttvar: Rttvar::Rtt,
            initial_window: 1.0,
            dup_thresh: 3,
            delayed_ack: None,
            limited_transmit: true,
            accecn: AccEcn::Off,
            undo: Undo::Off,
            idle_restart: IdleRestart::Off,
            loss_base: LossBase::InUse,
            echo_prr: false,
            rack_rtt: RackRtt::Latest,
            count_dupacks: false,
            count_sacks: false,
            byte_counting: 0,
            quick_acks: 0,
            pacing_burst: 1,
        };
        match self {
            Era::Papers => papers,
            Era::Rfc => Transport { initial_window: 10.0, delayed_ack: Some(ms(200)), ..papers },
            Era::Ns2 => Transport {
                min_rto: ms(200),
                initial_rto: ms(3000),
                // Its clock ticks every 10 ms, and in whole numbers 4 RTTVAR stays at three ticks.
                rto_granularity: ms(30),
                rttvar: Rttvar::Ack,
                initial_window: 2.0,
                ..papers
            },
            Era::Linux61 => Transport {
                min_rto: ms(200),
                max_rto: Span::from_secs(120),
                rto_granularity: ms(200),
                initial_window: 10.0,
                delayed_ack: Some(ms(40)),
                ..papers
            },
        }
    }

    /// How a protocol recovers from losses whose recovery is `usual` by default.
    pub fn recovery(self, usual: Recovery) -> Recovery {
        match (self, usual) {
            (Era::Linux61, Recovery::Sack) => Recovery::Rack,
            _ => usual,
        }
    }

    /// What parameters of protocols are where they are not the registry's defaults.
    pub fn settings(self) -> Vec<Setting> {
        let hystart = |source| Setting {
            protocol: "cubic",
            name: "slow_start",
            value: Value::Choice("hystart"),
            source,
        };
        match self {
            Era::Papers | Era::Ns2 => Vec::new(),
            Era::Rfc => vec![hystart(RFC_9406)],
            Era::Linux61 => vec![
                hystart(LINUX_HYSTART),
                Setting {
                    protocol: "bbr",
                    name: "aggregation",
                    value: Value::Flag(true),
                    source: LINUX_AGGREGATION,
                },
            ],
        }
    }
}

impl Era {
    /// Every value that it sets, by key, as it stands in a file.
    pub fn values(self) -> Vec<(String, String)> {
        let transport = transport_values(&self.transport());
        let transport = transport.into_iter().map(|(key, v)| (format!("transport.{key}"), v));
        let settings = self.settings();
        let settings = settings
            .iter()
            .map(|one| (format!("protocols.{}.{}", one.protocol, one.name), parameter(one.value)));
        let mends = self.recovery(Recovery::Sack);
        let recovery = (mends != Recovery::Sack)
            .then(|| ("protocols.*.recovery".to_owned(), format!("{:?}", mends.name())));
        transport.chain(settings).chain(recovery).collect()
    }
}

impl Word for Era {
    const WHAT: &'static str = "era";
    fn all() -> Vec<(&'static str, Era)> {
        Era::ALL.iter().map(|era| (era.name(), *era)).collect()
    }
}

impl FileValue for Era {
    fn form() -> String {
        "era".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        let values = |era: Era| {
            let all: Vec<String> =
                era.values().iter().map(|(key, v)| format!("{key} = {v}")).collect();
            format!("{}: {}", era.doc(), all.join(", "))
        };
        let told: Vec<String> = Era::ALL.iter().map(|&era| values(era)).collect();
        // Editors that use taplo show these at the words.
        json!({ "enum": Era::words(), "x-taplo": { "docs": { "enumValues": told } } })
    }
    fn read(node: &Node) -> Result<Era, Fault> {
        read_word(node)
    }
}

/// Where a value is from that is not the default of the era `papers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The file, or an option of the command.
    File,
    /// A preset of the part.
    Preset(String),
    /// The era that the file names.
    Era(&'static str),
    /// Another key, above which it may not be.
    AtMost(&'static str),
}

impl Origin {
    /// In a few words.
    pub fn told(&self) -> String {
        match self {
            Origin::File => "file".to_owned(),
            Origin::Preset(name) => format!("preset {name}"),
            Origin::Era(name) => format!("era {name}"),
            Origin::AtMost(key) => format!("at most {key}"),
        }
    }
}

/// Where the values of a table are from, by key. What is not there is the papers' default.
///
/// Any two are equal: a scenario is what its values are.
#[derive(Clone, Debug, Default)]
pub struct Origins(Vec<(String, Origin)>);

impl PartialEq for Origins {
    fn eq(&self, _: &Origins) -> bool {
        true
    }
}

impl Origins {
    /// Says where the value of `key` is from; what was said before of it is forgotten.
    pub fn set(&mut self, key: &str, origin: Origin) {
        self.0.retain(|(own, _)| own != key);
        self.0.push((key.to_owned(), origin));
    }

    /// Where the value of `key` is from, in a few words.
    pub fn told(&self, key: &str) -> String {
        let found = self.0.iter().find(|(own, _)| own == key);
        found.map_or_else(|| "default".to_owned(), |(_, origin)| origin.told())
    }
}
