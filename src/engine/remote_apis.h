// The request and reply forms of each API, behind remote_protocol.h.
#pragma once

#include "base/json_fwd.h"
#include "engine/remote_protocol.h"

namespace counterbeam {

RemoteRequest tokens_draw_request(const RemoteKind& kind, const DrawCall& call);
DrawReply tokens_read_draw(const DrawCall& call, const Json& json);
RemoteRequest tokens_score_request(const RemoteKind& kind, const ScoreCall& call);
ScoreReply tokens_read_score(const RemoteKind& kind, const ScoreCall& call, std::string_view body);

RemoteRequest completions_draw_request(const RemoteKind& kind, const DrawCall& call);
DrawReply completions_read_draw(const DrawCall& call, const Json& json);
RemoteRequest completions_score_request(const RemoteKind& kind, const ScoreCall& call);
ScoreReply completions_read_score(const RemoteKind& kind, const ScoreCall& call, const Json& json);

RemoteRequest sglang_draw_request(const DrawCall& call);
DrawReply sglang_read_draw(const DrawCall& call, const Json& json);
RemoteRequest sglang_score_request(const ScoreCall& call);
ScoreReply sglang_read_score(const ScoreCall& call, const Json& json);

// "X-data-parallel-rank: N" for vLLM; none where the server chooses.
std::vector<std::string> rank_headers(int rank);

// The float values of a .npy file in base64. BadReply where it is none, or has not `count` values.
std::vector<double> npy_values(std::string_view base64, std::size_t count);

}  // namespace counterbeam
