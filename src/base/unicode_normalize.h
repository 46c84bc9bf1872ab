// The four normal forms of Unicode text (UAX 15). The tables are those of Unicode 9.0, because the
// normalizers of Hugging Face's tokenizers are and ids must agree with them: characters assigned
// later pass unchanged.
#pragma once

#include <string>
#include <string_view>

namespace counterbeam {

enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };

// True when the text surely is in the form already (a cheap test; false means "perhaps not").
bool surely_normal(std::string_view text, NormalForm form);

// REQUIRES: text is valid UTF-8
std::string normalize(std::string_view text, NormalForm form);

}  // namespace counterbeam
