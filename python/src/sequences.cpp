// The pieces of a search: sequences that are opened, extended, read and forked.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "calls.h"
#include "module.h"

namespace counterbeam::python {
namespace {

using Ids = std::vector<std::int32_t>;

struct PythonSequence {
  nb::object model;  // kept alive, and dropped last
  LiveSequence live;
  std::int64_t prompt = 0;  // tokens of the prompt it was opened with
  bool busy = false;        // in a call; changed with the GIL held
};

// Marks sequences as in use by a call. Two threads that extend one sequence would both be wrong.
class InUse {
 public:
  InUse() = default;
  ~InUse() {
    for (PythonSequence* one : all_) one->busy = false;
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

  LiveSequence* add(PythonSequence* one) {
    if (one->busy)
      throw BadInput("a sequence is given twice, or is in use by another call; fork it");
    one->busy = true;
    all_.push_back(one);
    return &one->live;
  }

 private:
  std::vector<PythonSequence*> all_;
};

struct Sampler {
  int max_tokens = 0;
  double temperature = 1, top_p = 1;
  int top_k = 0;
  double min_p = 0;
  std::uint64_t seed = 0;
  std::uint32_t question = 0, block = 0;
  Ids stop;
  std::vector<float> mix;
  double plausibility = 0;
  int top = 0;
};

std::vector<std::uint32_t> numbers_of(const nb::object& given, std::size_t count,
                                      const char* name) {
  std::vector<std::uint32_t> numbers;
  if (!nb::try_cast(given, numbers))
    throw BadInput(std::string(name) + ": a list of whole numbers from 0 on is needed");
  if (numbers.size() != count)
    throw BadInput(std::string(name) + ": one number per sequence is needed, " +
                   std::to_string(count) + ", not " + std::to_string(numbers.size()));
  return numbers;
}

std::vector<Continuation> extend(const Model& model, const std::vector<PythonSequence*>& sequences,
                                 const std::vector<std::vector<PythonSequence*>>& followers,
                                 const Sampler& how, const nb::object& beams,
                                 const nb::object& positions, CancelToken* token) {
  if (!followers.empty() && followers.size() != sequences.size())
    throw BadInput("followers: one list per sequence is needed");
  std::vector<std::uint32_t> places, starts;
  if (!beams.is_none()) places = numbers_of(beams, sequences.size(), "beams");
  if (!positions.is_none()) starts = numbers_of(positions, sequences.size(), "positions");
  InUse used;
  std::vector<ContinueRequest> requests(sequences.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    PythonSequence& sequence = *sequences[i];
    const auto start = static_cast<std::uint32_t>(sequence.live.length() - sequence.prompt);
    ContinueRequest& request = requests[i];
    request.sequence = used.add(&sequence);
    if (!followers.empty())
      for (PythonSequence* follower : followers[i]) request.followers.push_back(used.add(follower));
    request.max_tokens = how.max_tokens;
    request.temperature = how.temperature;
    request.top_p = how.top_p;
    request.top_k = how.top_k;
    request.min_p = how.min_p;
    request.draw = {how.seed, how.question, how.block,
                    places.empty() ? static_cast<std::uint32_t>(i) : places[i],
                    starts.empty() ? start : starts[i]};
    request.stop = how.stop;
    request.mix = how.mix;
    request.plausibility = how.plausibility;
    request.top = how.top;
  }
  return without_gil(token,
                     [&](Call& call) { return model.model.extend(requests, call.cancellation()); });
}

using Opened = std::tuple<nb::typed<nb::list, PythonSequence>, std::int64_t, std::int64_t>;

Opened open(nb::handle_t<Model> model, const std::vector<Ids>& prompts, CancelToken* token) {
  const LanguageModel& inner = nb::cast<const Model&>(model).model;
  OpenedPrompts opened =
      without_gil(token, [&](Call& call) { return inner.open(prompts, call.cancellation()); });
  nb::typed<nb::list, PythonSequence> sequences;
  for (LiveSequence& live : opened.sequences) {
    auto one = std::make_unique<PythonSequence>();
    one->model = nb::borrow(model);
    one->prompt = live.length();
    one->live = std::move(live);
    sequences.append(nb::cast(one.release(), nb::rv_policy::take_ownership));
  }
  return {sequences, opened.computed_tokens, opened.cached_tokens};
}

std::vector<std::pair<Array<float>, std::vector<LikelyTokens>>> read(
    const Model& model, const std::vector<PythonSequence*>& sequences,
    const std::vector<Ids>& tokens, int top, CancelToken* token) {
  if (tokens.size() != sequences.size()) throw BadInput("tokens: one list per sequence is needed");
  InUse used;
  std::vector<ReadRequest> requests(sequences.size());
  for (std::size_t i = 0; i < requests.size(); ++i)
    requests[i] = {used.add(sequences[i]), tokens[i], top};
  std::vector<std::pair<Array<float>, std::vector<LikelyTokens>>> results;
  for (TokensRead& one : without_gil(
           token, [&](Call& call) { return model.model.read(requests, call.cancellation()); }))
    results.emplace_back(array_of(std::move(one.logprobs)), std::move(one.top));
  return results;
}

PythonSequence* fork(const PythonSequence& one) {
  if (one.busy) throw BadInput("the sequence is in use by another call");
  auto copy = std::make_unique<PythonSequence>();
  copy->model = one.model;
  copy->live = one.live.fork();
  copy->prompt = one.prompt;
  return copy.release();
}

// A field of a continuation as an array that views it: the continuation stays alive as its owner.
template <auto member>
auto view() {
  return [](nb::handle_t<Continuation> self) {
    auto& values = nb::cast<Continuation&>(self).*member;
    using T = typename std::remove_cvref_t<decltype(values)>::value_type;
    return Array<T>(values.data(), {values.size()}, self);
  };
}

std::vector<Array<float>> follower_logprobs(nb::handle_t<Continuation> self) {
  std::vector<Array<float>> all;
  for (std::vector<float>& values : nb::cast<Continuation&>(self).follower_logprobs)
    all.emplace_back(values.data(), std::initializer_list<std::size_t>{values.size()}, self);
  return all;
}

}  // namespace

void bind_sequences(nb::module_& module) {
  nb::class_<PythonSequence>(module, "Sequence",
                             "A forkable sequence of tokens; dropping it frees its cache.")
      .def("fork", &fork, "Another sequence with the same tokens; their cache is shared.")
      .def_prop_ro(
          "length", [](const PythonSequence& one) { return one.live.length(); },
          "Tokens, the prompt included.")
      .def_prop_ro(
          "prompt_length", [](const PythonSequence& one) { return one.prompt; },
          "Tokens of the prompt that it was opened with.");
  nb::class_<Continuation>(module, "Extension", "What one call of extend drew for one sequence.")
      .def_prop_ro("tokens", view<&Continuation::tokens>(), "The drawn ids, int32.")
      .def_prop_ro("logprobs", view<&Continuation::logprobs>(),
                   "Their log-probabilities under the sequence at temperature 1, float32.")
      .def_prop_ro("drawn_logprobs", view<&Continuation::drawn_logprobs>(),
                   "The same under the distribution that they were drawn from.")
      .def_prop_ro("follower_logprobs", &follower_logprobs,
                   "The same under each follower at temperature 1.")
      .def_ro("top", &Continuation::top, "Per token the likeliest (id, log-probability).")
      .def_ro("stopped", &Continuation::stopped, "The last token is a stop token.")
      .def_ro("full", &Continuation::full, "Ended early: the model reads no longer sequences.");
  nb::class_<Sampler>(module, "Sampler")
      .def(nb::init<>())
      .def_rw("max_tokens", &Sampler::max_tokens)
      .def_rw("temperature", &Sampler::temperature)
      .def_rw("top_p", &Sampler::top_p)
      .def_rw("top_k", &Sampler::top_k)
      .def_rw("min_p", &Sampler::min_p)
      .def_rw("seed", &Sampler::seed)
      .def_rw("question", &Sampler::question)
      .def_rw("block", &Sampler::block)
      .def_rw("stop", &Sampler::stop)
      .def_rw("mix", &Sampler::mix)
      .def_rw("plausibility", &Sampler::plausibility)
      .def_rw("top", &Sampler::top);
  module.def("open", &open, nb::arg("model"), nb::arg("prompts"), nb::arg("token").none());
  module.def("extend", &extend, nb::arg("model"), nb::arg("sequences"), nb::arg("followers"),
             nb::arg("how"), nb::arg("beams").none(), nb::arg("positions").none(),
             nb::arg("token").none());
  module.def("read", &read, nb::arg("model"), nb::arg("sequences"), nb::arg("tokens"),
             nb::arg("top"), nb::arg("token").none());
}

}  // namespace counterbeam::python
