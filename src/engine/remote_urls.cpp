// The addresses of --engine.
#include <algorithm>

#include "base/error.h"
#include "base/quote.h"
#include "engine/remote_fleet.h"

namespace counterbeam {

std::vector<std::string> remote_urls(std::string_view list) {
  std::vector<std::string> urls;
  while (true) {
    const std::size_t comma = list.find(',');
    std::string_view one = list.substr(0, comma);
    const std::string shown = in_quotes(one);
    while (one.ends_with('/')) one.remove_suffix(1);
    if (one.ends_with("/v1")) one.remove_suffix(3);
    while (one.ends_with('/')) one.remove_suffix(1);
    const std::size_t scheme = one.starts_with("http://")    ? 7
                               : one.starts_with("https://") ? 8
                                                             : std::size_t{0};
    const bool plain =
        std::all_of(one.begin(), one.end(), [](char c) { return c > ' ' && c < 127; });
    if (scheme == 0 || one.size() == scheme || !plain ||
        one.find_first_of("?#\"<>\\^`{|}") != one.npos)
      bad_input("--engine {}: is not an address; write it as http://127.0.0.1:8000", shown);
    if (one.find('@') != one.npos)
      bad_input(
          "--engine {}: leave the key out of the address and give it in "
          "COUNTERBEAM_ENGINE_KEY",
          in_quotes("...@..."));
    if (std::find(urls.begin(), urls.end(), one) != urls.end())
      bad_input("--engine {}: is given twice", shown);
    urls.emplace_back(one);
    if (comma == list.npos) return urls;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace counterbeam
