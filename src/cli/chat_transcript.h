// The conversation of `chat`: a system message, questions and answers; saved as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "counterbeam/counterbeam.h"

namespace counterbeam::cli {

class ChatTranscript {
 public:
  std::string system{};  // empty: none

  // The messages to send for one more question.
  std::vector<Message> with_question(const std::string& question) const;
  void add(const std::string& question, const std::string& answer);
  bool undo();  // takes back the last question and its answer; false: there is none
  std::size_t turns() const { return turns_.size() / 2; }

  // {"messages": [{"role", "content"}, ...]}, as the OpenAI API has them.
  void save(const std::filesystem::path& file) const;
  // BadInput with the file and the place where it is something else, and nothing is changed then.
  static ChatTranscript load(const std::filesystem::path& file);

 private:
  std::vector<Message> turns_{};  // user, assistant, user, assistant, ...
};

}  // namespace counterbeam::cli
