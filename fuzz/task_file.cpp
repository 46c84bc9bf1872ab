// Reads any bytes as a task file beside a data file, as a file of context pairs and as the
// paraphrases of a search for contexts: refused, or read within the limits that they state.
#include <cstdint>

#include "attempt.h"
#include "eval/own_tasks.h"
#include "eval/paraphrase_file.h"
#include "scratch_file.h"
#include "search/context_book.h"

using namespace counterbeam;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchFolder kFolder;
  static const auto kData =
      kFolder.write("a.jsonl", "{\"question\": \"1 + 1?\", \"answer\": \"2\"}\n");
  const auto path = kFolder.write("tasks.json", {reinterpret_cast<const char*>(data), size});
  attempt([&] {
    for (const TaskData& task : load_own_tasks(path, {}))
      CB_CHECK(task.problems.size() == 1 && !task.name.empty());
  });
  attempt([&] {
    ContextBook book;
    book.add_file(path);
    for (const ContextPair& pair : book.added()) CB_CHECK(book.find(pair.name));
  });
  attempt([&] { read_paraphrases(path, 8); });
  return 0;
}
