#include "backend/cuda/cuda_ops.h"

#include <algorithm>
#include <chrono>

#include "backend/cuda/launch.h"
#include "base/error.h"

namespace counterbeam::cuda {
namespace {

// Left free beside the cache: activations of a large step, logits, workspace.
constexpr std::int64_t kReserve = std::int64_t{3} << 30;
constexpr int kContextStep = 256;  // contexts are rounded up to

struct PackedOnDevice : PackedMatrix {
  DeviceMemory memory;
  Weights weights() const { return {memory.as<Bf16>(), out, in}; }
};

struct VectorOnDevice : Vector {
  DeviceMemory memory;
};

struct KvOnDevice : KvStore {
  DeviceMemory memory;
  KvView view{};
};

struct StatesOnDevice : StateStore {
  DeviceMemory memory;
  StateView view{};
};

Weights weights_of(const PackedMatrix& matrix) {
  return static_cast<const PackedOnDevice&>(matrix).weights();
}
const float* values_of(const Vector* vector) {
  return vector == nullptr ? nullptr
                           : static_cast<const VectorOnDevice*>(vector)->memory.as<float>();
}
const KvView& view_of(const KvStore& store) {
  return static_cast<const KvOnDevice&>(store).view;
}
const StateView& view_of(const StateStore& store) {
  return static_cast<const StatesOnDevice&>(store).view;
}

int row_bucket(int rows) {
  for (const int bucket : {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384}) {
    if (rows <= bucket) return bucket;
  }
  return kGraphRows;
}

}  // namespace

CudaOps::CudaOps() {
  if (const std::string why = why_no_cuda(); !why.empty()) failed("{}", why);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "asking for the device's properties");
  name_ = fmt::format("cuda, {}, bf16", properties.name);
  for (cudaStream_t* stream : {&stream_, &capture_, &beside_})
    check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "making a stream");
  now_ = stream_;
  prepare_products();
  const int processors = properties.multiProcessorCount;
  partial_sums_.want(product_workspace(processors), "sums of products");
  flags_.want(std::size_t(product_flags(processors)) * sizeof(unsigned), "flags of products");
  check(cudaMemsetAsync(flags_.data(), 0, flags_.bytes(), stream_), "clearing flags");
  products_ = {partial_sums_.as<float>(), flags_.as<unsigned>()};
}

CudaOps::~CudaOps() {
  cudaStreamSynchronize(stream_);
  for (auto& [kind, graph] : graphs_) cudaGraphExecDestroy(graph);
  for (cudaStream_t stream : {stream_, capture_, beside_}) cudaStreamDestroy(stream);
}

// Copies, bytes read and bytes written.
double CudaOps::memory_bandwidth() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const DeviceMemory from(kBytes, "measuring"), to(kBytes, "measuring");
  double best = 0;
  for (int pass = 0; pass < 4; ++pass) {
    wait();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i) {
      check(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, stream_),
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
  return std::int64_t{2} * shape.layers * shape.heads * shape.head_dim * kPageTokens *
         std::int64_t{sizeof(Bf16)};
}

// Weights.

std::unique_ptr<PackedMatrix> CudaOps::pack(std::span<const TensorView> parts) {
  auto packed = std::make_unique<PackedOnDevice>();
  packed->in = static_cast<int>(parts[0].shape[1]);
  for (const TensorView& part : parts) packed->out += static_cast<int>(part.shape[0]);
  packed->memory.want(packed_elements(packed->out, packed->in) * sizeof(Bf16), "weights");
  weight_upload_.pack(stream_, packed->weights(), parts);
  return packed;
}

std::unique_ptr<PackedMatrix> CudaOps::pack_random(int out, int in, float scale,
                                                   std::uint64_t seed) {
  auto packed = std::make_unique<PackedOnDevice>();
  packed->out = out;
  packed->in = in;
  packed->memory.want(packed_elements(out, in) * sizeof(Bf16), "weights");
  cuda::pack_random(stream_, packed->weights(), scale, static_cast<unsigned>(seed));
  return packed;
}

// In the order of the stream: it waits for no other, and a plain copy may still be on its way when
// the call that asked for it has returned.
void CudaOps::send(const DeviceMemory& to, std::span<const float> values) {
  check(cudaMemcpyAsync(to.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice,
                        stream_),
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

// Stores.

std::unique_ptr<KvStore> CudaOps::make_kv_store(const KvShape& shape, int pages) {
  auto store = std::make_unique<KvOnDevice>();
  const auto bytes = static_cast<std::size_t>(page_bytes(shape)) * std::size_t(pages);
  store->memory.want(bytes, "the cache of keys and values");
  store->view = {store->memory.as<Bf16>(), store->memory.as<Bf16>() + bytes / 4, shape, pages};
  return store;
}

// Copies wait for the step that needs them, so that all of them are one launch.
void CudaOps::copy_page(KvStore& store, PageId from, PageId to, int tokens) {
  const int source = static_cast<int>(from), target = static_cast<int>(to);
  if (copied_pages_.keys != view_of(store).keys || !page_copies_.takes(source, target))
    launch_copies();
  copied_pages_ = view_of(store);
  page_copies_.add(source, target, tokens);
}

void CudaOps::launch_copies() {
  end_of_graph();
  copy_pages(stream_, copied_pages_, page_copies_);
  copy_states(stream_, copied_states_, state_copies_);
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
                        view.slot_floats() * sizeof(float), stream_),
        "clearing a state");
}

// A step.

void CudaOps::wait() {
  launch_copies();
  if (busy_) check(cudaStreamSynchronize(stream_), "computing");
  busy_ = false;
}

void CudaOps::begin(const Batch& batch) {
  wait();
  arena_.forget();
  step_workspace_ = nullptr;
  step_workspace_bytes_ = 0;
  int context = 0;
  bool single = true;
  for (const Segment& segment : batch.segments) {
    context = std::max(context, segment.position + segment.rows);
    single &= segment.rows == 1;
  }
  const int rows = static_cast<int>(batch.ids.size());
  const bool graph = single && rows <= kGraphRows;
  kind_ = {graph ? row_bucket(rows) : rows,
           (context + kContextStep - 1) / kContextStep * kContextStep};
  const int segments = graph ? kind_.rows : static_cast<int>(batch.segments.size());
  batch_ = upload_.write(batch, kind_.rows, segments, kind_.context);
  upload_.send(stream_);
  busy_ = true;
  if (!graph) return;
  mode_ = graphs_.contains(kind_) ? Mode::Replay : Mode::Capture;
  if (mode_ == Mode::Capture) {
    check(cudaStreamBeginCapture(capture_, cudaStreamCaptureModeRelaxed), "beginning a graph");
    now_ = capture_;
  }
}

void CudaOps::end_of_graph() {
  if (mode_ == Mode::Direct) return;
  if (mode_ == Mode::Capture) {
    now_ = stream_;
    mode_ = Mode::Direct;
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(capture_, &graph), "ending a graph");
    cudaGraphExec_t runnable = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&runnable, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "making a graph");
    graphs_[kind_] = runnable;
  }
  mode_ = Mode::Direct;
  check(cudaGraphLaunch(graphs_.at(kind_), stream_), "launching a graph");
  busy_ = true;
}

Matrix CudaOps::matrix(int rows, int width) {
  const int stride = (width + 7) / 8 * 8;
  const int held = mode_ == Mode::Direct ? std::max(rows, 1) : kind_.rows;
  return {arena_.take(std::size_t(held) * std::size_t(stride) * sizeof(Bf16)), rows, width, stride};
}

// Of the operations of this step, one after the other.
void* CudaOps::shared_workspace(std::size_t bytes) {
  if (bytes > step_workspace_bytes_) {
    step_workspace_ = arena_.take(bytes);
    step_workspace_bytes_ = bytes;
  }
  return step_workspace_;
}

Matrix CudaOps::padded(Matrix m) const {
  if (mode_ != Mode::Direct) m.rows = kind_.rows;
  return m;
}

void CudaOps::embed(Matrix out, const PackedMatrix& table) {
  if (passed_over()) return;
  cuda::embed(now_, padded(out), weights_of(table).blocks, batch_);
}

void CudaOps::rms_norm(Matrix out, Matrix x, const Vector& weight, float eps, NormKind kind) {
  if (passed_over() || x.rows == 0) return;
  cuda::rms_norm(now_, padded(out), padded(x), values_of(&weight), weight.size, eps,
                 kind == NormKind::ZeroCentred);
}

void CudaOps::product_into(const ProductTarget& target, Matrix x, const PackedMatrix& weight) {
  if (passed_over() || x.rows == 0) return;
  CB_CHECK(x.stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0);
  product(now_, products_, target, padded(x), weights_of(weight));
}

void CudaOps::matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias) {
  product_into({Finish::Store, out.data, out.stride, values_of(bias)}, x, weight);
}

void CudaOps::matmul_add(Matrix sum, Matrix x, const PackedMatrix& weight, const Vector* bias) {
  product_into({Finish::Add, sum.data, sum.stride, values_of(bias)}, x, weight);
}

void CudaOps::gated_matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                           Matrix scratch) {
  if (out.width % kBlock != 0) return Ops::gated_matmul(out, x, weight, bias, scratch);
  product_into({Finish::SiluMul, out.data, out.stride, values_of(bias)}, x, weight);
}

void CudaOps::silu_mul(Matrix out, Matrix gate, Matrix up) {
  if (!passed_over()) cuda::silu_mul(now_, padded(out), padded(gate), padded(up));
}

void CudaOps::sigmoid_gate(Matrix out, Matrix gate) {
  if (!passed_over()) cuda::sigmoid_gate(now_, padded(out), padded(gate));
}

void CudaOps::split_heads(Matrix first, Matrix second, Matrix x, int heads) {
  if (!passed_over()) cuda::split_heads(now_, padded(first), padded(second), padded(x), heads);
}

void CudaOps::split_and_norm(Matrix q, Matrix gate, Matrix q_gate, const Vector& q_weight, Matrix k,
                             const Vector& k_weight, float eps, NormKind kind) {
  if (passed_over()) return;
  cuda::split_and_norm(now_, padded(q), padded(gate), padded(q_gate), padded(k),
                       values_of(&q_weight), values_of(&k_weight), q_weight.size, eps,
                       kind == NormKind::ZeroCentred);
}

// A model has one rope or two; their frequencies are sent once.
DeviceRope CudaOps::device_rope(const Rope& rope) {
  auto found = std::find_if(ropes_.begin(), ropes_.end(),
                            [&](const auto& r) { return r.first == rope.inverse_frequency; });
  if (found == ropes_.end()) {
    DeviceMemory memory(rope.inverse_frequency.size() * sizeof(float), "rope frequencies");
    send(memory, rope.inverse_frequency);
    ropes_.emplace_back(rope.inverse_frequency, std::move(memory));
    found = ropes_.end() - 1;
  }
  return {found->second.as<float>(), static_cast<int>(rope.inverse_frequency.size()), rope.scale};
}

void CudaOps::rope(Matrix x, int heads, const Rope& rope) {
  if (!passed_over()) cuda::rope(now_, padded(x), heads, device_rope(rope), batch_);
}

void CudaOps::store_kv(KvStore& store, int layer, Matrix k, Matrix v) {
  if (!passed_over()) cuda::store_kv(now_, view_of(store), layer, padded(k), padded(v), batch_);
}

void CudaOps::rope_and_store(Matrix q, int heads, Matrix k, Matrix v, const Rope& rope,
                             KvStore& store, int layer, const KvShape&) {
  if (passed_over()) return;
  cuda::rope_and_store(now_, padded(q), padded(k), padded(v), heads, device_rope(rope),
                       view_of(store), layer, batch_);
}

void CudaOps::attention(Matrix out, Matrix q, const KvStore& store, int layer, int heads,
                        float scale, int window) {
  if (passed_over()) return;
  const std::size_t bytes =
      attention_workspace(kind_.rows, heads, view_of(store).shape.head_dim, kind_.context);
  cuda::attention(now_, padded(out), padded(q), view_of(store), layer, heads, scale, window, batch_,
                  shared_workspace(bytes));
}

void CudaOps::causal_conv(Matrix out, Matrix x, const Vector& weight, StateStore& store,
                          int layer) {
  if (passed_over()) return;
  cuda::causal_conv(now_, padded(out), padded(x), values_of(&weight), view_of(store), layer,
                    batch_);
}

DeltaInputs CudaOps::device_inputs(const DeltaNetInputs& in) const {
  return {padded(in.qkv), padded(in.beta), padded(in.decay), values_of(in.a_log),
          values_of(in.dt_bias)};
}

void CudaOps::delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer) {
  if (passed_over()) return;
  cuda::delta_net(now_, padded(out), device_inputs(in), view_of(store), layer, batch_);
}

void CudaOps::gated_delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer,
                              Matrix gate, const Vector& weight, float eps) {
  if (passed_over()) return;
  cuda::gated_delta_net(now_, padded(out), device_inputs(in), padded(gate), values_of(&weight), eps,
                        view_of(store), layer, batch_);
}

void CudaOps::gated_norm(Matrix out, Matrix x, Matrix gate, const Vector& weight, float eps) {
  if (passed_over()) return;
  cuda::gated_norm(now_, padded(out), padded(x), padded(gate), values_of(&weight), weight.size,
                   eps);
}

void CudaOps::gather(Matrix out, Matrix x, std::span<const int> rows) {
  end_of_graph();
  if (rows.empty()) return;
  const int* on_device = upload_.send_rows(stream_, rows, out.rows);
  cuda::gather(stream_, out, x, on_device);
}

}  // namespace counterbeam::cuda

namespace counterbeam {

std::string why_no_cuda() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    return fmt::format("no NVIDIA GPU can be used: {}",
                       status == cudaSuccess ? "there is none" : cudaGetErrorString(status));
  }
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, 0), "asking for the device's properties");
  if (properties.major != 9) {
    return fmt::format(
        "the GPU is a {} (compute capability {}.{}); the CUDA back end needs Hopper (9.0)",
        properties.name, properties.major, properties.minor);
  }
  return "";
}

std::unique_ptr<Ops> make_cuda_ops() {
  return std::make_unique<cuda::CudaOps>();
}

}  // namespace counterbeam
