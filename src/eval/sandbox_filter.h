// The system calls that a confined Python may make, as a seccomp filter for bwrap --seccomp. All
// others fail with EPERM.
#pragma once

#include <string>

namespace counterbeam {

// A classic BPF program: an array of struct sock_filter, as bytes.
std::string system_call_filter();

}  // namespace counterbeam
