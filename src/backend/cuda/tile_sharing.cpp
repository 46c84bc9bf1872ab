#include "backend/cuda/tile_sharing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace counterbeam::cuda {
namespace {

constexpr int kMostRows = 8;           // of a segment; longer ones read tiles on their own
constexpr long kMostTiles = 1L << 17;  // some 6 MB

using Pages = std::pair<int, int>;  // of a tile
static_assert(kTilePages == 2);
constexpr Pages kNoPages{std::numeric_limits<int>::max(), 0};

class Sharing {
 public:
  Sharing(std::span<const DeviceSegment> segments, const int* pages, std::vector<SharedTile>& tiles)
      : segments_(segments), pages_(pages), tiles_(tiles), order_(segments.size()) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  void run() {
    tiles_.clear();
    std::vector<Group> groups, next;
    if (!order_.empty()) groups.push_back({0, static_cast<int>(order_.size())});
    for (int tile = 0; !groups.empty(); ++tile) {
      next.clear();
      for (const Group& group : groups) split(group, tile, next);
      groups.swap(next);
    }
    for (const DeviceSegment& segment : segments_) read_new_tiles(segment);
  }

 private:
  // Segments order_[first, end), which share all settled tiles so far.
  struct Group {
    int first, end;
  };

  static int settled_tiles(const DeviceSegment& segment) { return segment.position / kTileKeys; }
  const DeviceSegment& segment(int place) const {
    return segments_[std::size_t(order_[std::size_t(place)])];
  }
  // Of a settled tile; kNoPages, which come last, where there is none.
  Pages pages(int index, int tile) const {
    const DeviceSegment& of = segments_[std::size_t(index)];
    if (tile >= settled_tiles(of)) return kNoPages;
    const int* first = pages_ + of.first_page + tile * kTilePages;
    return {first[0], first[1]};
  }

  // Those of a group that have this tile, by its pages.
  void split(Group group, int tile, std::vector<Group>& next) {
    if (all_alike(group, tile)) return read_together(group, tile, next);
    const auto first = order_.begin() + group.first, end = order_.begin() + group.end;
    std::sort(first, end, [&](int a, int b) {
      return std::pair(pages(a, tile), a) < std::pair(pages(b, tile), b);
    });
    for (int from = group.first; from < group.end && has(from, tile);) {
      int to = from + 1;
      while (to < group.end && all_alike({from, to + 1}, tile)) ++to;
      read_together({from, to}, tile, next);
      from = to;
    }
  }
  bool has(int place, int tile) const { return tile < settled_tiles(segment(place)); }
  bool all_alike(Group group, int tile) const {
    const Pages of_first = pages(order_[std::size_t(group.first)], tile);
    for (int place = group.first; place < group.end; ++place) {
      if (pages(order_[std::size_t(place)], tile) != of_first) return false;
    }
    return of_first != kNoPages;
  }

  void read_together(Group group, int tile, std::vector<Group>& next) {
    next.push_back(group);
    open_tile(segment(group.first), tile, true);
    for (int place = group.first; place < group.end; ++place) {
      const DeviceSegment& of = segment(place);
      for (int i = 0; i < of.rows; ++i) add_reader(of.first_row + i, of.position + i);
    }
  }

  // Tiles that this step writes to.
  void read_new_tiles(const DeviceSegment& of) {
    for (int tile = settled_tiles(of); tile * kTileKeys < of.position + of.rows; ++tile) {
      open_tile(of, tile, false);
      for (int i = std::max(0, tile * kTileKeys - of.position); i < of.rows; ++i)
        add_reader(of.first_row + i, of.position + i);
    }
  }

  void open_tile(const DeviceSegment& of, int tile, bool settled) {
    const int* pages = pages_ + of.first_page + tile * kTilePages;
    const int stored = std::min(kTileKeys, of.position + of.rows - tile * kTileKeys);
    const int second = stored > kPageTokens ? pages[1] : 0;
    tiles_.push_back({tile, {pages[0], second}, short(stored), settled, 0, {}, {}});
  }
  void add_reader(int row, int position) {
    if (tiles_.back().readers == kTileReaders) {
      const SharedTile more = tiles_.back();
      tiles_.push_back(more);
      tiles_.back().readers = 0;
    }
    SharedTile& tile = tiles_.back();
    tile.row[tile.readers] = row;
    tile.position[tile.readers] = position;
    ++tile.readers;
  }

  std::span<const DeviceSegment> segments_;
  const int* pages_;
  std::vector<SharedTile>& tiles_;
  std::vector<int> order_;
};

}  // namespace

bool tiles_are_shared(int rows, int longest_segment, int longest_context) {
  return longest_segment <= kMostRows &&
         long{rows} * (longest_context / kTileKeys + 1) <= kMostTiles;
}

void share_tiles(std::span<const DeviceSegment> segments, const int* pages,
                 std::vector<SharedTile>& tiles) {
  Sharing(segments, pages, tiles).run();
}

}  // namespace counterbeam::cuda
