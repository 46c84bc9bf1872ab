// What probing found, in words.
#include "base/error.h"
#include "engine/remote_probe.h"

namespace counterbeam {

std::string api_name(const RemoteKind& kind) {
  switch (kind.api) {
    case RemoteApi::Tokens:
      return kind.keyed ? "Counterbeam, token ids (/inference/v1/generate)"
                        : "vLLM, token ids (/inference/v1/generate)";
    case RemoteApi::Completions:
      return "OpenAI completions with token ids (/v1/completions)";
    case RemoteApi::SGLang:
      return "SGLang (/generate)";
  }
  CB_CHECK(false);
}

std::string score_name(ScoreWay way) {
  switch (way) {
    case ScoreWay::Whole:
      return "the rows asked for, over the prefix cache";
    case ScoreWay::Rows:
      return "rows by token ids, over the prefix cache";
    case ScoreWay::Start:
      return "logprob_start_len, over the prefix cache";
    case ScoreWay::Cached:
      return "prompt log-probs over the prefix cache, unreadable rows asked for again";
    case ScoreWay::Prompt:
      return "prompt log-probs without the prefix cache";
    case ScoreWay::Steps:
      return "one request per token";
    case ScoreWay::None:
      return "none: no contrast, plain methods only";
  }
  CB_CHECK(false);
}

}  // namespace counterbeam
