// counterbeam tokenize: text to ids and back, for people (one text) and for programs (--jsonl).
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "cli/command.h"
#include "model/hub.h"
#include "text/tokenizer.h"

namespace counterbeam::cli {
namespace {

struct Options {
  std::string text;
  bool jsonl = false;
  bool no_special = false;
  bool add_special = false;
};

// A folder needs tokenizer.json only; a name is looked up like any model.
std::filesystem::path tokenizer_folder(const std::string& name) {
  return !name.empty() && std::filesystem::is_directory(name) ? std::filesystem::path(name)
                                                              : find_model_or_shipped(name);
}

// ASCII, so that no character of the text can break a line for whoever reads it.
void print_line(const Json& value) {
  fmt::print("{}\n", value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

Json encoded(const Tokenizer& tokenizer, std::string_view text, const Options& options) {
  const std::vector<TokenId> ids = tokenizer.encode(
      text, {.special_in_text = !options.no_special, .add_special_tokens = options.add_special});
  return {{"ids", ids}, {"decoded", tokenizer.decode(ids)}};
}

void run_lines(const Tokenizer& tokenizer, const Options& options) {
  std::string line;
  for (int number = 1; std::getline(std::cin, line); ++number) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string name = fmt::format("line {} of standard input", number);
    const Json value = parse_json(line, name);
    if (!value.is_object() || !value.contains("text") || !value["text"].is_string())
      bad_input("{}: expected {{\"text\": \"...\"}}, found {}", name, printable(line));
    print_line(encoded(tokenizer, value["text"].get_ref<const std::string&>(), options));
  }
}

void show(const Tokenizer& tokenizer, const Options& options) {
  const std::vector<TokenId> ids = tokenizer.encode(
      options.text,
      {.special_in_text = !options.no_special, .add_special_tokens = options.add_special});
  for (const TokenId id : ids)
    fmt::print("{:>8}  {}{}\n", id, in_quotes(tokenizer.decode({{id}})),
               tokenizer.is_special(id) ? "  control token" : "");
  const std::string back = tokenizer.decode(ids);
  fmt::print("{} tokens for {} bytes; decoded: {}\n", ids.size(), options.text.size(),
             back == options.text ? "the same text" : in_quotes(back));
}

std::string whole_input() {
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

}  // namespace

void add_tokenize(CLI::App& app, const Globals& globals) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "tokenize",
      "Show how a text is cut into tokens.\n"
      "A folder with tokenizer.json alone suffices for --model. Control tokens written out in the "
      "text, such as <|im_end|>, become their ids as they do in Hugging Face, unless --no-special "
      "is given; nothing is added unless --add-special is.\n"
      "  counterbeam tokenize --model DIR \"Hello, world\"\n"
      "  counterbeam tokenize --model DIR --jsonl < texts.jsonl > ids.jsonl");
  command->add_option("text", options->text, "The text, or - for standard input");
  command->add_flag("--jsonl", options->jsonl,
                    "Read lines {\"text\"} from standard input, print {\"ids\", \"decoded\"}");
  command->add_flag("--no-special", options->no_special,
                    "Control tokens in the text are plain characters");
  command->add_flag("--add-special", options->add_special,
                    "Add what the tokenizer adds around a text (BOS, EOS)");
  command->callback([options, &globals, command] {
    if (options->jsonl == (command->count("text") > 0))
      bad_input("tokenize: give a text or --jsonl, one of the two");
    const Tokenizer tokenizer = Tokenizer::load(tokenizer_folder(globals.model));
    if (options->jsonl) return run_lines(tokenizer, *options);
    if (options->text == "-") options->text = whole_input();
    if (globals.json)
      print_line(encoded(tokenizer, options->text, *options));
    else
      show(tokenizer, *options);
  });
}

}  // namespace counterbeam::cli
