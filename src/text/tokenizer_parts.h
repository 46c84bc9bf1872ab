// The parts of a Tokenizer, filled by its loader.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/detokenizer.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"

namespace counterbeam {

// Buffers for one encode at a time.
struct EncodeScratch {
  Bpe::Scratch bpe;
  PreTokenizer::Scratch pre_tokenizer;
  Pieces pieces;
  std::vector<AddedTokens::Part> raw_parts, normal_parts;
};

// Lends a scratch to each running encode and keeps a few for reuse.
class ScratchPool {
 public:
  std::unique_ptr<EncodeScratch> take();
  void give_back(std::unique_ptr<EncodeScratch> scratch);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<EncodeScratch>> spare_;
};

struct Tokenizer::Parts {
  explicit Parts(Bpe model) : bpe(std::move(model)) {}
  // Sets `size` and `id_limit` from the vocabulary and the added tokens.
  void count_tokens();

  Bpe bpe;
  AddedTokens added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Detokenizer detokenizer;
  // The post-processor: fixed ids before, between and after the text.
  struct TemplateItem {
    bool text = false;
    std::vector<TokenId> ids;
  };
  std::vector<TemplateItem> post_template{{.text = true, .ids = {}}};
  NamedTokens named;
  std::vector<std::string> warnings;
  TokenId id_limit = 0;
  std::size_t size = 0;
  mutable ScratchPool pool;
};

}  // namespace counterbeam
