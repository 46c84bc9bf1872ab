// The weights and stores of the CUDA back end, and what fits into the device's memory.
#include <algorithm>
#include <chrono>

#include "backend/cuda/cuda_ops.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/on_device.h"
#include "base/error.h"

namespace counterbeam::cuda {
namespace {

// Memory left free beside the cache: activations of a large step, logits, workspace.
constexpr std::int64_t kReserve = std::int64_t{3} << 30;
// The largest quantised matrix that products of many rows decode first.
constexpr std::size_t kMostDecodedBytes = std::size_t{1} << 30;

}  // namespace

// Measured by copies on the device; bytes read and bytes written both count.
double CudaOps::memory_bandwidth() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const DeviceMemory from(kBytes, "measuring"), to(kBytes, "measuring");
  double best = 0;
  for (int pass = 0; pass < 4; ++pass) {
    wait();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i) {
      check(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, steps_.end()),
            "copying");
    }
    busy_ = true;
    wait();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, 8 * double(kBytes) / taken.count());
  }
  return best;
}

void CudaOps::expect_weights(std::int64_t elements) const {
  constexpr double kGibibyte = 1 << 30;
  const double needed = static_cast<double>(elements) * sizeof(Bf16);
  const auto free = static_cast<double>(free_device_memory());
  if (needed > free) {
    failed(
        "the weights of this model take {:.2f} GiB of the GPU's memory, of which {:.2f} GiB are "
        "free: stop what else uses it, take a smaller model, or use --device cpu",
        needed / kGibibyte, free / kGibibyte);
  }
}

std::int64_t CudaOps::cache_bytes(std::int64_t wanted) const {
  const auto free = static_cast<std::int64_t>(free_device_memory());
  const std::int64_t most = free - std::min(kReserve, free / 2);
  return std::min(most * 9 / 10, 8 * wanted);
}

std::int64_t CudaOps::page_bytes(const KvShape& shape) const {
  return std::int64_t{2} * shape.layers * shape.heads * block_elements(shape) *
         std::int64_t{sizeof(Bf16)};
}

std::unique_ptr<PackedMatrix> CudaOps::pack(std::span<const StoredMatrix> parts) {
  auto packed = std::make_unique<PackedOnDevice>();
  packed->in = parts[0].in();
  packed->out = stacked_rows(parts);
  if (!pack_codes(*packed, parts)) {
    packed->memory.want(packed_elements(packed->out, packed->in) * sizeof(Bf16), "weights");
    weight_upload_.pack(steps_.uploads(), packed->weights(), parts);
  }
  packed->bytes = static_cast<std::int64_t>(packed->memory.bytes());
  matrix_bytes_ += packed->bytes;
  return packed;
}

// False if the parts are better kept as bf16.
bool CudaOps::pack_codes(PackedOnDevice& packed, std::span<const StoredMatrix> parts) {
  const auto plan = code_upload_.plan(parts);
  if (!plan) return false;
  packed.codes = plan->codes;
  packed.memory.want(packed_code_bytes(packed.codes, packed.out, packed.in), "weights");
  packed.codes.records = packed.memory.as<std::uint8_t>();
  check(cudaMemsetAsync(packed.memory.data(), 0, packed.memory.bytes(), steps_.uploads()),
        "clearing weights");
  if (!code_upload_.pack(steps_.uploads(), packed.weights(), *plan, parts)) {
    check(cudaStreamSynchronize(steps_.uploads()), "packing weights");
    packed.codes = {};
    packed.memory = {};
    return false;
  }
  // Products of many rows decode a matrix here first. A larger one, as a head can be, stays as it
  // is.
  const std::size_t elements = packed_elements(packed.out, packed.in);
  if (elements * sizeof(Bf16) <= kMostDecodedBytes && elements > products_.decoded_elements) {
    check(cudaStreamSynchronize(steps_.uploads()), "packing weights");
    decoded_.want(elements * sizeof(Bf16), "decoded weights");
    products_.decoded = decoded_.as<Bf16>();
    products_.decoded_elements = elements;
  }
  return true;
}

std::unique_ptr<PackedMatrix> CudaOps::pack_random(int out, int in, float scale,
                                                   std::uint64_t seed) {
  auto packed = std::make_unique<PackedOnDevice>();
  packed->out = out;
  packed->in = in;
  packed->memory.want(packed_elements(out, in) * sizeof(Bf16), "weights");
  cuda::pack_random(steps_.uploads(), packed->weights(), scale, static_cast<unsigned>(seed));
  packed->bytes = static_cast<std::int64_t>(packed->memory.bytes());
  matrix_bytes_ += packed->bytes;
  return packed;
}

// Ordered on the stream. A plain cudaMemcpy would not do: the stream does not wait for it, and it
// may still be running when the call returns.
void CudaOps::send(const DeviceMemory& to, std::span<const float> values) {
  check(cudaMemcpyAsync(to.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice,
                        steps_.uploads()),
        "copying numbers");
}

std::unique_ptr<Vector> CudaOps::upload(std::span<const TensorView> parts) {
  std::vector<float> values;
  for (const TensorView& part : parts) {
    const std::vector<float> more = to_f32(part);
    values.insert(values.end(), more.begin(), more.end());
  }
  auto vector = std::make_unique<VectorOnDevice>();
  vector->size = static_cast<int>(values.size());
  vector->memory.want(values.size() * sizeof(float), "weights");
  send(vector->memory, values);
  return vector;
}

std::unique_ptr<KvStore> CudaOps::make_kv_store(const KvShape& shape, int pages) {
  if (shape.head_dim > kMostHeadDim)
    bad_input(
        "heads of {} columns are too wide for the GPU, which takes up to {}; use --device cpu",
        shape.head_dim, kMostHeadDim);
  auto store = std::make_unique<KvOnDevice>();
  const auto bytes = static_cast<std::size_t>(page_bytes(shape)) * std::size_t(pages);
  store->memory.want(bytes, "the cache of keys and values");
  store->view = {store->memory.as<Bf16>(), store->memory.as<Bf16>() + bytes / 4, shape, pages};
  return store;
}

// Copies are collected until the next step needs them, so that they are one launch.
void CudaOps::copy_page(KvStore& store, PageId from, PageId to, int tokens) {
  const int source = static_cast<int>(from), target = static_cast<int>(to);
  if (copied_pages_.keys != view_of(store).keys || !page_copies_.takes(source, target))
    launch_copies();
  copied_pages_ = view_of(store);
  page_copies_.add(source, target, tokens);
}

void CudaOps::launch_copies() {
  const cudaStream_t stream = steps_.end();
  copy_pages(stream, copied_pages_, page_copies_);
  copy_states(stream, copied_states_, state_copies_);
  page_copies_.count = state_copies_.count = 0;
}

std::unique_ptr<StateStore> CudaOps::make_state_store(const StateShape& shape, int slots) {
  auto store = std::make_unique<StatesOnDevice>();
  store->view.shape = shape;
  store->memory.want(store->view.slot_floats() * sizeof(float) * std::size_t(slots),
                     "the cache of recurrent states");
  store->view.slots = store->memory.as<float>();
  return store;
}

void CudaOps::copy_state(StateStore& store, StateId from, StateId to) {
  const int source = static_cast<int>(from), target = static_cast<int>(to);
  if (copied_states_.slots != view_of(store).slots || !state_copies_.takes(source, target))
    launch_copies();
  copied_states_ = view_of(store);
  state_copies_.add(source, target, 0);
}

void CudaOps::clear_state(StateStore& store, StateId state) {
  launch_copies();
  const StateView& view = view_of(store);
  check(cudaMemsetAsync(view.slots + std::size_t(state) * view.slot_floats(), 0,
                        view.slot_floats() * sizeof(float), steps_.end()),
        "clearing a state");
}

}  // namespace counterbeam::cuda
