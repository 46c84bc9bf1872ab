// Renders any bytes as a template with a fixed conversation: it must render or throw an Error
// within its limits, and the concatenated pieces must equal the text.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "text/chat_template.h"

namespace {

using counterbeam::Json;

const Json& conversation() {
  static const Json kMessages = {
      {{"role", "system"}, {"content", " Be brief. "}},
      {{"role", "user"}, {"content", {{{"type", "text"}, {"text", "Grüße <|im_end|>\n"}}}}},
      {{"role", "assistant"},
       {"content", nullptr},
       {"tool_calls", {{{"function", {{"name", "f"}, {"arguments", {{"x", 1.5}}}}}}}}}};
  return kMessages;
}

counterbeam::jinja::Limits small_limits() {
  counterbeam::jinja::Limits limits;
  limits.steps = 20000;
  limits.memory_bytes = 1 << 20;
  limits.output_bytes = 1 << 18;
  return limits;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  try {
    auto chat =
        counterbeam::ChatTemplate::parse(source, "fuzz", {{"bos_token", "<s>"}}, small_limits());
    chat.set_now(counterbeam::parse_time("2026-01-02T03:04:05"));
    const Json args = {{"add_generation_prompt", true}, {"tools", {{{"name", "f"}}}}, {"n", 3}};
    const std::string text = chat.render(conversation(), args);
    std::string joined;
    for (const auto& piece : chat.render_pieces(conversation(), args)) joined += piece.text;
    CB_CHECK(joined == text);
  } catch (const counterbeam::Error&) {
  }
  return 0;
}
