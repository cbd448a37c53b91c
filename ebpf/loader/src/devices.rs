//! Programs on devices: as tcx links, or before Linux 6.6 as filters of clsact.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, Program, TC_EGRESS, TC_INGRESS, TcHook, TcHookBuilder};

use crate::args::Place;
use crate::pins::{self, Attached, Directory};
use crate::system::{self, Device, c_string, failed};
use crate::table::{PROGRAMS, is_router};
use crate::{Error, Result};

/// The first priority of our filters; the objects have one each, so that they come in their order.
const PRIORITY: u32 = 0xc100;

/// Runs something in a place's network namespace; `Ok(None)` when there is no such namespace.
pub fn within<T: Send>(place: &Place, act: impl FnOnce() -> Result<T> + Send) -> Result<Option<T>> {
    // A thread of its own, as a change of namespace is for good.
    let done = std::thread::scope(|scope| {
        let thread = scope.spawn(|| match system::enter(place)? {
            true => act().map(Some),
            false => Ok(None),
        });
        thread.join()
    });
    done.unwrap_or_else(|_| Err(Error::Failed("a thread failed".to_owned())))
}

/// The same with the device; `Ok(false)` when there is none of its name.
pub fn inside(place: &Place, act: impl FnOnce(&Device) -> Result<()> + Send) -> Result<bool> {
    let there = within(place, || match system::device(&place.dev)? {
        Some(device) => act(&device).map(|()| true),
        None => Ok(false),
    });
    Ok(there?.unwrap_or(false))
}

/// The number of the device that it is on, by which the kernel knows it whatever its name is now.
pub fn index(attached: &Attached) -> Option<i32> {
    let info = Link::open(&attached.path).and_then(|link| link.info());
    match info.map(|info| info.info) {
        Ok(LinkTypeInfo::Tcx(tcx)) => i32::try_from(tcx.ifindex).ok().filter(|&index| index != 0),
        _ => {
            let device = within(&attached.place, || system::device(&attached.place.dev));
            device.ok().flatten().flatten().map(|device| device.index)
        }
    }
}

/// Puts the program of a direction on a device of this namespace, and pins what holds it.
pub fn attach(
    directory: &Directory,
    place: &Place,
    device: &Device,
    direction: &str,
) -> Result<()> {
    let pin = directory.link(place, direction);
    pins::unpin(&pin)?;
    let layer = if device.ether { "ether" } else { "raw" };
    let path = directory.pin(&format!("{direction}_{layer}"));
    let program = Program::fd_from_pinned_path(&path)
        .map_err(|error| Error::Failed(format!("{}: {error:#}", path.display())))?;
    if !system::features()?.tcx {
        // Pinned first: what is attached can always be found.
        pin_fd(&program, &pin)?;
        return filter(&program, device, &directory.object(), direction);
    }
    let kind = match direction {
        "ingress" => libbpf_sys::BPF_TCX_INGRESS,
        _ => libbpf_sys::BPF_TCX_EGRESS,
    };
    // A router reads what end hosts write, whichever is loaded first: they are before all else.
    let router = is_router(&directory.object());
    let options = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t,
        flags: if router { libbpf_sys::BPF_F_AFTER } else { libbpf_sys::BPF_F_BEFORE },
        ..Default::default()
    };
    // SAFETY: open descriptors, and options that outlive the call; the link is closed by its owner.
    let link = unsafe {
        let link = libbpf_sys::bpf_link_create(
            program.as_raw_fd(),
            device.index,
            kind,
            &raw const options,
        );
        if link < 0 {
            return Err(failed(format!("{} {direction}", place.dev)));
        }
        OwnedFd::from_raw_fd(link)
    };
    pin_fd(&link, &pin)
}

fn pin_fd(fd: &OwnedFd, pin: &std::path::Path) -> Result<()> {
    let text = c_string(&pin.to_string_lossy())?;
    // SAFETY: an open descriptor and a C string.
    match unsafe { libbpf_sys::bpf_obj_pin(fd.as_raw_fd(), text.as_ptr()) } {
        0 => Ok(()),
        _ => Err(failed(pin.display())),
    }
}

fn hook(fd: &OwnedFd, device: &Device, object: &str, direction: &str) -> TcHook {
    let place = PROGRAMS.iter().position(|program| program.name == object);
    let place = place.unwrap_or(PROGRAMS.len());
    TcHookBuilder::new(fd.as_fd())
        .ifindex(device.index)
        .replace(true)
        .handle(1)
        .priority(PRIORITY + place as u32)
        .hook(if direction == "ingress" { TC_INGRESS } else { TC_EGRESS })
}

fn filter(program: &OwnedFd, device: &Device, object: &str, direction: &str) -> Result<()> {
    let mut hook = hook(program, device, object, direction);
    let attached = hook.create().and_then(|mut hook| hook.attach());
    attached.map(|_| ()).map_err(|error| {
        Error::Missing(format!(
            "the kernel takes no filter for {object} ({error:#}): CONFIG_NET_SCH_INGRESS and \
             CONFIG_NET_CLS_BPF are needed"
        ))
    })
}

/// Takes it off its device, if that is still there.
pub fn detach(attached: &Attached) -> Result<()> {
    // A pin that holds no link holds the program of a filter, which has an information as well.
    let info = Link::open(&attached.path).and_then(|link| link.info());
    if !matches!(info.map(|info| info.info), Ok(LinkTypeInfo::Tcx(_))) {
        let object = Directory::holding(&attached.path).object();
        if let Ok(program) = Program::fd_from_pinned_path(&attached.path) {
            inside(&attached.place, |device| {
                // It may be gone already.
                let _ = hook(&program, device, &object, &attached.direction).detach();
                Ok(())
            })?;
        }
    }
    pins::unpin(&attached.path)
}

/// Is its device gone?
pub fn is_gone(attached: &Attached) -> bool {
    let info = Link::open(&attached.path).and_then(|link| link.info());
    match info.map(|info| info.info) {
        Ok(LinkTypeInfo::Tcx(tcx)) => tcx.ifindex == 0,
        _ => !inside(&attached.place, |_| Ok(())).unwrap_or(false),
    }
}
