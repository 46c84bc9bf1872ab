// Context pairs that the model words itself: it is asked, through its chat template, to reword a
// known pair. What it writes is read strictly: anything but two labelled lines is dropped with its
// cause, and nothing is repaired.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/contexts.h"
#include "search/loaded_model.h"

namespace counterbeam {

// The message that asks for a rewording.
std::string paraphrase_request(const ContextPair& pair);

// A pair without a name, or why there is none.
struct ParsedParaphrase {
  std::optional<ContextPair> pair{};
  std::string cause{};
};

constexpr std::size_t kLongestParaphrase = 300;  // bytes of a text

// Reads "Positive: TEXT" and "Negative: TEXT", each on a line, and nothing else except blank lines
// and a closed <think> block before them. Dropped: other output, texts that are empty, equal, too
// long, hold control characters or characters that could not be decoded, and pairs of `known`.
// Texts that differ only in case and white space count as equal.
ParsedParaphrase parse_paraphrase(std::string_view output, std::span<const ContextPair> known);

struct ParaphraseOptions {
  int wanted = 0;
  int most_requests = 0;                  // gives up then
  std::uint64_t seed = 0;                 //
  int concurrency = 1;                    // requests at once; the result does not depend on it
  std::string template_arguments = "{}";  // as Question::template_arguments
  const Cancellation* cancellation = nullptr;
};

struct DroppedParaphrase {
  std::string cause;
  std::string output;
};

struct Paraphrases {
  int requests = 0;
  std::vector<ContextPair> pairs{};  // named after their source: reasoning.1
  std::vector<DroppedParaphrase> dropped{};
};

// Asks the model for rewordings of the sources in turn, until `wanted` pairs that are not among
// `known` (which holds the sources) are found or the requests are used up. Deterministic for a
// seed. Error where the model has no chat template.
Paraphrases write_paraphrases(const LoadedModel& model, std::span<const ContextPair> sources,
                              std::span<const ContextPair> known, const ParaphraseOptions& options);

}  // namespace counterbeam
