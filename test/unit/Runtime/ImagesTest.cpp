//===- ImagesTest.cpp - Encoded images ------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HostFunctions.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using Catch::Matchers::Contains;

namespace {

using Bytes = std::vector<uint8_t>;
constexpr int64_t kHeight = 5, kWidth = 7;
enum Format : uint32_t { Rgb, Bgr, Grey };

/// The image of all files in the folder images: red grows to the right, green downwards, and blue falls with both.
Bytes gradient() {
  Bytes pixels;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      for (int value : {x * 40, y * 60, 255 - (x + y) * 20})
        pixels.push_back(static_cast<uint8_t>(value));
  return pixels;
}

Bytes fileOf(const std::string &name) {
  std::ifstream file(std::string(SLUICE_TEST_IMAGES) + "/gradient." + name, std::ios::binary);
  Bytes bytes{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(!bytes.empty());
  return bytes;
}

void append(Bytes &bytes, uint32_t value, size_t size) {
  for (size_t i = 0; i < size; ++i)
    bytes.push_back(i < sizeof value ? static_cast<uint8_t>(value >> (8 * i)) : 0);
}

/// 24 bits a pixel, from the bottom up, rows padded to words.
Bytes bmp() {
  Bytes bytes{'B', 'M'};
  const Bytes pixels = gradient();
  for (auto [value, size] : std::initializer_list<std::pair<uint32_t, size_t>>{{0, 4},
                                                                               {0, 4},
                                                                               {54, 4},
                                                                               {40, 4},
                                                                               {kWidth, 4},
                                                                               {kHeight, 4},
                                                                               {1, 2},
                                                                               {24, 2},
                                                                               {0, 4},
                                                                               {0, 4},
                                                                               {0, 4},
                                                                               {0, 4},
                                                                               {0, 4},
                                                                               {0, 4}})
    append(bytes, value, size);
  for (int64_t y = kHeight - 1; y >= 0; --y) {
    for (int64_t x = 0; x < kWidth; ++x)
      for (int64_t c = 2; c >= 0; --c)
        bytes.push_back(pixels[static_cast<size_t>((y * kWidth + x) * 3 + c)]);
    bytes.insert(bytes.end(), (4 - kWidth * 3 % 4) % 4, 0);
  }
  return bytes;
}

Bytes pnm() {
  const std::string head = "P6 # a comment\n7 5\n255\n";
  Bytes bytes(head.begin(), head.end()), pixels = gradient();
  bytes.insert(bytes.end(), pixels.begin(), pixels.end());
  return bytes;
}

struct Decoded {
  Bytes pixels;
  std::string error; ///< Empty where it succeeded.
};

Decoded decode(const Bytes &bytes, Format format = Rgb, int64_t height = kHeight, int64_t width = kWidth) {
  // Of exactly these bytes, so that a sanitizer sees each read beyond.
  Decoded result{Bytes(static_cast<size_t>(height * width) * (format == Grey ? 1 : 3), 7), ""};
  char error[256] = "";
  const sluice_encoded_image image{bytes.data(), static_cast<int64_t>(bytes.size()), height, width, format};
  if (sluice_image_decode(&image, result.pixels.data(), error, sizeof error) != 0)
    result.error = *error ? error : "no reason";
  return result;
}

std::vector<std::pair<std::string, Bytes>> allImages() {
  std::vector<std::pair<std::string, Bytes>> images{{"bmp", bmp()}, {"pnm", pnm()}};
  for (const char *name : {"jp2", "jpg", "png", "tif", "webp"})
    images.emplace_back(name, fileOf(name));
  return images;
}

} // namespace

TEST_CASE("images of all formats are decoded", "[runtime][images]") {
  for (const auto &[name, bytes] : allImages()) {
    INFO(name);
    const Decoded rgb = decode(bytes), bgr = decode(bytes, Bgr), grey = decode(bytes, Grey);
    REQUIRE(rgb.error == "");
    REQUIRE(bgr.error == "");
    REQUIRE(grey.error == "");
    // JPEG alone loses something.
    const int most = name == "jpg" ? 3 : 0;
    const Bytes expected = gradient();
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(std::abs(rgb.pixels[i] - expected[i]) <= most);
    for (size_t i = 0; i < expected.size(); i += 3) {
      CHECK(bgr.pixels[i] == rgb.pixels[i + 2]);
      CHECK(bgr.pixels[i + 1] == rgb.pixels[i + 1]);
      const double luma = 0.299 * rgb.pixels[i] + 0.587 * rgb.pixels[i + 1] + 0.114 * rgb.pixels[i + 2];
      CHECK(std::abs(grey.pixels[i / 3] - luma) <= 0.51);
    }
  }
}

TEST_CASE("other forms of maps are decoded", "[runtime][images]") {
  auto text = [](const std::string &value) { return Bytes(value.begin(), value.end()); };
  CHECK(decode(text("P1\n3 2\n010\n1 1 0"), Grey, 2, 3).pixels == Bytes{255, 0, 255, 0, 0, 255});
  CHECK(decode(text("P2 2 1 100 0 50"), Grey, 1, 2).pixels == Bytes{0, 128});
  CHECK(decode(text("P3 1 1 255 1 2 3"), Bgr, 1, 1).pixels == Bytes{3, 2, 1});
  CHECK(decode(text("P4 9 1 \x80\x80"), Grey, 1, 9).pixels == Bytes{0, 255, 255, 255, 255, 255, 255, 255, 0});
  CHECK(decode(text(std::string("P5 1 1 65535 \x80\x00", 15)), Grey, 1, 1).pixels == Bytes{128});
  // Four bits a pixel, from the top down, with a palette.
  Bytes indexed{'B', 'M'};
  for (auto [value, size] : std::initializer_list<std::pair<uint32_t, size_t>>{{0, 8},
                                                                               {62, 4},
                                                                               {40, 4},
                                                                               {3, 4},
                                                                               {static_cast<uint32_t>(-1), 4},
                                                                               {1, 2},
                                                                               {4, 2},
                                                                               {0, 16},
                                                                               {2, 4},
                                                                               {0, 4},
                                                                               {0x0a0b0c, 4},
                                                                               {0x010203, 4},
                                                                               {0x00000110, 4}})
    append(indexed, value, size);
  indexed[62] = 0x01, indexed[63] = 0x10;
  CHECK(decode(indexed, Rgb, 1, 3).pixels == Bytes{10, 11, 12, 1, 2, 3, 1, 2, 3});
}

TEST_CASE("images of other extents and no images are errors", "[runtime][images]") {
  for (const auto &[name, bytes] : allImages()) {
    INFO(name);
    CHECK_THAT(decode(bytes, Rgb, kHeight, kWidth + 1).error,
               Contains("it has 5 x 7 pixels, the model declares 5 x 8"));
  }
  CHECK(decode({}).error ==
        "the encoded image cannot be decoded, it is none of JPEG, JPEG 2000, PNG, WebP, TIFF, BMP and PNM");
  CHECK_THAT(decode({'G', 'I', 'F', '8'}).error, Contains("it is none of"));
}

TEST_CASE("damaged images are errors or other pixels", "[runtime][images]") {
  // A flipped bit of a pixel is no damage that a format without a checksum shows.
  std::mt19937 random(5);
  for (const auto &[name, bytes] : allImages()) {
    INFO(name);
    int errors = 0;
    for (size_t length = 0; length < bytes.size(); ++length) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
      errors += !decode(cut).error.empty();
    }
    CHECK(errors > static_cast<int>(bytes.size()) * 3 / 4);
    for (int round = 0; round < 3000; ++round) {
      Bytes changed = bytes;
      for (unsigned flips = random() % 4; flips < 4; ++flips)
        changed[random() % changed.size()] = static_cast<uint8_t>(random());
      const Decoded result = decode(changed);
      CHECK((result.error.empty() || result.error.find("cannot be decoded") != std::string::npos));
    }
  }
}
