#include "backend/cuda/cuda_ops.h"

#include <algorithm>

#include "backend/cuda/code_packing.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/on_device.h"
#include "base/error.h"

namespace counterbeam::cuda {
namespace {

constexpr int kContextStep = 256;  // contexts are rounded up to multiples of this

int row_bucket(int rows) {
  for (const int bucket : {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384}) {
    if (rows <= bucket) return bucket;
  }
  return kGraphRows;
}

// The properties of device 0. Throws an Error that says why if it cannot be used.
cudaDeviceProp usable_device() {
  if (const std::string why = why_no_cuda(); !why.empty()) failed("{}", why);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "asking for the device's properties");
  return properties;
}

}  // namespace

CudaOps::CudaOps() : properties_(usable_device()) {
  prepare_products();
  const int processors = properties_.multiProcessorCount;
  partial_sums_.want(product_workspace(processors), "sums of products");
  flags_.want(std::size_t(product_flags(processors)) * sizeof(unsigned), "flags of products");
  check(cudaMemsetAsync(flags_.data(), 0, flags_.bytes(), steps_.uploads()), "clearing flags");
  products_.partial_sums = partial_sums_.as<float>();
  products_.flags = flags_.as<unsigned>();
}

std::string CudaOps::name() const {
  return fmt::format("cuda, {}, bf16", properties_.name);
}

CudaOps::~CudaOps() {
  cudaStreamSynchronize(steps_.uploads());
}

void CudaOps::wait() {
  launch_copies();
  if (busy_) check(cudaStreamSynchronize(steps_.end()), "computing");
  busy_ = false;
}

void CudaOps::begin(const Batch& batch) {
  wait();
  arena_.forget();
  workspaces_.forget();
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
  upload_.send(steps_.uploads());
  busy_ = true;
  if (graph) steps_.begin(kind_);
}

Matrix CudaOps::matrix(int rows, int width) {
  const int stride = (width + 7) / 8 * 8;
  const int held = steps_.in_graph() ? kind_.rows : std::max(rows, 1);
  const std::size_t bytes = std::size_t(held) * std::size_t(stride) * sizeof(Bf16);
  return {arena_.take(bytes), rows, width, stride};
}

// Shared by the operations of a step, since they run one after the other. It has an arena of its
// own because a replay does not allocate it, and must still give matrices the same addresses.
void* CudaOps::shared_workspace(std::size_t bytes) {
  if (bytes > step_workspace_bytes_) {
    step_workspace_ = workspaces_.take(bytes);
    step_workspace_bytes_ = bytes;
  }
  return step_workspace_;
}

Matrix CudaOps::padded(Matrix m) const {
  if (steps_.in_graph()) m.rows = kind_.rows;
  return m;
}

void CudaOps::embed(Matrix out, const PackedMatrix& table, float scale) {
  const float in_bf16 = from_bf16(to_bf16(scale));
  steps_.enqueue([&](cudaStream_t stream) {
    const Weights weights = weights_of(table);
    if (weights.codes.records != nullptr) {
      embed_codes(stream, padded(out), weights, in_bf16, batch_);
    } else {
      cuda::embed(stream, padded(out), weights.blocks, in_bf16, batch_);
    }
  });
}

void CudaOps::rms_norm(Matrix out, Matrix x, const Vector& weight, float eps, NormKind kind) {
  if (x.rows == 0) return;
  steps_.enqueue([&](cudaStream_t stream) {
    cuda::rms_norm(stream, padded(out), padded(x), values_of(&weight), weight.size, eps,
                   kind == NormKind::ZeroCentred);
  });
}

void CudaOps::product_into(const ProductTarget& target, Matrix x, const PackedMatrix& weight) {
  if (x.rows == 0) return;
  CB_CHECK(x.stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0);
  steps_.enqueue([&](cudaStream_t stream) {
    product(stream, products_, target, padded(x), weights_of(weight));
  });
}

void CudaOps::matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias) {
  product_into({Finish::Store, out.data, out.stride, values_of(bias)}, x, weight);
}

void CudaOps::matmul_add(Matrix sum, Matrix x, const PackedMatrix& weight, const Vector* bias) {
  product_into({Finish::Add, sum.data, sum.stride, values_of(bias)}, x, weight);
}

void CudaOps::gated_matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                           Activation activation, Matrix scratch) {
  if (out.width % kBlock != 0)
    return PassOps::gated_matmul(out, x, weight, bias, activation, scratch);
  const Finish finish = activation == Activation::Silu ? Finish::SiluMul : Finish::GeluMul;
  product_into({finish, out.data, out.stride, values_of(bias)}, x, weight);
}

void CudaOps::add(Matrix sum, Matrix x) {
  steps_.enqueue([&](cudaStream_t stream) { cuda::add(stream, padded(sum), padded(x)); });
}

void CudaOps::silu_mul(Matrix out, Matrix gate, Matrix up) {
  steps_.enqueue(
      [&](cudaStream_t stream) { cuda::silu_mul(stream, padded(out), padded(gate), padded(up)); });
}

void CudaOps::gelu_mul(Matrix out, Matrix gate, Matrix up) {
  steps_.enqueue(
      [&](cudaStream_t stream) { cuda::gelu_mul(stream, padded(out), padded(gate), padded(up)); });
}

void CudaOps::sigmoid_gate(Matrix out, Matrix gate) {
  steps_.enqueue(
      [&](cudaStream_t stream) { cuda::sigmoid_gate(stream, padded(out), padded(gate)); });
}

void CudaOps::split_heads(Matrix first, Matrix second, Matrix x, int heads) {
  steps_.enqueue([&](cudaStream_t stream) {
    cuda::split_heads(stream, padded(first), padded(second), padded(x), heads);
  });
}

void CudaOps::split_and_norm(Matrix q, Matrix gate, Matrix q_gate, const Vector& q_weight, Matrix k,
                             const Vector& k_weight, float eps, NormKind kind) {
  steps_.enqueue([&](cudaStream_t stream) {
    cuda::split_and_norm(stream, padded(q), padded(gate), padded(q_gate), padded(k),
                         values_of(&q_weight), values_of(&k_weight), q_weight.size, eps,
                         kind == NormKind::ZeroCentred);
  });
}

// A model has one or two ropes; their frequencies are uploaded once.
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
  steps_.enqueue([&](cudaStream_t stream) {
    cuda::rope(stream, padded(x), heads, device_rope(rope), batch_);
  });
}

void CudaOps::store_kv(KvStore& store, int layer, Matrix k, Matrix v) {
  steps_.enqueue([&](cudaStream_t stream) {
    cuda::store_kv(stream, view_of(store), layer, padded(k), padded(v), batch_);
  });
}

void CudaOps::rope_and_store(Matrix q, int heads, Matrix k, Matrix v, const Rope& rope,
                             KvStore& store, int layer, const KvShape&) {
  steps_.enqueue([&](cudaStream_t stream) {
    cuda::rope_and_store(stream, padded(q), padded(k), padded(v), heads, device_rope(rope),
                         view_of(store), layer, batch_);
  });
}

void CudaOps::attention(Matrix out, Matrix q, const KvStore& store, int layer, int heads,
                        float scale, int window) {
  steps_.enqueue([&](cudaStream_t stream) {
    const std::size_t bytes =
        attention_workspace(kind_.rows, heads, view_of(store).shape.head_dim, kind_.context);
    cuda::attention(stream, padded(out), padded(q), view_of(store), layer, heads, scale, window,
                    batch_, shared_workspace(bytes));
  });
}

void CudaOps::causal_conv(Matrix out, Matrix x, const Vector& weight, StateStore& store,
                          int layer) {
  steps_.enqueue([&](cudaStream_t stream) {
    cuda::causal_conv(stream, padded(out), padded(x), values_of(&weight), view_of(store), layer,
                      batch_);
  });
}

DeltaInputs CudaOps::device_inputs(const DeltaNetInputs& in) const {
  return {padded(in.qkv), padded(in.beta), padded(in.decay), values_of(in.a_log),
          values_of(in.dt_bias)};
}

void CudaOps::delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer) {
  steps_.enqueue([&](cudaStream_t stream) {
    cuda::delta_net(stream, padded(out), device_inputs(in), view_of(store), layer, batch_);
  });
}

void CudaOps::gated_delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer,
                              Matrix gate, const Vector& weight, float eps) {
  steps_.enqueue([&](cudaStream_t stream) {
    cuda::gated_delta_net(stream, padded(out), device_inputs(in), padded(gate), values_of(&weight),
                          eps, view_of(store), layer, batch_);
  });
}

void CudaOps::gated_norm(Matrix out, Matrix x, Matrix gate, const Vector& weight, float eps) {
  steps_.enqueue([&](cudaStream_t stream) {
    cuda::gated_norm(stream, padded(out), padded(x), padded(gate), values_of(&weight), weight.size,
                     eps);
  });
}

void CudaOps::gather(Matrix out, Matrix x, std::span<const int> rows) {
  const cudaStream_t stream = steps_.end();
  if (rows.empty()) return;
  const int* on_device = upload_.send_rows(stream, rows, out.rows);
  cuda::gather(stream, out, x, on_device);
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
