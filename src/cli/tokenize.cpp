// counterbeam tokenize: text to ids and back, for people (one text) and for programs (--jsonl).
#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "model/model_source.h"

namespace counterbeam::cli {
namespace {

struct TokenizeOptions {
  std::optional<std::string> text;
  bool jsonl = false;
  bool no_special = false;
  bool add_special = false;
};

// ASCII, so that no character of the text can break a line for whoever reads it.
void print_line(const Json& value) {
  print_result("{}\n", value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

Json encoded(const Tokenizer& tokenizer, std::string_view text, const TokenizeOptions& options) {
  const std::vector<TokenId> ids = tokenizer.encode(
      text, {.special_in_text = !options.no_special, .add_special_tokens = options.add_special});
  return {{"ids", ids}, {"decoded", tokenizer.decode(ids)}};
}

void run_lines(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  std::string line;
  for (int number = 1; read_input_line(line); ++number) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string name = fmt::format("line {} of standard input", number);
    const Json value = parse_json(line, name);
    if (!value.is_object() || !value.contains("text") || !value["text"].is_string())
      bad_input("{}: expected {{\"text\": \"...\"}}, found {}", name, printable(line));
    print_line(encoded(tokenizer, value["text"].get_ref<const std::string&>(), options));
  }
}

void show(const Tokenizer& tokenizer, const std::string& text, const TokenizeOptions& options) {
  const std::vector<TokenId> ids = tokenizer.encode(
      text, {.special_in_text = !options.no_special, .add_special_tokens = options.add_special});
  for (const TokenId id : ids)
    print_result("{:>8}  {}{}\n", id, in_quotes(tokenizer.decode({{id}})),
                 tokenizer.is_special(id) ? "  control token" : "");
  const std::string back = tokenizer.decode(ids);
  print_result("{} tokens for {} bytes; decoded: {}\n", ids.size(), text.size(),
               back == text ? "the same text" : in_quotes(back));
}

void run_tokenize(const TokenizeOptions& options, const Globals& globals) {
  if (options.jsonl == options.text.has_value())
    bad_input("tokenize: give a text or --jsonl, one of the two");
  const Tokenizer tokenizer = open_model(globals.model)->tokenizer();
  if (options.jsonl) return run_lines(tokenizer, options);
  const std::string text = *options.text == "-" ? read_standard_input() : *options.text;
  if (globals.json)
    print_line(encoded(tokenizer, text, options));
  else
    show(tokenizer, text, options);
}

}  // namespace

Command tokenize_command(const Globals& globals) {
  const auto options = std::make_shared<TokenizeOptions>();
  return {.name = "tokenize",
          .summary = "Show how a text is split into tokens",
          .description =
              "The folder of --model needs only a tokenizer.json. Control tokens that are written "
              "in the text, such as <|im_end|>, become their ids, as in Hugging Face, unless "
              "--no-special is given; BOS and EOS are added only with --add-special.",
          .arguments = {{.name = "TEXT",
                         .value = text(options->text),
                         .help = "The text; - reads it from standard input"}},
          .options = {{.name = "--jsonl",
                       .value = flag(options->jsonl),
                       .help = "Read lines {\"text\"} from standard input, print {\"ids\", "
                               "\"decoded\"}"},
                      {.name = "--no-special",
                       .value = flag(options->no_special),
                       .help = "Treat control tokens in the text as plain characters"},
                      {.name = "--add-special",
                       .value = flag(options->add_special),
                       .help = "Add what the tokenizer adds around a text (BOS, EOS)"}},
          .examples = {"counterbeam tokenize --model DIR 'Hello, world'",
                       "counterbeam tokenize --model DIR --jsonl < texts.jsonl > ids.jsonl"},
          .run = [options, &globals] { run_tokenize(*options, globals); }};
}

}  // namespace counterbeam::cli
