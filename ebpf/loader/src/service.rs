//! The service: loads what a file names, keeps it loaded, and unloads it at the end.
//!
//! SIGTERM and SIGINT end it, SIGHUP makes it read the file again. Under systemd (Type=notify) it
//! says when it is ready and when it is stopping.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use serde_json::{Value, json};

use crate::args::{Load, Run};
use crate::commands::{is_whole, load, unload_all, where_is};
use crate::config::{self, Config};
use crate::log::Log;
use crate::{Error, Result, devices, metrics, switch, system};

/// How often it looks whether all is there.
const LOOK: Duration = Duration::from_secs(2);

/// Runs until it is told to end.
pub fn run(run: &Run) -> Result<()> {
    let mut config = config::read(&run.config)?;
    let log = Log(run.log.or(config.log).unwrap_or_default());
    // Before any thread begins, so that none is asked instead.
    let signals = Signals::blocked()?;
    system::prepare()?;
    unused(&config, log);
    start(&config.loads, log)?;
    let served = run.metrics.or(config.metrics).map(|at| metrics::serve(at, log)).transpose();
    match served {
        Ok(Some(at)) => {
            log.info("metrics", &format!("metrics at http://{at}/metrics"), json!({"address": at}))
        }
        Ok(None) => {}
        Err(error) => {
            let _lock = system::lock()?;
            unload_all(&config.loads)?;
            return Err(error);
        }
    }
    notify("READY=1");
    log.info("ready", "ready", json!({"programs": config.loads.len()}));
    let mut watch = Watch::new(&config.loads);
    loop {
        match signals.wait(LOOK) {
            None => watch.look(&config.loads, log),
            Some(libc::SIGHUP) => {
                notify("RELOADING=1");
                reread(&run.config, &mut config, log);
                watch = Watch::new(&config.loads);
                notify("READY=1");
            }
            Some(_) => break,
        }
    }
    notify("STOPPING=1");
    log.info("stopping", "stopping", json!({}));
    let _lock = system::lock()?;
    unload_all(&config.loads)?;
    log.info("stopped", "all is unloaded", json!({}));
    Ok(())
}

fn about(load: &Load) -> Value {
    json!({"program": load.name, "dev": load.place.dev, "netns": load.place.netns,
           "rate_bps": load.rate})
}

fn named(load: &Load) -> String {
    format!("{} on {} in {}", load.name, load.place.dev, where_is(&load.place))
}

fn unused(config: &Config, log: Log) {
    for key in &config.unused {
        let message = format!("{key} describes the line and has no effect here");
        log.info("unused", &message, json!({"key": key}));
    }
}

/// Loads in a thread of its own, as a change of network namespace is for good.
fn load_one(one: &Load) -> Result<()> {
    let thread = std::thread::scope(|scope| scope.spawn(|| load(one)).join());
    thread.unwrap_or_else(|_| Err(Error::Failed("a thread failed".to_owned())))
}

/// Loads all, or none.
fn start(loads: &[Load], log: Log) -> Result<()> {
    let _lock = system::lock()?;
    for (done, one) in loads.iter().enumerate() {
        if let Err(error) = load_one(one) {
            unload_all(&loads[..done])?;
            let message = format!("{}: {}", named(one), error.message());
            return Err(match error {
                Error::Missing(_) => Error::Missing(message),
                _ => Error::Failed(message),
            });
        }
        log.info("loaded", &format!("loaded {}", named(one)), about(one));
    }
    Ok(())
}

/// What a file does not name any more goes, what is new in it comes; a wrong file changes nothing.
fn reread(file: &str, config: &mut Config, log: Log) {
    let new = match config::read(file) {
        Ok(new) => new,
        Err(error) => {
            let message = format!("not read again: {}", error.message());
            return log.warning("reload", &message, json!({}));
        }
    };
    unused(&new, log);
    let differ = |these: &[Load], those: &[Load]| {
        these.iter().filter(|one| !those.contains(one)).cloned().collect::<Vec<_>>()
    };
    let (gone, come) = (differ(&config.loads, &new.loads), differ(&new.loads, &config.loads));
    let done = system::lock().and_then(|_lock| unload_all(&gone)).and_then(|()| start(&come, log));
    let message = match &done {
        Ok(()) => format!("read {file} again: {} programs", new.loads.len()),
        Err(error) => format!("{}; it is tried again", error.message()),
    };
    match done {
        Ok(()) => log.info("reload", &message, json!({"programs": new.loads.len()})),
        Err(_) => log.warning("reload", &message, json!({})),
    }
    config.loads = new.loads;
}

/// What was there when it looked last.
struct Watch {
    whole: Vec<bool>,
    off: bool,
}

impl Watch {
    fn new(loads: &[Load]) -> Watch {
        Watch { whole: loads.iter().map(is_whole).collect(), off: switch::is_off() }
    }

    fn look(&mut self, loads: &[Load], log: Log) {
        let off = switch::is_off();
        if off != self.off {
            self.off = off;
            let message = if off { "switched off: all is Reno" } else { "switched on" };
            log.warning("switch", message, json!({"off": off}));
        }
        for (one, whole) in loads.iter().zip(&mut self.whole) {
            let is = is_whole(one);
            let was = std::mem::replace(whole, is);
            if !is && was {
                log.warning("lost", &format!("lost {}", named(one)), about(one));
            }
            if is || !devices::inside(&one.place, |_| Ok(())).unwrap_or(false) {
                continue;
            }
            // The device is there (again), and the program is not.
            let done = system::lock().and_then(|_lock| load_one(one));
            match done {
                Ok(()) => {
                    *whole = true;
                    log.info("loaded", &format!("loaded {} again", named(one)), about(one));
                }
                // Said once.
                Err(error) if was => {
                    let message = format!("{}: {}", named(one), error.message());
                    log.warning("failed", &message, about(one));
                }
                Err(_) => {}
            }
        }
    }
}

/// Tells systemd, if that has started it: one datagram (sd_notify(3)).
fn notify(what: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match path.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&path),
    };
    let sent =
        UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(what.as_bytes(), &address?));
    if let Err(error) = sent {
        eprintln!("clearpipe-bpf: NOTIFY_SOCKET: {error}");
    }
}

/// SIGTERM, SIGINT and SIGHUP, which come one after the other.
struct Signals(libc::sigset_t);

impl Signals {
    fn blocked() -> Result<Signals> {
        // SAFETY: the set is made before it is used, and all arguments live long enough.
        let (set, status) = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            (set, libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))
        };
        if status == 0 { Ok(Signals(set)) } else { Err(system::failed("signals")) }
    }

    /// The next one; none for so long.
    fn wait(&self, at_most: Duration) -> Option<i32> {
        let time = libc::timespec {
            tv_sec: at_most.as_secs() as libc::time_t,
            tv_nsec: at_most.subsec_nanos() as libc::c_long,
        };
        // SAFETY: both live long enough, and nothing is to be told of the signal.
        let signal =
            unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), &raw const time) };
        (signal > 0).then_some(signal)
    }
}
