// The head jobs on the device, by the rules of backend/sampling.h: log-probabilities, temperature,
// filters, mixtures, and one draw by inverting the cumulative distribution. Only results leave the
// device. The stages are described in head_parts.cuh.
#include "backend/cuda/head_parts.cuh"
#include "base/error.h"

namespace counterbeam::cuda {
namespace {

// Allocates aligned parts of the workspace; without a workspace it only counts bytes.
class Parts {
 public:
  explicit Parts(void* workspace) : base_(static_cast<char*>(workspace)) {}
  template <typename T>
  T* take(std::size_t count) {
    T* part = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + 255) / 256 * 256;
    return part;
  }
  std::size_t used() const { return used_; }

 private:
  char* base_;
  std::size_t used_ = 0;
};

void lay_out(HeadArguments& a, HeadKind kind, Parts& parts) {
  const std::size_t jobs = std::size_t(a.job_count), tiles = std::size_t(a.tiles);
  a.own = parts.take<TileSum>(jobs * tiles);
  a.drawn = parts.take<TileSum>(jobs * tiles);
  if (kind.filtered) a.cuts = parts.take<Cut>(jobs);
  if (!kind.mixed) return;
  a.row_sums = parts.take<TileSum>(std::size_t(a.rows) * tiles);
  a.totals = parts.take<double>(std::size_t(a.rows));
  a.mixed = parts.take<float>(jobs * tiles * kTile);
}

HeadArguments sizes(int rows, int jobs, int vocab) {
  HeadArguments a{};
  a.rows = rows;
  a.job_count = jobs;
  a.vocab = vocab;
  a.tiles = (vocab + kTile - 1) / kTile;
  return a;
}

}  // namespace

std::size_t head_workspace(int rows, int jobs, int vocab, HeadKind kind) {
  HeadArguments a = sizes(rows, jobs, vocab);
  Parts parts(nullptr);
  lay_out(a, kind, parts);
  return parts.used();
}

void head_jobs(cudaStream_t stream, const float* logits, int rows, int stride, int vocab,
               const DeviceJob* jobs, int job_count, const DeviceMix* mixes, HeadKind kind,
               DeviceResult* results, void* workspace) {
  CB_CHECK(vocab > 0 && vocab <= kTile * kMaxTiles);
  if (job_count == 0) return;
  HeadArguments a = sizes(rows, job_count, vocab);
  a.logits = logits;
  a.stride = stride;
  a.jobs = jobs;
  a.mixes = mixes;
  a.results = results;
  Parts parts(workspace);
  lay_out(a, kind, parts);
  head_summarise(stream, a, kind.mixed);
  if (kind.filtered) head_filter(stream, a);
  head_pick(stream, a, kind.filtered);
}

}  // namespace counterbeam::cuda
