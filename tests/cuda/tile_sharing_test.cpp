// Checks which rows read which tiles against a naive list, over random forks. Needs no device.
#include "backend/cuda/tile_sharing.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace counterbeam::cuda {
namespace {

struct Sequences {
  std::vector<DeviceSegment> segments;
  std::vector<int> pages;
  int rows = 0;

  void add(int position, int count, const std::vector<int>& ids) {
    segments.push_back({rows, count, position, int(pages.size()), 0});
    pages.insert(pages.end(), ids.begin(), ids.end());
    rows += count;
  }
  std::vector<SharedTile> shared() const {
    std::vector<SharedTile> tiles;
    share_tiles(segments, pages.data(), tiles);
    return tiles;
  }
};

// Every row reads every tile up to its own position once, from its own pages, grouped with rows
// that have the same pages. Pages that this step writes are read by their own sequence only.
void expect_right(const Sequences& of) {
  std::map<std::pair<int, int>, int> reads;  // row, tile
  std::vector<int> segment_of(std::size_t(of.rows));
  for (std::size_t s = 0; s < of.segments.size(); ++s) {
    for (int i = 0; i < of.segments[s].rows; ++i)
      segment_of[std::size_t(of.segments[s].first_row + i)] = int(s);
  }
  for (const SharedTile& tile : of.shared()) {
    ASSERT_GE(tile.readers, 1);
    ASSERT_LE(tile.readers, kTileReaders);
    std::set<int> sequences;
    for (int i = 0; i < tile.readers; ++i) {
      const int owner = segment_of[std::size_t(tile.row[i])];
      const DeviceSegment& segment = of.segments[std::size_t(owner)];
      sequences.insert(owner);
      EXPECT_EQ(tile.position[i], segment.position + tile.row[i] - segment.first_row);
      EXPECT_GE(tile.position[i], tile.tile * kTileKeys);
      ++reads[{tile.row[i], tile.tile}];
      const int length = segment.position + segment.rows;
      EXPECT_EQ(tile.stored, std::min(kTileKeys, length - tile.tile * kTileKeys));
      EXPECT_EQ(tile.settled != 0, (tile.tile + 1) * kTileKeys <= segment.position);
      for (int p = 0; p < kTilePages; ++p) {
        const int page = tile.tile * kTilePages + p;
        if (page * kPageTokens >= length) continue;
        EXPECT_EQ(tile.pages[p], of.pages[std::size_t(segment.first_page + page)]);
      }
    }
    EXPECT_TRUE(tile.settled != 0 || sequences.size() == 1);
  }
  std::size_t expected = 0;
  for (const DeviceSegment& segment : of.segments) {
    for (int i = 0; i < segment.rows; ++i) {
      for (int tile = 0; tile <= (segment.position + i) / kTileKeys; ++tile, ++expected)
        EXPECT_EQ((reads[{segment.first_row + i, tile}]), 1);
    }
  }
  EXPECT_EQ(reads.size(), expected);
}

std::vector<int> numbers(int first, int count) {
  std::vector<int> ids;
  for (int i = 0; i < count; ++i) ids.push_back(first + i);
  return ids;
}

TEST(TileSharing, BeamsOfASurvivorReadItsTilesOnce) {
  Sequences of;
  for (int beam = 0; beam < 16; ++beam) {
    std::vector<int> ids = numbers(beam % 4 * 100, 8);  // 4 tiles of survivor beam % 4
    ids.push_back(1000 + beam);
    of.add(260, 1, ids);
  }
  expect_right(of);
  EXPECT_EQ(of.shared().size(), 4u * 4 + 16);
}

TEST(TileSharing, WithoutSharingEveryRowHasItsOwnTiles) {
  Sequences of;
  for (int beam = 0; beam < 5; ++beam) of.add(130, 1, numbers(beam * 10, 5));
  expect_right(of);
  EXPECT_EQ(of.shared().size(), 5u * 3);
}

TEST(TileSharing, ASharedPromptIsSplitAmongReaders) {
  Sequences of;
  for (int beam = 0; beam < 10; ++beam) of.add(64, 1, {1, 2, 10 + beam});
  expect_right(of);
  EXPECT_EQ(of.shared().size(), 3u + 10);
}

TEST(TileSharing, EmptyAndShortSequences) {
  Sequences of;
  EXPECT_TRUE(of.shared().empty());
  of.add(0, 1, {3});
  of.add(0, 3, {4});
  of.segments.push_back({4, 0, 0, 0, 0});  // padding
  expect_right(of);
}

TEST(TileSharing, RandomForks) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    struct Sequence {
      int position;
      std::vector<int> pages;
    };
    int fresh = 0;
    std::vector<Sequence> alive{{0, {}}};
    const auto grow = [&](Sequence& sequence, int tokens) {
      sequence.position += tokens;
      while (int(sequence.pages.size()) * kPageTokens < sequence.position)
        sequence.pages.push_back(fresh++);
    };
    for (int i = 0; i < 12; ++i) {
      Sequence child = alive[random() % alive.size()];
      if (child.position % kPageTokens != 0) child.pages.back() = fresh++;  // copied on write
      grow(child, int(random() % 150));
      alive.push_back(child);
    }
    Sequences of;
    std::shuffle(alive.begin(), alive.end(), random);
    for (Sequence& sequence : alive) {
      if (sequence.position % kPageTokens != 0) sequence.pages.back() = fresh++;
      const int position = sequence.position, rows = 1 + int(random() % 3 == 0 ? random() % 40 : 0);
      grow(sequence, rows);
      of.add(position, rows, sequence.pages);
    }
    expect_right(of);
  }
}

}  // namespace
}  // namespace counterbeam::cuda
