// The pieces of a search through the public interface: sequences, prompts, logits, tables, pages.
#include <counterbeam/counterbeam.h>
#include <counterbeam/methods.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/json.h"

namespace counterbeam {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* kSum = "Compute 12 + 3 * 7.";

const LanguageModel& pieces_model() {
  static const LanguageModel kModel = LanguageModel::load(
      std::string(COUNTERBEAM_SOURCE_DIR) + "/models/tiny-dense", {.device = "cpu"});
  return kModel;
}

TEST(PublicPieces, ReadGivesWhatExtendDrew) {
  const std::vector<std::int32_t> prompt = pieces_model().prompts(kSum).base;
  OpenedPrompts opened = pieces_model().open({prompt, prompt});
  ASSERT_EQ(opened.sequences.size(), 2u);
  EXPECT_GT(opened.computed_tokens + opened.cached_tokens, 0);
  std::vector<ContinueRequest> ask(1);
  ask[0].sequence = &opened.sequences[0];
  ask[0].max_tokens = 8;
  ask[0].draw.seed = 5;
  ask[0].top = 2;
  const Continuation drawn = pieces_model().extend(ask)[0];
  ASSERT_EQ(drawn.tokens.size(), 8u);
  ASSERT_EQ(drawn.top.size(), 8u);
  const std::vector<ReadRequest> again = {{&opened.sequences[1], drawn.tokens, 2}};
  const TokensRead read = pieces_model().read(again)[0];
  EXPECT_THAT(read.logprobs, ElementsAreArray(drawn.logprobs));
  EXPECT_EQ(read.top, drawn.top);
  EXPECT_EQ(opened.sequences[0].length(), static_cast<std::int64_t>(prompt.size()) + 8);
  EXPECT_EQ(opened.sequences[0].fork().length(), opened.sequences[1].length());
}

TEST(PublicPieces, EmptySequencesAndBadKeysAreRefused) {
  LiveSequence empty;
  std::vector<ContinueRequest> requests(1);
  EXPECT_THAT([&] { pieces_model().extend(requests); },
              ThrowsMessage<BadInput>(HasSubstr("request 0: the sequence is empty")));
  requests[0].sequence = &empty;
  EXPECT_THROW(pieces_model().extend(requests), BadInput);
  OpenedPrompts opened = pieces_model().open({{1, 2, 3}});
  requests[0].sequence = &opened.sequences[0];
  requests[0].max_tokens = 1;
  requests[0].draw.beam = 1u << 24;
  EXPECT_THAT([&] { pieces_model().extend(requests); },
              ThrowsMessage<BadInput>(HasSubstr("beam 16777216 is out of range")));
}

TEST(PublicPieces, PromptsAreThoseOfTheSearch) {
  const AskOptions options{.method = "cbs:beams=2:prune=1:block=4:max-tokens=4", .trace = true};
  const PromptIds prompts = pieces_model().prompts(kSum, options);
  const Json trace = parse_json(pieces_model().ask(kSum, options).trace, "trace");
  EXPECT_EQ(trace["prompts"]["base"].get<std::vector<std::int32_t>>(), prompts.base);
  EXPECT_EQ(trace["prompts"]["positive"].get<std::vector<std::int32_t>>(), prompts.positive);
  EXPECT_EQ(trace["prompts"]["negative"].get<std::vector<std::int32_t>>(), prompts.negative);
  EXPECT_TRUE(pieces_model().prompts(kSum, {.method = "beam"}).positive.empty());
}

TEST(PublicPieces, IdsAreContinuedAsTheTextIs) {
  const AskOptions options{.method = "greedy:max-tokens=12"};
  const std::vector<std::int32_t> ids = pieces_model().prompts(kSum, {.method = "beam"}).base;
  const Answer answer = pieces_model().ask_ids(ids, options);
  EXPECT_EQ(answer.tokens, pieces_model().ask(kSum, options).tokens);
  const std::vector<Answer> all = pieces_model().ask_all_ids({ids, {}}, options);
  EXPECT_EQ(all[0].tokens, answer.tokens);
  EXPECT_THAT(all[1].error, HasSubstr("no ids"));
}

TEST(PublicPieces, SettingsMayStandBesideTheMethod) {
  AskOptions beside{.method = "cbs:beams=2"};
  beside.settings = {{"prune", "1"}, {"max-tokens", "6"}};
  const Answer answer = pieces_model().ask(kSum, beside);
  EXPECT_EQ(answer.tokens,
            pieces_model().ask(kSum, {.method = "cbs:beams=2:prune=1:max-tokens=6"}).tokens);
  EXPECT_EQ(parse_json(answer.settings, "settings")["max-tokens"], 6);
  std::size_t bytes = 0;
  for (const std::size_t one : answer.token_bytes) bytes += one;
  EXPECT_EQ(bytes, answer.text.size());
  beside.settings = {{"beams", "3"}};
  EXPECT_THROW(pieces_model().ask(kSum, beside), BadInput);  // given twice
  beside.settings = {{"bemas", "3"}};
  EXPECT_THROW(pieces_model().ask(kSum, beside), BadInput);
}

TEST(PublicPieces, LogitsComeInOrder) {
  const std::vector<std::int32_t> ids = pieces_model().encode(kSum);
  std::size_t next = 0;
  pieces_model().logits(ids, [&](std::size_t position, std::span<const float> row) {
    EXPECT_EQ(position, next++);
    EXPECT_EQ(row.size(), static_cast<std::size_t>(pieces_model().info().vocabulary));
    EXPECT_TRUE(std::isfinite(row[0]));
  });
  EXPECT_EQ(next, ids.size());
  EXPECT_THROW(pieces_model().logits({}, [](std::size_t, std::span<const float>) {}), BadInput);
}

TEST(PublicPieces, TheTableHasEveryMethodWithItsDefaults) {
  const std::vector<MethodInfo> table = method_table();
  ASSERT_EQ(table.front().name, "cbs");
  std::set<std::string> types;
  for (const MethodInfo& method : table)
    for (const SettingInfo& setting : method.settings) types.insert(setting.type);
  EXPECT_EQ(types, (std::set<std::string>{"bool", "float", "int", "str"}));
  EXPECT_FALSE(known_context_pairs().empty());
}

TEST(PublicPieces, RenderAndTokenTexts) {
  const std::string text = pieces_model().render(R"([{"role": "user", "content": "Hello"}])",
                                                 R"({"add_generation_prompt": true})");
  EXPECT_THAT(text, HasSubstr("Hello"));
  EXPECT_THROW(pieces_model().render("{}"), BadInput);
  EXPECT_THROW(pieces_model().render("[", "{}"), BadInput);
  EXPECT_THROW(pieces_model().render("[]", "[]"), BadInput);
  EXPECT_THROW(pieces_model().token_text(-1), BadInput);
  EXPECT_THROW(pieces_model().decode({1 << 30}), BadInput);
}

TEST(PublicPieces, ATraceBecomesAPage) {
  const Answer answer = pieces_model().ask(
      kSum, {.method = "cbs:beams=2:prune=1:block=4:max-tokens=4", .trace = true});
  const std::string page = trace_page(answer.trace, "a </script> question", {{1, "one"}});
  EXPECT_THAT(page, HasSubstr("a \\u003c/script> question"));
  EXPECT_THROW(trace_page("{}", "", {}), BadInput);
  EXPECT_THROW(trace_page("[1", "", {}), BadInput);
  EXPECT_THROW(trace_page(R"({"blocks": [{"candidates": [{"tokens": ["x"]}]}]})", "", {}),
               BadInput);
}

}  // namespace
}  // namespace counterbeam
