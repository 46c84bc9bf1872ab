#include "cli/out_of_memory.h"

#include <gmp.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>

#include "base/output.h"

namespace counterbeam::cli {
namespace {

std::terminate_handler other_endings;

[[noreturn]] void end_out_of_memory() {
  write_message("counterbeam: ");
  write_message(kOutOfMemory);
  write_message("\n");
  ::_exit(1);  // no destructors: they might need memory too
}

// An exception that escaped from where none may, such as a destructor.
void end_program() {
  if (const std::exception_ptr error = std::current_exception()) {
    try {
      std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
      end_out_of_memory();
    } catch (...) {
    }
  }
  other_endings();
}

void* gmp_allocate(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) end_out_of_memory();
  return memory;
}

void* gmp_reallocate(void* old, std::size_t, std::size_t size) {
  void* memory = std::realloc(old, size);
  if (memory == nullptr) end_out_of_memory();
  return memory;
}

void gmp_free(void* memory, std::size_t) {
  std::free(memory);
}

}  // namespace

void end_cleanly_without_memory() {
  other_endings = std::set_terminate(end_program);
  mp_set_memory_functions(gmp_allocate, gmp_reallocate, gmp_free);
}

}  // namespace counterbeam::cli
