// Lists the tiles of keys of a step and the rows that read them. Forked sequences share their older
// pages: such a tile is loaded into shared memory once for up to kTileReaders rows. Sharing does
// not change a row's result.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/kernels.h"

namespace counterbeam::cuda {

// Whether listing the tiles of a step is worthwhile. Depends on rounded counts alone.
bool tiles_are_shared(int rows, int longest_segment, int longest_context);

// Every row is listed exactly once for every tile it sees (ignoring windows).
void share_tiles(std::span<const DeviceSegment> segments, const int* pages,
                 std::vector<SharedTile>& tiles);

}  // namespace counterbeam::cuda
