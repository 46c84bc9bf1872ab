// A sequence of the remote engine: a node of its search's tree of tokens.
#pragma once

#include <memory>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/remote_fleet.h"

namespace counterbeam {

struct RemoteSequence : SequenceState {
  RemoteSequence(std::shared_ptr<RemoteSearch> the_search, RemoteMemory::Node the_node,
                 std::int64_t tokens)
      : search(std::move(the_search)), node(the_node), size(tokens) {}
  std::unique_ptr<SequenceState> fork() const override {
    return std::make_unique<RemoteSequence>(*this);
  }
  std::int64_t length() const override { return size; }

  void append(std::span<const TokenId> tokens) {
    if (tokens.empty()) return;
    node = search->memory.path(node, tokens).back();
    size += static_cast<std::int64_t>(tokens.size());
  }

  std::shared_ptr<RemoteSearch> search;
  RemoteMemory::Node node;
  std::int64_t size;
};

// The sequence behind a handle. BadInput if the handle is empty or belongs to another engine.
inline RemoteSequence& remote_of(const Sequence* sequence, const RemoteFleet& fleet,
                                 const char* what, std::size_t index) {
  if (sequence == nullptr || !*sequence) bad_input("request {}: no {}", index, what);
  auto* remote = dynamic_cast<RemoteSequence*>(sequence->state());
  if (remote == nullptr || remote->search->fleet.get() != &fleet)
    bad_input("request {}: the {} belongs to another engine", index, what);
  return *remote;
}

}  // namespace counterbeam
