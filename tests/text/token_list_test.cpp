// Tokenizers from lists of tokens: the same ids as tokenizer.json and sentencepiece give.
#include "text/token_list.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "support/bad_case.h"
#include "support/shared_folder.h"
#include "text/named_splits.h"

namespace counterbeam {
namespace {

using testing::expect_message;

// A tokenizer.json as a list, as llama.cpp's converter makes one. The Json must outlive it.
TokenList list_of(const Json& json, const std::string& split) {
  TokenList list;
  list.split = split;
  const auto put = [&](std::size_t id, std::string_view text, TokenKind kind) {
    if (list.tokens.size() <= id) list.tokens.resize(id + 1);
    list.tokens[id] = {text, kind, 0};
  };
  for (const auto& [text, id] : json["model"]["vocab"].items())
    put(id.get<std::size_t>(), text, TokenKind::Normal);
  for (const Json& token : json["added_tokens"])
    put(token["id"].get<std::size_t>(), token["content"].get_ref<const std::string&>(),
        token["special"].get<bool>() ? TokenKind::Control : TokenKind::UserDefined);
  for (const Json& merge : json["model"]["merges"])
    list.merges.push_back(merge.get_ref<const std::string&>());
  return list;
}

TEST(TokenList, IdsAreThoseOfTokenizerJson) {
  const auto folder = testing::shared_folder() / "fixtures/tokenizers";
  CB_NEEDS_SHARED(folder);
  for (const std::string name : {"qwen2", "deepseek-llm"}) {
    SCOPED_TRACE(name);
    Json json = read_json_file(folder / name / "tokenizer.json");
    for (Json& merge : json["model"]["merges"])
      if (merge.is_array()) merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    const Tokenizer tokenizer = make_tokenizer(list_of(json, name), "list");
    std::ifstream file(folder / name / "vectors.jsonl");
    int cases = 0;
    for (std::string line; std::getline(file, line); ++cases) {
      const Json row = parse_json(line, "vectors.jsonl");
      const auto ids = row["ids"].get<std::vector<TokenId>>();
      EXPECT_EQ(tokenizer.encode(row["text"].get<std::string>(), {.special_in_text = true}), ids)
          << row["text"];
      EXPECT_EQ(tokenizer.decode(ids), row["decoded"].get<std::string>());
    }
    EXPECT_GT(cases, 100);
  }
}

struct Pieces {
  Json json;
  TokenList list;
};

// The small model of golden/sentencepiece.json (tools/gguf_parity.py).
void read_pieces(Pieces& pieces) {
  pieces.json =
      read_json_file(std::string(COUNTERBEAM_SOURCE_DIR) + "/tests/text/golden/sentencepiece.json");
  const Json& json = pieces.json;
  pieces.list.model = TokenList::Model::SentencePiece;
  for (std::size_t id = 0; id < json["tokens"].size(); ++id)
    pieces.list.tokens.push_back({json["tokens"][id].get_ref<const std::string&>(),
                                  static_cast<TokenKind>(json["kinds"][id].get<int>()),
                                  json["scores"][id].get<float>()});
  pieces.list.unk = 0;
  pieces.list.bos = 1;
  pieces.list.eos = 2;
}

TEST(TokenList, IdsAreThoseOfSentencePiece) {
  Pieces pieces;
  read_pieces(pieces);
  const Tokenizer tokenizer = make_tokenizer(pieces.list, "list");
  ASSERT_GE(pieces.json["cases"].size(), 50u);
  for (const Json& one : pieces.json["cases"]) {
    const std::string text = one["text"];
    const std::vector<TokenId> ids = tokenizer.encode(text);
    EXPECT_EQ(ids, one["ids"].get<std::vector<TokenId>>()) << text;
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
}

TEST(TokenList, TheSpaceBeforeATextIsOptional) {
  Pieces pieces;
  read_pieces(pieces);
  const Tokenizer with = make_tokenizer(pieces.list, "list");
  pieces.list.space_prefix = false;
  const Tokenizer without = make_tokenizer(pieces.list, "list");
  EXPECT_EQ(without.encode(" the"), with.encode("the"));
  EXPECT_NE(without.encode("the"), with.encode("the"));
  EXPECT_EQ(without.decode(without.encode(" the")), " the");
  EXPECT_EQ(with.decode(with.encode("the")), "the");
}

TEST(TokenList, ControlTokensAreNeverMadeOfUntrustedText) {
  Pieces pieces;
  read_pieces(pieces);
  const Tokenizer tokenizer = make_tokenizer(pieces.list, "list");
  for (const TokenId id : tokenizer.encode("<s> </s>")) EXPECT_GT(id, 2);
  const auto trusted = tokenizer.encode("<s>a</s>", {.special_in_text = true});
  EXPECT_EQ(trusted.front(), 1);
  EXPECT_EQ(trusted.back(), 2);
  EXPECT_TRUE(tokenizer.is_special(1));
  EXPECT_EQ(tokenizer.encode("a", {.add_special_tokens = true}).front(), 1);
}

TokenList small_list() {
  TokenList list;
  list.split = "gpt-2";
  list.tokens = {
      {"a"}, {"b"}, {"ab"}, {"<end>", TokenKind::Control}, {"word", TokenKind::UserDefined}};
  list.merges = {"a b"};
  list.eos = 3;
  return list;
}

TEST(TokenList, KindsOfTokens) {
  TokenList list = small_list();
  list.tokens.push_back({"[PAD5]", TokenKind::Unused});
  list.tokens.push_back({"other", TokenKind::Unused});
  list.add_eos = true;
  const Tokenizer tokenizer = make_tokenizer(list, "list");
  EXPECT_EQ(tokenizer.encode("aba"), (std::vector<TokenId>{2, 0}));
  EXPECT_EQ(tokenizer.encode("awordb<end>", {.special_in_text = true}),
            (std::vector<TokenId>{0, 4, 1, 3}));
  EXPECT_EQ(tokenizer.encode("a", {.add_special_tokens = true}), (std::vector<TokenId>{0, 3}));
  EXPECT_EQ(tokenizer.size(), 6u);  // without the padding
  EXPECT_EQ(tokenizer.id_limit(), 7);
  EXPECT_EQ(tokenizer.token_text(5), std::nullopt);
  EXPECT_EQ(tokenizer.named().eos, "<end>");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{2, 3}, {.skip_special = true}), "ab");
}

// Converters make <unk> a control token where tokenizer_config.json lists it as special.
TEST(TokenList, TheUnknownTokenMayBeAControlToken) {
  TokenList list;
  list.model = TokenList::Model::SentencePiece;
  list.tokens = {{"<unk>", TokenKind::Unknown}, {"\u2581"}, {"a"}, {"b"}, {"ab"}};
  list.unk = 0;
  list.space_prefix = false;
  const Tokenizer plain = make_tokenizer(list, "list");
  list.tokens[0].kind = TokenKind::Control;
  const Tokenizer tokenizer = make_tokenizer(list, "list");
  for (const char* text : {"ab", "axxb", "x", "a b"})
    EXPECT_EQ(tokenizer.encode(text), plain.encode(text)) << text;
  EXPECT_EQ(tokenizer.encode("axb"), (std::vector<TokenId>{2, 0, 3}));
  EXPECT_TRUE(tokenizer.is_special(0));
  EXPECT_EQ(tokenizer.size(), 5u);
}

TEST(TokenList, AnEmptyTextIsNoToken) {
  for (const auto kind : {TokenKind::Normal, TokenKind::Control, TokenKind::UserDefined})
    for (const auto model : {TokenList::Model::ByteLevel, TokenList::Model::SentencePiece}) {
      TokenList list = small_list();
      list.model = model;
      list.space_prefix = false;
      list.tokens.push_back({"", kind});
      list.pad = 5;
      const Tokenizer tokenizer = make_tokenizer(list, "list");
      EXPECT_EQ(tokenizer.encode("aba"), (std::vector<TokenId>{2, 0}));
      EXPECT_EQ(tokenizer.token_text(5), std::nullopt);
      EXPECT_EQ(tokenizer.named().pad, std::nullopt);
    }
}

TEST(TokenList, WhiteSpaceAfterATokenIsItsOwnIfTheListSaysSo) {
  TokenList list = small_list();
  list.tokens.push_back({"<user>", TokenKind::Control});
  list.strip_right = true;
  const Tokenizer tokenizer = make_tokenizer(list, "list");
  EXPECT_EQ(tokenizer.encode("<user> \n a", {.special_in_text = true}),
            (std::vector<TokenId>{5, 0}));
  EXPECT_EQ(tokenizer.encode("<end> \na", {.special_in_text = true}), (std::vector<TokenId>{3, 0}));
  list.tokens[3].text = "<|endoftext|>";
  list.tokens.push_back({"\u0120"});  // a space
  EXPECT_EQ(make_tokenizer(list, "list").encode("<|endoftext|> a", {.special_in_text = true}),
            (std::vector<TokenId>{3, 6, 0}));
}

TEST(TokenList, EveryNamedSplitIsAPattern) {
  const std::string names = known_splits();
  int count = 0;
  for (std::size_t at = 0; at < names.size(); ++count) {
    const std::size_t comma = std::min(names.find(", ", at), names.size());
    PreTokenizer steps;
    EXPECT_TRUE(add_named_split(names.substr(at, comma - at), steps).has_value());
    EXPECT_TRUE(steps.ends_in_bytes());
    at = comma + 2;
  }
  EXPECT_GE(count, 20);
  PreTokenizer steps;
  EXPECT_FALSE(add_named_split("default", steps).has_value());
}

// What a name says beside its pattern, as in llama.cpp's table.
TEST(TokenList, FactsOfNamedSplits) {
  struct Row {
    const char* name;
    bool ignore_merges, add_bos;
  };
  for (const Row& row :
       {Row{"falcon3", true, true}, Row{"pixtral", true, true}, Row{"lfm2", true, true},
        Row{"tekken", true, true}, Row{"minicpm5", true, false}, Row{"a.x-4.0", false, false},
        Row{"megrez", false, false}, Row{"minerva-7b", false, false},
        Row{"seed-coder", false, false}, Row{"viking", false, false}}) {
    PreTokenizer steps;
    const auto facts = add_named_split(row.name, steps);
    ASSERT_TRUE(facts.has_value()) << row.name;
    EXPECT_EQ(facts->ignore_merges, row.ignore_merges) << row.name;
    EXPECT_EQ(facts->add_bos, row.add_bos) << row.name;
  }
}

// A merge that goes over the end of a piece is not made.
TEST(TokenList, NamedSplitsEndPieces) {
  TokenList list;
  list.tokens = {{"1"}, {"a"}, {"."}, {"\u010a"}, {"11"}, {".\u010a"}, {"a."}};
  list.merges = {"1 1", ". \u010a", "a ."};
  const auto ids = [&](const char* split, const char* text) {
    list.split = split;
    return make_tokenizer(list, "list").encode(text);
  };
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(ids("mellum", "a11"), (Ids{1, 4}));
  EXPECT_EQ(ids("minerva-7b", "a11"), (Ids{1, 0, 0}));
  EXPECT_EQ(ids("minicpm5", "1111"), (Ids{4, 0, 0}));
  EXPECT_EQ(ids("falcon3", "1111"), (Ids{4, 0, 0}));
  EXPECT_EQ(ids("megrez", "a.\n11"), (Ids{1, 5, 0, 0}));
  EXPECT_EQ(ids("seed-coder", "a.\n11"), (Ids{1, 2, 3, 0, 0}));
  EXPECT_EQ(ids("viking", "a.\n11"), (Ids{1, 5, 0, 0}));
}

TEST(BadTokenList, Messages) {
  const auto expect = [](const std::string& message, auto change) {
    TokenList list = small_list();
    change(list);
    expect_message(message, "x.gguf: " + message, [&] { make_tokenizer(list, "x.gguf"); });
  };
  expect("the tokenizer has no tokens", [](TokenList& l) { l.tokens.clear(); });
  expect("the tokenizer has 524289 tokens, more than the limit of 524288",
         [](TokenList& l) { l.tokens.assign((1 << 19) + 1, {"a"}); });
  expect("token 1 of the tokenizer is not UTF-8", [](TokenList& l) { l.tokens[1].text = "\xff"; });
  expect("tokens 0 and 1 of the tokenizer are both \"a\"; ids must differ in text",
         [](TokenList& l) { l.tokens[1].text = "a"; });
  expect("token 4 of the tokenizer, \"<end>\", has the text of an earlier control token",
         [](TokenList& l) { l.tokens[4] = l.tokens[3]; });
  expect("merge 0 of the tokenizer, \"ab\", is not two tokens with a space between",
         [](TokenList& l) { l.merges = {"ab"}; });
  expect("merge 0 of the tokenizer, \"a b c\", is not two tokens with a space between",
         [](TokenList& l) { l.merges = {"a b c"}; });
  expect("merge 0 of the tokenizer, \"\", is not two tokens with a space between",
         [](TokenList& l) { l.merges = {""}; });
  expect("merge 1 of the tokenizer names \"x\", which is not one of its tokens", [](TokenList& l) {
    l.merges = {"a b", "x b"};
  });
  expect("merge 0 of the tokenizer, \"b a\", makes a text that is not one of its tokens",
         [](TokenList& l) { l.merges = {"b a"}; });
  expect("eos_token_id 5 is not one of the 5 tokens of the tokenizer",
         [](TokenList& l) { l.eos = 5; });
  expect("bos_token_id -1 is not one of the 5 tokens of the tokenizer",
         [](TokenList& l) { l.bos = -1; });
  expect("splits text by the rule \"default\", which is not supported (supported: " +
             known_splits() + ")",
         [](TokenList& l) { l.split = "default"; });
  const auto pieces = [](TokenList& l) { l.model = TokenList::Model::SentencePiece; };
  for (const char* text : {"<0xZZ>", "<0x-1>", "<0x+1>", "<0x1>", "<0x001>", "x"})
    expect(
        fmt::format("token 2 of the tokenizer, \"{}\", stands for a byte but is not <0xNN>", text),
        [&](TokenList& l) {
          pieces(l);
          l.tokens[2] = {text, TokenKind::Byte};
        });
  expect("the score of token 2 of the tokenizer is not a number", [&](TokenList& l) {
    pieces(l);
    l.tokens[2].score = NAN;
  });
  const std::string wide(513, 'w');
  expect("token 0 of the tokenizer has 513 bytes, more than the limit of 512", [&](TokenList& l) {
    pieces(l);
    l.tokens[0].text = wide;
  });
  std::vector<std::string> texts;
  for (const char letter : std::string("abcdefgh"))
    for (std::size_t length = 1; length <= 512; ++length) texts.emplace_back(length, letter);
  expect("the tokens of the tokenizer can be cut into two tokens in more than 81920 ways",
         [&](TokenList& l) {
           pieces(l);
           l.eos.reset();
           l.tokens.clear();
           for (const std::string& text : texts) l.tokens.push_back({text});
         });
}

}  // namespace
}  // namespace counterbeam
