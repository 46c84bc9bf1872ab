// A chat or completion request from start to end: it is checked, queued, searched, and streamed or
// answered at once; it is cancelled when its client disconnects. Every search of the request runs
// on a worker thread of Admission; chunks are written from there or from the server's threads.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.h"
#include "search/answer.h"
#include "serve/live_text.h"
#include "serve/reply.h"
#include "serve/services.h"

namespace counterbeam::serve {

// A prompt to be answered.
struct PromptTask {
  Question question;
  std::string param;    // the field it comes from, for errors
  std::string echo{};   // text that is put before its answers
  bool score = false;   // the log-probabilities of the prompt are wanted
  int score_top = 0;    // with so many alternatives
  bool thinks = false;  // thoughts are told apart from the answer
};

class Generation : public std::enable_shared_from_this<Generation> {
 public:
  using Format = std::function<std::unique_ptr<ReplyFormat>(const GenerationRequest&, ReplyHead)>;

  // `client` is the client that the queue counts it for. `generate` false: only prompts are scored.
  Generation(Services& services, std::shared_ptr<const HttpRequest> request,
             std::shared_ptr<Responder> responder, std::string client, GenerationRequest how,
             std::vector<PromptTask> prompts, bool generate, const char* id_prefix,
             const Format& format);

  // Checks that the prompts fit and puts the searches into the queue. ApiError where they do not.
  void start();

 private:
  using Clock = std::chrono::steady_clock;

  // The part of a choice that was streamed already.
  struct Sent {
    std::size_t reasoning = 0, content = 0;  // bytes
    std::size_t tokens = 0;
    std::optional<TextOffsets> offsets{};  // of those tokens
    bool begun = false;
  };

  // One search: its prompt, its place among the searches of that prompt, and what it streams.
  struct Job {
    std::size_t prompt = 0;
    int copy = 0;
    std::shared_ptr<Searches::Search> search;
    std::optional<Stops> stops;
    std::optional<LiveText> live;
    bool thinking = false;  // the prompt opens the thoughts
    bool begun = false, done = false;
    Sent sent;                       // of its first choice
    std::vector<ShownToken> unsent;  // go with the next chunk
    Clock::time_point last_comment{};
    std::int64_t blocks = 0;

    // Guarded by drawn_mutex_.
    std::vector<ShownToken> drawn;  // not yet streamed
    bool pump_planned = false;
    Clock::time_point last_pump{};
  };

  void check_fits();
  void open_searches();
  void run(std::size_t index);
  void search(Job& job);
  void score_prompt(Job& job);
  void add_echo(Job& job);
  AnswerOptions answer_options(Job& job);
  void block_done(Job& job, const BlockReport& report);
  void take_answer(Job& job, AnsweredQuestion answered);
  std::vector<const Candidate*> chosen(const Job& job, const SearchResult& result) const;
  Choice choice_of(const Job& job, const Candidate& answer, int index) const;
  void first_token();
  Thoughts thoughts_of(const Job& job, const std::string& text, bool final) const;
  Json cost_of(const Job& job, const SearchResult& result) const;

  void token_drawn(Job& job, const DrawnToken& token);  // on the engine's thread

  // Streaming; REQUIRES mutex_.
  void pump(Job& job);
  void send_settled(Job& job, const std::string& settled);
  void send_choice(const Choice& choice, Sent& sent, const Json& cost);
  void send_delta(Choice fresh, Sent& sent, const Json& cost);
  void send_first(const Choice& fresh, Sent& sent);
  void begin_stream();
  void write_event(const Json& data);
  void comment(const std::string& text);
  void plan_keep_alive();

  void complete();
  void fail(const ApiError& error, const std::string& note);
  void fail_with_current(std::size_t index);
  void client_gone();
  void cancel();
  bool close(int status, const std::string& note);
  Usage usage() const;
  void add_cost(const Json& cost);
  std::string public_message(std::string message) const;

  Services& services_;
  const std::shared_ptr<const HttpRequest> request_;
  const std::shared_ptr<Responder> responder_;
  const std::string client_;
  const GenerationRequest how_;
  const std::vector<PromptTask> prompts_;
  const bool generate_;
  std::unique_ptr<ReplyFormat> format_;
  const Clock::time_point arrival_ = Clock::now();
  Cancellation cancellation_;
  std::shared_ptr<Admission::Entry> entry_;

  std::mutex drawn_mutex_;  // the engine's thread takes it, so it is held for moments only
  std::atomic<double> first_token_ = 0;  // seconds after the arrival

  std::mutex mutex_;  // guards what follows and the jobs
  std::vector<PromptReply> replies_;
  std::vector<Choice> choices_;
  Json search_;  // the cost of the searches, summed
  std::int64_t cached_tokens_ = 0;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::size_t remaining_ = 0;
  bool stream_begun_ = false, closed_ = false;
  Clock::time_point last_write_ = arrival_;
  RequestCost cost_;
};

}  // namespace counterbeam::serve
