//! The system calls: all unsafe code of this crate.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// CLOCK_MONOTONIC [ns].
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a timespec to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Runs `f` on this thread inside a network namespace.
///
/// # Errors
/// The namespace cannot be entered, or `f` fails.
///
/// # Panics
/// If there is no way back: the thread would go on in the wrong namespace.
pub fn in_namespace<T>(path: &str, f: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let home = File::open("/proc/thread-self/ns/net")?;
    let there = File::open(path)?;
    // SAFETY: a system call with an open descriptor.
    check(unsafe { libc::setns(there.as_raw_fd(), libc::CLONE_NEWNET) })?;
    let result = f();
    // SAFETY: as above.
    let back = check(unsafe { libc::setns(home.as_raw_fd(), libc::CLONE_NEWNET) });
    back.expect("the thread's own network namespace");
    result
}

/// A TUN device of this name in the present namespace; it is gone when the descriptor is closed.
/// Packets come and go as bare IP, one with each read and write, which do not block.
///
/// # Errors
/// What the system says.
pub fn open_tun(name: &str) -> io::Result<OwnedFd> {
    let device = File::options().read(true).write(true).open("/dev/net/tun")?;
    let bytes = name.as_bytes();
    // SAFETY: an ifreq is plain data.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if bytes.is_empty() || bytes.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a device's name"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an ifreq.
    check(unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })?;
    let device = OwnedFd::from(device);
    set_nonblocking(&device)?;
    Ok(device)
}

/// Reads and writes do not wait from now on.
///
/// # Errors
/// What the system says.
pub fn set_nonblocking(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: fcntl on an open descriptor.
    let flags = check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: as above.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
    Ok(())
}

/// Reads once; `None` when there is nothing now.
///
/// # Errors
/// What the system says.
pub fn read(fd: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: the buffer is writable for its length.
    let n = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    amount(n)
}

/// Writes once; `None` when there is no room now.
///
/// # Errors
/// What the system says.
pub fn write(fd: &impl AsRawFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    // SAFETY: the buffer is readable for its length.
    let n = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    amount(n)
}

fn amount(n: libc::ssize_t) -> io::Result<Option<usize>> {
    if let Ok(n) = usize::try_from(n) {
        return Ok(Some(n));
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(error),
    }
}

/// Waits until one of these is ready or `timeout` has passed, to the nanosecond where the system can.
///
/// # Errors
/// What the system says; a signal is none.
pub fn wait(fds: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let span = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().min(1 << 30) as libc::time_t,
        tv_nsec: timeout.subsec_nanos() as _,
    });
    let span = span.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: both arrays live through the call; no signal mask is given.
    let ready =
        unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, span, ptr::null()) };
    match check(ready) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// One descriptor to wait for.
pub fn interest(fd: RawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}

static STOPPED: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOPPED.store(true, Ordering::Relaxed);
}

/// From now on SIGTERM and SIGINT are seen by [`stopped`] and end nothing; nor does SIGPIPE.
pub fn catch_signals() {
    for (signal, action) in [
        (libc::SIGTERM, stop as *const () as libc::sighandler_t),
        (libc::SIGINT, stop as *const () as libc::sighandler_t),
        (libc::SIGPIPE, libc::SIG_IGN),
    ] {
        // SAFETY: the handler stores into an atomic and does nothing else.
        unsafe {
            let mut new: libc::sigaction = mem::zeroed();
            new.sa_sigaction = action;
            libc::sigaction(signal, &raw const new, ptr::null_mut());
        }
    }
}

/// Has SIGTERM or SIGINT come?
pub fn stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// How this process is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// SCHED_FIFO: before every ordinary process.
    Realtime,
    /// As every other process.
    Ordinary,
}

/// Asks for SCHED_FIFO with this priority, if one is given, and for timers that are not put together
/// with others'; says what was granted.
pub fn be_punctual(priority: Option<i32>) -> Scheduling {
    // SAFETY: PR_SET_TIMERSLACK takes a number of nanoseconds.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    let Some(sched_priority) = priority else { return Scheduling::Ordinary };
    let priority = libc::sched_param { sched_priority };
    // SAFETY: the parameter lives through the call; 0 is this thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) } {
        0 => Scheduling::Realtime,
        _ => Scheduling::Ordinary,
    }
}

/// This process gets SIGKILL when its parent dies. `parent` is the process that started it, if that is
/// known.
///
/// # Errors
/// That process has ended already, and would not be heard of.
pub fn die_with_parent(parent: Option<u32>) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes a signal's number.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) })?;
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
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a structure to be written.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    if limit.rlim_cur >= wanted {
        return Ok(());
    }
    limit = libc::rlimit { rlim_cur: wanted, rlim_max: limit.rlim_max.max(wanted) };
    // SAFETY: `limit` lives through the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
    Ok(())
}

/// Processor time of this process so far [ns].
pub fn cpu_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a timespec to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// An IPv4 address and a port.
pub type Address = ([u8; 4], u16);

fn sockaddr((address, port): Address) -> libc::sockaddr_in {
    // SAFETY: a sockaddr_in is plain data.
    let mut to: libc::sockaddr_in = unsafe { mem::zeroed() };
    to.sin_family = libc::AF_INET as libc::sa_family_t;
    to.sin_port = port.to_be();
    to.sin_addr.s_addr = u32::from_ne_bytes(address);
    to
}

/// A socket that does not block: `libc::SOCK_STREAM` or `libc::SOCK_DGRAM`.
///
/// # Errors
/// What the system says.
pub fn socket(kind: libc::c_int) -> io::Result<OwnedFd> {
    let flags = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a system call on numbers; the descriptor is new and ours.
    unsafe { check(libc::socket(libc::AF_INET, flags, 0)).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

/// Gives a socket its address.
///
/// # Errors
/// What the system says.
pub fn bind(fd: &impl AsRawFd, address: Address) -> io::Result<()> {
    let to = sockaddr(address);
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: the address lives through the call and has this length.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const to).cast(), length) })?;
    Ok(())
}

/// Listens for connections.
///
/// # Errors
/// What the system says.
pub fn listen(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: a system call on numbers.
    check(unsafe { libc::listen(fd.as_raw_fd(), 16) })?;
    Ok(())
}

/// Begins to connect; a connection under way is no error.
///
/// # Errors
/// What the system says.
pub fn connect(fd: &impl AsRawFd, address: Address) -> io::Result<()> {
    let to = sockaddr(address);
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: the address lives through the call and has this length.
    match check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const to).cast(), length) }) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

/// A connection that has come, if one has.
///
/// # Errors
/// What the system says.
pub fn accept(fd: &impl AsRawFd) -> io::Result<Option<OwnedFd>> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no address is asked for; the descriptor is new and ours.
    let new = unsafe { libc::accept4(fd.as_raw_fd(), ptr::null_mut(), ptr::null_mut(), flags) };
    match check(new) {
        // SAFETY: as above.
        Ok(new) => Ok(Some(unsafe { OwnedFd::from_raw_fd(new) })),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Throws away what a TCP socket has received, up to `most` bytes; 0 at its end.
///
/// # Errors
/// What the system says.
pub fn discard(fd: &impl AsRawFd, most: usize) -> io::Result<Option<usize>> {
    // SAFETY: with MSG_TRUNC, TCP writes nothing into the buffer (tcp(7)).
    amount(unsafe { libc::recv(fd.as_raw_fd(), ptr::null_mut(), most, libc::MSG_TRUNC) })
}

/// Sends what fits of some bytes.
///
/// # Errors
/// What the system says.
pub fn send(fd: &impl AsRawFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    let (data, length) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: the buffer is readable for its length.
    amount(unsafe { libc::send(fd.as_raw_fd(), data, length, libc::MSG_NOSIGNAL) })
}

/// CLOCK_REALTIME [ns], by which the kernel stamps what it receives.
pub fn realtime_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a timespec to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// From now on the kernel stamps what this socket receives ([`receive_stamped`]).
///
/// # Errors
/// What the system says.
pub fn stamp_received(fd: &impl AsRawFd) -> io::Result<()> {
    set_number(fd, (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS), 1)
}

/// A datagram's length, and when the kernel received it [ns of CLOCK_REALTIME], if it says so.
///
/// # Errors
/// What the system says.
pub fn receive_stamped(
    fd: &impl AsRawFd,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, Option<u64>)>> {
    let mut control = [0_u64; 16];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: a msghdr is plain data.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: both buffers are writable for the lengths given, and aligned.
    let n = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) };
    let Some(n) = amount(n)? else { return Ok(None) };
    // SAFETY: the kernel has filled in `message`, whose buffers live still; a control message of this
    // type holds a timespec, perhaps not aligned.
    let stamp = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        (!first.is_null() && (*first).cmsg_type == libc::SCM_TIMESTAMPNS)
            .then(|| ptr::read_unaligned(libc::CMSG_DATA(first).cast::<libc::timespec>()))
    };
    let ns = stamp.map(|stamp| stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64);
    Ok(Some((n, ns)))
}

/// There is no more to send.
///
/// # Errors
/// What the system says.
pub fn shut_write(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: a system call on numbers.
    check(unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) })?;
    Ok(())
}

/// Chooses the congestion control of a TCP socket by its kernel name.
///
/// # Errors
/// There is none of that name, or it may not be used.
pub fn set_congestion(fd: &impl AsRawFd, name: &str) -> io::Result<()> {
    let name = CString::new(name)?;
    set_option(fd, (libc::IPPROTO_TCP, libc::TCP_CONGESTION), name.as_bytes())
}

/// The congestion control that a TCP socket has.
///
/// # Errors
/// What the system says.
pub fn congestion(fd: &impl AsRawFd) -> io::Result<String> {
    let mut name = [0_u8; 17];
    get_option(fd, (libc::IPPROTO_TCP, libc::TCP_CONGESTION), &mut name[..16])?;
    let name = CStr::from_bytes_until_nul(&name).map_err(io::Error::other)?;
    Ok(name.to_string_lossy().into_owned())
}

/// Sets an option that is a number.
///
/// # Errors
/// What the system says.
pub fn set_number(
    fd: &impl AsRawFd,
    option: (libc::c_int, libc::c_int),
    value: libc::c_int,
) -> io::Result<()> {
    set_option(fd, option, &value.to_ne_bytes())
}

fn set_option(
    fd: &impl AsRawFd,
    (level, name): (libc::c_int, libc::c_int),
    value: &[u8],
) -> io::Result<()> {
    let length = value.len() as libc::socklen_t;
    let value = value.as_ptr().cast();
    // SAFETY: the value is readable for its length.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value, length) })?;
    Ok(())
}

/// Reads an option into `value`; how many bytes it has.
///
/// # Errors
/// What the system says.
pub fn get_option(
    fd: &impl AsRawFd,
    (level, name): (libc::c_int, libc::c_int),
    value: &mut [u8],
) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    let value = value.as_mut_ptr().cast();
    // SAFETY: the value is writable for the length given.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value, &raw mut length) })?;
    Ok(length as usize)
}

/// Why a connection failed, if it did.
///
/// # Errors
/// That reason.
pub fn socket_error(fd: &impl AsRawFd) -> io::Result<()> {
    let mut value = [0; 4];
    get_option(fd, (libc::SOL_SOCKET, libc::SO_ERROR), &mut value)?;
    match i32::from_ne_bytes(value) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
