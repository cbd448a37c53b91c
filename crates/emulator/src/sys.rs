//! The system calls, as this crate wants their answers: what cannot be done now is `None` and no
//! error.
//!
//! They are rustix's; what it does not have, and so all unsafe code of this crate, is in `bare`.

mod bare;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit, Signal};
use rustix::thread::LinkNameSpaceType;
use rustix::time::{ClockId, clock_gettime};

pub use bare::{catch_signals, limit_unsent, receive_stamped, stamp_received, stopped, tcp_info};

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CLOCK_MONOTONIC [ns].
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CLOCK_REALTIME [ns], by which the kernel stamps what it receives.
pub fn realtime_ns() -> u64 {
    nanoseconds(ClockId::Realtime)
}

/// Processor time of this thread so far [ns].
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// Processor time of this process so far [ns].
pub fn cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

/// Runs `f` on this thread inside a network namespace.
///
/// # Errors
/// The namespace cannot be entered, or `f` fails.
///
/// # Panics
/// If there is no way back: the thread would go on in the wrong namespace.
pub fn in_namespace<T>(path: &str, f: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let enter = |namespace: &File| {
        let network = Some(LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(namespace.as_fd(), network)
    };
    let home = File::open("/proc/thread-self/ns/net")?;
    enter(&File::open(path)?)?;
    let result = f();
    enter(&home).expect("the thread's own network namespace");
    result
}

/// A TUN device of this name in the present namespace; it is gone when the descriptor is closed.
/// Packets come and go as bare IP, one with each read and write, which do not block.
///
/// # Errors
/// What the system says.
pub fn open_tun(name: &str) -> io::Result<OwnedFd> {
    let device = File::options().read(true).write(true).open("/dev/net/tun")?;
    bare::attach_tun(&device, name)?;
    set_nonblocking(&device)?;
    Ok(device.into())
}

/// Reads and writes do not wait from now on.
///
/// # Errors
/// What the system says.
pub fn set_nonblocking(fd: &impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

/// Reads once; `None` when there is nothing now.
///
/// # Errors
/// What the system says.
pub fn read(fd: &impl AsFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    unless_blocked(rustix::io::read(fd, buffer))
}

/// Writes once; `None` when there is no room now.
///
/// # Errors
/// What the system says.
pub fn write(fd: &impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    unless_blocked(rustix::io::write(fd, bytes))
}

fn unless_blocked<T>(done: rustix::io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Waits until one of these is ready or `timeout` has passed, to the nanosecond where the system
/// can.
///
/// # Errors
/// What the system says; a signal is none.
pub fn wait(fds: &mut [PollFd<'_>], timeout: Duration) -> io::Result<()> {
    let timeout = Timespec {
        tv_sec: timeout.as_secs().min(1 << 30) as i64,
        tv_nsec: timeout.subsec_nanos().into(),
    };
    unless_blocked(poll(fds, Some(&timeout))).map(|_| ())
}

/// How this process is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// SCHED_FIFO: before every ordinary process.
    Realtime,
    /// As every other process.
    Ordinary,
}

/// Asks for SCHED_FIFO with this priority, if one is given, and for timers that are not put
/// together with others'; says what was granted.
pub fn be_punctual(priority: Option<i32>) -> Scheduling {
    // Without it the process is as punctual as others are.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    match priority.map(bare::be_first) {
        Some(Ok(())) => Scheduling::Realtime,
        Some(Err(_)) | None => Scheduling::Ordinary,
    }
}

/// This process gets SIGKILL when its parent dies. `parent` is the process that started it, if that
/// is known.
///
/// # Errors
/// That process has ended already, and would not be heard of.
pub fn die_with_parent(parent: Option<u32>) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    match parent {
        Some(parent) if parent != std::os::unix::process::parent_id() => {
            Err(io::Error::other(format!("the process {parent} that started this one has ended")))
        }
        _ => Ok(()),
    }
}

/// Lets this process have so many files open.
///
/// # Errors
/// It may not.
pub fn allow_files(wanted: u64) -> io::Result<()> {
    let Rlimit { current, maximum } = rustix::process::getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let maximum = maximum.map(|maximum| maximum.max(wanted));
    let limit = Rlimit { current: Some(wanted), maximum };
    Ok(rustix::process::setrlimit(Resource::Nofile, limit)?)
}

const APART: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// A socket for an address's version of IP, which does not block.
///
/// # Errors
/// What the system says.
pub fn socket(address: &SocketAddr, kind: SocketType) -> io::Result<OwnedFd> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    Ok(rustix::net::socket_with(family, kind, APART, None)?)
}

/// Begins to connect; a connection under way is no error.
///
/// # Errors
/// What the system says.
pub fn connect(fd: &impl AsFd, address: &SocketAddr) -> io::Result<()> {
    match rustix::net::connect(fd, address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A connection that has come, if one has.
///
/// # Errors
/// What the system says.
pub fn accept(fd: &impl AsFd) -> io::Result<Option<OwnedFd>> {
    unless_blocked(rustix::net::accept_with(fd, APART))
}

/// Throws away what a TCP socket has received, up to `chunk`'s length; 0 at its end. Nothing is
/// written there: so TCP takes MSG_TRUNC (tcp(7)).
///
/// # Errors
/// What the system says.
pub fn discard(fd: &impl AsFd, chunk: &mut [u8]) -> io::Result<Option<usize>> {
    let received = unless_blocked(rustix::net::recv(fd, chunk, RecvFlags::TRUNC))?;
    Ok(received.map(|(_, length)| length))
}

/// Sends what fits of some bytes.
///
/// # Errors
/// What the system says.
pub fn send(fd: &impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    unless_blocked(rustix::net::send(fd, bytes, SendFlags::NOSIGNAL))
}
