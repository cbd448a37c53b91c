//! What the shell text of a script sets: of the host, the network device and the kernel's modules.
//!
//! Nothing of it is run. Assignments of sysctls are read, also those in the file that a script
//! calls first; each is one that the transport can follow, one that has no meaning here, or a
//! reason why the script is not applicable.

use std::path::Path;

use crate::script::Fault;

/// What a host is set to. The values before any script are Linux's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// tcp_congestion_control.
    pub protocol: String,
    /// tcp_ecn: 0 no ECN; 1 asks for it and agrees to it, 2 agrees only; 3 the same as 1 with
    /// AccECN, 4 and 5 agree to that and ask for ECN or for nothing.
    pub ecn: u8,
    /// tcp_ecn_option: do packets carry AccECN's option?
    pub ecn_option: bool,
    /// tcp_ecn_fallback.
    pub ecn_fallback: bool,
    /// tcp_sack.
    pub sack: bool,
    /// tcp_reordering.
    pub dup_thresh: u32,
    /// tcp_early_retrans: are there tail loss probes?
    pub probes: bool,
    /// tcp_slow_start_after_idle.
    pub idle_restart: bool,
    /// Is the device's queue fq, which makes senders pace?
    pub paced: bool,
    /// Does the device's queue take no packet (`pfifo limit 0`)? What is not sent then stays to be
    /// sent; to Linux each attempt fails.
    pub blocked: bool,
    /// tcp_min_tso_segs: segments that a sender that paces sends together.
    pub burst: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            protocol: "cubic".to_owned(),
            ecn: 2,
            ecn_option: true,
            ecn_fallback: true,
            sack: true,
            dup_thresh: 3,
            probes: true,
            idle_restart: false,
            paced: false,
            blocked: false,
            burst: 2,
        }
    }
}

/// Sysctls that decide nothing here: buffers, the making of large packets, and what belongs to the
/// handshake.
const WITHOUT_MEANING: [&str; 21] = [
    "tcp_rmem",
    "tcp_wmem",
    "tcp_timestamps",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_dsack",
    "tcp_frto",
    "tcp_fack",
    "tcp_tso_win_divisor",
    "tcp_tso_rtt_log",
    "tcp_notsent_lowat",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_syncookies",
    "tcp_ecn_option_beacon",
    "tcp_autocorking",
    "tcp_no_metrics_save",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_base_mss",
    "tcp_mtu_probing",
];

impl Settings {
    /// Follows shell text; a script called in it is looked for beside `folder`.
    ///
    /// # Errors
    /// What is not modelled, or a file that is not there.
    pub fn follow(&mut self, text: &str, folder: &Path, line: u32) -> Result<(), Fault> {
        let text = text.replace("\\\n", " ");
        for command in text.lines().flat_map(|line| line.split("&&")) {
            let command = command.split('#').next().unwrap_or_default().trim();
            self.command(command, folder, line)?;
        }
        Ok(())
    }

    fn command(&mut self, command: &str, folder: &Path, line: u32) -> Result<(), Fault> {
        let mut words = command.split_whitespace();
        let Some(program) = words.next() else { return Ok(()) };
        let name = program.rsplit('/').next().unwrap_or_default();
        match name {
            "sysctl" | "set_sysctls.py" => {
                let assigned = command[program.len()..].trim();
                for assignment in assignments(assigned) {
                    self.assign(&assignment, line)?;
                }
                Ok(())
            }
            "tc" => self.device(command, line),
            "echo" if command.ends_with("hystart_detect") => match words.next() {
                Some("3") => Ok(()),
                _ => Err(beyond(command, line)),
            },
            "ip" if words.next() == Some("tcp_metrics") => Ok(()),
            _ if name.starts_with("sysctl_restore") => Ok(()),
            _ if name.ends_with(".sh") => {
                let path = folder.join(program);
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    let reason = match error.kind() {
                        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
                        _ => error.to_string(),
                    };
                    Fault::syntax(line, format!("the script calls {program}: {reason}"))
                })?;
                self.follow(&text, path.parent().unwrap_or(folder), line)
            }
            _ => Err(beyond(command, line)),
        }
    }

    fn device(&mut self, command: &str, line: u32) -> Result<(), Fault> {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            [.., "fq"] => (self.paced, self.blocked) = (true, false),
            [.., "pfifo"] => (self.paced, self.blocked) = (false, false),
            [.., "pfifo", "limit", "0"] => (self.paced, self.blocked) = (false, true),
            _ => return Err(beyond(command, line)),
        }
        Ok(())
    }

    fn assign(&mut self, (name, value): &(String, String), line: u32) -> Result<(), Fault> {
        let number = value.parse::<u32>().ok();
        match (name.as_str(), number) {
            ("tcp_congestion_control", _) => self.protocol.clone_from(value),
            ("tcp_ecn", Some(use_it @ 0..=5)) => self.ecn = use_it as u8,
            ("tcp_ecn_option", Some(least @ 0..=3)) => self.ecn_option = least > 0,
            ("tcp_ecn_fallback", Some(on @ 0..=1)) => self.ecn_fallback = on == 1,
            ("tcp_sack", Some(on @ 0..=1)) => self.sack = on == 1,
            ("tcp_reordering", Some(thresh @ 1..)) => self.dup_thresh = thresh,
            ("tcp_early_retrans", Some(probes @ (0 | 3 | 4))) => self.probes = probes != 0,
            ("tcp_recovery", Some(1)) => {}
            ("tcp_min_tso_segs", Some(segments @ 1..=65_535)) => self.burst = segments,
            ("tcp_slow_start_after_idle", Some(on @ 0..=1)) => self.idle_restart = on == 1,
            (name, _) if WITHOUT_MEANING.contains(&name) => {}
            _ => return Err(Fault::beyond(line, format!("the sysctl {name} = {value}"))),
        }
        Ok(())
    }
}

fn beyond(command: &str, line: u32) -> Fault {
    let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
    Fault::beyond(line, format!("the command `{command}`"))
}

/// `net.ipv4.name=value`, `net/ipv4/name=value` or `/proc/sys/net/ipv4/name=value`: names without
/// their path, and values. Quotes hold a value together.
fn assignments(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut quoted = false;
    for word in text.split_whitespace() {
        if word == ">" || word.starts_with("2>") || word.contains("/dev/null") {
            break;
        }
        if quoted {
            quoted = !word.ends_with('"');
            continue;
        }
        if let Some((name, value)) = word.split_once('=') {
            let name = name.rsplit(['.', '/']).next().unwrap_or_default();
            quoted = value.starts_with('"') && !(value.len() > 1 && value.ends_with('"'));
            found.push((name.to_owned(), value.trim_matches('"').to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(text: &str) -> Result<Settings, Fault> {
        let mut settings = Settings::default();
        settings.follow(text, Path::new("."), 7).map(|()| settings)
    }

    #[test]
    fn assignments_are_read_in_every_spelling() {
        let text = "sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024))\"\n\
                    sysctl -q net/ipv4/tcp_ecn=1 # agreed\n\
                    set_sysctls.py /proc/sys/net/ipv4/tcp_slow_start_after_idle=1 \\\n  \
                    /proc/sys/net/ipv4/tcp_min_tso_segs=10\n\
                    sysctl -q net.ipv4.tcp_early_retrans=0 net.ipv4.tcp_recovery=1 \
                    > /dev/null 2>&1\n\
                    tc qdisc replace dev tun0 root fq";
        let wanted = Settings {
            ecn: 1,
            idle_restart: true,
            probes: false,
            paced: true,
            burst: 10,
            ..Settings::default()
        };
        assert_eq!(followed(text), Ok(wanted));
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
        for (text, reason) in [
            ("sysctl -q net.ipv4.tcp_recovery=0", "the sysctl tcp_recovery = 0"),
            (
                "tc qdisc replace dev tun0  root pfifo limit 5",
                "the command `tc qdisc replace dev tun0 root pfifo limit 5`",
            ),
            ("rm -rf x", "the command `rm -rf x`"),
        ] {
            assert_eq!(followed(text), Err(Fault::beyond(7, reason)));
        }
        let missing = "the script calls ./no.sh: there is no such file";
        assert_eq!(followed("./no.sh"), Err(Fault::syntax(7, missing)));
    }
}
