// The record of a search: every candidate of every block with its sums, score and fate. The JSON
// form is described in docs/search.md.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "search/beams.h"

namespace counterbeam {

enum class Fate { Kept, Pruned, Duplicate, Finished };
std::string_view fate_name(Fate fate);

struct TraceCandidate {
  int id = 0;
  int parent = -1;
  std::vector<TokenId> tokens;  // of this block
  TokenLogprobs logprobs;       // of this block
  Sums sums;                    // of the whole answer so far
  double score = 0;
  double rank = 0;  // differs from score with look-ahead
  Fate fate = Fate::Kept;
};

struct Trace {
  Settings settings;
  Prompts prompts;
  std::vector<std::vector<TraceCandidate>> blocks;
  std::vector<int> pool;
  int selected = -1;
};

// Records as a search goes; every search records, and whoever does not want the trace drops it.
class Recorder {
 public:
  Recorder(const Settings& settings, const Prompts& prompts) {
    trace_ = {settings, prompts, {}, {}, -1};
  }

  // Starts a block: candidates get ids, their parents are the ids they carried so far.
  void block(std::span<Beam> candidates);
  // Look-ahead changed what these candidates of the current block are compared by.
  void ranks(std::span<const Beam> candidates);
  // Of a candidate of the current block.
  void fate(const Candidate& candidate, Fate fate);
  void pool(const Candidate& candidate) { trace_.pool.push_back(candidate.id); }
  void selected(const Candidate& candidate) { trace_.selected = candidate.id; }
  std::span<const TraceCandidate> last_block() const {
    return trace_.blocks.empty() ? std::span<const TraceCandidate>() : trace_.blocks.back();
  }
  Trace take() { return std::move(trace_); }

 private:
  TraceCandidate& find(const Candidate& candidate);

  Trace trace_;
  int next_id_ = 0;
};

Json to_json(const TraceCandidate& candidate);
Json to_json(const Trace& trace);

// The trace as one self-contained page; `text_of` gives the text of a token.
std::string to_html(const Trace& trace, std::string_view question,
                    const std::function<std::string(TokenId)>& text_of);
// The same of a trace that is JSON already. BadInput where it is none.
std::string to_html(Json trace, std::string_view question,
                    const std::function<std::string(TokenId)>& text_of);

}  // namespace counterbeam
