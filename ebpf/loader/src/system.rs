//! What the loader asks of the kernel beside BPF objects: is everything there, network namespaces,
//! devices.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::args::Place;
use crate::{Error, Result};

/// Where BPF objects can be pinned.
pub const BPFFS: &str = "/sys/fs/bpf";
const BTF: &str = "/sys/kernel/btf/vmlinux";
const LOCK: &str = "/run/clearpipe-bpf.lock";
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;

fn missing<T>(what: &str) -> Result<T> {
    Err(Error::Missing(what.to_owned()))
}

/// `errno` as text.
pub fn failed(what: impl std::fmt::Display) -> Error {
    Error::Failed(format!("{what}: {}", io::Error::last_os_error()))
}

/// Only one loader at a time; the lock goes with the process.
pub fn lock() -> Result<File> {
    privileged()?;
    let file = File::create(LOCK).map_err(|error| Error::Failed(format!("{LOCK}: {error}")))?;
    // SAFETY: the descriptor is open.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
        return Err(failed(LOCK));
    }
    Ok(file)
}

/// The capabilities that are used, with their numbers.
const CAPABILITIES: [(&str, u32); 3] =
    [("CAP_BPF", 39), ("CAP_NET_ADMIN", 12), ("CAP_SYS_ADMIN", 21)];
/// The number of the initial user namespace (PROC_USER_INIT_INO), the only one whose capabilities
/// are good for eBPF.
const INITIAL_USERS: u64 = 0xeffffffd;

fn privileged() -> Result<()> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lacks = lacking(&status);
    if !lacks.is_empty() {
        return missing(&format!("needs root: this process lacks {}", lacks.join(", ")));
    }
    match fs::metadata("/proc/self/ns/user") {
        Ok(users) if users.ino() != INITIAL_USERS => missing(
            "needs root outside of user namespaces: eBPF asks for capabilities that a user \
             namespace (unshare --user, a rootless container) cannot give",
        ),
        _ => Ok(()),
    }
}

/// The capabilities that a /proc/PID/status does not have.
fn lacking(status: &str) -> Vec<&'static str> {
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|held| u64::from_str_radix(held.trim(), 16).ok()).unwrap_or(0);
    let lacks = CAPABILITIES.iter().filter(|(_, number)| held >> number & 1 == 0);
    lacks.map(|(name, _)| *name).collect()
}

/// Names what the kernel lacks.
pub fn check() -> Result<()> {
    privileged()?;
    if !Path::new(BTF).exists() {
        return missing("the kernel has no BTF: CONFIG_DEBUG_INFO_BTF=y is needed");
    }
    let filesystems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !filesystems.lines().any(|line| line.ends_with("\tbpf")) {
        return missing("the kernel has no bpf file system: CONFIG_BPF_SYSCALL=y is needed");
    }
    let types = [
        ("bpf_struct_ops_tcp_congestion_ops", "CONFIG_BPF_JIT=y and CONFIG_BPF_SYSCALL=y"),
        ("bpf_cgroup_link", "CONFIG_CGROUP_BPF=y"),
    ];
    for (name, option) in types {
        if !kernel_has(name)? {
            return missing(&format!("the kernel has no {name}: {option} is needed"));
        }
    }
    Ok(())
}

/// Names what the kernel lacks; mounts bpffs where it is not.
pub fn prepare() -> Result<()> {
    check()?;
    mount_bpffs()
}

/// What newer kernels have, and older ones do another way.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Registrations of congestion controls are links, which end with their last holder (6.4).
    pub struct_ops_link: bool,
    /// Programs of devices are links (6.6); else they are filters of clsact.
    pub tcx: bool,
}

/// Of this kernel; none if $CLEARPIPE_BPF_LEGACY is set, which is for tests.
pub fn features() -> Result<Features> {
    let legacy = std::env::var_os("CLEARPIPE_BPF_LEGACY").is_some();
    Ok(Features {
        struct_ops_link: !legacy && kernel_has("bpf_struct_ops_link")?,
        tcx: !legacy && kernel_has("tcx_link")?,
    })
}

/// What VCP's router in the kernel needs.
pub fn prepare_router() -> Result<()> {
    if btf_has("bpf_cast_to_kern_ctx", BTF_KIND_FUNC)? {
        return Ok(());
    }
    missing("the kernel has no bpf_cast_to_kern_ctx: a router needs Linux 6.2 or newer")
}

const BTF_KIND_STRUCT: u32 = 4;
const BTF_KIND_FUNC: u32 = 12;

fn kernel_has(structure: &str) -> Result<bool> {
    btf_has(structure, BTF_KIND_STRUCT)
}

/// Is it in the kernel's BTF?
fn btf_has(name: &str, kind: u32) -> Result<bool> {
    let name = c_string(name)?;
    // SAFETY: the object is freed, the string lives long enough.
    unsafe {
        let btf = libbpf_sys::btf__load_vmlinux_btf();
        if btf.is_null() {
            return Err(failed(BTF));
        }
        let id = libbpf_sys::btf__find_by_name_kind(btf, name.as_ptr(), kind);
        libbpf_sys::btf__free(btf);
        Ok(id > 0)
    }
}

/// Is the bpf file system mounted?
fn bpffs_mounted() -> bool {
    let mut stat = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: a literal path, and room for the answer.
    let status = unsafe { libc::statfs(c"/sys/fs/bpf".as_ptr(), stat.as_mut_ptr()) };
    // SAFETY: all zeros are a valid value, and the call filled it.
    status == 0 && unsafe { stat.assume_init() }.f_type == BPF_FS_MAGIC
}

fn mount_bpffs() -> Result<()> {
    if bpffs_mounted() {
        return Ok(());
    }
    // A second mount would hide what was pinned in the first. The lock is the directory's, as some
    // that come here have that of `lock` already; once mounted, the path leads past it.
    let directory = File::open(BPFFS).map_err(|_| failed(BPFFS))?;
    // SAFETY: an open descriptor.
    if unsafe { libc::flock(directory.as_raw_fd(), libc::LOCK_EX) } != 0 {
        return Err(failed(BPFFS));
    }
    if bpffs_mounted() {
        return Ok(());
    }
    // SAFETY: literal strings, no data.
    let status = unsafe {
        let (name, at) = (c"bpf".as_ptr(), c"/sys/fs/bpf".as_ptr());
        libc::mount(name, at, name, 0, std::ptr::null())
    };
    if status == 0 { Ok(()) } else { Err(failed(format!("mounting {BPFFS}"))) }
}

/// Lets every user choose a protocol that is registered; that ends with its registration.
pub fn allow(name: &str) -> Result<()> {
    let path = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
    let wrong = |error: io::Error| Error::Failed(format!("{path}: {error}"));
    let allowed = fs::read_to_string(path).map_err(wrong)?;
    let more = format!("{} {}\n", allowed.trim(), name.replace('-', "_"));
    fs::write(path, more).map_err(wrong)
}

/// The directory of a cgroup v2; the root if none is given.
fn cgroup_path(given: Option<&str>) -> Result<PathBuf> {
    let root = || {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mounted = mounts.lines().find_map(|line| {
            let mut parts = line.split(' ');
            (parts.nth(2) == Some("cgroup2")).then(|| line.split(' ').nth(1).map(PathBuf::from))?
        });
        mounted.ok_or_else(|| Error::Missing("no cgroup v2 is mounted".to_owned()))
    };
    given.map_or_else(root, |path| Ok(PathBuf::from(path)))
}

/// The cgroup v2 whose sockets may use a protocol with TCP options.
pub fn cgroup(given: Option<&str>) -> Result<OwnedFd> {
    let path = cgroup_path(given)?;
    let directory = File::open(&path);
    directory
        .map(OwnedFd::from)
        .map_err(|error| Error::Failed(format!("{}: {error}", path.display())))
}

/// The numbers of that cgroup and of all above it.
pub fn cgroups_from(given: Option<&str>) -> Result<Vec<u64>> {
    let path = cgroup_path(given)?;
    let path = fs::canonicalize(&path)
        .map_err(|error| Error::Failed(format!("{}: {error}", path.display())))?;
    Ok(path.ancestors().filter_map(|each| Some(fs::metadata(each).ok()?.ino())).collect())
}

/// A number for a link; 0 is none.
pub fn random_link() -> Result<u32> {
    let mut bytes = [0; 4];
    // SAFETY: room for as many bytes as are asked for.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got != 4 {
        return Err(failed("getrandom"));
    }
    Ok(u32::from_ne_bytes(bytes).max(1))
}

/// A C string of a name without zeros.
pub fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Usage(format!("{text:?} contains a zero")))
}

/// A device as the loader needs it; the process is in its network namespace from then on.
pub struct Device {
    /// Its number.
    pub index: i32,
    /// Do its packets begin with an Ethernet header?
    pub ether: bool,
}

/// Goes into the namespace of a place; `Ok(false)` when it does not exist.
pub fn enter(place: &Place) -> Result<bool> {
    let Some(netns) = &place.netns else { return Ok(true) };
    let Ok(file) = File::open(Path::new("/run/netns").join(netns)) else { return Ok(false) };
    // SAFETY: the descriptor is open.
    if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
        return Err(failed(format!("network namespace {netns}")));
    }
    Ok(true)
}

/// The device in the namespace that the process is in; `Ok(None)` when there is none.
pub fn device(name: &str) -> Result<Option<Device>> {
    let text = c_string(name)?;
    // SAFETY: a C string.
    let index = unsafe { libc::if_nametoindex(text.as_ptr()) };
    if index == 0 {
        return Ok(None);
    }
    // SAFETY: all zeros are a valid request; the descriptor is open and closed by its owner.
    let family = unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(failed("socket"));
        }
        let socket = OwnedFd::from_raw_fd(socket);
        let mut request: libc::ifreq = std::mem::zeroed();
        let bytes = text.as_bytes();
        if bytes.len() >= request.ifr_name.len() {
            return Err(Error::Usage(format!("{name}: the name is too long")));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &mut request) != 0 {
            return Err(failed(name));
        }
        request.ifr_ifru.ifru_hwaddr.sa_family
    };
    let ether = family == libc::ARPHRD_ETHER || family == libc::ARPHRD_LOOPBACK;
    // The kernel's numbers are positive ints.
    Ok(Some(Device { index: index as i32, ether }))
}

/// The name of a device of the namespace that the process is in; `Ok(None)` when there is none.
pub fn device_name(index: i32) -> Result<Option<String>> {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: room for the longest name, which the call ends with a zero.
    let found = unsafe { libc::if_indextoname(index as libc::c_uint, name.as_mut_ptr()) };
    if found.is_null() {
        return match io::Error::last_os_error() {
            gone if gone.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            _ => Err(failed(format!("the device of number {index}"))),
        };
    }
    // SAFETY: as above.
    let name = unsafe { std::ffi::CStr::from_ptr(name.as_ptr()) };
    Ok(Some(name.to_string_lossy().into_owned()))
}

/// A socket that negotiates ECN would react to the bits that the protocols use.
pub fn check_ecn() -> Result<()> {
    let path = "/proc/sys/net/ipv4/tcp_ecn";
    // What is below /proc/sys/net is that of the reading thread's network namespace.
    let mode = fs::read_to_string(path).unwrap_or_default();
    match mode.trim() {
        "0" | "2" | "" => Ok(()),
        mode => Err(Error::Failed(format!(
            "net.ipv4.tcp_ecn is {mode}, and the protocol needs the ECN bits: set it to 0 or 2"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_lacks_is_named() {
        // Bits 12, 21 and 39; all of them; without a line there is none.
        assert_eq!(lacking("Name:\tx\nCapEff:\t0000008000201000\n"), [""; 0]);
        assert_eq!(lacking("CapEff:\t0000008000200000\n"), ["CAP_NET_ADMIN"]);
        assert_eq!(lacking(""), ["CAP_BPF", "CAP_NET_ADMIN", "CAP_SYS_ADMIN"]);
    }
}
