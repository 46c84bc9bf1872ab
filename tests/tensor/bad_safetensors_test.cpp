// Malformed safetensors files, and the exact error message of each.
#include <gtest/gtest.h>

#include <cstring>

#include "support/allocation_watch.h"
#include "support/bad_case.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

using testing::BadCase;

std::string length_prefix(std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

std::string file_of(const std::string& header, std::size_t data = 4) {
  return length_prefix(header.size()) + header + std::string(data, '\0');
}

// A file whose header has one tensor "a" with these members.
std::string tensor(const std::string& members, std::size_t data = 4) {
  return file_of("{\"a\":{" + members + "}}", data);
}

std::string shape(const std::string& extents) {
  return tensor("\"dtype\":\"U8\",\"shape\":" + extents + ",\"data_offsets\":[0,4]");
}

std::string offsets(const std::string& range, std::size_t data = 4) {
  return tensor("\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + range, data);
}

// Two tensors of U8 at these offsets.
std::string pair_at(int a0, int a1, int b0, int b1, std::size_t data) {
  return file_of(fmt::format(R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                             R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                             a1 - a0, a0, a1, b1 - b0, b0, b1),
                 data);
}

std::string named(const std::string& name) {
  return file_of("{\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 3);
}

const std::string kTail = "; the file is damaged or not safetensors: download or convert it again";

std::vector<BadCase> frame_cases() {
  return {
      {"empty file", "", "is 0 bytes long, a safetensors file has at least 8" + kTail},
      {"seven bytes", "1234567", "is 7 bytes long, a safetensors file has at least 8" + kTail},
      {"no header", length_prefix(0), "the header does not start with '{'" + kTail},
      {"header above the limit", length_prefix(100'000'001) + "{}",
       "header length 100000001 is above the limit of 100000000" + kTail},
      {"largest length", length_prefix(~std::uint64_t{0}) + "{}",
       "header length 18446744073709551615 is above the limit of 100000000" + kTail},
      {"length minus eight", length_prefix(~std::uint64_t{0} - 7) + "{}",
       "header length 18446744073709551608 is above the limit of 100000000" + kTail},
      {"header one byte too long", length_prefix(3) + "{}",
       "header length 3 reaches beyond the file of 10 bytes" + kTail},
      {"pickle", "\x80\x02}q\x01(X\x08\x00\x00\x00", "is a Python pickle" + kTail},
      {"zip", "PK\x03\x04\x14\x08\x08\x08 a zipped pickle",
       "is a zip file, such as a pickled PyTorch checkpoint" + kTail},
      {"gguf", "GGUF\x03 and the rest", "is a GGUF file" + kTail},
      {"git lfs pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
       "is a Git LFS pointer: run git lfs pull to get the file itself" + kTail},
      {"web page", "<!DOCTYPE html><html></html>", "is a web page or XML" + kTail},
      {"leading space", file_of(" {}", 0), "the header does not start with '{'" + kTail},
      {"array", file_of("[]", 0), "the header does not start with '{'" + kTail},
      {"not closed", file_of("{", 0),
       "header: byte 1: a key must be a string, found the end" + kTail},
      {"nothing after the key", file_of("{\"a\"", 0),
       "header: byte 4: expected ':', found the end" + kTail},
      {"no value", file_of("{\"a\":", 0),
       "header: byte 5, in \"a\": the tensor must be an object, found the end" + kTail},
      {"second object", file_of("{}{}", 0),
       "header: byte 2: nothing may follow the value, found \"{\"" + kTail},
      {"zero bytes as padding", file_of(std::string("{}\0\0", 4), 0),
       "header: byte 2: nothing may follow the value, found \"\\x00\\x00\"" + kTail},
      {"trailing comma", file_of("{\"__metadata__\":{},}", 0),
       "header: byte 19: a key must be a string, found \"}\"" + kTail},
      {"single quotes", file_of("{'a':1}", 0),
       "header: byte 1: a key must be a string, found \"'a'\"" + kTail},
      {"comment", file_of("{/**/}", 0),
       "header: byte 1: a key must be a string, found \"/**/\"" + kTail},
      {"data without tensors", file_of("{}", 1),
       "the tensors cover 0 bytes of data, the file holds 1" + kTail},
  };
}

std::vector<BadCase> member_cases() {
  return {
      {"tensor is a number", file_of("{\"a\":7}"),
       "header: byte 5, in \"a\": the tensor must be an object, found \"7\"" + kTail},
      {"tensor is null", file_of("{\"a\":null}"),
       "header: byte 5, in \"a\": the tensor must be an object, found \"null\"" + kTail},
      {"no dtype", tensor(R"("shape":[4],"data_offsets":[0,4])"),
       "tensor \"a\": has no dtype" + kTail},
      {"no shape", tensor(R"("dtype":"U8","data_offsets":[0,4])"),
       "tensor \"a\": has no shape" + kTail},
      {"no offsets", tensor(R"("dtype":"U8","shape":[4])"),
       "tensor \"a\": has no data_offsets" + kTail},
      {"dtype twice", tensor(R"("dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4])"),
       "tensor \"a\": key \"dtype\" occurs twice" + kTail},
      {"shape twice", tensor(R"("shape":[4],"shape":[4])"),
       "tensor \"a\": key \"shape\" occurs twice" + kTail},
      {"offsets twice", tensor(R"("data_offsets":[0,4],"data_offsets":[0,4])"),
       "tensor \"a\": key \"data_offsets\" occurs twice" + kTail},
      {"unknown member", tensor(R"("dtype":"U8","shape":[4],"strides":[1])"),
       "tensor \"a\": unknown key \"strides\" (known: dtype, shape, data_offsets)" + kTail},
      {"tensor twice",
       file_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
               R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})"),
       "tensor \"a\" occurs twice" + kTail},
      {"same name by an escape",
       file_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
               R"("\u0061":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})"),
       "tensor \"a\" occurs twice" + kTail},
      {"metadata twice", file_of(R"({"__metadata__":{},"__metadata__":{}})", 0),
       "key \"__metadata__\" occurs twice" + kTail},
      {"metadata is an array", file_of(R"({"__metadata__":[]})", 0),
       "header: byte 16: __metadata__ must be an object, found \"[\"" + kTail},
      {"metadata holds a number", file_of(R"({"__metadata__":{"format":1}})", 0),
       "header: byte 26, in \"format\": a value of __metadata__ must be a string, found \"1\"" +
           kTail},
      {"metadata key twice", file_of(R"({"__metadata__":{"x":"1","x":"2"}})", 0),
       "__metadata__ key \"x\" occurs twice" + kTail},
      {"unknown dtype", tensor(R"("dtype":"F128","shape":[4],"data_offsets":[0,4])"),
       "tensor \"a\": dtype \"F128\" is not known (known: BOOL, U8, I8, U16, I16, U32, I32, U64, "
       "I64, BF16, F16, F32, F64, F8_E5M2, F8_E4M3, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, F4, "
       "F6_E2M3, F6_E3M2, C64)"},
      {"dtype in small letters", tensor(R"("dtype":"f32","shape":[1],"data_offsets":[0,4])"),
       "tensor \"a\": dtype \"f32\" is not known (known: BOOL, U8, I8, U16, I16, U32, I32, U64, "
       "I64, BF16, F16, F32, F64, F8_E5M2, F8_E4M3, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, F4, "
       "F6_E2M3, F6_E3M2, C64)"},
      {"dtype is a number", tensor(R"("dtype":32)"),
       "header: byte 14, in \"a\": dtype must be a string, found \"32\"" + kTail},
  };
}

std::vector<BadCase> number_cases() {
  return {
      {"shape is a number", shape("4"),
       "header: byte 27, in \"a\": shape must be an array, found \"4\"" + kTail},
      {"negative extent", shape("[-4]"),
       "header: byte 28, in \"a\": shape must be a whole number from 0 to 2^64 - 1, found \"-4\"" +
           kTail},
      {"fractional extent", shape("[4.0]"),
       "header: byte 28, in \"a\": shape must be a whole number from 0 to 2^64 - 1, found \"4.0\"" +
           kTail},
      {"extent with exponent", shape("[4e0]"),
       "header: byte 28, in \"a\": shape must be a whole number from 0 to 2^64 - 1, found \"4e0\"" +
           kTail},
      {"extent with leading zero", shape("[04]"),
       "header: byte 28, in \"a\": shape must be a whole number from 0 to 2^64 - 1, found \"04\"" +
           kTail},
      {"extent as a string", shape("[\"4\"]"),
       "header: byte 28, in \"a\": shape must be a whole number from 0 to 2^64 - 1, found "
       "\"\"4\"\"" +
           kTail},
      {"extent of 2^64", shape("[18446744073709551616]"),
       "header: byte 28, in \"a\": shape must be a whole number from 0 to 2^64 - 1, found "
       "\"18446744073709551616\"" +
           kTail},
      {"extent of 2^63", shape("[9223372036854775808]"),
       "tensor \"a\": shape holds the extent 9223372036854775808, more than any file can" + kTail},
      {"product above 2^64", shape("[4294967296,4294967296,4294967296]"),
       "tensor \"a\": shape has more than 2^56 elements" + kTail},
      {"product of exactly 2^64", shape("[4294967296,4294967296]"),
       "tensor \"a\": shape has more than 2^56 elements" + kTail},
      {"size in bits wraps to 32", shape("[2305843009213693956]"),
       "tensor \"a\": shape holds the extent 2305843009213693956, more than any file can" + kTail},
      {"nine dimensions", shape("[1,1,1,1,1,1,1,1,4]"),
       "tensor \"a\": shape has more than 8 dimensions" + kTail},
      {"nested shape", shape("[[4]]"),
       "header: byte 28, in \"a\": shape must be a whole number from 0 to 2^64 - 1, found \"[4\"" +
           kTail},
      {"offsets are an object", offsets("{}"),
       "header: byte 46, in \"a\": data_offsets must be an array, found \"{\"" + kTail},
      {"one offset", offsets("[0]"), "tensor \"a\": data_offsets has 1 numbers, not 2" + kTail},
      {"three offsets", offsets("[0,4,4]"),
       "tensor \"a\": data_offsets has 3 numbers, not 2" + kTail},
      {"negative offset", offsets("[-4,0]"),
       "header: byte 47, in \"a\": data_offsets must be a whole number from 0 to 2^64 - 1, found "
       "\"-4\"" +
           kTail},
      {"end before begin", offsets("[4,0]"),
       "tensor \"a\": data_offsets [4, 0] end before they begin" + kTail},
      {"end beyond the data", offsets("[0,5]"),
       "tensor \"a\": data_offsets [0, 5] reach beyond the 4 bytes of data" + kTail},
      {"largest end", offsets("[0,18446744073709551615]"),
       "tensor \"a\": data_offsets [0, 18446744073709551615] reach beyond the 4 bytes of data" +
           kTail},
      {"offsets that wrap", offsets("[18446744073709551612,0]"),
       "tensor \"a\": data_offsets [18446744073709551612, 0] end before they begin" + kTail},
      {"too few bytes", offsets("[0,3]"),
       "tensor \"a\": shape [4] of U8 needs 4 bytes, data_offsets [0, 3] hold 3" + kTail},
      {"too many bytes", offsets("[0,8]", 8),
       "tensor \"a\": shape [4] of U8 needs 4 bytes, data_offsets [0, 8] hold 8" + kTail},
      {"half a byte", tensor(R"("dtype":"F4","shape":[7],"data_offsets":[0,4])"),
       "tensor \"a\": shape [7] of F4 is not a whole number of bytes" + kTail},
      {"six bits", tensor(R"("dtype":"F6_E2M3","shape":[3],"data_offsets":[0,4])"),
       "tensor \"a\": shape [3] of F6_E2M3 is not a whole number of bytes" + kTail},
      {"empty shape of one element", tensor(R"("dtype":"F32","shape":[],"data_offsets":[0,0])", 0),
       "tensor \"a\": shape [] of F32 needs 4 bytes, data_offsets [0, 0] hold 0" + kTail},
      {"hole at the start", pair_at(1, 4, 4, 8, 8),
       "tensor \"a\": begins at byte 1 of the data, 1 bytes after the one before" + kTail},
      {"hole in the middle", pair_at(0, 3, 4, 8, 8),
       "tensor \"b\": begins at byte 4 of the data, 1 bytes after the one before" + kTail},
      {"overlap", pair_at(0, 5, 4, 8, 8),
       "tensor \"b\": begins at byte 4 of the data, inside the tensor before it" + kTail},
      {"same bytes twice", pair_at(0, 4, 0, 4, 4),
       "tensor \"b\": begins at byte 0 of the data, inside the tensor before it" + kTail},
      {"bytes left over", pair_at(0, 4, 4, 8, 9),
       "the tensors cover 8 bytes of data, the file holds 9" + kTail},
      {"data cut short", pair_at(0, 4, 4, 8, 7),
       "tensor \"b\": data_offsets [4, 8] reach beyond the 7 bytes of data" + kTail},
      {"no data at all", pair_at(0, 4, 4, 8, 0),
       "tensor \"a\": data_offsets [0, 4] reach beyond the 0 bytes of data" + kTail},
  };
}

std::vector<BadCase> string_cases() {
  return {
      {"invalid UTF-8", named("\xff"), "header: byte 2: a string is not valid UTF-8" + kTail},
      {"overlong UTF-8", named("\xc0\xaf"), "header: byte 2: a string is not valid UTF-8" + kTail},
      {"UTF-8 surrogate", named("\xed\xa0\x80"),
       "header: byte 2: a string is not valid UTF-8" + kTail},
      {"UTF-8 cut short", named("\xe2\x82"), "header: byte 2: a string is not valid UTF-8" + kTail},
      {"control character", named("\n"), "header: byte 2: a control character in a string" + kTail},
      {"unknown escape", named("\\x41"), "header: byte 4: unknown escape \\x" + kTail},
      {"short escape", named("\\u00g1"),
       "header: byte 6: \\u must be followed by four hexadecimal digits" + kTail},
      {"lone surrogate", named("\\ud800"), "header: byte 8: half of a surrogate pair" + kTail},
      {"surrogates in the wrong order", named("\\udc00\\ud800"),
       "header: byte 8: half of a surrogate pair" + kTail},
      {"two high surrogates", named("\\ud800\\ud800"),
       "header: byte 14: half of a surrogate pair" + kTail},
      {"terminal escape in a name", named("\\u001b[31m"),
       "tensor \"\\x1b[31m\": data_offsets [0, 4] reach beyond the 3 bytes of data" + kTail},
      {"long name", named(std::string(5000, 'n')),
       "tensor "
       "\"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn... "
       "(5000 bytes)\": data_offsets [0, 4] reach beyond the 3 bytes of data" +
           kTail},
      {"string without end", file_of("{\"abc", 0),
       "header: byte 2: a string has no closing quote" + kTail},
      {"string that ends in a backslash", file_of("{\"abc\\", 0),
       "header: byte 2: a string has no closing quote" + kTail},
  };
}

void expect_messages(const std::vector<BadCase>& cases) {
  for (const BadCase& bad : cases) {
    const std::size_t peak = testing::peak_allocation([&] {
      testing::expect_message(bad.name, "x.safetensors: " + bad.message, [&] {
        read_safetensors(std::as_bytes(std::span(bad.input)), "x.safetensors");
      });
    });
    EXPECT_LT(peak, testing::kAllowance) << bad.name;
  }
}

TEST(BadSafetensors, Frame) {
  expect_messages(frame_cases());
}

TEST(BadSafetensors, Members) {
  expect_messages(member_cases());
}

TEST(BadSafetensors, Numbers) {
  expect_messages(number_cases());
}

TEST(BadSafetensors, Strings) {
  expect_messages(string_cases());
}

}  // namespace
}  // namespace counterbeam
