// The operations of CpuOps that depend on sequences: rope, keys and values, recurrent states.
#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_ops.h"
#include "base/error.h"

namespace counterbeam {
namespace {

CpuKv& cpu(KvStore& store) {
  return static_cast<CpuKv&>(store);
}
CpuStates& cpu(StateStore& store) {
  return static_cast<CpuStates&>(store);
}

float sigmoid(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

float softplus(float x) {
  return x > 20.0f ? x : std::log1p(std::exp(x));
}

}  // namespace

std::unique_ptr<KvStore> CpuOps::make_kv_store(const KvShape& shape, int pages) {
  return std::make_unique<CpuKv>(shape, pages, precision_);
}

// A token is a column of its page, so copying the whole page is as fast as copying a part.
void CpuOps::copy_page(KvStore& store, PageId from, PageId to, int) {
  cpu(store).copy_page(from, to);
}

std::unique_ptr<StateStore> CpuOps::make_state_store(const StateShape& shape, int slots) {
  if (shape.conv_width > kMaxTaps) {
    bad_input("a convolution of {} taps is too wide; this back end takes up to {}",
              shape.conv_width, kMaxTaps);
  }
  return std::make_unique<CpuStates>(shape, slots, takes_chunks());
}

void CpuOps::copy_state(StateStore& store, StateId from, StateId to) {
  cpu(store).copy(from, to);
}

void CpuOps::clear_state(StateStore& store, StateId state) {
  cpu(store).clear(state);
}

void CpuOps::rope(Matrix x, int heads, const Rope& rope) {
  auto table = std::find_if(ropes_.begin(), ropes_.end(),
                            [&](const RopeTable& known) { return known.is_of(rope); });
  if (table == ropes_.end()) table = ropes_.insert(table, RopeTable(rope));
  for (const int position : row_position_) table->prepare(position);
  const int half = static_cast<int>(rope.inverse_frequency.size()), width = x.width / heads;
  for_rows(x.rows, x.width, [&](int r) {
    const float* turns = table->at(row_position_[r]);
    for (int head = 0; head < heads; ++head)
      kernels_.rope(rows_of(x).row(r) + head * width, turns, turns + half, half);
  });
}

void CpuOps::store_kv(KvStore& store, int layer, Matrix k, Matrix v) {
  constexpr int kScattered = 8;  // scalar stores cost this much more than vector stores
  for_rows(k.rows, kScattered * 2 * k.width, [&](int r) {
    const int position = row_position_[r];
    cpu(store).put(layer, row_segment_[r]->pages[position / kPageTokens], position % kPageTokens,
                   rows_of(k).row(r), rows_of(v).row(r));
  });
}

void CpuOps::attention(Matrix out, Matrix q, const KvStore& store, int layer, int heads,
                       float scale, int window) {
  const auto& kv = static_cast<const CpuKv&>(store);
  const bool f32 = precision_ == Precision::F32, codes = kv.shape().type != CacheType::Plain;
  const auto attend = codes ? (f32 ? kernels_.attention_codes_f32 : kernels_.attention_codes_bf16)
                            : (f32 ? kernels_.attention_f32 : kernels_.attention_bf16);
  const int group = heads / kv.shape().heads, width = kv.shape().head_dim;
  // At least two jobs per thread if possible; beyond that, rows that share pages form one job.
  const int rows = static_cast<int>(row_position_.size());
  const int most = std::max(1, rows * kv.shape().heads / (2 * pool_.threads()));
  const AttentionPlan plan =
      plan_attention(page_order_, {kernels_.attention_rows, most, group, window});
  const auto head_of = [&](const AttentionRun& run, int head) {
    AttentionHead job;
    job.queries = rows_of(q).row(run.row) + head * group * width;
    job.out = rows_of(out).row(run.row) + head * group * width;
    job.query_stride = q.stride;
    job.out_stride = out.stride;
    job.store = kv.keys(layer, head);
    job.pages = row_segment_[run.row]->pages.data();
    job.page_bytes = kv.page_bytes();
    job.half_bytes = kv.half_bytes();
    job.type = kv.shape().type;
    job.tokens = run.tokens;
    job.position = run.position;
    job.window = window;
    job.group = group;
    job.width = width;
    job.scale = scale;
    return job;
  };
  // Jobs of the same key head are adjacent, since neighbours share pages.
  std::vector<AttentionHead> all;
  for (int head = 0; head < kv.shape().heads; ++head) {
    for (const AttentionRun& run : plan.runs) all.push_back(head_of(run, head));
  }
  std::vector<AttentionJob> jobs;
  for (std::size_t first = 0; first < all.size(); first += plan.runs.size()) {
    for (const AttentionGroup& of : plan.groups)
      jobs.push_back({all.data() + first + of.first, of.count, of.shared, nullptr});
  }
  for (std::size_t i = 1; i < jobs.size(); ++i) jobs[i - 1].next = &jobs[i];
  pool_.split(static_cast<int>(jobs.size()), 1, [&](int begin, int end, int worker) {
    float* space = scratch(worker, std::size_t(attention_scratch(group, width)));
    for (int item = begin; item < end; ++item) attend(jobs[item], space);
  });
}

void CpuOps::causal_conv(Matrix out, Matrix x, const Vector& weight, StateStore& store, int layer) {
  const CpuStates& states = cpu(store);
  const int taps = states.shape().conv_width, channels = x.width;
  const float* by_tap = static_cast<const CpuVector&>(weight).by_tap(taps);
  const int chunks = (channels + kConvChannels - 1) / kConvChannels;
  pool_.each(static_cast<int>(batch_.segments.size()) * chunks, [&](int task, int) {
    const Segment& segment = batch_.segments[task / chunks];
    const int first = task % chunks * kConvChannels;
    ConvStrip strip;
    strip.out = {rows_of(out).row(segment.first_row) + first, out.stride};
    strip.x = {rows_of(x).row(segment.first_row) + first, x.stride};
    strip.weight = {const_cast<float*>(by_tap) + first, channels};
    strip.kept = {states.conv(segment.state, layer) + first, channels};
    strip.taps = taps;
    strip.tokens = segment.rows;
    strip.channels = std::min(kConvChannels, channels - first);
    kernels_.conv(strip);
  });
}

void CpuOps::delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer) {
  const CpuStates& states = cpu(store);
  const StateShape& shape = states.shape();
  const int tasks = static_cast<int>(batch_.segments.size()) * shape.value_heads;
  const float* a_log = values_of(*in.a_log);
  const float* dt_bias = values_of(*in.dt_bias);
  const auto run = takes_chunks() ? kernels_.delta_chunks : kernels_.delta;
  const auto space = std::size_t(delta_scratch(shape.key_dim, shape.value_dim));
  const auto advance = [&](int task, int worker) {
    const Segment& segment = batch_.segments[task / shape.value_heads];
    const int head = task % shape.value_heads;
    const int key_head = head / (shape.value_heads / shape.key_heads);
    const std::size_t tokens = std::size_t(segment.rows);
    float* work = scratch(worker, 2 * tokens + space);
    float* decay = work + space;
    float* beta = decay + tokens;
    const float rate = std::exp(a_log[head]);
    for (int t = 0; t < segment.rows; ++t) {
      const int r = segment.first_row + t;
      decay[t] = std::exp(-rate * softplus(rows_of(in.decay).row(r)[head] + dt_bias[head]));
      beta[t] = sigmoid(rows_of(in.beta).row(r)[head]);
    }
    DeltaHead job;
    job.q = rows_of(in.qkv).row(segment.first_row) + key_head * shape.key_dim;
    job.k = job.q + shape.key_heads * shape.key_dim;
    job.v = rows_of(in.qkv).row(segment.first_row) + 2 * shape.key_heads * shape.key_dim +
            head * shape.value_dim;
    job.stride = in.qkv.stride;
    job.decay = decay;
    job.beta = beta;
    job.state = states.head(segment.state, layer, head);
    job.out = {rows_of(out).row(segment.first_row) + head * shape.value_dim, out.stride};
    job.tokens = segment.rows;
    job.position = segment.position;
    job.key_dim = shape.key_dim;
    job.value_dim = shape.value_dim;
    run(job, work);
  };
  // States of heads are contiguous in memory, and so are the heads that a thread takes.
  pool_.split(tasks, 1, [&](int begin, int end, int worker) {
    for (int task = begin; task < end; ++task) advance(task, worker);
  });
}

}  // namespace counterbeam
