#include "eval/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/output_file.h"
#include "eval/problem_texts.h"
#include "eval/provenance.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

}  // namespace

FolderLock::FolderLock(const fs::path& folder) {
  fs::create_directories(folder);
  folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) failed("{}: cannot be opened: {}", folder.string(), std::strerror(errno));
  if (::flock(folder_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(folder_);
  if (reason == EWOULDBLOCK)
    bad_input("{}: another process is using this folder; wait for it, or name another --out",
              folder.string());
  failed("{}: cannot be locked: {}", folder.string(), std::strerror(reason));
}

FolderLock::~FolderLock() {
  ::close(folder_);
}

void claim_folder(const Json& run, const std::vector<TaskData>& tasks, const EvalOptions& options) {
  const fs::path path = options.out / "run.json", samples = options.out / "samples.jsonl";
  const bool used = fs::exists(samples) && fs::file_size(samples) > 0;
  if (used && !options.resume)
    bad_input(
        "{}: has samples of an earlier run; add --resume to continue it, or name another "
        "--out",
        options.out.string());
  const Json claim =
      used ? joined_runs(read_run(options.out), run,
                         fmt::format("{}: the samples there are of another run; give the same "
                                     "options, or name another --out",
                                     path.string()))
           : run;
  write_file(path, claim.dump(2) + "\n");
  write_problem_texts(options.out, tasks);
  remove_partial_files(options.out);
}

}  // namespace counterbeam
