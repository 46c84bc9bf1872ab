// `chat` with a running server, over its OpenAI API with server-sent events.
#include <random>

#include "base/error.h"
#include "base/output.h"
#include "cli/chat_partner.h"
#include "cli/http_client.h"
#include "search/method_strings.h"

namespace counterbeam::cli {
namespace {

// The message of an error object, or what there is of the body.
std::string server_error_text(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_object() && json.contains("error") && json["error"].is_object())
    return json["error"].value("message", "no reason is given");
  return body.substr(0, 300);
}

std::string random_search_id() {
  std::random_device device;
  return fmt::format("chat-{:08x}{:08x}", device(), device());
}

std::string server_cost_line(const Json& search) {
  const auto number = [&](const char* name) { return search.value(name, 0.0); };
  return fmt::format("{}: score {:.4f}, {:.0f} generated and {:.0f} scored in all, {:.2f} s",
                     search.value("method", "?"), number("score"), number("generated_tokens"),
                     number("scored_tokens"), number("seconds"));
}

// Puts events together from the pieces of a stream, and gives the data of each.
class EventReader {
 public:
  template <typename Take>
  void add(std::string_view piece, const Take& take) {
    buffer_ += piece;
    std::size_t end = 0;
    while ((end = buffer_.find('\n')) != buffer_.npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (line.ends_with('\r')) line.pop_back();
      if (line.starts_with("data:")) take(line.substr(line.starts_with("data: ") ? 6 : 5));
    }
  }

 private:
  std::string buffer_{};
};

class ServerPartner : public ChatPartner {
 public:
  ServerPartner(const Globals& globals, const std::string& url, std::string key, std::string method)
      : globals_(globals),
        address_(ServerAddress::parse(url)),
        key_(std::move(key)),
        model_(globals.model) {
    if (!method.empty()) set_method(method);
    if (model_.empty()) model_ = first_model();
  }

  ChatReply answer(const std::vector<Message>& messages, std::uint64_t seed,
                   const Cancellation& cancellation) override {
    const std::string id = random_search_id();
    ChatReply reply;
    // The server is told once; it then ends the stream with the best answer so far.
    const auto waiting = [&] {
      if (!cancellation.cancelled() || reply.interrupted) return;
      reply.interrupted = true;
      HttpAnswer(address_, {"DELETE", "/v1/searches/" + id, key_});
    };
    HttpAnswer stream(address_,
                      {"POST", "/v1/chat/completions", key_, request_body(messages, seed, id)},
                      waiting);
    if (stream.status() != 200) {
      const std::string body = stream.rest();
      failed("{}: {} {}", address_.name(), stream.status(), server_error_text(body));
    }
    EventReader events;
    bool done = false;
    while (const auto piece = stream.more()) {
      events.add(*piece, [&](const std::string& data) {
        done |= data == "[DONE]";
        if (data != "[DONE]") take_chunk(data, reply);
      });
      waiting();
    }
    if (!done) failed("{}: the connection broke within the answer", address_.name());
    if (!globals_.json) {
      write_result("\n");
      flush_results();
    }
    return reply;
  }

  void set_method(const std::string& method) override {
    GivenMethod checked(method);  // names what is wrong before anything is sent
    method_ = method;
  }
  std::string method() const override {
    return method_.empty() ? "what the model's name says" : method_;
  }
  std::string name() const override { return fmt::format("{} at {}", model_, address_.name()); }

 private:
  std::string first_model() const {
    HttpAnswer answer(address_, {"GET", "/v1/models", key_});
    const std::string body = answer.rest();
    if (answer.status() != 200)
      failed("{}: {} {}", address_.name(), answer.status(), server_error_text(body));
    const Json list = Json::parse(body, nullptr, false);
    if (!list.is_object() || !list.contains("data") || !list["data"].is_array() ||
        list["data"].empty() || !list["data"][0].is_object() || !list["data"][0].contains("id") ||
        !list["data"][0]["id"].is_string())
      failed("{}: lists no models; is this an OpenAI-compatible server?", address_.name());
    return list["data"][0]["id"].get<std::string>();
  }

  std::string request_body(const std::vector<Message>& messages, std::uint64_t seed,
                           const std::string& id) const {
    Json list = Json::array();
    for (const Message& message : messages)
      list.push_back({{"role", message.role}, {"content", message.content}});
    Json search = {{"id", id}};
    if (!method_.empty()) search["method"] = method_;
    // Thoughts stay in the text, as they do with a model in this process.
    return to_line({{"model", model_},
                    {"messages", std::move(list)},
                    {"stream", true},
                    {"seed", static_cast<std::int64_t>(seed)},
                    {"reasoning_format", "none"},
                    {"search", std::move(search)}});
  }

  void take_chunk(const std::string& data, ChatReply& reply) const {
    const Json chunk = Json::parse(data, nullptr, false);
    if (!chunk.is_object()) failed("{}: an event of the stream is not JSON", address_.name());
    if (chunk.contains("error")) failed("{}: {}", address_.name(), server_error_text(data));
    if (chunk.contains("search") && chunk["search"].is_object())
      reply.cost = server_cost_line(chunk["search"]);
    if (!chunk.contains("choices") || chunk["choices"].empty()) return;
    const Json delta = chunk["choices"][0].value("delta", Json::object());
    if (!delta.contains("content") || !delta["content"].is_string()) return;
    const std::string text = delta["content"].get<std::string>();
    reply.text += text;
    if (globals_.json) return;
    write_result(text);
    flush_results();
  }

  const Globals& globals_;
  const ServerAddress address_;
  const std::string key_;
  std::string model_, method_{};
};

}  // namespace

std::unique_ptr<ChatPartner> chat_with_server(const Globals& globals, const std::string& url,
                                              const std::string& key, const std::string& method) {
  return std::make_unique<ServerPartner>(globals, url, key, method);
}

}  // namespace counterbeam::cli
