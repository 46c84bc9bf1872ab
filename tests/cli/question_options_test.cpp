// The options that ask, score, eval and reproduce share: system messages, raw questions, template
// arguments, stops, and settings for all methods at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::CommandResult;
using ::testing::HasSubstr;
using testing::run_command;
using testing::run_counterbeam;
using testing::TemporaryFolder;

const std::string kAsk = "ask 'Compute 12 + 3 * 7.' --json --device cpu ";
const std::string kSample = "--method sample ";

Json asked(const std::string& options) {
  const CommandResult result = run_counterbeam(kAsk + options);
  EXPECT_EQ(result.code, 0) << result.err;
  return parse_json(result.out, "out");
}

int prompt_tokens(const Json& row) {
  return row["prompt_tokens"].get<int>() + row["cached_tokens"].get<int>();
}

// The samples of an evaluation of two problems.
std::vector<Json> samples(const std::string& options) {
  const TemporaryFolder folder;
  const CommandResult result =
      run_counterbeam("eval --device cpu --deterministic --task tiny-math --limit 2 " + options +
                      " --out '" + folder.path().string() + "/run'");
  EXPECT_EQ(result.code, 0) << result.err;
  std::vector<Json> rows;
  std::istringstream lines(read_file(folder.path() / "run/samples.jsonl"));
  for (std::string line; std::getline(lines, line);) rows.push_back(parse_json(line, "row"));
  EXPECT_FALSE(rows.empty());
  return rows;
}

// A copy of the shipped model with another chat template.
struct OtherTemplate {
  explicit OtherTemplate(const std::string& source) {
    for (const auto& entry : fs::directory_iterator(COUNTERBEAM_SOURCE_DIR "/models/tiny-dense"))
      if (entry.path().filename() != "chat_template.jinja")
        fs::create_symlink(entry.path(), folder.path() / entry.path().filename());
    folder.write("chat_template.jinja", source);
  }
  std::string option() const { return " --model '" + folder.path().string() + "' "; }
  TemporaryFolder folder;
};

constexpr const char* kNoSystem =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}"
    "{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

constexpr const char* kPlain =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

TEST(QuestionOptions, ATemplateWithoutSystemMessagesNamesTheRemedies) {
  const OtherTemplate model(kNoSystem);
  for (const std::string command : {"ask Why? --system 'Be brief.' --method sample:max-tokens=4",
                                    "score --question Why? --answer So. --system 'Be brief.'"}) {
    const CommandResult refused = run_counterbeam(command + model.option());
    EXPECT_EQ(refused.code, 2) << command;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("refuses a system message"),
                                   HasSubstr("--system-as-user"), HasSubstr("--system ''")));
    EXPECT_EQ(run_counterbeam(command + model.option() + "--system-as-user").code, 0) << command;
  }
  EXPECT_EQ(
      run_counterbeam("ask Why? --system '' --method sample:max-tokens=4" + model.option()).code,
      0);
  const std::string short_run = "--methods sample:max-tokens=4" + model.option();
  const int without = prompt_tokens(samples(short_run + "--system ''")[0]);
  EXPECT_GT(prompt_tokens(samples(short_run + "--system-as-user")[0]), without + 10);
}

TEST(QuestionOptions, ALineMayTakeTheSystemMessageAway) {
  const TemporaryFolder folder;
  const std::string lines = folder.path() / "lines";
  write_file(lines,
             "{\"question\": \"Why?\"}\n"
             "{\"question\": \"Why?\", \"system\": \"\"}\n");
  const CommandResult result =
      run_command("'" COUNTERBEAM_BINARY
                  "' ask --jsonl --device cpu --system 'Be brief and kind.' "
                  "--method sample:max-tokens=2 < " +
                  lines);
  ASSERT_EQ(result.code, 0) << result.err;
  std::istringstream rows(result.out);
  std::string with, without;
  std::getline(rows, with);
  std::getline(rows, without);
  // The template of the shipped model writes a longer message of its own where there is none.
  EXPECT_LT(prompt_tokens(parse_json(with, "row")), prompt_tokens(parse_json(without, "row")));
}

TEST(QuestionOptions, EvalTakesRawQuestionsAndNoSystemMessage) {
  const OtherTemplate model(kPlain);
  const std::string method = "--methods sample:max-tokens=4 " + model.option();
  const int usual = prompt_tokens(samples(method)[0]);
  const int bare = prompt_tokens(samples(method + "--system ''")[0]);
  const int raw = prompt_tokens(samples(method + "--raw --system ''")[0]);
  const int raw_with_system = prompt_tokens(samples(method + "--raw --system-as-user")[0]);
  EXPECT_LT(bare, usual);
  EXPECT_LT(raw, bare);
  EXPECT_GT(raw_with_system, raw);
  EXPECT_LT(raw_with_system, usual);
  EXPECT_THAT(run_counterbeam("ask Why? --raw --system 'Be brief.'").err,
              AllOf(HasSubstr("--raw"), HasSubstr("--system-as-user"), HasSubstr("--system ''")));
}

TEST(QuestionOptions, EvalPassesArgumentsToTheTemplate) {
  const OtherTemplate model(
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
      "<|im_start|>assistant\n{% if thorough %}Let us think about this very carefully.{% endif %}");
  const std::string method = "--methods sample:max-tokens=4 " + model.option();
  EXPECT_GT(prompt_tokens(samples(method + "--template-args '{\"thorough\": true}'")[0]),
            prompt_tokens(samples(method)[0]));
  for (const char* bad : {"[1]", "{"}) {
    const CommandResult result = run_counterbeam(kAsk + "--template-args '" + bad + "'");
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("--template-args"));
  }
}

// A base checkpoint: its files name <|endoftext|>, its template ends turns with <|im_end|>.
TEST(QuestionOptions, AnswersEndWithTheTurnUnlessToldOtherwise) {
  const OtherTemplate model(kPlain);
  const auto replace = [&](const std::string& file, const std::string& content) {
    fs::remove(model.folder.path() / file);
    model.folder.write(file, content);
  };
  Json config = parse_json(read_file(model.folder.path() / "config.json"), "config");
  config["eos_token_id"] = 1021;
  replace("config.json", config.dump());
  replace("generation_config.json", R"({"eos_token_id": 1021})");
  replace("tokenizer_config.json", R"({"eos_token": "<|endoftext|>"})");

  const std::string method = "--method greedy:max-tokens=200 --system 'Be brief.'" + model.option();
  const Json turn = asked(method);
  EXPECT_EQ(turn["finished"], true);
  EXPECT_EQ(turn["tokens"].back(), 1023);
  const Json on = asked(method + "--stop-at eos");
  EXPECT_GT(on["tokens"].size(), turn["tokens"].size());
  EXPECT_EQ(on["tokens"][turn["tokens"].size() - 1], 1023);

  const std::string score = "score --json --question Why? --answer So. --end" + model.option();
  const auto ends_with = [&](const std::string& options) {
    return parse_json(run_counterbeam(score + options).out, "out")["tokens"].back()["id"];
  };
  EXPECT_EQ(ends_with(""), 1023);
  EXPECT_EQ(ends_with("--stop-at eos"), 1021);
}

// Answers of the shipped model open with <think> and end with </answer>.
TEST(QuestionOptions, AnswersEndBeforeAStopText) {
  const Json whole = asked(kSample);
  const std::string text = whole["answer"];
  const std::size_t thought = text.find("</think>");
  ASSERT_NE(thought, std::string::npos) << text;
  const Json stopped = asked(kSample + "--stop nowhere --stop '</think>'");
  EXPECT_EQ(stopped["answer"], text.substr(0, thought));
  EXPECT_EQ(stopped["finished"], true);
  EXPECT_LT(stopped["tokens"].size(), whole["tokens"].size());
  const Json last = whole["tokens"][5];
  const Json by_id = asked(kSample + "--stop-id " + std::to_string(last.get<int>()));
  EXPECT_LE(by_id["tokens"].size(), 6u);
  EXPECT_EQ(by_id["tokens"].back(), last);
  EXPECT_EQ(by_id["finished"], true);

  const CommandResult empty = run_counterbeam(kAsk + "--stop ''");
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("--stop: an empty text"));
  const CommandResult unknown = run_counterbeam(kAsk + "--stop-id 99999");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--stop-id: 99999 is not a token of"));
}

TEST(QuestionOptions, TextAfterAStopIsNotGraded) {
  const std::string methods = "--methods sample,self-consistency:beams=3,best-of-n:beams=3 ";
  int graded = 0;
  for (const Json& row : samples(methods)) graded += row["extracted"] != "";
  EXPECT_GT(graded, 0);
  for (const Json& row : samples(methods + "--stop 'boxed'")) {
    EXPECT_EQ(row["answer"].get<std::string>().find("boxed"), std::string::npos);
    EXPECT_EQ(row["correct"], false);
    EXPECT_EQ(row["truncated"], false);
  }
}

TEST(QuestionOptions, SharedSettingsReachMethodsThatDoNotGiveThem) {
  for (const Json& row : samples("--methods sample,sample:max-tokens=5,greedy --max-tokens 3")) {
    const bool own = row["method"] == "sample:max-tokens=5";
    EXPECT_EQ(row["answer_tokens"], own ? 5 : 3) << row["method"];
  }
  // At temperature 0 a sample is the greedy answer.
  for (const char* problem : {"0", "1"}) {
    std::map<std::string, std::string> answers;
    for (const Json& row :
         samples("--methods sample,greedy,sample:temperature=3 --temperature 0 --max-tokens 40"))
      if (row["question"] == std::stoi(problem)) answers[row["method"]] = row["answer"];
    EXPECT_EQ(answers["sample"], answers["greedy"]);
    EXPECT_NE(answers["sample:temperature=3"], answers["greedy"]);
  }
  const std::string eval = "eval --task tiny-math --limit 1 --out /nowhere --methods ";
  const CommandResult unused = run_counterbeam(eval + "greedy --temperature 0.5");
  EXPECT_EQ(unused.code, 2);
  EXPECT_THAT(unused.err, HasSubstr("--temperature: none of the methods has this setting"));
  EXPECT_THAT(run_counterbeam(eval + "sample --max-tokens 0").err,
              HasSubstr("--max-tokens: 0 is out of range"));
}

}  // namespace
}  // namespace counterbeam
