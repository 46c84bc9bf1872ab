// Prompts of conversations whose last message is the beginning of an answer: they end with it, and
// the model continues it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template.h"

namespace counterbeam {

// The text of all pieces.
std::string joined(const std::vector<PromptPiece>& pieces);

// The pieces up to the end of the beginning, without what the template writes after it. `before` is
// what the template writes before its last message, if that is known. If the beginning does not
// follow it, the last occurrence in text that the template did not write counts. The template may
// have trimmed the beginning; white space that it removed at the end is put back. Nothing if the
// beginning is not found.
std::optional<std::vector<PromptPiece>> cut_after_beginning(
    std::vector<PromptPiece> pieces, const std::optional<std::string>& before,
    std::string_view beginning);

}  // namespace counterbeam
