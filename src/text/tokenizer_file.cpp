// Loads a Tokenizer. The vocabulary and the merges, which are nearly all of the file, are read by a
// JsonCursor directly into their tables; the rest is parsed as Json.
#include <algorithm>
#include <map>
#include <utility>

#include "base/file.h"
#include "base/json_cursor.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "text/file_limits.h"
#include "text/tokenizer_steps.h"

namespace counterbeam {
namespace {

using Parts = Tokenizer::Parts;

constexpr std::string_view kAdvice = "download the file again";

// The raw text of each member, by key. Duplicate keys are rejected.
using Members = std::map<std::string, std::string_view, std::less<>>;

void put_member(Members& members, std::string_view file, std::string key, std::string_view raw) {
  if (!members.emplace(key, raw).second)
    bad_input("{}: key {} occurs twice; keep one", file, in_quotes(key));
}

class FileReader {
 public:
  FileReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  std::unique_ptr<Parts> read() {
    JsonCursor cursor(text_, file_, kAdvice);
    cursor.object("the file", [&](std::string key) {
      if (key == "model" && cursor.peek() == '{' && !top_.contains("model")) {
        put_member(top_, file_, key, "{}");
        read_model(cursor);
      } else {
        put_member(top_, file_, key, cursor.raw());
      }
    });
    cursor.end();
    if (!top_.contains("model"))
      bad_input("{}: has no \"model\"; the file is incomplete, download it again", file_);
    check_version();
    auto parts = std::make_unique<Parts>(build_bpe());
    with("normalizer", [&](const JsonField& f) { read_normalizer(f, parts->normalizer); });
    with("pre_tokenizer", [&](const JsonField& f) { read_pre_tokenizer(f, parts->pre_tokenizer); });
    with("decoder", [&](const JsonField& f) { read_detokenizer(f, parts->detokenizer); });
    with("post_processor",
         [&](const JsonField& f) { read_post_processor(f, parts->post_template); });
    with("added_tokens", [&](const JsonField& f) {
      if (!f.is_null()) read_added(f, *parts);
    });
    check_post_template(*parts);
    parts->count_tokens();
    return parts;
  }

 private:
  // Calls use(field) with the member `key`, or with null if it is absent.
  template <typename Use>
  void with(const std::string& key, Use use) const {
    const auto found = top_.find(key);
    const Json value = found == top_.end() ? Json() : parse_json(found->second, file_);
    use(JsonField(value, file_, key));
  }

  void check_version() const {
    with("version", [](const JsonField& field) {
      if (!field.is_null() && field.string() != "1.0")
        field.refuse(fmt::format("{} is not known; only \"1.0\" is", field.shown()));
    });
  }

  void read_model(JsonCursor& cursor) {
    cursor.object("model", [&](std::string key) {
      if (key == "vocab" && cursor.peek() == '{' && !model_.contains("vocab")) {
        put_member(model_, file_, key, "{}");
        read_vocab(cursor);
      } else {
        put_member(model_, file_, key, cursor.raw());
      }
    });
  }

  void read_vocab(JsonCursor& cursor) {
    cursor.object("model.vocab", [&](const std::string& token) {
      const std::uint64_t id = cursor.unsigned_integer("an id in model.vocab");
      switch (vocabulary_.add(token, id)) {
        case Vocabulary::Added::Yes:
          return;
        case Vocabulary::Added::TextTaken:
          bad_input("{}: model.vocab names {} twice; keep one", file_, in_quotes(token));
        case Vocabulary::Added::IdTaken:
          bad_input("{}: model.vocab gives id {} to {} and to {}; ids must differ", file_, id,
                    in_quotes(*vocabulary_.text(static_cast<TokenId>(id))), in_quotes(token));
        case Vocabulary::Added::IdTooLarge:
          bad_input("{}: model.vocab gives {} the id {}, far above the number of tokens", file_,
                    in_quotes(token), id);
      }
    });
  }

  Json model_value(const std::string& key) const {
    const auto found = model_.find(key);
    return found == model_.end() ? Json() : parse_json(found->second, file_);
  }

  void check_model() const {
    const Json type = model_value("type");
    const JsonField field(type, file_, "model.type");
    if (type.is_null() ? !model_.contains("merges") : field.string() != "BPE")
      field.refuse(fmt::format("{} is not supported; only BPE tokenizers are", field.shown()));
    for (const char* key : {"vocab", "merges"})
      if (!model_.contains(key))
        bad_input("{}: model has no \"{}\"; the file is incomplete, download it again", file_, key);
    if (model_.at("vocab") != "{}" || vocabulary_.size() == 0)
      bad_input("{}: model.vocab must be an object that maps tokens to ids, found {}", file_,
                printable(model_.at("vocab")));
    const Json dropout = model_value("dropout");
    if (!dropout.is_null() && (!dropout.is_number() || dropout.get<double>() != 0.0))
      bad_input(
          "{}: model.dropout {} is not supported: encoding must not be random; set it to null",
          file_, printable(to_line(dropout)));
  }

  Bpe build_bpe() {
    check_model();
    const auto text = [&](const std::string& key) -> std::string {
      const Json value = model_value(key);
      return value.is_null() ? "" : JsonField(value, file_, "model." + key).string();
    };
    const auto flag = [&](const std::string& key) {
      const Json value = model_value(key);
      return !value.is_null() && JsonField(value, file_, "model." + key).boolean();
    };
    BpeOptions options;
    if (!model_value("unk_token").is_null()) options.unknown = text("unk_token");
    options.continuing_prefix = text("continuing_subword_prefix");
    options.end_suffix = text("end_of_word_suffix");
    options.fuse_unknown = flag("fuse_unk");
    options.byte_fallback = flag("byte_fallback");
    options.ignore_merges = flag("ignore_merges");
    Bpe bpe(std::move(vocabulary_), std::move(options));
    read_merges(bpe);
    return bpe;
  }

  // A merge is written as "left right" or as ["left", "right"].
  void read_merges(Bpe& bpe) const {
    const std::string_view raw = model_.at("merges");
    JsonCursor cursor(raw, file_, kAdvice);
    std::uint32_t rank = 0;
    bpe.reserve_merges(std::min<std::size_t>(raw.size() / 16, std::size_t{1} << 18));
    cursor.array("model.merges", [&] {
      std::string left, right;
      if (cursor.peek() == '[') {
        int count = 0;
        cursor.array("a merge", [&] {
          std::string half = cursor.string("half of a merge");
          (count++ == 0 ? left : right) = std::move(half);
        });
        if (count != 2)
          refuse_merge(rank, "must hold two tokens", fmt::format("{} of them", count));
      } else {
        left = cursor.string("a merge");
        if (rank == 0 && left.starts_with("#version")) return;
        const std::size_t space = left.find(' ');
        if (space == left.npos || left.find(' ', space + 1) != left.npos)
          refuse_merge(rank, "must be two tokens with one space between", in_quotes(left));
        right = left.substr(space + 1);
        left.resize(space);
      }
      const auto left_id = bpe.vocabulary().find(left), right_id = bpe.vocabulary().find(right);
      if (!left_id || !right_id)
        refuse_merge(rank, "names a token that model.vocab lacks",
                     in_quotes(left_id ? right : left));
      if (!bpe.add_merge(*left_id, *right_id, rank++))
        refuse_merge(rank - 1, "makes a token that model.vocab lacks", in_quotes(left + right));
    });
  }

  [[noreturn]] void refuse_merge(std::uint32_t rank, std::string_view problem,
                                 const std::string& found) const {
    bad_input("{}: model.merges[{}] {}: {}; vocabulary and merges must come from one file", file_,
              rank, problem, found);
  }

  static AddedToken read_added_token(const JsonField& field) {
    AddedToken token;
    field.at("id").whole_number();  // checked but not used: read_added() assigns the ids
    token.content = field.at("content").string();
    token.special = field.at("special").boolean();
    token.normalized = field.boolean_or("normalized", !token.special);
    token.single_word = field.boolean_or("single_word", false);
    token.lstrip = field.boolean_or("lstrip", false);
    token.rstrip = field.boolean_or("rstrip", false);
    return token;
  }

  // A token that is in the vocabulary has its id from there. The others are numbered from the
  // vocabulary's size in file order, whatever ids the file gives them, as Hugging Face's tokenizers
  // do.
  void read_added(const JsonField& field, Parts& parts) const {
    auto next_id = static_cast<TokenId>(parts.bpe.vocabulary().size());
    SplitPattern::Scratch scratch;
    std::vector<TokenId> controls;  // that merges might make of a user's text
    for (const JsonField& element : field.elements()) {
      AddedToken token = read_added_token(element);
      if (token.content.empty() || parts.added.by_content(token.content)) continue;
      const auto known = parts.bpe.vocabulary().find(token.content);
      token.id = known ? *known : next_id++;
      if (known && token.special) controls.push_back(token.id);
      // Otherwise that word in a user's text would become the added token, which may be a control
      // token.
      if (const auto word = parts.bpe.vocabulary().text(token.id); word && !known)
        element.refuse(fmt::format(
            "{} gets id {}, which model.vocab gives to {}: ids of the vocabulary are missing; "
            "download the file again",
            in_quotes(token.content), token.id, in_quotes(*word)));
      const auto given = element.at("id").whole_number();
      if (std::cmp_not_equal(given, token.id) && parts.warnings.empty())
        parts.warnings.push_back(fmt::format(
            "{}: added token {} gets id {}, although the file says {}: ids follow the vocabulary, "
            "as "
            "in Hugging Face's tokenizers; a token before it is missing, or the files belong to "
            "different models",
            file_, in_quotes(token.content), token.id, given));
      StagedText pattern{token.content, 0};
      if (token.normalized) parts.normalizer.apply(pattern, scratch);
      const std::string content = token.content;
      if (!parts.added.add(std::move(token), std::move(pattern.text)))
        element.refuse(fmt::format("{} is the same text as another added token once normalized",
                                   in_quotes(content)));
    }
    parts.bpe.exclude(controls);
  }

  // What the post-processor writes goes to the model as it is.
  void check_post_template(const Parts& parts) const {
    for (const Parts::TemplateItem& item : parts.post_template)
      for (const TokenId id : item.ids)
        if (!parts.bpe.vocabulary().text(id) && !parts.added.by_id(id))
          bad_input(
              "{}: post_processor adds id {}, which no token of this file has; download the file "
              "again",
              file_, id);
  }

  std::string_view text_, file_;
  Members top_, model_;
  Vocabulary vocabulary_;
};

// A token in tokenizer_config.json is a string or an object with "content".
std::optional<std::string> read_named(const JsonField& config, std::string_view key) {
  if (!config.has(key)) return std::nullopt;
  const JsonField field = config.at(key);
  return field.is_object() ? field.at("content").string() : field.string();
}

// add_bos_token and add_eos_token, if present, replace the post-processor.
void read_config(const JsonField& config, const Tokenizer& tokenizer, Parts& parts) {
  parts.named = {read_named(config, "bos_token"), read_named(config, "eos_token"),
                 read_named(config, "pad_token"), read_named(config, "unk_token")};
  if (!config.has("add_bos_token") && !config.has("add_eos_token")) return;
  const auto token = [&](std::string_view flag, std::string_view key,
                         const std::optional<std::string>& name) {
    Parts::TemplateItem item;
    if (!config.boolean_or(flag, false)) return item;
    if (!name)
      config.at(flag).refuse(fmt::format("is true but {} is not given; name the token", key));
    const auto id = tokenizer.find(*name);
    if (!id)
      config.at(key).refuse(fmt::format("{} is not a token of tokenizer.json", in_quotes(*name)));
    item.ids.push_back(*id);
    return item;
  };
  parts.post_template = {token("add_bos_token", "bos_token", parts.named.bos),
                         {.text = true, .ids = {}},
                         token("add_eos_token", "eos_token", parts.named.eos)};
}

}  // namespace

Tokenizer Tokenizer::parse(std::string_view json, std::string_view name, std::string_view config,
                           std::string_view config_name) {
  Tokenizer tokenizer(FileReader(json, name).read());
  if (!config.empty()) {
    const Json value = parse_json(config, config_name);
    read_config(JsonField(value, config_name, ""), tokenizer, *tokenizer.parts_);
  }
  return tokenizer;
}

Tokenizer Tokenizer::load(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "tokenizer.json",
                              config = folder / "tokenizer_config.json";
  if (!std::filesystem::exists(file))
    bad_input("{}: there is no tokenizer.json; point --model at a Hugging Face folder that has one",
              folder.string());
  const bool has_config = std::filesystem::exists(config);
  const std::string settings =
      has_config ? read_file(config, kMostTokenizerConfigBytes) : std::string();
  if (has_config && settings.empty()) bad_input("{}: is empty; {}", config.string(), kAdvice);
  return parse(read_file(file, kMostTokenizerBytes), file.string(), settings, config.string());
}

}  // namespace counterbeam
