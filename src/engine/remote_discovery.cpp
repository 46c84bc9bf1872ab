#include "engine/remote_discovery.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "engine/remote_json.h"
#include "engine/remote_probe.h"

namespace counterbeam {

namespace rj = remote_json;

namespace {

constexpr std::chrono::milliseconds kProbeTimeout{120'000};  // a first request may compile kernels

void choose_model(const Json& list, const std::string& url, const std::string& wanted,
                  RemoteKind& kind) {
  std::string names;
  const Json* chosen = nullptr;
  std::set<std::string> roots;
  for (const Json& one : list) {
    const Json* id = rj::find(one, "id");
    if (!id || !id->is_string()) continue;
    const Json* root = rj::find(one, "root");
    roots.insert(root && root->is_string() ? root->get<std::string>() : id->get<std::string>());
    names += (names.empty() ? "" : ", ") + printable(id->get<std::string>());
    if (wanted.empty() ? chosen == nullptr : *id == wanted) chosen = &one;
  }
  if (names.empty()) rj::bad_reply("it lists no models");
  if (!chosen) bad_input("{}: serves no model {}; it has: {}", url, in_quotes(wanted), names);
  if (wanted.empty() && roots.size() > 1)
    bad_input("{}: serves several models ({}); choose one by --engine-model", url, names);
  kind.model = (*chosen)["id"].get<std::string>();
  if (const Json* root = rj::find(*chosen, "root"); root && root->is_string())
    kind.root = root->get<std::string>();
  if (const Json* length = rj::find(*chosen, "max_model_len"))
    kind.max_length = rj::whole(length, "max_model_len");
}

// The number that stands after `mark`, which is looked for from `from` on.
std::optional<int> number_after(std::string_view text, std::string_view mark, std::size_t from) {
  const std::size_t at = text.find(mark, from);
  if (at == text.npos) return std::nullopt;
  constexpr std::size_t kMostDigits = 7;
  int number = 0;
  std::size_t digits = 0;
  for (const char c : text.substr(at + mark.size(), kMostDigits)) {
    if (!std::isdigit(static_cast<unsigned char>(c))) break;
    number = 10 * number + (c - '0');
    ++digits;
  }
  return digits > 0 ? std::optional(number) : std::nullopt;
}

// Of vLLM: the block size of its cache and its data-parallel ranks. Neither is needed.
void read_metrics(std::string_view text, RemoteKind& kind) {
  if (const std::size_t config = text.find("vllm:cache_config_info{"); config != text.npos)
    kind.block_size = number_after(text, "block_size=\"", config).value_or(0);
  constexpr std::string_view kRunning = "\nvllm:num_requests_running{";
  int ranks = 1;
  for (std::size_t at = text.find(kRunning); at != text.npos; at = text.find(kRunning, at + 1))
    ranks = std::max(ranks, number_after(text, "engine=\"", at).value_or(0) + 1);
  kind.ranks = std::min(ranks, 4096);
}

}  // namespace

RemoteReply ask_server(RemoteHttp& http, RemoteCall call, const std::string& url,
                       const Cancellation* cancellation) {
  call.timeout = kProbeTimeout;
  RemoteHttp::Round round(http, 1);
  round.send(std::move(call));
  RemoteReply reply = std::move(round.next(cancellation)->reply);
  if (reply.outcome != RemoteReply::Outcome::Answered)
    failed("{}: {}; is the server running there?", url, reply.problem);
  if (reply.status == 401)
    bad_input("{}: the server wants a key (401); give it in COUNTERBEAM_ENGINE_KEY", url);
  return reply;
}

RemoteKind discover_server(RemoteHttp& http, const std::string& url, const std::string& model,
                           const Cancellation* cancellation) {
  constexpr const char* kTakes = "--engine takes the address of vLLM, SGLang or counterbeam serve";
  RemoteKind kind;
  const RemoteReply models = ask_server(http, {url + "/v1/models"}, url, cancellation);
  if (models.status != 200)
    failed("{}: /v1/models gives {} ({}); {}", url, models.status, error_text(models.body), kTakes);
  try {
    const Json json = rj::parsed(models.body);
    choose_model(rj::array(json, "data"), url, model, kind);
  } catch (const BadReply& bad) {
    failed("{}: /v1/models: {}; {}", url, bad.what(), kTakes);
  }
  const RemoteReply metrics = ask_server(http, {url + "/metrics"}, url, cancellation);
  if (metrics.status == 200) read_metrics(metrics.body, kind);
  return kind;
}

std::optional<std::vector<TokenId>> server_tokens(RemoteHttp& http, const std::string& url,
                                                  const RemoteKind& kind, const std::string& text) {
  const Json body = {{"model", kind.model}, {"prompt", text}, {"add_special_tokens", false}};
  const RemoteReply reply = ask_server(http, {url + "/tokenize", to_line(body)}, url, nullptr);
  if (reply.status != 200) return std::nullopt;
  try {
    const Json json = rj::parsed(reply.body);
    return rj::ids_of(rj::array(json, "tokens"));
  } catch (const BadReply&) {
    return std::nullopt;
  }
}

}  // namespace counterbeam
