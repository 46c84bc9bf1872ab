#include "eval/served_record.h"

#include <cmath>

namespace counterbeam {

Json to_json(const ServedModel& served) {
  Json json = {{"model", served.id}};
  if (!served.root.empty()) json["root"] = served.root;
  if (served.max_length > 0) json["max_model_len"] = served.max_length;
  for (const float one : served.logprobs)
    json["logprobs"].push_back(std::round(1000.0 * double(one)) / 1000.0 + 0.0);  // no -0.0
  return json;
}

ServedModel read_served(const JsonFields& served) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 60;
  ServedModel model;
  model.id = served.string("model").value_or("");
  model.root = served.string("root").value_or("");
  model.max_length = served.integer("max_model_len", 0, kMostTokens).value_or(0);
  if (const Json* logprobs = served.array("logprobs"))
    for (const Json& one : *logprobs) {
      if (!one.is_number() || std::abs(one.get<double>()) > 1e30)
        served.wrong("logprobs", "must hold log-probabilities");
      model.logprobs.push_back(static_cast<float>(one.get<double>()));
    }
  return model;
}

void add_served(Json& former, const Json& now) {
  for (const auto& [name, value] : now.items())
    if (!former.contains(name)) former[name] = value;
}

}  // namespace counterbeam
