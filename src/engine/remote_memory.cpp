#include "engine/remote_memory.h"

#include <algorithm>

namespace counterbeam {

RemoteMemory::Node RemoteMemory::root(std::vector<TokenId> prompt) {
  const std::lock_guard lock(mutex_);
  const auto [place, fresh] = roots_.emplace(prompt, static_cast<Node>(entries_.size()));
  if (!fresh) return place->second;
  entries_.push_back({.prompt = prompts_.size()});
  prompts_.push_back(std::move(prompt));
  return place->second;
}

// REQUIRES mutex_.
RemoteMemory::Node RemoteMemory::add(Node parent, TokenId token) {
  const std::uint64_t key = std::uint64_t(std::uint32_t(parent)) << 32 | std::uint32_t(token);
  const auto [place, fresh] = children_.emplace(key, static_cast<Node>(entries_.size()));
  if (fresh) entries_.push_back({.parent = parent, .token = token});
  return place->second;
}

RemoteMemory::Node RemoteMemory::child(Node node, TokenId token) {
  const std::lock_guard lock(mutex_);
  return add(node, token);
}

std::vector<RemoteMemory::Node> RemoteMemory::path(Node node, std::span<const TokenId> tokens) {
  const std::lock_guard lock(mutex_);
  std::vector<Node> nodes;
  for (const TokenId token : tokens) nodes.push_back(node = add(node, token));
  return nodes;
}

std::vector<TokenId> RemoteMemory::tokens(Node node) const {
  const std::lock_guard lock(mutex_);
  std::vector<TokenId> answer;
  for (; entries_[std::size_t(node)].parent >= 0; node = entries_[std::size_t(node)].parent)
    answer.push_back(entries_[std::size_t(node)].token);
  std::vector<TokenId> all = prompts_[entries_[std::size_t(node)].prompt];
  all.insert(all.end(), answer.rbegin(), answer.rend());
  return all;
}

std::optional<float> RemoteMemory::logprob(Node node) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = entries_[std::size_t(node)];
  return entry.known ? std::optional(entry.logprob) : std::nullopt;
}

void RemoteMemory::set_logprob(Node node, float logprob) {
  const std::lock_guard lock(mutex_);
  entries_[std::size_t(node)].logprob = logprob;
  entries_[std::size_t(node)].known = true;
}

}  // namespace counterbeam
