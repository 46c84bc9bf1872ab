// counterbeam: the command line. Exit codes: 0 done, 1 failed, 2 bad usage or input.
#include <charconv>
#include <cstdio>
#include <exception>
#include <limits>

#include "base/error.h"
#include "base/quote.h"
#include "cli/command.h"

namespace counterbeam::cli {
namespace {

constexpr int kFailed = 1, kBadInput = 2;

// Every command, in the order of --help.
constexpr AddCommand kCommands[] = {add_inspect, add_tokenize, add_render, add_theory,
                                    add_ask,     add_score,    add_logits, add_bench,
                                    add_grade,   add_eval,     add_merge,  add_reproduce};

// "8G": a whole number of bytes, or of the unit it ends with.
std::int64_t bytes_of(std::string_view option, std::string_view size) {
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
    bad_input("{} \"{}\" is not a size; give a whole number of bytes or of K, M, G or T: 512M, 8G",
              option, printable(size, 40));
  }
  return count << shift;
}

void add_globals(CLI::App& app, Globals& globals) {
  app.add_option("--model", globals.model,
                 "A Hugging Face folder, or ORG/NAME in the local hub cache (default: the model "
                 "that ships with Counterbeam)");
  app.add_option("--device", globals.device,
                 "Where to compute: auto (the GPU where there is one), cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--dtype", globals.dtype, "Precision of the weights: auto, f32 or bf16")
      ->check(CLI::IsMember({"auto", "f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--threads", globals.threads, "Threads to compute with (default: all cores)")
      ->check(CLI::Range(1, 1024));
  app.add_option_function<std::string>(
         "--cache-memory",
         [&globals](const std::string& size) {
           globals.cache_bytes = bytes_of("--cache-memory", size);
         },
         "Memory for the keys, values and states of sequences, such as 512M or 8G (default: what "
         "64 "
         "sequences of 4,096 tokens need, at most a quarter of the free memory)")
      ->type_name("SIZE");
  app.add_option("--seed", globals.seed, "Same seed, same answer")->capture_default_str();
  app.add_flag("--json", globals.json, "Print one JSON object instead of text for people");
  app.add_flag("-q,--quiet", globals.quiet, "No progress, no notes");
}

int run(int argc, char** argv) {
  CLI::App app{
      "Counterbeam: better answers from the language model you have, by contrastive beam "
      "search.",
      "counterbeam"};
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", COUNTERBEAM_VERSION);
  Globals globals;
  add_globals(app, globals);
  for (const AddCommand add : kCommands) add(app, globals);
  for (CLI::App* command : app.get_subcommands(nullptr))
    if (command->get_footer().empty())
      command->footer("Options for all commands (--model, --json, -q, ...): counterbeam --help");
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  } catch (const Error& error) {
    fmt::print(stderr, "counterbeam: {}\n", error.what());
    return error.kind() == ErrorKind::BadInput ? kBadInput : kFailed;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "counterbeam: out of memory\n");
    return kFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "counterbeam: {}\n", error.what());
    return kFailed;
  }
}

}  // namespace
}  // namespace counterbeam::cli

int main(int argc, char** argv) {
  return counterbeam::cli::run(argc, argv);
}
