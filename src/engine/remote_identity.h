// Asks a server which model it computes: by name, and by the log-probabilities of a known text.
#pragma once

#include "engine/remote_probe.h"

namespace counterbeam {

// As `kind` names the model, with the log-probabilities of the probe's tokens, in the way of
// scoring that `kind` has. They are left out where that way cannot read them all. Failed where the
// server does not answer or has no time.
ServedModel read_known_text(RemoteHttp& http, const std::string& url, const RemoteKind& kind,
                            const RemoteProbe& probe, const Cancellation* cancellation);

// The same of a server that was probed as `kind` before and may have been restarted since. BadInput
// where it no longer has the model that is asked for by name.
ServedModel identify_again(RemoteHttp& http, const std::string& url, const RemoteKind& kind,
                           const RemoteProbe& probe, const Cancellation* cancellation);

}  // namespace counterbeam
