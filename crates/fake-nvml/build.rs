//! Gives the library the name under which programs look for NVML; cargo's own would be `libfake_nvml.so`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
}
