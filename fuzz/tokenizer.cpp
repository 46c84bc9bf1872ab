// The input up to the first zero byte is a tokenizer.json, the rest a text. A file that loads must
// encode and decode any text, and incremental decoding must agree with decoding at once.
#include "text/tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace counterbeam;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  const std::string_view text = cut == input.npos ? "Hello <s> 12" : input.substr(cut + 1);
  try {
    const Tokenizer tokenizer =
        Tokenizer::parse(input.substr(0, cut), "tokenizer.json", "", "tokenizer_config.json");
    const auto ids = tokenizer.encode(text, {.special_in_text = true, .add_special_tokens = true});
    const PromptPart parts[] = {{"<s>", true}, {text, false}, {"</s>", true}};
    tokenizer.encode_parts(parts);
    IncrementalDecoder decoder(tokenizer);
    std::string joined;
    for (const TokenId id : ids) joined += decoder.push(id);
    CB_CHECK(joined + decoder.finish() == tokenizer.decode(ids));
  } catch (const Error&) {
  }
  return 0;
}
