#include "eval/paraphrase_file.h"

#include "base/error.h"
#include "base/json.h"
#include "base/json_fields.h"

namespace counterbeam {

void write_paraphrases(const std::filesystem::path& path, const Paraphrases& paraphrases) {
  Json pairs = Json::array(), dropped = Json::array();
  for (const ContextPair& pair : paraphrases.pairs)
    pairs.push_back(
        {{"name", pair.name}, {"positive", pair.positive}, {"negative", pair.negative}});
  for (const DroppedParaphrase& one : paraphrases.dropped)
    dropped.push_back({{"cause", one.cause}, {"output", one.output}});
  write_json_file(path,
                  {{"requests", paraphrases.requests}, {"pairs", pairs}, {"dropped", dropped}});
}

Paraphrases read_paraphrases(const std::filesystem::path& path, int most) {
  const Json json = read_json_file(path);
  const auto refuse = [&]() {
    bad_input("{}: is damaged; remove it, and --resume writes the paraphrases again",
              path.string());
  };
  if (!json.is_object()) refuse();
  const auto texts = [&](const char* list, const std::vector<const char*>& keys) {
    std::vector<std::vector<std::string>> rows;
    if (!json.contains(list) || !json[list].is_array()) refuse();
    for (const Json& item : json[list]) {
      rows.emplace_back();
      for (const char* key : keys) {
        if (!item.is_object() || !item.contains(key) || !item[key].is_string()) refuse();
        rows.back().push_back(item[key].get<std::string>());
      }
    }
    return rows;
  };
  Paraphrases paraphrases;
  const JsonFields fields(json, path.string(), "");
  paraphrases.requests = static_cast<int>(fields.integer("requests", 0, 1 << 30).value_or(0));
  for (const auto& row : texts("pairs", {"name", "positive", "negative"})) {
    paraphrases.pairs.push_back({row[0], row[1], row[2]});
    check_pair(paraphrases.pairs.back(), path.string());
  }
  for (const auto& row : texts("dropped", {"cause", "output"}))
    paraphrases.dropped.push_back({row[0], row[1]});
  if (paraphrases.pairs.size() > static_cast<std::size_t>(most)) refuse();
  return paraphrases;
}

}  // namespace counterbeam
