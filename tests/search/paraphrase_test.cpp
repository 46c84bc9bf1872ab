// What a model writes as a paraphrase is read strictly; everything else is dropped with its cause.
#include "search/paraphrase.h"

#include <gtest/gtest.h>

#include "search/context_book.h"
#include "search/loaded_model.h"

namespace counterbeam {
namespace {

const std::vector<ContextPair> kKnown = {{"reasoning", "Good  reasoning:", "Bad reasoning:"}};

constexpr const char* kForm = "it is not a line \"Positive: ...\" and a line \"Negative: ...\"";

TEST(Paraphrase, ReadsTwoLabelledLines) {
  for (const std::string output :
       {"Positive: A fine answer:\nNegative: A poor answer:",
        "\n\n  Positive:   A fine answer:  \r\n\n Negative:\tA poor answer:\r\n\n",
        "<think>Positive: no\nhm</think>\nPositive: A fine answer:\nNegative: A poor answer:"}) {
    const ParsedParaphrase parsed = parse_paraphrase(output, kKnown);
    ASSERT_TRUE(parsed.pair) << output << ": " << parsed.cause;
    EXPECT_EQ(parsed.pair->positive, "A fine answer:");
    EXPECT_EQ(parsed.pair->negative, "A poor answer:");
  }
  // Half of a known pair with another half is a new pair; other scripts are as good as ours.
  EXPECT_TRUE(parse_paraphrase("Positive: Good reasoning:\nNegative: Nonsense:", kKnown).pair);
  EXPECT_TRUE(parse_paraphrase("Positive: 良い推論\nNegative: 悪い推論", kKnown).pair);
}

TEST(Paraphrase, DropsEverythingElseWithItsCause) {
  const std::string longest(kLongestParaphrase, 'a');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", kForm},
      {"   \n\n", kForm},
      {"Positive: a", kForm},
      {"Negative: b\nPositive: a", kForm},
      {"Sure! Here they are:\nPositive: a\nNegative: b", kForm},
      {"Positive: a\nNegative: b\nI hope this helps.", kForm},
      {"Positive: a\nNegative: b\nPositive: c\nNegative: d", kForm},
      {"positive: a\nnegative: b", kForm},
      {"**Positive:** a\n**Negative:** b", kForm},
      {"{\"Positive\": \"a\", \"Negative\": \"b\"}", kForm},
      {"Positive: a Negative: b", kForm},
      {"<think>Positive: a\nNegative: b", kForm},
      {"<think></think><think></think>Positive: a\nNegative: b", kForm},
      {"Positive:\nNegative: b", "a text is empty"},
      {"Positive: a\nNegative:   ", "a text is empty"},
      {"Positive: same  Text\nNegative: Same text", "both texts are the same"},
      {"Positive: " + longest + "a\nNegative: b", "a text is longer than 300 bytes"},
      {"Positive: a\x1b[31m\nNegative: b", "a text holds control characters"},
      {"Positive: a\tb\nNegative: b", "a text holds control characters"},
      {"Positive: a\xff\nNegative: b", "a text holds characters that cannot be decoded"},
      {"Positive: a\xef\xbf\xbd\nNegative: b", "a text holds characters that cannot be decoded"},
      {std::string("Positive: a\0b\nNegative: c", 25), "a text holds control characters"},
      {"Positive: good reasoning:\nNegative: BAD reasoning:",
       "it repeats a pair that is there already"}};
  for (const auto& [output, cause] : cases) {
    const ParsedParaphrase parsed = parse_paraphrase(output, kKnown);
    EXPECT_FALSE(parsed.pair) << output;
    EXPECT_EQ(parsed.cause, cause) << output;
  }
  EXPECT_TRUE(parse_paraphrase("Positive: " + longest + "\nNegative: b", kKnown).pair);
}

// The request shows the form that is read: a model that repeats it writes a known pair.
TEST(Paraphrase, TheRequestHoldsBothTexts) {
  const std::string request = paraphrase_request(kKnown[0]);
  EXPECT_NE(request.find("Positive: Good  reasoning:\nNegative: Bad reasoning:\n"),
            std::string::npos);
}

TEST(Paraphrase, AToyModelWritesNothingUsableAndSaysSo) {
  LoadOptions load;
  load.device = "cpu";
  const LoadedModel model =
      LoadedModel::load(std::string(COUNTERBEAM_SOURCE_DIR) + "/models/tiny-dense", load);
  ParaphraseOptions options;
  options.wanted = 2;
  options.most_requests = 4;
  const Paraphrases first =
      write_paraphrases(model, named_contexts().first(2), named_contexts(), options);
  EXPECT_EQ(first.pairs.size() + first.dropped.size(), static_cast<std::size_t>(first.requests));
  EXPECT_LE(first.requests, 4);
  for (const DroppedParaphrase& dropped : first.dropped) EXPECT_NE(dropped.cause, "");
  options.concurrency = 4;
  const Paraphrases again =
      write_paraphrases(model, named_contexts().first(2), named_contexts(), options);
  ASSERT_EQ(again.dropped.size(), first.dropped.size());
  for (std::size_t i = 0; i < first.dropped.size(); ++i)
    EXPECT_EQ(again.dropped[i].output, first.dropped[i].output);
}

}  // namespace
}  // namespace counterbeam
