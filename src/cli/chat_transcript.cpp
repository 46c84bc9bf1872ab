#include "cli/chat_transcript.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace counterbeam::cli {

std::vector<Message> ChatTranscript::with_question(const std::string& question) const {
  std::vector<Message> messages;
  if (!system.empty()) messages.push_back({"system", system});
  messages.insert(messages.end(), turns_.begin(), turns_.end());
  messages.push_back({"user", question});
  return messages;
}

void ChatTranscript::add(const std::string& question, const std::string& answer) {
  turns_.push_back({"user", question});
  turns_.push_back({"assistant", answer});
}

bool ChatTranscript::undo() {
  if (turns_.empty()) return false;
  turns_.resize(turns_.size() - 2);
  return true;
}

void ChatTranscript::save(const std::filesystem::path& file) const {
  Json list = Json::array();
  if (!system.empty()) list.push_back({{"role", "system"}, {"content", system}});
  for (const Message& message : turns_)
    list.push_back({{"role", message.role}, {"content", message.content}});
  write_named_file(file, to_text(Json{{"messages", std::move(list)}}));
}

ChatTranscript ChatTranscript::load(const std::filesystem::path& file) {
  const Json json = read_json_file(file);
  if (!json.is_object() || !json.contains("messages") || !json["messages"].is_array())
    bad_input("{}: is not a saved chat; {{\"messages\": [...]}} is needed", file.string());
  ChatTranscript transcript;
  const Json& list = json["messages"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto text = [&](const char* field) {
      if (!list[i].is_object() || !list[i].contains(field) || !list[i][field].is_string())
        bad_input("{}: messages[{}].{}: a string is needed", file.string(), i, field);
      return list[i][field].get<std::string>();
    };
    const std::string role = text("role"), content = text("content");
    if (i == 0 && role == "system") {
      transcript.system = content;
      continue;
    }
    const char* expected = transcript.turns_.size() % 2 == 0 ? "user" : "assistant";
    if (role != expected)
      bad_input("{}: messages[{}].role: is \"{}\" where \"{}\" is needed", file.string(), i, role,
                expected);
    transcript.turns_.push_back({role, content});
  }
  if (transcript.turns_.size() % 2 != 0)
    bad_input("{}: the last question has no answer", file.string());
  return transcript;
}

}  // namespace counterbeam::cli
