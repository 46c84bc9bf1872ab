// The system calls a confined Python may make, as a seccomp filter in the form bwrap --seccomp
// reads. What is not listed fails with EPERM.
#pragma once

#include <string>

namespace counterbeam {

// A classic BPF program: an array of struct sock_filter, as bytes.
std::string system_call_filter();

}  // namespace counterbeam
