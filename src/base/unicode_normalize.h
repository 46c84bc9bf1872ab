// The four Unicode normalization forms (UAX 15). The tables are those of Unicode 9.0, which Hugging
// Face's tokenizers use, so that token ids agree: characters assigned later are not changed.
#pragma once

#include <string>
#include <string_view>

namespace counterbeam {

enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };

// A cheap test: true only if the text is already in the form; false if that is not certain.
bool surely_normal(std::string_view text, NormalForm form);

// REQUIRES: text is valid UTF-8
std::string normalize(std::string_view text, NormalForm form);

}  // namespace counterbeam
