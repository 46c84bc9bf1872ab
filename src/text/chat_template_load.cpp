// Finds the template and the special tokens of a model's folder.
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "text/chat_template.h"
#include "text/file_limits.h"

namespace counterbeam {
namespace {

// A token is a string or an object with "content"; null and absent tokens are skipped.
SpecialTokens read_tokens(const Json& config, const std::string& file) {
  SpecialTokens tokens;
  for (const auto& [key, value] : config.items()) {
    if (!key.ends_with("_token") || value.is_null() || value.is_boolean()) continue;
    const Json* text = &value;
    if (value.is_object()) {
      const auto content = value.find("content");
      if (content == value.end()) bad_input("{}: {} has no \"content\"", file, key);
      text = &*content;
    }
    if (!text->is_string())
      bad_input("{}: {} is neither a string nor an object with a string as \"content\"", file, key);
    tokens.emplace_back(key, text->get<std::string>());
  }
  return tokens;
}

// The template itself, or the one named "default" in a list of {name, template}.
std::string choose_template(const Json& given, const std::string& file) {
  if (given.is_string()) return given.get<std::string>();
  if (!given.is_array())
    bad_input("{}: chat_template is neither a string nor a list of templates", file);
  std::vector<std::string> names;
  for (const Json& entry : given) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string() ||
        !entry.contains("template") || !entry["template"].is_string())
      bad_input("{}: chat_template lists an entry without a \"name\" and a \"template\"", file);
    if (entry["name"] == "default") return entry["template"].get<std::string>();
    names.push_back(entry["name"].get<std::string>());
  }
  bad_input(
      "{}: none of the chat templates is called \"default\"; there are: {}. Put the one you want "
      "into chat_template.jinja next to it",
      file, fmt::join(names, ", "));
}

}  // namespace

ChatTemplate ChatTemplate::load(const std::filesystem::path& folder) {
  const std::filesystem::path own = folder / "chat_template.jinja";
  const std::filesystem::path config_path = folder / "tokenizer_config.json";
  SpecialTokens tokens;
  Json config;
  if (std::filesystem::exists(config_path)) {
    config = read_json_file(config_path);
    if (!config.is_object()) bad_input("{}: not a JSON object", config_path.string());
    tokens = read_tokens(config, config_path.string());
  }
  if (std::filesystem::exists(own))
    return parse(read_file(own, kMostTemplateBytes), own.string(), std::move(tokens));
  const auto given = config.is_object() ? config.find("chat_template") : config.end();
  if (given == config.end() || given->is_null())
    bad_input(
        "{}: this model has no chat template (neither chat_template.jinja nor chat_template in "
        "tokenizer_config.json). Use --raw to prompt it without one, or put a chat_template.jinja "
        "into the folder",
        folder.string());
  return parse(choose_template(*given, config_path.string()),
               config_path.string() + " (chat_template)", std::move(tokens));
}

}  // namespace counterbeam
