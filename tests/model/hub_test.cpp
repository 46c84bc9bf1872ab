#include "model/hub.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

// Sets the environment variables of the lookup for one test and restores them.
class HubTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) {
      const char* value = ::getenv(name);
      before_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
      ::unsetenv(name);
    }
    ::setenv("HOME", home_.path().c_str(), 1);
  }
  void TearDown() override {
    for (const auto& [name, value] : before_)
      value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }
  std::string message(const std::string& name) {
    try {
      return find_model(name).string();
    } catch (const Error& error) {
      return error.what();
    }
  }

  static constexpr const char* kNames[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME",
                                           "XDG_CACHE_HOME", "HOME"};
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
  TemporaryFolder home_;
};

TEST_F(HubTest, TheEnvironmentNamesTheCache) {
  EXPECT_EQ(hub_cache(), home_.path() / ".cache/huggingface/hub");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(hub_cache(), "/xdg/huggingface/hub");
  ::setenv("HF_HOME", "~/hf", 1);
  EXPECT_EQ(hub_cache(), home_.path() / "hf/hub");
  ::setenv("HF_HUB_CACHE", "/cache", 1);
  EXPECT_EQ(hub_cache(), "/cache");
}

TEST_F(HubTest, FollowsTheMainReference) {
  const std::string repository = ".cache/huggingface/hub/models--Qwen--Qwen2.5-7B/";
  home_.write(repository + "snapshots/aaa/config.json", "{}");
  EXPECT_EQ(message("Qwen/Qwen2.5-7B"), home_.path() / repository / "snapshots/aaa");
  home_.write(repository + "snapshots/bbb/config.json", "{}");
  EXPECT_EQ(message("Qwen/Qwen2.5-7B"),
            (home_.path() / repository).parent_path().string() +
                ": has 2 snapshots and refs/main names none of them; download the model again: hf "
                "download Qwen/Qwen2.5-7B, or give the snapshot's folder as --model");
  home_.write(repository + "refs/main", "bbb\n");
  EXPECT_EQ(message("Qwen/Qwen2.5-7B"), home_.path() / repository / "snapshots/bbb");
  home_.write(repository + "refs/main", "../../../x");
  EXPECT_EQ(message("Qwen/Qwen2.5-7B"),
            (home_.path() / repository / "refs/main").string() +
                ": holds \"../../../x\", not a revision; download the model again: hf download "
                "Qwen/Qwen2.5-7B");
}

TEST_F(HubTest, AFolderTakesPrecedence) {
  home_.write("Qwen/Small/config.json", "{}");
  home_.write(".cache/huggingface/hub/models--Qwen--Small/snapshots/a/config.json", "{}");
  const fs::path before = fs::current_path();
  fs::current_path(home_.path());
  EXPECT_EQ(message("Qwen/Small"), "Qwen/Small");
  fs::current_path(before);
}

TEST_F(HubTest, FindsTheShippedModelNextToTheProgram) {
  home_.write("models/tiny/config.json", "{}");
  home_.write("models/README.md", "");
  EXPECT_EQ(shipped_model(home_.path() / "build/release"), home_.path() / "models/tiny");
  EXPECT_THROW(shipped_model(home_.path() / "a/b/c"), Error);
}

TEST_F(HubTest, SaysWhatToDo) {
  const std::string cache = (home_.path() / ".cache/huggingface/hub").string();
  EXPECT_EQ(message("Qwen/Qwen9"), "model Qwen/Qwen9 is neither a folder nor in " + cache +
                                       "; download it: hf download Qwen/Qwen9");
  EXPECT_EQ(message("no-such-folder"),
            "--model \"no-such-folder\": is neither a folder nor a model id of the form ORG/NAME");
  EXPECT_EQ(
      message("../no-such-folder"),
      "--model \"../no-such-folder\": is neither a folder nor a model id of the form ORG/NAME");
  EXPECT_EQ(message(""), "--model \"\": is neither a folder nor a model id of the form ORG/NAME");
  home_.write("m/model.gguf", "GGUF");
  EXPECT_EQ(message((home_.path() / "m").string()),
            (home_.path() / "m").string() +
                ": has no config.json, so it is not a Hugging Face model folder; model.gguf is a "
                "GGUF file: give the file itself as --model");
  const fs::path config = home_.write("m/config.json", "{}");
  EXPECT_EQ(message(config.string()),
            config.string() +
                ": is a file, but not GGUF; --model takes a GGUF file or the folder that holds "
                "config.json");
}

// ORG/NAME for a snapshot of the cache however it is reached, otherwise the folder's name; never
// nothing and never the hash of a snapshot.
TEST_F(HubTest, AModelIsCalledByItsNameHoweverItIsReached) {
  const fs::path cache = home_.path() / "hub", plain = home_.path() / "models/tiny";
  const fs::path snapshot = cache / "models--Qwen--Qwen2.5-7B/snapshots/4f2a";
  home_.write("models/tiny/config.json", "{}");
  home_.write("hub/models--Qwen--Qwen2.5-7B/snapshots/4f2a/text/config.json", "{}");
  home_.write("hub/models--gpt2/snapshots/77/config.json", "{}");
  home_.write("hub/models--/snapshots/77/config.json", "{}");
  EXPECT_EQ(model_name(snapshot), "Qwen/Qwen2.5-7B");
  EXPECT_EQ(model_name(snapshot / ""), "Qwen/Qwen2.5-7B");
  EXPECT_EQ(model_name(snapshot / "."), "Qwen/Qwen2.5-7B");
  EXPECT_EQ(model_name(snapshot / "text/.."), "Qwen/Qwen2.5-7B");
  EXPECT_EQ(model_name(snapshot / "text"), "Qwen/Qwen2.5-7B/text");
  EXPECT_EQ(model_name(cache / "models--gpt2/snapshots/77"), "gpt2");
  EXPECT_EQ(model_name(cache / "models--/snapshots/77"), "77") << "not a hub folder";
  EXPECT_EQ(model_name(plain), "tiny");
  EXPECT_EQ(model_name(plain / ""), "tiny");
  EXPECT_EQ(model_name(plain.string() + "//"), "tiny");
  EXPECT_EQ(model_name(plain / "."), "tiny");
  EXPECT_EQ(model_name(plain / "../tiny/./"), "tiny");
  EXPECT_EQ(model_name("/"), "/");

  fs::create_directory_symlink(snapshot, home_.path() / "link");
  fs::create_directory_symlink(plain, home_.path() / "mine");
  fs::create_directories(cache / "models--Org--Linked/snapshots");
  fs::create_directory_symlink(plain, cache / "models--Org--Linked/snapshots/a1");
  EXPECT_EQ(model_name(home_.path() / "link"), "Qwen/Qwen2.5-7B");
  EXPECT_EQ(model_name(home_.path() / "mine"), "mine");
  EXPECT_EQ(model_name(cache / "models--Org--Linked/snapshots/a1"), "Org/Linked");

  const fs::path before = fs::current_path();
  fs::current_path(plain);
  EXPECT_EQ(model_name("."), "tiny");
  EXPECT_EQ(model_name("./"), "tiny");
  EXPECT_EQ(model_name(".."), "models");
  EXPECT_EQ(model_name("../tiny"), "tiny");
  fs::current_path(snapshot);
  EXPECT_EQ(model_name("."), "Qwen/Qwen2.5-7B");
  EXPECT_EQ(model_name("text/.."), "Qwen/Qwen2.5-7B");
  fs::current_path(before);
}

}  // namespace
}  // namespace counterbeam
