// What a search over a remote engine knows: its sequences as a tree of tokens, and the
// log-probability of every token that was drawn or scored. A sequence is a node, a fork the same
// node again, and a token that two beams share under the same prompt is asked for once.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace counterbeam {

class RemoteMemory {
 public:
  using Node = std::int32_t;

  Node root(std::vector<TokenId> prompt);  // the same node for the same prompt
  Node child(Node node, TokenId token);    // made where it is not known
  // The nodes of the tokens after `node`, one per token.
  std::vector<Node> path(Node node, std::span<const TokenId> tokens);

  std::vector<TokenId> tokens(Node node) const;  // prompt included
  std::optional<float> logprob(Node node) const;
  void set_logprob(Node node, float logprob);

 private:
  struct Entry {
    Node parent = -1;  // -1: a prompt
    TokenId token = -1;
    float logprob = 0;
    bool known = false;
    std::size_t prompt = 0;  // of a root
  };
  Node add(Node parent, TokenId token);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<std::vector<TokenId>> prompts_;
  std::map<std::vector<TokenId>, Node> roots_;
  std::unordered_map<std::uint64_t, Node> children_;  // by parent and token
};

}  // namespace counterbeam
