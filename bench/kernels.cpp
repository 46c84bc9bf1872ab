// Times the CPU kernels against the limits of the machine: memory bandwidth and multiply-adds per
// second are measured first, and every line shows the share of them that is reached.
//   bench_kernels [--isa NAME] [--threads N] [--f32] [--only PART]
#include "backend/cpu/kernels.h"

#include <getopt.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <numeric>

#include "backend/cpu/isa.h"
#include "backend/cpu/memory.h"
#include "backend/ops.h"
#include "base/thread_pool.h"

namespace counterbeam {
namespace {

struct Settings {
  std::string isa;
  int threads = 2;
  bool f32 = false;
  std::string only;
  Precision precision() const { return f32 ? Precision::F32 : Precision::Bf16; }
};

struct Limits {
  double bytes = 0;  // per second
  double flops = 0;
};

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The best of several runs, since other load can only slow a run down.
double best_seconds(int runs, const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < runs; ++i) best = std::min(best, seconds(work));
  return best;
}

void line(const std::string& what, double time, double bytes, double flops, const Limits& limits) {
  fmt::print("{:<44}{:>10.3f} ms", what, time * 1e3);
  if (bytes > 0)
    fmt::print("{:>8.1f} GB/s ({:>3.0f} %)", bytes / time / 1e9, 100 * bytes / time / limits.bytes);
  if (flops > 0)
    fmt::print("{:>8.0f} GFLOP/s ({:>3.0f} %)", flops / time / 1e9,
               100 * flops / time / limits.flops);
  fmt::print("\n");
  std::cout.flush();
}

double read_bandwidth(int threads) {
  const Memory memory(std::size_t{1} << 30);
  ThreadPool pool(threads);
  std::memset(memory.data(), 1, memory.bytes());
  std::vector<std::uint64_t> sums(std::size_t(threads) * 8);
  const int lines = static_cast<int>(memory.bytes() / 64);
  const double time = best_seconds(4, [&] {
    pool.each(threads, [&](int worker, int) {
      const auto* words = reinterpret_cast<const std::uint64_t*>(memory.data());
      const std::size_t begin = std::size_t(lines) * worker / threads * 8;
      const std::size_t end = std::size_t(lines) * (worker + 1) / threads * 8;
      std::uint64_t sum[8] = {};
      for (std::size_t i = begin; i < end; i += 8) {
        __builtin_prefetch(words + i + 256);
        for (int j = 0; j < 8; ++j) sum[j] += words[i + j];
      }
      sums[std::size_t(worker) * 8] = std::accumulate(sum, sum + 8, std::uint64_t{0});
    });
  });
  if (sums[0] == 1) fmt::print(" ");  // keeps the sum from being optimised away
  return static_cast<double>(memory.bytes()) / time;
}

// Twelve independent chains of vdpbf16ps, 64 operations each.
double bf16_register_peak() {
  constexpr int kRounds = 4'000'000;
  const double time = best_seconds(3, [] {
    for (int i = 0; i < kRounds; ++i) {
      __asm__ volatile(
          "vdpbf16ps %%zmm30,%%zmm31,%%zmm0\n vdpbf16ps %%zmm30,%%zmm31,%%zmm1\n"
          "vdpbf16ps %%zmm30,%%zmm31,%%zmm2\n vdpbf16ps %%zmm30,%%zmm31,%%zmm3\n"
          "vdpbf16ps %%zmm30,%%zmm31,%%zmm4\n vdpbf16ps %%zmm30,%%zmm31,%%zmm5\n"
          "vdpbf16ps %%zmm30,%%zmm31,%%zmm6\n vdpbf16ps %%zmm30,%%zmm31,%%zmm7\n"
          "vdpbf16ps %%zmm30,%%zmm31,%%zmm8\n vdpbf16ps %%zmm30,%%zmm31,%%zmm9\n"
          "vdpbf16ps %%zmm30,%%zmm31,%%zmm10\n vdpbf16ps %%zmm30,%%zmm31,%%zmm11\n"
          :
          :
          : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
            "xmm11");
    }
  });
  return 12.0 * 64 * kRounds / time;
}

std::unique_ptr<PackedMatrix> random_weights(Ops& ops, int out, int in) {
  static const Tensor noise = [] {
    Tensor tensor(DType::BF16, {std::int64_t{1} << 25});
    auto* halves = reinterpret_cast<std::uint16_t*>(tensor.data());
    std::uint64_t state = 1;
    for (std::int64_t i = 0; i < std::int64_t{1} << 25; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      halves[i] = to_bf16((float(state >> 40) / float(1 << 24) - 0.5f) * 0.1f);
    }
    return tensor;
  }();
  // A large matrix is stacked from repeated blocks of the noise.
  const int piece = std::min(out, static_cast<int>((std::int64_t{1} << 25) / in));
  std::vector<StoredMatrix> parts;
  for (int done = 0; done < out; done += piece)
    parts.push_back(TensorView{DType::BF16, {std::min(piece, out - done), in}, noise.data()});
  return ops.pack(parts);
}

Matrix noise(Ops& ops, int rows, int width) {
  Matrix m = ops.matrix(rows, width);
  for (int i = 0; i < rows * m.stride; ++i)
    static_cast<float*>(m.data)[i] = float(i * 7919 % 1001) / 500 - 1;
  return m;
}

struct Sequences {
  std::vector<TokenId> ids;
  std::vector<std::vector<PageId>> pages;
  std::vector<Segment> segments;

  // `count` sequences with `position` tokens that get `rows` more. Each group of `beams` shares all
  // pages but the last.
  Sequences(int count, int position, int rows, int beams = 1) {
    const int each = (position + rows) / kPageTokens + 1, shared = position / kPageTokens - 1;
    pages.resize(std::size_t(count));
    for (int i = 0; i < count; ++i) {
      for (int p = 0; p < each; ++p)
        pages[i].push_back(PageId{(p < shared ? i / beams * beams : i) * each + p});
      segments.push_back({i * rows, rows, position, pages[i], StateId{i}});
    }
    ids.resize(std::size_t(count * rows));
  }
  int page_count() const { return static_cast<int>(pages.size() * pages[0].size()); }
};

// All GEMMs of one step of a model with tied embeddings.
void bench_products(Ops& ops, const Settings& settings, const Limits& limits,
                    const std::string& name, int hidden, int inner, int qkv, int layers,
                    int vocab) {
  std::vector<std::unique_ptr<PackedMatrix>> weights;
  double elements = 0;
  const double packing = seconds([&] {
    for (int layer = 0; layer < layers; ++layer) {
      weights.push_back(random_weights(ops, qkv, hidden));
      weights.push_back(random_weights(ops, hidden, hidden));
      weights.push_back(random_weights(ops, 2 * inner, hidden));
      weights.push_back(random_weights(ops, hidden, inner));
    }
    weights.push_back(random_weights(ops, vocab, hidden));
  });
  for (const auto& weight : weights) elements += double(weight->out) * weight->in;
  const double width = settings.f32 ? 4 : 2;
  line(name + ": packing from bf16", packing, elements * (2 + width), 0, limits);
  std::vector<float> logits;
  for (const int rows : {1, 4, 16, 48, 256}) {
    const Sequences plain(rows, 0, 1);
    ops.begin({plain.ids, plain.segments});
    const Matrix x = noise(ops, rows, std::max(hidden, inner));
    const Matrix out = ops.matrix(rows, std::max(2 * inner, qkv));
    const bool with_head = rows <= 48;
    logits.resize(with_head ? std::size_t(rows) * std::size_t(vocab) : 0);
    const double used = elements - (with_head ? 0 : double(hidden) * vocab);
    const double time = best_seconds(rows > 48 ? 2 : 4, [&] {
      for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
        const PackedMatrix& weight = *weights[i];
        Matrix to = out, from = x;
        to.width = weight.out;
        from.width = weight.in;
        ops.matmul(to, from, weight, nullptr);
      }
      Matrix from = x;
      from.width = hidden;
      if (with_head) ops.logits(logits, from, *weights.back());
    });
    line(fmt::format("{}: products, {} rows", name, rows), time, used * width, 2 * used * rows,
         limits);
  }
}

// The products of five layers of the 7B shape, in the order of a step, by kind.
void bench_kinds(Ops& ops, const Settings& settings, const Limits& limits) {
  const int hidden = 3584, inner = 18944, qkv = 4608, layers = 5, most = 512;
  std::vector<std::unique_ptr<PackedMatrix>> weights[4];
  for (int layer = 0; layer < layers; ++layer) {
    weights[0].push_back(random_weights(ops, qkv, hidden));
    weights[1].push_back(random_weights(ops, hidden, hidden));
    weights[2].push_back(random_weights(ops, 2 * inner, hidden));
    weights[3].push_back(random_weights(ops, hidden, inner));
  }
  const char* kNames[] = {"qkv", "output", "gate and up", "down"};
  for (const int rows : {1, 16, 48, most}) {
    const Sequences plain(rows, 0, 1);
    ops.begin({plain.ids, plain.segments});
    const Matrix x = noise(ops, rows, inner), out = ops.matrix(rows, 2 * inner);
    const Matrix product = ops.matrix(rows, inner);
    double best[4] = {1e9, 1e9, 1e9, 1e9}, all = 0;
    for (int round = 0; round < (rows > 48 ? 3 : 8); ++round) {
      double times[4] = {};
      for (int layer = 0; layer < layers; ++layer) {
        for (int kind = 0; kind < 4; ++kind) {
          const PackedMatrix& weight = *weights[kind][std::size_t(layer)];
          Matrix to = out, from = x;
          to.width = weight.out;
          from.width = weight.in;
          times[kind] += seconds([&] {
            if (kind == 0) return ops.matmul(to, from, weight, nullptr);
            if (kind == 2)
              return ops.gated_matmul(product, from, weight, nullptr, Activation::Silu, to);
            ops.matmul_add(to, from, weight, nullptr);
          });
        }
      }
      for (int kind = 0; kind < 4; ++kind) best[kind] = std::min(best[kind], times[kind] / layers);
    }
    for (int kind = 0; kind < 4; ++kind) {
      const PackedMatrix& weight = *weights[kind][0];
      const double elements = double(weight.out) * weight.in;
      all += best[kind];
      line(fmt::format("7B: {}, {} rows", kNames[kind], rows), best[kind],
           elements * (settings.f32 ? 4 : 2), 2 * elements * rows, limits);
    }
    line(fmt::format("7B: a layer, {} rows", rows), all, 233e6 * (settings.f32 ? 4 : 2), 0, limits);
  }
}

// What sharing a loop among the threads costs, at once after the last one and after a pause.
void bench_loops(const Settings& settings) {
  ThreadPool pool(settings.threads);
  PoolTimes times;
  for (const int pause : {0, 20, 50, 100, 300, 1000}) {
    double sum = 0;
    constexpr int kLoops = 400;
    times = {};
    pool.watch(&times);
    for (int i = 0; i < kLoops; ++i) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(pause);
      while (std::chrono::steady_clock::now() < until) {
      }
      sum += seconds([&] {
        pool.split(settings.threads, 1, [&](int, int) {
          const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(5);
          while (std::chrono::steady_clock::now() < end) {
          }
        });
      });
    }
    double late = 0, joined = 0;
    for (const PoolTimes::Thread& thread : times.threads) {
      late += double(thread.late);
      joined += double(thread.joined);
    }
    fmt::print(
        "loop of 5 us a thread, {} threads, {:>4} us after the last: {:>7.1f} us, {:.1f} threads "
        "join, {:.1f} us late\n",
        settings.threads, pause, sum / kLoops * 1e6, joined / kLoops, late / joined / 1e3);
  }
}

void bench_head(Ops& ops, const Limits& limits) {
  const int hidden = 896, vocab = 151936;
  const auto weight = random_weights(ops, vocab, hidden);
  for (const int rows : {1, 16, 48}) {
    const Sequences plain(rows, 0, 1);
    std::vector<HeadJob> jobs(static_cast<std::size_t>(rows));
    for (const float temperature : {1.0f, 0.7f}) {
      for (int r = 0; r < rows; ++r) {
        jobs[r].row = r;
        jobs[r].sampling.temperature = temperature;
        jobs[r].key.position = static_cast<std::uint32_t>(r);
      }
      const double time = best_seconds(4, [&] {
        ops.begin({plain.ids, plain.segments});
        ops.head(noise(ops, rows, hidden), *weight, jobs);
      });
      line(fmt::format("head of {}, {} draws at temperature {}", vocab, rows, temperature), time,
           2.0 * hidden * vocab, 2.0 * hidden * vocab * rows, limits);
    }
  }
}

void bench_attention(Ops& ops, const Settings& settings, const Limits& limits) {
  struct Case {
    int sequences, context, rows, beams;
  };
  const int heads = 14, kv_heads = 2, width = 64;
  for (const Case c :
       {Case{1, 256, 1, 1}, Case{48, 256, 1, 1}, Case{48, 256, 1, 4}, Case{48, 1024, 1, 1},
        Case{48, 1024, 1, 4}, Case{16, 3000, 1, 1}, Case{1, 0, 512, 1}, Case{1, 2560, 512, 1}}) {
    const Sequences plain(c.sequences, c.context, c.rows, c.beams);
    const auto store = ops.make_kv_store({1, kv_heads, width}, plain.page_count());
    const int rows = c.sequences * c.rows;
    // Fills the context.
    if (c.context > 0) {
      const Sequences fill(c.sequences, 0, c.context);
      std::vector<Segment> segments = fill.segments;
      for (int i = 0; i < c.sequences; ++i) segments[i].pages = plain.pages[i];
      ops.begin({fill.ids, segments});
      const Matrix k = noise(ops, c.sequences * c.context, kv_heads * width);
      ops.store_kv(*store, 0, k, k);
    }
    ops.begin({plain.ids, plain.segments});
    const Matrix q = noise(ops, rows, heads * width), kv = noise(ops, rows, kv_heads * width);
    const Matrix out = ops.matrix(rows, heads * width);
    const double store_time = best_seconds(5, [&] { ops.store_kv(*store, 0, kv, kv); });
    const double time =
        best_seconds(5, [&] { ops.attention(out, q, *store, 0, heads, 0.125f, 0); });
    const double seen = (c.context + (c.rows + 1) / 2.0) * rows;
    const std::string what = fmt::format("{} x {} rows at {}{}", c.sequences, c.rows, c.context,
                                         c.beams > 1 ? ", four share" : "");
    line("attention 14/2 x 64: " + what, time,
         c.rows == 1 ? seen * 2 * kv_heads * width * (settings.f32 ? 4 : 2) : 0,
         seen * 4 * heads * width, limits);
    line("store_kv: " + what, store_time, 0, 0, limits);
  }
}

void bench_delta(Ops& ops, const Limits& limits) {
  const StateShape shape{1, 16, 16, 128, 128, 4};
  const Tensor ones = Tensor::from_f32(std::vector<float>(4 * 6144, 0.1f), DType::F32, {4 * 6144});
  const Tensor few = Tensor::from_f32(std::vector<float>(16, 0.1f), DType::F32, {16});
  const TensorView ones_view[] = {ones.view()}, few_view[] = {few.view()};
  const auto conv = ops.upload(ones_view), heads = ops.upload(few_view);
  for (const auto& [sequences, rows] : {std::pair{1, 1}, {16, 1}, {48, 1}, {16, 32}, {1, 256}}) {
    const auto store = ops.make_state_store(shape, sequences);
    for (int i = 0; i < sequences; ++i) ops.clear_state(*store, StateId{i});
    const int all = sequences * rows;
    // Single tokens at every position of a chunk of 16.
    const int calls = rows == 1 ? 16 : 1;
    double time = 1e9, conv_time = 1e9;
    for (int round = 0; round < 5; ++round) {
      double sum = 0;
      for (int position = 0; position < calls; ++position) {
        const Sequences plain(sequences, position, rows);
        ops.begin({plain.ids, plain.segments});
        const Matrix qkv = noise(ops, all, shape.conv_channels()), gates = noise(ops, all, 16);
        const Matrix out = ops.matrix(all, 2048), mixed = ops.matrix(all, shape.conv_channels());
        const DeltaNetInputs in{mixed, gates, gates, heads.get(), heads.get()};
        const auto conv_once = [&] { ops.causal_conv(mixed, qkv, *conv, *store, 0); };
        conv_time = std::min(conv_time, best_seconds(1, conv_once));
        sum += best_seconds(1, [&] { ops.delta_net(out, in, *store, 0); });
      }
      time = std::min(time, sum / calls);
    }
    const double state = 16.0 * 128 * 128;
    const std::string what = fmt::format("{} x {} rows", sequences, rows);
    const double bytes = sequences * state * 4 * ops.costs().state_passes;
    line("delta net 16 x 128 x 128: " + what, time, bytes, all * state * 7, limits);
    line("causal_conv: " + what, conv_time, 0, 0, limits);
  }
}

// The overhead of operations on very small inputs.
void bench_small(Ops& ops, const Limits& limits) {
  const int rows = 48, hidden = 256;
  const auto square = random_weights(ops, hidden, hidden), wide = random_weights(ops, 1536, hidden);
  const Tensor ones =
      Tensor::from_f32(std::vector<float>(std::size_t(hidden), 1.0f), DType::F32, {hidden});
  const TensorView view[] = {ones.view()};
  const auto norm = ops.upload(view);
  const Sequences plain(rows, 0, 1);
  ops.begin({plain.ids, plain.segments});
  const Matrix x = noise(ops, rows, hidden), y = noise(ops, rows, hidden);
  const Matrix z = noise(ops, rows, 1536);
  constexpr int kTimes = 200;
  const auto time = [&](const std::string& what, double flops, const std::function<void()>& work) {
    const double all = best_seconds(5, [&] {
      for (int i = 0; i < kTimes; ++i) work();
    });
    line("48 rows of 256: " + what, all / kTimes, 0, flops, limits);
  };
  time("rms_norm", 0, [&] { ops.rms_norm(y, x, *norm, 1e-6f, NormKind::Plain); });
  time("matmul 256 x 256", 2.0 * rows * hidden * hidden,
       [&] { ops.matmul(y, x, *square, nullptr); });
  time("matmul 1536 x 256", 2.0 * rows * 1536 * hidden, [&] { ops.matmul(z, x, *wide, nullptr); });
  const Matrix gate = z.columns(0, 768, 4), up = z.columns(768, 768, 4);
  time("silu_mul 768", 0, [&] { ops.silu_mul(gate, gate, up); });
}

Settings parse_settings(int argc, char** argv) {
  constexpr option kOptions[] = {{"isa", required_argument, nullptr, 'i'},
                                 {"threads", required_argument, nullptr, 't'},
                                 {"f32", no_argument, nullptr, 'f'},
                                 {"only", required_argument, nullptr, 'o'},
                                 {}};
  Settings settings;
  for (int name = 0; (name = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (name == 'i') settings.isa = optarg;
    if (name == 't') settings.threads = std::max(1, std::atoi(optarg));
    if (name == 'f') settings.f32 = true;
    if (name == 'o') settings.only = optarg;
    if (name == '?') std::exit(2);
  }
  return settings;
}

int run(int argc, char** argv) {
  const Settings settings = parse_settings(argc, argv);
  const auto ops = make_cpu_ops(settings.precision(), settings.threads, settings.isa);
  Limits limits{read_bandwidth(settings.threads), 0};
  // Without AVX-512 BF16 the peak is measured as a GEMM of 48 rows with weights that stay in the
  // cache.
  if (runs_here(Isa::Avx512Bf16) && !settings.f32 && ops->name().find("amx") == std::string::npos) {
    limits.flops = bf16_register_peak() * settings.threads;
  } else {
    const auto weight = random_weights(*ops, 64 * settings.threads, 512);
    const Sequences plain(48, 0, 1);
    ops->begin({plain.ids, plain.segments});
    const Matrix x = noise(*ops, 48, 512), out = ops->matrix(48, weight->out);
    const double time = best_seconds(200, [&] { ops->matmul(out, x, *weight, nullptr); });
    limits.flops = 2.0 * 48 * 512 * weight->out / time;
  }
  fmt::print("{}: reads {:.1f} GB/s, peak {:.0f} GFLOP/s\n", ops->name(), limits.bytes / 1e9,
             limits.flops / 1e9);
  const auto wanted = [&](const char* part) {
    return settings.only.empty() || settings.only == part;
  };
  if (wanted("products"))
    bench_products(*ops, settings, limits, "qwen2.5-0.5b", 896, 4864, 1152, 24, 151936);
  if (wanted("kinds")) bench_kinds(*ops, settings, limits);
  if (wanted("loops")) bench_loops(settings);
  if (wanted("head")) bench_head(*ops, limits);
  if (wanted("attention")) bench_attention(*ops, settings, limits);
  if (wanted("delta")) bench_delta(*ops, limits);
  if (wanted("small")) bench_small(*ops, limits);
  return 0;
}

}  // namespace
}  // namespace counterbeam

int main(int argc, char** argv) {
  try {
    return counterbeam::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_kernels: {}\n", error.what());
    return 1;
  }
}
