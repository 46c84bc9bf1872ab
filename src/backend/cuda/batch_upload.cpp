#include "backend/cuda/batch_upload.h"

#include <algorithm>
#include <cstring>

#include "backend/cuda/launch.h"
#include "backend/cuda/tile_sharing.h"

namespace counterbeam::cuda {
namespace {

// The fixed size of the upload buffer, so that addresses never change. A larger step is an error.
constexpr std::size_t kBytes = std::size_t{16} << 20;
constexpr std::size_t kRowBytes = std::size_t{1} << 20;

std::size_t after(std::size_t place, std::size_t bytes) {
  return (place + bytes + 15) / 16 * 16;
}

int pages_of(const Segment& segment) {
  const int needed = (segment.position + segment.rows + kPageTokens - 1) / kPageTokens;
  return segment.pages.empty() ? 0 : needed;  // no layer keeps keys
}

}  // namespace

void BatchUpload::make_room(std::size_t bytes) {
  check(bytes <= kBytes ? cudaSuccess : cudaErrorInvalidValue,
        "a step with too many rows and pages");
  host_.want(kBytes);
  device_.want(kBytes, "the rows of a step");
}

DeviceBatch BatchUpload::write(const Batch& batch, int rows, int segments, int context) {
  DeviceBatch on_device{};
  std::size_t page_count = 0;
  for (const Segment& segment : batch.segments) {
    page_count += std::size_t(pages_of(segment));
    on_device.longest_segment = std::max(on_device.longest_segment, segment.rows);
  }
  // A step that may be a graph reserves the most that its rows can need, so that addresses depend
  // on rounded counts alone.
  if (on_device.longest_segment == 1 && rows <= kGraphRows)
    page_count = std::size_t(segments) * std::size_t(context / kPageTokens + 1);
  const bool keys = !batch.segments.empty() && pages_of(batch.segments[0]) > 0;
  const bool sharing = keys && tiles_are_shared(rows, on_device.longest_segment, context);
  const auto ints = [](std::size_t n) { return n * sizeof(int); };
  Places at{};
  at.row_segment = after(0, ints(std::size_t(rows)));
  at.row_position = after(at.row_segment, ints(std::size_t(rows)));
  at.segments = after(at.row_position, ints(std::size_t(rows)));
  at.pages = after(at.segments, std::size_t(segments) * sizeof(DeviceSegment));
  at.tile_count = after(at.pages, ints(page_count));
  at.tiles = after(at.tile_count, sizeof(int));
  used_ = at.tiles;
  make_room(used_);

  const auto host = [&](std::size_t place) { return reinterpret_cast<int*>(host_.data() + place); };
  int *ids = host(0), *row_segment = host(at.row_segment), *row_position = host(at.row_position);
  auto* of_segment = reinterpret_cast<DeviceSegment*>(host_.data() + at.segments);
  int* pages = host(at.pages);
  const int real = static_cast<int>(batch.ids.size());
  std::copy(batch.ids.begin(), batch.ids.end(), ids);
  std::fill(ids + real, ids + rows, 0);
  std::fill(row_segment + real, row_segment + rows, 0);
  std::fill(row_position + real, row_position + rows, -1);
  int first_page = 0, index = 0;
  for (const Segment& segment : batch.segments) {
    for (int i = 0; i < segment.rows; ++i) {
      row_segment[segment.first_row + i] = index;
      row_position[segment.first_row + i] = segment.position + i;
    }
    of_segment[index++] = {segment.first_row, segment.rows, segment.position, first_page,
                           static_cast<int>(segment.state)};
    for (int i = 0; i < pages_of(segment); ++i)
      pages[first_page++] = static_cast<int>(segment.pages[std::size_t(i)]);
  }
  for (; index < segments; ++index) of_segment[index] = {real, 0, 0, 0, 0};
  if (sharing) {
    share_tiles({of_segment, batch.segments.size()}, pages, tiles_);
    used_ = after(at.tiles, tiles_.size() * sizeof(SharedTile));
    make_room(used_);
    *host(at.tile_count) = static_cast<int>(tiles_.size());
    std::memcpy(host_.data() + at.tiles, tiles_.data(), tiles_.size() * sizeof(SharedTile));
  }

  const auto device = [&](std::size_t place) {
    return reinterpret_cast<const int*>(device_.as<std::byte>() + place);
  };
  on_device.ids = device(0);
  on_device.row_segment = device(at.row_segment);
  on_device.row_position = device(at.row_position);
  on_device.segments =
      reinterpret_cast<const DeviceSegment*>(device_.as<std::byte>() + at.segments);
  on_device.pages = device(at.pages);
  if (sharing) {
    on_device.tile_count = device(at.tile_count);
    on_device.tiles = reinterpret_cast<const SharedTile*>(device_.as<std::byte>() + at.tiles);
  }
  on_device.rows = rows;
  on_device.segment_count = segments;
  on_device.longest_context = context;
  return on_device;
}

void BatchUpload::send(cudaStream_t stream) {
  check(cudaMemcpyAsync(device_.data(), host_.data(), used_, cudaMemcpyHostToDevice, stream),
        "copying a step's rows");
}

const int* BatchUpload::send_rows(cudaStream_t stream, std::span<const int> rows, int count) {
  host_rows_.want(kRowBytes);
  device_rows_.want(kRowBytes, "the rows of a step");
  const std::size_t bytes = std::size_t(count) * sizeof(int);
  check(bytes <= kRowBytes ? cudaSuccess : cudaErrorInvalidValue, "too many rows wanted");
  int* host = reinterpret_cast<int*>(host_rows_.data());
  std::copy(rows.begin(), rows.end(), host);
  std::fill(host + rows.size(), host + count, 0);
  check(cudaMemcpyAsync(device_rows_.data(), host, bytes, cudaMemcpyHostToDevice, stream),
        "copying row numbers");
  return device_rows_.as<int>();
}

}  // namespace counterbeam::cuda
