// Checks of a client's requests, made before anything is computed. Each throws an Error that names
// the request, the value and what is allowed.
#pragma once

#include <span>

#include "engine/engine.h"
#include "engine/engine_state.h"

namespace counterbeam {

void validate_ids(std::span<const TokenId> ids, const EngineInfo& info, const std::string& what);
void validate_prompt(std::span<const TokenId> prompt, const EngineInfo& info, std::size_t index);
void validate_extension(const ExtendRequest& request, std::size_t index);
// Throws Failed, which names --cache-memory, if the cache is too small for a sequence of that
// length that the model itself could read. `what` names it ("request 3: the answer").
void check_cache_holds(std::int64_t length, const EngineInfo& info, const std::string& what);
// Throws Failed, which names --cache-memory: an answer that ended because the cache was full says
// nothing about the model.
[[noreturn]] void refuse_cut_answer(const EngineInfo& info);

// The record behind a handle. Throws if the handle is empty or belongs to another engine.
SequenceRecord& record_of(const Sequence* sequence, const EngineState& engine, const char* what,
                          std::size_t index);

}  // namespace counterbeam
