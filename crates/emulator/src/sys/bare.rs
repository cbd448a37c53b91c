//! System calls that rustix does not have.
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes an open /dev/net/tun the TUN device of this name, without a header before its packets.
pub fn attach_tun(device: &impl AsFd, name: &str) -> io::Result<()> {
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
    let device = device.as_fd().as_raw_fd();
    // SAFETY: TUNSETIFF reads and writes an ifreq.
    check(unsafe { libc::ioctl(device, libc::TUNSETIFF as _, &raw mut request) })
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
        // SAFETY: a sigaction is plain data, and the handler stores into an atomic and does nothing
        // else.
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

/// SCHED_FIFO with this priority.
pub fn be_first(sched_priority: i32) -> io::Result<()> {
    let priority = libc::sched_param { sched_priority };
    // SAFETY: the parameter lives through the call; 0 is this thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) })
}

fn set_number(
    fd: &impl AsFd,
    (level, name): (libc::c_int, libc::c_int),
    value: libc::c_int,
) -> io::Result<()> {
    let (fd, value) = (fd.as_fd().as_raw_fd(), &raw const value);
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value is readable for its length.
    check(unsafe { libc::setsockopt(fd, level, name, value.cast(), length) })
}

/// A TCP socket has room while it holds less than so many bytes that TCP has not sent.
///
/// # Errors
/// What the system says.
pub fn limit_unsent(fd: &impl AsFd, bytes: i32) -> io::Result<()> {
    set_number(fd, (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT), bytes)
}

/// From now on the kernel stamps what this socket receives ([`receive_stamped`]).
///
/// # Errors
/// What the system says.
pub fn stamp_received(fd: &impl AsFd) -> io::Result<()> {
    set_number(fd, (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS), 1)
}

/// The kernel's `struct tcp_info` of a TCP socket into `value`; how many bytes it has.
///
/// # Errors
/// What the system says.
pub fn tcp_info(fd: &impl AsFd, value: &mut [u8]) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    let (fd, value) = (fd.as_fd().as_raw_fd(), value.as_mut_ptr().cast());
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
    // SAFETY: the value is writable for the length given.
    check(unsafe { libc::getsockopt(fd, level, name, value, &raw mut length) })?;
    Ok(length as usize)
}

/// A datagram's length, and when the kernel received it [ns of CLOCK_REALTIME], if it says so;
/// `None` when there is none now.
///
/// # Errors
/// What the system says.
pub fn receive_stamped(
    fd: &impl AsFd,
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
    let n = unsafe { libc::recvmsg(fd.as_fd().as_raw_fd(), &raw mut message, 0) };
    let Ok(n) = usize::try_from(n) else {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        };
    };
    // SAFETY: the kernel has filled in `message`, whose buffers live still; a control message of
    // this type holds a timespec, perhaps not aligned.
    let stamp = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        (!first.is_null() && (*first).cmsg_type == libc::SCM_TIMESTAMPNS)
            .then(|| ptr::read_unaligned(libc::CMSG_DATA(first).cast::<libc::timespec>()))
    };
    let ns = stamp.map(|stamp| stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64);
    Ok(Some((n, ns)))
}
