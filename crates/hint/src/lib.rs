//! Hints to the processor; they change no result.
//!
//! The only crate of the packet engine and the fluid engine with `unsafe` code, so that the others
//! can forbid it. Elsewhere the emulator has some (a few system calls, `sys/bare.rs`), and `ebpf/`
//! (its arithmetic's tests call C, its loader the kernel); the binding's is what pyo3's macros
//! write.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]

/// Asks the memory for all cache lines of `value`, and does not wait for them. Does nothing where
/// the standard library has no stable way to ask, which is everywhere but on x86-64.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let start = core::ptr::from_ref(value).cast::<i8>();
        let mut at = 0;
        // The last step is to the last byte, as a value need not start where a line does.
        while at < size_of::<T>() + LINE - 1 {
            let byte = at.min(size_of::<T>().saturating_sub(1));
            // SAFETY: the instruction reads nothing and faults at no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(byte)) };
            at += LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn a_value_of_any_size_and_place_is_left_as_it_is() {
        let bytes = [7_u8; 300];
        prefetch(&());
        prefetch(&bytes);
        for byte in &bytes {
            prefetch(byte);
        }
        assert_eq!(bytes, [7; 300]);
    }
}
