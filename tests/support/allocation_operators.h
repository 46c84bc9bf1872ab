// Counting operators new and delete. Include in exactly one source file of a test program.
#pragma once

#include "support/allocation_watch.h"

void* operator new(std::size_t size) {
  return counterbeam::testing::counted_new(size, 1);
}
void* operator new[](std::size_t size) {
  return counterbeam::testing::counted_new(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counterbeam::testing::counted_new(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counterbeam::testing::counted_new(size, static_cast<std::size_t>(alignment));
}
// Used by std::stable_sort.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return counterbeam::testing::counted_new(size, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  counterbeam::testing::counted_delete(memory);
}
void operator delete(void* memory) noexcept {
  counterbeam::testing::counted_delete(memory);
}
void operator delete[](void* memory) noexcept {
  counterbeam::testing::counted_delete(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  counterbeam::testing::counted_delete(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  counterbeam::testing::counted_delete(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  counterbeam::testing::counted_delete(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  counterbeam::testing::counted_delete(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  counterbeam::testing::counted_delete(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  counterbeam::testing::counted_delete(memory);
}
