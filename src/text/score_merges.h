// Merges from scores. SentencePiece's BPE joins the pair of neighbours whose joined text has the
// highest score; written as a list of merges, that is what Bpe does.
#pragma once

#include <cstdint>
#include <vector>

#include "text/bpe.h"

namespace counterbeam {

// Adds a merge for every way to cut a token with mergeable[id] into two tokens, in the order in
// which transformers writes them to tokenizer.json: by falling score, then longer left sides first.
// Returns false if there would be more than `most` of them.
bool add_score_merges(Bpe& bpe, const std::vector<float>& scores,
                      const std::vector<bool>& mergeable, std::size_t most);

}  // namespace counterbeam
