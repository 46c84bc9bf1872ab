// Malformed GGUF files, and the exact error message of each.
#include <gtest/gtest.h>

#include "support/allocation_watch.h"
#include "support/bad_case.h"
#include "support/gguf_writer.h"

namespace counterbeam {
namespace {

using namespace testing;

const std::string kGgufTail = "; the file is damaged or not GGUF: download or convert it again";

// A file with these keys and no tensor.
std::string with_keys(const std::vector<std::string>& keys) {
  return gguf_bytes(keys, {}, "");
}

// A file with one tensor, of which the entry is given.
std::string with_tensor(const std::string& entry, std::size_t data = 64) {
  return gguf_bytes({}, {entry}, std::string(data, '\0'));
}

std::string with_shape(const std::vector<std::int64_t>& extents, std::uint32_t type = 0,
                       std::size_t data = 64) {
  return with_tensor(tensor_entry("a", extents, type, 0), data);
}

// "a" and "b" of 8 floats each, at these offsets.
std::string with_offsets(std::uint64_t a, std::uint64_t b, std::size_t data = 64) {
  return gguf_bytes({}, {tensor_entry("a", {8}, 0, a), tensor_entry("b", {8}, 0, b)},
                    std::string(data, '\0'));
}

std::string start_of(std::uint32_t version, std::uint64_t tensors, std::uint64_t keys,
                     const std::string& rest = "") {
  return "GGUF" + raw(version) + raw(tensors) + raw(keys) + rest;
}

std::vector<BadCase> start_cases() {
  return {
      {"empty file", "", "does not start with \"GGUF\" but with \"\"" + kGgufTail},
      {"three bytes", "GGU", "does not start with \"GGUF\" but with \"GGU\"" + kGgufTail},
      {"old format", "ggjt\x03", "does not start with \"GGUF\" but with \"ggjt\"" + kGgufTail},
      {"byte-swapped magic", "FUGG....",
       "does not start with \"GGUF\" but with \"FUGG\"" + kGgufTail},
      {"git lfs pointer", "version https://git-lfs.github.com/spec/v1\n",
       "is a Git LFS pointer: run git lfs pull to get the file itself" + kGgufTail},
      {"no version", "GGUF\x03", "ends at byte 5, inside the version" + kGgufTail},
      {"version 0", start_of(0, 0, 0),
       "is GGUF version 0, which is not supported (supported: 2, 3)"},
      {"version 1", start_of(1, 0, 0),
       "is GGUF version 1, which is not supported (supported: 2, 3); convert the model again"},
      {"version 4", start_of(4, 0, 0),
       "is GGUF version 4, which is not supported (supported: 2, 3)"},
      {"big-endian", start_of(0x03000000, 0, 0),
       "is a big-endian GGUF file (version 0x3000000), which is not supported; convert the model "
       "again for a little-endian machine"},
      {"no counts", "GGUF" + raw<std::uint32_t>(3),
       "ends at byte 8, inside the number of tensors" + kGgufTail},
      {"no number of keys", "GGUF" + raw<std::uint32_t>(3) + raw<std::uint64_t>(0),
       "ends at byte 16, inside the number of metadata keys" + kGgufTail},
      {"too many tensors for the file", start_of(3, 3, 0),
       "has 3 tensors, which do not fit into the 8 bytes that are left" + kGgufTail},
      {"most tensors", start_of(3, ~std::uint64_t{0}, 0),
       "has 18446744073709551615 tensors, which do not fit into the 8 bytes that are left" +
           kGgufTail},
      {"negative number of keys", start_of(3, 0, std::uint64_t{1} << 63),
       "has 9223372036854775808 metadata keys, which do not fit into the 0 bytes that are left" +
           kGgufTail},
      {"more keys than allowed", start_of(3, 0, 65537, std::string(65537 * 13, '\0')),
       "has 65537 metadata keys, more than the limit of 65536" + kGgufTail},
      {"more tensors than allowed", start_of(3, 65537, 0, std::string(65537 * 24, '\0')),
       "has 65537 tensors, more than the limit of 65536" + kGgufTail},
  };
}

std::vector<BadCase> key_cases() {
  const std::string wide(8, '\xff');
  return {
      {"empty key", with_keys({string_key("", "x")}), "metadata key 0 is empty" + kGgufTail},
      {"key longer than the file", start_of(3, 0, 1, wide + std::string(32, 'a')),
       "metadata key 0 has a length of 18446744073709551615 bytes, but 32 bytes are left" +
           kGgufTail},
      {"key of 64 KiB", with_keys({u32_key(std::string(65536, 'k'), 1)}),
       "metadata key 0 has 65536 bytes, more than the limit of 65535" + kGgufTail},
      {"key that is not UTF-8", with_keys({u32_key("\xff", 1)}),
       "metadata key 0 is not UTF-8" + kGgufTail},
      {"two keys of a name", with_keys({u32_key("a", 1), u32_key("b", 1), string_key("a", "")}),
       "metadata key \"a\" occurs twice" + kGgufTail},
      {"type 13", with_keys({gguf_string("a") + raw<std::uint32_t>(13) + raw<std::uint64_t>(0)}),
       "metadata \"a\" has type 13, which is not known (known: 0 to 12)" + kGgufTail},
      {"type -1", with_keys({gguf_string("a") + raw<std::int32_t>(-1) + raw<std::uint64_t>(0)}),
       "metadata \"a\" has type 4294967295, which is not known (known: 0 to 12)" + kGgufTail},
      {"no value", start_of(3, 0, 1, gguf_string("aa") + gguf_kind(GgufKind::U64)),
       "metadata \"aa\" has 1 elements of type u64, but 0 bytes are left" + kGgufTail},
      {"string longer than the file",
       with_keys({key_of("a", GgufKind::String, raw<std::uint64_t>(1 << 30) + "xxxx")}),
       "a string of metadata \"a\" has a length of 1073741824 bytes, but 19 bytes are left" +
           kGgufTail},
      {"array of arrays",
       with_keys({key_of("a", GgufKind::Array,
                         gguf_kind(GgufKind::Array) + raw<std::uint64_t>(1) + std::string(16, 0))}),
       "metadata \"a\" is an array of arrays, which the format does not have" + kGgufTail},
      {"array of an unknown type",
       with_keys({key_of("a", GgufKind::Array, raw<std::uint32_t>(99) + raw<std::uint64_t>(1))}),
       "metadata \"a\" has type 99, which is not known (known: 0 to 12)" + kGgufTail},
      {"array longer than the file",
       with_keys({array_key("a", GgufKind::U32, 100, std::string(16, '\0'))}),
       "metadata \"a\" has 100 elements of type u32, but 47 bytes are left" + kGgufTail},
      {"array whose size wraps",
       with_keys({array_key("a", GgufKind::F64, std::uint64_t{1} << 61, std::string(16, '\0'))}),
       "metadata \"a\" has 2305843009213693952 elements of type f64, but 47 bytes are left" +
           kGgufTail},
      {"array of strings longer than the file",
       with_keys({array_key("a", GgufKind::String, std::uint64_t{1} << 40, gguf_string("x"))}),
       "metadata \"a\" has 1099511627776 elements of type string, but 15 bytes are left" +
           kGgufTail},
      {"array of strings that ends early",
       start_of(3, 0, 1,
                array_key("a", GgufKind::String, 2, gguf_string("") + raw<std::uint64_t>(9))),
       "a string of metadata \"a\" has a length of 9 bytes, but 0 bytes are left" + kGgufTail},
      {"bool 2", with_keys({key_of("a", GgufKind::Bool, "\x02")}),
       "metadata \"a\" holds the bool 2, which is neither 0 nor 1" + kGgufTail},
      {"bool 255 in an array", with_keys({array_key("a", GgufKind::Bool, 2, "\x01\xff")}),
       "metadata \"a\" holds the bool 255, which is neither 0 nor 1" + kGgufTail},
      {"alignment 0", with_keys({u32_key("general.alignment", 0)}),
       "general.alignment 0 is not a power of two" + kGgufTail},
      {"alignment 48", with_keys({u32_key("general.alignment", 48)}),
       "general.alignment 48 is not a power of two" + kGgufTail},
      {"alignment of 2 MiB", with_keys({u32_key("general.alignment", 1 << 21)}),
       "general.alignment 2097152 is above the limit of 1048576" + kGgufTail},
      {"alignment as u64",
       with_keys({key_of("general.alignment", GgufKind::U64, raw<std::uint64_t>(32))}),
       "general.alignment is of type u64, not u32" + kGgufTail},
      {"alignment as string", with_keys({string_key("general.alignment", "32")}),
       "general.alignment is of type string, not u32" + kGgufTail},
      {"alignment as array",
       with_keys({numbers_key<std::uint32_t>("general.alignment", GgufKind::U32, {32})}),
       "general.alignment is of type array of u32, not u32" + kGgufTail},
  };
}

std::vector<BadCase> tensor_cases() {
  const std::int64_t huge = std::int64_t{1} << 62;
  return {
      {"no name", with_tensor(tensor_entry("", {8}, 0, 0)), "tensor 0 has no name" + kGgufTail},
      {"name of 64 bytes", with_tensor(tensor_entry(std::string(64, 'n'), {8}, 0, 0)),
       "the name of tensor 0 has 64 bytes, more than the limit of 63" + kGgufTail},
      {"name longer than the file",
       start_of(3, 1, 0, raw<std::uint64_t>(1000) + std::string(40, 'n')),
       "the name of tensor 0 has a length of 1000 bytes, but 40 bytes are left" + kGgufTail},
      {"name that is not UTF-8", with_tensor(tensor_entry("\xc3", {8}, 0, 0)),
       "the name of tensor 0 is not UTF-8" + kGgufTail},
      {"two tensors of a name",
       gguf_bytes({}, {tensor_entry("a", {8}, 0, 0), tensor_entry("a", {8}, 0, 32)},
                  std::string(64, '\0')),
       "tensor \"a\" occurs twice" + kGgufTail},
      {"five dimensions", with_shape({1, 1, 1, 1, 1}),
       "tensor \"a\" has 5 dimensions, more than the limit of 4" + kGgufTail},
      {"2^32 - 1 dimensions",
       with_tensor(gguf_string("a") + raw<std::uint32_t>(~0u) + std::string(64, '\0')),
       "tensor \"a\" has 4294967295 dimensions, more than the limit of 4" + kGgufTail},
      {"negative extent", with_shape({-1}),
       "tensor \"a\" has the extent -1, which no tensor can have" + kGgufTail},
      {"huge extent", with_shape({huge}),
       "tensor \"a\" has the extent 4611686018427387904, which no tensor can have" + kGgufTail},
      {"elements wrap to zero", with_shape({std::int64_t{1} << 32, std::int64_t{1} << 32}),
       "tensor \"a\" has more than 2^56 elements" + kGgufTail},
      {"elements wrap to a small number",
       with_shape({std::int64_t{1} << 30, std::int64_t{1} << 30, 16, 1}),
       "tensor \"a\" has more than 2^56 elements" + kGgufTail},
      {"bytes beyond the file", with_shape({std::int64_t{1} << 50}),
       "tensor \"a\" [1125899906842624] of F32 needs 4503599627370496 bytes from byte 0 of the "
       "data, which has 64" +
           kGgufTail},
      {"blocks beyond the file", with_shape({std::int64_t{1} << 55}, 8),
       "tensor \"a\" [36028797018963968] of Q8_0 needs 38280596832649216 bytes from byte 0 of the "
       "data, which has 64" +
           kGgufTail},
      {"one element too many", with_shape({17}),
       "tensor \"a\" [17] of F32 needs 68 bytes from byte 0 of the data, which has 64" + kGgufTail},
      {"type 4, withdrawn", with_shape({32}, 4),
       "tensor \"a\" has type 4, which is not known" + kGgufTail},
      {"type 31, withdrawn", with_shape({32}, 31),
       "tensor \"a\" has type 31, which is not known" + kGgufTail},
      {"type 43", with_shape({32}, 43), "tensor \"a\" has type 43, which is not known" + kGgufTail},
      {"type -1", with_shape({32}, ~0u),
       "tensor \"a\" has type 4294967295, which is not known" + kGgufTail},
      {"row of half a block", with_shape({16, 2}, 8),
       "tensor \"a\" has rows of 16 elements, but blocks of Q8_0 hold 32" + kGgufTail},
      {"row of 128 elements in Q4_K", with_shape({128, 2}, 12),
       "tensor \"a\" has rows of 128 elements, but blocks of Q4_K hold 256" + kGgufTail},
      {"scalar block", with_shape({}, 8),
       "tensor \"a\" has rows of 1 elements, but blocks of Q8_0 hold 32" + kGgufTail},
      {"first offset not zero", with_offsets(32, 64),
       "tensor \"a\" has the offset 32, but the one before it ends at 0" + kGgufTail},
      {"overlap", with_offsets(0, 0),
       "tensor \"b\" has the offset 0, but the one before it ends at 32" + kGgufTail},
      {"hole", with_offsets(0, 64, 128),
       "tensor \"b\" has the offset 64, but the one before it ends at 32" + kGgufTail},
      {"largest offset", with_offsets(0, ~std::uint64_t{0}),
       "tensor \"b\" has the offset 18446744073709551615, but the one before it ends at 32" +
           kGgufTail},
      {"second tensor cut off", with_offsets(0, 32, 63),
       "tensor \"b\" [8] of F32 needs 32 bytes from byte 32 of the data, which has 63" + kGgufTail},
      {"second tensor wholly missing", with_offsets(0, 32, 32),
       "tensor \"b\" [8] of F32 needs 32 bytes from byte 32 of the data, which has 32" + kGgufTail},
      {"a tensor that the list lost", with_offsets(0, 32, 96),
       "has 32 bytes after the data of its 2 tensors" + kGgufTail},
      {"data without tensors", gguf_bytes({}, {}, "data"),
       "has 4 bytes after the data of its 0 tensors" + kGgufTail},
      {"entry cut off in the shape",
       start_of(3, 1, 0, gguf_string("aaa") + raw<std::uint32_t>(2) + raw<std::int64_t>(1) + "x"),
       "ends at byte 48, inside tensor \"aaa\"" + kGgufTail},
      {"entry without an offset",
       start_of(
           3, 1, 0,
           gguf_string("a") + raw<std::uint32_t>(0) + raw<std::uint32_t>(0) + std::string(7, '\0')),
       "ends at byte 48, inside tensor \"a\"" + kGgufTail},
      {"no data section", start_of(3, 1, 0, tensor_entry("a", {0}, 0, 0)),
       "ends at byte 57, before the data of its tensors" + kGgufTail},
  };
}

void expect_refused(const std::vector<BadCase>& cases) {
  for (const BadCase& bad : cases) {
    const std::size_t peak = peak_allocation([&] {
      expect_message(bad.name, "x.gguf: " + bad.message,
                     [&] { read_gguf(std::as_bytes(std::span(bad.input)), "x.gguf"); });
    });
    EXPECT_LT(peak, bad.input.size() + kAllowance) << bad.name;
  }
}

TEST(BadGguf, Start) {
  expect_refused(start_cases());
}

TEST(BadGguf, Keys) {
  expect_refused(key_cases());
}

TEST(BadGguf, Tensors) {
  expect_refused(tensor_cases());
}

TEST(BadGguf, ThereAreManyCases) {
  EXPECT_GE(start_cases().size() + key_cases().size() + tensor_cases().size(), 60u);
}

}  // namespace
}  // namespace counterbeam
