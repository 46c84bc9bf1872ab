// Log-probabilities of given tokens over a fleet: known ones are not requested, those that several
// requests need are requested once, and rows that a prefix cache made unreadable once more.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/remote_fleet.h"

namespace counterbeam {

// Tokens after a node of a search.
struct RemoteScoring {
  RemoteSearch* search = nullptr;
  RemoteMemory::Node node = -1;
  std::span<const TokenId> tokens{};  // not empty
  int top = 0;
  std::vector<float>* to = nullptr;
  std::vector<TopTokens>* top_to = nullptr;  // REQUIRED where top > 0
  ReadTokens* read = nullptr;                // what it took is added
};

// Fills in `to` of every scoring, and remembers it. Failed where a server gives no
// log-probabilities of given tokens.
void run_scorings(RemoteFleet& fleet, std::span<RemoteScoring> scorings,
                  const Cancellation* cancellation);

// Adds the cost of a request: `sent` tokens, of which `scored` are what the call is about. Where
// the server does not say what was cached, everything counts as computed.
void count_read(std::int64_t said, std::size_t sent, std::optional<std::int64_t> cached,
                std::int64_t scored, ReadTokens& read);

// BadReply where a server drew a token that the model does not have.
void validate_drawn(const DrawReply& reply, int vocab_size);

}  // namespace counterbeam
