// A safetensors file that is written tensor by tensor over several runs of the program. Until
// finish() it lies in a folder of ours, with a journal of the tensors that are complete: a tensor
// is entered after its data has reached the disk, so a killed run or a power failure loses only
// work that is not in the journal.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tensor/safetensors.h"

namespace counterbeam {

// How far a matrix is from its source.
struct CodeError {
  double error = 0, energy = 0;
};

class ShardFile {
 public:
  // Opens work/NAME, or makes it. Tensors are entered in the order of `names`; what an earlier run
  // has entered is kept, and a journal that does not fit starts anew. Data is flushed to disk and
  // entered after every `flush_bytes`.
  ShardFile(const std::filesystem::path& work, const std::string& name,
            const SafetensorsLayout& layout, std::vector<std::string> names,
            std::size_t flush_bytes);

  // Of the tensors that earlier runs have completed, in order.
  std::span<const CodeError> done() const { return done_; }

  void write(std::size_t offset, std::span<const std::byte> bytes);
  // The next tensor is complete.
  void enter(const CodeError& error);
  // Flushes everything and moves the file to `target`; the journal stays. REQUIRES that all tensors
  // are entered.
  void finish(const std::filesystem::path& target);

 private:
  struct Descriptor {
    explicit Descriptor(const std::filesystem::path& path);
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number;
  };
  void flush();
  [[noreturn]] void fail() const;

  std::filesystem::path path_, journal_path_;
  std::vector<std::string> names_;
  std::size_t flush_bytes_, unflushed_ = 0;
  Descriptor file_, journal_;
  std::vector<CodeError> done_;
  std::size_t entered_ = 0;
  std::size_t journal_bytes_ = 0;
  std::string pending_;  // lines for the journal
};

// The entries of a finished file's journal; fewer if it is damaged.
std::vector<CodeError> journal_of(const std::filesystem::path& work, const std::string& name,
                                  std::span<const std::string> names);

// What to say of a failed write: the file, the reason and the remedy.
[[noreturn]] void cannot_write(const std::filesystem::path& path, int error);

}  // namespace counterbeam
