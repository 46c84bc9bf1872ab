// The "served" of run.json: the model that the servers of a remote engine computed, by its name
// there and by the log-probabilities of a known text.
#pragma once

#include "base/json_fields.h"
#include "engine/served_model.h"

namespace counterbeam {

// Log-probabilities are rounded, so that a run that is repeated records the same.
Json to_json(const ServedModel& served);

// Of what to_json() gave, or what a run.json has in its place: throws an Error that names the
// member that is wrong.
ServedModel read_served(const JsonFields& served);

// Adds to `former` what only `now` knows.
void add_served(Json& former, const Json& now);

}  // namespace counterbeam
