#include "cuda_emulated/warpgroup.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace counterbeam::emulated {
namespace {

constexpr std::uint32_t kInFlight = 0xffc0dead;  // NaN

float from_bf16(std::uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}

// Rows of 64 inputs in shared memory, as a descriptor says.
struct Tile {
  std::uint32_t start, eight_rows;

  explicit Tile(std::uint64_t descriptor)
      : start(std::uint32_t(descriptor & 0x3fff) << 4),
        eight_rows(std::uint32_t(descriptor >> 32 & 0x3fff) << 4) {
    if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0)
      fail("a descriptor without the 128-byte swizzle");
  }
  // The address of eight inputs of a row. The swizzle is one of addresses.
  std::uint32_t at(int row, int piece) const {
    const std::uint32_t plain =
        start + std::uint32_t(row / 8) * eight_rows + std::uint32_t(row % 8 * 128 + piece * 16);
    return plain ^ (plain >> 3 & 0x70);
  }
};

// 16 inputs of so many rows: [rows][16], or [16][rows] if turned.
std::vector<float> read_tile(Block& block, std::uint64_t descriptor, int rows, bool turned) {
  const Tile tile(descriptor);
  std::vector<float> values(std::size_t(rows * 16));
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < 16; k += 8) {
      std::uint16_t eight[8];
      std::memcpy(eight, block.at(tile.at(row, k / 8), sizeof(eight)), sizeof(eight));
      for (int i = 0; i < 8; ++i)
        values[std::size_t(turned ? (k + i) * rows + row : row * 16 + k + i)] = from_bf16(eight[i]);
    }
  }
  return values;
}

using Columns = float __attribute__((vector_size(64), aligned(4), may_alias));

// sums [64][n] += a [64][16] b [16][n], one product after the other. REQUIRES n % 16 == 0.
__attribute__((target_clones("avx512f", "avx2", "default"))) void multiply(float* sums,
                                                                           const float* a,
                                                                           const float* b, int n) {
  constexpr int kRows = 8;
  for (int row = 0; row < 64; row += kRows, sums += kRows * n, a += kRows * 16) {
    for (int column = 0; column < n; column += 16) {
      Columns sum[kRows];
      for (int r = 0; r < kRows; ++r)
        sum[r] = *reinterpret_cast<const Columns*>(sums + r * n + column);
      for (int k = 0; k < 16; ++k) {
        const Columns of_b = *reinterpret_cast<const Columns*>(b + k * n + column);
        for (int r = 0; r < kRows; ++r) sum[r] += a[r * 16 + k] * of_b;
      }
      for (int r = 0; r < kRows; ++r) *reinterpret_cast<Columns*>(sums + r * n + column) = sum[r];
    }
  }
}

// The first of the two rows of a tile that a thread has.
int row_of(int thread) {
  return thread / 32 * 16 + thread % 32 / 4;
}
// Where sum i of a thread lies in [64][n].
std::size_t place_of(int thread, int i, int n) {
  return std::size_t((row_of(thread) + i / 2 % 2 * 8) * n + i / 4 * 8 + thread % 4 * 2 + i % 2);
}

}  // namespace

void Warpgroup::fence() {
  maybe_pause();
  lane().fenced = true;
}

void Warpgroup::commit() {
  Lane& here = lane();
  here.groups.push_back(std::exchange(here.open, 0));
  here.fenced = false;
}

void Warpgroup::issue(const Issue& issue) {
  Lane& here = lane();
  if (!here.fenced) fail("a product without a fence before it");
  Product& product = product_of(here, issue);
  Sums& sums = sums_of(here, issue);
  ++sums.in_flight;
  if (product.issued == 0) product.sums = sums.index;
  if (product.sums != sums.index) fail("threads of a warpgroup add to different sums");
  here.pending.push_back(taken(issue, product));
  ++here.open;
  if (++product.issued < 128) return;
  if (!issue.in_registers) product.a = read_tile(block_, issue.a_tile, 64, false);
  product.b = read_tile(block_, issue.b_tile, issue.n, true);
  waiters_.wake();
}

Warpgroup::Product& Warpgroup::product_of(const Lane& here, const Issue& issue) {
  const std::uint64_t i = here.first + here.pending.size() - first_;
  if (i == products_.size()) {
    products_.emplace_back().issue = issue;
    if (issue.in_registers) products_.back().a.resize(64 * 16);
  }
  const Issue& same = products_[i].issue;
  if (same.n != issue.n || same.in_registers != issue.in_registers || same.a_tile != issue.a_tile ||
      same.b_tile != issue.b_tile)
    fail("threads of a warpgroup multiply different tiles");
  return products_[i];
}

// The sums in flight, beginning with those that the thread has.
Warpgroup::Sums& Warpgroup::sums_of(Lane& here, const Issue& issue) {
  for (Sums& sums : here.sums) {
    if (sums.at == issue.sums && sums.n == issue.n) return sums;
    if (issue.sums < sums.at + sums.n / 2 && sums.at < issue.sums + issue.n / 2)
      fail("products of different sizes add to the same sums");
  }
  int index = 0;
  while (std::any_of(here.sums.begin(), here.sums.end(),
                     [&](const Sums& sums) { return sums.index == index; }))
    ++index;
  if (sums_.size() <= std::size_t(index)) sums_.resize(std::size_t(index) + 1);
  std::vector<float>& all = sums_[std::size_t(index)];
  all.resize(std::max(all.size(), std::size_t(64 * issue.n)));
  const int thread = current->number % 128;
  for (int i = 0; i < issue.n / 2; ++i) {
    all[place_of(thread, i, issue.n)] = issue.sums[i];
    issue.sums[i] = std::bit_cast<float>(kInFlight);
  }
  return here.sums.emplace_back(Sums{issue.sums, issue.n, 0, index});
}

// Takes the registers of A into the product.
Warpgroup::Pending Warpgroup::taken(const Issue& issue, Product& product) {
  Pending pending{issue, {}};
  if (!issue.in_registers) return pending;
  const int thread = current->number % 128;
  for (int e = 0; e < 4; ++e) {
    const std::uint32_t pair = pending.a[std::size_t(e)] = *issue.a[std::size_t(e)];
    const int row = row_of(thread) + e % 2 * 8, k = e / 2 * 8 + thread % 4 * 2;
    product.a[std::size_t(row * 16 + k)] = from_bf16(pair & 0xffff);
    product.a[std::size_t(row * 16 + k + 1)] = from_bf16(pair >> 16);
  }
  return pending;
}

void Warpgroup::wait(int pending) {
  maybe_pause();
  Lane& here = lane();
  if (here.open > 0) fail("a wait before products are committed");
  while (here.groups.size() > std::size_t(pending)) {
    for (; here.groups.front() > 0; --here.groups.front()) deliver(here);
    here.groups.erase(here.groups.begin());
  }
}

void Warpgroup::deliver(Lane& here) {
  while (products_[here.first - first_].issued < 128) waiters_.wait();
  for (std::uint64_t i = first_; i <= here.first; ++i)
    if (!products_[i - first_].computed) compute(products_[i - first_]);
  const Pending done = here.pending.front();
  for (std::size_t e = 0; done.issue.in_registers && e < 4; ++e)
    if (*done.issue.a[e] != done.a[e]) fail("registers change under a product that reads them");
  deliver_sums(here, done.issue);
  here.pending.erase(here.pending.begin());
  ++products_[here.first++ - first_].delivered;
  for (; !products_.empty() && products_.front().delivered == 128; ++first_) products_.pop_front();
}

void Warpgroup::deliver_sums(Lane& here, const Issue& issue) {
  const auto sums = std::find_if(here.sums.begin(), here.sums.end(),
                                 [&](const Sums& s) { return s.at == issue.sums; });
  for (int i = 0; i < issue.n / 2; ++i)
    if (std::bit_cast<std::uint32_t>(issue.sums[i]) != kInFlight)
      fail("sums change under a product that adds to them");
  if (--sums->in_flight > 0) return;
  const std::vector<float>& all = sums_[std::size_t(sums->index)];
  for (int i = 0; i < issue.n / 2; ++i)
    issue.sums[i] = all[place_of(current->number % 128, i, issue.n)];
  here.sums.erase(sums);
}

void Warpgroup::compute(Product& product) {
  const Issue& issue = product.issue;
  const auto same = [](const std::vector<float>& x, const std::vector<float>& y) {
    return std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  };
  if (!same(read_tile(block_, issue.b_tile, issue.n, true), product.b) ||
      (!issue.in_registers && !same(read_tile(block_, issue.a_tile, 64, false), product.a)))
    fail("shared memory changes under a product that reads it");
  multiply(sums_[std::size_t(product.sums)].data(), product.a.data(), product.b.data(), issue.n);
  product.computed = true;
}

void Warpgroup::check_overwritten(std::uint32_t at, std::uint32_t bytes) const {
  const auto check = [&](std::uint64_t descriptor, int rows) {
    const std::uint32_t from = Tile(descriptor).start / 128 * 128;
    if (at < from + std::uint32_t(rows * 128) && from < at + bytes)
      fail("a bulk copy to memory that a product may still read");
  };
  for (const Product& product : products_) {
    if (product.delivered > 0) continue;  // a thread knows that it is complete
    check(product.issue.b_tile, product.issue.n);
    if (!product.issue.in_registers) check(product.issue.a_tile, 64);
  }
}

void Warpgroup::check_end() const {
  if (!products_.empty()) fail("a thread block ends before its products");
}

}  // namespace counterbeam::emulated
