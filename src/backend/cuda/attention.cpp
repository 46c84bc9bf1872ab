// Chooses the attention kernel. All give the same bits for a row, so the choice may depend on the
// rounded counts of the step.
#include <cstdint>

#include "backend/cuda/attention_kinds.h"
#include "base/error.h"

namespace counterbeam::cuda {
namespace {

constexpr int kFewRows =
    32;  // query rows per segment and key head; with more, attention_many.cu is faster
// Clusters save a launch, but their blocks occupy shared memory while they wait for each other:
// they are faster only for few blocks.
constexpr int kClusterBlocks = 320;
constexpr std::size_t kMostWorkspace = std::size_t{128} << 20;

int padded_width(int head_dim) {
  return head_dim <= 64 ? 64 : head_dim <= 128 ? 128 : 256;
}

int tiles_of(int context) {
  return (context + kTileKeys - 1) / kTileKeys;
}

std::size_t partial_results(int rows, int heads, int longest_context) {
  return std::size_t(rows) * std::size_t(heads) * std::size_t(tiles_of(longest_context));
}

std::size_t partial_bytes(int width) {
  return std::size_t(width) * sizeof(float) + sizeof(RowSum);
}

bool aligned(Matrix m) {
  return reinterpret_cast<std::uintptr_t>(m.data) % 16 == 0 && m.stride % 8 == 0;
}

}  // namespace

std::size_t attention_workspace(int rows, int heads, int head_dim, int longest_context) {
  const int width = padded_width(head_dim);
  const std::size_t bytes = partial_results(rows, heads, longest_context) * partial_bytes(width);
  return bytes < kMostWorkspace ? bytes : kMostWorkspace;
}

void attention(cudaStream_t stream, Matrix out, Matrix q, const KvView& kv, int layer, int heads,
               float scale, int window, const DeviceBatch& batch, void* workspace) {
  const int head_dim = kv.shape.head_dim;
  CB_CHECK(head_dim > 0 && head_dim <= kMostHeadDim && heads % kv.shape.heads == 0 && scale > 0);
  if (batch.rows == 0 || batch.segment_count == 0 || batch.longest_segment == 0) return;
  const int width = padded_width(head_dim), group = heads / kv.shape.heads;
  AttentionInput in{};
  in.out = static_cast<Bf16*>(out.data);
  in.q = static_cast<const Bf16*>(q.data);
  in.out_stride = out.stride;
  in.q_stride = q.stride;
  in.kv = layer_pages(kv, layer);
  in.heads = heads;
  in.group = group;
  in.group_inverse = 0xffffffffu / unsigned(group) + 1;
  in.scale = scale * 1.44269504088896f;
  in.window = window;
  in.batch = batch;
  const bool general = head_dim != width || !aligned(q) || !aligned(out);
  const int tiles = tiles_of(batch.longest_context);
  const bool few = batch.longest_segment == 1 || batch.longest_segment * group <= kFewRows;
  const std::size_t partials = partial_results(batch.rows, heads, batch.longest_context);
  const long blocks = long{tiles} * kv.shape.heads * batch.segment_count;
  const bool cluster = batch.longest_segment == 1 && group <= cluster_group() && !general &&
                       kv.shape.type == CacheType::Plain && tiles <= cluster_tiles() &&
                       blocks <= kClusterBlocks;
  if (cluster) {
    attend_in_clusters(stream, in, width, tiles);
  } else if (few && batch.tiles != nullptr && partials * partial_bytes(width) <= kMostWorkspace) {
    in.partial_tiles = tiles;
    in.partial_values = static_cast<float*>(workspace);
    in.partial_sums = reinterpret_cast<RowSum*>(in.partial_values + partials * std::size_t(width));
    attend_in_parts(stream, in, width, general);
  } else {
    attend_many(stream, in, width, general);
  }
}

}  // namespace counterbeam::cuda
