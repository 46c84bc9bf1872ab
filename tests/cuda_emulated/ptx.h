// The instructions of the inline assembly, by their exact texts: ptx<"text">(operands in the order
// of their numbers). A text that is not listed does not compile.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

#include "cuda_emulated/arithmetic.h"
#include "cuda_emulated/copies.h"
#include "cuda_emulated/machine.h"
#include "cuda_emulated/warpgroup.h"

namespace counterbeam::emulated {

template <std::size_t kSize>
struct Text {
  char characters[kSize];
  constexpr Text(const char (&text)[kSize]) { std::copy_n(text, kSize, characters); }
  constexpr std::string_view view() const { return {characters, kSize - 1}; }
};

// Reads a text from its beginning.
struct Reader {
  std::string_view rest;
  bool fits = true;

  constexpr void take(std::string_view text) {
    fits = fits && rest.starts_with(text);
    if (fits) rest.remove_prefix(text.size());
  }
  constexpr int take_number() {
    int n = 0;
    for (; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; rest.remove_prefix(1))
      n = 10 * n + (rest[0] - '0');
    return n;
  }
  // "%first, %first + 1, ..."
  constexpr void take_operands(int first, int count) {
    for (int i = first; i < first + count; ++i) {
      take(i > first ? ", %" : "%");
      fits = fits && take_number() == i;
    }
  }
};

// The columns of a product of a warpgroup; 0: another instruction. Every letter is checked.
constexpr int product_columns(std::string_view text, bool in_registers) {
  Reader reader{text};
  reader.take("wgmma.mma_async.sync.aligned.m64n");
  const int n = reader.take_number();
  reader.take("k16.f32.bf16.bf16 {");
  reader.take_operands(0, n / 2);
  reader.take(in_registers ? "}, {" : "}, ");
  reader.take_operands(n / 2, in_registers ? 4 : 1);
  reader.take(in_registers ? "}, " : ", ");
  reader.take_operands(n / 2 + (in_registers ? 4 : 1), 1);
  reader.take(in_registers ? ", 1, 1, 1, 0;" : ", 1, 1, 1, 0, 0;");
  return reader.fits && reader.rest.empty() ? n : 0;
}

template <int kColumns, bool kInRegisters, typename Operands>
void issue_product(const Operands& operands) {
  constexpr std::size_t kSums = kColumns / 2;
  Issue issue{kColumns, &std::get<0>(operands), kInRegisters};
  const bool in_order = [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
    return ((&std::get<kAt>(operands) == issue.sums + kAt) && ...);
  }
  (std::make_index_sequence<kSums>());
  if (!in_order) fail("the sums of a product are not in order");
  if constexpr (kInRegisters) {
    issue.a = {&std::get<kSums>(operands), &std::get<kSums + 1>(operands),
               &std::get<kSums + 2>(operands), &std::get<kSums + 3>(operands)};
    issue.b_tile = std::get<kSums + 4>(operands);
  } else {
    issue.a_tile = std::get<kSums>(operands);
    issue.b_tile = std::get<kSums + 1>(operands);
  }
  current->warpgroup().issue(issue);
}

// Two 8 by 8 matrices of a warp, transposed. Lanes 0 to 15 have the addresses of their rows.
struct TwoMatrices {
  std::uint32_t row, matrices[2];
};
inline void store_transposed(const std::array<TwoMatrices*, 32>& lanes) {
  for (std::size_t i = 0; i < 128; ++i) {  // elements: [matrix][lane][half]
    const std::size_t matrix = i / 64, lane = i / 2 % 32, half = i % 2;
    const std::uint32_t row = lanes[8 * matrix + 2 * (lane % 4) + half]->row;
    if (row % 16 != 0) fail("a misaligned row of a matrix");
    const auto bits = std::uint16_t(lanes[lane]->matrices[matrix] >> 16 * half);
    std::memcpy(current->block->at(row, 16) + lane / 4 * 2, &bits, 2);
  }
}

template <typename... Words>
void load_shared(std::uint32_t address, Words&... words) {
  if (address % (4 * sizeof...(Words)) != 0) fail("a misaligned load from shared memory");
  const std::byte* from = current->block->at(address, 4 * sizeof...(Words));
  (std::memcpy(&words, std::exchange(from, from + 4), 4), ...);
}

// %i
template <std::size_t kAt, typename... Operands>
constexpr auto& at(const std::tuple<Operands...>& operands) {
  return std::get<kAt>(operands);
}

template <Text kText, typename... Operands>
void ptx(Operands&&... operands) {
  constexpr std::string_view text = kText.view();
  [[maybe_unused]] const std::tuple<Operands&...> all(operands...);
  if constexpr (product_columns(text, false) > 0) {
    issue_product<product_columns(text, false), false>(all);
  } else if constexpr (product_columns(text, true) > 0) {
    issue_product<product_columns(text, true), true>(all);
  } else if constexpr (text == "wgmma.fence.sync.aligned;") {
    current->warpgroup().fence();
  } else if constexpr (text == "wgmma.commit_group.sync.aligned;") {
    current->warpgroup().commit();
  } else if constexpr (text == "wgmma.wait_group.sync.aligned %0;") {
    current->warpgroup().wait(at<0>(all));
  } else if constexpr (text == "mov.b64 %0, {%1, %2};") {
    at<0>(all) = at<1>(all) | std::uint64_t(at<2>(all)) << 32;
  } else if constexpr (text == "mbarrier.init.shared::cta.b64 [%0], %1;") {
    barrier_init(at<0>(all), at<1>(all));
  } else if constexpr (text == "mbarrier.arrive.shared::cta.b64 _, [%0];") {
    barrier_arrive(at<0>(all), 0);
  } else if constexpr (text == "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;") {
    barrier_arrive(at<0>(all), at<1>(all));
  } else if constexpr (text ==
                       "{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, "
                       "[%0], %1; @!p bra again;}") {
    barrier_wait(at<0>(all), at<1>(all));
  } else if constexpr (text ==
                       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::"
                       "cache_hint [%0], [%1], %2, [%3], %4;") {
    copy_bytes(at<0>(all), at<1>(all), at<2>(all), at<3>(all));
  } else if constexpr (text ==
                       "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
                       "complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;") {
    copy_box(at<0>(all), at<1>(all), at<2>(all), at<3>(all), at<4>(all));
  } else if constexpr (text == "discard.global.L2 [%0], 128;") {
    std::memset(const_cast<void*>(at<0>(all)), 0xff, 128);
  } else if constexpr (text == "bar.sync 1, 256;") {
    sync_block(1, 256);
  } else if constexpr (text == "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};") {
    TwoMatrices mine{at<0>(all), {at<1>(all), at<2>(all)}};
    together(text.data(), ~0u, mine, store_transposed);
  } else if constexpr (text == "ld.shared.u32 %0, [%1];") {
    load_shared(at<1>(all), at<0>(all));
  } else if constexpr (text == "ld.shared.v2.u32 {%0, %1}, [%2];") {
    load_shared(at<2>(all), at<0>(all), at<1>(all));
  } else if constexpr (text == "ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];") {
    load_shared(at<4>(all), at<0>(all), at<1>(all), at<2>(all), at<3>(all));
  } else if constexpr (text == "st.release.gpu.global.u32 [%0], %1;") {
    store_release(at<0>(all), unsigned(at<1>(all)));
  } else if constexpr (text == "ld.acquire.gpu.global.u32 %0, [%1];") {
    at<0>(all) = load_acquire(at<1>(all));
  } else if constexpr (text == "mul.rn.bf16x2 %0, %1, %2;") {
    at<0>(all) = multiply_pairs(at<1>(all), at<2>(all));
  } else if constexpr (text == "add.rn.bf16x2 %0, %1, %2;") {
    at<0>(all) = add_pairs(at<1>(all), at<2>(all));
  } else if constexpr (text == "fma.rn.bf16x2 %0, %1, %2, %3;") {
    at<0>(all) = fma_pairs(at<1>(all), at<2>(all), at<3>(all));
  } else if constexpr (text == "cvt.rn.bf16x2.f32 %0, %1, %2;") {
    at<0>(all) = round_to_bf16(at<2>(all)) | round_to_bf16(at<1>(all)) << 16;
  } else if constexpr (text == "cvt.rn.f16x2.e4m3x2 %0, %1;") {
    const __half2_raw both = __nv_cvt_fp8x2_to_halfraw2(at<1>(all), __NV_E4M3);
    at<0>(all) = both.x | std::uint32_t(both.y) << 16;
  } else {
    // These change neither what a thread computes nor the order of anything here: launches run one
    // after the other.
    static_assert(text.starts_with("setmaxnreg.") || text.starts_with("griddepcontrol.") ||
                      text == "fence.mbarrier_init.release.cluster;" ||
                      text == "fence.proxy.async.shared::cta;",
                  "an instruction that is not emulated");
  }
}

}  // namespace counterbeam::emulated
