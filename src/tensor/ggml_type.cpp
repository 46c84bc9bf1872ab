#include "tensor/ggml_type.h"

#include <array>

#include "base/error.h"

namespace counterbeam {
namespace {

constexpr GgmlTypeInfo type_row(int number, std::string_view name, std::uint32_t elements,
                                std::uint32_t bytes) {
  return {static_cast<GgmlType>(number), name, elements, bytes};
}

constexpr GgmlTypeInfo kGgmlTypes[] = {
    type_row(0, "F32", 1, 4),         type_row(1, "F16", 1, 2),
    type_row(2, "Q4_0", 32, 18),      type_row(3, "Q4_1", 32, 20),
    type_row(6, "Q5_0", 32, 22),      type_row(7, "Q5_1", 32, 24),
    type_row(8, "Q8_0", 32, 34),      type_row(9, "Q8_1", 32, 36),
    type_row(10, "Q2_K", 256, 84),    type_row(11, "Q3_K", 256, 110),
    type_row(12, "Q4_K", 256, 144),   type_row(13, "Q5_K", 256, 176),
    type_row(14, "Q6_K", 256, 210),   type_row(15, "Q8_K", 256, 292),
    type_row(16, "IQ2_XXS", 256, 66), type_row(17, "IQ2_XS", 256, 74),
    type_row(18, "IQ3_XXS", 256, 98), type_row(19, "IQ1_S", 256, 50),
    type_row(20, "IQ4_NL", 32, 18),   type_row(21, "IQ3_S", 256, 110),
    type_row(22, "IQ2_S", 256, 82),   type_row(23, "IQ4_XS", 256, 136),
    type_row(24, "I8", 1, 1),         type_row(25, "I16", 1, 2),
    type_row(26, "I32", 1, 4),        type_row(27, "I64", 1, 8),
    type_row(28, "F64", 1, 8),        type_row(29, "IQ1_M", 256, 56),
    type_row(30, "BF16", 1, 2),       type_row(34, "TQ1_0", 256, 54),
    type_row(35, "TQ2_0", 256, 66),   type_row(39, "MXFP4", 32, 17),
    type_row(40, "NVFP4", 64, 36),    type_row(41, "Q1_0", 128, 18),
    type_row(42, "Q2_0", 64, 18),
};

constexpr std::size_t kNumbers = 64;  // above every number of a type

constexpr std::array<const GgmlTypeInfo*, kNumbers> kByNumber = [] {
  std::array<const GgmlTypeInfo*, kNumbers> all{};
  for (const GgmlTypeInfo& info : kGgmlTypes) all[static_cast<std::size_t>(info.type)] = &info;
  return all;
}();

}  // namespace

const GgmlTypeInfo* find_ggml_type(std::uint32_t number) {
  return number < kByNumber.size() ? kByNumber[number] : nullptr;
}

const GgmlTypeInfo& info_of(GgmlType type) {
  const GgmlTypeInfo* info = find_ggml_type(static_cast<std::uint32_t>(type));
  CB_CHECK(info != nullptr);
  return *info;
}

}  // namespace counterbeam
