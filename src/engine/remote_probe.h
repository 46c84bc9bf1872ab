// Finds out by behaviour what a server can do: draws from a known text and scores it in every way
// that a server may offer, and compares the results. Versions are not used for this, since servers
// ignore fields that they do not know.
#pragma once

#include <string>
#include <vector>

#include "engine/remote_http.h"
#include "engine/remote_protocol.h"
#include "engine/served_model.h"

namespace counterbeam {

struct RemoteProbe {
  std::string model{};            // the name asked for; empty: the only one
  std::vector<TokenId> tokens{};  // of some text that the model can read; not empty
};

struct RemoteFinding {
  RemoteKind kind;
  ServedModel served{};
  std::vector<std::string> advice{};  // what would make the server cheaper, one line each
};

// `url` without a slash at its end. Failed or BadInput with the URL where the server cannot be
// used.
RemoteFinding probe_server(RemoteHttp& http, const std::string& url, const RemoteProbe& probe,
                           const Cancellation* cancellation = nullptr);

// The server's own tokens of a text, without special ones; none where it does not tell.
std::optional<std::vector<TokenId>> server_tokens(RemoteHttp& http, const std::string& url,
                                                  const RemoteKind& kind, const std::string& text);

// "vLLM by token ids": the API, in words.
std::string api_name(const RemoteKind& kind);
// How given tokens are scored, and what it costs, in words.
std::string score_name(ScoreWay way);

}  // namespace counterbeam
