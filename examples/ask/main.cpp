// Asks a model one question with two methods and shows how its answer scores token by token.
//   ask MODEL_FOLDER QUESTION
#include <counterbeam/counterbeam.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: ask MODEL_FOLDER QUESTION\n");
    return 2;
  }
  try {
    const auto model = counterbeam::LanguageModel::load(argv[1]);
    for (const char* method : {"beam:max-tokens=256", "cbs:steer=0.7:max-tokens=256"}) {
      const counterbeam::Answer answer = model.ask(argv[2], {.method = method});
      std::printf("%s (score %.3f, %.2f s)\n%s\n\n", method, answer.score, answer.seconds,
                  answer.text.c_str());
      if (answer.text.empty()) continue;
      for (const counterbeam::TokenScore& token : model.score(argv[2], answer.text).tokens)
        std::printf("%s[%+.2f] ", token.text.c_str(), token.reward());
      std::printf("\n\n");
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ask: %s\n", error.what());
    return 1;
  }
}
