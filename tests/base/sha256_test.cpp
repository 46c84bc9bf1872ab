#include "base/sha256.h"

#include <gtest/gtest.h>

namespace counterbeam {
namespace {

// The examples published by NIST, and lengths around the padding's block boundary.
TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveWhatTheWholeGives) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>('a' + i % 26);
  for (std::size_t length : {55u, 56u, 57u, 63u, 64u, 65u, 119u, 120u, 128u, 300u})
    for (std::size_t cut = 0; cut <= length; cut += 7) {
      Sha256 pieces;
      pieces.add(std::string_view(text).substr(0, cut));
      pieces.add(std::string_view(text).substr(cut, length - cut));
      EXPECT_EQ(pieces.hex(), sha256(text.substr(0, length))) << length << " cut at " << cut;
    }
}

TEST(Sha256, FieldsAreNotTakenForAnotherSplit) {
  Sha256 one, other;
  one.add_field("ab");
  one.add_field("c");
  other.add_field("a");
  other.add_field("bc");
  EXPECT_NE(one.hex(), other.hex());
}

}  // namespace
}  // namespace counterbeam
