// Checks of what a client asks, before anything is computed. Each throws an Error that names the
// request, the value and what is allowed.
#pragma once

#include <span>

#include "engine/engine.h"
#include "engine/sequences.h"

namespace counterbeam {

void validate_ids(std::span<const TokenId> ids, const EngineInfo& info, const std::string& what);
void validate_prompt(std::span<const TokenId> prompt, const EngineInfo& info, std::size_t index);
void validate_extension(const ExtendRequest& request, std::size_t index);

// The record behind a handle. An Error where there is none or it belongs to another engine.
SequenceRecord& record_of(const Sequence* sequence, const Sequences& home, const char* what,
                          std::size_t index);

}  // namespace counterbeam
