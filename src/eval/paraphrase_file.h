// paraphrases.json: the pairs that the model wrote, kept so that a resumed search has the same
// candidates.
#pragma once

#include <filesystem>

#include "search/paraphrase.h"

namespace counterbeam {

void write_paraphrases(const std::filesystem::path& path, const Paraphrases& paraphrases);

// Error that names the file and the remedy where it is damaged or holds more than `most` pairs.
Paraphrases read_paraphrases(const std::filesystem::path& path, int most);

}  // namespace counterbeam
