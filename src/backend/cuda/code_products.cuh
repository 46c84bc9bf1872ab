// Chooses the instance of code_kernel for a route; one source file per route, since they take long
// to compile.
#pragma once

#include "backend/cuda/code_kernel.cuh"

namespace counterbeam::cuda {

// The launches of one route.
struct CodeLauncher {
  void (*prepare)();
  void (*run)(cudaStream_t stream, int tile_rows, Finish finish, CodeParameters p,
              const CUtensorMap& rows);
};

template <CodeRoute kRoute>
struct CodeRouteKernels {
  template <int N, Finish kFinish>
  static void run_finish(cudaStream_t stream, CodeParameters p, const CUtensorMap& rows) {
    using Tile = CodeTile<N>;
    p.stages = Tile::stages(p.codes);
    p.stage_memory = Tile::stage_memory(p.codes);
    const ProductWork& work = p.product.work;
    const int cluster = work.split ? work.parts : 1;
    launch_clusters(stream, "product of codes", code_kernel<N, kRoute, kFinish>, unsigned(cluster),
                    unsigned(work.workers * cluster), Tile::kThreads,
                    std::size_t(Tile::bytes(p.codes)), p, rows);
  }

  template <int N>
  static void run_tile(cudaStream_t stream, Finish finish, const CodeParameters& p,
                       const CUtensorMap& rows) {
    switch (finish) {
      case Finish::Store:
        return run_finish<N, Finish::Store>(stream, p, rows);
      case Finish::Add:
        return run_finish<N, Finish::Add>(stream, p, rows);
      case Finish::SiluMul:
        return run_finish<N, Finish::SiluMul>(stream, p, rows);
      case Finish::GeluMul:
        return run_finish<N, Finish::GeluMul>(stream, p, rows);
      case Finish::StoreFloat:
        return run_finish<N, Finish::StoreFloat>(stream, p, rows);
    }
  }

  static void run(cudaStream_t stream, int tile_rows, Finish finish, CodeParameters p,
                  const CUtensorMap& rows) {
    if (tile_rows == 16) return run_tile<16>(stream, finish, p, rows);
    if (tile_rows == 48) return run_tile<48>(stream, finish, p, rows);
    run_tile<128>(stream, finish, p, rows);
  }

  template <int N>
  static void prepare_tile() {
    const auto allow = [](auto kernel) {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 CodeTile<N>::kMemory + 1024),
            "asking for shared memory");
    };
    allow(code_kernel<N, kRoute, Finish::Store>);
    allow(code_kernel<N, kRoute, Finish::Add>);
    allow(code_kernel<N, kRoute, Finish::SiluMul>);
    allow(code_kernel<N, kRoute, Finish::GeluMul>);
    allow(code_kernel<N, kRoute, Finish::StoreFloat>);
  }

  static void prepare() {
    prepare_tile<16>();
    prepare_tile<48>();
    prepare_tile<128>();
  }
};

template <CodeRoute kRoute>
CodeLauncher code_launcher();

}  // namespace counterbeam::cuda
