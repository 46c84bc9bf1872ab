#include "search/contexts.h"

#include <array>

#include "base/error.h"
#include "base/trim.h"
#include "search/context_book.h"

namespace counterbeam {
namespace {

constexpr std::string_view kOpening = "This is an example for a response ";

ContextPair pair(std::string_view name, std::string_view positive, std::string_view negative) {
  return {std::string(name), std::string(kOpening).append(positive),
          std::string(kOpening).append(negative)};
}

}  // namespace

std::span<const ContextPair> named_contexts() {
  static const std::array<ContextPair, 11> kPairs = {
      pair("reasoning", "with excellent reasoning:", "with wrong reasoning:"),
      pair("completeness", "with a complete treatment of the problem:",
           "with an incomplete treatment of the problem:"),
      pair("step-verification", "that carefully verifies each step of its reasoning:",
           "that skips verification and rushes to a conclusion:"),
      pair("reliability",
           "that is reliable and trustworthy:", "that is unreliable and error-prone:"),
      pair("logical-validity", "with logically sound arguments:", "with logical fallacies:"),
      pair("reviewer", "that a careful reviewer would approve without hesitation:",
           "that a careful reviewer would reject immediately:"),
      pair("coherence", "that is internally consistent from start to finish:",
           "that contradicts itself partway through:"),
      pair("decomposition", "that breaks the problem into clear, manageable steps:",
           "that attempts the problem in one confused leap:"),
      pair("detail",
           "that pays careful attention to every detail:", "that overlooks important details:"),
      pair("self-correction", "that catches and corrects its own mistakes:",
           "that persists in its mistakes without noticing them:"),
      pair("neutral", "to the question assigned to control group one:",
           "to the question assigned to control group two:"),
  };
  return kPairs;
}

std::optional<ContextPair> chosen_contexts(const Settings& settings) {
  const bool resolved = !settings.positive.empty() || !settings.negative.empty();
  if (!resolved && settings.contexts == "none") return std::nullopt;
  ContextPair pair = resolved ? ContextPair{settings.contexts, settings.positive, settings.negative}
                              : ContextBook().at(settings.contexts);
  if (settings.contrast == "positive") pair.negative.clear();
  if (settings.contrast == "negative") pair.positive.clear();
  return pair;
}

void check_pair(const ContextPair& pair, std::string_view place) {
  const auto check_side = [&](std::string_view side, std::string_view text) {
    if (trim(text, kAsciiSpace).empty())
      bad_input("{}: the {} context is empty; give it a text, or leave contexts out (none)", place,
                side);
  };
  check_side("positive", pair.positive);
  check_side("negative", pair.negative);
  if (pair.positive == pair.negative)
    bad_input("{}: both contexts have the same text, so that every reward is 0; make them differ",
              place);
}

std::string with_context(std::string_view question, std::string_view joiner,
                         std::string_view context) {
  std::string text(question);
  if (!text.empty() && std::string_view(" \t\n\r\f\v").find(text.back()) == std::string_view::npos)
    text += joiner;
  return text.append(context);
}

}  // namespace counterbeam
