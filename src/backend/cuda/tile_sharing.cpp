#include "backend/cuda/tile_sharing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace counterbeam::cuda {
namespace {

constexpr int kMostRows = 8;           // of a segment; longer segments share no tiles
constexpr long kMostTiles = 1L << 17;  // about 6 MB

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
    find_groups(0, static_cast<int>(order_.size()), 0);
    int end = 0;
    for (const Group& group : groups_) end = std::max(end, group.end_tile);
    for (int tile = 0; tile < end; ++tile) {
      for (const Group& group : groups_) {
        if (group.first_tile <= tile && tile < group.end_tile) read_together(group, tile);
      }
    }
    for (const DeviceSegment& segment : segments_) read_new_tiles(segment);
  }

 private:
  // Settled tiles [first_tile, end_tile) that several segments share, and the readers of each such
  // tile: readers_[first_readers, end_readers).
  struct Group {
    int first_tile, end_tile, first_readers, end_readers;
    const DeviceSegment* any;
  };

  static int settled_tiles(const DeviceSegment& segment) { return segment.position / kTileKeys; }
  const DeviceSegment& segment(int place) const {
    return segments_[std::size_t(order_[std::size_t(place)])];
  }
  const int* pages(const DeviceSegment& of, int tile) const {
    return pages_ + of.first_page + tile * kTilePages;
  }
  // The pages of a settled tile; kNoPages, which sorts last, if there is none.
  Pages settled_pages(int index, int tile) const {
    const DeviceSegment& of = segments_[std::size_t(index)];
    if (tile >= settled_tiles(of)) return kNoPages;
    return {pages(of, tile)[0], pages(of, tile)[1]};
  }

  // Finds the groups among segments order_[first, end), which share all settled tiles before
  // `tile`.
  void find_groups(int first, int end, int tile) {
    std::sort(order_.begin() + first, order_.begin() + end, [&](int a, int b) {
      return std::pair(settled_pages(a, tile), a) < std::pair(settled_pages(b, tile), b);
    });
    const auto pages_at = [&](int place) {
      return settled_pages(order_[std::size_t(place)], tile);
    };
    while (first < end && pages_at(first) != kNoPages) {
      int to = first + 1;
      while (to < end && pages_at(to) == pages_at(first)) ++to;
      add_group(first, to, tile);
      first = to;
    }
  }
  // Segments order_[first, end) share `tile`, and perhaps later tiles.
  void add_group(int first, int end, int tile) {
    int common = settled_tiles(segment(first)), most = common;
    for (int place = first + 1; place < end; ++place) {
      most = std::max(most, settled_tiles(segment(place)));
      common = std::min(common, settled_tiles(segment(place)));
      const int* of_first = pages(segment(first), tile);
      const int* differs =
          std::mismatch(of_first, pages(segment(first), common), pages(segment(place), tile)).first;
      common = tile + static_cast<int>(differs - of_first) / kTilePages;
    }
    const auto first_readers = static_cast<int>(readers_.size());
    for (int place = first; place < end; ++place) {
      const DeviceSegment& of = segment(place);
      for (int i = 0; i < of.rows; ++i) {
        if (static_cast<int>(readers_.size()) == first_readers ||
            readers_.back().readers == kTileReaders)
          readers_.push_back({});
        add_reader(readers_.back(), of, i);
      }
    }
    groups_.push_back(
        {tile, common, first_readers, static_cast<int>(readers_.size()), &segment(first)});
    if (common < most) find_groups(first, end, common);
  }

  void read_together(const Group& group, int tile) {
    for (int i = group.first_readers; i < group.end_readers; ++i) {
      tiles_.push_back(readers_[std::size_t(i)]);
      SharedTile& shared = tiles_.back();
      shared.tile = tile;
      std::copy_n(pages(*group.any, tile), kTilePages, shared.pages);
      shared.stored = kTileKeys;
      shared.settled = true;
    }
  }

  // Tiles that this step writes to belong to one segment each.
  void read_new_tiles(const DeviceSegment& of) {
    const int end = of.position + of.rows;
    for (int tile = settled_tiles(of); tile * kTileKeys < end; ++tile) {
      SharedTile shared{};
      shared.tile = tile;
      shared.stored = short(std::min(kTileKeys, end - tile * kTileKeys));
      shared.pages[0] = pages(of, tile)[0];
      if (shared.stored > kPageTokens) shared.pages[1] = pages(of, tile)[1];
      for (int i = std::max(0, tile * kTileKeys - of.position); i < of.rows; ++i) {
        if (shared.readers == kTileReaders) {
          tiles_.push_back(shared);
          shared.readers = 0;
        }
        add_reader(shared, of, i);
      }
      tiles_.push_back(shared);
    }
  }

  static void add_reader(SharedTile& tile, const DeviceSegment& of, int row) {
    tile.row[tile.readers] = of.first_row + row;
    tile.position[tile.readers] = of.position + row;
    ++tile.readers;
  }

  std::span<const DeviceSegment> segments_;
  const int* pages_;
  std::vector<SharedTile>& tiles_;
  std::vector<int> order_;
  std::vector<Group> groups_;
  std::vector<SharedTile> readers_;  // of the groups; only the rows are set
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
