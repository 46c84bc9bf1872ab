// The samples file: any string round-trips, and a partial last line does not affect the lines
// before it.
#include "eval/samples.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::TemporaryFolder;

Sample sample_of(int question, const std::string& answer) {
  Sample sample;
  sample.task = "math500";
  sample.id = "test/" + std::to_string(question);
  sample.question = question;
  sample.method = "cbs:steer=0.7";
  sample.answer = answer;
  sample.extracted = "\\frac{1}{2}";
  sample.correct = true;
  sample.score = -0.1234567890123456789;
  sample.generated_tokens = 512;
  sample.seconds = 1.0 / 3;
  return sample;
}

TEST(Samples, EveryFieldAndUnusualStringsRoundTrip) {
  Sample sample =
      sample_of(3, std::string("line\nend \"quoted\" \\ \t\x01 </script> é 漢 \U0001F600 ") +
                       std::string(1, '\0') + " \u2028");
  sample.sample = 7;
  sample.correct_strict = true;
  sample.error = "too long";
  sample.state = "timeout";
  sample.truncated = true;
  sample.answer_tokens = 9;
  sample.scored_tokens = 1ll << 40;
  sample.prompt_tokens = 11;
  sample.cached_tokens = 12;
  sample.trace = "traces/x.html";
  sample.permutation = {2, 0, 3, 1};
  sample.token_bytes = {4, 0, static_cast<int>(sample.answer.size()) - 4};
  sample.token_rewards = {-12, 0, 345};
  const std::string line = to_line(sample);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Sample back = parse_sample(line, "here");
  EXPECT_EQ(to_line(back), line);
  EXPECT_EQ(back.answer, sample.answer);
  EXPECT_EQ(back.score, sample.score);
  EXPECT_EQ(back.seconds, sample.seconds);
  EXPECT_EQ(back.permutation, sample.permutation);
  EXPECT_EQ(back.token_bytes, sample.token_bytes);
  EXPECT_EQ(back.token_rewards, sample.token_rewards);
  EXPECT_EQ(back.error, "too long");
  EXPECT_EQ(back.state, "timeout");
  EXPECT_EQ(back.scored_tokens, 1ll << 40);
}

TEST(Samples, RewardsThatDoNotCoverTheAnswerAreRefused) {
  const auto refusal = [](const char* rest) -> std::string {
    const std::string line =
        std::string(R"({"task": "t", "id": "1", "method": "cbs", "answer": )") +
        R"("abc", "correct": true, )" + rest + "}";
    try {
      parse_sample(line, "FILE: line 3");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(R"("token_bytes": [1, 2], "token_rewards": [5, -5])"), "");
  EXPECT_EQ(refusal(R"("sample": 0)"), "");
  for (const char* rest :
       {R"("token_bytes": [1, 2])", R"("token_rewards": [1])",
        R"("token_bytes": [1, 2], "token_rewards": [5])",
        R"("token_bytes": [1, 1], "token_rewards": [5, 5])",
        R"("token_bytes": [4, -1], "token_rewards": [5, 5])",
        R"("token_bytes": [1, 2], "token_rewards": [0.5, 5])",
        R"("token_bytes": [1, 2], "token_rewards": [5, 4294967301])",
        R"("token_bytes": [4294967297, 2], "token_rewards": [5, 5])",
        R"("permutation": [-4294967296])", R"("token_bytes": 3, "token_rewards": [5])"})
    EXPECT_EQ(refusal(rest).find("FILE: line 3"), 0u) << rest << ": " << refusal(rest);
}

TEST(Samples, InvalidUtf8BecomesAReplacementOnceAndStays) {
  const std::string line = to_line(sample_of(0, "a\xff\xfe z"));
  EXPECT_EQ(to_line(parse_sample(line, "here")), line);
}

TEST(Samples, ALastLineCutAtAnyByteIsDroppedAndWrittenAgain) {
  const TemporaryFolder folder;
  const std::string first = to_line(sample_of(0, "one\n\"two\"")) + "\n";
  const std::string second = to_line(sample_of(1, "é 漢 \\boxed{3}")) + "\n";
  const std::filesystem::path path = folder.path() / "samples.jsonl";
  for (std::size_t kept = 0; kept <= second.size(); ++kept) {
    write_file(path, first + second.substr(0, kept));
    {
      SampleFile file(path);
      const std::size_t whole = read_samples(path).size();
      EXPECT_EQ(whole, kept == second.size() ? 2u : 1u);
      if (whole == 1) file.append(sample_of(1, "é 漢 \\boxed{3}"));
    }
    EXPECT_EQ(read_file(path), first + second) << "cut at byte " << kept;
  }
  write_file(path, first.substr(0, 10));  // the first line is cut
  SampleFile{path}.append(sample_of(0, "one\n\"two\""));
  EXPECT_EQ(read_file(path), first);
}

TEST(Samples, ManyThreadsAppendWholeLines) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "samples.jsonl";
  {
    SampleFile file(path);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i)
          file.append(sample_of(100 * t + i, std::string(static_cast<std::size_t>(40 * i), 'x')));
      });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(read_samples(path).size(), 400u);
}

// Simulates a full disk by a limit on the file size.
TEST(Samples, AFailedWriteLeavesNoPartOfItsLine) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "samples.jsonl";
  const std::string first = to_line(sample_of(0, "one")) + "\n";
  rlimit former{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &former), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  SampleFile file(path);
  file.append(sample_of(0, "one"));
  rlimit small = former;
  small.rlim_cur = first.size() + 30;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(file.append(sample_of(1, "two")), Error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &former), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path), first);
  file.append(sample_of(2, "three"));
  EXPECT_EQ(read_samples(path).size(), 2u);
}

TEST(Samples, ADamagedLineIsNamed) {
  const TemporaryFolder folder;
  const std::string good = to_line(sample_of(0, "one")) + "\n";
  for (const std::string& bad : {std::string("{\"task\": \"t\"}\n"), std::string("[]\n"),
                                 std::string("\n"), good.substr(0, good.size() / 2) + "\n"}) {
    try {
      read_samples(folder.write("samples.jsonl", good + bad + good));
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
    }
  }
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Samples, AHugeFileWithoutLineEndsIsRefusedWithoutReadingIt) {
  const TemporaryFolder folder;
  const std::string good = to_line(sample_of(0, "one")) + "\n";
  for (const std::string& start : {std::string(), good}) {
    const std::filesystem::path path = folder.write("samples.jsonl", start);
    std::filesystem::resize_file(path, std::uintmax_t{6} << 30);  // sparse
    const long before = peak_kilobytes();
    for (const bool appended : {false, true}) {
      try {
        if (appended)
          SampleFile{path};
        else
          read_samples(path);
        ADD_FAILURE() << "read";
      } catch (const BadInput& error) {
        const std::string message = error.what();
        EXPECT_EQ(message.find(path.string()), 0u) << message;
        EXPECT_NE(message.find("longer than 16777216 bytes"), std::string::npos) << message;
        EXPECT_NE(message.find(appended        ? "last line"
                               : start.empty() ? "line 1"
                                               : "line 2"),
                  std::string::npos)
            << message;
      }
    }
    EXPECT_LT(peak_kilobytes() - before, 256 << 10);
    EXPECT_EQ(std::filesystem::file_size(path), std::uintmax_t{6} << 30) << "kept";
  }
}

TEST(Samples, ALineThatCouldNotBeReadIsNotWritten) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "samples.jsonl";
  SampleFile file(path);
  EXPECT_THROW(file.append(sample_of(0, std::string(kMostSampleBytes, 'x'))), Failed);
  const std::string longest(kMostSampleBytes - to_line(sample_of(1, "")).size() - 1, 'x');
  file.append(sample_of(1, longest));
  const std::vector<Sample> samples = read_samples(path);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].answer.size(), longest.size());
}

TEST(Samples, SortedByTaskProblemMethodAndSample) {
  const TemporaryFolder folder;
  std::vector<Sample> samples;
  for (const char* task : {"b", "a"})
    for (int question : {10, 2})
      for (const char* method : {"z", "y", "new"})
        for (int k : {1, 0}) {
          samples.push_back(sample_of(question, "x"));
          samples.back().task = task;
          samples.back().method = method;
          samples.back().sample = k;
        }
  std::string content;
  for (const Sample& sample : samples) content += to_line(sample) + "\n";
  const auto path = folder.write("samples.jsonl", content);
  sort_samples(path, {"a", "b"}, {"y", "z"});
  const std::vector<Sample> sorted = read_samples(path);
  ASSERT_EQ(sorted.size(), samples.size());
  EXPECT_EQ(key_of(sorted[0]), (SampleKey{"a", "test/2", "y", 0}));
  EXPECT_EQ(key_of(sorted[1]), (SampleKey{"a", "test/2", "y", 1}));
  EXPECT_EQ(key_of(sorted[2]), (SampleKey{"a", "test/2", "z", 0}));
  EXPECT_EQ(key_of(sorted[5]), (SampleKey{"a", "test/2", "new", 1}));
  EXPECT_EQ(key_of(sorted.back()), (SampleKey{"b", "test/10", "new", 1}));

  write_file(path, content + to_line(samples[0]) + "\n");
  EXPECT_THROW(sort_samples(path, {}, {}), Error);
}

}  // namespace
}  // namespace counterbeam
