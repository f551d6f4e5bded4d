//===- Maps.cpp - BMP and portable pixmaps --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// This file reads formats that have little more than pixels, for which Debian has no separate library. BMP files are
// uncompressed, with 1, 4, 8, 24 or 32 bits for each pixel, as common programs write them.
//
//===----------------------------------------------------------------------===//
#include "Images.h"

#include <algorithm>

namespace sluice::images {

namespace {

/// Numbers at positions of bytes, checked.
class Reader {
public:
  explicit Reader(Bytes bytes) : bytes(bytes) {}
  uint32_t number(size_t at, size_t size) const {
    if (at + size > bytes.size())
      throw Unsound("it ends early");
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value |= uint32_t(bytes[at + i]) << (8 * i);
    return value;
  }
  Bytes part(uint64_t at, uint64_t size) const {
    if (at > bytes.size() || size > bytes.size() - at)
      throw Unsound("it ends early");
    return bytes.subspan(at, size);
  }

private:
  Bytes bytes;
};

} // namespace

void decodeBmp(Bytes bytes, Image &image) {
  constexpr size_t kFileHeader = 14, kHeader = 40;
  constexpr uint32_t kUncompressed = 0, kBitFields = 3;
  const Reader reader(bytes);
  const uint32_t first = reader.number(10, 4), header = reader.number(kFileHeader, 4);
  if (header < kHeader || header > (1 << 12))
    throw Unsound("its header is not that of a Windows bitmap");
  const auto width = static_cast<int32_t>(reader.number(18, 4)),
             signedHeight = static_cast<int32_t>(reader.number(22, 4));
  const uint32_t bits = reader.number(28, 2), compression = reader.number(30, 4);
  // A negative height: rows from the top on.
  const int64_t height = std::abs(int64_t(signedHeight));
  if (width <= 0 || height == 0)
    throw Unsound("it has no pixels");
  image.start(height, width);
  const bool isIndexed = bits == 1 || bits == 4 || bits == 8;
  if (!isIndexed && bits != 24 && bits != 32)
    throw Unsound("it has " + std::to_string(bits) + " bits per pixel, 1, 4, 8, 24 and 32 are supported");
  const bool hasMasks = compression == kBitFields && bits == 32;
  if (compression != kUncompressed && !hasMasks)
    throw Unsound("it is compressed, which is not supported");
  if (hasMasks && (reader.number(54, 4) != 0xff0000 || reader.number(58, 4) != 0xff00 || reader.number(62, 4) != 0xff))
    throw Unsound("its colours must have masks of 8 bits each");
  const uint32_t used = isIndexed ? reader.number(46, 4) : 0;
  const uint32_t colours = isIndexed ? (used == 0 ? 1U << bits : std::min(used, 1U << bits)) : 0;
  const Bytes palette = reader.part(kFileHeader + header, uint64_t(colours) * 4);
  const uint64_t stride = (uint64_t(width) * bits + 31) / 32 * 4;
  for (int64_t row = 0; row < height; ++row) {
    const int64_t stored = signedHeight < 0 ? row : height - 1 - row;
    const Bytes line = reader.part(first + stride * static_cast<uint64_t>(stored), stride);
    for (int64_t column = 0; column < width; ++column) {
      const uint64_t bit = static_cast<uint64_t>(column) * bits;
      const uint8_t *colour = &line[bit / 8];
      if (isIndexed) {
        const uint32_t index = (line[bit / 8] >> (8 - bits - bit % 8)) & ((1U << bits) - 1);
        if (index >= colours)
          throw Unsound("a pixel refers to a colour beyond the end of the palette");
        colour = &palette[index * 4];
      }
      std::reverse_copy(colour, colour + 3, image.at(row, column));
    }
  }
}

namespace {

/// The numbers of a portable map's header and text, between white space and comments.
class Words {
public:
  Words(Bytes bytes, size_t at) : bytes(bytes), at(at) {}
  uint32_t number() {
    skip();
    uint32_t value = 0;
    const size_t start = at;
    for (; at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9'; ++at) {
      constexpr uint32_t kMost = 1 << 26;
      value = value * 10 + (bytes[at] - '0');
      if (value > kMost)
        throw Unsound("a number of the image is too large");
    }
    if (at == start)
      throw Unsound("a number of the image is missing");
    return value;
  }
  /// P1 has digits without white space between them.
  uint32_t bit() {
    skip();
    if (at == bytes.size() || (bytes[at] != '0' && bytes[at] != '1'))
      throw Unsound("a bit of the image is missing");
    return bytes[at++] == '1';
  }
  /// What follows the header: one character of white space, and data.
  Bytes rest() const {
    if (at == bytes.size())
      throw Unsound("it ends early");
    return bytes.subspan(at + 1);
  }

private:
  static bool isSpace(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  void skip() {
    for (bool isComment = false; at < bytes.size(); ++at) {
      if (bytes[at] == '#')
        isComment = true;
      else if (bytes[at] == '\n')
        isComment = false;
      else if (!isComment && !isSpace(bytes[at]))
        return;
    }
  }
  Bytes bytes;
  size_t at;
};

} // namespace

void decodePnm(Bytes bytes, Image &image) {
  const int kind = bytes[1] - '0';
  const bool isText = kind <= 3, isBits = kind == 1 || kind == 4, isColour = kind == 3 || kind == 6;
  Words words(bytes, 2);
  const uint32_t width = words.number(), height = words.number(), greatest = isBits ? 1 : words.number();
  constexpr uint32_t kMost = 65535;
  if (greatest < 1 || greatest > kMost)
    throw Unsound("its greatest value is not from 1 to 65535");
  image.start(height, width);
  const size_t channels = isColour ? 3 : 1, sample = greatest > 255 ? 2 : 1;
  const uint64_t stride = isBits ? (uint64_t(width) + 7) / 8 : uint64_t(width) * channels * sample;
  const Bytes data = isText ? Bytes() : words.rest();
  if (!isText && data.size() < stride * height)
    throw Unsound("it ends early");
  for (uint32_t row = 0; row < height; ++row)
    for (uint32_t column = 0; column < width; ++column) {
      uint8_t *pixel = image.at(row, column);
      for (size_t c = 0; c < channels; ++c) {
        const size_t at = stride * row + (column * channels + c) * sample;
        uint32_t value = isText && isBits ? words.bit() : isText ? words.number() : 0;
        if (!isText && isBits)
          value = (data[stride * row + column / 8] >> (7 - column % 8)) & 1;
        else if (!isText)
          value = sample == 2 ? uint32_t(data[at]) << 8 | data[at + 1] : data[at];
        if (value > greatest)
          throw Unsound("a pixel is above the greatest value of the header");
        // A set bit is black.
        pixel[c] = static_cast<uint8_t>(isBits ? (value ? 0 : 255) : (value * 255 + greatest / 2) / greatest);
      }
      for (size_t c = channels; c < 3; ++c)
        pixel[c] = pixel[0];
    }
}

} // namespace sluice::images
