// Reads any bytes as a list of methods and as a file of them: refused with a message, or read into
// valid settings that are the same when they are read again.
#include <cstdint>

#include "scratch_file.h"
#include "search/method_strings.h"

using namespace counterbeam;

namespace {

// A message can go to a terminal, so what it quotes is printable.
void check_message(const Error& error) {
  const std::string_view text = error.what();
  CB_CHECK(!text.empty());
  for (const char c : text) CB_CHECK(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
}

void check(const std::vector<MethodText>& texts) {
  for (const MethodString& method : parse_methods(texts)) {
    validate(method.settings);
    validate(parse_method(method.text));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchFolder kFolder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    if (!text.starts_with('@')) check(split_methods(text));
  } catch (const Error& error) {
    check_message(error);
  }
  try {
    check(read_methods(kFolder.write("methods", text)));
  } catch (const Error& error) {
    check_message(error);
  }
  return 0;
}
