// The course of a request: start, its searches, the end, failures. What becomes of the result of a
// search is in generation_answer.cpp, streaming in generation_stream.cpp.
#include "serve/generation.h"

#include <algorithm>
#include <ctime>
#include <random>
#include <set>

#include "base/error.h"
#include "cache/cache.h"
#include "search/methods.h"

namespace counterbeam::serve {
namespace {

std::string reply_id(const char* prefix) {
  std::random_device device;
  return fmt::format("{}{:08x}{:08x}{:08x}", prefix, device(), device(), device());
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

ApiError cancelled_error() {
  ApiError error(400, "invalid_request_error", "", "cancelled",
                 "the search was cancelled before it had an answer");
  error.may_retry = false;
  return error;
}

}  // namespace

Generation::Generation(Services& services, std::shared_ptr<const HttpRequest> request,
                       std::shared_ptr<Responder> responder, std::string client,
                       GenerationRequest how, std::vector<PromptTask> prompts, bool generate,
                       const char* id_prefix, const Format& format)
    : services_(services),
      request_(std::move(request)),
      responder_(std::move(responder)),
      client_(std::move(client)),
      how_(std::move(how)),
      prompts_(std::move(prompts)),
      generate_(generate) {
  format_ = format(how_, {reply_id(id_prefix), how_.model, services_.fingerprint,
                          static_cast<std::int64_t>(std::time(nullptr))});
  cost_.method = how_.settings.method->name;
}

// A prompt that leaves no room for an answer, or whose sequences cannot be in the cache together,
// is refused here, with the numbers.
void Generation::check_fits() {
  const EngineInfo& info = services_.model.engine().info();
  const EngineStatus status = services_.model.engine().status();
  for (const PromptTask& task : prompts_) {
    Prompts prompts;
    try {
      prompts = services_.model.prompts(task.question, how_.settings);
    } catch (const BadInput& error) {
      invalid(task.param, "{}: {}", task.param, public_message(error.what()));
    }
    const auto longest = static_cast<std::int64_t>(
        std::max({prompts.base.size(), prompts.positive.size(), prompts.negative.size()}));
    if (longest >= info.max_length)
      throw ApiError(400, "invalid_request_error", task.param, "context_length_exceeded",
                     fmt::format("{}: the prompt has {} tokens, and the model reads at most {}, "
                                 "its answer included; shorten it",
                                 task.param, longest, info.max_length));
    const std::int64_t room =
        std::min<std::int64_t>(how_.settings.max_tokens, info.max_length - longest);
    std::set<std::vector<TokenId>> distinct = {prompts.base, prompts.positive, prompts.negative};
    distinct.erase(std::vector<TokenId>());
    std::int64_t pages = 0;
    for (const auto& ids : distinct)
      pages += pages_for(static_cast<std::int64_t>(ids.size()) + room);
    if (status.pages > 0 && pages > status.pages)
      throw ApiError(
          400, "invalid_request_error", task.param, "cache_exceeded",
          fmt::format("{}: {} sequence(s) of up to {} tokens take {} pages of {} tokens, and the "
                      "cache has {}; shorten the prompt or lower max_tokens, or start the server "
                      "with more --cache-memory",
                      task.param, distinct.size(), longest + room, pages, status.page_tokens,
                      status.pages));
    replies_.push_back({std::move(prompts.base), task.echo, {}});
  }
}

void Generation::open_searches() {
  const int copies = generate_ ? how_.searches() : 1;
  for (std::size_t p = 0; p < prompts_.size(); ++p) {
    for (int copy = 0; copy < copies; ++copy) {
      auto job = std::make_unique<Job>();
      job->prompt = p;
      job->copy = copy;
      job->stops.emplace(stops_of(services_.model, prompts_[p].question));
      job->live.emplace(services_.model.tokenizer(), *job->stops);
      if (generate_) {
        std::string id = how_.search_id;
        if (!id.empty() && !jobs_.empty()) id += fmt::format(".{}", jobs_.size());
        job->search =
            services_.searches.open(id, how_.settings, how_.plain, [weak = weak_from_this()] {
              if (const auto self = weak.lock()) self->cancel();
            });
      }
      jobs_.push_back(std::move(job));
    }
  }
  remaining_ = jobs_.size();
}

void Generation::start() {
  check_fits();
  try {
    open_searches();
    Admission::Work work;
    const auto self = shared_from_this();
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      work.searches.push_back([self, i] { self->run(i); });
    work.refused = [self](const ApiError& error) { self->fail(error, ""); };
    work.started = [self](double seconds) {
      self->services_.metrics.started(seconds);
      self->cost_.queue_seconds = seconds;
    };
    const std::lock_guard lock(mutex_);
    entry_ = services_.admission.submit(client_, std::move(work));
  } catch (const ApiError& error) {
    for (const auto& job : jobs_)
      if (job->search) services_.searches.fail(*job->search, error.what());
    throw;
  }
  responder_->on_gone([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->client_gone();
  });
  if (how_.stream) plan_keep_alive();
}

void Generation::run(std::size_t index) {
  Job& job = *jobs_[index];
  {
    const std::lock_guard lock(mutex_);
    job.begun = true;
  }
  try {
    if (cancellation_.cancelled()) throw Cancelled("cancelled");
    // In a stream every copy waits for the values, since its first chunk holds them.
    if (prompts_[job.prompt].score && (job.copy == 0 || how_.stream)) score_prompt(job);
    if (!generate_) add_echo(job);
    if (generate_) search(job);
  } catch (...) {
    fail_with_current(index);
  }
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    job.done = true;
    last = --remaining_ == 0 && !closed_;
  }
  if (last) complete();
}

void Generation::score_prompt(Job& job) {
  const PromptTask& task = prompts_[job.prompt];
  std::vector<ShownToken> scores =
      services_.scores.score(replies_[job.prompt].ids, task.score_top, &cancellation_);
  const std::lock_guard lock(mutex_);
  replies_[job.prompt].scores = std::move(scores);
}

// The choices of a prompt that is only echoed.
void Generation::add_echo(Job& job) {
  const std::lock_guard lock(mutex_);
  for (int copy = 0; copy < how_.n; ++copy) {
    Choice choice{.index = static_cast<int>(job.prompt) * how_.n + copy,
                  .prompt = job.prompt,
                  .finish = "length"};
    Sent fresh;
    if (how_.stream && !closed_) send_choice(choice, fresh, {});
    choices_.push_back(std::move(choice));
  }
}

void Generation::first_token() {
  double none = 0;
  first_token_.compare_exchange_strong(none, std::max(1e-9, seconds_since(arrival_)));
}

AnswerOptions Generation::answer_options(Job& job) {
  AnswerOptions options;
  options.seed = how_.seed + static_cast<std::uint64_t>(job.copy);
  options.cancellation = &cancellation_;
  options.keep_partial = true;
  options.top_logprobs = how_.top_logprobs.value_or(0);
  options.on_block = [this, &job](const BlockReport& report) { block_done(job, report); };
  options.on_token = [this, &job](const DrawnToken& token) { token_drawn(job, token); };
  return options;
}

void Generation::search(Job& job) {
  const PromptTask& task = prompts_[job.prompt];
  if (task.thinks) {
    const auto& ids = replies_[job.prompt].ids;
    const std::size_t tail = std::min<std::size_t>(ids.size(), 8);
    const std::string end = services_.model.tokenizer().decode(std::span(ids).last(tail));
    const std::string_view trimmed =
        std::string_view(end).substr(0, end.find_last_not_of(" \t\r\n") + 1);
    const bool continued =
        task.question.continue_last &&
        task.question.later.back().content.rfind("<think>") != std::string::npos &&
        task.question.later.back().content.find("</think>") == std::string::npos;
    job.thinking = trimmed.ends_with("<think>") || continued;
  }
  take_answer(job,
              answer_question(services_.model, task.question, how_.settings, answer_options(job)));
}

void Generation::block_done(Job& job, const BlockReport& report) {
  first_token();
  services_.searches.block(*job.search, report);
  const std::lock_guard lock(mutex_);
  ++job.blocks;
  cost_.beams_kept += static_cast<std::int64_t>(report.alive);
  if (report.alive > 0) cost_.agreed_tokens = static_cast<std::int64_t>(report.agreed.size());
  if (!how_.stream || closed_) return;
  // A single answer is streamed token by token.
  if (!(how_.settings.method->streams && how_.one_answer())) send_settled(job, report.agreed_text);
  if (!how_.plain && Clock::now() - job.last_comment > std::chrono::seconds(1)) {
    job.last_comment = Clock::now();
    comment(fmt::format("block {} of at most {}, {} beams, {} answers, {} tokens", report.block,
                        report.blocks, report.alive, report.finished, report.generated_tokens));
  }
}

void Generation::complete() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    const Usage used = usage();
    cost_.prompt_tokens = used.prompt_tokens;
    cost_.completion_tokens = used.completion_tokens;
    cost_.first_token_seconds = first_token_;
    cost_.seconds = seconds_since(arrival_);
    if (how_.stream) {
      begin_stream();
      if (how_.include_usage) write_event(format_->usage_chunk(used));
      responder_->write("data: [DONE]\n\n");
      responder_->end();
    } else {
      std::sort(choices_.begin(), choices_.end(),
                [](const Choice& a, const Choice& b) { return a.index < b.index; });
      Json reply = format_->whole(choices_, replies_, used);
      if (!search_.is_null()) reply["search"] = std::move(search_);
      responder_->send({.body = to_line(reply)});
    }
  }
  services_.metrics.done(cost_);
  close(200, "");
}

// Counts and logs the end of the request, once. False: it has ended before.
bool Generation::close(int status, const std::string& note) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    closed_ = true;
  }
  if (status > 0) services_.metrics.request(status);
  services_.log.add(
      {.id = request_->id,
       .client = request_->peer,
       .method = request_->method,
       .path = request_->path,
       .model = how_.model,
       .search = jobs_.empty() || !jobs_[0]->search ? "" : Searches::id_of(*jobs_[0]->search),
       .status = status,
       .seconds = seconds_since(arrival_),
       .note = note,
       .cost = status == 200 ? &cost_ : nullptr});
  return true;
}

void Generation::fail(const ApiError& error, const std::string& note) {
  bool begun = false;
  std::vector<Job*> idle;
  std::shared_ptr<Admission::Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    begun = stream_begun_;
    entry = entry_;
    for (const auto& job : jobs_)
      if (!job->begun) idle.push_back(job.get());
  }
  if (!close(error.status, note.empty() ? error.what() : note)) return;
  cancellation_.cancel();
  if (entry) services_.admission.withdraw(entry);
  for (Job* job : idle)
    if (job->search) services_.searches.fail(*job->search, error.what());
  if (begun) {
    responder_->write(fmt::format("data: {}\n\ndata: [DONE]\n\n", to_line(error.object())));
    responder_->end();
    return;
  }
  responder_->send(error.response());
}

void Generation::fail_with_current(std::size_t index) {
  Job& job = *jobs_[index];
  const std::string& param = prompts_[job.prompt].param;
  ApiError error(500, "server_error", "", "internal_error",
                 "the server failed to answer this request; its log says why");
  error.may_retry = false;
  std::string note;
  try {
    throw;
  } catch (const ApiError& api) {
    error = api;
  } catch (const Cancelled&) {
    error = cancelled_error();
  } catch (const BadInput& bad) {
    error = ApiError(400, "invalid_request_error", param, "", public_message(bad.what()));
  } catch (const Failed& failed) {
    error = ApiError(500, "server_error", "", "search_failed", public_message(failed.what()));
    error.may_retry = false;
    note = failed.what();
  } catch (const std::exception& other) {
    note = other.what();
  } catch (...) {
    note = "an unknown error";
  }
  if (job.search) services_.searches.fail(*job.search, error.what());
  if (error.status >= 500) services_.metrics.failed();
  fail(error, note);
}

// Searches that run give the best answer so far; a request of which none runs is refused at once.
void Generation::cancel() {
  cancellation_.cancel();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& job : jobs_)
      if (job->begun) return;
  }
  fail(cancelled_error(), "");
}

void Generation::client_gone() {
  std::vector<Job*> idle;
  std::shared_ptr<Admission::Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    entry = entry_;
    for (const auto& job : jobs_)
      if (!job->begun) idle.push_back(job.get());
  }
  if (!close(0, "the client went away")) return;
  cancellation_.cancel();
  if (entry) services_.admission.withdraw(entry);
  for (Job* job : idle)
    if (job->search) services_.searches.fail(*job->search, "the client went away");
  services_.metrics.cancelled();
  responder_->drop();
}

// Errors of the program may name the folder of the model; clients are not told where it lies.
std::string Generation::public_message(std::string message) const {
  const std::string folder = services_.model.source().location();
  for (std::size_t at; !folder.empty() && (at = message.find(folder)) != message.npos;) {
    const bool inside = message.compare(at + folder.size(), 1, "/") == 0;
    message.replace(at, folder.size() + (inside ? 1 : 0), inside ? "" : services_.names.name());
  }
  return message;
}

}  // namespace counterbeam::serve
