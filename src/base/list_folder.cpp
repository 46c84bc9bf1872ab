#include "base/list_folder.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "base/error.h"

namespace counterbeam {

std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder) {
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(::opendir(folder.c_str()), close);
  if (!stream && errno == ENOMEM) throw std::bad_alloc();
  if (!stream && (errno == EMFILE || errno == ENFILE || errno == EIO))
    failed("{}: cannot be opened: {}", folder.string(), std::strerror(errno));
  std::vector<std::filesystem::path> entries;
  if (!stream) return entries;
  while (true) {
    errno = 0;  // which tells an error from the end
    const dirent* entry = ::readdir(stream.get());
    if (!entry && errno == 0) break;
    if (!entry)
      failed("{}: the files in it cannot be listed: {}", folder.string(), std::strerror(errno));
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back(folder / name);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace counterbeam
