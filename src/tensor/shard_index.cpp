#include "tensor/shard_index.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/json_cursor.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

// An entry takes about 100 bytes; real indexes stay far below these limits.
constexpr std::size_t kMaxEntries = 1u << 18, kMaxFiles = 4096;

void check_file_name(std::string_view file, std::string_view tensor, std::string_view name) {
  const bool plain = !file.empty() && file != "." && file != ".." && file.find('/') == file.npos &&
                     file.find('\\') == file.npos && file.find('\0') == file.npos;
  if (!plain || !file.ends_with(".safetensors"))
    bad_input(
        "{}: weight_map {}: {} is not the name of a .safetensors file in the model's own folder",
        name, in_quotes(tensor), in_quotes(file));
}

}  // namespace

ShardIndex::ShardIndex(std::string_view text, std::string_view name) {
  if (text.size() > kMostIndexBytes)
    bad_input("{}: is {} bytes long, more than the {} an index may have", name, text.size(),
              kMostIndexBytes);
  JsonCursor cursor(text, name, "download the file again");
  std::map<std::string, std::size_t, std::less<>> known;  // file -> order of first mention
  bool has_map = false;
  cursor.object("the index", [&](const std::string& key) {
    if (key != "weight_map") return cursor.skip();
    if (has_map) bad_input("{}: key \"weight_map\" occurs twice; download the file again", name);
    has_map = true;
    cursor.object("weight_map", [&](std::string tensor) {
      cursor.set_place(tensor);
      const std::string file = cursor.string("the file of a tensor");
      cursor.set_place({});
      check_file_name(file, tensor, name);
      if (entries_.size() == kMaxEntries)
        bad_input("{}: weight_map has more than {} entries", name, kMaxEntries);
      entries_.emplace_back(std::move(tensor), known.try_emplace(file, known.size()).first->second);
      if (known.size() > kMaxFiles)
        bad_input("{}: weight_map names more than {} files", name, kMaxFiles);
    });
  });
  cursor.end();
  if (!has_map) bad_input("{}: has no weight_map; download the file again", name);
  if (entries_.empty()) bad_input("{}: weight_map is empty; download the file again", name);

  std::vector<std::size_t> rank(known.size());
  for (const auto& [file, seen] : known) {
    rank[seen] = files_.size();
    files_.push_back(file);
  }
  for (auto& entry : entries_) entry.second = rank[entry.second];
  std::sort(entries_.begin(), entries_.end());
  for (std::size_t i = 1; i < entries_.size(); ++i)
    if (entries_[i].first == entries_[i - 1].first)
      bad_input("{}: weight_map {} occurs twice; download the file again", name,
                in_quotes(entries_[i].first));
}

}  // namespace counterbeam
