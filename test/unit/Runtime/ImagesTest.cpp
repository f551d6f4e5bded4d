//===- ImagesTest.cpp - Encoded images ------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HostFunctions.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>
#include <zlib.h>

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
               Contains("it has 5 x 7 pixels and the model declares 5 x 8"));
  }
  CHECK(decode({}).error == "the encoded image cannot be decoded because its format is none of JPEG, JPEG 2000, PNG, "
                            "WebP, TIFF, BMP and PNM, give another image");
  CHECK_THAT(decode({'G', 'I', 'F', '8'}).error, Contains("its format is none of"));
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

namespace {

void appendBig(Bytes &bytes, uint64_t value, size_t size) {
  for (size_t i = size; i-- > 0;)
    bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

Bytes pngChunk(const std::string &type, const Bytes &data) {
  Bytes body(type.begin(), type.end()), chunk;
  body.insert(body.end(), data.begin(), data.end());
  appendBig(chunk, data.size(), 4);
  chunk.insert(chunk.end(), body.begin(), body.end());
  appendBig(chunk, crc32(0, body.data(), static_cast<uInt>(body.size())), 4);
  return chunk;
}

Bytes deflated(const Bytes &data) {
  uLongf size = compressBound(data.size());
  Bytes result(size);
  REQUIRE(compress(result.data(), &size, data.data(), data.size()) == Z_OK);
  result.resize(size);
  return result;
}

/// One pixel, of 3 samples of so many bits, with other chunks between its header and its data.
Bytes onePixelPng(uint8_t bits, const Bytes &samples, const Bytes &between) {
  Bytes png{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, row{0};
  row.insert(row.end(), samples.begin(), samples.end());
  for (const Bytes &part : {pngChunk("IHDR", {0, 0, 0, 1, 0, 0, 0, 1, bits, 2, 0, 0, 0}), between,
                            pngChunk("IDAT", deflated(row)), pngChunk("IEND", {})})
    png.insert(png.end(), part.begin(), part.end());
  return png;
}

} // namespace

TEST_CASE("a PNG's samples are taken as they are, whatever their profile", "[runtime][images]") {
  CHECK(decode(onePixelPng(8, {64, 128, 192}, pngChunk("gAMA", {0, 1, 0x86, 0xa0})), Rgb, 1, 1).pixels ==
        Bytes{64, 128, 192});
  CHECK(decode(onePixelPng(16, {64, 64, 128, 128, 192, 192}, {}), Rgb, 1, 1).pixels == Bytes{64, 128, 192});
}

TEST_CASE("a PNG's compressed texts are not expanded", "[runtime][images]") {
  Bytes text{'k', 0, 0};
  const Bytes compressed = deflated(Bytes(7'900'000, 'a'));
  text.insert(text.end(), compressed.begin(), compressed.end());
  Bytes texts;
  for (int i = 0; i < 900; ++i) {
    const Bytes chunk = pngChunk("zTXt", text);
    texts.insert(texts.end(), chunk.begin(), chunk.end());
  }
  // Expanded they are 7 GB.
  const auto start = std::chrono::steady_clock::now();
  CHECK(decode(onePixelPng(8, {1, 2, 3}, texts), Rgb, 1, 1).pixels == Bytes{1, 2, 3});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("JPEG 2000 may not have more components or tiles than its pixels are worth", "[runtime][images]") {
  auto stream = [](uint32_t side, uint16_t components) {
    Bytes bytes{0xff, 0x4f, 0xff, 0x51};
    appendBig(bytes, 38 + 3U * components, 2);
    appendBig(bytes, 0, 2);
    for (uint32_t field : {side, side, 0U, 0U, 1U, 1U, 0U, 0U})
      appendBig(bytes, field, 4);
    appendBig(bytes, components, 2);
    for (int i = 0; i < components; ++i)
      appendBig(bytes, 0x070101, 3);
    appendBig(bytes, 0xff52000c00000001, 8);
    appendBig(bytes, 0x000404040001, 6);
    appendBig(bytes, 0xff5c00044040, 6);
    appendBig(bytes, 0xff90000a0000, 6);
    return bytes;
  };
  CHECK_THAT(decode(stream(255, 16000), Rgb, 255, 255).error, Contains("it has 16000 components"));
  CHECK_THAT(decode(stream(255, 3), Rgb, 255, 255).error, Contains("it has 65025 tiles, too many for its pixels"));
  CHECK_THAT(decode(stream(255, 3), Rgb, 5, 7).error, Contains("it has 255 x 255 pixels"));
}

TEST_CASE("a JPEG may not have any number of scans", "[runtime][images]") {
  // A progressive image of 8 x 8 pixels, whose scans repeat the end of the only block, one bit each.
  Bytes jpeg{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0};
  jpeg.insert(jpeg.end(), 64, 1);
  for (uint8_t byte : {0xff, 0xc2, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0})
    jpeg.push_back(byte);
  // The tables have one code of one bit, for a difference of 0 or an end of block.
  for (uint8_t table : {0x00, 0x10}) {
    for (uint8_t byte : {0xff, 0xc4, 0, 20, int(table), 1})
      jpeg.push_back(byte);
    jpeg.insert(jpeg.end(), 16, 0);
  }
  for (uint8_t byte : {0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0, 0x7f})
    jpeg.push_back(byte);
  const Bytes scan{0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0, 0x7f};
  jpeg.insert(jpeg.end(), scan.begin(), scan.end());
  Bytes few = jpeg;
  for (int i = 0; i < 2000; ++i)
    jpeg.insert(jpeg.end(), scan.begin(), scan.end());
  for (Bytes *image : {&jpeg, &few})
    image->insert(image->end(), {0xff, 0xd9});
  CHECK_THAT(decode(jpeg, Grey, 8, 8).error, Contains("it has more than 500 scans"));
  CHECK(decode(few, Grey, 8, 8).error == "");
}

TEST_CASE("a TIFF's transparency is left out", "[runtime][images]") {
  // One strip of one pixel (200, 100, 50), whose alpha of 128 is not multiplied in.
  Bytes tiff{'I', 'I', 42, 0, 16, 0, 0, 0, 200, 100, 50, 128, 0, 0, 0, 0};
  struct Entry {
    uint32_t tag, type, count, value;
  };
  constexpr uint32_t kShort = 3, kLong = 4;
  const std::vector<Entry> entries{{256, kLong, 1, 1},  {257, kLong, 1, 1},  {258, kShort, 1, 8}, {259, kShort, 1, 1},
                                   {262, kShort, 1, 2}, {273, kLong, 1, 8},  {277, kShort, 1, 4}, {278, kLong, 1, 1},
                                   {279, kLong, 1, 4},  {284, kShort, 1, 1}, {338, kShort, 1, 2}};
  append(tiff, static_cast<uint32_t>(entries.size()), 2);
  for (const Entry &entry : entries) {
    append(tiff, entry.tag, 2);
    append(tiff, entry.type, 2);
    append(tiff, entry.count, 4);
    append(tiff, entry.value, 4);
  }
  append(tiff, 0, 4);
  const Decoded result = decode(tiff, Rgb, 1, 1);
  CHECK(result.error == "");
  CHECK(result.pixels == Bytes{200, 100, 50});
}
