// What a server reports about itself without being probed: its models, their length, the
// block size of its prefix cache and its data-parallel ranks.
#pragma once

#include <string>

#include "engine/remote_http.h"
#include "engine/remote_protocol.h"

namespace counterbeam {

// One request of a probe. Failed where no reply comes, BadInput where a key is missing.
RemoteReply ask_server(RemoteHttp& http, RemoteCall call, const std::string& url,
                       const Cancellation* cancellation);

// `model`: the name asked for; empty: the only one. The API and the ways of scoring are left open.
RemoteKind discover_server(RemoteHttp& http, const std::string& url, const std::string& model,
                           const Cancellation* cancellation);

}  // namespace counterbeam
