// The wire format for plain Python values that both interpreters of a judgement use, as a script.
// It exists because pickle and marshal are unsafe on input from a hostile process: reading here
// creates only values of exact built-in types. A subclass is sent as its base class; a value that
// is not plain arrives as an Opaque, which equals only itself.
#pragma once

#include <string>

namespace counterbeam {

const std::string& wire_format();

}  // namespace counterbeam
