// `chat` with a model in this process.
#include "base/error.h"
#include "cli/chat_partner.h"
#include "cli/live_answer.h"
#include "cli/loading.h"
#include "search/answer.h"
#include "search/method_strings.h"

namespace counterbeam::cli {
namespace {

class ModelPartner : public ChatPartner {
 public:
  ModelPartner(const Globals& globals, const LocalChat& options)
      : globals_(globals),
        options_(options),
        settings_(parse_method(options.method, options.book)),
        model_(load_model(globals, options.stop_at)) {}

  ChatReply answer(const std::vector<Message>& messages, std::uint64_t seed,
                   const Cancellation& cancellation) override {
    Question question = question_of(messages);
    question.system_as_user = options_.system_as_user;
    LiveAnswer live(globals_.quiet || globals_.json, model_.engine());
    AnswerOptions asking;
    asking.seed = seed;
    asking.cancellation = &cancellation;
    asking.keep_partial = true;
    asking.on_block = [&](const BlockReport& report) { live.update(report); };
    const AnsweredQuestion answered = answer_question(model_, question, settings_, asking);
    if (!globals_.json) live.finish(answered.text);
    const SearchResult& result = answered.result;
    return {answered.text,
            fmt::format("{}: score {:.4f}, {} tokens, {} generated and {} scored in all, {:.2f} s",
                        settings_.method->name, result.answer().score,
                        result.answer().tokens.size(), result.ledger.generated_tokens,
                        result.ledger.scored_tokens, result.ledger.seconds),
            result.interrupted};
  }

  void set_method(const std::string& method) override {
    settings_ = parse_method(method, options_.book);
    options_.method = method;
  }
  std::string method() const override { return options_.method; }
  std::string name() const override { return model_.name(); }

 private:
  const Globals& globals_;
  LocalChat options_;
  Settings settings_;
  const LoadedModel model_;
};

}  // namespace

std::unique_ptr<ChatPartner> chat_with_model(const Globals& globals, const LocalChat& options) {
  return std::make_unique<ModelPartner>(globals, options);
}

}  // namespace counterbeam::cli
