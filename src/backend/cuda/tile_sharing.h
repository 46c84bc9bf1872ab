// Which rows of a step read which tiles of keys. Sequences forked from one another have their older
// pages in common: such a tile goes to the multiprocessors once for up to kTileReaders rows. What a
// row computes does not depend on who reads beside it.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/kernels.h"

namespace counterbeam::cuda {

// Whether the tiles of a step of so many rows are worth listing. Depends on rounded counts alone.
bool tiles_are_shared(int rows, int longest_segment, int longest_context);

// Every row is a reader of every tile that it sees without a window, once.
void share_tiles(std::span<const DeviceSegment> segments, const int* pages,
                 std::vector<SharedTile>& tiles);

}  // namespace counterbeam::cuda
