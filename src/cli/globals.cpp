#include "cli/globals.h"

#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam::cli {
namespace {

// "8G": a whole number of bytes, or of the unit it ends with.
std::int64_t bytes_of(std::string_view size, std::string_view origin) {
  std::string_view digits = size;
  int shift = 0;
  for (const auto& [unit, bits] : {std::pair{'K', 10}, {'M', 20}, {'G', 30}, {'T', 40}}) {
    if (!size.ends_with(unit)) continue;
    digits.remove_suffix(1);
    shift = bits;
  }
  std::int64_t count = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, count);
  if (error != std::errc() || at != end || count < 1 ||
      count > std::numeric_limits<std::int64_t>::max() >> shift) {
    bad_input("{}: {} is not a size; give a whole number of bytes or of K, M, G or T: 512M, 8G",
              origin, in_quotes(size));
  }
  return count << shift;
}

}  // namespace

std::vector<Option> global_options(Globals& globals) {
  return {
      {.name = "--model",
       .value = text(globals.model, "FOLDER"),
       .help = "A Hugging Face folder, a GGUF file, or ORG/NAME in the local hub cache",
       .standard = "the model that ships with Counterbeam"},
      {.name = "--device",
       .value = one_of(globals.device, {"auto", "cpu", "cuda"}),
       .help = "Where to compute; auto uses the GPU if there is one"},
      {.name = "--dtype",
       .value = one_of(globals.dtype, {"auto", "f32", "bf16"}),
       .help = "Precision of the weights; auto keeps that of the checkpoint"},
      {.name = "--activations",
       .value = one_of(globals.activations, {"auto", "int8"}),
       .help =
           "int8: on the CPU, round activations to 8 bits before products with integer weights of "
           "8 or 4 bits (not FP8); faster for several sequences, less exact. auto: no rounding"},
      {.name = "--threads",
       .value = whole(globals.threads, 1, 1024),
       .help = "CPU threads to compute with",
       .standard = "all cores"},
      {.name = "--cache-memory",
       .value = custom("SIZE",
                       [&globals](std::string_view size, std::string_view origin) {
                         globals.cache_bytes = bytes_of(size, origin);
                       }),
       .help = "Memory for the KV cache and recurrent states, such as 512M or 8G",
       .standard =
           "what 64 sequences of 4,096 tokens and 16 searches need, at most a quarter of the "
           "free memory; on a GPU up to eight times that, as far as its memory allows"},
      {.name = "--cache-dtype",
       .value = one_of(globals.cache_dtype, {"auto", "fp8", "int8"}),
       .help = "Keys and values in the KV cache; auto keeps them in the precision of the weights, "
               "fp8 and int8 take half the memory of bf16 and change answers"},
      {.name = "--engine",
       .value = text(globals.engine, "URL[,URL...]"),
       .help = "Compute on these servers (vLLM, SGLang, counterbeam serve) in place of this "
               "process; --model then gives the tokenizer and the chat template",
       .standard = "none"},
      {.name = "--engine-model",
       .value = text(globals.engine_model, "NAME"),
       .help = "What the servers of --engine call the model",
       .standard = "the only one they serve"},
      {.name = "--engine-key",
       .value = text(globals.engine_key, "KEY"),
       .help = "Key of the servers of --engine; other users of this machine can see it, so prefer "
               "the environment variable COUNTERBEAM_ENGINE_KEY",
       .standard = "none"},
      {.name = "--seed",
       .value = whole(globals.seed),
       .help = "Seed of all random draws; the same seed gives the same answer"},
      {.name = "--json",
       .value = flag(globals.json),
       .help = "Print one JSON object instead of text for people"},
      {.name = "--quiet",
       .value = flag(globals.quiet),
       .help = "Show neither progress nor notes",
       .letter = "-q"},
  };
}

}  // namespace counterbeam::cli
