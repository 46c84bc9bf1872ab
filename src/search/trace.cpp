#include "search/trace.h"

#include "base/error.h"
#include "base/json.h"

namespace counterbeam {
namespace {

std::vector<float> tail(const std::vector<float>& values, std::size_t from) {
  if (values.empty()) return {};
  return {values.begin() + static_cast<std::ptrdiff_t>(from), values.end()};
}

}  // namespace

Json to_json(const TraceCandidate& candidate) {
  Json json = {{"id", candidate.id},
               {"parent", candidate.parent < 0 ? Json(nullptr) : Json(candidate.parent)},
               {"tokens", candidate.tokens},
               {"base", candidate.sums.base},
               {"positive", candidate.sums.positive},
               {"negative", candidate.sums.negative},
               {"score", candidate.score},
               {"fate", fate_name(candidate.fate)},
               {"token_base", candidate.logprobs.base}};
  if (!candidate.logprobs.positive.empty()) {
    json["token_positive"] = candidate.logprobs.positive;
    json["token_negative"] = candidate.logprobs.negative;
  }
  if (candidate.rank != candidate.score) json["rank"] = candidate.rank;
  return json;
}

std::string_view fate_name(Fate fate) {
  switch (fate) {
    case Fate::Kept:
      return "kept";
    case Fate::Pruned:
      return "pruned";
    case Fate::Duplicate:
      return "duplicate";
    case Fate::Finished:
      return "finished";
  }
  CB_CHECK(false);
}

void Recorder::block(std::span<Beam> candidates) {
  auto& block = trace_.blocks.emplace_back();
  for (Beam& beam : candidates) {
    const std::size_t from = beam.block_start;
    beam.parent = beam.id;
    beam.id = next_id_++;
    block.push_back({beam.id,
                     beam.parent,
                     {beam.tokens.begin() + static_cast<std::ptrdiff_t>(from), beam.tokens.end()},
                     {tail(beam.logprobs.base, from),
                      tail(beam.logprobs.positive, from),
                      tail(beam.logprobs.negative, from),
                      tail(beam.logprobs.drawn, from),
                      {}},
                     beam.sums,
                     beam.score,
                     beam.rank,
                     Fate::Kept});
  }
}

TraceCandidate& Recorder::find(const Candidate& candidate) {
  auto& block = trace_.blocks.back();
  const int place = candidate.id - block.front().id;  // ids of a block are consecutive
  CB_CHECK(place >= 0 && place < static_cast<int>(block.size()));
  return block[static_cast<std::size_t>(place)];
}

void Recorder::ranks(std::span<const Beam> candidates) {
  for (const Beam& beam : candidates) find(beam).rank = beam.rank;
}

void Recorder::fate(const Candidate& candidate, Fate fate) {
  find(candidate).fate = fate;
}

Json to_json(const Trace& trace) {
  Json blocks = Json::array();
  for (const auto& block : trace.blocks) {
    Json candidates = Json::array();
    for (const TraceCandidate& candidate : block) candidates.push_back(to_json(candidate));
    blocks.push_back({{"candidates", std::move(candidates)}});
  }
  return {{"settings", to_json(trace.settings)},
          {"prompts",
           {{"base", trace.prompts.base},
            {"positive", trace.prompts.positive},
            {"negative", trace.prompts.negative}}},
          {"blocks", std::move(blocks)},
          {"pool", trace.pool},
          {"selected", trace.selected}};
}

}  // namespace counterbeam
