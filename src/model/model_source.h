// Where a model comes from. A source gives the parts of one model: config, end tokens, tokenizer,
// chat template and weights. Loading a model and every command that looks at one go through this
// interface and nothing else, so a new kind of source is one more implementation of it. The model
// room may include text for this: one file can hold all the parts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/fingerprint.h"
#include "model/weights.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "text/turn_end.h"

namespace counterbeam {

// Every function but name() reads its part anew and throws an Error that names the file, the place
// and the remedy. A part that is absent or broken does not keep the others from being read.
class ModelSource {
 public:
  virtual ~ModelSource() = default;

  virtual std::string name() const = 0;              // for people: "Qwen/Qwen2.5-7B"
  virtual std::string location() const = 0;          // opens messages: the folder or file
  virtual bool ships() const { return false; }       // one of the models that ship with the program
  virtual ModelFingerprint fingerprint() const = 0;  // of the content, wherever it lies
  // The same where weights are elsewhere and need not be here: they have no part in it.
  virtual ModelFingerprint text_fingerprint() const { return fingerprint(); }

  virtual ModelConfig config() const = 0;
  // Where generation stops, ascending, each once: what the source itself says, and the end token of
  // the tokenizer.
  virtual std::vector<TokenId> eos(const ModelConfig& config,
                                   std::optional<TokenId> tokenizer_eos) const = 0;
  virtual bool has_tokenizer() const = 0;
  virtual Tokenizer tokenizer() const = 0;
  virtual ChatTemplate chat_template() const = 0;
  // The weights for a model of this config. Opens the files and checks their structure; single
  // tensors are checked when they are asked for.
  virtual std::unique_ptr<StoredWeights> weights(const ModelConfig& config,
                                                 LoadProgress progress = {}) const = 0;
};

// A GGUF file, a folder, ORG/NAME in the local Hugging Face cache, or the name of a model that
// ships; an empty name is the first model that ships. Nothing is downloaded.
std::unique_ptr<ModelSource> open_model(const std::string& name);

// All parts but the weights, checked against each other: what both loading and `inspect` begin
// with. Reading them is cheap, so that what is wrong with them shows before gigabytes are read.
struct ModelParts {
  ModelConfig config;
  std::optional<Tokenizer> tokenizer;  // none if the source has none
  std::optional<ChatTemplate> chat_template;
  std::string chat_error;    // why there is no chat template; only questions that need it fail
  std::vector<TokenId> eos;  // the checkpoint's own: ModelSource::eos()
  TurnEnd turn_end;          // as the chat template writes it
};
ModelParts read_parts(const ModelSource& source);

// The same for a model that is computed elsewhere: what cannot be read of its config (an
// architecture that is not known here, no config.json) is left at zero, and the vocabulary is the
// tokenizer's. A tokenizer is needed, and one that does not fit a config that was read is an error.
ModelParts read_text_parts(const ModelSource& source);

// Where answers stop.
enum class StopAt {
  Turn,  // at the checkpoint's own end tokens, and where the chat template ends a turn
  Eos,   // at the checkpoint's own end tokens alone
};
StopAt stop_at_named(std::string_view name);  // "turn" or "eos"; BadInput for anything else

// The tokens that end an answer, ascending, each once.
std::vector<TokenId> end_tokens(const ModelParts& parts, StopAt stop_at);

}  // namespace counterbeam
