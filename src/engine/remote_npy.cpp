// A .npy array in base64, as vLLM returns the rows of prompt_logprob_token_ids.
#include <cstring>

#include "engine/remote_apis.h"
#include "engine/remote_json.h"

namespace counterbeam {

namespace rj = remote_json;

namespace {

std::string from_base64(std::string_view text) {
  const auto value = [](char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
  };
  std::string bytes;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    if (value(c) < 0) rj::bad_reply("an array of the reply is not in base64");
    held = held << 6 | static_cast<std::uint32_t>(value(c));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(held >> bits & 0xff));
  }
  return bytes;
}

template <typename Number>
std::vector<double> numbers_of(std::string_view bytes, std::size_t count) {
  if (bytes.size() != count * sizeof(Number))
    rj::bad_reply("an array of the reply has {} bytes; {} values were asked for", bytes.size(),
                  count);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    Number number;
    std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
    values.push_back(static_cast<double>(number));
  }
  return values;
}

}  // namespace

std::vector<double> npy_values(std::string_view base64, std::size_t count) {
  const std::string file = from_base64(base64);
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (file.size() < 10 || !file.starts_with(kMagic))
    rj::bad_reply("an array of the reply is no .npy file");
  const auto byte = [&](std::size_t at) {
    return std::size_t(static_cast<unsigned char>(file[at]));
  };
  const bool first = file[6] == 1;  // the length of the header has two bytes in version 1
  if (!first && file.size() < 12) rj::bad_reply("an array of the reply is cut off");
  const std::size_t length = byte(8) | byte(9) << 8 | (first ? 0 : byte(10) << 16 | byte(11) << 24);
  const std::size_t start = first ? 10 : 12;
  if (length > file.size() - start) rj::bad_reply("an array of the reply is cut off");
  const std::string_view header = std::string_view(file).substr(start, length);
  const std::string_view data = std::string_view(file).substr(start + length);
  if (header.find("'<f4'") != header.npos) return numbers_of<float>(data, count);
  if (header.find("'<f8'") != header.npos) return numbers_of<double>(data, count);
  rj::bad_reply("an array of the reply is of a type that is not known here: {}",
                printable(header, 60));
}

}  // namespace counterbeam
