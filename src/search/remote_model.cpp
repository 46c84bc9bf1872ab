#include "search/remote_model.h"

#include <cmath>

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

// Models of all kinds can read it, the small ones that ship included. Each run.json has its
// log-probabilities, so with another text runs of earlier versions would not resume.
constexpr std::string_view kKnownText = "Compute 12 + 3 * 7. The answer is 33.";
// Where tokenizers differ: spaces, digits, accents, other scripts, code.
constexpr std::string_view kTokenizerText =
    "Compute 12345 + 3 * 7 = 12366.\n\n  na\u00efve caf\u00e9, Gr\u00f6\u00dfe \u65e5\u672c\u8a9e\n"
    "def f(x):\n\treturn x**2  # it's ok\n";

// Whether the server's tokenizer was compared; BadInput where it is another one.
bool compare_tokenizers(RemoteEngine& engine, const RemoteFleet::Server& server,
                        const Tokenizer& tokenizer, const std::string& name) {
  const std::string text(kTokenizerText);
  const auto theirs = server_tokens(engine.fleet().http(), server.url, server.finding.kind, text);
  if (!theirs) return false;
  if (*theirs == tokenizer.encode(text, {.special_in_text = true})) return true;
  bad_input(
      "{}: its model {} splits a text into other tokens than the tokenizer of {}; give the folder "
      "or name of the model that is served as --model",
      server.url, in_quotes(server.finding.kind.model), name);
}

// A text that is less likely than random tokens was not read as that text.
bool reads_known_text(RemoteEngine& engine, const std::vector<TokenId>& tokens) {
  if (!engine.info().abilities.given_logprobs || tokens.size() < 4) return true;
  const std::vector<std::vector<TokenId>> prompt = {{tokens[0]}};
  Opened opened = engine.open(prompt);
  const ScoreRequest request{.sequence = &opened.sequences[0],
                             .tokens = std::span(tokens).subspan(1)};
  const std::vector<std::vector<float>> scores = engine.score({&request, 1});
  double sum = 0;
  for (const float one : scores[0]) sum += one;
  return sum / static_cast<double>(tokens.size() - 1) > -std::log(engine.info().vocab_size);
}

}  // namespace

ConnectedModel connect_model(const std::string& name, const ModelParts& parts,
                             const LoadOptions& options) {
  const Tokenizer& tokenizer = *parts.tokenizer;
  RemoteOptions remote;
  remote.urls = remote_urls(options.engine);
  remote.http.key = options.engine_key;
  remote.probe.model = options.engine_model;
  remote.probe.tokens = tokenizer.encode(std::string(kKnownText));
  if (remote.probe.tokens.empty())
    bad_input("{}: its tokenizer makes no tokens of a text; it cannot be used", name);
  ConnectedModel connected;
  connected.engine = std::make_unique<RemoteEngine>(
      std::move(remote), RemoteModel{.name = name,
                                     .vocab_size = parts.config.vocab,
                                     .max_length = parts.config.max_positions,
                                     .eos = end_tokens(parts, stop_at_named(options.stop_at))});
  RemoteEngine& engine = *connected.engine;
  connected.warnings = engine.warnings();
  bool compared = true, by_tokens = true;
  for (const RemoteFleet::Server& server : engine.fleet().servers()) {
    if (!server.alive) continue;
    compared &= compare_tokenizers(engine, server, tokenizer, name);
    by_tokens &= server.finding.kind.api == RemoteApi::Tokens;
  }
  // Other servers may not check ids, and fail on one that they do not have.
  const TokenId last = std::min<TokenId>(parts.config.vocab, tokenizer.id_limit()) - 1;
  if (by_tokens && parts.config.layer_count() > 0 && !engine.knows_token(last))
    bad_input("{}: has no token {}, which {} has; give the model that is served as --model",
              options.engine, last, name);
  if (!compared)
    connected.warnings.push_back(
        reads_known_text(engine, tokenizer.encode(std::string(kKnownText)))
            ? fmt::format("the server does not show its tokenizer; that of {} is taken on trust",
                          name)
            : fmt::format("the server finds an ordinary text less likely than random tokens; is {} "
                          "the model that it serves?",
                          name));
  return connected;
}

}  // namespace counterbeam
