// How a request streams: tokens of a single answer as they are drawn, what all beams agree on after
// every block, comments in between.
#include <algorithm>

#include "base/utf8.h"
#include "serve/generation.h"

namespace counterbeam::serve {
namespace {

using Clock = std::chrono::steady_clock;

// When the next chunk of a stream may be sent; tokens that come earlier share it. All streams
// together send about 200 chunks a second, and those that wait are sent at the same moments,
// because every interruption takes a core from the engine.
Clock::time_point next_chunk(Clock::time_point last, int streams) {
  const Clock::duration between = std::chrono::milliseconds(std::clamp(5 * streams, 20, 100));
  return Clock::time_point(last.time_since_epoch() / between * between + between);
}

}  // namespace

void Generation::token_drawn(Job& job, const DrawnToken& token) {
  first_token();
  if (!how_.stream) return;
  std::chrono::milliseconds delay{0};
  {
    const std::lock_guard lock(drawn_mutex_);
    job.drawn.push_back({.token = token.token, .logprob = token.logprob});
    if (token.top) job.drawn.back().top = *token.top;
    if (std::exchange(job.pump_planned, true)) return;
    const auto now = Clock::now();
    const auto due = next_chunk(job.last_pump, services_.admission.running());
    if (due > now) delay = std::chrono::ceil<std::chrono::milliseconds>(due - now);
  }
  services_.after(delay, [self = shared_from_this(), &job] {
    const std::lock_guard lock(self->mutex_);
    self->pump(job);
  });
}

void Generation::pump(Job& job) {
  std::vector<ShownToken> fresh;
  {
    const std::lock_guard lock(drawn_mutex_);
    fresh = std::move(job.drawn);
    job.drawn.clear();
    job.pump_planned = false;
    job.last_pump = Clock::now();
  }
  if (closed_ || job.done) return;
  for (ShownToken& token : fresh) {
    if (!job.live->push(token.token)) break;
    job.unsent.push_back(std::move(token));
  }
  send_settled(job, job.live->settled());
}

// Sends what is new of a text that is certain so far.
void Generation::send_settled(Job& job, const std::string& settled) {
  const Thoughts thoughts = thoughts_of(job, settled, false);
  Choice fresh;
  fresh.index = static_cast<int>(job.prompt) * how_.n + job.copy;
  fresh.prompt = job.prompt;
  if (thoughts.reasoning.size() > job.sent.reasoning)
    fresh.reasoning = thoughts.reasoning.substr(job.sent.reasoning);
  if (thoughts.content.size() > job.sent.content)
    fresh.content = thoughts.content.substr(job.sent.content);
  if (fresh.reasoning.empty() && fresh.content.empty()) return;
  fresh.tokens = std::exchange(job.unsent, {});
  send_delta(std::move(fresh), job.sent, {});
}

// The rest of a finished choice, then its end.
void Generation::send_choice(const Choice& choice, Sent& sent, const Json& cost) {
  Choice rest;
  rest.index = choice.index;
  rest.prompt = choice.prompt;
  if (choice.reasoning.size() > sent.reasoning)
    rest.reasoning = choice.reasoning.substr(sent.reasoning);
  if (choice.content.size() > sent.content) rest.content = choice.content.substr(sent.content);
  if (choice.tokens.size() > sent.tokens)
    rest.tokens.assign(choice.tokens.begin() + static_cast<std::ptrdiff_t>(sent.tokens),
                       choice.tokens.end());
  const bool tokens_wanted = how_.top_logprobs || how_.return_token_ids;
  if (!rest.reasoning.empty() || !rest.content.empty() || (tokens_wanted && !rest.tokens.empty()))
    send_delta(std::move(rest), sent, {});
  Choice end;
  end.index = choice.index;
  end.prompt = choice.prompt;
  end.finish = choice.finish;
  send_delta(std::move(end), sent, cost);
}

// The role of a chat, the echo of a prompt.
void Generation::send_first(const Choice& fresh, Sent& sent) {
  if (std::exchange(sent.begun, true)) return;
  const PromptReply& prompt = replies_[fresh.prompt];
  sent.offsets = format_->answer_offsets(prompt);
  if (const Json first = format_->first_chunk(fresh.index, prompt); !first.is_null())
    write_event(first);
}

void Generation::send_delta(Choice fresh, Sent& sent, const Json& cost) {
  begin_stream();
  send_first(fresh, sent);
  fresh.offsets = &*sent.offsets;
  sent.reasoning += fresh.reasoning.size();
  sent.content += fresh.content.size();
  sent.tokens += fresh.tokens.size();
  if (!how_.top_logprobs && !how_.return_token_ids) fresh.tokens.clear();
  Json chunk = format_->chunk(fresh);
  if (!cost.is_null()) chunk["search"] = cost;
  write_event(chunk);
}

void Generation::begin_stream() {
  if (std::exchange(stream_begun_, true)) return;
  responder_->begin({.type = "text/event-stream; charset=utf-8",
                     .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}});
}

void Generation::write_event(const Json& data) {
  last_write_ = Clock::now();
  responder_->write(fmt::format("data: {}\n\n", to_line(data)));
}

void Generation::comment(const std::string& text) {
  begin_stream();
  last_write_ = Clock::now();
  responder_->write(fmt::format(": {}\n\n", text));
}

// A comment after every ten seconds of silence, from the queue to the end.
void Generation::plan_keep_alive() {
  const auto silent =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - last_write_);
  const auto wait = std::max(std::chrono::milliseconds(1), services_.keep_alive - silent);
  services_.after(wait, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const std::lock_guard lock(self->mutex_);
    if (self->closed_ || self->remaining_ == 0) return;
    if (Clock::now() - self->last_write_ >= self->services_.keep_alive) self->comment("keep-alive");
    self->plan_keep_alive();
  });
}

}  // namespace counterbeam::serve
